"""A follower's fetches from one other broker: one request after the other, for all partitions that broker leads.

`num.replica.fetchers` of these share the partitions of a source, each with a connection (line) and a session.
A request waits at the leader until there is something to tell. What comes back is appended a portion at a time, and
only then is the next request sent, which tells the leader how far we are. A partition that fails pauses alone.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError, MoldauError, error_code
from moldau.protocol.messages.fetch import FetchResponse, PartitionData
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from moldau.replica.follower import NO_BROKER_EPOCH
from moldau.replica.following import Following
from moldau.replica.source_fetch import ShortAnswer, SourceFetch, read_short
from moldau.replica.source_session import Asked, PartitionKey, SourceSession
from moldau.runtime.ports import TimerHandle
from moldau.slicing import Work
from moldau.storage.batch_order import UnexpectedOffset
from moldau.storage.storage_error import StorageError

if TYPE_CHECKING:
    from moldau.links.addresses import Address
    from moldau.replica.fetchers import Fetchers

logger = logging.getLogger("moldau.replica")

_LATEST: Final = -1
_EARLIEST_LOCAL: Final = -4
# While a throttle holds partitions back it is looked at this often.
_THROTTLED_SECONDS: Final = 0.1
_SHORTEST_SECONDS: Final = 0.001
# What one broker was told of a partition another is usually told by then.
_METADATA_SECONDS: Final = 0.02
_MOST_DOUBLINGS: Final = 16
# How long a request waits for the disk.
_DISK_SECONDS: Final = 0.1


class Fetcher:
    def __init__(self, source: int, line: int, fetchers: Fetchers) -> None:
        self.source = source
        self._line = f"replica-{line}"
        self._fetchers = fetchers
        self._session = SourceSession()
        self.partitions: dict[PartitionKey, Following] = {}
        self._busy = False
        # Where it is asked for, and whether what came from there last is dealt with.
        self._address: Address | None = None
        self._is_taken = False
        self._timer: TimerHandle | None = None
        self._resume_at = 0.0
        self._forcing_until = 0.0
        self.closed = False

    def follow(self, key: PartitionKey, following: Following) -> None:
        self.partitions[key] = following
        self.wake()

    def forget(self, key: PartitionKey) -> None:
        self.partitions.pop(key, None)

    def close(self) -> None:
        self.closed = True
        self.partitions.clear()
        self._cancel_timer()

    def wake(self) -> None:
        """Something may be fetched now: asks for it as soon as the answer to the last request is dealt with."""
        if not self._busy:
            self._cancel_timer()
            self._timer = self._fetchers.loop.call_later(0, self._send)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # ---------------------------------------------------------------------------------------------------- asking

    def _send(self) -> None:
        self._timer = None
        if self.closed:
            return
        wanted = self._askable(self._fetchers.clock.monotonic())
        if wanted is None or self._address is None:
            return
        self._busy = True
        timeout = self._fetchers.config().replica_socket_timeout_ms / 1000
        answer = self._fetchers.peers.ask(self._address, self._request(wanted), timeout=timeout, line=self._line)
        answer.then(lambda response, error: self._answered(response, error))

    def _askable(self, now: float) -> dict[PartitionKey, Asked] | None:
        """What may be asked for now; None if that is nothing, and then it is looked at again in time."""
        if now < self._resume_at:
            self._send_later(self._resume_at - now)
            return None
        if self._waits_for_disk(now):
            return None
        if self._fetchers.broker_epoch() == NO_BROKER_EPOCH:
            # Without one a leader cannot tell this life of the broker from the one before, whose records it may lack.
            self._send_later(_METADATA_SECONDS)
            return None
        wanted, pause = self._wanted(now)
        self._address = self._fetchers.address(self.source) if wanted else None
        if not wanted or self._address is None:
            # Without partitions somebody wakes us; an address comes with the metadata, which wakes nobody.
            if pause is not None or wanted:
                backoff = self._fetchers.config().replica_fetch_backoff_ms / 1000
                self._send_later(backoff if pause is None else pause)
            return None
        return wanted

    def _waits_for_disk(self, now: float) -> bool:
        """What is being forced to disk is there in a moment. A request without it would keep its producers waiting
        until that is answered; so it is waited for, but not for ever."""
        for following in self.partitions.values():
            if following.partition.durable and not following.is_forced:
                break
        else:
            self._forcing_until = 0.0
            return False
        if not self._forcing_until:
            self._forcing_until = now + _DISK_SECONDS
        if now >= self._forcing_until:
            return False
        self._send_later(self._forcing_until - now)
        return True

    def _send_later(self, seconds: float) -> None:
        self._cancel_timer()
        # Not for a moment that is no time to a clock: then it would still be too early.
        self._timer = self._fetchers.loop.call_later(max(seconds, _SHORTEST_SECONDS), self._send)

    def _wanted(self, now: float) -> tuple[dict[PartitionKey, Asked], float | None]:
        """What may be asked for now, and when to look again if some of it may not."""
        wanted: dict[PartitionKey, Asked] = {}
        pause: float | None = None
        throttle = self._fetchers.throttle
        for key, following in list(self.partitions.items()):
            if following.resume_at > now:
                pause = min(following.resume_at - now, pause or following.resume_at - now)
            elif following.sought or not following.is_forced:
                continue  # whoever is asked, or the disk, wakes us
            elif following.lacks_beginning:
                self._seek(key, following)
            elif not following.in_sync and throttle.holds_back(following.partition):
                pause = min(_THROTTLED_SECONDS, pause or _THROTTLED_SECONDS)
            else:
                wanted[key] = following.ask()
        return wanted, pause

    def _request(self, wanted: dict[PartitionKey, Asked]) -> SourceFetch:
        session = self._session
        named, forgotten = session.next(wanted)
        return SourceFetch(self._fetchers.limits(), session.id, session.epoch, named, forgotten, self._next)

    # ------------------------------------------------------------------------------------------------- answering

    def _next(self, data: memoryview, version: int) -> SourceFetch | None:
        """Takes a short answer where it lies, and says what is asked next; None leaves it to `_answered`."""
        session, address = self._session, self._address
        if self.closed or not session.epoch:
            return None
        answer = read_short(data, version)
        if answer is None or answer.session_id != session.id:
            return None
        self._take_short(answer)
        wanted = self._askable(self._fetchers.clock.monotonic())
        if wanted is None or self._address != address:
            self._is_taken = True
            return None
        session.answered(answer.error_code, answer.session_id)
        return self._request(wanted)

    def _answered(self, response: FetchResponse | ShortAnswer | None, error: BaseException | None) -> None:
        if self.closed:
            return
        if response is None:
            self._session.lost()
            self._failed(f"broker {self.source} did not answer a fetch: {error}")
            self._over()
        elif not self._session.answered(response.error_code, response.session_id):
            if response.error_code not in _SESSION_ERRORS:
                self._failed(f"broker {self.source} refused a fetch: {error_code(response.error_code).name}")
            self._over()
        else:
            try:
                if isinstance(response, ShortAnswer):
                    if not self._is_taken:
                        self._take_short(response)
                    self._is_taken, work = False, None
                else:
                    work = self._fetchers.slicer.run(self._take(response), lambda: not self.closed)
            except Exception as failure:
                self._taken(failure)
                return
            if isinstance(work, Deferred):
                work.then(lambda _, failure: self._taken(failure))
            else:
                self._go_on()

    def _taken(self, failure: BaseException | None) -> None:
        if failure is not None and not self.closed:
            logger.error("what broker %d sent could not be taken", self.source, exc_info=failure)
            self._session.lost()
            self._resume_at = self._backoff()
        self._over()

    def _over(self) -> None:
        self._busy = False
        self.wake()

    def _go_on(self) -> None:
        """All is taken: the next request leaves in this very turn, for producers wait to hear how far we are."""
        self._busy = False
        self._cancel_timer()
        self._send()

    def _failed(self, what: str) -> None:
        self._resume_at = self._backoff()
        logger.warning("%s", what)

    def _backoff(self) -> float:
        return self._fetchers.clock.monotonic() + self._fetchers.config().replica_fetch_backoff_ms / 1000

    def _partition_backoff(self, following: Following, code: int) -> float:
        """Where one end has heard of a change and the other not, that is over in a moment, and producers wait for it;
        so it is asked again soon, and then less and less often."""
        if code not in _METADATA_ERRORS:
            return self._backoff()
        pause = _METADATA_SECONDS * (1 << following.behind_metadata)
        following.behind_metadata = min(following.behind_metadata + 1, _MOST_DOUBLINGS)
        return min(self._backoff(), self._fetchers.clock.monotonic() + pause)

    def _take_short(self, answer: ShortAnswer) -> None:
        """The same as `_take`, of so little that nobody has to pause."""
        data = answer.data
        for topic_id, index, high_watermark, log_start, first, end in answer.rows:
            following = self.partitions.get((topic_id, index))
            if following is None:
                continue
            local = following.partition.log.local
            before = local.high_watermark, local.log_start_offset
            try:
                appended = following.take_short(data, first, end, high_watermark, log_start)
            except _PASSING as error:
                self._cannot(following, ErrorCode.NONE, error)
            else:
                self._took(following, appended, before)

    def _take(self, response: FetchResponse) -> Work[None]:
        for topic in response.responses:
            for data in topic.partitions:
                key = (topic.topic_id, data.partition_index)
                following = self.partitions.get(key)
                # Away, since it was asked for.
                if following is not None:
                    yield from self._take_partition(key, following, data)
                yield

    def _take_partition(self, key: PartitionKey, following: Following, data: PartitionData) -> Work[None]:
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._seek(key, following)
            return
        try:
            if data.error_code != ErrorCode.NONE:
                raise KafkaError(error_code(data.error_code))
            log = following.partition.log
            before = log.high_watermark, log.log_start_offset
            appended = yield from following.take(data)
        except _PASSING as error:
            self._cannot(following, data.error_code, error)
            return
        self._took(following, appended, before)

    def _cannot(self, following: Following, code: int, error: MoldauError) -> None:
        """A leader that is not one yet, or no longer; a topic it has not heard of; a disk without room, here or there.
        All of it passes, or the metadata tells."""
        following.changed = True
        following.in_sync = False
        following.resume_at = self._partition_backoff(following, code)
        level = logging.DEBUG if code in _METADATA_ERRORS else logging.WARNING
        logger.log(level, "%s cannot be fetched now: %s", following.partition.topic_partition, error)

    def _took(self, following: Following, appended: int, before: tuple[int, int]) -> None:
        """`before` are high watermark and log start as they were."""
        following.behind_metadata = 0
        if appended:
            self._fetchers.bytes_in += appended
            self._fetchers.throttle.took(following.partition, appended)
        local = following.partition.log.local
        if appended or (local.high_watermark, local.log_start_offset) != before:
            self._fetchers.took(following.partition)

    # ----------------------------------------------------------------------------------------------- out of range

    def _seek(self, key: PartitionKey, following: Following) -> None:
        """Asks the leader where its log ends and begins; meanwhile the partition is not fetched."""
        following.sought = True
        found: list[int] = []

        def ask(timestamp: int) -> None:
            address = self._fetchers.address(self.source)
            if address is None:
                self._sought(key, following, MoldauError("its leader's address is not known"))
                return
            timeout = self._fetchers.config().replica_socket_timeout_ms / 1000
            request = self._question(following, timestamp)
            self._fetchers.peers.ask(address, request, timeout=timeout, line=self._line).then(told)

        def told(answer: ListOffsetsResponse | None, error: BaseException | None) -> None:
            if answer is None or not answer.topics or not answer.topics[0].partitions:
                self._sought(key, following, error or MoldauError("the answer does not say it"))
                return
            partition = answer.topics[0].partitions[0]
            if partition.error_code != ErrorCode.NONE:
                self._sought(key, following, KafkaError(error_code(partition.error_code)))
                return
            found.append(partition.offset)
            if len(found) == 1:
                ask(_EARLIEST_LOCAL)
            else:
                self._sought(key, following, None, *found)

        ask(_LATEST)

    def _question(self, following: Following, timestamp: int) -> ListOffsetsRequest:
        place = following.partition.topic_partition
        asked = ListOffsetsPartition(
            partition_index=place.partition, current_leader_epoch=following.leader_epoch, timestamp=timestamp
        )
        return ListOffsetsRequest(
            replica_id=self._fetchers.broker_id, topics=[ListOffsetsTopic(name=place.topic, partitions=[asked])]
        )

    def _sought(
        self, key: PartitionKey, following: Following, error: Any, leader_end: int = 0, leader_start: int = 0
    ) -> None:
        if error is not None or not self._holds(key, following):
            self._placed(key, following, error)
            return
        placed: Deferred[None] = Deferred()
        placed.then(lambda _, failure: self._placed(key, following, failure))
        work = self._place(following, leader_start, leader_end)
        self._fetchers.slicer.run_into(work, placed, lambda: self._holds(key, following))

    def _holds(self, key: PartitionKey, following: Following) -> bool:
        return self.partitions.get(key) is following and following.is_current()

    def _place(self, following: Following, leader_start: int, leader_end: int) -> Work[None]:
        if following.lacks_beginning:
            following.begin_with(leader_start)
        elif not (yield from following.out_of_range(leader_start, leader_end)):
            raise MoldauError("it is where we go on")

    def _placed(self, key: PartitionKey, following: Following, error: BaseException | None) -> None:
        following.sought = False
        if not self._holds(key, following):
            return
        if error is not None:
            logger.warning(
                "%s: where its leader's log lies is not known: %s",
                following.partition.topic_partition,
                error,
                exc_info=None if isinstance(error, MoldauError) else error,
            )
            following.resume_at = self._backoff()
        elif not following.is_forced:
            # It goes on elsewhere with nothing in it, and is not fetched before that is on disk.
            self._fetchers.took(following.partition)
        self.wake()


_PASSING: Final = (KafkaError, StorageError, UnexpectedOffset)
_SESSION_ERRORS: Final = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)
# What happens whenever leaders change, until both ends have heard of it.
_METADATA_ERRORS: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
    }
)
