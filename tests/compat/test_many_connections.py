"""Many connections: idle ones cost little, busy ones are all served, rude ones disturb nobody."""

from __future__ import annotations

import resource
import socket
import struct
from collections import Counter
from contextlib import ExitStack
from selectors import EVENT_READ, DefaultSelector

import pytest
from node_process import StartNode
from raw_connection import RawConnection, all_topics, api_versions

from clients import EARLIEST, ConfluentKafka, Message

IDLE, BUSY, REQUESTS_EACH = 2000, 50, 200
MEMORY_MB = 100  # what 2,050 connections may cost; a leak or a buffer for each would be far above it


@pytest.fixture
def many_files() -> None:
    """The node inherits the limit on open files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < IDLE + BUSY + 200:
        pytest.skip(f"this machine allows a process only {hard} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, IDLE + BUSY + 200), hard))


@pytest.mark.usefixtures("many_files")
def test_two_thousand_idle_and_fifty_busy(start_node: StartNode) -> None:
    node = start_node()
    with RawConnection(node.address) as first:
        assert first.is_served()
    before = node.memory_mb()
    with ExitStack() as stack:
        idle = [stack.enter_context(greeted(node.address)) for _ in range(IDLE)]
        busy = [stack.enter_context(greeted(node.address)) for _ in range(BUSY)]
        answered = exchange_on_all(busy)
        assert set(answered.values()) == {REQUESTS_EACH}
        assert node.memory_mb() - before < MEMORY_MB
        assert all(connection.is_served() for connection in idle)
    client = ConfluentKafka(node.bootstrap)
    client.produce("after", [Message(value=b"still here")])
    assert client.consume("after", EARLIEST, 1)[0].value == b"still here"


def greeted(address: tuple[str, int]) -> RawConnection:
    """A connection that asked its first question, as every client does; it also spares the listener's queue."""
    connection = RawConnection(address)
    assert connection.is_served()
    return connection


def exchange_on_all(connections: list[RawConnection]) -> Counter[int]:
    """Sends requests on all connections at once, one in flight on each; how many each got answered, in order."""
    answered: Counter[int] = Counter()
    with DefaultSelector() as selector:
        for index, connection in enumerate(connections):
            selector.register(connection.socket, EVENT_READ, index)
            connection.send(all_topics(0))
        while selector.get_map():
            ready = selector.select(timeout=30)
            assert ready, "nobody was served for 30 s"
            for key, _ in ready:
                connection = connections[key.data]
                (correlation_id,) = struct.unpack_from(">i", connection.receive())
                assert correlation_id == answered[key.data]
                answered[key.data] += 1
                if answered[key.data] == REQUESTS_EACH:
                    selector.unregister(connection.socket)
                else:
                    connection.send(all_topics(answered[key.data]))
    return answered


def test_pipelined_requests_are_answered_in_order(start_node: StartNode) -> None:
    node = start_node()
    with RawConnection(node.address) as connection:
        connection.send(b"".join(api_versions(n) if n % 3 else all_topics(n) for n in range(500)))
        for expected in range(500):
            (correlation_id,) = struct.unpack_from(">i", connection.receive())
            assert correlation_id == expected


def test_requests_may_arrive_byte_by_byte(start_node: StartNode) -> None:
    node = start_node()
    with RawConnection(node.address) as connection:
        connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in api_versions(9) + all_topics(10):
            connection.send(bytes([byte]))
        assert [struct.unpack_from(">i", connection.receive())[0] for _ in range(2)] == [9, 10]


def test_a_client_that_never_reads_is_held_back(start_node: StartNode) -> None:
    """It may fill its own pipe, but not the node's memory, and others are served meanwhile."""
    node = start_node()
    client = ConfluentKafka(node.bootstrap)
    client.create_topic("t", partitions=50)
    before = node.memory_mb()
    with RawConnection(node.address) as deaf, RawConnection(node.address) as other:
        deaf.socket.setblocking(False)
        batch = b"".join(all_topics(n) for n in range(1000))
        accepted = 0
        for _ in range(2000):  # 50 MB of requests, far more in answers, if nobody stopped it
            try:
                accepted += deaf.socket.send(batch)
            except BlockingIOError:
                break
            assert other.is_served()
        assert accepted < 2000 * len(batch)
        assert other.is_served()
        assert node.memory_mb() - before < MEMORY_MB


def test_a_client_that_goes_away_in_the_middle_disturbs_nobody(start_node: StartNode) -> None:
    node = start_node()
    with RawConnection(node.address) as other:
        for cut in range(1, len(api_versions()), 3):
            with RawConnection(node.address) as rude:
                rude.send(all_topics() * 20 + api_versions()[:cut])
                rude.hang_up_hard()
            assert other.is_served()
