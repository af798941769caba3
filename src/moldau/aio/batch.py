"""Batches that are put together by hand, as aiokafka offers it.

Here a batch is a lot of records that go to one partition one after the other. How they are packed on the wire stays the
producer's business: it makes its batches by itself, and under load larger ones than this.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic, time
from typing import Any, Final, NamedTuple

from moldau._speed.layout import HEADER_SIZE
from moldau.client.producer.delivery import FutureRecordMetadata
from moldau.client.producer.face import KafkaProducer
from moldau.errors.named import IllegalStateError

# What a record takes at most beside its key, value and headers, and a batch beside its records.
_RECORD_OVERHEAD: Final = 21


class BatchedRecord(NamedTuple):
    """The place of a record within its batch, and what it takes there."""

    offset: int
    size: int
    timestamp: int


class BatchBuilder:
    """Made by `AIOKafkaProducer.create_batch`."""

    def __init__(self, producer: KafkaProducer) -> None:
        self._serialize = producer._serialize
        self._limit = int(producer.config["batch_size"])
        self._records: list[tuple[int, Any, Any, list[tuple[str, bytes]]]] = []
        self._size = HEADER_SIZE
        self._closed = False
        self._sent = False

    def append(
        self, *, timestamp: int | None, key: Any, value: Any, headers: Sequence[tuple[str, bytes]] = ()
    ) -> BatchedRecord | None:
        """Adds a record; None if the batch is full, which closes it, or was closed. The time is in milliseconds."""
        if self._closed:
            return None
        given = list(headers or ())
        key_bytes, value_bytes = self._serialize(0, "", given, key), self._serialize(1, "", given, value)
        if key_bytes is None and value_bytes is None:
            raise ValueError("a record needs a key or a value")
        size = _RECORD_OVERHEAD + len(key_bytes or b"") + len(value_bytes or b"")
        size += sum(10 + len(name.encode()) + len(content or b"") for name, content in given)
        if self._records and self._size + size > self._limit:
            self._closed = True
            return None
        moment = int(time() * 1000) if timestamp is None else timestamp
        self._records.append((moment, key_bytes, value_bytes, given))
        self._size += size
        return BatchedRecord(len(self._records) - 1, size, moment)

    def close(self) -> None:
        """Takes no more records."""
        self._closed = True

    def size(self) -> int:
        return self._size

    def record_count(self) -> int:
        return len(self._records)

    def _send(self, producer: KafkaProducer, topic: str, partition: int) -> list[FutureRecordMetadata]:
        """Everything that may be refused is looked at before the first record is taken on."""
        if self._sent:
            raise IllegalStateError("A batch is sent once.")
        if not self._records:
            raise ValueError("the batch is empty")
        deadline = monotonic() + producer.config["max_block_ms"] / 1000
        for _, key, value, headers in self._records:
            producer._check_usable(topic, value, key)
            producer._check_size(key, value, headers)
        partitions = producer._wait_for_topic(topic, deadline)
        if not 0 <= partition < partitions:
            raise ValueError(f"Topic {topic!r} has no partition {partition}; it has {partitions}.")
        self._sent = self._closed = True
        return [
            producer._wait_for_memory((topic, value, key, headers or None, partition, moment), deadline)
            for moment, key, value, headers in self._records
        ]
