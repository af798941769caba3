"""Records as a consumer hands them out, made a few at a time from a fetched batch. The specification.

`BatchCursor` walks one batch. It makes only as many records as are asked for, because an application takes some
hundred per poll: memory that was just freed is used again, instead of ten thousand records waiting in line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from moldau._speed.reference.codec import BatchHeader
from moldau._speed.reference.records import Record, decode_records
from moldau.types import Buffer


class ConsumerRecord(NamedTuple):
    """kafka-python's record, by name and in the same order. The kernel makes the same class."""

    topic: str
    partition: int
    leader_epoch: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: Any
    value: Any
    headers: Sequence[tuple[str, bytes | None]] = ()
    checksum: None = None
    serialized_key_size: int = -1
    serialized_value_size: int = -1
    serialized_header_size: int = -1


class BatchCursor:
    """The records of one uncompressed batch from `first_offset` on, in order."""

    def __init__(
        self,
        header: BatchHeader,
        data: Buffer,
        start: int,
        end: int,
        topic: str,
        partition: int,
        first_offset: int,
        key_deserializer: Callable[[Any], Any] | None = None,
        value_deserializer: Callable[[Any], Any] | None = None,
    ) -> None:
        self._header = header
        self._topic = topic
        self._partition = partition
        self._key = key_deserializer
        self._value = value_deserializer
        self._left = [record for record in decode_records(header, data, start, end) if record.offset >= first_offset]
        self._left.reverse()

    @property
    def done(self) -> bool:
        return not self._left

    def take(self, most: int) -> list[ConsumerRecord]:
        """Up to `most` further records; fewer only at the end. ProtocolError if the batch is damaged."""
        return [self._consumed(self._left.pop()) for _ in range(min(most, len(self._left)))]

    def _consumed(self, record: Record) -> ConsumerRecord:
        size = sum(len(name.encode("utf-8", "surrogateescape")) + len(value or b"") for name, value in record.headers)
        return ConsumerRecord(
            self._topic,
            self._partition,
            self._header.partition_leader_epoch,
            record.offset,
            record.timestamp,
            self._header.attributes >> 3 & 1,
            record.key if self._key is None else self._key(record.key),
            record.value if self._value is None else self._value(record.value),
            record.headers,
            None,
            -1 if record.key is None else len(record.key),
            -1 if record.value is None else len(record.value),
            size if record.headers else -1,
        )
