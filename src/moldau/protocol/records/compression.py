"""The codecs of record batches, in one table, with decompression that cannot be made to eat memory.

A few kilobytes can declare or really expand to gigabytes. Every decompressor here is told how much it may give back
at most, looks at declared sizes before it allocates, and grows its output step by step where nothing is declared.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

import cramjam
import lz4.frame

from moldau._speed import raw_memory
from moldau.errors import ProtocolError
from moldau.types import Buffer

# What the records of one batch may grow to when nobody says otherwise: far above any batch a broker accepts.
MAX_DECOMPRESSED: Final = 128 * 1024 * 1024

_FIRST_STEP: Final = 64 * 1024


class Compression(IntEnum):
    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    return _codec(codec).compress(data, level)


def decompress(codec: int, data: Buffer, max_size: int = MAX_DECOMPRESSED) -> Buffer:
    """ProtocolError for bytes that are not this codec's, end too early, or become more than `max_size` bytes."""
    return _codec(codec).decompress(data, max_size)


def _too_large(max_size: int) -> ProtocolError:
    return ProtocolError(f"the compressed records would grow beyond {max_size} bytes")


def _broken(codec: str, reason: object = "they end too early") -> ProtocolError:
    return ProtocolError(f"the records are not valid {codec} data: {reason}")


# ---------------------------------------------------------------------------------------------------- none


def _keep(data: Buffer, level: int | None) -> bytes:
    return bytes(data)


def _kept(data: Buffer, max_size: int) -> bytes:
    if len(data) > max_size:
        raise _too_large(max_size)
    return bytes(data)


# ---------------------------------------------------------------------------------------------------- gzip

_GZIP: Final = 31  # zlib's number for its largest window inside the gzip container


def _gzip(data: Buffer, level: int | None) -> bytes:
    stream = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, _GZIP)
    return stream.compress(data) + stream.flush()


def _gunzip(data: Buffer, max_size: int) -> bytes:
    """A gzip file may consist of several members one after another; Java writes one, and reads all."""
    parts: list[bytes] = []
    room = max_size + 1
    rest: Buffer = data
    while True:
        stream = zlib.decompressobj(_GZIP)
        try:
            parts.append(stream.decompress(rest, room))
        except zlib.error as error:
            raise _broken("gzip", error) from None
        room -= len(parts[-1])
        if room <= 0:
            raise _too_large(max_size)
        if not stream.eof:
            raise _broken("gzip")
        if not stream.unused_data:
            return b"".join(parts)
        rest = stream.unused_data


# -------------------------------------------------------------------------------------------------- snappy

# Java's snappy stream: this header (two version numbers follow the magic), then blocks of four bytes of length and raw
# snappy. Other clients write one raw block without any of it, and Kafka reads both.
_SNAPPY_MAGIC: Final = b"\x82SNAPPY\x00"
_SNAPPY_HEADER: Final = _SNAPPY_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
_SNAPPY_BLOCK: Final = 32 * 1024
_SNAPPY_EXPANSION: Final = 22  # three bytes of a copy become at most 64
_INT32: Final = Struct(">i")


def _snap(data: Buffer, level: int | None) -> bytes:
    view = memoryview(data)
    parts = [_SNAPPY_HEADER]
    for start in range(0, max(len(view), 1), _SNAPPY_BLOCK):  # nothing is one empty block: some readers insist on one
        block = bytes(cramjam.snappy.compress_raw(view[start : start + _SNAPPY_BLOCK]))
        parts.append(_INT32.pack(len(block)))
        parts.append(block)
    return b"".join(parts)


def _unsnap(data: Buffer, max_size: int) -> Buffer:
    blocks = _snappy_blocks(memoryview(data))
    sizes = [_snappy_size(block) for block in blocks]
    total = sum(sizes)
    if total > max_size:
        raise _too_large(max_size)
    out = raw_memory(total)
    view = memoryview(out)
    position = 0
    for block, size in zip(blocks, sizes, strict=True):
        try:
            written = cramjam.snappy.decompress_raw_into(block, view[position : position + size])
        except cramjam.DecompressionError as error:
            raise _broken("snappy", error) from None
        if written != size:
            raise _broken("snappy")
        position += size
    return out


def _snappy_blocks(data: memoryview) -> list[memoryview]:
    if not _at_magic(data, 0):
        return [data]
    blocks = []
    position = 0
    while position < len(data):
        if _at_magic(data, position):  # more than once where streams were joined
            position += len(_SNAPPY_HEADER)
            if position > len(data):
                raise _broken("snappy")
            continue
        if len(data) - position < 4:
            raise _broken("snappy")
        (size,) = _INT32.unpack_from(data, position)
        position += 4
        if not 0 < size <= len(data) - position:
            raise _broken("snappy", "a block's length is wrong")
        blocks.append(data[position : position + size])
        position += size
    return blocks


def _at_magic(data: memoryview, position: int) -> bool:
    return bytes(data[position : position + len(_SNAPPY_MAGIC)]) == _SNAPPY_MAGIC


def _snappy_size(block: memoryview) -> int:
    """What a raw block says it holds, believed only as far as its bytes could ever expand."""
    size = shift = 0
    for byte in block[:5]:
        size |= (byte & 0x7F) << shift
        if byte < 0x80:
            if size > len(block) * _SNAPPY_EXPANSION:
                raise _broken("snappy", "the declared size is impossible")
            return size
        shift += 7
    raise _broken("snappy")


# ------------------------------------------------------------------------------------------- lz4 and zstd

# Kafka's default level for lz4 is 9 and means the fast compressor; any other means the slow one at that level.
_LZ4_DEFAULT_LEVEL: Final = 9
_ZSTD_DEFAULT_LEVEL: Final = 3

_LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"
_LZ4_DICTIONARY: Final = 0x01


def _lz4(data: Buffer, level: int | None) -> bytes:
    """Blocks must be independent: Java's reader refuses linked ones."""
    fast = level is None or level == _LZ4_DEFAULT_LEVEL
    packed: bytes = lz4.frame.compress(data, compression_level=0 if fast else level, block_linked=False)
    return packed


def _unlz4(data: Buffer, max_size: int) -> Buffer:
    """The faster of two decompressors takes no limit, so it gets only what cannot become too large."""
    declared = lz4_content_size(data)
    if declared <= max_size and _lz4_limit(data, max_size) <= max_size:
        try:
            unpacked: bytes = lz4.frame.decompress(data)
        except (RuntimeError, ValueError) as error:
            raise _broken("lz4", error) from None
        return unpacked
    return _grow("lz4", cramjam.lz4.decompress_into, data, declared, max_size)


def _lz4_limit(data: Buffer, max_size: int) -> int:
    """What the blocks of a frame may hold at most; something above `max_size` as soon as that is reached, and for what
    is no frame. Blocks are counted by their lengths, of which there are sixteen or fewer to a megabyte."""
    if len(data) < 7 or data[:4] != _LZ4_MAGIC or data[4] & _LZ4_DICTIONARY:
        return max_size + 1
    block = 1 << (8 + 2 * (data[5] >> 4 & 7))
    position = 15 if data[4] & 0x08 else 7
    checksum = 4 if data[4] & 0x10 else 0
    limit = 0
    while limit <= max_size and position + 4 <= len(data):
        size = int.from_bytes(data[position : position + 4], "little") & 0x7FFFFFFF
        if not size:
            break
        position += 4 + size + checksum
        limit += block
    return limit


def _zstd(data: Buffer, level: int | None) -> bytes:
    return bytes(cramjam.zstd.compress(data, _ZSTD_DEFAULT_LEVEL if level is None else level))


def _unzstd(data: Buffer, max_size: int) -> Buffer:
    return _grow("zstd", cramjam.zstd.decompress_into, data, zstd_content_size(data), max_size)


def _grow(name: str, into: Callable[[Buffer, bytearray], int], data: Buffer, declared: int, max_size: int) -> Buffer:
    """Tries larger and larger outputs, since streaming writers, Java's among them, do not declare a size.

    A failed try says "too small" and "broken" alike, so broken bytes are tried a few times; the tries together cost
    a seventh more than the largest.
    """
    if declared > max_size:
        raise _too_large(max_size)
    size = max(declared, 4 * len(data), _FIRST_STEP)
    while True:
        out = raw_memory(min(size, max_size))
        try:
            written = into(data, out)
        except cramjam.DecompressionError as error:
            if size >= max_size:
                raise _broken(name, error) from None
        else:
            del out[written:]
            return out
        size *= 8


def lz4_content_size(data: Buffer) -> int:
    """What the frame header declares, 0 if it does not."""
    if len(data) < 15 or not data[4] & 0x08:
        return 0
    return int.from_bytes(data[6:14], "little")


def repair_lz4_header(data: Buffer) -> Buffer:
    """Puts the right checksum into a frame header: for message format 0 clients computed it over the wrong bytes."""
    if len(data) < 7:
        return data
    end = 6 + (8 if data[4] & 0x08 else 0)
    repaired = bytearray(data)
    if end < len(repaired):
        repaired[end] = _xxh32(repaired[4:end]) >> 8 & 0xFF
    return repaired


def _xxh32(data: Buffer) -> int:
    """xxHash with seed 0 for fewer than 16 bytes, which is all a frame header has."""
    value = 0x165667B1 + len(data)
    position = 0
    while len(data) - position >= 4:
        value += int.from_bytes(data[position : position + 4], "little") * 0xC2B2AE3D
        value = _rotate(value, 17) * 0x27D4EB2F
        position += 4
    for byte in data[position:]:
        value = _rotate(value + byte * 0x165667B1, 11) * 0x9E3779B1
    value &= 0xFFFFFFFF
    value = (value ^ value >> 15) * 0x85EBCA77 & 0xFFFFFFFF
    value = (value ^ value >> 13) * 0xC2B2AE3D & 0xFFFFFFFF
    return value ^ value >> 16


def _rotate(value: int, bits: int) -> int:
    value &= 0xFFFFFFFF
    return (value << bits | value >> (32 - bits)) & 0xFFFFFFFF


def zstd_content_size(data: Buffer) -> int:
    """What the frame header declares, 0 if it does not. RFC 8878, section 3.1.1.1."""
    if len(data) < 5:
        return 0
    descriptor = data[4]
    single_segment = descriptor >> 5 & 1
    position = 5 + (1 - single_segment) + (0, 1, 2, 4)[descriptor & 3]
    width = (single_segment, 2, 4, 8)[descriptor >> 6]
    field = bytes(data[position : position + width])
    return int.from_bytes(field, "little") + (256 if width == 2 else 0)


# --------------------------------------------------------------------------------------------------- table


class _Codec(NamedTuple):
    compress: Callable[[Buffer, int | None], bytes]
    decompress: Callable[[Buffer, int], Buffer]


_CODECS: Final[dict[int, _Codec]] = {
    Compression.NONE: _Codec(_keep, _kept),
    Compression.GZIP: _Codec(_gzip, _gunzip),
    Compression.SNAPPY: _Codec(_snap, _unsnap),
    Compression.LZ4: _Codec(_lz4, _unlz4),
    Compression.ZSTD: _Codec(_zstd, _unzstd),
}


def _codec(number: int) -> _Codec:
    try:
        return _CODECS[number]
    except KeyError:
        raise ProtocolError(f"there is no compression codec {number}") from None
