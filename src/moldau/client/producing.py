"""Records into batches into partitions: what `moldau produce` writes with.

One batch per partition is filled at a time; when one is full it goes to its leader together with those that are half
full, and the next record waits for the answers. Never more than one batch of a partition is on its way, so a batch
that must be sent again cannot be overtaken, and with a producer id the broker recognizes one that it had written
already: no loss, no repetition, no reordering, as long as the process lives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import time
from typing import NamedTuple

from moldau.client.cluster import Cluster
from moldau.client.conversation import Ask, Conversation, Learn, Pause, retrying
from moldau.client.errors import UnsupportedRequest
from moldau.client.leaders import ask_leaders, by_topic
from moldau.client.metadata import ClusterView, TopicView
from moldau.client.partitioner import StickyChoice, partition_for_key
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from moldau.protocol.records import BatchBuilder, Compression
from moldau.types import NO_OFFSET, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, ZERO_UUID, TopicPartition

ALL = -1

# From the next version on Produce names topics by id only.
_LAST_BY_NAME = 12

_REQUEST_TIMEOUT_MS = 30_000
_SEQUENCES = 1 << 31

# How often a topic that is not there is asked for again: a broker that creates topics by itself needs a moment.
_CREATION_ATTEMPTS = 5


class ProducerId(NamedTuple):
    id: int = NO_PRODUCER_ID
    epoch: int = NO_PRODUCER_EPOCH


@dataclass(slots=True)
class Written:
    """What was acknowledged for one partition. Offsets are -1 where the broker does not tell (acks 0)."""

    records: int = 0
    batches: int = 0
    bytes: int = 0
    first_offset: int = NO_OFFSET
    last_offset: int = NO_OFFSET


def init_producer_id() -> Conversation[ProducerId]:
    """An id under which the broker recognizes repeated batches; none from brokers that do not give any."""
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=_REQUEST_TIMEOUT_MS)

    def attempt() -> Conversation[ProducerId]:
        try:
            response: InitProducerIdResponse = yield Ask(request)
        except UnsupportedRequest:
            return ProducerId()
        code = error_code(response.error_code)
        if code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            return ProducerId()
        if code is not ErrorCode.NONE:
            raise KafkaError(code)
        return ProducerId(response.producer_id, response.producer_epoch)

    return retrying(attempt)


def topic_to_write(name: str) -> Conversation[TopicView]:
    """The topic, created by the broker if it is set to do that."""

    def attempt() -> Conversation[TopicView]:
        view: ClusterView = yield Learn([name], create=True)
        return view.topic(name)

    failures = 0
    while True:
        try:
            return (yield from retrying(attempt))
        except KafkaError as error:
            if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION or failures >= _CREATION_ATTEMPTS:
                raise
            yield Pause(0, error)
        failures += 1


def deliver(
    batches: Mapping[TopicPartition, bytes], *, acks: int = ALL
) -> Conversation[dict[TopicPartition, int | KafkaError]]:
    """Sends one batch per partition; gives the offset each was written at, or why it was not."""

    def build(view: ClusterView, group: Mapping[TopicPartition, bytes]) -> Ask:
        ids = {name: view.topic(name).id for name in {where.topic for where in group}}
        request = ProduceRequest(
            acks=acks,
            timeout_ms=_REQUEST_TIMEOUT_MS,
            topic_data=[
                TopicProduceData(
                    name=topic,
                    topic_id=ids[topic],
                    partition_data=[
                        PartitionProduceData(index=where.partition, records=group[where]) for where in partitions
                    ],
                )
                for topic, partitions in by_topic(group).items()
            ],
        )
        return Ask(request, at_most=_LAST_BY_NAME if ZERO_UUID in ids.values() else None, answered=acks != 0)

    names: dict[bytes, str] = {}

    def read(response: ProduceResponse | None) -> Iterable[tuple[TopicPartition, int | KafkaError]]:
        if response is None:
            yield from ((where, NO_OFFSET) for where in batches)
            return
        for topic in response.responses:
            name = topic.name or names.get(topic.topic_id, "")
            for entry in topic.partition_responses:
                where = TopicPartition(name, entry.index)
                yield where, _refusal(where, entry) or entry.base_offset

    def learn_names() -> Conversation[None]:
        # Answers from version 13 on name topics by id; what the ids mean has to be known before they come.
        view: ClusterView = yield Learn(sorted({where.topic for where in batches}))
        names.update({topic.id: topic.name for topic in view.topics.values()})

    yield from learn_names()
    return (yield from ask_leaders(batches, build, read, final=()))


class Sender:
    """Writes to one topic. `append` as often as needed, then `flush`; KafkaError as soon as a batch is refused."""

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        *,
        acks: int = ALL,
        compression: Compression = Compression.NONE,
        level: int | None = None,
        batch_bytes: int = 256 * 1024,
    ) -> None:
        self.topic = topic
        self.written: dict[int, Written] = {}
        self._cluster = cluster
        self._acks = acks
        self._compression = compression
        self._level = level
        self._batch_bytes = batch_bytes
        self._builders: dict[int, BatchBuilder] = {}
        self._sequences: dict[int, int] = {}
        self._sticky = StickyChoice()
        self._partitions = tuple(cluster.run(topic_to_write(topic)).partitions)
        self._producer = cluster.run(init_producer_id()) if acks == ALL else ProducerId()

    @property
    def pending(self) -> int:
        """Records taken and not yet sent."""
        return sum(builder.count for builder in self._builders.values())

    @property
    def records(self) -> int:
        """Records acknowledged."""
        return sum(written.records for written in self.written.values())

    @property
    def sent_bytes(self) -> int:
        return sum(written.bytes for written in self.written.values())

    def append(
        self,
        value: bytes | None,
        key: bytes | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        *,
        partition: int | None = None,
        timestamp: int | None = None,
    ) -> None:
        if partition is None:
            partition = self._choose(key)
        elif partition not in self._partitions:
            raise KafkaError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"Topic {self.topic!r} has no partition {partition}; it has {len(self._partitions)}.",
            )
        builder = self._builders.get(partition)
        if builder is None:
            builder = self._builders[partition] = BatchBuilder(self._batch_bytes)
        moment = round(time() * 1000) if timestamp is None else timestamp
        if not builder.append(moment, key, value, headers):
            self._send([index for index, open_ in self._builders.items() if open_.size * 2 >= self._batch_bytes])
            if key is None:
                partition = self._choose(None)
            builder = self._builders.setdefault(partition, BatchBuilder(self._batch_bytes))
            builder.append(moment, key, value, headers)

    def flush(self) -> None:
        """Returns when everything appended is acknowledged."""
        self._send([index for index, builder in self._builders.items() if builder.count])

    def _choose(self, key: bytes | None) -> int:
        if key is None:
            return self._sticky.partition(self._partitions)
        return partition_for_key(key, len(self._partitions))

    def _send(self, partitions: Sequence[int]) -> None:
        builders = {index: self._builders.pop(index) for index in partitions}
        batches = {TopicPartition(self.topic, index): self._pack(index, each) for index, each in builders.items()}
        if not batches:
            return
        results = self._cluster.run(deliver(batches, acks=self._acks))
        failure: KafkaError | None = None
        for where, result in results.items():
            if isinstance(result, KafkaError):
                failure = failure or result
            else:
                self._count(where.partition, builders[where.partition].count, len(batches[where]), result)
            self._sticky.batch_sent(where.partition, self._partitions)
        if failure is not None:
            raise failure

    def _pack(self, partition: int, builder: BatchBuilder) -> bytes:
        identified = self._producer.id != NO_PRODUCER_ID
        sequence = self._sequences.get(partition, 0)
        self._sequences[partition] = (sequence + builder.count) % _SEQUENCES
        return builder.build(
            compression=self._compression,
            level=self._level,
            producer_id=self._producer.id,
            producer_epoch=self._producer.epoch,
            base_sequence=sequence if identified else NO_SEQUENCE,
        )

    def _count(self, partition: int, records: int, size: int, base_offset: int) -> None:
        written = self.written.setdefault(partition, Written())
        written.records += records
        written.batches += 1
        written.bytes += size
        if base_offset != NO_OFFSET:
            written.last_offset = base_offset + records - 1
            if written.first_offset == NO_OFFSET:
                written.first_offset = base_offset


def _refusal(where: TopicPartition, entry: PartitionProduceResponse) -> KafkaError | None:
    code = error_code(entry.error_code)
    if code is ErrorCode.NONE or code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
        # A duplicate was written by an earlier attempt whose answer got lost: what was wanted.
        return None
    details = [error.batch_index_error_message for error in entry.record_errors if error.batch_index_error_message]
    message = entry.error_message or (details[0] if details else code.text)
    return KafkaError(code, f"Partition {where} refused the records: {message}")
