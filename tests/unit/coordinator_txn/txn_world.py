"""A transaction coordinator on the in-memory log, and partitions that judge batches and markers as a real log does.

`Partition` keeps the content of a partition as a list and asks storage's own ProducerState what may be appended and
what is stable; so fencing, duplicates and the last stable offset are the real rules, without files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from coordinator_world import FakeTime, MemoryLog, PatientWorkers

from moldau.coordinator.group.topic_pattern import PatternResolver
from moldau.coordinator.marker import Marker
from moldau.coordinator.txn.coordinator import TransactionCoordinator
from moldau.coordinator.txn.settings import TransactionSettings
from moldau.coordinator.txn.shard import TransactionShard
from moldau.coordinator.txn.transaction import TRANSACTIONS_TOPIC, Producer, Transaction
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.feature_level_record import FeatureLevelRecord
from moldau.protocol.messages.partition_record import PartitionRecord
from moldau.protocol.messages.remove_topic_record import RemoveTopicRecord
from moldau.protocol.messages.topic_record import TopicRecord
from moldau.protocol.records import encode_batch, read_header
from moldau.storage.origin import Origin
from moldau.storage.producer_state import EndMarker, ProducerState
from moldau.types import TopicPartition

STATE = TopicPartition(TRANSACTIONS_TOPIC, 0)


class Item(NamedTuple):
    """One batch of a partition: what a producer wrote, or (`value` None) the marker that ends its transaction."""

    producer: Producer
    value: Any
    committed: bool = False
    transactional: bool = True


class Partition:
    def __init__(self, place: TopicPartition) -> None:
        self.items: list[Item] = []
        snapshots: Any = SimpleNamespace(latest_offset=0, offsets=[])
        self.producers = ProducerState(place, snapshots, expiration_ms=1 << 60)

    def write(self, producer: Producer, sequence: int, value: Any) -> int:
        """One record of a producer's transaction; its offset. A batch that is repeated has its old one."""
        header = _header(producer, base_sequence=sequence, is_transactional=True)
        repeated = self.producers.check(header, Origin.CLIENT)
        if repeated is not None:
            return repeated.first_offset
        self.producers.update(header, len(self.items), 0)
        self.items.append(Item(producer, value))
        return len(self.items) - 1

    def end(self, producer: Producer, committed: bool, coordinator_epoch: int) -> None:
        header = _header(producer, is_transactional=True, is_control=True)
        marker = EndMarker(committed, coordinator_epoch, 0)
        self.producers.check(header, Origin.COORDINATOR, marker)
        completed = self.producers.update(header, len(self.items), 0, marker)
        if completed is not None:
            self.producers.complete(completed)
        self.items.append(Item(producer, None, committed))
        self.producers.high_watermark_moved(len(self.items))

    @property
    def last_stable_offset(self) -> int:
        unstable = self.producers.first_unstable_offset
        return len(self.items) if unstable is None else unstable

    def is_open(self, producer: Producer) -> bool:
        entry = self.producers.entries.get(producer.id)
        return entry is not None and entry.transaction_start >= 0 and entry.epoch == producer.epoch

    def committed_values(self) -> list[Any]:
        """What a reader of committed records sees."""
        visible: list[Any] = []
        open_values: dict[int, list[Any]] = {}
        for item in self.items[: self.last_stable_offset]:
            if item.value is not None:
                open_values.setdefault(item.producer.id, []).append(item.value)
            elif item.committed:
                visible += open_values.pop(item.producer.id, [])
            else:
                open_values.pop(item.producer.id, None)
        return visible


def _header(producer: Producer, **fields: Any) -> Any:
    batch = encode_batch([(0, b"k", b"v", ())], producer_id=producer.id, producer_epoch=producer.epoch, **fields)
    return read_header(batch, 0)


class Markers:
    """The MarkerSender of a test. While `held`, markers wait; `failing` partitions answer with that code."""

    def __init__(self, world: TxnWorld) -> None:
        self._world = world
        self.held = False
        self.failing: dict[TopicPartition, ErrorCode] = {}
        self.waiting: list[Callable[[], None]] = []
        self.sent: list[str] = []

    def send(
        self,
        marker: Marker,
        partitions: Sequence[TopicPartition],
        done: Callable[[Mapping[TopicPartition, ErrorCode]], None],
        wanted: Callable[[], bool],
    ) -> None:
        assert partitions, "markers for nobody"

        def write() -> None:
            results = {}
            for place in partitions:
                results[place] = self.failing.get(place, ErrorCode.NONE)
                if results[place] == ErrorCode.NONE:
                    try:
                        producer = Producer(marker.producer_id, marker.producer_epoch)
                        self._world.partitions[place].end(producer, marker.committed, marker.coordinator_epoch)
                        outcome = "commit" if marker.committed else "abort"
                        self.sent.append(f"{place} {outcome} producer {producer.id} epoch {producer.epoch}")
                    except KafkaError as error:
                        results[place] = error.code
            done(results)

        if self.held:
            self.waiting.append(write)
        else:
            write()

    def release(self) -> None:
        waiting, self.waiting = self.waiting, []
        for write in waiting:
            write()


class TxnWorld:
    def __init__(
        self, transaction_version: int = 2, settings: TransactionSettings | None = None, topics: int = 3
    ) -> None:
        self.time = FakeTime()
        self.log = MemoryLog()
        self.markers = Markers(self)
        self.partitions: dict[TopicPartition, Partition] = {}
        self.image = MetadataImage()
        self.epoch = 0
        self._next_id = 1000
        self._next_topic = 0
        self.coordinator = TransactionCoordinator(
            settings or TransactionSettings(),
            self.log,
            self.time,
            self.time,
            self._producer_id,
            self.markers,
            PatternResolver(PatientWorkers(self.time), self.time).select,
        )
        if transaction_version:
            self.change([FeatureLevelRecord(name="transaction.version", feature_level=transaction_version)])
        for name, count in [(TRANSACTIONS_TOPIC, 1), ("t", topics), ("__consumer_offsets", 1)]:
            self.create_topic(name, count)
        self.reload()

    def _producer_id(self) -> Deferred[int]:
        self._next_id += 1
        answer: Deferred[int] = Deferred()
        answer.resolve(self._next_id)
        return answer

    @property
    def shard(self) -> TransactionShard:
        return next(shard for _, shard, _ in self.coordinator.runtime.shards())

    def transactions(self) -> dict[str, Transaction]:
        return self.shard.transactions_at(1 << 60)

    def reload(self) -> None:
        """The broker loses the partition and gets it back: all that is left is what is in the log."""
        self.epoch += 1
        self.coordinator.load(0, self.epoch)
        self.time.settle()

    def change(self, records: list[Any]) -> None:
        delta = MetadataDelta(self.image)
        for record in records:
            delta.replay(record)
        self.image = delta.apply(self.image.offset + 1, 1)
        self.coordinator.on_image(delta, self.image)

    def create_topic(self, name: str, count: int) -> None:
        self._next_topic += 1
        topic_id = self._next_topic.to_bytes(16, "big")
        rows = [
            PartitionRecord(partition_id=index, topic_id=topic_id, replicas=[1], isr=[1], leader=1)
            for index in range(count)
        ]
        self.change([TopicRecord(name=name, topic_id=topic_id), *rows])
        for index in range(count):
            place = TopicPartition(name, index)
            self.partitions[place] = Partition(place)

    def drop_topic(self, name: str) -> None:
        self.change([RemoveTopicRecord(topic_id=self.image.topics.by_name[name].id)])
