"""Sessions that end: clients log in again in the middle of their work, and nothing of it is lost."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from node_process import StartNode
from secured_node import SecuredNode, confluent, kafka_python, sasl_settings
from session_load import CLIENTS
from tls_node import Pki

from moldau import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition, errors
from moldau.admin import ScramMechanism, UserScramCredentialDeletion, UserScramCredentialUpsertion

pytestmark = pytest.mark.ours_only("users are made with our command")

SESSION_MS = 2000
MECHANISM = ScramMechanism.SCRAM_SHA_256
_PATIENCE = 30


@pytest.fixture
def node(start_node: StartNode) -> SecuredNode:
    node = SecuredNode(start_node, sasl_settings(**{"connections.max.reauth.ms": str(SESSION_MS)}))
    node.add_user("jan", "secret")
    return node


def ended_sessions(node: SecuredNode) -> int:
    return node.process.log.read_text().count("after the end of its session")


def test_our_clients_renew_theirs_under_load(node: SecuredNode, topic: str) -> None:
    settings = kafka_python(node.bootstrap, "SCRAM-SHA-512", "jan", "secret")
    sent, seen = 0, set()
    done = threading.Event()

    def read() -> None:
        with KafkaConsumer(topic, **settings, group_id=topic, auto_offset_reset="earliest") as consumer:
            while not done.is_set() or len(seen) < sent:
                for batch in consumer.poll(timeout_ms=200).values():
                    seen.update(record.value for record in batch)

    reader = threading.Thread(target=read)
    reader.start()
    with KafkaProducer(**settings) as producer:
        end = time.monotonic() + 3.5 * SESSION_MS / 1000
        while time.monotonic() < end:
            producer.send(topic, b"%d" % sent).get(_PATIENCE)
            sent += 1
    done.set()
    reader.join(_PATIENCE)
    assert not reader.is_alive()
    assert len(seen) == sent > 10
    assert ended_sessions(node) == 0


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_librdkafka_renews_its_own_under_load(node: SecuredNode, topic: str, mechanism: str) -> None:
    import confluent_kafka

    failures: list[Any] = []
    settings = confluent(node.bootstrap, mechanism, "jan", "secret")
    producer = confluent_kafka.Producer({**settings, "error_cb": failures.append, "acks": "all"})
    sent = 0
    delivered: list[Any] = []
    end = time.monotonic() + 3.5 * SESSION_MS / 1000
    while time.monotonic() < end:
        producer.produce(topic, b"%d" % sent, on_delivery=lambda error, _: delivered.append(error))
        sent += 1
        producer.poll(0.005)
    assert producer.flush(_PATIENCE) == 0
    assert delivered == [None] * sent
    assert not [error for error in failures if error.name() == "_AUTHENTICATION"]


def test_who_does_not_renew_is_disconnected_and_comes_back(node: SecuredNode, topic: str) -> None:
    """kafka-python logs in once for each connection: it is closed at its next request, and another is made."""
    import kafka

    producer = kafka.KafkaProducer(**kafka_python(node.bootstrap, "PLAIN", "jan", "secret"), retries=10)
    end = time.monotonic() + 2.5 * SESSION_MS / 1000
    while time.monotonic() < end:
        producer.send(topic, b"x").get(_PATIENCE)
        time.sleep(0.1)
    producer.close()


def test_a_removed_user_is_out_when_his_session_ends(node: SecuredNode, topic: str) -> None:
    node.add_user("short", "lived")
    with KafkaProducer(**kafka_python(node.bootstrap, "SCRAM-SHA-256", "short", "lived")) as producer:
        producer.send(topic, b"before").get(_PATIENCE)
        assert node.users("remove", "short").returncode == 0
        end = time.monotonic() + _PATIENCE
        with pytest.raises(errors.KafkaError):
            send_until_refused(producer, topic, end)


def send_until_refused(producer: KafkaProducer, topic: str, end: float) -> None:
    while time.monotonic() < end:
        producer.send(topic, b"still here").get(_PATIENCE)
        time.sleep(0.05)


# ------------------------------------------------------------------------------------- every client, all at once


class Loads:
    """Each client with a user and a topic of its own, in a process of its own."""

    def __init__(
        self, node: SecuredNode, stack: ExitStack, names: Iterable[str], seconds: float, ca: str | None = None
    ) -> None:
        program = str(Path(__file__).with_name("session_load.py"))
        self.node = node
        self.names = [name for name in names if name != "kcat" or shutil.which("kcat")]
        with KafkaAdminClient(bootstrap_servers=node.open) as admin:
            admin.create_topics(self.names)
            users = [UserScramCredentialUpsertion(name, MECHANISM, "secret") for name in self.names]
            assert not any(admin.alter_user_scram_credentials(users).values())
        self.running = {}
        for name in self.names:
            where = [node.bootstrap, "SCRAM-SHA-256", name, "secret", name, str(seconds)]
            process = subprocess.Popen(
                [sys.executable, program, name, *where, *([ca] if ca else [])], stdout=subprocess.PIPE, text=True
            )
            stack.callback(process.kill)
            self.running[name] = process

    def written(self) -> dict[str, int]:
        places = {name: TopicPartition(name, 0) for name in self.names}
        with KafkaConsumer(bootstrap_servers=self.node.open) as reader:
            ends = reader.end_offsets(list(places.values()))
        return {name: ends[place] for name, place in places.items()}

    def outcome(self, name: str) -> dict[str, Any]:
        said, _ = self.running[name].communicate(timeout=2 * _PATIENCE)
        outcome: dict[str, Any] = json.loads(said)
        return outcome


@pytest.mark.parametrize(
    "over_tls", [pytest.param(False, id="plain", marks=pytest.mark.long), pytest.param(True, id="TLS")]
)
def test_every_client_writes_on_while_its_sessions_end(start_node: StartNode, tmp_path: Path, over_tls: bool) -> None:
    """Those that can log in again do so before; others are disconnected and come back. Nothing is lost or doubled."""
    settings, ca = sasl_settings(**{"connections.max.reauth.ms": str(SESSION_MS)}), None
    if over_tls:
        pki = Pki(tmp_path)
        ca = pki.ca
        settings |= {
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": pki.store(pki.node),
        }
    node = SecuredNode(start_node, settings)
    with ExitStack() as stack:
        # kcat ends where its only broker closes the connection, as those do that do not log in again.
        loads = Loads(node, stack, [name for name in CLIENTS if name != "kcat"], 2.5 * SESSION_MS / 1000, ca)
        outcomes = {name: loads.outcome(name) for name in loads.names}
        written = loads.written()
    assert {name: outcome["refused"] for name, outcome in outcomes.items()} == dict.fromkeys(loads.names)
    assert {name: outcome["sent"] for name, outcome in outcomes.items()} == written
    assert min(written.values()) > 10


def test_whoever_is_removed_is_out_when_the_session_ends_by_every_client(node: SecuredNode) -> None:
    with ExitStack() as stack:
        loads = Loads(node, stack, CLIENTS, _PATIENCE)
        end = time.monotonic() + _PATIENCE
        while not all(loads.written().values()):
            assert time.monotonic() < end, loads.written()
        with KafkaAdminClient(bootstrap_servers=node.open) as admin:
            gone = [UserScramCredentialDeletion(name, MECHANISM) for name in loads.names]
            assert not any(admin.alter_user_scram_credentials(gone).values())
        removed = loads.written()
        time.sleep(1.5 * SESSION_MS / 1000)
        out = loads.written()
        time.sleep(SESSION_MS / 1000)
        assert loads.written() == out, "nobody writes any more"
        assert all(out[name] >= removed[name] for name in out)
        assert all(process.poll() is None or loads.outcome(name)["refused"] for name, process in loads.running.items())
    log = node.process.log.read_text()
    assert "did not log in by SCRAM-SHA-256" in log
    assert "Traceback" not in log
