"""Real clients over TLS against our node: who is let in, who is not, and what becomes of those who are."""

from __future__ import annotations

import os
import random
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from clients.confluent import librdkafka_properties
from clients.interface import PATIENCE_SECONDS
from confluent_kafka.admin import AdminClient
from node_process import NodeProcess, StartNode
from scraping import metrics_address, scrape
from tls_node import Pki

from clients import CLIENTS, EARLIEST, AioKafka, Client, ConfluentKafka, Message, Tls, eventually
from moldau import KafkaAdminClient, KafkaProducer, errors
from moldau.admin import ConfigResource, ConfigResourceType
from moldau.testing.cluster import Cluster as Nodes

pytestmark = pytest.mark.ours_only("it is the node's side that is looked at")


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return Pki(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="module")
def mutual(tmp_path_factory: pytest.TempPathFactory, pki: Pki) -> Iterator[NodeProcess]:
    """Wants a certificate of everybody, and has a listener that only asks for one."""
    node = NodeProcess(
        tmp_path_factory.mktemp("mutual") / "data",
        pki.listener(ssl_client_auth="required", ssl_principal_mapping_rules="RULE:^CN=(.*?)(,.*)?$/$1/L"),
    )
    yield node
    node.kill()


def usable(kind: type[Client]) -> type[Client]:
    missing = kind.unavailable()
    if missing:
        pytest.skip(missing)
    return kind


def by_name(kind: type[Client]) -> str:
    return kind.name


def use(client: Client, topic: str) -> None:
    """More than one TLS record, or buffer, each way."""
    values = [b"%05d" % number * 200 for number in range(2000)]
    client.create_topic(topic)
    client.produce(topic, [Message(value) for value in values])
    received = client.consume(topic, EARLIEST, len(values))
    assert [each.value for each in received] == values
    assert client.topics()[topic] == 1


@pytest.mark.parametrize("kind", CLIENTS, ids=by_name)
def test_every_client_works_with_a_certificate_of_its_own(
    kind: type[Client], mutual: NodeProcess, pki: Pki, topic: str
) -> None:
    use(usable(kind)(mutual.bootstrap, pki.client(pki.issuer.issue("client"))), topic)


@pytest.mark.parametrize("kind", CLIENTS, ids=by_name)
def test_every_client_works_without_one_where_none_is_wanted(
    kind: type[Client], start_node: StartNode, pki: Pki, topic: str
) -> None:
    use(usable(kind)(start_node(pki.listener()).bootstrap, pki.client()), topic)


# ------------------------------------------------------------------------------------------------- who is refused


def refused(kind: type[Client], bootstrap: str, tls: Tls) -> None:
    """Whatever a client makes of it, it does not get through: each in the way it has."""
    try:
        found = kind(bootstrap, tls).topics()
    except Exception:
        return
    raise AssertionError(f"{kind.name} was let in: {found}")


# One says within a moment that there is no way in. The others wait for their patience to end.
PATIENT = [pytest.param(kind, marks=[] if kind is AioKafka else pytest.mark.long, id=kind.name) for kind in CLIENTS]


@pytest.mark.parametrize("kind", PATIENT)
@pytest.mark.parametrize("why", ["none", "stranger", "expired", "not yet"])
def test_without_a_certificate_that_counts_nobody_is_let_in(
    kind: type[Client], mutual: NodeProcess, pki: Pki, why: str
) -> None:
    shown = {
        "none": None,
        "stranger": pki.strangers.issue("client"),
        "expired": pki.issuer.issue("client", days=(-20, -10)),
        "not yet": pki.issuer.issue("client", days=(10, 20)),
    }[why]
    refused(usable(kind), mutual.bootstrap, pki.client(shown, why.replace(" ", "-")))
    assert "certificate" in mutual.log_tail()


@pytest.mark.parametrize("kind", PATIENT)
def test_clients_that_do_not_believe_the_node_stay_away(
    kind: type[Client], mutual: NodeProcess, pki: Pki, start_node: StartNode
) -> None:
    refused(usable(kind), mutual.bootstrap, pki.client(pki.issuer.issue("client"), ca=pki.strange_ca))
    elsewhere = pki.store(pki.issuer.issue("node", ["elsewhere.invalid"]), "elsewhere")
    refused(kind, start_node(pki.listener(ssl_keystore_location=elsewhere)).bootstrap, pki.client())
    late = pki.store(pki.issuer.issue("node", days=(-20, -10)), "late")
    refused(kind, start_node(pki.listener(ssl_keystore_location=late)).bootstrap, pki.client())


