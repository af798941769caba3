"""The batches in a segment file, header by header, without reading what is between the headers.

Our own segments hold format 2 only. Segments written by an old Kafka may hold messages of formats 0 and 1; their
headers are given the same shape, so that such a log can be opened, read and served.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from moldau._speed import BatchHeader, read_header, scan_batches
from moldau._speed.layout import LEGACY_HEADER, LEGACY_SIZES, MAGIC, MAGIC_AT, PREFIX_SIZE
from moldau.errors import ProtocolError
from moldau.runtime.ports import File

# A little more than an index interval: a lookup through the index usually needs one read.
_CHUNK: Final = 5120
_TIMESTAMP: Final = Struct(">q")


class PlacedBatch(NamedTuple):
    position: int
    header: BatchHeader


def batches_in(file: File, position: int, end: int) -> Iterator[PlacedBatch]:
    """Every batch between two positions; a batch that reaches beyond `end`, or is damaged, is a ProtocolError."""
    while position < end:
        for header in _headers_from(file, position, end):
            yield PlacedBatch(position, header)
            position += header.length + PREFIX_SIZE


def find_offset(file: File, position: int, end: int, offset: int) -> PlacedBatch | None:
    """The first batch between two positions that ends at or after `offset`."""
    while position < end:
        for header in _headers_from(file, position, end):
            if header.last_offset >= offset:
                return PlacedBatch(position, header)
            position += header.length + PREFIX_SIZE
    return None


def header_at(data: bytes, position: int) -> BatchHeader:
    """The header at `position` of `data`, of any format."""
    if len(data) - position > MAGIC_AT and data[position + MAGIC_AT] < MAGIC:
        return _legacy_header(data, position)
    return read_header(data, position)


def _headers_from(file: File, position: int, end: int) -> list[BatchHeader]:
    """The headers of the next batches: those one read brings, or the one that is larger than a read."""
    chunk = file.read(position, min(_CHUNK, end - position))
    headers = _whole_batches(chunk)
    if headers:
        return headers
    header = header_at(chunk, 0)
    if position + header.length + PREFIX_SIZE > end:
        raise ProtocolError(f"{file.path} ends inside the batch at position {position}")
    return [header]


def _whole_batches(chunk: bytes) -> list[BatchHeader]:
    """The batches that lie wholly in the chunk."""
    try:
        return scan_batches(chunk, check_crc=False, allow_partial=True)
    except ProtocolError:
        pass  # an old format, or damage further on: go on one by one up to it
    headers = []
    position = 0
    while position < len(chunk):
        try:
            header = header_at(chunk, position)
        except ProtocolError:
            break
        position += header.length + PREFIX_SIZE
        if position > len(chunk):
            break
        headers.append(header)
    return headers


def _legacy_header(data: bytes, position: int) -> BatchHeader:
    if len(data) - position < LEGACY_HEADER.size:
        raise ProtocolError(f"the bytes end inside the message at position {position}")
    offset, size, crc, magic, attributes = LEGACY_HEADER.unpack_from(data, position)
    if offset < 0 or magic not in (0, 1) or size < LEGACY_SIZES[magic]:
        raise ProtocolError(f"there is no message at position {position}")
    timestamp = -1
    if magic == 1:
        if len(data) - position < LEGACY_HEADER.size + _TIMESTAMP.size:
            raise ProtocolError(f"the bytes end inside the message at position {position}")
        (timestamp,) = _TIMESTAMP.unpack_from(data, position + LEGACY_HEADER.size)
    # The offset of a compressed message is that of the last one inside it: good enough to search by.
    return BatchHeader(offset, size, -1, magic, crc, attributes, 0, timestamp, timestamp, -1, -1, -1, 1)
