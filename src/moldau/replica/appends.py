"""What one produce request writes: finding the partitions, appending, and waiting until the records count.

acks=all waits for the high watermark, acks=1 in durable mode for the leader's disk; nothing else waits. Readers who
wait for the records are served later in the same turn of the loop (`ReplicaManager.wake_readers`): the producer is
acknowledged before them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.replica.delayed_outcomes import DelayedOutcomes, PendingAppend, PendingForce, PendingPartition
from moldau.replica.manager import ReplicaManager
from moldau.storage.storage_error import StorageError
from moldau.types import NO_OFFSET, NO_TIMESTAMP, Uuid

A = TypeVar("A")

# (topic name or id, partition, error, base offset, log append time, log start offset)
AppendResult: TypeAlias = tuple[str | Uuid, int, int, int, int, int]
# Looks at the form of the records for a partition that is there; KafkaError refuses them.
Check: TypeAlias = Callable[[memoryview, int, int], None]


class Appends:
    """One request while it is served: what was appended, what was refused (by place), what still waits."""

    __slots__ = ("_acks", "_by_id", "_pending", "_replicas", "refusals", "results")

    def __init__(self, replicas: ReplicaManager, acks: int, *, by_id: bool) -> None:
        self._replicas = replicas
        self._acks = acks
        self._by_id = by_id
        self.results: list[AppendResult] = []
        self.refusals: dict[int, KafkaError] = {}
        self._pending: list[tuple[int, PendingPartition]] = []

    def append(
        self, topic: str | Uuid, index: int, data: memoryview, start: int, end: int, check: Check | None = None
    ) -> None:
        """Appends the batch for one partition; without `check` if its form has been looked at before."""
        replicas = self._replicas
        hosted = (replicas.by_id if self._by_id else replicas.by_name).get(topic)  # type: ignore[arg-type]
        try:
            partition = hosted.partitions.get(index) if hosted is not None else None
            if partition is None:
                raise KafkaError(replicas.why_missing(topic, index))
            if hosted is not None and hosted.internal:
                raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{hosted.name} is written by the broker alone.")
            if check is not None:
                check(data, start, end)
            info = partition.append(data, start, end, self._acks)
        except KafkaError as error:
            if isinstance(error, StorageError):
                replicas.storage_failed(error)
            self.refuse(topic, index, error)
            return
        self.results.append((topic, index, 0, info.base_offset, info.log_append_time, info.log_start_offset))
        if partition in replicas.fetches.watched:
            replicas.wake_readers(partition)
        if self._acks == -1 and partition.log.high_watermark <= info.last_offset:
            self._pending.append((len(self.results) - 1, PendingAppend(partition, info.last_offset + 1)))
        elif partition.durable and self._acks == 1 and partition.log.durable_offset <= info.last_offset:
            self._pending.append((len(self.results) - 1, PendingForce(partition, info.last_offset + 1)))

    def refuse(self, topic: str | Uuid, index: int, error: KafkaError) -> None:
        self.refusals[len(self.results)] = error
        self.results.append((topic, index, error.code, NO_OFFSET, NO_TIMESTAMP, NO_OFFSET))

    def finish(self, timeout_ms: int, answer: Callable[[], A]) -> A | Deferred[A]:
        """Answers now, or when the records count everywhere, or at the deadline with what is known by then."""
        if not self._pending:
            return answer()
        later: Deferred[A] = Deferred()

        def known() -> None:
            for place, pending in self._pending:
                if pending.error != ErrorCode.NONE:
                    topic, index, *_ = self.results[place]
                    self.refusals[place] = KafkaError(pending.error)
                    self.results[place] = (topic, index, pending.error, NO_OFFSET, NO_TIMESTAMP, NO_OFFSET)
            later.resolve(answer())

        appends = [pending for _, pending in self._pending]
        partitions = [pending.partition for pending in appends]
        self._replicas.produces.wait(DelayedOutcomes(appends, known), partitions, max(0, timeout_ms))
        return later
