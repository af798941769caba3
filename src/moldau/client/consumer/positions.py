"""Where a consumer is, and how it is moved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from time import monotonic

from moldau.client.consumer.fetch_buffer import FetchBuffer
from moldau.client.consumer.fetch_state import EARLIEST, LATEST
from moldau.client.consumer.position_finder import offsets_by_time
from moldau.client.session import Session
from moldau.client.structs import OffsetAndTimestamp
from moldau.errors.named import IllegalArgumentError, KafkaTimeoutError, NoOffsetForPartitionError
from moldau.types import TopicPartition


class Positions:
    """As an application asks for them and changes them."""

    def __init__(self, session: Session, buffer: FetchBuffer) -> None:
        self._session = session
        self._buffer = buffer
        self._fetcher = buffer.fetcher

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """The next poll goes on here."""
        if not isinstance(offset, int) or offset < 0:
            raise IllegalArgumentError("An offset is a number from 0 on.")
        with self._fetcher.changed:
            for reading in self._buffer.readings([partition]):
                reading.seek(offset)
            if isinstance(self._fetcher.error, NoOffsetForPartitionError):
                self._fetcher.error = None  # that is why one seeks
        self._buffer.moved([partition])

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        self._seek_by_time(partitions, EARLIEST)

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        self._seek_by_time(partitions, LATEST)

    def seek_to_time(self, timestamp_ms: int, *partitions: TopicPartition) -> None:
        """The next poll goes on with the first record that is not older; at the end where all are."""
        if not isinstance(timestamp_ms, int) or timestamp_ms < 0:
            raise IllegalArgumentError("A time is a number of milliseconds from 0 on.")
        self._seek_by_time(partitions, timestamp_ms)

    def _seek_by_time(self, partitions: Sequence[TopicPartition], time: int) -> None:
        chosen = partitions or tuple(self._buffer.assignment())
        if not chosen:
            raise ValueError("no partitions are assigned, and so there is none to move in")
        with self._fetcher.changed:
            for reading in self._buffer.readings(chosen):
                reading.seek_by_time(time)
        self._buffer.moved(chosen)

    def position(self, partition: TopicPartition, timeout_ms: float | None = None) -> int:
        """The offset of the next record to be handed out; waits until it is known."""
        (reading,) = self._buffer.readings([partition])
        deadline = monotonic() + (self._session.timeout if timeout_ms is None else timeout_ms / 1000)
        self._buffer.begin_reading(again=True)
        while True:
            with self._fetcher.changed:
                if reading.position is not None:
                    return self._buffer.ahead.get(reading.where, reading.position)
                if self._fetcher.error is not None:
                    error, self._fetcher.error = self._fetcher.error, None
                    raise error
                change = self._fetcher.changed.ticket()
            if not change.wait(deadline - monotonic()):
                raise KafkaTimeoutError(f"The position of {partition} could not be found out in time.")

    def highwater(self, partition: TopicPartition) -> int | None:
        (reading,) = self._buffer.readings([partition])
        return reading.end if reading.end >= 0 else None

    def last_stable_offset(self, partition: TopicPartition) -> int | None:
        """Up to where no transaction is open, as of the last fetch; None before the first."""
        (reading,) = self._buffer.readings([partition])
        return reading.last_stable if reading.last_stable >= 0 else None

    def last_poll_timestamp(self, partition: TopicPartition) -> int | None:
        """When a broker last answered about the partition, in milliseconds since the epoch; None before the first."""
        (reading,) = self._buffer.readings([partition])
        return reading.taken_at or None

    def beginning_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        return self._offsets(partitions, EARLIEST, timeout_ms)

    def end_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        return self._offsets(partitions, LATEST, timeout_ms)

    def _offsets(
        self, partitions: Iterable[TopicPartition], time: int, timeout_ms: float | None
    ) -> dict[TopicPartition, int]:
        times = {TopicPartition(*where): time for where in partitions}
        found = self._session.ask(offsets_by_time(times, self._fetcher.options.isolation), timeout_ms)
        return {where: offset.offset for where, offset in found.items()}

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record at or after each time; None where all are older."""
        wanted = {TopicPartition(*where): int(time) for where, time in timestamps.items()}
        for where, time in wanted.items():
            if time < 0:
                raise ValueError(f"the time for {where} lies before 1970")
        found = self._session.ask(offsets_by_time(wanted, self._fetcher.options.isolation), timeout_ms)
        return {
            where: OffsetAndTimestamp(at.offset, at.timestamp, at.leader_epoch) if at.found else None
            for where, at in found.items()
        }
