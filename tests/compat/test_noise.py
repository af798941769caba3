"""Noise of strangers at every listener: others are served, memory stays where it was, and nothing of ours breaks."""

from __future__ import annotations

import contextlib
import random
import struct
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from node_process import StartNode
from noise import MECHANISMS, Noise, requests, sheer_bytes, tls_records, tokens
from raw_connection import RawConnection
from secured_node import SecuredNode, kafka_python, sasl_settings

from issued import Issuer as Authority
from moldau import KafkaConsumer, KafkaProducer, TopicPartition
from token_issuer import Issuer

pytestmark = pytest.mark.ours_only("memory and log of our own node are looked at")

MEMORY_MB = 100
# A line for each address every ten seconds, a line for each login that failed, and what the node says anyway.
LOG_BYTES_A_SECOND = 50_000
PATIENCE = 30

# The listeners at which each kind is heard.
KINDS: dict[str, tuple[Noise, tuple[str, ...]]] = {
    "bytes": (sheer_bytes, ("OPEN", "SASL", "SSL", "SASL_SSL")),
    "records": (tls_records, ("SSL", "SASL_SSL")),
    "tokens": (tokens, ("SASL",)),
    "requests": (requests, ("OPEN", "SASL")),
}


class Besieged:
    """A node with a listener of each kind, and rules by which strangers may do nothing; jan may do everything."""

    def __init__(self, start_node: StartNode, directory: Path) -> None:
        keys, store, ca = directory / "keys.json", directory / "node.pem", directory / "ca.pem"
        keys.write_bytes(Issuer().document())
        authority = Authority()
        authority.issue("node").write(store)
        ca.write_text(authority.pem)
        names = ("PLAINTEXT", "SASL", "OPEN", "SSL", "SASL_SSL")
        settings = sasl_settings(
            ",".join(MECHANISMS),
            **{
                "listeners": ",".join(f"{name}://127.0.0.1:0" for name in names),
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OPEN:PLAINTEXT,SASL:SASL_PLAINTEXT,SSL:SSL,"
                "SASL_SSL:SASL_SSL",
                "sasl.enabled.mechanisms": "SCRAM-SHA-256",
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": str(store),
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": str(ca),
                "sasl.oauthbearer.jwks.endpoint.url": f"file://{keys}",
                "connection.failed.authentication.delay.ms": "1",
                "delegation.token.secret.key": "secret",
                "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                "super.users": "User:jan",
            },
        )
        self.process = start_node(settings)
        self.addresses = dict(zip(names, self.process.bootstrap.split(","), strict=True))

    def strangers(self, kind: str, chance: random.Random) -> None:
        """One of them, until he has said what he has to say or is turned out."""
        noise, listeners = KINDS[kind]
        host, port = self.addresses[chance.choice(listeners)].split(":")
        with contextlib.suppress(OSError), RawConnection((host, int(port)), timeout=0.01) as connection:
            for piece in noise(chance):
                connection.send(piece)
                if chance.random() < 0.7:
                    with contextlib.suppress(TimeoutError):
                        connection.receive()
            if chance.random() < 0.2:
                connection.hang_up_hard()

    def client(self, mechanism: str = "PLAIN") -> dict[str, object]:
        return kafka_python(self.addresses["SASL"], mechanism, "jan", "secret")


@pytest.fixture
def besieged(start_node: StartNode, tmp_path: Path) -> Besieged:
    return Besieged(start_node, tmp_path)


def keep_serving(
    node: Besieged, kind: str, seconds: float, seed: int, told: Callable[[str], None] = lambda _: None
) -> None:
    chance = random.Random(seed)
    strangers, sent, longest = 0, 0, 0.0
    with KafkaProducer(**node.client()) as bystander:
        bystander.send("steady", b"before").get(PATIENCE)
        before, end = node.process.memory_mb(), time.monotonic() + seconds
        while time.monotonic() < end:
            for _ in range(20):
                node.strangers(kind, chance)
                strangers += 1
            asked = time.monotonic()
            bystander.send("steady", b"during").get(PATIENCE)
            longest = max(longest, time.monotonic() - asked)
            sent += 1
        after = node.process.memory_mb()
    log = node.process.log.read_text(errors="replace")
    told(
        f"{kind}, seed {seed}: {strangers} strangers in {seconds:g} s, longest answer to somebody else "
        f"{longest * 1000:.0f} ms, memory {before:.0f} -> {after:.0f} MB, log {len(log)} bytes"
    )
    assert "Traceback" not in log, log[log.index("Traceback") - 500 :][:3000]
    assert after - before < MEMORY_MB
    assert len(log) < LOG_BYTES_A_SECOND * (seconds + 10)
    where = TopicPartition("steady", 0)
    with KafkaConsumer(**node.client(), auto_offset_reset="earliest") as reader:
        reader.assign([where])
        assert reader.end_offsets([where]) == {where: sent + 1}
        assert next(reader).value == b"before"


@pytest.mark.parametrize("kind", KINDS)
def test_noise_for_some_seconds(besieged: Besieged, kind: str) -> None:
    keep_serving(besieged, kind, 3, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_noise_for_five_minutes(besieged: Besieged, kind: str, tell: Callable[[str], None]) -> None:
    keep_serving(besieged, kind, 300, random.randrange(2**32), tell)


def test_strangers_who_promise_much_cost_little(start_node: StartNode) -> None:
    """Hundreds who announce the longest frame that is allowed, and send little of it."""
    node = SecuredNode(start_node, sasl_settings())
    host, port = node.bootstrap.split(":")
    before = node.process.memory_mb()
    with contextlib.ExitStack() as open_ones:
        for _ in range(300):
            connection = open_ones.enter_context(RawConnection((host, int(port)), timeout=5))
            connection.send(struct.pack(">i", 512 * 1024) + b"x" * 1000)
        with KafkaProducer(**kafka_python(node.bootstrap, "PLAIN", "jan", "secret")) as bystander:
            bystander.send("steady", b"beside them").get(30)
        # Memory that is not written to is not used: 300 times half a megabyte are promised.
        assert node.process.memory_mb() - before < MEMORY_MB
