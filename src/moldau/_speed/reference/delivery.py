"""The fate of a batch, and what the records in it know of it. The specification.

All records of a batch share one `Delivery`; a record's future is that and an index. So acknowledging a batch of ten
thousand records is one assignment, and a future nobody looks at costs nothing more. Where somebody wants to be told of
each record, its callbacks lie in one list of the batch and are called one after the other, from one loop.

The compiled twin needs no lock, because nothing in it lets another thread run in the middle; this one does.
"""

from __future__ import annotations

import logging
import threading
from _thread import allocate_lock
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from time import monotonic
from typing import Any, NamedTuple

from moldau.types import NO_OFFSET, NO_TIMESTAMP, TopicPartition

logger = logging.getLogger("moldau.client")


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
        *("_callbacks", "_errbacks", "_gates", "_lock", "_over", "append_time", "base_offset", "done", "error"),
        *("partition", "parts", "record_errors", "topic"),
    )

    def __init__(self, topic: str, partition: int) -> None:
        self.topic = topic
        self.partition = partition
        self.done = False
        self.base_offset = NO_OFFSET
        self.append_time = NO_TIMESTAMP
        self.error: BaseException | None = None
        self.record_errors: Mapping[int, BaseException] = {}
        self.parts: tuple[tuple[int, Delivery], ...] = ()
        # A record and what to call, in turn.
        self._callbacks: list[Any] = []
        self._errbacks: list[Any] = []
        # Completed or split, and everybody was told. Until then who waits has a lock here, taken, to be let go.
        self._over = False
        self._gates: list[Any] = []
        self._lock = threading.Lock()

    def complete(
        self,
        base_offset: int = NO_OFFSET,
        append_time: int = NO_TIMESTAMP,
        error: BaseException | None = None,
        record_errors: Mapping[int, BaseException] | None = None,
    ) -> None:
        """Settles all its records. Who waits goes on after the last callback: a flush has seen everything."""
        with self._lock:
            if self.done:
                return
            self.base_offset = base_offset
            self.append_time = append_time
            self.error = error
            self.record_errors = record_errors or {}
            self.done = True
            callbacks, self._callbacks = self._callbacks, []
            errbacks, self._errbacks = self._errbacks, []
        try:
            wanted = callbacks if error is None else errbacks
            for at in range(0, len(wanted), 2):
                wanted[at].tell(wanted[at + 1], error is not None)
        finally:
            self._end()

    def disown(self, error: BaseException) -> None:
        """In a forked process, where nobody brings the outcome: it ends here, and what waits for it is the parent's."""
        self._lock = threading.Lock()
        self._callbacks, self._errbacks = [], []
        self.complete(error=error)

    def described(self, records: Iterable[SentRecord]) -> list[RecordMetadata]:
        """Where the records of this batch were written, for many at once; only after it was acknowledged."""
        return [self._describe(record) for record in records]

    def _describe(self, record: SentRecord) -> RecordMetadata:
        base, append_time = self.base_offset, self.append_time
        return RecordMetadata(
            self.topic,
            self.partition,
            TopicPartition(self.topic, self.partition),
            base if base == NO_OFFSET else base + record.index,
            record.stamp if append_time == NO_TIMESTAMP else append_time,
            None,
            record.serialized_key_size,
            record.serialized_value_size,
            record.serialized_header_size,
        )

    def split(self, parts: Sequence[tuple[int, Delivery]]) -> None:
        """The records from each index on are now in another batch."""
        with self._lock:
            self.parts = tuple(parts)
            callbacks, self._callbacks = self._callbacks, []
            errbacks, self._errbacks = self._errbacks, []
        try:
            for waiting, on_error in ((callbacks, False), (errbacks, True)):
                for at in range(0, len(waiting), 2):
                    waiting[at].add(waiting[at + 1], on_error)
        finally:
            self._end()

    def _end(self) -> None:
        self._over = True
        while self._gates:
            self._gates.pop().release()

    def wait(self, timeout: float | None) -> bool:
        """Until it is completed or split. An exception in the middle leaves nothing taken that others need."""
        if self._over:
            return True
        gate = allocate_lock()
        gate.acquire()
        self._gates.append(gate)
        # Looked at after the gate is in its place: ended before means seen here, ended after means let go there.
        if self._over or gate.acquire(True, -1 if timeout is None else max(0.0, timeout)):
            return True
        try:
            self._gates.remove(gate)
        except ValueError:
            pass  # let go this very moment
        return self._over

    def wait_to_the_end(self, deadline: float | None) -> bool:
        """Until it is completed, and its parts with it."""
        if not self.wait(None if deadline is None else max(0.0, deadline - monotonic())):
            return False
        return all(part.wait_to_the_end(deadline) for _, part in self.parts)

    def register(self, record: SentRecord, callback: Callable[[Any], Any], on_error: bool) -> bool:
        """Keeps a callback for later; False if it is later already."""
        with self._lock:
            if self.done or self.parts:
                return False
            (self._errbacks if on_error else self._callbacks).extend((record, callback))
            return True


class SentRecord:
    """One record on its way: which batch it is in, and where in it. The producer's futures are made of these."""

    __slots__ = ("delivery", "index", "serialized_header_size", "serialized_key_size", "serialized_value_size", "stamp")

    delivery: Any
    index: int
    stamp: int
    serialized_key_size: int
    serialized_value_size: int
    serialized_header_size: int

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
        return delivery._describe(self)

    def succeeded(self) -> bool:
        return self.is_done and self.exception is None

    def failed(self) -> bool:
        return self.is_done and self.exception is not None

    def add_callback(self, callback: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """`callback(metadata)` once the record is acknowledged, on the network's thread; it must not block."""
        return self.add(partial(callback, *arguments, **options) if arguments or options else callback, False)

    def add_errback(self, errback: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """`errback(exception)` once it is known that the record will not be acknowledged."""
        return self.add(partial(errback, *arguments, **options) if arguments or options else errback, True)

    def add(self, callback: Callable[[Any], Any], on_error: bool) -> Any:
        while not self._followed().register(self, callback, on_error):
            if self.is_done:
                self.tell(callback, on_error)
                break
        return self

    def tell(self, callback: Callable[[Any], Any], on_error: bool) -> None:
        """A callback that fails must not take the network's thread with it."""
        error = self.exception
        if (error is not None) is not on_error:
            return
        try:
            callback(error if on_error else self.value)
        except Exception:
            logger.exception("a callback of a future failed")

    def _followed(self) -> Delivery:
        """The delivery of the batch the record is in now; a split moves it into another one."""
        while self.delivery.parts:
            first, part = next(entry for entry in reversed(self.delivery.parts) if entry[0] <= self.index)
            self.delivery = part
            self.index -= first
        delivery: Delivery = self.delivery
        return delivery
