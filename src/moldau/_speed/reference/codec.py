"""Checksum, header and walk of record batches (format 2): the specification of `codec.pyx`.

A batch is a header of 61 bytes and its records, perhaps compressed:

    0 base offset (8)        16 magic (1)              27 base timestamp (8)   51 producer epoch (2)
    8 length after it (4)    17 CRC-32C of all from 21 35 max timestamp (8)    53 base sequence (4)
   12 leader epoch (4)       21 attributes (2)         43 producer id (8)      57 record count (4)
                             23 last offset delta (4)                          61 records

The base offset and the leader epoch stand before the checksummed part, so a broker writes them in place.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from moldau._speed.faults import Fault, fault
from moldau._speed.layout import (
    ATTRIBUTES_AT,
    COMPRESSION,
    CONTROL,
    CRC_AT,
    DELETE_HORIZON,
    HEADER,
    HEADER_SIZE,
    LEADER_EPOCH_AT,
    LENGTH_AT,
    MAGIC,
    MAGIC_AT,
    MAX_TIMESTAMP_AT,
    PREFIX_SIZE,
    SMALLEST_RECORD,
    TIMESTAMP_TYPE,
    TRANSACTIONAL,
)
from moldau.dataclass import dataclass
from moldau.types import Buffer

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_UINT32: Final = Struct(">I")
_INT64: Final = Struct(">q")
_MAX_INT32: Final = (1 << 31) - 1
_MAX_INT64: Final = (1 << 63) - 1


def _crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return tuple(table)


_CRC_TABLE: Final = _crc_table()


def raw_memory(size: int) -> bytearray:
    """Memory to be written to: whoever asks for it may not rely on what is in it.

    Compiled, it is not cleared first, which costs more than decompressing into it does.
    """
    return bytearray(size)


def keep_freed_memory(largest: int, spare: int) -> bool:
    """Asks the C library to keep freed pieces of up to `largest` bytes for the next use, and up to `spare` bytes in
    all, instead of handing them back to the operating system. False where there is no such setting, as here.
    """
    return False


def crc32c(data: Buffer, start: int = 0, end: int | None = None, value: int = 0) -> int:
    """The checksum of `data[start:end]`, continued from `value`."""
    start, end = checked_range(data, start, end)
    crc = value ^ 0xFFFFFFFF
    table = _CRC_TABLE
    for byte in memoryview(data)[start:end]:
        crc = (crc >> 8) ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def checked_range(data: Buffer, start: int, end: int | None) -> tuple[int, int]:
    """A range outside the buffer is a mistake of the caller, not of the bytes: ValueError."""
    size = len(data)
    if end is None:
        end = size
    if not 0 <= start <= end <= size:
        raise ValueError(f"the range {start}..{end} lies outside a buffer of {size} bytes")
    return start, end


@dataclass(slots=True, frozen=True)
class BatchHeader:
    """The fields of a batch as they stand on the wire, and what follows from them."""

    base_offset: int
    length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int

    @property
    def size(self) -> int:
        """Of the whole batch in bytes."""
        return self.length + PREFIX_SIZE

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def compression(self) -> int:
        return self.attributes & COMPRESSION

    @property
    def timestamp_type(self) -> int:
        """0: each record has its producer's time. 1: all have the broker's, which is `max_timestamp`."""
        return (self.attributes & TIMESTAMP_TYPE) >> 3

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)

    @property
    def has_delete_horizon(self) -> bool:
        """Then `base_timestamp` is the time from which compaction may drop the tombstones and markers in it."""
        return bool(self.attributes & DELETE_HORIZON)

    @property
    def last_sequence(self) -> int:
        """Sequences count from 0 to 2^31-1 and start over; -1 without a sequence."""
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset_delta) & _MAX_INT32


def read_header(data: Buffer, position: int = 0) -> BatchHeader:
    """The header at `position`; the records behind it need not be there."""
    if position < 0:
        raise ValueError(f"the position {position} is negative")
    header = _unpack(data, position, len(data))
    if header is None:
        raise fault(Fault.SHORT, position)
    _check_counts(header, position)
    return header


def scan_batches(
    data: Buffer, start: int = 0, end: int | None = None, *, check_crc: bool = True, allow_partial: bool = False
) -> list[BatchHeader]:
    """The headers of all batches in `data[start:end]`, which must hold whole batches and nothing else.

    With `allow_partial` the last batch may be cut off, as at the end of a fetch response; it is left out then.
    """
    position, end = checked_range(data, start, end)
    headers = []
    while position < end:
        header = checked_batch(data, position, end, check_crc=check_crc)
        if header is None:
            if allow_partial:
                break
            raise fault(Fault.SHORT, position)
        headers.append(header)
        position += header.size
    return headers


def checked_batch(data: Buffer, position: int, end: int, *, check_crc: bool = True) -> BatchHeader | None:
    """The header of the batch at `position` if all of it is sound; None where the bytes end inside it."""
    header = _unpack(data, position, end)
    if header is None or header.size > end - position:
        return None
    if check_crc and crc32c(data, position + ATTRIBUTES_AT, position + header.size) != header.crc:
        raise fault(Fault.CHECKSUM, position)
    _check_counts(header, position)
    return header


def assign_offsets(
    data: Buffer, start: int, end: int, first_offset: int, leader_epoch: int, *, append_time: int | None = None
) -> int:
    """Numbers the batches of a range from `first_offset` on, in place, and returns the offset after the last.

    With `append_time` the records take the broker's time: timestamp type, max timestamp and checksum are rewritten.
    The range was scanned before; it is checked again only as far as writing outside of it must be impossible.
    """
    position, end = checked_range(data, start, end)
    offset = first_offset
    while position < end:
        header = _unpack(data, position, end)
        if header is None or header.size > end - position:
            raise fault(Fault.SHORT, position)
        if header.last_offset_delta < 0 or not 0 <= offset < _MAX_INT64 - header.last_offset_delta:
            raise fault(Fault.COUNTS, position)
        _INT64.pack_into(data, position, offset)
        _INT32.pack_into(data, position + LEADER_EPOCH_AT, leader_epoch)
        if append_time is not None:
            _stamp(data, position, header, 1, append_time)
        offset += header.last_offset_delta + 1
        position += header.size
    return offset


def set_max_timestamp(data: Buffer, position: int, timestamp_type: int, max_timestamp: int) -> None:
    """Rewrites timestamp type, max timestamp and checksum of the batch at `position`, in place."""
    if position < 0:
        raise ValueError(f"the position {position} is negative")
    header = _unpack(data, position, len(data))
    if header is None or header.size > len(data) - position:
        raise fault(Fault.SHORT, position)
    _check_counts(header, position)
    _stamp(data, position, header, timestamp_type, max_timestamp)


def _stamp(data: Buffer, position: int, header: BatchHeader, timestamp_type: int, max_timestamp: int) -> None:
    attributes = header.attributes | TIMESTAMP_TYPE if timestamp_type else header.attributes & ~TIMESTAMP_TYPE
    _INT16.pack_into(data, position + ATTRIBUTES_AT, attributes)
    _INT64.pack_into(data, position + MAX_TIMESTAMP_AT, max_timestamp)
    _UINT32.pack_into(data, position + CRC_AT, crc32c(data, position + ATTRIBUTES_AT, position + header.size))


def _unpack(data: Buffer, position: int, end: int) -> BatchHeader | None:
    """None where the bytes end inside the header; format and size are judged as soon as they can be seen."""
    left = end - position
    if left > MAGIC_AT:
        if data[position + MAGIC_AT] != MAGIC:
            raise fault(Fault.MAGIC, position)
        if _INT32.unpack_from(data, position + LENGTH_AT)[0] < HEADER_SIZE - PREFIX_SIZE:
            raise fault(Fault.SIZE, position)
    if left < HEADER_SIZE:
        return None
    return BatchHeader(*HEADER.unpack_from(data, position))


def _check_counts(header: BatchHeader, position: int) -> None:
    """Compaction leaves gaps and even empty batches, so there may be fewer records than offsets, never more."""
    fits = (
        header.base_offset >= 0
        and 0 <= header.last_offset_delta < _MAX_INT32
        and header.base_offset < _MAX_INT64 - header.last_offset_delta
        and 0 <= header.count <= header.last_offset_delta + 1
    )
    if fits and not header.compression:
        fits = header.count * SMALLEST_RECORD <= header.size - HEADER_SIZE
    if not fits:
        raise fault(Fault.COUNTS, position)
