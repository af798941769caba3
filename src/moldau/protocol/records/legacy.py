"""Message sets, the formats before record batches: 0 (up to Kafka 0.9) and 1 (0.10). Read, and turned into format 2.

An entry is

    offset 8 | size 4 | CRC-32 4 | magic 1 | attributes 1 | timestamp 8, format 1 only | key | value

with key and value as four bytes of length (-1: null) and the bytes. A compressed entry is a wrapper whose value is a
message set; its own offset is that of the last entry inside. Inner offsets are absolute in format 0; in format 1 they
count from the start of the wrapper, so that a broker could renumber it without opening it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from moldau._speed import Record, scan_batches
from moldau._speed.layout import LEGACY_HEADER, LEGACY_SIZES, PREFIX_SIZE
from moldau.errors import InvalidRecordError, ProtocolError
from moldau.protocol.records.builder import BatchBuilder, TimestampType
from moldau.protocol.records.compression import MAX_DECOMPRESSED, Compression, decompress, repair_lz4_header
from moldau.types import Buffer

_INT32: Final = Struct(">i")
_INT64: Final = Struct(">q")
_MAX_INT32: Final = (1 << 31) - 1


class Message(NamedTuple):
    """One entry, wrapper or plain."""

    offset: int
    magic: int
    attributes: int
    timestamp: int
    key: bytes | None
    value: bytes | None

    @property
    def compression(self) -> int:
        return self.attributes & 0x07

    @property
    def timestamp_type(self) -> int:
        return self.attributes >> 3 & 1


class _Group(NamedTuple):
    """Records that go into one batch of format 2 together."""

    compression: int
    timestamp_type: int
    records: list[Record]


def message_set_end(data: Buffer, start: int = 0, end: int | None = None) -> int:
    """Where the entries of formats 0 and 1 end and those of later formats begin; `start` if there are none."""
    end = len(data) if end is None else end
    position = start
    while end - position >= 17 and data[position + 16] < 2:
        (size,) = _INT32.unpack_from(data, position + 8)
        if size < LEGACY_SIZES[0] or size > end - position - PREFIX_SIZE:
            return end
        position += PREFIX_SIZE + size
    return position


def decode_message_set(
    data: Buffer, start: int = 0, end: int | None = None, *, check_crc: bool = True, max_bytes: int = MAX_DECOMPRESSED
) -> list[Record]:
    """All records of a message set, wrappers opened. Format 0 has no timestamps: -1."""
    end = len(data) if end is None else end
    return [record for group in _groups(data, start, end, check_crc, max_bytes) for record in group.records]


def up_convert(
    data: Buffer, start: int = 0, end: int | None = None, *, check_crc: bool = True, max_bytes: int = MAX_DECOMPRESSED
) -> bytes:
    """The same records with the same offsets as batches of format 2; batches that are so already stay as they are.

    A wrapper becomes a batch of the same codec. Plain entries that follow each other share one, as far as a batch can
    say it: it has one timestamp type, and one timestamp where the broker set them.
    """
    end = len(data) if end is None else end
    old_end = message_set_end(data, start, end)
    parts: list[Buffer] = []
    for group in _groups(data, start, old_end, check_crc, max_bytes):
        parts.extend(_batches(group))
    scan_batches(data, old_end, end, check_crc=check_crc)
    parts.append(memoryview(data)[old_end:end])
    return b"".join(parts)


# ------------------------------------------------------------------------------------------------- reading


def _messages(data: Buffer, start: int, end: int, check_crc: bool) -> Iterator[Message]:
    position = start
    while position < end:
        if end - position < PREFIX_SIZE + LEGACY_SIZES[0]:
            raise ProtocolError(f"the bytes end inside a message (position {position})")
        offset, size, crc, magic, attributes = LEGACY_HEADER.unpack_from(data, position)
        if magic not in (0, 1):
            raise ProtocolError(f"a message has the unknown format {magic} (position {position})")
        after = position + PREFIX_SIZE + size
        if size < LEGACY_SIZES[magic] or after > end:
            raise ProtocolError(f"a message has an impossible size (position {position})")
        if check_crc and zlib.crc32(memoryview(data)[position + 16 : after]) != crc:
            raise ProtocolError(f"a message does not fit its checksum (position {position})")
        timestamp, body = -1, position + 18
        if magic == 1:
            (timestamp,) = _INT64.unpack_from(data, body)
            body += 8
        key, body = _sized(data, body, after)
        value, body = _sized(data, body, after)
        if body != after:
            raise InvalidRecordError(f"a message does not fit its size (position {position})")
        yield Message(offset, magic, attributes, timestamp, key, value)
        position = after


def _sized(data: Buffer, position: int, end: int) -> tuple[bytes | None, int]:
    if end - position < 4:
        raise InvalidRecordError(f"a message does not fit its size (position {position})")
    (size,) = _INT32.unpack_from(data, position)
    position += 4
    if size == -1:
        return None, position
    if not 0 <= size <= end - position:
        raise InvalidRecordError(f"a message does not fit its size (position {position})")
    return bytes(data[position : position + size]), position + size


def _groups(data: Buffer, start: int, end: int, check_crc: bool, max_bytes: int) -> Iterator[_Group]:
    plain: list[Record] = []
    plain_type = 0
    for message in _messages(data, start, end, check_crc):
        if plain and (message.compression or not _continues(plain, plain_type, message)):
            yield _Group(Compression.NONE, plain_type, plain)
            plain = []
        if message.compression:
            yield _Group(
                message.compression, message.timestamp_type, _unwrap(message, check_crc=check_crc, max_bytes=max_bytes)
            )
        else:
            plain_type = message.timestamp_type
            plain.append(_record(message, message.offset, message.timestamp))
    if plain:
        yield _Group(Compression.NONE, plain_type, plain)


def _continues(plain: list[Record], plain_type: int, message: Message) -> bool:
    if message.timestamp_type != plain_type or message.offset <= plain[-1].offset:
        return False
    if message.offset - plain[0].offset >= _MAX_INT32:
        return False
    return plain_type == TimestampType.CREATE_TIME or message.timestamp == plain[0].timestamp


def _record(message: Message, offset: int, timestamp: int) -> Record:
    if offset < 0:
        raise InvalidRecordError(f"a message has the negative offset {offset}")
    return Record(offset, timestamp, message.key, message.value)


def _unwrap(wrapper: Message, *, check_crc: bool, max_bytes: int) -> list[Record]:
    if wrapper.value is None or wrapper.compression > Compression.LZ4:
        raise InvalidRecordError("a compressed message holds nothing that could be opened")
    value: Buffer = wrapper.value
    if wrapper.magic == 0 and wrapper.compression == Compression.LZ4:
        value = repair_lz4_header(value)
    body = decompress(wrapper.compression, value, max_bytes)
    inner = list(_messages(body, 0, len(body), check_crc))
    if not inner:
        raise InvalidRecordError("a compressed message holds no messages")
    if any(message.magic != wrapper.magic or message.compression for message in inner):
        raise InvalidRecordError("a compressed message holds one of another format or one compressed again")
    first = wrapper.offset - inner[-1].offset if wrapper.magic == 1 else 0
    return [
        _record(
            message,
            first + message.offset,
            wrapper.timestamp if wrapper.timestamp_type == TimestampType.LOG_APPEND_TIME else message.timestamp,
        )
        for message in inner
    ]


# ---------------------------------------------------------------------------------------------- converting


def _batches(group: _Group) -> Iterator[bytes]:
    """Mostly one; entries whose offsets do not grow cannot share a batch."""
    builder = BatchBuilder()
    base_offset = 0
    for record in group.records:
        delta = record.offset - base_offset
        if builder.count and not builder.last_offset_delta < delta < _MAX_INT32:
            yield _build(builder, group, base_offset)
            builder.clear()
        if not builder.count:
            base_offset = record.offset
        builder.append_at(record.offset - base_offset, record.timestamp, record.key, record.value)
    yield _build(builder, group, base_offset)


def _build(builder: BatchBuilder, group: _Group, base_offset: int) -> bytes:
    return builder.build(base_offset=base_offset, compression=group.compression, timestamp_type=group.timestamp_type)
