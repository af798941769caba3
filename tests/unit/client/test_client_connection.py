"""A blocking connection on real sockets: answers, time-outs, and every way the other end can fail."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from scripted_peer import HANG_UP, SILENCE, ScriptedPeer, api_versions, metadata

from moldau.client.addresses import Address
from moldau.client.connection import Connection
from moldau.client.errors import ConnectionFailed, RequestTimedOut
from moldau.errors import ErrorCode, KafkaError, ProtocolError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.metadata import MetadataRequest

ASK = MetadataRequest(topics=[])


@contextmanager
def connected(peer: ScriptedPeer) -> Iterator[Connection]:
    connection = Connection(peer.address, client_id="tester")
    try:
        yield connection
    finally:
        connection.close()


def test_asks_and_gets_its_answer() -> None:
    with ScriptedPeer({ApiKey.METADATA: lambda version, request: metadata({})}) as peer, connected(peer) as connection:
        assert connection.call(ASK, 10).cluster_id == "scripted"
        assert connection.versions(10).ranges[ApiKey.METADATA] == (0, 13)
        assert peer.versions_asked(ApiKey.METADATA) == [13]


def test_several_requests_before_the_first_answer() -> None:
    with ScriptedPeer({ApiKey.METADATA: lambda version, request: metadata({})}) as peer, connected(peer) as connection:
        calls = [connection.send(ASK) for _ in range(12)]
        # The last one first: the answers before it are taken in on the way.
        assert connection.wait(calls[-1], 10).cluster_id == "scripted"
        assert all(call.settled for call in calls)
        assert len(peer.asked(ApiKey.METADATA)) == 12


def test_speaks_with_a_broker_that_knows_only_old_versions() -> None:
    refusal = b"\0\0\0\0" + api_versions({ApiKey.API_VERSIONS: (0, 1)}, ErrorCode.UNSUPPORTED_VERSION).encode(0)
    ranges = {ApiKey.API_VERSIONS: (0, 1), ApiKey.METADATA: (0, 1)}
    handlers = {
        ApiKey.API_VERSIONS: [lambda version, request: refusal, lambda version, request: api_versions(ranges)],
        ApiKey.METADATA: lambda version, request: metadata({}),
    }
    with ScriptedPeer(handlers) as peer, connected(peer) as connection:
        connection.call(ASK, 10)
        assert peer.versions_asked(ApiKey.API_VERSIONS) == [4, 1]
        assert peer.versions_asked(ApiKey.METADATA) == [1]


def test_an_answer_that_does_not_come_ends_the_connection() -> None:
    with ScriptedPeer({ApiKey.METADATA: lambda version, request: SILENCE}) as peer, connected(peer) as connection:
        other = connection.send(ASK)
        with pytest.raises(RequestTimedOut, match="did not answer Metadata in time"):
            connection.call(ASK, 0.05)
        assert not connection.usable
        with pytest.raises(RequestTimedOut):
            other.result()


def test_a_peer_that_hangs_up() -> None:
    with ScriptedPeer({ApiKey.METADATA: lambda version, request: HANG_UP}) as peer, connected(peer) as connection:
        with pytest.raises(ConnectionFailed, match="closed the connection"):
            connection.call(ASK, 10)
        with pytest.raises(ConnectionFailed):
            connection.call(ASK, 10)


def test_a_peer_that_hung_up_while_idle_is_noticed_before_the_next_request() -> None:
    peer = ScriptedPeer({ApiKey.METADATA: lambda version, request: metadata({})})
    connection = Connection(peer.address, client_id="tester")
    connection.call(ASK, 10)
    assert connection.usable
    peer.close()
    assert not connection.usable


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = Address(*server.getsockname())
    with pytest.raises(ConnectionFailed, match="does not answer: connection refused"):
        Connection(free, client_id="tester")


@contextmanager
def speaking(words: bytes) -> Iterator[Connection]:
    """Something that says `words` to whoever connects, and closes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def speak() -> None:
            guest, _ = server.accept()
            guest.recv(100)
            guest.sendall(words)
            guest.close()

        thread = threading.Thread(target=speak)
        thread.start()
        connection = Connection(Address(*server.getsockname()), client_id="tester")
        try:
            yield connection
        finally:
            connection.close()
            thread.join()


def test_a_web_server_is_no_broker() -> None:
    with speaking(b"HTTP/1.1 400 Bad Request\r\n\r\n") as connection:  # noqa: SIM117
        with pytest.raises(ProtocolError, match="does not speak Kafka's protocol"):
            connection.versions(10)


def test_a_refusal_of_version_0() -> None:
    always = {
        ApiKey.API_VERSIONS: lambda version, request: api_versions({}, ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
    }
    with ScriptedPeer(always) as peer, connected(peer) as connection:  # noqa: SIM117
        with pytest.raises(KafkaError, match="refused ApiVersions: Not authorized"):
            connection.versions(10)
