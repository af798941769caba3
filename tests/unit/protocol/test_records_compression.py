"""The codecs: against other implementations, at their limits, and against bytes meant to hurt."""

from __future__ import annotations

import gzip
import resource
import zlib
from collections.abc import Callable

import cramjam
import lz4.frame
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_oracles import kafka_python_codecs as kafka_python

from moldau.errors import ProtocolError
from moldau.protocol.records import Compression, compress, decompress
from moldau.protocol.records.compression import repair_lz4_header, zstd_content_size

TEXT = b"".join(b"record %d with some text %d\n" % (n, n * 7919 % 997) for n in range(20_000))
SIZES = [0, 1, 100, 32 * 1024, 32 * 1024 + 1, 65 * 1024, len(TEXT)]
CODECS = [Compression.GZIP, Compression.SNAPPY, Compression.LZ4, Compression.ZSTD]
THEIRS: dict[Compression, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    Compression.GZIP: (kafka_python.gzip_encode, kafka_python.gzip_decode),
    Compression.SNAPPY: (kafka_python.snappy_encode, kafka_python.snappy_decode),
    Compression.LZ4: (kafka_python.lz4_encode, kafka_python.lz4_decode),
    Compression.ZSTD: (kafka_python.zstd_encode, kafka_python.zstd_decode),
}


@pytest.mark.parametrize("codec", list(Compression))
@pytest.mark.parametrize("size", SIZES)
def test_round_trip(codec: Compression, size: int) -> None:
    data = TEXT[:size]
    for source in (data, bytearray(data), memoryview(data)):
        packed = compress(codec, source)
        assert isinstance(packed, bytes)
        assert decompress(codec, packed, size) == data
        assert decompress(codec, memoryview(bytearray(packed))) == data


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", SIZES)
def test_against_kafka_python(codec: Compression, size: int) -> None:
    data = TEXT[:size]
    write, read = THEIRS[codec]
    assert bytes(read(compress(codec, data))) == data
    assert decompress(codec, write(data)) == data


@pytest.mark.parametrize(
    ("codec", "levels"),
    [
        (Compression.GZIP, (1, 6, 9)),
        (Compression.LZ4, (1, 9, 12, 17)),
        (Compression.ZSTD, (-5, 1, 3, 19)),
        (Compression.SNAPPY, (None,)),
    ],
)
def test_levels(codec: Compression, levels: tuple[int | None, ...]) -> None:
    sizes = []
    for level in levels:
        packed = compress(codec, TEXT, level)
        assert decompress(codec, packed) == TEXT
        sizes.append(len(packed))
    if codec in (Compression.GZIP, Compression.ZSTD):
        assert sizes[0] > sizes[-1]


def test_the_default_level_of_lz4_is_the_fast_one() -> None:
    assert compress(Compression.LZ4, TEXT, 9) == compress(Compression.LZ4, TEXT)
    assert len(compress(Compression.LZ4, TEXT, 10)) < len(compress(Compression.LZ4, TEXT))


def test_lz4_blocks_are_independent() -> None:
    assert not lz4.frame.get_frame_info(compress(Compression.LZ4, TEXT))["block_linked"]
    assert decompress(Compression.LZ4, lz4.frame.compress(TEXT, block_linked=True, content_checksum=True)) == TEXT


def test_snappy_framed_raw_and_joined() -> None:
    framed = compress(Compression.SNAPPY, TEXT)
    assert framed[:16] == b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"
    assert decompress(Compression.SNAPPY, bytes(cramjam.snappy.compress_raw(TEXT))) == TEXT
    assert decompress(Compression.SNAPPY, framed + compress(Compression.SNAPPY, b"more")) == TEXT + b"more"


def test_gzip_members_one_after_another() -> None:
    assert decompress(Compression.GZIP, gzip.compress(b"one") + gzip.compress(b"two")) == b"onetwo"


def streamed_zstd(size: int) -> bytes:
    """A frame that does not declare its size, as Java's stream writes it: no checksum, 8 MiB window, RLE blocks."""
    blocks = bytearray()
    while size:
        block = min(size, 128 * 1024)
        size -= block
        blocks += (block << 3 | 1 << 1 | (size == 0)).to_bytes(3, "little") + b"\0"
    return b"\x28\xb5\x2f\xfd\x00\x68" + bytes(blocks)


def test_zstd_without_a_declared_size() -> None:
    for size in (1, 1000, 200_000, 5_000_000):
        packed = streamed_zstd(size)
        assert zstd_content_size(packed) == 0
        assert decompress(Compression.ZSTD, packed, size) == bytes(size)
        if size > 1:
            with pytest.raises(ProtocolError):
                decompress(Compression.ZSTD, packed, size - 1)


