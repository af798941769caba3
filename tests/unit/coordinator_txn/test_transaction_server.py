"""The server's side of transactions inside one process: markers in real logs, and waiting for a coordinator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from coordinator_world import FakeTime
from in_process_node import InProcessNode

from moldau.config.broker import BrokerConfig
from moldau.coordinator.marker import Marker
from moldau.coordinator.txn.transaction import Producer
from moldau.deferred import Deferred, ready
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages import add_partitions_to_txn as adding
from moldau.protocol.messages.partition_record import PartitionRecord
from moldau.protocol.messages.topic_record import TopicRecord
from moldau.protocol.records import encode_batch
from moldau.server.coordinator_leadership import CoordinatorLeadership
from moldau.server.coordinator_log import CoordinatorLog
from moldau.server.other_brokers import Address, OtherBrokers
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
    node.node.transaction_markers.send(marker, places, answers.update, lambda: True)
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


def test_a_marker_that_comes_late_does_not_end_the_next_transaction(node: InProcessNode) -> None:
    """Of transactions version 2: the producer goes on with the epoch of the marker."""
    log = node.node.replicas.get(*T0).log
    write(node, T0, Producer(7, 0))
    late = Marker(7, 1, True, 5, 2)
    assert send(node, late, T0) == {T0: ErrorCode.NONE}
    # Twice before the next one begins: the answer was lost, and nothing is open.
    assert send(node, late, T0) == {T0: ErrorCode.NONE}
    write(node, T0, Producer(7, 1))
    unstable = log.last_stable_offset
    assert send(node, late, T0) == {T0: ErrorCode.INVALID_PRODUCER_EPOCH}
    assert log.last_stable_offset == unstable < log.log_end_offset
    assert send(node, Marker(7, 2, False, 5, 2), T0) == {T0: ErrorCode.NONE}
    assert log.last_stable_offset == log.log_end_offset


def test_nor_the_next_offsets(node: InProcessNode) -> None:
    node.create_topic("__consumer_offsets", 1)
    node.turn_until(lambda: node.node.groups.runtime.is_loaded(0))
    offsets = TopicPartition("__consumer_offsets", 0)
    write(node, offsets, Producer(7, 1))
    assert send(node, Marker(7, 1, True, 5, 2), offsets) == {offsets: ErrorCode.INVALID_PRODUCER_EPOCH}
    assert node.node.replicas.get(*offsets).log.last_stable_offset == 0


def test_a_group_coordinator_that_loads_is_a_leader_to_be_asked_again(node: InProcessNode) -> None:
    place = TopicPartition("__consumer_offsets", 0)
    node.create_topic("__consumer_offsets", 1)
    node.turn_until(lambda: node.node.groups.runtime.is_loaded(0))
    runtime = node.node.groups.runtime
    runtime._epochs[0] = -1
    runtime.load(0, node.node.replicas.get(*place).leader_epoch)
    assert runtime.loading
    assert send(node, Marker(7, 0, True, 0), place) == {place: ErrorCode.NOT_LEADER_OR_FOLLOWER}


def test_a_coordinator_of_another_epoch_writes_nothing(node: InProcessNode) -> None:
    node.create_topic("__consumer_offsets", 1)
    place = TopicPartition("__consumer_offsets", 0)
    held, log = node.node.replicas.get(*place), CoordinatorLog(node.node.replicas)
    epoch = held.leader_epoch
    batch = encode_batch([(0, b"k", b"v", ())])
    assert log.append(place, bytearray(batch), epoch) == 1
    for wrong in (epoch - 1, epoch + 1):
        for attempt in (lambda: log.append(place, bytearray(batch), wrong), lambda: log.role(place, wrong)):  # noqa: B023
            with pytest.raises(KafkaError) as refused:
                attempt()
            assert refused.value.code == ErrorCode.NOT_COORDINATOR
    assert log.role(place, epoch) is held
    held.leader_epoch += 1
    assert log.append_run(place, bytearray(batch), 1, 0, epoch) is None
    held.leader_epoch = epoch
    held.is_leader = False
    assert log.append_run(place, bytearray(batch), 1, 0, epoch) is None
    with pytest.raises(KafkaError):
        log.role(place, epoch)
    assert log.replicated(place, 1) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    held.is_leader = True
    assert (held.log.log_end_offset, log.replicated(place, 1)) == (1, ErrorCode.NONE)
    held._min_isr = 2
    assert log.replicated(place, 1) == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert log.append_run(place, bytearray(batch), 1, 0, epoch) is None
    held._min_isr = 1
    assert log.append_run(place, bytearray(batch), 1, 0, epoch) == held.log.high_watermark == 2


class Told:
    """A coordinator that notes what it hears."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def load(self, partition: int, leader_epoch: int) -> None:
        self.heard.append(("load", partition, leader_epoch))

    def unload(self, partition: int, leader_epoch: int | None) -> None:
        self.heard.append(("unload", partition, leader_epoch))

    def on_image(self, delta: Any, image: Any) -> None: ...


class Held:
    """A replica manager that holds one partition, in a state of its own."""

    def __init__(self) -> None:
        self.arrivals = SimpleNamespace()
        self.partition = SimpleNamespace(is_leader=True, leader_epoch=3)

    def find(self, topic: str, index: int) -> Any:
        return self.partition if index == 0 else None


