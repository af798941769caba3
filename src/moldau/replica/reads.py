"""What one fetch reads: every partition it asks for, and waiting for more where there is too little.

The limits are those of the request: each partition gets its own at most, all together no more than `max_bytes`, and the
first one with records gives at least one batch. Found less than `min_bytes`, the fetch waits in the purgatory; once
something was appended all of it is read again, because the answer has to carry what every partition holds then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import GeneratorType
from typing import Final, TypeAlias, TypeVar, cast

from moldau.deferred import Deferred, settle
from moldau.errors import KafkaError
from moldau.replica.delayed_fetch import DelayedFetch, WaitingRead
from moldau.replica.manager import ReplicaManager
from moldau.replica.partition import NO_REPLICA, DivergingEpoch, Partition
from moldau.runtime.ports import FileSlice
from moldau.slicing import Work
from moldau.types import NO_OFFSET, Uuid

A = TypeVar("A")

# Partitions read in one go: some milliseconds, even if all of them are refused.
_PIECE: Final = 64
# While there are partitions to be opened each of these may be one: a directory and a few files.
_PIECE_WHILE_OPENING: Final = 1

# (topic name or id, partition, offset, most bytes, current leader epoch, the reader's log start, last fetched epoch)
AskedRead: TypeAlias = tuple[str | Uuid, int, int, int, int, int, int]
# (topic, partition, error, high watermark, last stable offset, log start, aborted, preferred replica, records)
ReadResult: TypeAlias = tuple[str | Uuid, int, int, int, int, int, list[tuple[int, int]] | None, int, FileSlice | bytes]
# What is made of the results once all is read; work, if there are many.
Answer: TypeAlias = Callable[[], A | Work[A | Deferred[A]]]


class Reads:
    """One fetch while it is served: the results in the order asked for, and by place where a reader's log diverged."""

    __slots__ = (
        "_asked",
        "_by_id",
        "_committed",
        "_follower",
        "_found",
        "_hurried",
        "_left",
        "_max_bytes",
        "_min_bytes",
        "_replicas",
        "_waiting",
        "diverging",
        "failed",
        "results",
    )

    def __init__(
        self,
        replicas: ReplicaManager,
        asked: Sequence[AskedRead],
        *,
        by_id: bool,
        min_bytes: int,
        max_bytes: int,
        committed: bool,
        follower: int = NO_REPLICA,
    ) -> None:
        self._replicas = replicas
        self._asked = asked
        self._by_id = by_id
        self._max_bytes = max_bytes
        self._min_bytes = min(min_bytes, max_bytes)
        self._committed = committed
        self._follower = follower
        self.results: list[ReadResult] = []
        self.diverging: dict[int, DivergingEpoch] = {}
        # Whether any partition was refused.
        self.failed = False
        self._left = max_bytes
        self._found = 0
        self._waiting: DelayedFetch | None = None
        self._hurried = False

    def give_way(self) -> None:
        """Waits no longer: what there is is the answer."""
        self._hurried = True
        if self._waiting is not None:
            self._replicas.fetches.hurry(self._waiting)

    def run(self, max_wait_ms: int, answer: Answer[A]) -> A | Deferred[A]:
        """Reads and answers, or waits until there is enough or the time is over."""
        if self.results:
            self._begin_again()
        piece = _PIECE_WHILE_OPENING if self._replicas.arrivals else _PIECE
        if len(self._asked) > piece:
            return self._replicas.slicer.run(self._run_many(piece, max_wait_ms, answer))
        self._read(self._asked)
        return self._answer_or_wait(max_wait_ms, answer)

    def _run_many(self, piece: int, max_wait_ms: int, answer: Answer[A]) -> Work[A | Deferred[A]]:
        for start in range(0, len(self._asked), piece):
            self._read(self._asked[start : start + piece])
            yield
        return self._answer_or_wait(max_wait_ms, answer)

    def _answer_or_wait(self, max_wait_ms: int, answer: Answer[A]) -> A | Deferred[A]:
        if self._hurried:
            max_wait_ms = 0
        if self._found >= self._min_bytes or max_wait_ms <= 0 or self.failed or self.diverging or not self._asked:
            result = answer()
            return self._replicas.slicer.run(result) if isinstance(result, GeneratorType) else cast(A, result)
        later: Deferred[A] = Deferred()
        waiting = [
            WaitingRead(partition, asked[2], asked[3])
            for asked in self._asked
            if (partition := self._find(asked[0], asked[1])) is not None
        ]
        operation = self._waiting = DelayedFetch(
            waiting,
            self._min_bytes,
            committed=self._committed,
            follower=self._follower != NO_REPLICA,
            respond=lambda: settle(later, lambda: self.run(0, answer)),
        )
        self._replicas.fetches.wait(operation, [read.partition for read in waiting], max_wait_ms)
        return later

    def keep(self, places: Sequence[int]) -> None:
        """Leaves only these results: a session leaves out what its reader has been told before."""
        self.diverging = {place: self.diverging[old] for place, old in enumerate(places) if old in self.diverging}
        self.results = [self.results[place] for place in places]
        self.failed = any(result[2] for result in self.results)

    def _find(self, topic: str | Uuid, index: int) -> Partition | None:
        replicas = self._replicas
        hosted = (replicas.by_id if self._by_id else replicas.by_name).get(topic)  # type: ignore[arg-type]
        return hosted.partitions.get(index) if hosted is not None else None

    def _begin_again(self) -> None:
        self.results = []
        self.failed = False
        self.diverging.clear()
        self._left = self._max_bytes
        self._found = 0

    def _read(self, some: Sequence[AskedRead]) -> None:
        """Reads these partitions in the order asked for, each within what the ones before it left."""
        results = self.results
        committed, follower = self._committed, self._follower
        left, total = self._left, self._found
        for topic, index, offset, max_bytes, leader_epoch, _, fetched_epoch in some:
            try:
                partition = self._find(topic, index)
                if partition is None:
                    partition = self._replicas.find_missing(topic, index)
                read = partition.read(
                    offset,
                    max_bytes if max_bytes < left else left,
                    leader_epoch,
                    fetched_epoch,
                    committed=committed,
                    follower=follower,
                    at_least_one=total == 0,
                )
            except KafkaError as error:
                self._refuse(topic, index, error)
                continue
            if isinstance(read, DivergingEpoch):
                self.diverging[len(results)] = read
                results.append((topic, index, 0, NO_OFFSET, NO_OFFSET, NO_OFFSET, None, NO_REPLICA, b""))
                continue
            records = read.records
            size = len(records)
            total += size
            left = left - size if left > size else 0
            results.append(
                (
                    topic,
                    index,
                    0,
                    read.high_watermark,
                    read.last_stable_offset,
                    read.log_start_offset,
                    read.aborted,
                    NO_REPLICA,
                    records,
                )
            )
        self._left, self._found = left, total

    def _refuse(self, topic: str | Uuid, index: int, error: KafkaError) -> None:
        self.failed = True
        self.results.append((topic, index, error.code, NO_OFFSET, NO_OFFSET, NO_OFFSET, None, NO_REPLICA, b""))
