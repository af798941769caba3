"""A producer is acknowledged before those who wait for its records are served."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from in_process_node import InProcessNode, Wire, request_frame

from moldau import _speed
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from moldau.protocol.records import Record, encode_batch

FETCH_VERSION, PRODUCE_VERSION = 11, 9


class OrderedWire(Wire):
    """Writes down in one list who was sent something."""

    def __init__(self, name: str, order: list[str]) -> None:
        super().__init__()
        self._name = name
        self._order = order

    def send(self, chunks: Any) -> None:
        super().send(chunks)
        self._order.append(self._name)


@pytest.fixture(params=["compiled", "generated"] if _speed.COMPILED else ["generated"])
def node(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[InProcessNode]:
    node = InProcessNode(tmp_path / "data", compiled=request.param == "compiled")
    node.create_topic("t")
    yield node
    node.close()


def fetch_one_byte() -> FetchRequest:
    asked = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    return FetchRequest(
        max_wait_ms=60_000,
        min_bytes=1,
        max_bytes=1 << 20,
        session_epoch=-1,
        topics=[FetchTopic(topic="t", partitions=[asked])],
    )


def produce_one() -> ProduceRequest:
    records = encode_batch([Record(0, 1_700_000_000_000, None, b"the value", [])])
    data = PartitionProduceData(index=0, records=records)
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=[data])])


def test_the_producer_hears_first(node: InProcessNode) -> None:
    order: list[str] = []
    readers = [OrderedWire(f"reader {number}", order) for number in range(2)]
    producer = OrderedWire("producer", order)
    for reader in readers:
        node.send(reader, request_frame(fetch_one_byte(), FETCH_VERSION))
    assert all(reader.paused for reader in readers)
    for _ in range(2):
        node.send(producer, request_frame(produce_one(), PRODUCE_VERSION))
    assert order == ["producer", "producer"]
    node.turn_until(lambda: len(order) == 4)
    assert sorted(order[2:]) == ["reader 0", "reader 1"]
    # Both batches are in the one answer: a turn wakes a reader once.
    for reader in readers:
        assert reader.sent[0].count(b"the value") == 2


def test_a_record_that_very_many_wait_for_is_served_over_several_turns(
    node: InProcessNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one turn nobody else gets more than a few milliseconds, however many consumers there are."""
    monkeypatch.setattr("moldau.replica.purgatory.COMPLETED_PER_TURN", 3)
    order: list[str] = []
    for number in range(10):
        node.send(OrderedWire(f"reader {number}", order), request_frame(fetch_one_byte(), FETCH_VERSION))
    node.send(Wire(), request_frame(produce_one(), PRODUCE_VERSION))
    node.turn()
    assert len(order) == 3
    node.turn_until(lambda: len(order) == 10)


def test_readers_of_a_topic_that_goes_are_told_over_several_turns(
    node: InProcessNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moldau.replica.purgatory.COMPLETED_PER_TURN", 3)
    order: list[str] = []
    readers = [OrderedWire(f"reader {number}", order) for number in range(10)]
    for reader in readers:
        node.send(reader, request_frame(fetch_one_byte(), FETCH_VERSION))
    node.send(Wire(), request_frame(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000), 5))
    served = [len(order)]
    while len(order) < 10:
        node.turn()
        served.append(len(order))
    assert max(after - before for before, after in pairwise(served)) <= 3
