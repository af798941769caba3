"""The server's side of transactions inside one process: markers in real logs, and waiting for a coordinator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from coordinator_world import FakeTime
from in_process_node import InProcessNode

from moldau.config.broker import BrokerConfig
from moldau.coordinator.txn.transaction import Producer
from moldau.deferred import Deferred
from moldau.errors import ErrorCode
from moldau.protocol.records import encode_batch
from moldau.server.txn_markers import Marker
from moldau.server.txn_partitions import TransactionPartitions
from moldau.types import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[InProcessNode]:
    started = InProcessNode(tmp_path / "data", compiled=True)
    started.create_topic("t", 2)
    yield started
    started.close()


def write(node: InProcessNode, place: TopicPartition, producer: Producer, sequence: int = 0) -> None:
    batch = bytearray(
        encode_batch(
            [(0, None, b"v", ())],
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
    )
    node.node.replicas.get(*place).append(memoryview(batch), 0, len(batch), -1)


def send(node: InProcessNode, marker: Marker, *places: TopicPartition) -> Mapping[TopicPartition, ErrorCode]:
    answers: dict[TopicPartition, ErrorCode] = {}
    node.node.transaction_markers.send(
        marker.coordinator_epoch,
        marker.producer_id,
        marker.producer_epoch,
        marker.committed,
        places,
        marker.transaction_version,
        answers.update,
        lambda: True,
    )
    return answers


def test_a_marker_moves_the_last_stable_offset(node: InProcessNode) -> None:
    log = node.node.replicas.get(*T0).log
    write(node, T0, Producer(7, 0))
    write(node, T0, Producer(8, 0))
    assert log.last_stable_offset == 0
    assert send(node, Marker(7, 0, True, 0), T0) == {T0: ErrorCode.NONE}
    assert log.last_stable_offset == 1
    assert send(node, Marker(8, 0, False, 0), T0) == {T0: ErrorCode.NONE}
    assert log.last_stable_offset == log.log_end_offset == 4
    # Sent again after a lost answer: it ends nothing that is not open.
    assert send(node, Marker(8, 0, False, 0), T0) == {T0: ErrorCode.NONE}
    assert log.last_stable_offset == log.log_end_offset == 5


def test_every_partition_is_answered_for(node: InProcessNode) -> None:
    missing, offsets = TopicPartition("nowhere", 0), TopicPartition("__consumer_offsets", 0)
    node.create_topic("__consumer_offsets", 1)
    node.turn_until(lambda: node.node.groups.runtime.is_loaded(0))
    answers = send(node, Marker(7, 0, True, 0), T0, missing, T1, offsets)
    assert answers == {
        T0: ErrorCode.NONE,
        T1: ErrorCode.NONE,
        missing: ErrorCode.LEADER_NOT_AVAILABLE,
        offsets: ErrorCode.NONE,
    }


def test_old_epochs_end_nothing(node: InProcessNode) -> None:
    write(node, T0, Producer(7, 3))
    assert send(node, Marker(7, 2, True, 5), T0) == {T0: ErrorCode.INVALID_PRODUCER_EPOCH}
    assert send(node, Marker(7, 3, True, 5), T0) == {T0: ErrorCode.NONE}
    write(node, T0, Producer(7, 3), sequence=1)
    assert send(node, Marker(7, 3, True, 4), T0) == {T0: ErrorCode.TRANSACTION_COORDINATOR_FENCED}
    assert node.node.replicas.get(*T0).log.last_stable_offset == 2


class BusyCoordinator:
    """Answers CONCURRENT_TRANSACTIONS so many times, then takes the partitions."""

    def __init__(self, busy: int) -> None:
        self.busy = busy
        self.asked = 0

    def add_partitions(self, *_: Any) -> Deferred[ErrorCode]:
        self.asked += 1
        answer: Deferred[ErrorCode] = Deferred()
        answer.resolve(ErrorCode.CONCURRENT_TRANSACTIONS if self.asked <= self.busy else ErrorCode.NONE)
        return answer


@pytest.mark.parametrize(
    ("busy", "code", "asked"),
    [(0, ErrorCode.NONE, 1), (3, ErrorCode.NONE, 4), (99, ErrorCode.CONCURRENT_TRANSACTIONS, 6)],
)
def test_the_first_write_waits_a_little_for_the_transaction_before(busy: int, code: ErrorCode, asked: int) -> None:
    time, coordinator = FakeTime(), BusyCoordinator(busy)
    config = BrokerConfig.parse({"log.dirs": "/unused"})
    partitions = TransactionPartitions(coordinator, config, time)  # type: ignore[arg-type]
    answers: list[Any] = []
    partitions.ask("x", Producer(7, 0), [T0], add=True).then(lambda codes, _: answers.append(codes))
    time.advance(1000)
    assert answers == [{T0: code}]
    assert coordinator.asked == asked
