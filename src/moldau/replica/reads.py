"""What one fetch reads: every partition it asks for, and waiting for more where there is too little.

The limits are those of the request: each partition gets its own at most, all together no more than `max_bytes`, and the
first one with records gives at least one batch. Found less than `min_bytes`, the fetch waits in the purgatory; once
something was appended all of it is read again, because the answer has to carry what every partition holds then.

A follower's fetch also tells how far the follower is: once, when it comes, and not again when it is answered later.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from types import GeneratorType
from typing import Final, TypeAlias, TypeVar, cast

from moldau import _speed
from moldau._speed import Traffic, count_reads
from moldau.deferred import Deferred, settle
from moldau.errors import ErrorCode, KafkaError
from moldau.replica.delayed_fetch import DelayedFetch, WaitingRead
from moldau.replica.follower import NO_BROKER_EPOCH
from moldau.replica.manager import ReplicaManager
from moldau.replica.partition import NO_REPLICA, DivergingEpoch, Partition
from moldau.replica.replica_selector import RackAwareSelector
from moldau.runtime.ports import FileSlice
from moldau.slicing import Work
from moldau.types import NO_OFFSET, Uuid

if _speed.COMPILED:
    from moldau._speed.followed import follower_at_end, read_at_end

A = TypeVar("A")

# Partitions read in one go: some milliseconds, even if all of them are refused.
_PIECE: Final = 64
# While there are partitions to be opened each of these may be one: a directory and a few files.
_PIECE_WHILE_OPENING: Final = 1
# So many readers, followers among them, may be answered before the producer they read from.
_FEW: Final = 8

# (topic name or id, partition, offset, most bytes, current leader epoch, the reader's log start, last fetched epoch)
AskedRead: TypeAlias = tuple[str | Uuid, int, int, int, int, int, int]
# (topic, partition, error, high watermark, last stable offset, log start, aborted, preferred replica, records)
ReadResult: TypeAlias = tuple[str | Uuid, int, int, int, int, int, list[tuple[int, int]] | None, int, FileSlice | bytes]
# What is made of the results once all is read; work, if there are many.
Answer: TypeAlias = Callable[[], A | Work[A | Deferred[A]]]
# Answers what has waited in a shorter way, if it can; else None, and nothing has happened.
Shortcut: TypeAlias = Callable[[], A | None]


class Reads:
    """One fetch while it is served: the results in the order asked for, and by place where a reader's log diverged."""

    __slots__ = (
        "_asked",
        "_briefly",
        "_broker_epoch",
        "_by_id",
        "_committed",
        "_denied",
        "_follower",
        "_found",
        "_hurried",
        "_leader_only",
        "_left",
        "_max_bytes",
        "_min_bytes",
        "_moved",
        "_rack",
        "_replicas",
        "_told",
        "_traffics",
        "_waiting",
        "diverging",
        "failed",
        "redirected",
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
        broker_epoch: int = NO_BROKER_EPOCH,
        leader_only: bool = True,
        rack: str = "",
        denied: Container[str | Uuid] | None = None,
        briefly: bool = False,
        told: bool = False,
    ) -> None:
        """`briefly` has a kernel look at what is new to nobody. `told` says that the partitions know of this fetch."""
        self._replicas = replicas
        self._briefly = briefly
        self._asked = asked
        self._by_id = by_id
        self._max_bytes = max_bytes
        self._min_bytes = min(min_bytes, max_bytes)
        self._committed = committed
        self._follower = follower
        self._broker_epoch = broker_epoch
        self._leader_only = leader_only
        self._rack = rack
        # Topics this reader may not read; None if there is nobody who would say so.
        self._denied = denied
        # Whether the partitions know that the follower is here.
        self._told = told or follower == NO_REPLICA
        self.results: list[ReadResult] = []
        # Of the topic of each result; None where there is none here.
        self._traffics: list[Traffic | None] = []
        self.diverging: dict[int, DivergingEpoch] = {}
        # Whether any partition was refused.
        self.failed = False
        # Whether any reader was sent to another replica.
        self.redirected = False
        self._left = max_bytes
        self._found = 0
        self._waiting: DelayedFetch | None = None
        self._hurried = False
        # Whether what this follower told has moved the high watermark of any partition.
        self._moved = False

    def give_way(self) -> None:
        """Waits no longer: what there is is the answer."""
        self._hurried = True
        if self._waiting is not None:
            self._replicas.fetches.hurry(self._waiting)

    def run(self, max_wait_ms: int, answer: Answer[A], shortcut: Shortcut[A] | None = None) -> A | Deferred[A]:
        """Reads and answers, or waits until there is enough or the time is over."""
        if self.results:
            self._begin_again()
        piece = _PIECE_WHILE_OPENING if self._replicas.arrivals else _PIECE
        if len(self._asked) > piece:
            return self._replicas.slicer.run(self._run_many(piece, max_wait_ms, answer))
        self._read(self._asked)
        return self._answer_or_wait(max_wait_ms, answer, shortcut)

    def _run_many(self, piece: int, max_wait_ms: int, answer: Answer[A]) -> Work[A | Deferred[A]]:
        for start in range(0, len(self._asked), piece):
            self._read(self._asked[start : start + piece])
            yield
        if self._is_due(max_wait_ms):
            return self._answer(answer)
        waiting = []
        for start in range(0, len(self._asked), piece):
            waiting += self._waiting_reads(self._asked[start : start + piece])
            yield
        operation, later = self._operation(waiting, answer)
        yield from self._replicas.fetches.wait_in_slices(
            operation, [read.partition for read in waiting], 0 if self._hurried else max_wait_ms
        )
        return later

    def _answer_or_wait(self, max_wait_ms: int, answer: Answer[A], shortcut: Shortcut[A] | None) -> A | Deferred[A]:
        if self._is_due(max_wait_ms):
            return self._answer(answer)
        waiting = self._waiting_reads(self._asked)
        operation, later = self._operation(waiting, answer, shortcut)
        # What was empty a moment ago still is, unless others have been served meanwhile.
        is_ready = False if self._found == 0 and not self._moved else None
        self._replicas.fetches.wait(operation, [read.partition for read in waiting], max_wait_ms, is_ready=is_ready)
        return later

    def _is_due(self, max_wait_ms: int) -> bool:
        self._told = True
        at_once = self.failed or self.diverging or self.redirected or not self._asked
        return bool(self._found >= self._min_bytes or max_wait_ms <= 0 or self._hurried or at_once)

    def _answer(self, answer: Answer[A]) -> A | Deferred[A]:
        self._count_sent()
        result = answer()
        return self._replicas.slicer.run(result) if isinstance(result, GeneratorType) else cast(A, result)

    def _waiting_reads(self, some: Sequence[AskedRead]) -> list[WaitingRead]:
        return [
            WaitingRead(partition, asked[2], asked[3])
            for asked in some
            if (partition := self._find(asked[0], asked[1])) is not None
        ]

    def _operation(
        self, waiting: Sequence[WaitingRead], answer: Answer[A], shortcut: Shortcut[A] | None = None
    ) -> tuple[DelayedFetch, Deferred[A]]:
        later: Deferred[A] = Deferred()

        def found() -> A | Deferred[A]:
            short = shortcut() if shortcut is not None else None
            return self.run(0, answer) if short is None else short

        operation = self._waiting = DelayedFetch(
            waiting,
            self._min_bytes,
            committed=self._committed,
            follower=self._follower != NO_REPLICA,
            respond=lambda: settle(later, found),
            throttled=self._throttled if self._follower != NO_REPLICA else None,
        )
        return operation, later

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
        self._traffics = []
        self.failed = self.redirected = self._moved = False
        self.diverging.clear()
        self._left = self._max_bytes
        self._found = 0

    def _read(self, some: Sequence[AskedRead]) -> None:
        """Reads these partitions in the order asked for, each within what the ones before it left."""
        results, traffics = self.results, self._traffics
        committed, follower, leader_only = self._committed, self._follower, self._leader_only
        denied = self._denied
        left, total = self._left, self._found
        replication = self._replicas.replication
        selector = replication.selector if replication is not None and self._rack else None
        now_ms = self._now_ms() if self._briefly and not self._told and not committed else None
        for asked in some:
            topic, index, offset, max_bytes, leader_epoch, log_start, fetched_epoch = asked
            try:
                traffics.append(None)
                if denied is not None and topic in denied:
                    raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                partition = self._find(topic, index)
                if partition is None:
                    partition = self._replicas.find_missing(topic, index)
                traffics[-1] = partition.traffic
                if now_ms is not None and partition not in self._replicas.deletes.watched:
                    result = read_at_end(partition, asked, follower, self._broker_epoch, now_ms)
                    if result is not None:
                        results.append(result)
                        continue
                if selector is not None and self._redirect(selector, partition, topic, index, offset, leader_epoch):
                    continue
                throttled = follower != NO_REPLICA and self._throttled(partition)
                leader_end = 0 if self._told else partition.log.local.log_end_offset
                read = partition.read(
                    offset,
                    0 if throttled else max_bytes if max_bytes < left else left,
                    leader_epoch,
                    fetched_epoch,
                    committed=committed,
                    follower=follower,
                    at_least_one=total == 0 and not throttled,
                    leader_only=leader_only,
                )
                if not self._told and not isinstance(read, DivergingEpoch):
                    self._moved |= self._tell(partition, offset, log_start, leader_end)
                    read.high_watermark = partition.log.local.high_watermark
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
        if self._moved:
            # Producers and readers have waited for this follower, who has time.
            self._replicas.fetches.check_now()

    def _now_ms(self) -> int | None:
        """None if this follower's fetch says nothing about him: it was sent in an earlier life."""
        replication = self._replicas.replication
        if replication is None:
            return None
        if self._broker_epoch != NO_BROKER_EPOCH and replication.isr.is_stale(self._follower, self._broker_epoch):
            return None
        return replication.isr.now_ms()

    def _tell(self, partition: Partition, offset: int, log_start: int, leader_end: int) -> bool:
        """The follower has all before `offset`, which the high watermark, and who waits for it, may have waited for."""
        moved = partition.follower_fetched(self._follower, offset, log_start, leader_end, self._broker_epoch)
        if moved or partition in self._replicas.deletes.watched:
            self._replicas.moved(partition)
        return moved

    def _throttled(self, partition: Partition) -> bool:
        replication = self._replicas.replication
        return replication is not None and replication.leader_throttle.holds_back(partition, self._follower)

    def _count_sent(self) -> None:
        count_reads(self._traffics, self.results, self._follower != NO_REPLICA)
        replication = self._replicas.replication
        if replication is None or self._follower == NO_REPLICA:
            return
        for result in self.results:
            partition = self._find(result[0], result[1]) if result[8] else None
            if partition is not None:
                replication.leader_throttle.sent(partition, self._follower, len(result[8]))

    def _redirect(
        self,
        selector: RackAwareSelector,
        partition: Partition,
        topic: str | Uuid,
        index: int,
        offset: int,
        leader_epoch: int,
    ) -> bool:
        """Sends a reader to a replica that is nearer to it, instead of records."""
        preferred = selector.select(partition, self._rack, offset)
        if preferred == NO_REPLICA:
            return False
        partition.check_leader(leader_epoch)
        local = partition.log.local
        ends = local.high_watermark, local.last_stable_offset, local.log_start_offset
        self.results.append((topic, index, 0, *ends, [] if self._committed else None, preferred, b""))
        self.redirected = True
        return True

    def _refuse(self, topic: str | Uuid, index: int, error: KafkaError) -> None:
        self.failed = True
        self.results.append((topic, index, error.code, NO_OFFSET, NO_OFFSET, NO_OFFSET, None, NO_REPLICA, b""))


