"""Whole batches through the face of the package: written, read, checked, turned into columns."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.errors import InvalidRecordError, ProtocolError
from moldau.protocol.records import (
    BatchBuilder,
    Compression,
    Record,
    TimestampType,
    crc32c,
    decode_batch,
    encode_batch,
    read_header,
    scan_batches,
    to_columns,
    validate_batch,
)

ROWS = [
    (1000 + n, b"key %d" % n if n % 3 else None, b"value " * n, [("h", b"%d" % n)] if n % 2 else []) for n in range(20)
]


def test_bytes_of_a_known_batch() -> None:
    """Put together by hand from the layout, not by this code."""
    record = b"\x00" + b"\x00" + b"\x00" + b"\x02k" + b"\x0avalue" + b"\x02" + b"\x02h" + b"\x08head"
    body = bytes([len(record) * 2]) + record
    after = struct.pack(">hiqqqhii", 0x10, 0, 1500, 1500, 4000, 3, 17, 1) + body
    expected = struct.pack(">qiibI", 42, 9 + len(after), 6, 2, crc32c(after)) + after
    built = encode_batch(
        [(1500, b"k", b"value", [("h", b"head")])],
        base_offset=42,
        partition_leader_epoch=6,
        is_transactional=True,
        producer_id=4000,
        producer_epoch=3,
        base_sequence=17,
    )
    assert built == expected


@pytest.mark.parametrize("codec", list(Compression))
def test_round_trip(codec: Compression) -> None:
    data = encode_batch(ROWS, base_offset=70, compression=codec)
    header = read_header(data)
    assert header.compression == codec
    assert (header.base_timestamp, header.max_timestamp, header.count) == (1000, 1019, 20)
    assert decode_batch(data) == [Record(70 + n, *row) for n, row in enumerate(ROWS)]
    summary = validate_batch(header, data, 0)
    assert (summary.records, summary.min_timestamp, summary.max_timestamp) == (20, 1000, 1019)
    assert summary.first_without_key == 0
    columns = to_columns(data, headers=True)
    assert columns.rows == 20
    assert bytes(columns.value_data) == b"".join(row[2] for row in ROWS)


@pytest.mark.parametrize("codec", list(Compression))
def test_several_batches_of_a_range(codec: Compression) -> None:
    first = encode_batch(ROWS[:3], compression=codec)
    second = encode_batch(ROWS[3:], base_offset=3)
    marker = encode_batch([(0, b"\0\0\0\1", b"", [])], base_offset=20, is_control=True)
    data = memoryview(bytearray(b"xx" + first + second + marker + b"yy"))
    assert [record.offset for record in decode_batch(data, 2, len(data) - 2)] == list(range(21))
    assert to_columns(data, 2, len(data) - 2).rows == 20  # without the marker
    assert to_columns(data, 2, len(data) - 2, first_offset=2, end_offset=5).rows == 3


def test_the_broker_s_time_is_every_record_s() -> None:
    data = encode_batch(ROWS, timestamp_type=TimestampType.LOG_APPEND_TIME, max_timestamp=5000)
    assert {record.timestamp for record in decode_batch(data)} == {5000}
    assert validate_batch(read_header(data), data, 0).min_timestamp == 5000


def test_records_keep_their_offsets_through_compaction() -> None:
    kept = decode_batch(encode_batch(ROWS, base_offset=70))[4:12:3]
    data = encode_batch(
        kept,
        keep_offsets=True,
        base_offset=70,
        last_offset_delta=19,
        base_timestamp=9999,
        has_delete_horizon=True,
        compression=Compression.LZ4,
    )
    header = read_header(data)
    assert header.has_delete_horizon
    assert (header.base_timestamp, header.next_offset) == (9999, 90)
    assert decode_batch(data) == kept
    with pytest.raises(InvalidRecordError):
        validate_batch(header, data, 0)
    with pytest.raises(TypeError):
        encode_batch(ROWS, keep_offsets=True)  # type: ignore[arg-type]


def test_a_batch_that_compaction_emptied() -> None:
    data = encode_batch(
        [],
        base_offset=5,
        last_offset_delta=9,
        max_timestamp=77,
        producer_id=3,
        base_sequence=1,
        compression=Compression.ZSTD,
    )
    assert len(data) == 61
    (header,) = scan_batches(data)
    assert (header.count, header.next_offset, header.last_sequence) == (0, 15, 10)
    assert decode_batch(data) == []
    with pytest.raises(ValueError, match="without records"):
        encode_batch([])


def test_the_same_records_under_a_new_epoch() -> None:
    builder = BatchBuilder(max_size=1000)
    assert builder.append(1, b"k", b"v", [("h", None)])
    first = builder.build(producer_id=9, producer_epoch=0, base_sequence=5)
    again = builder.build(producer_id=9, producer_epoch=1, base_sequence=0, compression=Compression.GZIP)
    assert read_header(first).base_sequence == 5
    assert read_header(again).producer_epoch == 1
    assert decode_batch(first) == decode_batch(again)


def test_a_bomb_inside_a_batch() -> None:
    for codec in (Compression.GZIP, Compression.LZ4, Compression.ZSTD, Compression.SNAPPY):
        data = encode_batch([(0, None, bytes(3_000_000), [])], compression=codec)
        assert len(data) < 160_000
        for job in (decode_batch, to_columns):
            with pytest.raises(ProtocolError, match=r"grow beyond|not valid"):
                job(data, max_bytes=100_000)
        with pytest.raises(ProtocolError, match=r"grow beyond|not valid"):
            validate_batch(read_header(data), data, 0, max_bytes=100_000)


def test_more_records_announced_than_decompressed() -> None:
    data = bytearray(encode_batch(ROWS, compression=Compression.ZSTD))
    struct.pack_into(">i", data, 23, 1_000_000_000 - 1)
    struct.pack_into(">i", data, 57, 1_000_000_000)
    struct.pack_into(">I", data, 17, crc32c(data, 21))
    with pytest.raises(InvalidRecordError, match="contradict"):
        decode_batch(data)


def test_an_unknown_codec() -> None:
    data = bytearray(encode_batch(ROWS))
    data[22] |= 5
    struct.pack_into(">I", data, 17, crc32c(data, 21))
    with pytest.raises(ProtocolError, match="no compression codec 5"):
        decode_batch(data)


EDIT = st.tuples(st.integers(0, 500), st.integers(0, 255))


@given(
    codec=st.sampled_from(list(Compression)),
    edits=st.lists(EDIT, min_size=1, max_size=5),
    cut=st.integers(0, 40),
    fix_crc=st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_damage_is_a_protocol_error(codec: Compression, edits: list[tuple[int, int]], cut: int, fix_crc: bool) -> None:
    data = bytearray(encode_batch(ROWS, compression=codec))
    for position, value in edits:
        data[position % len(data)] = value
    del data[len(data) - cut :]
    if fix_crc:
        struct.pack_into(">i", data, 8, len(data) - 12)
        struct.pack_into(">I", data, 17, crc32c(data, 21))
    for job in (decode_batch, to_columns):
        try:
            job(data, check_crc=True, max_bytes=1_000_000)
        except ProtocolError:
            pass
    try:
        validate_batch(read_header(data), data, 0, max_bytes=1_000_000)
    except ProtocolError:
        pass


@given(st.binary(max_size=300))
@settings(max_examples=200, deadline=None)
def test_random_bytes_are_a_protocol_error(data: bytes) -> None:
    for job in (decode_batch, to_columns):
        if data:
            with pytest.raises(ProtocolError):
                job(data)
        else:
            job(data)
