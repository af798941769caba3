"""The records inside a batch, read: the specification of `records.pyx`.

A record is

    length varint | attributes 1 | timestamp delta varlong | offset delta varint | key | value | headers

where key and value are a varint length (-1: null) and the bytes, and headers a varint count and as many pairs of key
and value. Varints are zigzag; a longer encoding than 5 bytes (10 for the varlong) is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

from moldau._speed.faults import Fault, fault
from moldau._speed.layout import HEADER_SIZE, SMALLEST_RECORD, TIMESTAMP_TYPE
from moldau._speed.reference.codec import BatchHeader, checked_batch, checked_range
from moldau.dataclass import dataclass, field, replace
from moldau.types import Buffer

Header: TypeAlias = tuple[str, bytes | None]

# (index in the batch, timestamp, whether it is refused for want of a key; for its timestamp otherwise)
Refusal: TypeAlias = tuple[int, int, bool]

REFUSALS_NAMED: Final = 100

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
    min_timestamp: int  # -1 without records, as the next
    max_timestamp: int
    first_without_key: int  # index in the batch, -1 if all have keys
    refused: int = 0  # how many records are not as the caller wants them
    refusals: tuple[Refusal, ...] = ()  # the first of those


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
    _check_offsets(header, position)
    for index in range(header.count):
        try:
            record, after = take_record(data, position, end)
        except _Cut:
            raise fault(Fault.RECORD, position) from None
        offset, timestamp = _place(header, index, record, position, consecutive)
        yield offset, timestamp, record
        position = after
    if position != end:
        raise fault(Fault.TRAILING, position)


def _check_offsets(header: BatchHeader, position: int) -> None:
    if header.base_offset < 0 or not 0 <= header.last_offset_delta <= _MAX_INT64 - header.base_offset:
        raise fault(Fault.COUNTS, position)


def _place(header: BatchHeader, index: int, record: RecordParts, position: int, consecutive: bool) -> tuple[int, int]:
    """Offset and timestamp of the record at `position`."""
    delta = record.offset_delta
    if not 0 <= delta <= header.last_offset_delta or (consecutive and delta != index):
        raise fault(Fault.OFFSET, position)
    timestamp = header.base_timestamp + record.timestamp_delta
    if not _MIN_INT64 <= timestamp <= _MAX_INT64:
        raise fault(Fault.TIMESTAMP, position)
    return header.base_offset + delta, header.max_timestamp if header.timestamp_type else timestamp


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
    header: BatchHeader,
    data: Buffer,
    start: int = 0,
    end: int | None = None,
    *,
    consecutive: bool = True,
    needs_key: bool = False,
    earliest: int = _MIN_INT64,
    latest: int = _MAX_INT64,
    own_times: bool = False,
) -> RecordsSummary:
    """Walks the uncompressed records of a batch without keeping any.

    Producers send `consecutive` offsets, one for each; in a batch that was compacted they have gaps, and grow. Records
    without a key where one is needed, and those whose timestamp is not between `earliest` and `latest`, are counted
    and the first of them named: it is for the caller to say what becomes of the batch. A record without a timestamp
    (-1) is never too early. With `own_times` the timestamps are the records' own even if the batch claims to have the
    broker's.
    """
    if consecutive and header.count != header.last_offset_delta + 1:
        raise fault(Fault.COUNTS, start)
    if own_times:
        header = replace(header, attributes=header.attributes & ~TIMESTAMP_TYPE)
    position = start
    tally = _Tally(needs_key, earliest, latest)
    for _, timestamp, record in walk_records(header, data, start, end, consecutive):
        tally.count(timestamp, record, position)
        position = take_record(data, position, len(data) if end is None else end)[1]
    return tally.summary()


def open_batch(
    data: Buffer,
    start: int,
    end: int,
    *,
    needs_key: bool = False,
    earliest: int = _MIN_INT64,
    latest: int = _MAX_INT64,
    own_times: bool = False,
) -> tuple[BatchHeader, RecordsSummary | None]:
    """The batch at `start`, checked as somebody must who is to append it: checksum, header, and every record of it.

    Records are not looked at where that is not so easy, in compressed batches and in control batches: None then.
    """
    start, end = checked_range(data, start, end)
    header = checked_batch(data, start, end)
    if header is None:
        raise fault(Fault.SHORT, start)
    if header.compression or header.is_control:
        return header, None
    if header.count != header.last_offset_delta + 1:
        raise fault(Fault.COUNTS, start)
    summary = check_records(
        header,
        data,
        start + HEADER_SIZE,
        start + header.size,
        needs_key=needs_key,
        earliest=earliest,
        latest=latest,
        own_times=own_times,
    )
    return header, summary


class RecordWalk:
    """`check_records` for records that come window by window, as decompression gives them back.

    What a window holds is dropped with it: here up to the last record that is whole, compiled altogether.
    """

    __slots__ = ("_begun", "_consecutive", "_header", "_index", "_rest", "_tally")

    def __init__(
        self,
        header: BatchHeader,
        *,
        consecutive: bool = True,
        needs_key: bool = False,
        earliest: int = _MIN_INT64,
        latest: int = _MAX_INT64,
        own_times: bool = False,
    ) -> None:
        if header.count < 0 or (consecutive and header.count != header.last_offset_delta + 1):
            raise fault(Fault.COUNTS, 0)
        _check_offsets(header, 0)
        if own_times:
            header = replace(header, attributes=header.attributes & ~TIMESTAMP_TYPE)
        self._header = header
        self._consecutive = consecutive
        self._tally = _Tally(needs_key, earliest, latest)
        self._index = 0
        self._rest = b""
        self._begun = 0

    @property
    def position(self) -> int:
        """Where the record begins that was not yet whole, or that was at fault, counted from the first window on."""
        return self._begun

    def feed(self, data: Buffer) -> None:
        """The next window. What is wrong with a record is said as soon as it can be seen, at the latest by `finish`."""
        rest = self._rest + bytes(data)
        position = 0
        while self._index < self._header.count:
            try:
                record, after = take_record(rest, position, len(rest))
            except _Cut:
                if not _is_cut(rest, position):
                    raise fault(Fault.RECORD, self._begun) from None
                break
            _, timestamp = _place(self._header, self._index, record, self._begun, self._consecutive)
            self._tally.count(timestamp, record, self._begun)
            self._index += 1
            self._begun += after - position
            position = after
        self._rest = rest[position:]
        if self._rest and self._index == self._header.count:
            raise fault(Fault.TRAILING, self._begun)

    def finish(self) -> RecordsSummary:
        """What was found in all windows together."""
        if self._index < self._header.count:
            raise fault(Fault.RECORD, self._begun)
        return self._tally.summary()


def _is_cut(data: Buffer, position: int) -> bool:
    """Whether the record at `position` goes on behind the end, as far as its length can be seen."""
    try:
        length, body = _varint(data, position, len(data), 5)
    except _Cut:
        return len(data) - position < 5
    return length > len(data) - body


class _Tally:
    def __init__(self, needs_key: bool, earliest: int, latest: int) -> None:
        self._needs_key = needs_key
        self._earliest = earliest
        self._latest = latest
        self._records = self._refused = 0
        self._lowest = self._highest = self._keyless = self._delta = -1
        self._named: list[Refusal] = []

    def count(self, timestamp: int, record: RecordParts, position: int) -> None:
        index = self._records
        if record.offset_delta <= self._delta:
            raise fault(Fault.OFFSET, position)
        self._delta = record.offset_delta
        if index == 0 or timestamp < self._lowest:
            self._lowest = timestamp
        if index == 0 or timestamp > self._highest:
            self._highest = timestamp
        if record.key is None and self._keyless < 0:
            self._keyless = index
        keyless = self._needs_key and record.key is None
        if keyless or not (self._earliest <= timestamp <= self._latest or timestamp == -1):
            self._refused += 1
            if self._refused <= REFUSALS_NAMED:
                self._named.append((index, timestamp, keyless))
        self._records += 1

    def summary(self) -> RecordsSummary:
        named = tuple(self._named)
        return RecordsSummary(self._records, self._lowest, self._highest, self._keyless, self._refused, named)
