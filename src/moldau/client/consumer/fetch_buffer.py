"""What was fetched and not yet handed out: given to the application partition after partition, none left behind."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from moldau.client.consumer.fetch_state import FetchState
from moldau.client.consumer.fetched import ConsumerRecord, ReturnedRecords
from moldau.client.consumer.fetcher import Fetcher
from moldau.client.session import Session
from moldau.client.structs import OffsetAndMetadata
from moldau.errors.named import NotAssignedError
from moldau.protocol.records import ColumnBuilder, Columns
from moldau.types import TopicPartition

# A column of bytes ends at 2 GiB; one answer more fits in any case.
_COLUMN_BYTES: Final = 1 << 29


class FetchBuffer:
    """The application's side of the fetcher. `order` says whose turn it is; `ahead` has the positions of partitions
    whose records an iterator has, but has not all handed out, and `held` these records."""

    def __init__(self, session: Session, fetcher: Fetcher) -> None:
        self.fetcher = fetcher
        self.order: list[TopicPartition] = []
        self.ahead: dict[TopicPartition, int] = {}
        self.held: dict[TopicPartition, deque[ConsumerRecord]] = {}
        self.iterator: Iterator[ConsumerRecord] | None = None
        # How many of the records taken last, at the beginning of each partition, had been taken before and given back.
        self.again: dict[TopicPartition, int] = {}
        self._session = session
        self._unasked = False

    # -------------------------------------------------------------------------------------------- what is being read

    def read_exactly(self, wanted: set[TopicPartition], appeared: set[str]) -> None:
        """These partitions and no others; those that stay go on where they are. `appeared` names topics that were
        waited for."""
        with self.fetcher.changed:
            self.give_back()
            readings = self.fetcher.readings
            for where in [where for where in readings if where not in wanted]:
                del readings[where]
            for where in self.new_of(wanted):
                readings[where] = FetchState(where, appeared=where.topic in appeared)
            self.order = list(readings)
            self._unasked = bool(readings)

    def new_of(self, wanted: set[TopicPartition]) -> list[TopicPartition]:
        with self.fetcher.changed:
            return sorted(where for where in wanted if where not in self.fetcher.readings)

    def assignment(self) -> set[TopicPartition]:
        with self.fetcher.changed:
            return set(self.fetcher.readings)

    def paused(self) -> set[TopicPartition]:
        with self.fetcher.changed:
            return {where for where, reading in self.fetcher.readings.items() if reading.paused}

    def readings(self, partitions: Iterable[TopicPartition]) -> list[FetchState]:
        self._session.check_open()
        found = []
        with self.fetcher.changed:
            for where in partitions:
                reading = self.fetcher.readings.get(TopicPartition(*where))
                if reading is None:
                    raise NotAssignedError(f"{where} is not assigned to this consumer.")
                found.append(reading)
        return found

    def begin_reading(self, *, again: bool = False) -> None:
        """Positions are found when records are first wanted, or the position itself (`again`)."""
        if self._unasked or again:
            self._unasked = False
            if self.fetcher.need_positions():
                self._pump()

    def moved(self, partitions: Iterable[TopicPartition]) -> None:
        """Somebody went elsewhere in these: what an iterator still has of them is not handed out."""
        for where in partitions:
            self.held.pop(TopicPartition(*where), None)
        self.give_back()
        self._pump()

    def hold(self, found: Mapping[TopicPartition, Sequence[ConsumerRecord]]) -> None:
        """For an iterator, which hands them out one by one; or for whoever only looks at them."""
        for where, records in found.items():
            self.ahead[where] = records[0].offset
            self.held[where] = deque(records)

    def give_back(self) -> None:
        """What an iterator still has is in its place again, as if nobody had taken it: somebody wants it by another
        way, or not now."""
        with self.fetcher.changed:
            for where, records in self.held.items():
                reading = self.fetcher.readings.get(where)
                if records and reading is not None and reading.position is not None:
                    reading.buffered.appendleft(ReturnedRecords(where, records, reading.position))
                    reading.position = records[0].offset
            self.held = {}
            self.ahead = {}
            self.iterator = None

    def consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Where the application is: after the last record that was handed out."""
        with self.fetcher.changed:
            return {
                where: OffsetAndMetadata(self.ahead.get(where, reading.position), "", reading.position_epoch)
                for where, reading in self.fetcher.readings.items()
                if reading.position is not None
            }

    def take_error(self) -> BaseException | None:
        error, self.fetcher.error = self.fetcher.error, None
        return error

    def _pump(self) -> None:
        self._session.background.call(self.fetcher.pump)

    # ------------------------------------------------------------------------------------------------- handing out

    def has_some(self, partitions: Sequence[TopicPartition] = ()) -> bool:
        """Whether something of these partitions, or of any, can be taken."""
        with self.fetcher.changed:
            return any(
                reading.takeable and (not partitions or where in partitions)
                for where, reading in self.fetcher.readings.items()
            )

    def records(
        self, most: int, partitions: Sequence[TopicPartition] = ()
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Up to `most` records, of these partitions or of all."""
        order = [where for where in self.order if where in partitions] if partitions else self.order
        taken, self.again, drained = take_records(self.fetcher, order, most)
        if drained:
            self._pump()
        return taken

    def columns(self, most: int) -> dict[TopicPartition, Columns]:
        """The same as columns."""
        with self.fetcher.changed:
            for reading in self.fetcher.readings.values():
                if reading.buffered and isinstance(reading.buffered[0], ReturnedRecords):
                    assert reading.position is not None
                    reading.seek(reading.position, reading.position_epoch)  # of these there are no bytes any more
                    self._pump()
        taken, drained = take_columns(self.fetcher, self.order, most)
        if drained:
            self._pump()
        return taken


def take_records(
    fetcher: Fetcher, order: list[TopicPartition], most: int
) -> tuple[dict[TopicPartition, list[ConsumerRecord]], dict[TopicPartition, int], bool]:
    """Up to `most` records, how many of them are taken again, and whether there is room now to fetch more. `order` says
    whose turn it is."""
    taken: dict[TopicPartition, list[ConsumerRecord]] = {}
    again: dict[TopicPartition, int] = {}
    drained = False
    left = most
    with fetcher.changed:
        for where in tuple(order):
            reading = fetcher.readings.get(where)
            if reading is None or not reading.takeable:
                continue
            records: list[ConsumerRecord] = []
            while reading.buffered and left > 0:
                fetched = reading.buffered[0]
                try:
                    more = fetched.take(left)
                except Exception:
                    if taken or records:
                        break  # first what is good; the next poll meets the bad one again
                    raise
                records = records + more if records else more
                left -= len(more)
                if isinstance(fetched, ReturnedRecords):
                    again[where] = len(records)  # nothing else comes before them
                drained = _step(reading) or drained
            if records:
                taken[where] = records
            if left <= 0:
                _to_the_end(order, where, reading)
                break
    fetcher.counters.records += most - left
    return taken, again, drained


def take_columns(
    fetcher: Fetcher, order: list[TopicPartition], most: int
) -> tuple[dict[TopicPartition, Columns], bool]:
    """The same as columns; `most` rows of all partitions together."""
    taken: dict[TopicPartition, Any] = {}
    drained = False
    left = most
    with fetcher.changed:
        for where in tuple(order):
            reading = fetcher.readings.get(where)
            if reading is None or not reading.takeable:
                continue
            builder = ColumnBuilder(headers=True)
            while reading.buffered and builder.rows < left and builder.size < _COLUMN_BYTES:
                reading.buffered[0].columns(builder, left)
                drained = _step(reading) or drained
            columns = builder.finish()
            if columns.rows:
                taken[where] = columns
                left -= columns.rows
            if left <= 0:
                _to_the_end(order, where, reading)
                break
    fetcher.counters.records += most - left
    return taken, drained


def _step(reading: FetchState) -> bool:
    """The position follows what was taken; an answer that is used up makes room for the next, which has to be asked
    for unless it is on its way already: then its arrival is when the fetcher looks again."""
    fetched = reading.buffered[0]
    reading.position = fetched.position
    if fetched.epoch >= 0:
        reading.position_epoch = fetched.epoch
    if not fetched.done:
        return False
    reading.buffered.popleft()
    return not reading.in_flight


def _to_the_end(order: list[TopicPartition], where: TopicPartition, reading: FetchState) -> None:
    """A partition with more to give is gone on with; one that is used up lets the others go first."""
    if not reading.buffered and where in order:
        order.remove(where)
        order.append(where)
