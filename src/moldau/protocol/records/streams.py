"""The codecs piece by piece: for records of which nobody can say how large they become.

A few kilobytes can hold records of gigabytes. Unpacked in windows they need no more memory than one of those, whoever
looks at them can stop at the first that is wrong, and between two windows other threads have their turn: every codec
here works without the GIL.

What a stream cannot spread over windows is one block of snappy, which is unpacked whole (`compression` says how large
it may be), and what zstd must remember to copy from, up to 128 MiB, as in Kafka.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from moldau.protocol.records.compression import (
    GZIP_CONTAINER,
    SNAPPY_BLOCK,
    SNAPPY_HEADER,
    Compression,
    broken,
    codec_of,
    fast_lz4,
    snap_block,
    snappy_blocks,
    unsnap_block,
    zstd_level,
)
from moldau.types import Buffer

WINDOW: Final = 256 * 1024

# Both zlib and lz4 hand back what of a piece they did not use, as a copy: pieces are small so that it is one too.
_PIECE: Final = 32 * 1024


def windows(codec: int, data: Buffer) -> Iterator[Buffer]:
    """The unpacked bytes, one window after the other; each is valid until the next is asked for.

    ProtocolError for bytes that are not this codec's. Where zstd data end too early nothing is said but what is there.
    """
    codec_of(codec)
    return _WINDOWS[codec](memoryview(data))


def _plain(data: memoryview) -> Iterator[Buffer]:
    for start in range(0, len(data), WINDOW):
        yield data[start : start + WINDOW]


def _gzip(data: memoryview) -> Iterator[Buffer]:
    """A gzip file may consist of several members one after another; Java writes one, and reads all."""
    stream = zlib.decompressobj(GZIP_CONTAINER)
    position = 0
    try:
        while True:
            piece: Buffer = data[position : position + _PIECE]
            position += len(piece)
            out = stream.decompress(piece, WINDOW)
            while out:
                yield out
                out = stream.decompress(stream.unconsumed_tail, WINDOW)
            if stream.eof:
                position -= len(stream.unused_data)
                if position == len(data):
                    return
                stream = zlib.decompressobj(GZIP_CONTAINER)
            elif position == len(data):
                raise broken("gzip")
    except zlib.error as error:
        raise broken("gzip", error) from None


def _snappy(data: memoryview) -> Iterator[Buffer]:
    for block in snappy_blocks(data):
        yield unsnap_block(block)


def _lz4(data: memoryview) -> Iterator[Buffer]:
    import lz4.frame

    stream = lz4.frame.LZ4FrameDecompressor(return_bytearray=True)
    position = 0
    try:
        while not stream.eof:
            piece = data[position : position + _PIECE] if stream.needs_input else b""
            position += len(piece)
            out = stream.decompress(piece, WINDOW)
            if out:
                yield out
            elif stream.needs_input and position == len(data) and not stream.eof:
                raise broken("lz4")
    except RuntimeError as error:
        raise broken("lz4", error) from None
    if stream.unused_data or position < len(data):
        raise broken("lz4", "bytes follow the frame")


def _zstd(data: memoryview) -> Iterator[Buffer]:
    import zstandard

    window = bytearray(WINDOW)
    view = memoryview(window)
    stream = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True)
    try:
        while size := stream.readinto(window):
            yield view[:size]
    except zstandard.ZstdError as error:
        raise broken("zstd", error) from None


_WINDOWS: Final[dict[int, Callable[[memoryview], Iterator[Buffer]]]] = {
    Compression.NONE: _plain,
    Compression.GZIP: _gzip,
    Compression.SNAPPY: _snappy,
    Compression.LZ4: _lz4,
    Compression.ZSTD: _zstd,
}


# ----------------------------------------------------------------------------------------------------- packing


class Packer(Protocol):
    """Takes plain bytes piece by piece and gives packed ones back, some now and the rest at the end."""

    def compress(self, data: Buffer, /) -> bytes: ...

    def flush(self) -> bytes: ...


class _Plain:
    def compress(self, data: Buffer, /) -> bytes:
        return bytes(data)

    def flush(self) -> bytes:
        return b""


class _Snappy:
    """Java's stream of blocks."""

    def __init__(self) -> None:
        self._parts = [SNAPPY_HEADER]
        self._rest = b""

    def compress(self, data: Buffer, /) -> bytes:
        view = memoryview(self._rest + data if self._rest else data)
        whole = len(view) - len(view) % SNAPPY_BLOCK
        parts, self._parts = self._parts, []
        parts += [snap_block(view[start : start + SNAPPY_BLOCK]) for start in range(0, whole, SNAPPY_BLOCK)]
        self._rest = bytes(view[whole:])
        return b"".join(parts)

    def flush(self) -> bytes:
        return b"".join([*self._parts, snap_block(self._rest) if self._rest else b""])


class _Lz4:
    def __init__(self, level: int | None) -> None:
        import lz4.frame

        self._stream = lz4.frame.LZ4FrameCompressor(compression_level=fast_lz4(level), block_linked=False)
        self._begun = False

    def compress(self, data: Buffer, /) -> bytes:
        head: bytes = b"" if self._begun else self._stream.begin()
        self._begun = True
        packed: bytes = self._stream.compress(data)
        return head + packed

    def flush(self) -> bytes:
        head: bytes = b"" if self._begun else self._stream.begin()
        packed: bytes = self._stream.flush()
        return head + packed


def packer(codec: int, level: int | None = None) -> Packer:
    codec_of(codec)
    if codec == Compression.GZIP:
        return zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, GZIP_CONTAINER)
    if codec == Compression.SNAPPY:
        return _Snappy()
    if codec == Compression.LZ4:
        return _Lz4(level)
    if codec == Compression.ZSTD:
        import zstandard

        return zstandard.ZstdCompressor(zstd_level(level)).compressobj()
    return _Plain()
