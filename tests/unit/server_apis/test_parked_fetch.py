"""A fetch that waits for records does not keep another request on its connection waiting, unless that is a fetch."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from in_process_node import InProcessNode, Wire, request_frame

from moldau import _speed
from moldau.protocol.api import response_header_version
from moldau.protocol.message import Message
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from moldau.protocol.records import Record, encode_batch
from moldau.runtime.real import RealRuntime

PATIENCE = 60.0
FETCH, LIST_OFFSETS, PRODUCE = 12, 7, 9


class Client:
    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address, timeout=PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = self.socket.makefile("rb")

    def answer(self, response: type[Message], version: int) -> Any:
        size = int.from_bytes(self._stream.read(4), "big")
        body = self._stream.read(size)
        return response.decode(body[4 + response_header_version(response.API_KEY, version) :], version)

    def close(self) -> None:
        self._stream.close()
        self.socket.close()


@pytest.fixture
def address(tmp_path: Path) -> Iterator[tuple[str, int]]:
    runtime = RealRuntime()
    node = InProcessNode(tmp_path / "data", compiled=True, runtime=runtime)
    node.create_topic("t")
    thread = threading.Thread(target=runtime.loop.run, daemon=True)
    thread.start()
    yield node.node.server.address("PLAINTEXT")
    runtime.loop.call_from_thread(runtime.loop.stop)
    thread.join(PATIENCE)
    node.close()


@pytest.fixture
def client(address: tuple[str, int]) -> Iterator[Client]:
    client = Client(address)
    yield client
    client.close()


@pytest.fixture(params=["compiled", "generated"] if _speed.COMPILED else ["generated"])
def cluster_id(request: pytest.FixtureRequest) -> str | None:
    """A field that the compiled reader of fetches leaves to the generated one."""
    return None if request.param == "compiled" else "any"


def frame(request: Message, version: int) -> bytes:
    body = bytes(request_frame(request, version))
    return struct.pack(">i", len(body)) + body


def fetch(cluster_id: str | None = None, *, session_id: int = 0, session_epoch: int = -1, named: bool = True) -> bytes:
    """For far longer than anybody waits here."""
    asked = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(
        cluster_id=cluster_id,
        max_wait_ms=600_000,
        min_bytes=1,
        max_bytes=1 << 20,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=[FetchTopic(topic="t", partitions=[asked])] if named else [],
    )
    return frame(request, FETCH)


def list_offsets() -> bytes:
    asked = ListOffsetsTopic(name="t", partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])
    return frame(ListOffsetsRequest(topics=[asked]), LIST_OFFSETS)


def write(address: tuple[str, int]) -> None:
    records = encode_batch([Record(0, 1_700_000_000_000, None, b"the value", [])])
    data = [TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=records)])]
    writer = Client(address)
    writer.socket.sendall(frame(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=data), PRODUCE))
    (topic,) = writer.answer(ProduceResponse, PRODUCE).responses
    assert topic.partition_responses[0].error_code == 0
    writer.close()


def records_in(answer: FetchResponse) -> bytes:
    return b"".join(bytes(part.records or b"") for topic in answer.responses for part in topic.partitions)


def assert_offsets(client: Client, offset: int) -> None:
    (topic,) = client.answer(ListOffsetsResponse, LIST_OFFSETS).topics
    (partition,) = topic.partitions
    assert (partition.error_code, partition.offset) == (0, offset)


def test_another_request_is_served_at_once(client: Client, cluster_id: str | None) -> None:
    client.socket.sendall(fetch(cluster_id) + list_offsets())
    answer = client.answer(FetchResponse, FETCH)
    assert answer.error_code == 0
    assert records_in(answer) == b""
    assert_offsets(client, 0)


@pytest.mark.parametrize("first", [1, 5, 6, 20])
def test_also_if_it_comes_later_and_in_pieces(client: Client, address: tuple[str, int], first: int) -> None:
    client.socket.sendall(fetch())
    other = Client(address)
    for piece in (list_offsets()[:first], list_offsets()[first:]):
        # Whoever has been answered came after what was sent before.
        other.socket.sendall(list_offsets())
        assert_offsets(other, 0)
        client.socket.sendall(piece)
    assert records_in(client.answer(FetchResponse, FETCH)) == b""
    assert_offsets(client, 0)
    other.close()


@pytest.mark.parametrize("together", [True, False])
def test_a_further_fetch_leaves_it_waiting(client: Client, address: tuple[str, int], together: bool) -> None:
    if together:
        client.socket.sendall(fetch() + fetch())
    else:
        client.socket.sendall(fetch())
        client.socket.sendall(fetch())
    other = Client(address)
    for _ in range(3):
        other.socket.sendall(list_offsets())
        assert_offsets(other, 0)
    other.close()
    write(address)
    # Both waited for the record: an early answer would have none.
    for _ in range(2):
        assert b"the value" in records_in(client.answer(FetchResponse, FETCH))


def test_behind_a_further_fetch_it_waits_for_the_first_only(client: Client, address: tuple[str, int]) -> None:
    client.socket.sendall(fetch() + fetch() + list_offsets())
    write(address)
    for _ in range(2):
        assert b"the value" in records_in(client.answer(FetchResponse, FETCH))
    assert_offsets(client, 1)


def test_a_session_goes_on_after_an_early_answer(
    client: Client, address: tuple[str, int], cluster_id: str | None
) -> None:
    client.socket.sendall(fetch(cluster_id, session_epoch=0) + list_offsets())
    whole = client.answer(FetchResponse, FETCH)
    assert whole.error_code == 0
    assert [topic.topic for topic in whole.responses] == ["t"]
    assert_offsets(client, 0)
    more = {"session_id": whole.session_id, "named": False}
    client.socket.sendall(fetch(cluster_id, session_epoch=1, **more) + list_offsets())
    answer = client.answer(FetchResponse, FETCH)
    assert (answer.error_code, answer.session_id, answer.responses) == (0, whole.session_id, [])
    assert_offsets(client, 0)
    client.socket.sendall(fetch(cluster_id, session_epoch=2, **more))
    write(address)
    answer = client.answer(FetchResponse, FETCH)
    assert answer.error_code == 0
    assert b"the value" in records_in(answer)


def test_a_connection_that_ends_behind_a_piece_of_a_request_is_given_up(
    client: Client, address: tuple[str, int]
) -> None:
    client.socket.sendall(fetch() + list_offsets()[:3])
    client.socket.shutdown(socket.SHUT_WR)
    assert client.socket.recv(1) == b""
    write(address)


def test_a_fetch_of_very_many_partitions_waits_and_is_woken_by_any_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = InProcessNode(tmp_path / "data", compiled=True, hurry=True)
    node.create_topic("wide", 300)
    asked = [FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1 << 20) for index in range(300)]
    topics = [FetchTopic(topic="wide", partitions=[*asked, asked[7]])]  # one of them twice
    request = FetchRequest(max_wait_ms=600_000, min_bytes=1, session_epoch=-1, topics=topics)
    for index, turns in ((299, None), (0, 3), (299, 3), (150, 5)):
        wire = Wire()
        node.send(wire, request_frame(request, FETCH))
        steps = 0
        while len(node.node.slicer) if turns is None else steps < turns:
            node.turn()
            steps += 1
        assert not wire.sent
        batch = encode_batch([Record(0, 1_700_000_000_000, None, b"the value", [])])
        rows = [PartitionProduceData(index=index, records=batch)]
        produce = ProduceRequest(
            acks=1, timeout_ms=1000, topic_data=[TopicProduceData(name="wide", partition_data=rows)]
        )
        assert not node.ask(produce, PRODUCE, ProduceResponse).responses[0].partition_responses[0].error_code
        node.turn_until(lambda wire=wire: bool(wire.sent))
        end = asked[index].fetch_offset + 1
        topics[0].partitions[index] = asked[index] = FetchPartition(
            partition=index, fetch_offset=end, partition_max_bytes=1 << 20
        )
    node.close()
