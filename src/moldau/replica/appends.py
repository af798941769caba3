"""What one produce request writes: finding the partitions, appending, and waiting until the records count.

acks=all waits for the high watermark, acks=1 in durable mode for the leader's disk, and a batch that takes long to
unpack until that is done (`preparation`); nothing else waits. Readers who wait for the records are served later in the
same turn of the loop (`ReplicaManager.wake_readers`): the producer is acknowledged before them. Followers, for whom he
waits, are served at once where the loop has time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import GeneratorType
from typing import Final, TypeAlias, TypeVar, cast

from moldau.deferred import Deferred, pass_on, settle
from moldau.errors import ErrorCode, KafkaError
from moldau.replica.delayed_outcomes import DelayedOutcomes, PendingAppend, PendingForce, PendingPartition
from moldau.replica.manager import ReplicaManager
from moldau.replica.partition import Partition
from moldau.replica.purgatory import COMPLETED_PER_TURN
from moldau.slicing import Work
from moldau.storage.append_info import AppendInfo, Patience, Postponed
from moldau.storage.origin import Origin
from moldau.storage.validator import PER_REQUEST, ValidBatch
from moldau.types import NO_OFFSET, NO_TIMESTAMP, Uuid

logger = logging.getLogger("moldau.replica")

A = TypeVar("A")

_CLIENT = Origin.CLIENT

# (topic name or id, partition, error, base offset, log append time, log start offset)
AppendResult: TypeAlias = tuple[str | Uuid, int, int, int, int, int]
# What is refused before the log has looked at the records is answered without the log's start.
_BEFORE_THE_LOG: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
# Looks at the form of the records for a partition that is there; KafkaError refuses them.
Check: TypeAlias = Callable[[memoryview, int, int], None]
# Whether what was found out before still holds.
Guard: TypeAlias = Callable[[], None]


class Appends:
    """One request while it is served: what was appended, what was refused (by place), what still waits."""

    __slots__ = (
        "_acks",
        "_by_id",
        "_patience",
        "_pending",
        "_prepared",
        "_preparing",
        "_replicas",
        "refusals",
        "results",
    )

    def __init__(self, replicas: ReplicaManager, acks: int, *, by_id: bool) -> None:
        self._replicas = replicas
        self._acks = acks
        self._by_id = by_id
        self.results: list[AppendResult] = []
        self.refusals: dict[int, KafkaError] = {}
        self._pending: list[tuple[int, PendingPartition]] = []
        self._patience = Patience(PER_REQUEST) if replicas.preparation is not None else None
        # Batches that are not judged yet, and what happens when all are.
        self._preparing = 0
        self._prepared: Callable[[], None] | None = None

    def append(
        self,
        topic: str | Uuid,
        index: int,
        data: memoryview,
        start: int,
        end: int,
        check: Check | None = None,
        guard: Guard | None = None,
    ) -> None:
        """Appends the batch for one partition; without `check` if its form has been looked at before.

        `guard` is asked right before the append, whenever that is: KafkaError if it may not be any more.
        """
        replicas = self._replicas
        hosted = (replicas.by_id if self._by_id else replicas.by_name).get(topic)  # type: ignore[arg-type]
        judge: Partition | None = None
        try:
            partition = hosted.partitions.get(index) if hosted is not None else None
            if hosted is None or partition is None:
                partition = replicas.find_missing(topic, index)
                hosted = replicas.by_id[partition.topic_id]
            if hosted.internal:
                raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{hosted.name} is written by the broker alone.")
            if check is not None:
                check(data, start, end)
            if guard is not None:
                guard()
            judge = partition
            info = partition.append(data, start, end, self._acks, _CLIENT, self._patience)
        except KafkaError as error:
            self._failed(topic, index, error, judge)
            return
        except Postponed:
            assert partition is not None
            self._postpone(partition, topic, index, data[start:end], guard)
            return
        self.results.append((topic, index, 0, info.base_offset, info.log_append_time, info.log_start_offset))
        self._appended(len(self.results) - 1, partition, info)

    def _appended(self, place: int, partition: Partition, info: AppendInfo) -> None:
        if partition in self._replicas.fetches.watched:
            self._tell_readers(partition)
        if self._acks == -1 and partition.log.high_watermark <= info.last_offset:
            self._pending.append((place, PendingAppend(partition, info.last_offset + 1)))
        elif partition.durable and self._acks == 1 and partition.log.durability.durable_offset <= info.last_offset:
            self._pending.append((place, PendingForce(partition, info.last_offset + 1)))

    def _tell_readers(self, partition: Partition) -> None:
        """Followers, for whom the producer waits, hear of it before all that has still to be done about his request,
        unless others are to be served in this turn, who may write for them as well."""
        replicas = self._replicas
        told = COMPLETED_PER_TURN
        if partition.followers and replicas.load.ready <= 1:
            told = replicas.fetches.check(partition, COMPLETED_PER_TURN)
        if told == COMPLETED_PER_TURN:
            replicas.wake_readers(partition)

    def refuse(self, topic: str | Uuid, index: int, error: KafkaError) -> None:
        # Without its traceback, which holds all this and would keep it until the collector comes by.
        self.refusals[len(self.results)] = error.with_traceback(None)
        self.results.append((topic, index, error.code, NO_OFFSET, NO_TIMESTAMP, NO_OFFSET))

    def _failed(self, topic: str | Uuid, index: int, error: KafkaError, judge: Partition | None) -> None:
        self.results.append((topic, index, 0, NO_OFFSET, NO_TIMESTAMP, NO_OFFSET))
        self._refuse_at(len(self.results) - 1, error, judge)

    def _postpone(
        self, partition: Partition, topic: str | Uuid, index: int, batch: memoryview, guard: Guard | None
    ) -> None:
        """Has the batch judged off the loop and appends it then; its place among the results is kept."""
        assert self._replicas.preparation is not None
        place = len(self.results)
        self.results.append((topic, index, 0, NO_OFFSET, NO_TIMESTAMP, NO_OFFSET))
        self._preparing += 1

        def judged(valid: ValidBatch | None, error: BaseException | None) -> None:
            try:
                if valid is None:
                    assert error is not None
                    raise error
                if guard is not None:
                    guard()
                info = partition.append_prepared(valid, self._acks)
                offsets = info.base_offset, info.log_append_time, info.log_start_offset
                self.results[place] = (topic, index, 0, *offsets)
                self._appended(place, partition, info)
            except KafkaError as refusal:
                self._refuse_at(place, refusal, partition)
            except Exception:
                logger.exception("a batch for %s could not be judged", partition.topic_partition)
                self._refuse_at(place, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR), partition)
            self._preparing -= 1
            if not self._preparing and self._prepared is not None:
                self._prepared()

        self._replicas.preparation.prepare(batch, partition.log.config, judged)

    def _refuse_at(self, place: int, error: KafkaError, judge: Partition | None) -> None:
        """`judge` is the partition whose log has looked at the records, if one has."""
        topic, index, *_ = self.results[place]
        if judge is not None:
            judge.traffic.refused()
        knows_start = judge is not None and error.code not in _BEFORE_THE_LOG
        log_start = judge.log.log_start_offset if judge is not None and knows_start else NO_OFFSET
        self.refusals[place] = error.with_traceback(None)
        self.results[place] = (topic, index, error.code, NO_OFFSET, NO_TIMESTAMP, log_start)

    def finish(self, timeout_ms: int, answer: Callable[[], A | Work[A | Deferred[A]]]) -> A | Deferred[A]:
        """Answers now, or when the records count everywhere, or at the deadline with what is known by then.

        The deadline runs from the moment when all that may be written is written.
        """
        if self._preparing:
            prepared: Deferred[A] = Deferred()
            self._prepared = lambda: pass_on(self.finish(timeout_ms, answer), prepared)
            return prepared
        slicer = self._replicas.slicer
        if not self._pending:
            result = answer()
            return slicer.run(result) if isinstance(result, GeneratorType) else cast(A, result)
        later: Deferred[A] = Deferred()

        def known() -> None:
            for place, pending in self._pending:
                if pending.error != ErrorCode.NONE:
                    # The records are in the log: where is told with the error.
                    topic, index, _, *written = self.results[place]
                    self.refusals[place] = KafkaError(pending.error)
                    self.results[place] = (topic, index, pending.error, written[0], written[1], written[2])
            settle(later, lambda: slicer.value_of(answer()))

        appends = [pending for _, pending in self._pending]
        partitions = [pending.partition for pending in appends]
        self._replicas.produces.wait(DelayedOutcomes(appends, known), partitions, max(0, timeout_ms))
        return later
