"""A program that copies one topic into another exactly once: what it read and what it wrote are one transaction.

It trusts nothing it remembers. After whatever went wrong it takes its transactional id anew, which fences and aborts
what was under way, and goes on where its group's committed offsets are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from moldau.client.admin.offsets import IsolationLevel
from moldau.client.conversation import Ask, Conversation, Pause, retrying
from moldau.client.coordinators import CoordinatorOf, CoordinatorType, check_code
from moldau.client.leaders import by_topic
from moldau.client.producing import ProducerId, deliver
from moldau.errors import KafkaError
from moldau.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from moldau.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from moldau.protocol.records import BatchBuilder
from moldau.simulation.chance import SeededRandom
from moldau.simulation.ledger import Broken
from moldau.simulation.workload import Rhythm, reading
from moldau.types import TopicPartition

_TIMEOUT_MS: Final = 20_000
_BATCH_BYTES: Final = 1 << 20
# So that the largest ones still fit into a segment of a short run.
_BATCH_RECORDS: Final = 40
# Later versions name topics by id.
_LAST_WITH_NAMES: Final = 9


class Copier:
    """Copies `source` partitions into `target` until `finished` says that nothing more will come."""

    def __init__(
        self,
        name: str,
        source: Sequence[TopicPartition],
        target: Sequence[TopicPartition],
        chance: SeededRandom,
        finished: Callable[[], bool],
        rhythm: Rhythm,
        poll: int,
    ) -> None:
        """When there was nothing it waits as long as after `poll` failures."""
        self.name = name
        self._source = source
        self._target = target
        self._chance = chance
        self._finished = finished
        self._rhythm = rhythm
        self._poll = poll
        self._coordinator = CoordinatorOf(name, CoordinatorType.TRANSACTION)
        self._group = CoordinatorOf(name, CoordinatorType.GROUP)
        self._producer = ProducerId()
        self._sequences: dict[TopicPartition, int] = {}
        # As far as it was ever told that its group has come: that must never be less again.
        self._seen: dict[TopicPartition, int] = {}
        self.committed = self.aborted = 0

    def run(self) -> Conversation[None]:
        failures = 0
        while True:
            try:
                if (yield from self._round()):
                    return
                failures = 0
            except KafkaError as error:
                # Whatever it was: from the beginning, with a new epoch.
                self._producer = ProducerId()
                yield Pause(min(failures, 3), error)
                failures += 1

    def _round(self) -> Conversation[bool]:
        """One transaction, if there is something to copy; True when there never will be again."""
        if self._producer.id < 0:
            yield from self._initialize()
        last = self._finished()
        positions = yield from self._positions()
        found, after = yield from self._read(positions)
        if not found:
            if last:
                return True
            yield from self._rhythm.rest(self._poll)
            return False
        yield from self._write(found)
        yield from self._commit_offsets(after)
        yield from self._end(committed=not self._chance.happens(0.15))
        return False

    def _initialize(self) -> Conversation[None]:
        request = InitProducerIdRequest(transactional_id=self.name, transaction_timeout_ms=_TIMEOUT_MS)
        answer: InitProducerIdResponse = yield from self._coordinator.retrying(
            lambda: Ask(request), lambda response: check_code(response.error_code)
        )
        self._producer = ProducerId(answer.producer_id, answer.producer_epoch)
        self._sequences.clear()

    def _positions(self) -> Conversation[dict[TopicPartition, int]]:
        """Of partitions by name: asked for all it has, a group leaves out those whose first offset is still pending."""
        request = OffsetFetchRequest(
            groups=[
                OffsetFetchRequestGroup(
                    group_id=self.name,
                    topics=[
                        OffsetFetchRequestTopics(
                            name=topic, partition_indexes=[where.partition for where in partitions]
                        )
                        for topic, partitions in by_topic(dict.fromkeys(self._source)).items()
                    ],
                )
            ],
            require_stable=True,
        )

        def check(response: OffsetFetchResponse) -> None:
            check_code(response.groups[0].error_code)
            for topic in response.groups[0].topics:
                for row in topic.partitions:
                    check_code(row.error_code)

        answer: OffsetFetchResponse = yield from self._group.retrying(
            lambda: Ask(request, at_most=_LAST_WITH_NAMES), check
        )
        positions = {}
        for topic in answer.groups[0].topics:
            for row in topic.partitions:
                where = TopicPartition(topic.name, row.partition_index)
                position = max(row.committed_offset, 0)
                if position < self._seen.get(where, 0):
                    raise Broken(f"committed offset of {where} went back from {self._seen[where]} to {position}")
                positions[where] = self._seen[where] = position
        return positions

    def _read(
        self, positions: Mapping[TopicPartition, int]
    ) -> Conversation[tuple[list[bytes], dict[TopicPartition, int]]]:
        values: list[bytes] = []
        after: dict[TopicPartition, int] = {}
        for where, position in positions.items():
            read = yield from retrying(reading(where, position, IsolationLevel.READ_COMMITTED), final=())
            if read.following > position:
                values += [record.value for record in read.records]
                after[where] = read.following
        return values, after

    def _write(self, values: Sequence[bytes]) -> Conversation[None]:
        where = self._chance.choice(self._target)
        for first in range(0, len(values), _BATCH_RECORDS):
            results = yield from deliver(
                {where: self._pack(where, values[first : first + _BATCH_RECORDS])}, transactional_id=self.name
            )
            result = results[where]
            if isinstance(result, KafkaError):
                raise result

    def _pack(self, where: TopicPartition, values: Sequence[bytes]) -> bytes:
        builder = BatchBuilder(_BATCH_BYTES)
        for value in values:
            builder.append(1_750_000_000_000, None, value, ())
        sequence = self._sequences.get(where, 0)
        self._sequences[where] = sequence + len(values)
        return builder.build(
            producer_id=self._producer.id,
            producer_epoch=self._producer.epoch,
            base_sequence=sequence,
            is_transactional=True,
        )

    def _commit_offsets(self, after: Mapping[TopicPartition, int]) -> Conversation[None]:
        request = TxnOffsetCommitRequest(
            transactional_id=self.name,
            group_id=self.name,
            producer_id=self._producer.id,
            producer_epoch=self._producer.epoch,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        TxnOffsetCommitRequestPartition(
                            partition_index=where.partition, committed_offset=after[where], committed_metadata=""
                        )
                        for where in partitions
                    ],
                )
                for topic, partitions in by_topic(after).items()
            ],
        )

        def check(response: TxnOffsetCommitResponse) -> None:
            for topic in response.topics:
                for row in topic.partitions:
                    check_code(row.error_code)

        yield from self._group.retrying(lambda: Ask(request), check)

    def _end(self, *, committed: bool) -> Conversation[None]:
        request = EndTxnRequest(
            transactional_id=self.name,
            producer_id=self._producer.id,
            producer_epoch=self._producer.epoch,
            committed=committed,
        )
        answer: EndTxnResponse = yield from self._coordinator.retrying(
            lambda: Ask(request), lambda response: check_code(response.error_code)
        )
        if committed:
            self.committed += 1
        else:
            self.aborted += 1
        if answer.producer_id >= 0 and (answer.producer_id, answer.producer_epoch) != self._producer:
            # Transaction version 2: every transaction has an epoch of its own.
            self._producer = ProducerId(answer.producer_id, answer.producer_epoch)
            self._sequences.clear()
