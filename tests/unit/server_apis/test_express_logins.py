"""The express way on a listener with SASL: open for as long as a login counts, and for nobody before."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from node_certificate import KEYSTORE, trusting
from served_node import Client, Served

from moldau import _speed
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from moldau.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from moldau.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from moldau.protocol.records import Record, encode_batch

pytestmark = pytest.mark.skipif(not _speed.COMPILED, reason="there is no express way without the compiled kernels")

USERS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_jan="secret" user_eva="other";'
SETTINGS = {
    "listeners": "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0,SASL_SSL://127.0.0.1:0",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": USERS,
    "listener.name.sasl_plaintext.plain.connections.max.reauth.ms": "3600000",
    "listener.name.sasl_ssl.plain.sasl.jaas.config": USERS,
    "listener.name.sasl_ssl.plain.connections.max.reauth.ms": "3600000",
    "connection.failed.authentication.delay.ms": "5",
    **KEYSTORE,
}
JAN = b"\0jan\0secret"


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Served]:
    node = Served(tmp_path, express=True, topics={"open": {}}, settings=SETTINGS)
    first = Client(node.address)
    assert write(first) == 0  # the readable way opens the partition
    first.close()
    yield node
    node.close()


@pytest.fixture(params=["SASL_PLAINTEXT", "SASL_SSL"])
def client(node: Served, request: pytest.FixtureRequest) -> Iterator[Client]:
    context = trusting() if request.param == "SASL_SSL" else None
    client = Client(node.node.node.server.address(request.param), context=context)
    yield client
    client.close()


def write(client: Client) -> int | None:
    """The error code, or None if the connection ended instead."""
    rows = [PartitionProduceData(index=0, records=encode_batch([Record(0, 1_700_000_000_000, None, b"v", [])]))]
    request = ProduceRequest(acks=1, timeout_ms=5000, topic_data=[TopicProduceData(name="open", partition_data=rows)])
    client.socket.sendall(client.frame(request, 9))
    answer = client.answer()
    if answer is None:
        return None
    return ProduceResponse.decode(answer[5:], 9).responses[0].partition_responses[0].error_code


def begin(client: Client, version: int = 1) -> None:
    client.socket.sendall(client.frame(SaslHandshakeRequest(mechanism="PLAIN"), version))
    answer = client.answer()
    assert answer is not None
    assert SaslHandshakeResponse.decode(answer[4:], version).error_code == 0


def log_in(client: Client, token: bytes = JAN) -> SaslAuthenticateResponse:
    begin(client)
    client.socket.sendall(client.frame(SaslAuthenticateRequest(auth_bytes=token), 1))
    answer = client.answer()
    assert answer is not None
    return SaslAuthenticateResponse.decode(answer[4:], 1)


def served(node: Served, client: Client) -> tuple[int | None, int]:
    """What a write comes to, and how many were served on the express way meanwhile."""
    before = node.served
    return write(client), node.served - before


def test_whoever_has_logged_in_takes_it(node: Served, client: Client) -> None:
    assert log_in(client).error_code == 0
    assert [served(node, client) for _ in range(3)] == [(0, 1)] * 3


def test_so_does_a_client_of_old(node: Served, client: Client) -> None:
    begin(client, version=0)
    client.socket.sendall(struct.pack(">i", len(JAN)) + JAN)
    assert client.answer() == b""
    assert served(node, client) == (0, 1)


def test_nobody_takes_it_before(node: Served, client: Client) -> None:
    assert served(node, client) == (None, 0)


def test_nor_with_the_wrong_password(node: Served, client: Client) -> None:
    assert log_in(client, b"\0jan\0wrong").error_code != 0
    assert client.answer() is None
    assert node.served == 0


def test_it_is_closed_while_a_login_is_renewed(node: Served, client: Client) -> None:
    log_in(client)
    assert served(node, client) == (0, 1)
    begin(client)
    assert served(node, client) == (None, 0)


def test_it_is_open_again_once_that_is_done(node: Served, client: Client) -> None:
    log_in(client)
    assert log_in(client).error_code == 0
    assert served(node, client) == (0, 1)


def test_it_ends_with_the_session(node: Served, client: Client) -> None:
    log_in(client)
    assert served(node, client) == (0, 1)

    def expire() -> None:
        for connection in node.node.node.server.connections:
            if connection.authentication is not None:
                connection.authentication._expire()

    node.node.runtime.loop.call_from_thread(expire)
    with node.held():
        pass
    assert served(node, client) == (None, 0)
