"""One fetch of a member of a share group while it is served: what it acquires, and waiting for it.

The partitions of the session are gone through in turn, until enough records are acquired. Where there are none to be
had it waits with the ordinary fetches of the partition, which are looked at when the high watermark moves; a share
partition has them looked at, too, when records are available again or its state has been read. Whoever is looked at
first gets what there is, and the others wait on.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final, NamedTuple

from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.replica.manager import ReplicaManager
from moldau.replica.partition import NO_REPLICA, DivergingEpoch
from moldau.replica.purgatory import DelayedOperation
from moldau.runtime.ports import FileSlice
from moldau.server.share.acquisition import Acquired
from moldau.server.share.led_partition import LedSharePartition
from moldau.server.share.log_batches import batches_of
from moldau.server.share.share_partition import SharePartition
from moldau.server.share.share_partitions import SharePartitions
from moldau.server.share.share_sessions import Place, ShareSession
from moldau.slicing import Slicer, Work
from moldau.types import NO_EPOCH

_READ_COMMITTED: Final = "read_committed"
# So many partitions are watched in one go.
_FEW: Final = 64


class ShareFetchOptions(NamedTuple):
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    max_records: int
    batch_size: int
    # Never more records than asked for, else whole batches.
    exact: bool


class Fetched(NamedTuple):
    """Of one partition: the batches in which the acquired records lie; or why there are none."""

    place: Place
    records: FileSlice | bytes = b""
    acquired: Sequence[Acquired] = ()
    error: KafkaError | None = None


class ShareFetchCall:
    def __init__(
        self,
        session: ShareSession,
        options: ShareFetchOptions,
        shares: SharePartitions,
        replicas: ReplicaManager,
        slicer: Slicer,
        now_ms: int,
    ) -> None:
        self.answer: Deferred[list[Fetched]] = Deferred()
        self._session = session
        self._options = options
        self._shares = shares
        self._replicas = replicas
        self._slicer = slicer
        self._deadline_ms = now_ms + options.max_wait_ms
        self._isolated = shares.configs.of(session.group_id).share_isolation_level == _READ_COMMITTED
        self._led: list[LedSharePartition] = []
        self._found: list[Fetched] = []
        self._failed = False
        self._records = options.max_records
        self._bytes = options.max_bytes
        self._hurried = False
        self._waiting: DelayedShareFetch | None = None

    def run(self, places: Sequence[Place]) -> Deferred[list[Fetched]]:
        """What is acquired, and what cannot be read. With no room for anything it is over at once."""
        if self._records <= 0 or self._bytes <= 0:
            self.answer.resolve([])
        else:
            self._session.waiting = self.give_way
            self._slicer.run_into(self._begin(places), self.answer)
        return self.answer

    def give_way(self) -> None:
        """Waits no longer: what there is is the answer."""
        self._hurried = True
        if self._waiting is not None:
            self._replicas.fetches.hurry(self._waiting)

    def _begin(self, places: Sequence[Place]) -> Work[list[Fetched] | Deferred[list[Fetched]]]:
        for place in places:
            try:
                self._led.append(self._shares.get(self._session.group_id, *place))
            except KafkaError as error:
                self._fail(place, error)
            yield
        return (yield from self._acquire())

    def _acquire(self, *, due: bool = False) -> Work[list[Fetched] | Deferred[list[Fetched]]]:
        """Takes what there is, and waits if that is nothing. `due`: there is something, or it is not waited for."""
        due = due or self._hurried or not self._led or self._led[0].now_ms >= self._deadline_ms or self.is_due()
        if due:
            for led in self._led:
                while self._session.is_open and self._records > 0 and self._bytes > 0 and self._take(led):
                    yield
                yield
        if self._found or self._failed or self._hurried or not self._session.is_open or not self._led:
            return self._found
        left_ms = self._deadline_ms - self._led[0].now_ms
        if left_ms <= 0:
            return self._found
        later: Deferred[list[Fetched]] = Deferred()
        self._waiting = DelayedShareFetch(self, later)
        partitions = [led.partition for led in self._led]
        if not due and len(partitions) <= _FEW:
            # It was looked at a moment ago.
            self._replicas.fetches.wait(self._waiting, partitions, left_ms, is_ready=False)
        else:
            yield from self._replicas.fetches.wait_in_slices(self._waiting, partitions, left_ms)
        return later

    def resume(self, later: Deferred[list[Fetched]]) -> None:
        self._slicer.run_into(self._acquire(due=True), later)

    # ------------------------------------------------------------------------------------------------- is there any?

    def is_due(self) -> bool:
        """Whether there is enough to be had, or something to be told."""
        missing = self._options.min_bytes
        for led in self._led:
            if led.error is not None or not led.is_current:
                return True
            missing -= self._available(led, missing)
            if missing <= 0:
                return True
        return False

    def is_due_after(self, partition: Hashable) -> bool:
        """The same where only this partition can have changed it."""
        if self._options.min_bytes > 1:
            return self.is_due()
        return any(
            led.error is not None or not led.is_current or self._available(led, 1) > 0
            for led in self._led
            if led.partition is partition
        )

    def waits_for(self) -> Hashable:
        """The same for all members who only wait for any record of one share partition."""
        return (self._led[0], self._isolated) if len(self._led) == 1 and self._options.min_bytes <= 1 else None

    def _available(self, led: LedSharePartition, wanted: int) -> int:
        """Bytes that could be acquired, or at least one for each if no more are wanted."""
        state = led.state
        if state is None or not state.has_room:
            return 0
        log = led.partition.log
        first, limit = max(state.next_fetch_offset, log.log_start_offset), self._limit(led)
        if first >= limit:
            return 0
        return 1 if wanted <= 1 else log.bytes_between(first, limit)

    def _limit(self, led: LedSharePartition) -> int:
        log = led.partition.log
        return log.last_stable_offset if self._isolated else log.high_watermark

    # ------------------------------------------------------------------------------------------------------- taking

    def _fail(self, place: Place, error: KafkaError) -> None:
        self._failed = True
        self._found.append(Fetched(place, error=error))

    def _take(self, led: LedSharePartition) -> bool:
        """Acquires records of one partition. True if there were only such as nobody gets, and it is to be gone on."""
        place = (led.key.topic_id, led.key.partition)
        if led.error is not None or not led.is_current:
            if not any(found.place == place for found in self._found):
                gone = led.partition.is_released
                code = self._replicas.why_missing(*place) if gone else ErrorCode.NOT_LEADER_OR_FOLLOWER
                self._fail(place, led.error or KafkaError(code))
            return False
        state = led.state
        if state is None:
            return False
        try:
            return self._read(led, state, place)
        except KafkaError as error:
            self._fail(place, error)
            return False

    def _read(self, led: LedSharePartition, state: SharePartition, place: Place) -> bool:
        partition, log = led.partition, led.partition.log
        state.move_start(log.log_start_offset)
        state.cut(log.log_end_offset)
        offset = state.next_fetch_offset
        if not state.has_room or offset >= self._limit(led):
            return False
        read = partition.read(
            offset,
            self._bytes,
            NO_EPOCH,
            NO_EPOCH,
            committed=self._isolated,
            follower=NO_REPLICA,
            at_least_one=not self._found,
        )
        assert not isinstance(read, DivergingEpoch)
        if not isinstance(read.records, FileSlice) or not read.records:
            return False
        batches = batches_of(read.records, state.reach(offset, self._records), read.aborted or ())
        acquired = state.acquire(
            self._session.member_id,
            offset,
            batches.spans,
            self._records,
            led.now_ms,
            batch_size=max(self._options.batch_size, 1),
            exact=self._options.exact,
            aborted=batches.aborted,
        )
        if not acquired:
            return state.next_fetch_offset > offset
        led.watch_locks()
        begin, end = batches.bytes_of(acquired[0].first, acquired[-1].last)
        # To send what is in memory costs less than to have the network send it from the file.
        records: FileSlice | bytes | None = batches.held(begin, end)
        if records is None:
            records = FileSlice(read.records.file, read.records.position + begin, end - begin)
        self._found.append(Fetched(place, records, acquired))
        self._records -= sum(last - first + 1 for first, last, _ in acquired)
        self._bytes -= len(records)
        return False


class DelayedShareFetch(DelayedOperation):
    """A share fetch that found nothing; whoever completes it has it look again, and perhaps wait on."""

    __slots__ = ("_call", "_later")

    def __init__(self, call: ShareFetchCall, later: Deferred[list[Fetched]]) -> None:
        super().__init__(call.waits_for())
        self._call = call
        self._later = later

    def ready(self) -> bool:
        return self._call.is_due()

    def ready_after(self, key: Hashable) -> bool:
        return self._call.is_due_after(key)

    def finish(self, expired: bool) -> None:
        self._call.resume(self._later)
