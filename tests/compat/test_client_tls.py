"""Our clients through TLS, with what stands for a broker's TLS in front of a node, and whom they do not trust."""

from __future__ import annotations

import asyncio
import os
import ssl
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from node_process import StartNode

from certificates import Certificates
from moldau import KafkaAdminClient, KafkaConsumer, KafkaProducer, errors
from moldau.aio import AIOKafkaConsumer, AIOKafkaProducer
from moldau.client.admin import list_topics
from moldau.client.cluster import Cluster
from moldau.client.security import SETTINGS, read_security
from moldau.links.errors import TlsFailed
from tls_proxy import TlsProxy
from whole_topics import read_to_the_end

Secured = Callable[..., tuple[TlsProxy, str]]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def secured(certificates: Certificates, start_node: StartNode) -> Iterator[Secured]:
    """Starts a node behind TLS and gives its address: secured(certificate, key, wants_client=...)."""
    proxies: list[TlsProxy] = []

    def start(certificate: Any = None, key: Any = None, *, wants_client: bool = False) -> tuple[TlsProxy, str]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate or certificates.node, key or certificates.node_key)
        if wants_client:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(certificates.ca)
        proxy = TlsProxy(context)
        proxies.append(proxy)
        node = start_node(
            {
                "advertised.listeners": f"PLAINTEXT://127.0.0.1:{proxy.port}",
                "group.initial.rebalance.delay.ms": "0",
            }
        )
        proxy.lead_to(node.address)
        return proxy, f"127.0.0.1:{proxy.port}"

    yield start
    for proxy in proxies:
        proxy.close()


def test_all_clients_work_through_tls(secured: Secured, certificates: Certificates, topic: str) -> None:
    proxy, address = secured()
    settings = {"bootstrap_servers": address, "security_protocol": "SSL", "ssl_cafile": str(certificates.ca)}
    values = [os.urandom(1000) for _ in range(20_000)]  # far more than a TLS record or a buffer, both ways
    with KafkaProducer(**settings) as producer:
        futures = [producer.send(topic, value) for value in values]
        producer.flush(60)
        assert [future.get(0).offset for future in futures] == list(range(len(values)))
    with KafkaConsumer(topic, auto_offset_reset="earliest", group_id=topic, **settings) as consumer:
        assert [record.value for record in read_to_the_end(consumer)] == values
    with KafkaAdminClient(**settings) as admin:
        assert topic in admin.list_topics()
    with Cluster(address, security=read_security({**SETTINGS, **settings})) as cluster:
        assert topic in [each.name for each in cluster.run(list_topics())]
        # Tickets for later sessions arrive unasked; they must not look like the end of the connection.
        before = proxy.handshakes
        for _ in range(5):
            cluster.run(list_topics())
        assert proxy.handshakes == before


def test_asyncio_through_a_context_of_the_application(secured: Secured, certificates: Certificates, topic: str) -> None:
    _, address = secured()
    settings: dict[str, Any] = {
        "bootstrap_servers": address,
        "security_protocol": "SSL",
        "ssl_context": ssl.create_default_context(cafile=str(certificates.ca)),
    }

    async def work() -> None:
        async with AIOKafkaProducer(**settings) as producer:
            await producer.send_and_wait(topic, b"vltava")
        async with AIOKafkaConsumer(topic, auto_offset_reset="earliest", **settings) as consumer:
            assert (await consumer.getone()).value == b"vltava"

    asyncio.run(asyncio.wait_for(work(), 60))


def test_a_client_shows_its_own_certificate(secured: Secured, certificates: Certificates, topic: str) -> None:
    _, address = secured(wants_client=True)
    settings = {"bootstrap_servers": address, "security_protocol": "SSL", "ssl_cafile": str(certificates.ca)}
    with KafkaProducer(
        ssl_certfile=str(certificates.client),
        ssl_keyfile=str(certificates.client_key),
        ssl_password=Certificates.password,
        **settings,
    ) as producer:
        assert producer.send(topic, b"x").get(10).offset == 0
    with pytest.raises(errors.KafkaError):
        KafkaProducer(bootstrap_timeout_ms=500, **settings)
    with pytest.raises(errors.KafkaConfigurationError, match=r"client\.key"):
        KafkaProducer(
            ssl_certfile=str(certificates.client),
            ssl_keyfile=str(certificates.client_key),
            ssl_password="guessed",
            **settings,
        )


def test_who_is_not_trusted_gets_nothing(secured: Secured, certificates: Certificates, topic: str) -> None:
    """At once, whatever the time allowed: another try would end the same way."""
    threads, descriptors = set(threading.enumerate()), len(os.listdir("/proc/self/fd"))
    proxy, address = secured()
    settings = {"bootstrap_servers": address, "security_protocol": "SSL", "bootstrap_timeout_ms": 600_000}
    for trust in (
        {"ssl_cafile": str(certificates.stranger)},
        {},
        {"ssl_cafile": str(certificates.ca), "ssl_crlfile": str(certificates.revoked())},
    ):
        with pytest.raises(errors.SslAuthenticationError, match="certificate"):
            KafkaProducer(**settings, **trust)
        with (
            pytest.raises(TlsFailed, match="certificate"),
            Cluster(address, security=read_security({**SETTINGS, "security_protocol": "SSL", **trust})) as cluster,
        ):
            cluster.run(list_topics())
    assert proxy.handshakes == 0
    del proxy
    assert {thread for thread in threading.enumerate() if "producer" in thread.name} <= threads
    assert len(os.listdir("/proc/self/fd")) < descriptors + 8  # the proxy's and the node's


def test_the_name_in_the_certificate(secured: Secured, certificates: Certificates, topic: str) -> None:
    _, address = secured(certificates.elsewhere, certificates.elsewhere_key)
    settings = {"bootstrap_servers": address, "security_protocol": "SSL", "ssl_cafile": str(certificates.ca)}
    with pytest.raises(errors.SslAuthenticationError, match="certificate"):
        KafkaProducer(**settings)
    with KafkaProducer(ssl_check_hostname=False, **settings) as producer:
        producer.send(topic, b"x").get(10)


def test_tls_and_plaintext_do_not_mix(secured: Secured, certificates: Certificates, bootstrap: str) -> None:
    _, address = secured()
    with pytest.raises(errors.NoBrokersAvailable):
        KafkaProducer(bootstrap_servers=address, bootstrap_timeout_ms=500)
    with pytest.raises(errors.KafkaError):
        KafkaProducer(
            bootstrap_servers=bootstrap,
            security_protocol="SSL",
            ssl_cafile=str(certificates.ca),
            bootstrap_timeout_ms=500,
        )
