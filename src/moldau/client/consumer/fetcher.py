"""Which partitions are fetched from whom, ahead of the application. Runs on the network's thread.

Each leader has one fetch in flight, sent again as soon as its answer is here, for all partitions that are not a step
ahead already. So while the application works on one answer the next is on its way, and memory stays bounded by two
answers per partition.

A fetch that waits at the broker holds up those behind it on its connection. If partitions were left out because enough
of them is here already, the fetch therefore waits only briefly, and longer the longer nothing happens.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from moldau.client.admin.offsets import IsolationLevel
from moldau.client.consumer.fetched import Deserialize, FetchedRecords
from moldau.client.consumer.reading import Reading
from moldau.client.consumer.sessions import FetchSession, Wanted
from moldau.client.exceptions import LogTruncationError, named
from moldau.client.link import Link
from moldau.client.metadata import ClusterView
from moldau.client.network import ClientNetwork
from moldau.client.structs import OffsetAndMetadata
from moldau.errors import ErrorCode, KafkaError, MoldauError, ProtocolError, error_code
from moldau.protocol.messages.fetch import FetchRequest, FetchResponse, PartitionData
from moldau.types import NO_EPOCH, ZERO_UUID, TopicPartition

# From the next version on Fetch names topics by id only.
_LAST_BY_NAME: Final = 12

# Fetches wait at the broker, so they have connections of their own.
_LANE: Final = "fetch"

_SHORT_WAIT_MS: Final = 5
_GRACE: Final = 30.0
_PREFERENCE_SECONDS: Final = 300.0

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
    isolation: IsolationLevel
    check_crcs: bool
    rack: str
    sessions: bool
    reset: int | None
    deserializers: Callable[[str], tuple[Deserialize, Deserialize]]


@dataclass(slots=True)
class Counters:
    fetches: int = 0
    bytes: int = 0
    records: int = 0


class Fetcher:
    """`readings` is what is being read. `changed` is the lock over it, notified when an application may go on."""

    def __init__(self, network: ClientNetwork, options: FetchOptions) -> None:
        self.network = network
        self.options = options
        self.counters = Counters()
        self.changed = threading.Condition()
        self.readings: dict[TopicPartition, Reading] = {}
        self.error: BaseException | None = None
        self.find_positions: Callable[[list[Reading]], None] = lambda readings: None
        self._sessions: dict[int, tuple[Link, FetchSession]] = {}
        self._flying: set[int] = set()
        self._patience: dict[int, int] = {}
        self._retry_set = False
        self._closed = False
        network.watch(self._look_at)

    def close(self) -> None:
        self._closed = True
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
        for node, group in self._by_node(readings, now).items():
            self._fetch(node, group)

    def _by_node(self, readings: Iterable[Reading], now: float) -> dict[int, list[Reading]]:
        groups: dict[int, list[Reading]] = {}
        waiting = False
        for reading in readings:
            if reading.position is None or reading.paused or reading.in_flight:
                waiting = waiting or (reading.position is None and not reading.looking)
                continue
            if reading.not_before > now:
                waiting = True
                continue
            node = self._node_for(reading, now)
            if node < 0:
                waiting = True
            elif node not in self._flying:
                groups.setdefault(node, []).append(reading)
        if waiting:
            self._look_again()
        return groups

    def _node_for(self, reading: Reading, now: float) -> int:
        """The replica the leader recommended, while that holds; else the leader, -1 if there is none at the moment."""
        if reading.preferred >= 0:
            if reading.preferred_until > now and reading.preferred in self.network.view.brokers:
                return reading.preferred
            reading.preferred = -1
        try:
            return self.network.view.leader(reading.where)
        except KafkaError as error:
            self._stumble(reading, error)
            return -1

    def _fetch(self, node: int, group: list[Reading]) -> None:
        link = self._ready_link(node)
        if link is None:
            return
        wanted = {each.where: self._wanted(each) for each in group if each.fetchable}
        if not wanted:
            return
        view = self.network.view
        options = self.options
        held_back = len(wanted) < len(group)
        wait = self._patience.get(node, _SHORT_WAIT_MS) if held_back else options.max_wait_ms
        wait = min(wait, options.max_wait_ms)
        request = FetchRequest(
            max_wait_ms=wait,
            min_bytes=options.min_bytes,
            max_bytes=options.max_bytes,
            isolation_level=options.isolation,
            rack_id=options.rack,
        )
        session = self._session(node, link)
        session.fill(request, wanted, view)
        nameless = any(view.topics[where.topic].id == ZERO_UUID for where in wanted if where.topic in view.topics)
        turns = {}
        for reading in group:
            if reading.where in wanted:
                reading.in_flight = True
                turns[reading] = reading.turn
        self._flying.add(node)
        self.counters.fetches += 1
        timeout = wait / 1000 + max(_GRACE, self.network.request_timeout)

        def answered(response: FetchResponse | None, error: BaseException | None) -> None:
            self._flying.discard(node)
            for reading in turns:
                reading.in_flight = False
            self._patience[node] = min(wait * 2, options.max_wait_ms)
            try:
                if response is None:
                    session.reset()
                    self._failed(turns, error)
                else:
                    self._read(node, session, turns, response)
            finally:
                self.pump()

        link.ask(request, timeout, at_most=_LAST_BY_NAME if nameless else None).then(answered)

    def _ready_link(self, node: int) -> Link | None:
        if self.network.blocked_for(node, _LANE) > 0:
            self._look_again()
            return None
        try:
            link = self.network.link(node, _LANE)
        except MoldauError:
            self.network.refresh()
            self._look_again()
            return None
        if link.versions is None:
            if not link.ready.settled:
                self._flying.add(node)  # until it stands, nobody else has to wait for the same
                link.ready.then(lambda _link, error: self._linked(node, error))
            return None
        return link

    def _linked(self, node: int, error: BaseException | None) -> None:
        self._flying.discard(node)
        if error is not None:
            self.network.refresh()
        self.pump()

    def _session(self, node: int, link: Link) -> FetchSession:
        known = self._sessions.get(node)
        if known is None or known[0] is not link:
            self._sessions[node] = known = (link, FetchSession(incremental=self.options.sessions))
        return known[1]

    def _wanted(self, reading: Reading) -> Wanted:
        epoch = NO_EPOCH
        try:
            epoch = self.network.view.partition(reading.where).leader_epoch
        except KafkaError:
            pass
        options = self.options
        return Wanted(reading.fetch_position, epoch, reading.fetch_epoch, -1, options.partition_bytes)

    # -------------------------------------------------------------------------------------------------- answers

    def _read(self, node: int, session: FetchSession, turns: dict[Reading, int], response: FetchResponse) -> None:
        code = error_code(response.error_code)
        if code is not ErrorCode.NONE:
            session.reset()
            if code not in _FORGOTTEN:
                self._failed(turns, KafkaError(code))
            return
        session.answered(response.session_id)
        by_where = {reading.where: (reading, turn) for reading, turn in turns.items()}
        with self.changed:
            for topic in response.responses:
                known = None if topic.topic else self.network.view.topic_by_id(topic.topic_id)
                name = topic.topic or (known.name if known else "")
                for data in topic.partitions:
                    reading, turn = by_where.get(TopicPartition(name, data.partition_index), (None, -1))
                    # A partition may have been given up or moved elsewhere while its fetch was on its way.
                    if reading is not None and self.readings.get(reading.where) is reading and reading.turn == turn:
                        self._take(node, reading, data)
            self.changed.notify_all()

    def _take(self, node: int, reading: Reading, data: PartitionData) -> None:
        code = error_code(data.error_code)
        if code is not ErrorCode.NONE:
            self._refused(node, reading, code, data)
            return
        reading.end = data.high_watermark
        reading.last_stable = data.last_stable_offset
        reading.log_start = data.log_start_offset
        if data.diverging_epoch.end_offset >= 0:
            self._diverged(reading, data)
            return
        if data.preferred_read_replica >= 0 and data.preferred_read_replica != node:
            reading.preferred = data.preferred_read_replica
            reading.preferred_until = self.network.clock.monotonic() + _PREFERENCE_SECONDS
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
                deserializers=self.options.deserializers(reading.where.topic),
            )
        except ProtocolError as error:
            self._fatal(KafkaError(ErrorCode.CORRUPT_MESSAGE, f"Partition {reading.where}: {error}."), reading)
            return
        self.counters.bytes += records.size
        self._patience.pop(node, None)
        reading.arrived(records)

    def _refused(self, node: int, reading: Reading, code: ErrorCode, data: PartitionData) -> None:
        where = reading.where
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            if reading.preferred >= 0 and reading.preferred == node:
                reading.preferred = -1  # a follower may simply not be that far yet
            elif self.options.reset is None:
                self._fatal(KafkaError(code, f"Partition {where} has no offset {reading.fetch_position}."), reading)
            elif not reading.buffered:
                reading.seek_by_time(self.options.reset)
        elif code.retriable or code is ErrorCode.UNKNOWN_SERVER_ERROR:
            reading.preferred = -1
            self._stumble(reading, KafkaError(code))
        else:
            self._fatal(KafkaError(code, f"Partition {where}: {code.text}"), reading)

    def _diverged(self, reading: Reading, data: PartitionData) -> None:
        """The log was cut back below what we have read (KIP-320)."""
        end = data.diverging_epoch.end_offset
        if self.options.reset is None:
            safe = OffsetAndMetadata(end, "", data.diverging_epoch.epoch)
            self._fatal(LogTruncationError({reading.where: safe}), reading)
        else:
            reading.seek(min(end, reading.fetch_position), data.diverging_epoch.epoch)

    def _failed(self, turns: dict[Reading, int], error: BaseException | None) -> None:
        for reading in turns:
            self._stumble(reading, error)

    def _stumble(self, reading: Reading, error: BaseException | None) -> None:
        """Tries again a little later, with nothing believed about leaders."""
        reading.not_before = self.network.clock.monotonic() + self.network.backoff.delay(0)
        if isinstance(error, KafkaError) and error.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            self._fatal(error, reading)
        self.network.topics_of_interest.add(reading.where.topic)
        self.network.doubt()
        self.network.refresh()
        self._look_again()

    def _fatal(self, error: KafkaError, reading: Reading | None = None) -> None:
        """What the application has to hear; it is told at its next poll, and reading goes on after a pause."""
        with self.changed:
            self.error = named(error)
            if reading is not None:
                reading.not_before = self.network.clock.monotonic() + self.network.backoff.limit
            self.changed.notify_all()
        self._look_again()

    def _look_again(self) -> None:
        if self._retry_set or self._closed:
            return
        self._retry_set = True

        def again() -> None:
            self._retry_set = False
            self.pump()

        self.network.loop.call_later(self.network.backoff.first, again)