def test_a_coordinator_hears_of_what_its_replica_leads_and_of_nothing_else() -> None:
    told, held = Told(), Held()
    leadership = CoordinatorLeadership(1, {"c": told}, held)  # type: ignore[arg-type]

    def publish(leader: int, epoch: int, index: int = 0) -> list[Any]:
        delta = MetadataDelta(MetadataImage())
        topic_id = b"1" * 16
        delta.replay(TopicRecord(name="c", topic_id=topic_id))
        delta.replay(
            PartitionRecord(
                partition_id=index, topic_id=topic_id, replicas=[1, 2], isr=[1, 2], leader=leader, leader_epoch=epoch
            )
        )
        told.heard.clear()
        leadership.on_image(delta, delta.apply(1, 1))
        return list(told.heard)

    assert publish(1, 3) == [("load", 0, 3)]
    assert publish(1, 4) == [], "the replica is not there yet; it says so when it is"
    held.partition.leader_epoch, held.partition.is_leader = 4, False
    assert publish(1, 4) == []
    assert publish(1, 4, index=1) == []
    assert publish(2, 5) == [("unload", 0, 5)]
    assert publish(-1, 6) == [("unload", 0, 6)], "nobody leads: then this broker does not, either"


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


# ------------------------------------------------------------------------------------------- the coordinator elsewhere


class Elsewhere:
    """A coordinator's runtime whose metadata says who leads the partitions of `__transaction_state`."""

    topic = True

    def __init__(self, leader: int) -> None:
        self.leader = leader
        self.runtime = self
        self.asked = 0
        self.image = SimpleNamespace(
            topics=SimpleNamespace(partition=lambda *_: SimpleNamespace(leader=self.leader)),
            cluster=SimpleNamespace(endpoint=lambda broker, _: SimpleNamespace(host="h", port=broker)),
        )

    def partition_of(self, _: str) -> int:
        if not self.topic:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return 0

    def verify_partitions(self, _id: str, _producer: Producer, places: Any) -> Any:
        self.asked += 1
        return dict.fromkeys(places, ErrorCode.NONE)


class Answering:
    """Another broker that gives these answers, one after the other."""

    def __init__(self, *codes: ErrorCode) -> None:
        self.codes = list(codes)
        self.asked: list[int] = []

    def ask(self, address: Address, request: Any, *, timeout: float | None = None, line: str = "") -> Deferred[Any]:
        self.asked.append(address.port)
        (transaction,) = request.transactions
        result = adding.AddPartitionsToTxnPartitionResult(partition_index=0, partition_error_code=self.codes.pop(0))
        topic = adding.AddPartitionsToTxnTopicResult(name="t", results_by_partition=[result])
        row = adding.AddPartitionsToTxnResult(transactional_id=transaction.transactional_id, topic_results=[topic])
        return ready(adding.AddPartitionsToTxnResponse(results_by_transaction=[row]))


def asked_of(elsewhere: Elsewhere, peers: Answering, *, add: bool) -> tuple[Any, FakeTime]:
    time, config = FakeTime(), BrokerConfig.parse({"log.dirs": "/unused", "node.id": "1"})
    brokers = OtherBrokers(peers, "PLAINTEXT", lambda: elsewhere.image)  # type: ignore[arg-type, return-value]
    partitions = TransactionPartitions(elsewhere, config, time, brokers)  # type: ignore[arg-type]
    answers: list[Any] = []
    partitions.ask("x", Producer(7, 0), [T0], add=add).then(lambda codes, _: answers.append(codes[T0]))
    return answers, time


def test_the_broker_that_leads_the_partition_of_the_id_is_asked() -> None:
    peers = Answering(ErrorCode.TRANSACTION_ABORTABLE)
    answers, _ = asked_of(Elsewhere(2), peers, add=False)
    assert (answers, peers.asked) == ([ErrorCode.TRANSACTION_ABORTABLE], [2])
    here = Elsewhere(1)
    answers, _ = asked_of(here, peers, add=False)
    assert (answers, peers.asked, here.asked) == ([ErrorCode.NONE], [2], 1)


def test_without_a_leader_nobody_is_asked() -> None:
    for nobody in (Elsewhere(-1), Elsewhere(2)):
        nobody.topic = nobody.leader == -1
        peers = Answering()
        answers, _ = asked_of(nobody, peers, add=True)
        assert (answers, peers.asked) == ([ErrorCode.COORDINATOR_NOT_AVAILABLE], [])


def test_who_adds_follows_the_coordinator_and_waits_for_the_end_of_the_transaction_before() -> None:
    elsewhere = Elsewhere(2)
    peers = Answering(ErrorCode.NOT_COORDINATOR, ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NONE)
    answers, time = asked_of(elsewhere, peers, add=True)
    assert answers == []
    elsewhere.leader = 3
    time.advance(1000)
    assert (answers, peers.asked) == ([ErrorCode.NONE], [2, 3, 3])
    peers = Answering(*[ErrorCode.CONCURRENT_TRANSACTIONS] * 9)
    answers, time = asked_of(elsewhere, peers, add=True)
    time.advance(1000)
    assert (answers, len(peers.asked)) == ([ErrorCode.CONCURRENT_TRANSACTIONS], 6)
    answers, time = asked_of(elsewhere, Answering(ErrorCode.CONCURRENT_TRANSACTIONS), add=False)
    assert answers == [ErrorCode.CONCURRENT_TRANSACTIONS], "who only verifies hears at once"
