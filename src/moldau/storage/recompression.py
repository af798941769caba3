"""Compressed batches on their way through compaction: opened, filtered as plain ones, and closed again."""

from __future__ import annotations

from struct import Struct
from typing import Final

from moldau._speed import BatchHeader, crc32c
from moldau._speed.layout import ATTRIBUTES_AT, COMPRESSION, CRC_AT, FLAGS_AT, HEADER_SIZE, LENGTH_AT, PREFIX_SIZE
from moldau.protocol.records import batch_body, compress
from moldau.types import Buffer

_LENGTH: Final = Struct(">i")
_CRC: Final = Struct(">I")


def uncompressed(header: BatchHeader, data: Buffer, position: int) -> tuple[bytes, int, int]:
    """The same batch without its codec, and the range of it. Its checksum was not made anew: nobody will look."""
    body, start, end = batch_body(header, data, position)
    batch = bytearray(data[position : position + HEADER_SIZE])
    batch[FLAGS_AT] &= ~COMPRESSION
    _LENGTH.pack_into(batch, LENGTH_AT, HEADER_SIZE - PREFIX_SIZE + end - start)
    batch += memoryview(body)[start:end]
    return bytes(batch), 0, len(batch)


def recompressed(batch: bytes, codec: int) -> bytes:
    """A plain batch with its records compressed, and the checksum that fits."""
    closed = bytearray(batch[:HEADER_SIZE])
    closed += compress(codec, memoryview(batch)[HEADER_SIZE:])
    closed[FLAGS_AT] |= codec
    _LENGTH.pack_into(closed, LENGTH_AT, len(closed) - PREFIX_SIZE)
    _CRC.pack_into(closed, CRC_AT, crc32c(closed, ATTRIBUTES_AT))
    return bytes(closed)
