"""The codecs piece by piece: the same bytes as at once, in windows that stay small whatever comes."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import cramjam
import lz4.frame
import pytest
import zstandard

from moldau.errors import ProtocolError
from moldau.protocol.records import Compression, compress, decompress
from moldau.protocol.records.streams import WINDOW, packer, windows

TEXT = b"".join(b"record %d with some text %d\n" % (n, n * 7919 % 997) for n in range(50_000))
CODECS = [Compression.GZIP, Compression.SNAPPY, Compression.LZ4, Compression.ZSTD]


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


def unpacked(codec: int, data: bytes) -> bytes:
    return b"".join(bytes(window) for window in windows(codec, data))


@pytest.mark.parametrize("codec", list(Compression))
@pytest.mark.parametrize("size", [0, 1, 100, 32 * 1024, WINDOW, WINDOW + 1, len(TEXT)])
def test_windows_hold_what_was_packed(codec: Compression, size: int) -> None:
    assert unpacked(codec, compress(codec, TEXT[:size])) == TEXT[:size]


@pytest.mark.parametrize("codec", list(Compression))
@pytest.mark.parametrize("size", [1, 100, 32 * 1024 + 1, len(TEXT)])
@pytest.mark.parametrize("piece", [997, WINDOW])
def test_pieces_are_packed_as_the_whole_is(codec: Compression, size: int, piece: int) -> None:
    stream = packer(codec)
    packed = b"".join([stream.compress(part) for part in pieces(TEXT[:size], piece)]) + stream.flush()
    assert decompress(codec, packed) == TEXT[:size]


@pytest.mark.parametrize(("codec", "levels"), [(1, (1, 9)), (3, (9, 17)), (4, (-5, 19))])
def test_levels(codec: int, levels: tuple[int, ...]) -> None:
    sizes = []
    for level in levels:
        stream = packer(codec, level)
        packed = stream.compress(TEXT) + stream.flush()
        assert decompress(codec, packed) == TEXT
        sizes.append(len(packed))
    assert len(set(sizes)) == len(sizes)


@pytest.mark.parametrize("codec", CODECS)
def test_a_bomb_is_seen_window_by_window(codec: Compression) -> None:
    """Hundreds of megabytes from less than a thousandth of it, of which never more than a window is there at once."""
    total = 0
    for window in windows(codec, compress(codec, bytes(300_000_000))):
        assert len(window) <= WINDOW
        assert not any(window[:10])
        total += len(window)
    assert total == 300_000_000


def test_what_somebody_else_packed() -> None:
    linked = lz4.frame.compress(TEXT, block_linked=True, block_size=lz4.frame.BLOCKSIZE_MAX4MB, content_checksum=True)
    assert unpacked(Compression.LZ4, linked) == TEXT
    assert unpacked(Compression.SNAPPY, bytes(cramjam.snappy.compress_raw(TEXT))) == TEXT
    assert unpacked(Compression.ZSTD, zstandard.ZstdCompressor(write_checksum=True).compress(TEXT)) == TEXT


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.SNAPPY, Compression.ZSTD])
def test_several_streams_one_behind_the_other(codec: Compression) -> None:
    assert unpacked(codec, compress(codec, TEXT) + compress(codec, b"more")) == TEXT + b"more"


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_not_of_the_codec(codec: Compression) -> None:
    packed = compress(codec, TEXT)
    for bad in (b"no codec at all", packed + b"behind the end", b"\0" + packed[1:]):
        with pytest.raises(ProtocolError):
            unpacked(codec, bad)
    with pytest.raises(ProtocolError, match="codec 6"):
        windows(6, b"")


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.SNAPPY, Compression.LZ4])
def test_streams_that_end_too_early(codec: Compression) -> None:
    packed = compress(codec, TEXT[:3000])
    for end in range(1, len(packed), 7):
        try:
            assert unpacked(codec, packed[:end]) == b""
            assert codec is Compression.SNAPPY  # of an empty stream it has no mark
        except ProtocolError:
            pass


def test_zstd_that_ends_too_early_gives_what_is_there() -> None:
    """The records tell that some are missing."""
    packed = compress(Compression.ZSTD, TEXT)
    assert TEXT.startswith(unpacked(Compression.ZSTD, packed[: len(packed) // 2]))


def test_a_gzip_stream_that_fills_its_windows_to_the_byte() -> None:
    for size in (WINDOW - 1, WINDOW, 2 * WINDOW, 2 * WINDOW + 1):
        data = bytes(size)
        stream = zlib.compressobj(9, zlib.DEFLATED, 31)
        assert unpacked(Compression.GZIP, stream.compress(data) + stream.flush()) == data
