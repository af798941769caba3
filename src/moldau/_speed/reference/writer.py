"""The records of a batch, written: the specification of `writer.pyx`. The layout stands in `records.py`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Final, TypeAlias

from moldau._speed.layout import HEADER_SIZE, MAGIC, PREFIX_SIZE
from moldau._speed.reference.codec import crc32c
from moldau._speed.reference.records import Header, Record
from moldau.types import Buffer

# What a producer hands in: timestamp, key, value, headers.
RecordData: TypeAlias = tuple[int, Buffer | None, Buffer | None, Sequence[Header]]

LARGEST_BATCH: Final = (1 << 31) - 1
_MAX_INT32: Final = (1 << 31) - 1
_MAX_INT64: Final = (1 << 63) - 1
_MIN_INT64: Final = -(1 << 63)

_BEFORE_CRC: Final = Struct(">qiibI")
_AFTER_CRC: Final = Struct(">hiqqqhii")


def _put_varint(out: bytearray, value: int) -> None:
    raw = (value << 1) ^ (value >> 63)
    while raw >= 0x80:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)


def _put_bytes(out: bytearray, value: Buffer | None) -> None:
    if value is None:
        out.append(1)
    else:
        _put_varint(out, memoryview(value).nbytes)
        out += value


class RecordWriter:
    """Appends records to the body of a batch; `pack` puts the header before it.

    A record that would take the batch over `max_size` is not taken, except as the first: a batch is never empty only
    because its one record is large. Timestamps are deltas to `base_timestamp`, by default that of the first record.
    """

    __slots__ = (
        "_base_timestamp",
        "_body",
        "_count",
        "_fixed_base",
        "_last_offset_delta",
        "_max_size",
        "_max_timestamp",
    )

    def __init__(self, max_size: int = LARGEST_BATCH, base_timestamp: int | None = None) -> None:
        if not 0 <= max_size <= LARGEST_BATCH:
            raise ValueError(f"a batch cannot be {max_size} bytes long")
        self._max_size = max_size
        self._fixed_base = base_timestamp
        self.clear()

    def clear(self) -> None:
        """Back to the state after creation."""
        self._body = bytearray()
        self._count = 0
        self._last_offset_delta = -1
        self._base_timestamp = -1 if self._fixed_base is None else self._fixed_base
        self._max_timestamp = -1

    @property
    def count(self) -> int:
        return self._count

    @property
    def size(self) -> int:
        """Of the batch so far, uncompressed, header included."""
        return HEADER_SIZE + len(self._body)

    @property
    def last_offset_delta(self) -> int:
        return self._last_offset_delta

    @property
    def base_timestamp(self) -> int:
        return self._base_timestamp

    @property
    def max_timestamp(self) -> int:
        return self._max_timestamp

    def append(
        self, timestamp: int, key: Buffer | None, value: Buffer | None, headers: Sequence[Header] | None = None
    ) -> bool:
        """False if the record did not fit any more."""
        return self.append_at(self._last_offset_delta + 1, timestamp, key, value, headers)

    def append_at(
        self,
        offset_delta: int,
        timestamp: int,
        key: Buffer | None,
        value: Buffer | None,
        headers: Sequence[Header] | None = None,
    ) -> bool:
        """Like `append`, leaving out offsets: compaction removes records and the others keep their numbers."""
        if not self._last_offset_delta < offset_delta < _MAX_INT32:
            raise ValueError(f"offset delta {offset_delta} cannot follow {self._last_offset_delta}")
        first = self._count == 0
        base = timestamp if first and self._fixed_base is None else self._base_timestamp
        if not _MIN_INT64 <= timestamp <= _MAX_INT64 or not _MIN_INT64 <= timestamp - base <= _MAX_INT64:
            raise OverflowError("the timestamp does not fit 64 bits")
        record = bytearray(1)
        _put_varint(record, timestamp - base)
        _put_varint(record, offset_delta)
        _put_bytes(record, key)
        _put_bytes(record, value)
        _put_varint(record, len(headers or ()))
        for name, content in headers or ():
            _put_bytes(record, name.encode("utf-8", "surrogateescape"))
            _put_bytes(record, content)
        prefix = bytearray()
        _put_varint(prefix, len(record))
        size = self.size + len(prefix) + len(record)
        if size > (LARGEST_BATCH if first else self._max_size):
            if first:
                raise OverflowError("the record is larger than a batch can be")
            return False
        self._body += prefix
        self._body += record
        self._base_timestamp = base
        self._max_timestamp = timestamp if first else max(self._max_timestamp, timestamp)
        self._last_offset_delta = offset_delta
        self._count += 1
        return True

    def extend(self, records: Iterable[Record | RecordData]) -> int:
        """Appends until one does not fit; returns how many were taken. The offsets of `Record`s do not count."""
        taken = 0
        for record in records:
            if isinstance(record, Record):
                fits = self.append(record.timestamp, record.key, record.value, record.headers)
            else:
                fits = self.append(*record)
            if not fits:
                break
            taken += 1
        return taken

    def body(self) -> bytes:
        """The records as they are compressed."""
        return bytes(self._body)

    def pack(
        self,
        *,
        body: Buffer | None = None,
        base_offset: int = 0,
        partition_leader_epoch: int = -1,
        attributes: int = 0,
        last_offset_delta: int | None = None,
        max_timestamp: int | None = None,
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
    ) -> bytes:
        """The whole batch. `body` are the records compressed, if they are; the rest is what the records do not say."""
        content = self._body if body is None else body
        size = HEADER_SIZE + memoryview(content).nbytes
        if size > LARGEST_BATCH:
            raise OverflowError("the batch is larger than a batch can be")
        after = _AFTER_CRC.pack(
            attributes,
            self._last_offset_delta if last_offset_delta is None else last_offset_delta,
            self._base_timestamp,
            self._max_timestamp if max_timestamp is None else max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            self._count,
        )
        crc = crc32c(content, value=crc32c(after))
        before = _BEFORE_CRC.pack(base_offset, size - PREFIX_SIZE, partition_leader_epoch, MAGIC, crc)
        return b"".join((before, after, content))
