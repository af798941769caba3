"""The records inside a batch, read: the specification of `records.pyx`.

A record is

    length varint | attributes 1 | timestamp delta varlong | offset delta varint | key | value | headers

where key and value are a varint length (-1: null) and the bytes, and headers a varint count and as many pairs of key
and value. Varints are zigzag; a longer encoding than 5 bytes (10 for the varlong) is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from moldau._speed.faults import Fault, fault
from moldau._speed.reference.codec import SMALLEST_RECORD, BatchHeader, checked_range
from moldau.types import Buffer

Header: TypeAlias = tuple[str, bytes | None]

_MAX_INT64: Final = (1 << 63) - 1
_MIN_INT64: Final = -(1 << 63)


@dataclass(slots=True, frozen=True)
class Record:
    """One record with its absolute offset and timestamp.

    Header keys that are not UTF-8 keep their bytes as lone surrogates and are written back unchanged, so that one
    careless producer cannot stop the readers of a topic.
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[Header] = field(default_factory=list)


@dataclass(slots=True, frozen=True)
class RecordsSummary:
    """What a broker must know of the records in a batch before it takes them."""

    records: int
    min_timestamp: int  # -1 without records, as the next two
    max_timestamp: int
    offset_of_max_timestamp: int  # of the first record that has it
    first_without_key: int  # index in the batch, -1 if all have keys


class RecordParts(NamedTuple):
    """One record as it stands in the bytes."""

    timestamp_delta: int
    offset_delta: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[bytes, bytes | None]]


class _Cut(Exception):
    """The record does not fit its length."""


def _varint(data: Buffer, position: int, end: int, longest: int) -> tuple[int, int]:
    raw = shift = 0
    for index in range(position, min(end, position + longest)):
        byte = data[index]
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            if raw >> (32 if longest == 5 else 64):
                break
            return (raw >> 1) ^ -(raw & 1), index + 1
        shift += 7
    raise _Cut


def _bytes(data: Buffer, position: int, end: int) -> tuple[bytes | None, int]:
    size, position = _varint(data, position, end, 5)
    if size == -1:
        return None, position
    if not 0 <= size <= end - position:
        raise _Cut
    return bytes(data[position : position + size]), position + size


def _headers(data: Buffer, position: int, end: int) -> tuple[list[tuple[bytes, bytes | None]], int]:
    count, position = _varint(data, position, end, 5)
    if not 0 <= count <= (end - position) // 2:
        raise _Cut
    headers = []
    for _ in range(count):
        key, position = _bytes(data, position, end)
        value, position = _bytes(data, position, end)
        if key is None:
            raise _Cut
        headers.append((key, value))
    return headers, position


def take_record(data: Buffer, position: int, end: int) -> tuple[RecordParts, int]:
    """The record at `position` and the position after it."""
    length, position = _varint(data, position, end, 5)
    if not 1 <= length <= end - position:
        raise _Cut
    end = position + length
    timestamp_delta, position = _varint(data, position + 1, end, 10)
    offset_delta, position = _varint(data, position, end, 5)
    key, position = _bytes(data, position, end)
    value, position = _bytes(data, position, end)
    headers, position = _headers(data, position, end)
    if position != end:
        raise _Cut
    return RecordParts(timestamp_delta, offset_delta, key, value, headers), end


def walk_records(
    header: BatchHeader, data: Buffer, start: int, end: int | None, consecutive: bool
) -> Iterable[tuple[int, int, RecordParts]]:
    """(offset, timestamp, record) for each; faults carry the position of the record."""
    position, end = checked_range(data, start, end)
    if not 0 <= header.count * SMALLEST_RECORD <= end - position:
        raise fault(Fault.COUNTS, position)
    if header.base_offset < 0 or not 0 <= header.last_offset_delta <= _MAX_INT64 - header.base_offset:
        raise fault(Fault.COUNTS, position)
    for index in range(header.count):
        try:
            record, after = take_record(data, position, end)
        except _Cut:
            raise fault(Fault.RECORD, position) from None
        delta = record.offset_delta
        if not 0 <= delta <= header.last_offset_delta or (consecutive and delta != index):
            raise fault(Fault.OFFSET, position)
        timestamp = header.base_timestamp + record.timestamp_delta
        if not _MIN_INT64 <= timestamp <= _MAX_INT64:
            raise fault(Fault.TIMESTAMP, position)
        yield header.base_offset + delta, header.max_timestamp if header.timestamp_type else timestamp, record
        position = after
    if position != end:
        raise fault(Fault.TRAILING, position)


def decode_records(header: BatchHeader, data: Buffer, start: int = 0, end: int | None = None) -> list[Record]:
    """The records of a batch from their uncompressed bytes `data[start:end]`."""
    return [
        Record(
            offset,
            timestamp,
            record.key,
            record.value,
            [(key.decode("utf-8", "surrogateescape"), value) for key, value in record.headers],
        )
        for offset, timestamp, record in walk_records(header, data, start, end, False)
    ]


def check_records(
    header: BatchHeader, data: Buffer, start: int = 0, end: int | None = None, *, consecutive: bool = True
) -> RecordsSummary:
    """Walks the uncompressed records of a batch without keeping any.

    Producers send `consecutive` offsets, one for each; a batch that was compacted has gaps.
    """
    if consecutive and header.count != header.last_offset_delta + 1:
        raise fault(Fault.COUNTS, start)
    count, lowest, highest, highest_offset, keyless = 0, -1, -1, -1, -1
    for offset, timestamp, record in walk_records(header, data, start, end, consecutive):
        if count == 0 or timestamp < lowest:
            lowest = timestamp
        if count == 0 or timestamp > highest:
            highest, highest_offset = timestamp, offset
        if record.key is None and keyless < 0:
            keyless = count
        count += 1
    return RecordsSummary(count, lowest, highest, highest_offset, keyless)
