"""Which batches of a file are good, down to the byte: the slow, thorough walk of recovery and verification."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from moldau._speed import BatchHeader, crc32c, scan_batches
from moldau._speed.layout import ATTRIBUTES_AT, MAGIC, MAGIC_AT
from moldau.errors import ProtocolError
from moldau.runtime.ports import File
from moldau.storage.file_batches import PlacedBatch, header_at

_CHUNK: Final = 1 << 20


class CheckedBatch(NamedTuple):
    """A batch whose checksum fits, and where its bytes are; no bytes for one larger than a chunk."""

    placed: PlacedBatch
    data: bytes
    start: int
    end: int


def good_batches(
    file: File, first_offset: int, size: int, *, gaps: bool, next_segment: int | None = None
) -> Iterator[CheckedBatch]:
    """Every batch from the beginning up to the first that is not whole, fails its checksum or is out of order.

    The checksum does not cover the base offset. Where one is too low that shows at once; where one is too high only
    the batch after it tells. So, unless `gaps` are usual in this log, a batch that skips offsets is held back until
    the next one, or the segment that begins at `next_segment`, agrees with it.
    """
    expected = first_offset
    held: CheckedBatch | None = None
    for checked in _checked_batches(file, size):
        header = checked.placed.header
        if header.base_offset < expected:
            return
        if held is not None:
            yield held
            held, gaps = None, True
        if header.base_offset > expected and not gaps:
            held = checked
        else:
            yield checked
        expected = header.next_offset
    if held is not None and next_segment is not None and expected <= next_segment:
        yield held


def _checked_batches(file: File, size: int) -> Iterator[CheckedBatch]:
    position = 0
    while position < size:
        data = file.read(position, min(_CHUNK, size - position))
        at = 0
        for header in _good_prefix(data):
            yield CheckedBatch(PlacedBatch(position + at, header), data, at, at + header.size)
            at += header.size
        if at == 0:
            large = _large_batch(file, data, position, size)
            if large is None:
                return
            yield CheckedBatch(PlacedBatch(position, large), b"", 0, 0)
            at = large.size
        position += at


def _good_prefix(data: bytes) -> list[BatchHeader]:
    """The batches that lie wholly in the chunk, up to the first bad one."""
    try:
        return scan_batches(data, allow_partial=True)
    except ProtocolError:
        pass
    headers: list[BatchHeader] = []
    position = 0
    while position < len(data):
        try:
            header = header_at(data, position)
        except ProtocolError:
            break
        end = position + header.size
        if end > len(data) or not _checksum_fits(data[position:end], header):
            break
        headers.append(header)
        position = end
    return headers


def _checksum_fits(batch: bytes, header: BatchHeader) -> bool:
    if header.magic == MAGIC:
        return crc32c(batch, ATTRIBUTES_AT) == header.crc
    return zlib.crc32(memoryview(batch)[MAGIC_AT:]) == header.crc


def _large_batch(file: File, data: bytes, position: int, size: int) -> BatchHeader | None:
    """The batch at `position` if it is good but larger than a chunk; its checksum is taken piece by piece."""
    try:
        header = header_at(data, 0)
    except ProtocolError:
        return None
    if header.size <= len(data) or position + header.size > size:
        return None
    value = 0
    at, end = position + (ATTRIBUTES_AT if header.magic == MAGIC else MAGIC_AT), position + header.size
    while at < end:
        piece = file.read(at, min(_CHUNK, end - at))
        if not piece:
            return None
        value = crc32c(piece, value=value) if header.magic == MAGIC else zlib.crc32(piece, value)
        at += len(piece)
    return header if value == header.crc else None
