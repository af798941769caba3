"""Nonsense instead of logins: others are served, memory stays where it was, and nothing of ours breaks."""

from __future__ import annotations

import contextlib
import random
import struct
import time
from collections.abc import Iterator

import pytest
from node_process import StartNode
from raw_connection import RawConnection, all_topics, api_versions, request
from secured_node import SecuredNode, kafka_python, sasl_settings

from moldau import KafkaProducer
from moldau.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from moldau.protocol.messages.sasl_handshake import SaslHandshakeRequest
from token_issuer import Issuer

pytestmark = pytest.mark.ours_only("memory and log of our own node are looked at")

MEMORY_MB = 100
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
TOKENS = (
    b"\0jan\0wrong",
    b"n,,n=jan,r=nonce",
    b"n,,n=jan,r=nonce,tokenauth=true",
    b"c=biws,r=nonce,p=AAAA",
    b"n,,\x01auth=Bearer eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJqYW4ifQ.AAAA\x01\x01",
    b"\x01",
    b"",
)


def mutated(chance: random.Random, content: bytes) -> bytes:
    """A byte changed, the end cut off, something in the middle, or far too much of it."""
    kind = chance.randrange(5)
    changed = bytearray(content or b"x")
    if kind == 0:
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    elif kind == 1:
        del changed[chance.randrange(len(changed)) :]
    elif kind == 2:
        place = chance.randrange(len(changed))
        changed[place:place] = chance.randbytes(chance.randrange(1, 50))
    elif kind == 3:
        changed *= chance.randrange(1, 2000)
    else:
        return chance.randbytes(chance.randrange(2000))
    return bytes(changed)


def handshake(chance: random.Random, version: int) -> bytes:
    return request(17, version, SaslHandshakeRequest(mechanism=chance.choice(MECHANISMS)).encode(version), 1)


def conversation(chance: random.Random) -> Iterator[bytes]:
    """What one unauthenticated client sends."""
    bare = chance.random() < 0.3
    if chance.random() < 0.3:
        yield api_versions(3)
    yield handshake(chance, 0 if bare else 1)
    for _ in range(chance.randrange(1, 4)):
        token = mutated(chance, chance.choice(TOKENS))
        if bare:
            yield struct.pack(">i", len(token)) + token
        else:
            yield request(36, 1, SaslAuthenticateRequest(auth_bytes=token).encode(1), 2)
    if chance.random() < 0.3:
        yield all_topics(5)


def make_noise(node: SecuredNode, chance: random.Random) -> None:
    host, port = node.bootstrap.split(":")
    with contextlib.suppress(OSError), RawConnection((host, int(port)), timeout=0.01) as connection:
        for frame in conversation(chance):
            connection.send(mutated(chance, frame) if chance.random() < 0.2 else frame)
            if chance.random() < 0.7:
                with contextlib.suppress(TimeoutError):
                    connection.receive()
        if chance.random() < 0.2:
            connection.send(struct.pack(">i", chance.choice([524_288, 524_289, 2**31 - 1, -1])) + b"x" * 100)


@pytest.fixture
def node(start_node: StartNode, tmp_path: object) -> SecuredNode:
    keys = f"{tmp_path}/keys.json"
    with open(keys, "wb") as file:
        file.write(Issuer().document())
    settings = sasl_settings(
        ",".join(MECHANISMS),
        **{
            "sasl.oauthbearer.jwks.endpoint.url": f"file://{keys}",
            "connection.failed.authentication.delay.ms": "1",
            "delegation.token.secret.key": "secret",
        },
    )
    node = SecuredNode(start_node, settings)
    node.add_user("jan", "secret")
    return node


def keep_serving(node: SecuredNode, seconds: float, seed: int) -> None:
    chance = random.Random(seed)
    end = time.monotonic() + seconds
    with KafkaProducer(**kafka_python(node.bootstrap, "SCRAM-SHA-512", "jan", "secret")) as bystander:
        bystander.send("steady", b"before").get(30)
        before = node.process.memory_mb()
        while time.monotonic() < end:
            for _ in range(20):
                make_noise(node, chance)
            bystander.send("steady", b"during").get(30)
    assert node.process.memory_mb() - before < MEMORY_MB
    with KafkaProducer(**kafka_python(node.bootstrap, "PLAIN", "jan", "secret")) as after:
        after.send("steady", b"after").get(30)
    log = node.process.log.read_text()
    assert "Traceback" not in log, log[log.index("Traceback") :][:3000]


def test_nonsense_for_some_seconds(node: SecuredNode) -> None:
    keep_serving(node, 5, seed=1)


@pytest.mark.long
def test_nonsense_for_five_minutes(node: SecuredNode) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    keep_serving(node, 300, seed)


def test_strangers_who_promise_much_cost_little(node: SecuredNode) -> None:
    """Hundreds who announce the longest frame that is allowed, and send little of it."""
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
