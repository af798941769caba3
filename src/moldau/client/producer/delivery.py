"""The fate of a batch, and the futures of its records.

All records of a batch share one `Delivery`; a record's future is that and an index. So acknowledging a batch of ten
thousand records is one assignment, and a future nobody looks at costs nothing more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from time import monotonic
from typing import Any, NamedTuple

from moldau import _speed
from moldau.client.future import Future, bound, run
from moldau.errors import KafkaError
from moldau.errors.named import KafkaTimeoutError
from moldau.types import NO_OFFSET, NO_TIMESTAMP, TopicPartition

if _speed.COMPILED:
    from moldau._speed.accumulator import Accumulator, Lane, SentRecord
else:
    from moldau._speed.reference.accumulator import Accumulator, Lane, SentRecord

__all__ = ["Accumulator", "Delivery", "FutureRecordMetadata", "Lane", "RecordMetadata", "refused"]


class RecordMetadata(NamedTuple):
    """Where a record was written. `offset` is -1 where the broker does not tell (acks=0)."""

    topic: str
    partition: int
    topic_partition: TopicPartition
    offset: int
    timestamp: int
    checksum: None
    serialized_key_size: int
    serialized_value_size: int
    serialized_header_size: int


class Delivery:
    """Completed once, on the network's thread, or replaced by its parts when the batch was split."""

    __slots__ = (
        *("_callbacks", "_event", "_lock", "append_time", "base_offset", "done", "error", "partition", "parts"),
        *("record_errors", "topic"),
    )

    def __init__(self, topic: str, partition: int) -> None:
        self.topic = topic
        self.partition = partition
        self.done = False
        self.base_offset = NO_OFFSET
        self.append_time = NO_TIMESTAMP
        self.error: BaseException | None = None
        self.record_errors: Mapping[int, BaseException] = {}
        self.parts: Sequence[tuple[int, Delivery]] = ()
        self._callbacks: list[tuple[FutureRecordMetadata, Callable[[Any], Any], bool]] = []
        self._event: threading.Event | None = None
        self._lock = threading.Lock()

    def complete(
        self,
        base_offset: int = NO_OFFSET,
        append_time: int = NO_TIMESTAMP,
        error: BaseException | None = None,
        record_errors: Mapping[int, BaseException] | None = None,
    ) -> None:
        with self._lock:
            if self.done:
                return
            self.base_offset = base_offset
            self.append_time = append_time
            self.error = error
            self.record_errors = record_errors or {}
            self.done = True
            callbacks, self._callbacks = self._callbacks, []
        if self._event is not None:
            self._event.set()
        for future, callback, on_error in callbacks:
            future.tell(callback, on_error)

    def described(self, records: Iterable[SentRecord]) -> Iterator[RecordMetadata]:
        """Where the records of this batch were written, for many at once; only after it was acknowledged."""
        topic, partition, base = self.topic, self.partition, self.base_offset
        where = TopicPartition(topic, partition)
        # Past the class's own constructor, which takes as long as all the rest.
        make, kind = tuple.__new__, RecordMetadata
        append_time = self.append_time
        for each in records:
            yield make(
                kind,
                (
                    topic,
                    partition,
                    where,
                    base if base == NO_OFFSET else base + each.index,
                    each.stamp if append_time == NO_TIMESTAMP else append_time,
                    None,
                    each.serialized_key_size,
                    each.serialized_value_size,
                    each.serialized_header_size,
                ),
            )

    def split(self, parts: Sequence[tuple[int, Delivery]]) -> None:
        """The records from each index on are now in another batch."""
        with self._lock:
            self.parts = parts
            callbacks, self._callbacks = self._callbacks, []
        if self._event is not None:
            self._event.set()
        for future, callback, on_error in callbacks:
            future.add(callback, on_error)

    def wait(self, timeout: float | None) -> bool:
        """Until it is completed or split."""
        with self._lock:
            if self.done or self.parts:
                return True
            self._event = event = self._event or threading.Event()
        return event.wait(timeout)

    def wait_to_the_end(self, deadline: float | None) -> bool:
        """Until it is completed, and its parts with it."""
        if not self.wait(None if deadline is None else max(0.0, deadline - monotonic())):
            return False
        return all(part.wait_to_the_end(deadline) for _, part in self.parts)

    def register(self, future: FutureRecordMetadata, callback: Callable[[Any], Any], on_error: bool) -> bool:
        """Keeps a callback for later; False if it is later already."""
        with self._lock:
            if self.done or self.parts:
                return False
            self._callbacks.append((future, callback, on_error))
            return True


