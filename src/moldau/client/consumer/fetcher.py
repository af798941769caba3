"""Which partitions are fetched from whom, ahead of the application. Runs on the network's thread.

Each leader has one fetch in flight, sent again as soon as its answer is here, for all partitions that are not a step
ahead already. So while the application works on one answer the next is on its way, and memory stays bounded by two
answers per partition.

A fetch that waits at the broker holds up those behind it on its connection. If partitions were left out because enough
of them is here already, the fetch therefore waits only briefly, and longer the longer nothing happens; what cannot even
wait for that goes aside (`flights`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from moldau.client.admin.offsets import IsolationLevel
from moldau.client.consumer.counters import Counters
from moldau.client.consumer.fetch_state import EARLIEST, FetchState, ResetPolicy
from moldau.client.consumer.fetched import Deserializers, FetchedRecords
from moldau.client.consumer.sessions import ASIDE, MAIN, FetchesInFlight, FetchSession, Wanted
from moldau.client.consumer.validation import EpochEnd, PositionValidator, needs_validation
from moldau.client.exceptions import named
from moldau.client.metadata import ClusterView
from moldau.client.network import ClientNetwork
from moldau.client.waiting import Monitor
from moldau.errors import ErrorCode, KafkaError, MoldauError, ProtocolError, error_code
from moldau.links.link import Link
from moldau.protocol.messages.fetch import FetchRequest, FetchResponse, PartitionData
from moldau.types import NO_EPOCH, ZERO_UUID, TopicPartition

logger = logging.getLogger("moldau.client")

# From the next version on Fetch names topics by id only.
_LAST_BY_NAME: Final = 12

# From this one on brokers compare the epoch of the last record fetched with their log.
_COMPARES_EPOCHS: Final = 12

_SHORT_WAIT_MS: Final = 5
_GRACE: Final = 30.0

_FORGOTTEN: Final = (
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    ErrorCode.UNKNOWN_TOPIC_ID,
)


@dataclass(slots=True, frozen=True)
class FetchOptions:
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    partition_bytes: int
    # The same for a partition that is read alone.
    lone_partition_bytes: int
    isolation: IsolationLevel
    check_crcs: bool
    rack: str
    sessions: bool
    reset: ResetPolicy | None
    # How long a replica that a leader recommended is read from before the leader is asked again, in seconds.
    preference: float
    deserializers: Deserializers


# What a fetch was sent for: the turn of each reading, and the leader epoch it was sent with.
Turns: TypeAlias = dict[FetchState, tuple[int, int]]


class Fetcher:
    """`readings` is what is being read. `changed` is the lock over it, notified when an application may go on."""

    def __init__(self, network: ClientNetwork, options: FetchOptions) -> None:
        self.network = network
        self.options = options
        self.counters = Counters()
        self.changed = Monitor()
        self.readings: dict[TopicPartition, FetchState] = {}
        self.error: BaseException | None = None
        self.find_positions: Callable[[list[FetchState]], None] = lambda readings: None
        self._sessions: dict[tuple[int, str], tuple[Link, FetchSession]] = {}
        self._flights = FetchesInFlight()
        self.validator = PositionValidator(self)
        self._patience: dict[int, int] = {}
        self._retry_at: float | None = None
        self._closed = False
        network.watch(self._look_at)

    def close(self) -> None:
        self._closed = True
        self.network.unwatch(self._look_at)
        with self.changed:
            self.readings.clear()
            self.changed.notify_all()

    def need_positions(self) -> bool:
        """An application wants records: whatever has no position yet gets one. True if that has to be seen to."""
        with self.changed:
            unasked = [reading for reading in self.readings.values() if not reading.asked]
            for reading in unasked:
                reading.asked = True
        return bool(unasked)

    def _look_at(self, _view: ClusterView) -> None:
        self.pump()

    # ---------------------------------------------------------------------------------------------------- sending

    def pump(self) -> None:
        """Asks for whatever may be asked for now."""
        if self._closed:
            return
        now = self.network.clock.monotonic()
        with self.changed:
            readings = tuple(self.readings.values())
            lost = [each for each in readings if each.asked and each.position is None and not each.looking]
            lost = [each for each in lost if each.not_before <= now]
            for reading in lost:
                reading.looking = True
        if lost:
            self.find_positions(lost)
        unknown = {each.where.topic for each in readings if each.where.topic not in self.network.view.topics}
        if unknown:
            self.network.topics_of_interest |= unknown
            self.network.refresh()
        self._sort(readings, now)

    def _sort(self, readings: Iterable[FetchState], now: float) -> None:
        """Everything that may be asked for goes to its node."""
        groups: dict[int, list[FetchState]] = {}
        beside: dict[int, list[FetchState]] = {}
        unsure: list[FetchState] = []
        waiting = False
        for reading in readings:
            if reading.position is None or reading.paused or reading.in_flight or reading.looking:
                waiting = waiting or (reading.position is None and not reading.looking)
            elif reading.not_before > now or (node := self._node_for(reading, now)) < 0:
                waiting = True
            elif needs_validation(reading, self.leader_epoch(reading)):
                unsure.append(reading)
            elif not self._flights.underway(node, MAIN):
                groups.setdefault(node, []).append(reading)
            elif reading.fetchable:
                beside.setdefault(node, []).append(reading)
        if waiting:
            self._look_again()
        if unsure:
            self.validator.validate(unsure)
        for node, group in groups.items():
            self._fetch(node, MAIN, group)
        for node, group in beside.items():
            self._go_aside(node, group, now)

    def _go_aside(self, node: int, group: list[FetchState], now: float) -> None:
        plan = self._flights.aside(node, now)
        if plan is None:
            return
        delay, wait = plan
        if delay > 0:
            self._look_again(delay)
        else:
            self._fetch(node, ASIDE, group, int(wait * 1000))

    def _node_for(self, reading: FetchState, now: float) -> int:
        """The replica the leader recommended, while that holds; else the leader, -1 if there is none at the moment."""
        preferred = reading.preferred
        if preferred >= 0:
            there = preferred in self.network.view.brokers and self.network.blocked_for(preferred, MAIN) <= 0
            if there and reading.preferred_until > now:
                return preferred
            reading.preferred = -1
        try:
            return self.network.view.leader(reading.where)
        except KafkaError as error:
            self.stumble(reading, error)
            return -1

    def leader_epoch(self, reading: FetchState) -> int:
        try:
            return self.network.view.partition(reading.where).leader_epoch
        except KafkaError:
            return NO_EPOCH

    def _fetch(self, node: int, channel: str, group: list[FetchState], longest: int | None = None) -> None:
        link = self._ready_link(node, channel)
        if link is None:
            return
        view = self.network.view
        options = self.options
        assert link.versions is not None
        compares = link.versions.ranges.get(FetchRequest.API_KEY, (0, 0))[1] >= _COMPARES_EPOCHS
        wanted: dict[TopicPartition, Wanted] = {}
        turns: Turns = {}
        with self.changed:  # an application may seek at any moment: position and turn belong together
            for reading in group:
                if reading.fetchable and not reading.in_flight:
                    wanted[reading.where] = what = self._wanted(reading, compares)
                    reading.sent = reading.turn
                    turns[reading] = reading.turn, what.leader_epoch
        if not wanted:
            return
        known = [view.topics.get(where.topic) for where in wanted]
        most = _LAST_BY_NAME if any(topic is None or topic.id == ZERO_UUID for topic in known) else None
        wait = options.max_wait_ms if longest is None else longest
        if len(wanted) < len(group):
            wait = self._patience.get(node, _SHORT_WAIT_MS)
        wait = min(wait, options.max_wait_ms)
        request = FetchRequest(
            max_wait_ms=wait,
            min_bytes=options.min_bytes,
            max_bytes=options.max_bytes,
            isolation_level=options.isolation,
            rack_id=options.rack,
        )
        session = self._session(node, channel, link)
        session.fill(request, wanted, view)
        self._flights.begin(node, channel, self.network.clock.monotonic(), wait / 1000)
        self.counters.fetches += 1
        timeout = wait / 1000 + max(_GRACE, self.network.request_timeout)

        def answered(response: FetchResponse | None, error: BaseException | None) -> None:
            self._flights.end(node, channel)
            for reading, (turn, _) in turns.items():
                reading.back(turn)
            if channel == MAIN:
                self._patience[node] = min(max(wait, _SHORT_WAIT_MS) * 2, options.max_wait_ms)
            try:
                if response is None:
                    session.reset()
                    self._failed(turns, error)
                else:
                    self._read(node, session, turns, response)
            finally:
                self.pump()

        link.ask(request, timeout, at_most=most).then(answered)

    def _ready_link(self, node: int, channel: str) -> Link | None:
        if self.network.blocked_for(node, channel) > 0:
            self._look_again()
            return None
        try:
            link = self.network.link(node, channel)
        except MoldauError:
            self.network.refresh()
            self._look_again()
            return None
        if link.versions is None:
            if not link.ready.settled:
                # Until it stands, nobody else has to wait for the same.
                self._flights.begin(node, channel, self.network.clock.monotonic())
                link.ready.then(lambda _link, error: self._linked(node, channel, error))
            return None
        return link

    def _linked(self, node: int, channel: str, error: BaseException | None) -> None:
        self._flights.end(node, channel)
        if error is not None:
            self.network.refresh()
        self.pump()

    def _session(self, node: int, channel: str, link: Link) -> FetchSession:
        known = self._sessions.get((node, channel))
        if known is None or known[0] is not link:
            # What goes aside is something else each time; there is nothing to remember.
            session = FetchSession(incremental=self.options.sessions and channel == MAIN)
            self._sessions[node, channel] = known = (link, session)
        return known[1]

    def _wanted(self, reading: FetchState, compares: bool) -> Wanted:
        epoch = self.leader_epoch(reading)
        last_epoch = reading.fetch_epoch if compares else NO_EPOCH
        options = self.options
        most = options.partition_bytes if len(self.readings) > 1 else options.lone_partition_bytes
        return Wanted(reading.fetch_position, epoch, last_epoch, -1, reading.fetch_bytes(most))

    # -------------------------------------------------------------------------------------------------- answers

    def _read(self, node: int, session: FetchSession, turns: Turns, response: FetchResponse) -> None:
        code = error_code(response.error_code)
        if code is not ErrorCode.NONE:
            session.reset()
            if code not in _FORGOTTEN:
                self._failed(turns, KafkaError(code))
            return
        session.answered(response.session_id)
        by_where = {reading.where: (reading, *sent) for reading, sent in turns.items()}
        with self.changed:
            for topic in response.responses:
                known = None if topic.topic else self.network.view.topic_by_id(topic.topic_id)
                name = topic.topic or (known.name if known else "")
                for data in topic.partitions:
                    where = TopicPartition(name, data.partition_index)
                    reading, turn, epoch = by_where.get(where, (None, -1, NO_EPOCH))
                    # A partition may have been given up or moved elsewhere while its fetch was on its way.
                    if reading is None or self.readings.get(reading.where) is not reading or reading.turn != turn:
                        continue
                    if self.options.reset is None or reading.belongs_to(topic.topic_id):
                        self._take(node, reading, epoch, data)
                    else:
                        logger.warning("%s was deleted and made anew: it is read from its beginning", where)
                        reading.seek_by_time(EARLIEST)
            self.changed.notify_all()

    def _take(self, node: int, reading: FetchState, epoch: int, data: PartitionData) -> None:
        code = error_code(data.error_code)
        if code is not ErrorCode.NONE:
            self._refused(node, reading, code, data)
            return
        reading.succeeded()
        reading.taken_at = self.network.clock.now_ms()
        reading.end = data.high_watermark
        reading.last_stable = data.last_stable_offset
        reading.log_start = data.log_start_offset
        if data.diverging_epoch.end_offset >= 0:
            self.validator.cut_back(reading, EpochEnd(data.diverging_epoch.epoch, data.diverging_epoch.end_offset))
            return
        reading.checked_epoch = epoch
        if data.preferred_read_replica >= 0 and data.preferred_read_replica != node:
            reading.preferred = data.preferred_read_replica
            reading.preferred_until = self.network.clock.monotonic() + self.options.preference
        if not isinstance(data.records, memoryview) or not len(data.records):
            return
        try:
            records = FetchedRecords(
                reading.where,
                data.records,
                reading.fetch_position,
                aborted=[(each.producer_id, each.first_offset) for each in data.aborted_transactions or ()],
                committed_only=self.options.isolation is IsolationLevel.READ_COMMITTED,
                check_crc=self.options.check_crcs,
                deserializers=self.options.deserializers,
            )
        except ProtocolError as error:
            self.fatal(KafkaError(ErrorCode.CORRUPT_MESSAGE, f"Partition {reading.where}: {error}."), reading)
            return
        self.counters.bytes += records.size
        self._patience.pop(node, None)
        reading.arrived(records)

    def _refused(self, node: int, reading: FetchState, code: ErrorCode, data: PartitionData) -> None:
        where = reading.where
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            if reading.preferred >= 0 and reading.preferred == node:
                reading.preferred = -1  # a follower may simply not be that far yet
                self._pause(reading)
            elif self.options.reset is None:
                kept = f"; it begins at {data.log_start_offset}" if data.log_start_offset >= 0 else ""
                self.fatal(
                    KafkaError(code, f"Partition {where} has no offset {reading.fetch_position}{kept}."), reading
                )
            elif reading.buffered:
                self._pause(reading)  # what is here is still good, and is handed out first
            else:
                reading.seek_by_time(self.options.reset.time(self.network.clock.now_ms()))
        elif code.retriable or code is ErrorCode.UNKNOWN_SERVER_ERROR:
            reading.preferred = -1
            self.stumble(reading, KafkaError(code, f"Partition {where}: {code.text}"))
        else:
            self.fatal(KafkaError(code, f"Partition {where}: {code.text}"), reading)

    def _failed(self, turns: Turns, error: BaseException | None) -> None:
        for reading in turns:
            reading.preferred = -1  # the leader is always right
            self.stumble(reading, error)

    def stumble(self, reading: FetchState, error: BaseException | None) -> None:
        """Tries again a little later, with nothing believed about leaders."""
        self._pause(reading)
        if isinstance(error, KafkaError):
            reading.failed(error, self.network.clock.monotonic())
            if error.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                self.fatal(error, reading)
        self.network.topics_of_interest.add(reading.where.topic)
        self.network.doubt()
        self.network.refresh()

    def _pause(self, reading: FetchState) -> None:
        reading.not_before = self.network.clock.monotonic() + self.network.backoff.delay(reading.failures)
        self._look_again()

    def fatal(self, error: KafkaError, reading: FetchState | None = None) -> None:
        """What the application has to hear; it is told at its next poll, and reading goes on after a pause."""
        with self.changed:
            self.error = named(error)
            if reading is not None:
                reading.failed(error, self.network.clock.monotonic())
                reading.not_before = self.network.clock.monotonic() + self.network.backoff.limit
            self.changed.notify_all()
        self._look_again()

    def _look_again(self, delay: float | None = None) -> None:
        """After the usual pause, or sooner."""
        due = self.network.clock.monotonic() + (self.network.backoff.first if delay is None else delay)
        if self._closed or (self._retry_at is not None and self._retry_at <= due):
            return
        self._retry_at = due

        def again() -> None:
            if self._retry_at == due:
                self._retry_at = None
                self.pump()

        self.network.loop.call_later(due - self.network.clock.monotonic(), again)