def wait_at_end(
    replicas: ReplicaManager,
    asked: Sequence[AskedRead],
    follower: int,
    broker_epoch: int,
    min_bytes: int,
    max_wait_ms: int,
    answer: Callable[[], A | Deferred[A]],
) -> tuple[DelayedFetch, Deferred[A]] | None:
    """The fetch of a follower who has everything there is, told to the partitions, while it waits: nearly all of them
    are such. As `Reads` does it, but for what has to be read; None, and nothing has happened, if it has to."""
    replication = replicas.replication
    if replication is None or max_wait_ms <= 0 or min_bytes <= 0:
        return None
    moved = follower_at_end(replicas, asked, follower, broker_epoch)
    if moved is None:
        return None
    throttle = replication.leader_throttle
    later: Deferred[A] = Deferred()
    by_id = replicas.by_id
    waiting = [WaitingRead(by_id[each[0]].partitions[each[1]], each[2], each[3]) for each in asked]  # type: ignore[index]
    fetches = replicas.fetches
    for partition in moved:
        if len(fetches.watched.get(partition, ())) <= _FEW:
            # First: producers have to be woken, and readers would wait for that.
            fetches.check(partition)
            fetches.check_now()
        replicas.moved(partition)
    if moved:
        # Producers and readers have waited for this follower, who has time.
        fetches.check_now()
    operation = DelayedFetch(
        waiting,
        min_bytes,
        committed=False,
        follower=True,
        respond=lambda: settle(later, answer),
        throttled=lambda partition: throttle.holds_back(partition, follower),
    )
    # Those who were served meanwhile may have written.
    is_ready = None if moved else False
    fetches.wait(operation, [read.partition for read in waiting], max_wait_ms, is_ready=is_ready)
    return operation, later
