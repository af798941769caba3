"""Where a consumer is, and how it is moved: the part of `KafkaConsumer` that deals with offsets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import monotonic
from typing import TypeVar

from moldau.client.background import Background
from moldau.client.consumer.fetch_state import EARLIEST, LATEST, FetchState
from moldau.client.consumer.fetched import ConsumerRecord
from moldau.client.consumer.fetcher import Fetcher
from moldau.client.consumer.positions import offsets_by_time
from moldau.client.conversation import Conversation
from moldau.client.structs import OffsetAndTimestamp
from moldau.errors.named import IllegalArgumentError, KafkaTimeoutError, NoOffsetForPartitionError
from moldau.types import TopicPartition

T = TypeVar("T")


class Seeking(ABC):
    """`_ahead` holds positions of partitions whose records were polled but not all handed out."""

    _background: Background
    _fetcher: Fetcher
    _ahead: dict[TopicPartition, int]
    _iterator: Iterator[ConsumerRecord] | None
    _unasked: bool

    @abstractmethod
    def assignment(self) -> set[TopicPartition]: ...

    @abstractmethod
    def _readings(self, partitions: Iterable[TopicPartition]) -> list[FetchState]: ...

    @abstractmethod
    def _begin_reading(self) -> None: ...

    @abstractmethod
    def _ask(self, conversation: Conversation[T], timeout_ms: float | None = None) -> T: ...

    @property
    @abstractmethod
    def _timeout(self) -> float: ...

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """The next poll goes on here."""
        if not isinstance(offset, int) or offset < 0:
            raise IllegalArgumentError("An offset is a number from 0 on.")
        with self._fetcher.changed:
            for reading in self._readings([partition]):
                reading.seek(offset)
            if isinstance(self._fetcher.error, NoOffsetForPartitionError):
                self._fetcher.error = None  # that is why one seeks
        self._moved([partition])

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
        chosen = partitions or tuple(self.assignment())
        with self._fetcher.changed:
            for reading in self._readings(chosen):
                reading.seek_by_time(time)
        self._moved(chosen)

    def _moved(self, partitions: Iterable[TopicPartition]) -> None:
        for where in partitions:
            self._ahead.pop(TopicPartition(*where), None)
        self._iterator = None
        self._background.call(self._fetcher.pump)

    def position(self, partition: TopicPartition, timeout_ms: float | None = None) -> int:
        """The offset of the next record to be handed out; waits until it is known."""
        (reading,) = self._readings([partition])
        deadline = monotonic() + (self._timeout if timeout_ms is None else timeout_ms / 1000)
        self._unasked = True
        self._begin_reading()
        while True:
            with self._fetcher.changed:
                if reading.position is not None:
                    return self._ahead.get(reading.where, reading.position)
                if self._fetcher.error is not None:
                    error, self._fetcher.error = self._fetcher.error, None
                    raise error
                change = self._fetcher.changed.ticket()
            if not change.wait(deadline - monotonic()):
                raise KafkaTimeoutError(f"The position of {partition} could not be found out in time.")

    def highwater(self, partition: TopicPartition) -> int | None:
        (reading,) = self._readings([partition])
        return reading.end if reading.end >= 0 else None

    def last_stable_offset(self, partition: TopicPartition) -> int | None:
        """Up to where no transaction is open, as of the last fetch; None before the first."""
        (reading,) = self._readings([partition])
        return reading.last_stable if reading.last_stable >= 0 else None

    def last_poll_timestamp(self, partition: TopicPartition) -> int | None:
        """When a broker last answered about the partition, in milliseconds since the epoch; None before the first."""
        (reading,) = self._readings([partition])
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
        found = self._ask(offsets_by_time(times, self._fetcher.options.isolation), timeout_ms)
        return {where: offset.offset for where, offset in found.items()}

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record at or after each time; None where all are older."""
        for where, time in timestamps.items():
            if time < 0:
                raise ValueError(f"the time for {where} lies before 1970")
        wanted = {TopicPartition(*where): int(time) for where, time in timestamps.items()}
        found = self._ask(offsets_by_time(wanted, self._fetcher.options.isolation), timeout_ms)
        return {
            where: OffsetAndTimestamp(at.offset, at.timestamp, at.leader_epoch) if at.found else None
            for where, at in found.items()
        }
