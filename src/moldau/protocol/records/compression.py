"""The codecs of record batches, in one table, with decompression that cannot be made to eat memory.

A few kilobytes can declare or really expand to gigabytes. Every decompressor here is told how much it may give back
at most, and looks at declared sizes before it allocates. Here all of it is given back at once; `streams` has the same
codecs piece by piece. The libraries are loaded with the first batch that needs them: most nodes see one codec or none,
and none sees one before it is ready.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable, Iterator
from enum import IntEnum
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from moldau._speed import raw_memory
from moldau.errors import ProtocolError
from moldau.types import Buffer

if TYPE_CHECKING:
    import zstandard

# What the records of one batch may grow to when nobody says otherwise: far above any batch a broker accepts.
MAX_DECOMPRESSED: Final = 128 * 1024 * 1024


class Oversized(ProtocolError):
    """Compressed bytes that become more than whoever unpacks them wants."""


class Compression(IntEnum):
    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    return codec_of(codec).compress(data, level)


def decompress(codec: int, data: Buffer, max_size: int = MAX_DECOMPRESSED) -> Buffer:
    """ProtocolError for bytes that are not this codec's or end too early, Oversized for more than `max_size` bytes."""
    return codec_of(codec).decompress(data, max_size)


def _too_large(max_size: int) -> Oversized:
    return Oversized(f"the compressed records would grow beyond {max_size} bytes")


def broken(codec: str, reason: object = "they end too early") -> ProtocolError:
    return ProtocolError(f"the records are not valid {codec} data: {reason}")


# ---------------------------------------------------------------------------------------------------- none


def _keep(data: Buffer, level: int | None) -> bytes:
    return bytes(data)


def _kept(data: Buffer, max_size: int) -> bytes:
    if len(data) > max_size:
        raise _too_large(max_size)
    return bytes(data)


# ---------------------------------------------------------------------------------------------------- gzip

GZIP_CONTAINER: Final = 31  # zlib's number for its largest window inside the gzip container
_GZIP_STEP: Final = 1 << 20  # larger outputs cost more to grow than to join


def _gzip(data: Buffer, level: int | None) -> bytes:
    stream = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, GZIP_CONTAINER)
    return stream.compress(data) + stream.flush()


def _gunzip(data: Buffer, max_size: int) -> Buffer:
    """A gzip file may consist of several members one after another; Java writes one, and reads all."""
    parts: list[bytes] = []
    room = max_size + 1
    rest: Buffer = data
    while True:
        stream = zlib.decompressobj(GZIP_CONTAINER)
        try:
            part = stream.decompress(rest, min(room, _GZIP_STEP))
            while part:
                parts.append(part)
                room -= len(part)
                if room <= 0:
                    raise _too_large(max_size)
                part = stream.decompress(stream.unconsumed_tail, min(room, _GZIP_STEP))
        except zlib.error as error:
            raise broken("gzip", error) from None
        if not stream.eof:
            raise broken("gzip")
        if not stream.unused_data:
            return parts[0] if len(parts) == 1 else b"".join(parts)
        rest = stream.unused_data


# -------------------------------------------------------------------------------------------------- snappy

# Java's snappy stream: this header (two version numbers follow the magic), then blocks of four bytes of length and raw
# snappy. Other clients write one raw block without any of it, and Kafka reads both.
_SNAPPY_MAGIC: Final = b"\x82SNAPPY\x00"
SNAPPY_HEADER: Final = _SNAPPY_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
SNAPPY_BLOCK: Final = 32 * 1024
_SNAPPY_EXPANSION: Final = 22  # three bytes of a copy become at most 64
_INT32: Final = Struct(">i")


def _snap(data: Buffer, level: int | None) -> bytes:
    view = memoryview(data)
    parts = [SNAPPY_HEADER]
    # Nothing is one empty block: some readers insist on one.
    parts += [snap_block(view[start : start + SNAPPY_BLOCK]) for start in range(0, max(len(view), 1), SNAPPY_BLOCK)]
    return b"".join(parts)


def snap_block(data: Buffer) -> bytes:
    import cramjam

    block = bytes(cramjam.snappy.compress_raw(data))
    return _INT32.pack(len(block)) + block


def _unsnap(data: Buffer, max_size: int) -> Buffer:
    blocks, sizes, total = [], [], 0
    for block in snappy_blocks(memoryview(data)):
        blocks.append(block)
        sizes.append(_snappy_size(block))
        total += sizes[-1]
        if total > max_size:
            raise _too_large(max_size)
    out = raw_memory(total)
    view = memoryview(out)
    position = 0
    for block, size in zip(blocks, sizes, strict=True):
        _unsnap_into(block, view[position : position + size])
        position += size
    return out


def unsnap_block(block: memoryview) -> Buffer:
    size = _snappy_size(block)
    if size > MAX_DECOMPRESSED:
        raise _too_large(MAX_DECOMPRESSED)
    out = raw_memory(size)
    _unsnap_into(block, memoryview(out))
    return out


def _unsnap_into(block: memoryview, out: memoryview) -> None:
    import cramjam

    try:
        written = cramjam.snappy.decompress_raw_into(block, out)
    except cramjam.DecompressionError as error:
        raise broken("snappy", error) from None
    if written != len(out):
        raise broken("snappy")


