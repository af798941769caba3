"""Compressed batches on their way through compaction: opened, filtered as plain ones, and closed again."""

from __future__ import annotations

from struct import Struct
from typing import Final

from moldau._speed import BatchHeader, crc32c
from moldau.protocol.records import batch_body, compress
from moldau.types import Buffer

_HEADER_SIZE: Final = 61
_PREFIX_SIZE: Final = 12
_LENGTH: Final = Struct(">i")
_CRC: Final = Struct(">I")
_ATTRIBUTES: Final = 22  # the low byte, which holds the codec
_CODEC: Final = 0x07


def uncompressed(header: BatchHeader, data: Buffer, position: int) -> tuple[bytes, int, int]:
    """The same batch without its codec, and the range of it. Its checksum was not made anew: nobody will look."""
    body, start, end = batch_body(header, data, position)
    batch = bytearray(data[position : position + _HEADER_SIZE])
    batch[_ATTRIBUTES] &= ~_CODEC
    _LENGTH.pack_into(batch, 8, _HEADER_SIZE - _PREFIX_SIZE + end - start)
    batch += memoryview(body)[start:end]
    return bytes(batch), 0, len(batch)


def recompressed(batch: bytes, codec: int) -> bytes:
    """A plain batch with its records compressed, and the checksum that fits."""
    closed = bytearray(batch[:_HEADER_SIZE])
    closed += compress(codec, memoryview(batch)[_HEADER_SIZE:])
    closed[_ATTRIBUTES] |= codec
    _LENGTH.pack_into(closed, 8, len(closed) - _PREFIX_SIZE)
    _CRC.pack_into(closed, 17, crc32c(closed, 21))
    return bytes(closed)