def test_librdkafka_says_what_is_wrong_with_the_certificate(mutual: NodeProcess, pki: Pki) -> None:
    said: list[str] = []
    settings = librdkafka_properties(pki.client(ca=pki.strange_ca))
    admin = AdminClient(
        {"bootstrap.servers": mutual.bootstrap, **settings, "error_cb": lambda error: said.append(str(error))}
    )
    eventually(lambda: (admin.poll(0.1), said)[1] != [])
    assert "certificate" in " ".join(said)


@pytest.mark.parametrize(
    ("settings", "offered", "expected"),
    [
        ({}, {}, ("TLSv1.3", None)),
        ({"ssl_enabled_protocols": "TLSv1.2"}, {}, ("TLSv1.2", None)),
        ({"ssl_protocol": "TLSv1.2"}, {}, ("TLSv1.2", None)),
        ({"ssl_enabled_protocols": "TLSv1.3"}, {"most": ssl.TLSVersion.TLSv1_2}, None),
        (
            {"ssl_cipher_suites": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"},
            {},
            ("TLSv1.2", "ECDHE-ECDSA-AES128-GCM-SHA256"),
        ),
        (
            {"ssl_cipher_suites": "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"},
            {"ciphers": "ECDHE-ECDSA-AES128-GCM-SHA256"},
            None,
        ),
        ({"ssl_cipher_suites": "TLS_AES_256_GCM_SHA384"}, {}, ("TLSv1.3", "TLS_AES_256_GCM_SHA384")),
    ],
)
def test_versions_and_ciphers(
    start_node: StartNode,
    pki: Pki,
    settings: dict[str, str],
    offered: dict[str, Any],
    expected: tuple[str, str | None] | None,
) -> None:
    node = start_node(pki.listener(**settings))
    context = ssl.create_default_context(cafile=pki.ca)
    context.maximum_version = offered.get("most", context.maximum_version)
    if "ciphers" in offered:
        context.set_ciphers(offered["ciphers"])
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    if expected is None:
        with pytest.raises(ssl.SSLError):
            handshake(node, context)
        return
    version, cipher = expected
    spoken, chosen, _ = handshake(node, context)
    assert spoken == version
    assert cipher in (None, chosen)


def handshake(node: NodeProcess, context: ssl.SSLContext) -> tuple[str | None, str, str]:
    """Version, cipher suite and whose certificate it is."""
    with (
        socket.create_connection(node.address, timeout=PATIENCE_SECONDS) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as secured,
    ):
        found = secured.getpeercert()
        cipher = secured.cipher()
        assert found is not None
        assert cipher is not None
        return secured.version(), cipher[0], dict(part[0] for part in found["subject"])["commonName"]  # type: ignore[arg-type,index]


def test_connections_are_counted_by_version_and_cipher(start_node: StartNode, pki: Pki) -> None:
    node = start_node(pki.listener(metrics_listener="127.0.0.1:0"))
    newest, older = ssl.create_default_context(cafile=pki.ca), ssl.create_default_context(cafile=pki.ca)
    older.maximum_version = ssl.TLSVersion.TLSv1_2
    older.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")
    name = "kafka_server_socket_server_metrics_connections_tls_info"

    def counted() -> dict[tuple[str, str], float]:
        samples = scrape(metrics_address(node.log))[name]
        assert all(labels["listener"] == "SSL" and labels["networkProcessor"] == "0" for labels, _ in samples)
        return {(labels["protocol"], labels["cipher"]): number for labels, number in samples}

    with ExitStack() as stack:
        for rules in (newest, older, older):
            connected = stack.enter_context(socket.create_connection(node.address, PATIENCE_SECONDS))
            stack.enter_context(rules.wrap_socket(connected, server_hostname="localhost"))
        expected = {
            ("TLSv1.3", "TLS_AES_256_GCM_SHA384"): 1.0,
            ("TLSv1.2", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"): 2.0,
        }
        eventually(lambda: counted() == expected)
    eventually(lambda: counted() == {})


# ------------------------------------------------------------------------------------------------ while it runs


def test_certificates_change_in_the_middle_of_a_load(start_node: StartNode, pki: Pki, topic: str) -> None:
    """Those who are connected notice nothing; whoever comes is shown the new one."""
    node = start_node(pki.listener(listener_name_ssl_ssl_allow_dn_changes="true"))
    context = ssl.create_default_context(cafile=pki.ca)
    settings: dict[str, Any] = {
        "bootstrap_servers": node.bootstrap,
        "security_protocol": "SSL",
        "ssl_cafile": pki.ca,
    }
    done, failures = threading.Event(), list[BaseException]()
    counts = [0]

    def load() -> None:
        try:
            # Not one further try: a connection that is lost fails a record.
            with KafkaProducer(**settings, retries=0, enable_idempotence=False) as producer:
                while not done.is_set():
                    for future in [producer.send(topic, b"x" * 500) for _ in range(100)]:
                        future.get(PATIENCE_SECONDS)
                    counts[0] += 100
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=load)
    thread.start()
    try:
        with KafkaAdminClient(**settings) as admin:
            for number in range(5):
                store = pki.store(pki.issuer.issue(f"node-{number}"), f"renewed-{number}")
                seen = counts[0]
                eventually(lambda seen=seen: counts[0] > seen or bool(failures))  # type: ignore[misc]
                _set_store(admin, store)
                eventually(lambda name=f"node-{number}": handshake(node, context)[2] == name)  # type: ignore[misc]
            with pytest.raises(errors.KafkaError, match="cannot be secured"):
                _set_store(admin, pki.strange_ca)
            assert handshake(node, context)[2] == "node-4"
            seen = counts[0]
            eventually(lambda: counts[0] > seen + 200 or bool(failures))
    finally:
        done.set()
        thread.join()
    assert failures == []
    # After a restart the settings that were stored count, not those of the file.
    node.restart()
    eventually(lambda: handshake(node, context)[2] == "node-4")


def _set_store(admin: KafkaAdminClient, path: str) -> None:
    admin.alter_configs(
        [ConfigResource(ConfigResourceType.BROKER, "1", {"listener.name.ssl.ssl.keystore.location": path})]
    )


def test_others_are_served_while_somebody_sends_nonsense(start_node: StartNode, pki: Pki, topic: str) -> None:
    """Random bytes, random records, handshakes that never end: nothing of it costs more than its own connection."""
    node = start_node(pki.listener())
    client = ConfluentKafka(node.bootstrap, pki.client())
    client.create_topic(topic)
    chance = random.Random(os.environ.get("MOLDAU_SEED", "tls"))
    done = threading.Event()
    sent = [0]

    def annoy() -> None:
        hello = client_hello()
        while not done.is_set():
            nonsense = chance.choice(
                (
                    chance.randbytes(chance.randrange(1, 2000)),
                    b"\x16\x03\x01" + chance.randbytes(chance.randrange(1, 20_000)),
                    hello[: chance.randrange(1, len(hello))],
                    hello + chance.randbytes(500),
                    bytes(change(hello, chance)),
                    struct.pack(">i", 20) + bytes(20),
                )
            )
            with socket.create_connection(node.address, timeout=PATIENCE_SECONDS) as peer, suppress(OSError):
                peer.sendall(nonsense)
                peer.shutdown(socket.SHUT_WR)
                while peer.recv(1 << 16):
                    pass
            sent[0] += 1

    before = node.memory_mb()
    thread = threading.Thread(target=annoy)
    thread.start()
    try:
        for round_ in range(5):
            client.produce(topic, [Message(b"%d" % number) for number in range(200)])
            assert len(client.consume(topic, EARLIEST, 200 * (round_ + 1))) == 200 * (round_ + 1)
        eventually(lambda: sent[0] > 500)
    finally:
        done.set()
        thread.join()
    log = node.log.read_text()
    assert "Traceback" not in log
    assert log.count("closed the connection") < 20
    assert node.memory_mb() < before + 50


def client_hello() -> bytes:
    outgoing = ssl.MemoryBIO()
    end = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        end.do_handshake()
    return outgoing.read()


def change(data: bytes, chance: random.Random) -> bytearray:
    changed = bytearray(data)
    for _ in range(chance.randrange(1, 4)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return changed


# ------------------------------------------------------------------------------------------------ between nodes


def test_three_nodes_over_mutual_tls(pki: Pki, topic: str) -> None:
    """Brokers and controllers alike: nothing listens in the clear, and nobody comes in without a certificate."""
    settings = {name: value for name, value in pki.listener(ssl_client_auth="required").items() if name[:3] == "ssl"}
    settings["listener.security.protocol.map"] = "CONTROLLER:SSL,PLAINTEXT:SSL"
    tls = pki.client(pki.issuer.issue("client"))
    with Nodes(3, settings=settings) as cluster:
        client = ConfluentKafka(cluster.bootstrap_servers, tls)
        # Made by the first record, as the cluster has it: of three replicas, two of which have to have a record.
        client.produce(topic, [Message(b"%d" % number) for number in range(1000)])
        cluster.nodes[0].kill()
        client.produce(topic, [Message(b"%d" % number) for number in range(1000, 2000)])
        received = client.consume(topic, EARLIEST, 2000)
        assert [int(each.value or b"") for each in received] == list(range(2000))
        cluster.start()
        for node in cluster.nodes:
            plain = socket.create_connection(("127.0.0.1", int(node.address.rpartition(":")[2])), PATIENCE_SECONDS)
            with plain:
                plain.sendall(struct.pack(">i", 20) + bytes(20))
                assert plain.recv(1) == b""