def snappy_blocks(data: memoryview) -> Iterator[memoryview]:
    if not _at_magic(data, 0):
        yield data
        return
    position = 0
    while position < len(data):
        if _at_magic(data, position):  # more than once where streams were joined
            position += len(SNAPPY_HEADER)
            if position > len(data):
                raise broken("snappy")
            continue
        if len(data) - position < 4:
            raise broken("snappy")
        (size,) = _INT32.unpack_from(data, position)
        position += 4
        if not 0 < size <= len(data) - position:
            raise broken("snappy", "a block's length is wrong")
        yield data[position : position + size]
        position += size


def _at_magic(data: memoryview, position: int) -> bool:
    return bytes(data[position : position + len(_SNAPPY_MAGIC)]) == _SNAPPY_MAGIC


def _snappy_size(block: memoryview) -> int:
    """What a raw block says it holds, believed only as far as its bytes could ever expand."""
    size = shift = 0
    for byte in block[:5]:
        size |= (byte & 0x7F) << shift
        if byte < 0x80:
            if size > len(block) * _SNAPPY_EXPANSION:
                raise broken("snappy", "the declared size is impossible")
            return size
        shift += 7
    raise broken("snappy")


# ------------------------------------------------------------------------------------------- lz4 and zstd

# Kafka's default level for lz4 is 9 and means the fast compressor; any other means the slow one at that level.
_LZ4_DEFAULT_LEVEL: Final = 9
_ZSTD_DEFAULT_LEVEL: Final = 3

_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_ZSTD_BLOCK: Final = 128 * 1024  # what a compressed block becomes at most; one of another kind says how much
_ZSTD_SMALLEST: Final = 9  # a frame with one empty block
_ZSTD_BLOCKS_COUNTED: Final = 1024
_ZSTD_STEP: Final = 1 << 18

_LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"
_LZ4_DICTIONARY: Final = 0x01


def _lz4(data: Buffer, level: int | None) -> bytes:
    """Blocks must be independent: Java's reader refuses linked ones."""
    import lz4.frame

    packed: bytes = lz4.frame.compress(data, compression_level=fast_lz4(level), block_linked=False)
    return packed


def fast_lz4(level: int | None) -> int:
    """Kafka's level in the numbers of the library."""
    return 0 if level is None or level == _LZ4_DEFAULT_LEVEL else level


def _unlz4(data: Buffer, max_size: int) -> Buffer:
    """The faster of two decompressors takes no limit, so it gets only what cannot become too large."""
    import lz4.frame

    declared = lz4_content_size(data)
    if declared > max_size:
        raise _too_large(max_size)
    try:
        if _lz4_limit(data, max_size) <= max_size:
            unpacked: bytes = lz4.frame.decompress(data)
            return unpacked
        stream = lz4.frame.LZ4FrameDecompressor(return_bytearray=True)
        out: bytearray = stream.decompress(data, max_size + 1)
    except (RuntimeError, ValueError) as error:
        raise broken("lz4", error) from None
    if len(out) > max_size:
        raise _too_large(max_size)
    if not stream.eof or stream.unused_data:
        raise broken("lz4")
    return out


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
    import zstandard

    packed: bytes = zstandard.ZstdCompressor(zstd_level(level)).compress(data)
    return packed


def zstd_level(level: int | None) -> int:
    return _ZSTD_DEFAULT_LEVEL if level is None else level


# Each takes longer to make than to use, and none may be used by two threads at once: taken from here, and put back.
_decompressors: Final[deque[zstandard.ZstdDecompressor]] = deque(maxlen=8)


def _unzstd(data: Buffer, max_size: int) -> Buffer:
    import zstandard

    limit = _zstd_limit(data, max_size)
    try:
        decompressor = _decompressors.pop()
    except IndexError:
        decompressor = zstandard.ZstdDecompressor()
    try:
        if limit <= max_size:
            unpacked: bytes = decompressor.decompress(data, max_output_size=max(limit, 1))
            return unpacked
        out = bytearray()
        with decompressor.stream_reader(data, read_across_frames=True) as stream:
            while part := stream.read(_ZSTD_STEP):
                out += part
                if len(out) > max_size:
                    raise _too_large(max_size)
        return out
    except zstandard.ZstdError as error:
        raise broken("zstd", error) from None
    finally:
        _decompressors.append(decompressor)


def _zstd_limit(data: Buffer, max_size: int) -> int:
    """What a frame may hold at most, by its blocks, whose lengths stand before each. Something above `max_size` where
    they do not say: more than one frame, or more blocks than are quickly counted. RFC 8878, section 3.1.1."""
    if len(data) < _ZSTD_SMALLEST:
        raise broken("zstd")
    if data[:4] != _ZSTD_MAGIC:
        return max_size + 1
    declared = zstd_content_size(data)
    if declared > max_size:
        raise _too_large(max_size)
    descriptor = data[4]
    position = 5 + (not descriptor & 0x20) + (0, 1, 2, 4)[descriptor & 3]
    position += (descriptor >> 5 & 1, 2, 4, 8)[descriptor >> 6]
    limit = 0
    for _ in range(_ZSTD_BLOCKS_COUNTED):
        if position + 3 > len(data):
            raise broken("zstd")
        block = int.from_bytes(data[position : position + 3], "little")
        kind, size = block >> 1 & 3, block >> 3
        position += 3 + (1 if kind == 1 else size)
        limit += size if kind < 2 else _ZSTD_BLOCK
        if block & 1:
            end = position + (4 if descriptor & 0x04 else 0)
            if end > len(data):
                raise broken("zstd")
            return declared or limit if end == len(data) else max_size + 1
        if limit > max_size and not declared:
            break
    return max_size + 1


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


def codec_of(number: int) -> _Codec:
    try:
        return _CODECS[number]
    except KeyError:
        raise ProtocolError(f"there is no compression codec {number}") from None
