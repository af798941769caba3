"""The futures of records, as kafka-python has them. What they stand on is a kernel: `_speed/reference/delivery.py`."""

from __future__ import annotations

from collections.abc import Callable, Generator
from time import monotonic
from typing import Any

from moldau import _speed
from moldau.client.future import Future
from moldau.errors import KafkaError
from moldau.errors.named import KafkaTimeoutError
from moldau.types import NO_TIMESTAMP

if _speed.COMPILED:
    from moldau._speed.accumulator import Accumulator, Lane
    from moldau._speed.delivery import Delivery, RecordMetadata, SentRecord
else:
    from moldau._speed.reference.accumulator import Accumulator, Lane
    from moldau._speed.reference.delivery import Delivery, RecordMetadata, SentRecord

__all__ = ["Accumulator", "Delivery", "FutureRecordMetadata", "Lane", "RecordMetadata", "refused"]


class FutureRecordMetadata(SentRecord):
    """What `send` gives: the record's metadata, once the broker has it, or why it has not."""

    __slots__ = ()

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

    def add_both(self, callback: Callable[..., Any], *arguments: Any, **options: Any) -> FutureRecordMetadata:
        self.add_callback(callback, *arguments, **options)
        self.add_errback(callback, *arguments, **options)
        return self

    def chain(self, future: Future) -> FutureRecordMetadata:
        self.add(future.success, False)
        self.add(future.failure, True)
        return self

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        if not self.is_done:
            yield self
        return self.get(0)


def refused(topic: str, partition: int | None, error: BaseException) -> FutureRecordMetadata:
    """The future of a record that did not get as far as a batch."""
    future = FutureRecordMetadata.__new__(FutureRecordMetadata)
    future.delivery = Delivery(topic, -1 if partition is None else partition)
    future.delivery.complete(error=error)
    future.index = 0
    future.stamp = NO_TIMESTAMP
    future.serialized_key_size = future.serialized_value_size = future.serialized_header_size = -1
    return future