def test_zstd_declared_sizes() -> None:
    for size in (0, 1, 255, 256, 300, 65_791, 65_792, 70_000, len(TEXT)):
        assert zstd_content_size(compress(Compression.ZSTD, TEXT[:size])) == size


def test_lz4_of_message_format_0() -> None:
    for data in (b"abc", TEXT):
        for size in (True, False):
            good = lz4.frame.compress(data, store_size=size)
            bad = bytearray(good)
            bad[14 if size else 6] ^= 0x55
            with pytest.raises(ProtocolError):
                decompress(Compression.LZ4, bad)
            assert repair_lz4_header(bad) == good
    for short in (b"", b"\x04\x22\x4d\x18", b"\x04\x22\x4d\x18\x68\x40\x00"):
        assert len(repair_lz4_header(short)) == len(short)


# --------------------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize("codec", list(Compression))
def test_the_limit_is_exact(codec: Compression) -> None:
    packed = compress(codec, TEXT)
    assert decompress(codec, packed, len(TEXT)) == TEXT
    for limit in (len(TEXT) - 1, 1000, 0):
        with pytest.raises(ProtocolError):
            decompress(codec, packed, limit)


def bombs() -> dict[str, tuple[Compression, bytes]]:
    size = 1 << 30
    gzipper = zlib.compressobj(9, zlib.DEFLATED, 31)
    chunk = bytes(1 << 20)
    zipped = b"".join(gzipper.compress(chunk) for _ in range(256)) + gzipper.flush()
    lz4er = lz4.frame.LZ4FrameCompressor(block_size=7)
    framed = lz4er.begin() + b"".join(lz4er.compress(chunk) for _ in range(256)) + lz4er.flush()
    declared = bytearray(lz4.frame.compress(b"x", store_size=True))
    declared[6:14] = (1 << 40).to_bytes(8, "little")
    return {
        "gzip": (Compression.GZIP, zipped),
        "lz4": (Compression.LZ4, framed),
        "lz4 that only declares it": (Compression.LZ4, bytes(repair_lz4_header(declared))),
        "zstd": (Compression.ZSTD, streamed_zstd(size)),
        "zstd that only declares it": (Compression.ZSTD, b"\x28\xb5\x2f\xfd\xe0" + b"\xff" * 8 + bytes(8)),
        "snappy that only declares it": (Compression.SNAPPY, b"\xff\xff\xff\xff\x0f" + bytes(100)),
        "snappy in blocks": (
            Compression.SNAPPY,
            compress(Compression.SNAPPY, b"")
            + (len(cramjam.snappy.compress_raw(chunk)).to_bytes(4, "big") + bytes(cramjam.snappy.compress_raw(chunk)))
            * 64,
        ),
    }


def test_bombs_cost_no_more_than_the_limit() -> None:
    limit = 4 << 20
    prepared = bombs()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for codec, packed in prepared.values():
        with pytest.raises(ProtocolError):
            decompress(codec, packed, limit)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < 8 * limit


@pytest.mark.parametrize("codec", CODECS)
def test_truncated(codec: Compression) -> None:
    packed = compress(codec, TEXT[:500])
    for end in range(len(packed)):
        try:
            out = decompress(codec, packed[:end], 10_000)
        except ProtocolError:
            continue
        # Only an empty snappy stream has no mark of its end.
        assert codec is Compression.SNAPPY
        assert (end, bytes(out)) == (16, b"")


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.LZ4, Compression.ZSTD])
def test_bytes_after_the_end(codec: Compression) -> None:
    for tail in (b"x", b"garbage!" * 4):
        with pytest.raises(ProtocolError):
            decompress(codec, compress(codec, TEXT[:500]) + tail, 10_000)


@given(codec=st.sampled_from(CODECS), data=st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_random_bytes(codec: Compression, data: bytes) -> None:
    try:
        decompress(codec, data, 100_000)
    except ProtocolError:
        pass


@given(
    codec=st.sampled_from(CODECS),
    size=st.integers(1, 3000),
    edits=st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), min_size=1, max_size=4),
)
@settings(max_examples=300, deadline=None)
def test_damaged_streams(codec: Compression, size: int, edits: list[tuple[int, int]]) -> None:
    packed = bytearray(compress(codec, TEXT[:size]))
    for position, value in edits:
        packed[position % len(packed)] = value
    try:
        assert len(decompress(codec, packed, 100_000)) <= 100_000
    except ProtocolError:
        pass


@pytest.mark.parametrize("codec", [5, 7, -1, 100])
def test_unknown_codecs(codec: int) -> None:
    with pytest.raises(ProtocolError, match="no compression codec"):
        decompress(codec, b"")
    with pytest.raises(ProtocolError, match="no compression codec"):
        compress(codec, b"")