class FutureRecordMetadata(SentRecord):
    """What `send` gives: the record's metadata, once the broker has it, or why it has not."""

    __slots__ = ()

    @property
    def is_done(self) -> bool:
        return bool(self._followed().done)

    @property
    def exception(self) -> BaseException | None:
        delivery = self._followed()
        if delivery.error is None:
            return None
        return delivery.record_errors.get(self.index, delivery.error)

    @property
    def value(self) -> RecordMetadata | None:
        delivery = self._followed()
        if not delivery.done or delivery.error is not None:
            return None
        return next(delivery.described((self,)))

    def succeeded(self) -> bool:
        return self.is_done and self.exception is None

    def failed(self) -> bool:
        return self.is_done and self.exception is not None

    def retriable(self) -> bool:
        error = self.exception
        return isinstance(error, KafkaError) and error.retriable

    def get(self, timeout: float | None = None) -> RecordMetadata:
        """Waits for the broker; KafkaTimeoutError after `timeout` seconds, or the error the record ended in."""
        deadline = None if timeout is None else monotonic() + timeout
        while not self.is_done:
            if not self.delivery.wait(None if deadline is None else max(0.0, deadline - monotonic())):
                raise KafkaTimeoutError(f"The record was not acknowledged in {timeout} seconds.")
        error = self.exception
        if error is not None:
            raise error
        value = self.value
        assert value is not None
        return value

    def add_callback(self, callback: Callable[..., Any], *arguments: Any, **options: Any) -> FutureRecordMetadata:
        """`callback(metadata)` once the record is acknowledged, on the network's thread; it must not block."""
        return self.add(bound(callback, arguments, options), False)

    def add_errback(self, errback: Callable[..., Any], *arguments: Any, **options: Any) -> FutureRecordMetadata:
        return self.add(bound(errback, arguments, options), True)

    def add_both(self, callback: Callable[..., Any], *arguments: Any, **options: Any) -> FutureRecordMetadata:
        return self.add_callback(callback, *arguments, **options).add_errback(callback, *arguments, **options)

    def chain(self, future: Future) -> FutureRecordMetadata:
        return self.add_callback(future.success).add_errback(future.failure)

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        if not self.is_done:
            yield self
        return self.get(0)

    # ------------------------------------------------------------------------------------------------ for Delivery

    def add(self, callback: Callable[[Any], Any], on_error: bool) -> FutureRecordMetadata:
        while not self._followed().register(self, callback, on_error):
            if self.is_done:
                self.tell(callback, on_error)
                break
        return self

    def tell(self, callback: Callable[[Any], Any], on_error: bool) -> None:
        error = self.exception
        if (error is not None) is on_error:
            run(callback, error if on_error else self.value)

    def _followed(self) -> Delivery:
        """The delivery of the batch the record is in now; a split moves it into another one."""
        while self.delivery.parts:
            first, part = next(entry for entry in reversed(self.delivery.parts) if entry[0] <= self.index)
            self.delivery = part
            self.index -= first
        delivery: Delivery = self.delivery
        return delivery


def refused(topic: str, partition: int | None, error: BaseException) -> FutureRecordMetadata:
    """The future of a record that did not get as far as a batch."""
    future = FutureRecordMetadata.__new__(FutureRecordMetadata)
    future.delivery = Delivery(topic, -1 if partition is None else partition)
    future.delivery.complete(error=error)
    future.index = 0
    future.stamp = NO_TIMESTAMP
    future.serialized_key_size = future.serialized_value_size = future.serialized_header_size = -1
    return future
