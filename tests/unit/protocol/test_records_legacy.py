"""Message sets of formats 0 and 1: read against kafka-python's and aiokafka's writers, and turned into batches."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import lz4.frame
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_oracles import AiokafkaLegacyBuilder, KafkaPythonLegacyBuilder

from moldau.errors import InvalidRecordError, ProtocolError
from moldau.protocol.records import (
    Record,
    TimestampType,
    decode_batch,
    encode_batch,
    scan_batches,
    to_columns,
    up_convert,
)
from moldau.protocol.records.legacy import message_set_end

# Without lz4 in format 0: other clients have given up writing its broken frames.
FORMATS = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (1, 3)]
BYTES = st.none() | st.binary(max_size=40) | st.integers(100, 2000).map(bytes)
ROWS = st.lists(st.tuples(st.integers(0, 2**41), BYTES, BYTES), min_size=1, max_size=8)


def message(
    magic: int, offset: int, key: bytes | None, value: bytes | None, *, timestamp: int = -1, attributes: int = 0
) -> bytes:
    """One entry, by the layout in Kafka's documentation."""
    body = struct.pack(">bb", magic, attributes)
    if magic == 1:
        body += struct.pack(">q", timestamp)
    for part in (key, value):
        body += struct.pack(">i", -1) if part is None else struct.pack(">i", len(part)) + part
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def wrapper(magic: int, offset: int, inner: bytes, *, timestamp: int = -1, attributes: int = 1) -> bytes:
    packed = zlib.compressobj(6, zlib.DEFLATED, 31)
    return message(
        magic, offset, None, packed.compress(inner) + packed.flush(), timestamp=timestamp, attributes=attributes
    )


@given(rows=ROWS, form=st.sampled_from(FORMATS), base=st.integers(0, 2**40))
@settings(max_examples=100, deadline=None)
def test_what_they_write_we_read(rows: list[Any], form: tuple[int, int], base: int) -> None:
    magic, codec = form
    for kind in (KafkaPythonLegacyBuilder, AiokafkaLegacyBuilder):
        builder = kind(magic, codec, 1 << 20)
        relative = magic == 1 and codec
        for number, (timestamp, key, value) in enumerate(rows):
            offset = number if relative else base + number
            assert builder.append(offset, timestamp if magic else None, key, value) is not None
        data = bytearray(builder.build())
        if relative and data[17] & 7:  # the broker writes the offset of the last entry into the wrapper
            struct.pack_into(">q", data, 0, base + len(rows) - 1)
        elif relative:
            continue  # not worth compressing, they thought
        expected = [
            Record(base + number, timestamp if magic else -1, key, value)
            for number, (timestamp, key, value) in enumerate(rows)
        ]
        assert decode_batch(data) == expected
        converted = up_convert(data)
        assert decode_batch(converted) == expected
        assert {header.compression for header in scan_batches(converted)} == {data[17] & 7}
        assert to_columns(data).rows == len(rows)


def test_wrappers_of_format_0_hold_absolute_offsets() -> None:
    inner = message(0, 40, b"a", b"x") + message(0, 47, None, None)
    assert decode_batch(wrapper(0, 47, inner)) == [Record(40, -1, b"a", b"x"), Record(47, -1, None, None)]


def test_lz4_frames_of_format_0() -> None:
    """Old clients computed the checksum of the frame header with the frame's magic number included."""
    frame = bytearray(lz4.frame.compress(message(0, 5, b"a", b"x"), store_size=False))
    frame[6] ^= 0x77
    data = message(0, 5, None, bytes(frame), attributes=3)
    assert decode_batch(data) == [Record(5, -1, b"a", b"x")]
    with pytest.raises(ProtocolError):
        decode_batch(message(1, 5, None, bytes(frame), attributes=3))


def test_wrappers_of_format_1_hold_relative_offsets() -> None:
    inner = message(1, 0, b"a", b"x", timestamp=7) + message(1, 3, None, None, timestamp=8)
    assert decode_batch(wrapper(1, 103, inner, timestamp=8)) == [Record(100, 7, b"a", b"x"), Record(103, 8, None, None)]
    converted = up_convert(wrapper(1, 103, inner, timestamp=8))
    (header,) = scan_batches(converted)
    assert (header.base_offset, header.last_offset, header.count, header.compression) == (100, 103, 2, 1)


def test_the_broker_s_time_of_a_wrapper() -> None:
    inner = message(1, 0, b"a", b"x", timestamp=7) + message(1, 1, None, None, timestamp=8)
    data = wrapper(1, 11, inner, timestamp=500, attributes=0x09)
    assert [record.timestamp for record in decode_batch(data)] == [500, 500]
    (header,) = scan_batches(up_convert(data))
    assert (header.timestamp_type, header.max_timestamp) == (TimestampType.LOG_APPEND_TIME, 500)
    assert decode_batch(up_convert(data)) == decode_batch(data)


def test_plain_entries_share_batches_as_far_as_one_can_say_it() -> None:
    data = (
        message(0, 5, b"a", b"1")
        + message(0, 6, b"b", b"2")
        + message(1, 8, b"c", b"3", timestamp=50)
        + message(1, 9, b"d", b"4", timestamp=60, attributes=0x08)
        + message(1, 10, b"e", b"5", timestamp=60, attributes=0x08)
        + message(1, 11, b"f", b"6", timestamp=61, attributes=0x08)
        + message(1, 4, b"g", b"7", timestamp=61, attributes=0x08)
    )
    converted = up_convert(data)
    assert [(header.base_offset, header.count, header.timestamp_type) for header in scan_batches(converted)] == [
        (5, 3, 0),
        (9, 2, 1),
        (11, 1, 1),
        (4, 1, 1),
    ]
    assert decode_batch(converted) == decode_batch(data)
    assert [record.timestamp for record in decode_batch(data)] == [-1, -1, 50, 60, 60, 61, 61]


def test_a_log_that_changed_its_format() -> None:
    new = encode_batch([(9, b"k", b"v", [])], base_offset=6)
    data = b"__" + message(0, 5, b"a", b"1") + new + b"__"
    assert message_set_end(data, 2, len(data) - 2) == len(data) - 2 - len(new)
    assert [record.offset for record in decode_batch(data, 2, len(data) - 2)] == [5, 6]
    converted = up_convert(data, 2, len(data) - 2)
    assert converted.endswith(new)
    assert [record.offset for record in decode_batch(converted)] == [5, 6]
    assert up_convert(new) == new
    assert up_convert(b"") == b""


BROKEN = {
    "wrong checksum": message(1, 0, b"a", b"x")[:-1] + b"y",
    "cut": message(1, 0, b"a", b"x")[:-1],
    "cut early": message(1, 0, b"a", b"x")[:20],
    "bytes after it": message(1, 0, b"a", b"x") + b"\0",
    "negative offset": message(1, -1, b"a", b"x"),
    "value missing": message(0, 0, b"a", b"x")[:8],
    "wrapper without value": message(1, 0, None, None, attributes=1),
    "wrapper of garbage": message(1, 0, None, b"garbage", attributes=1),
    "wrapper of nothing": wrapper(1, 0, b""),
    "wrapper of cut entries": wrapper(1, 0, message(1, 0, b"a", b"x")[:-1]),
    "wrapper in a wrapper": wrapper(1, 0, wrapper(1, 0, message(1, 0, b"a", b"x"))),
    "wrapper of another format": wrapper(1, 0, message(0, 0, b"a", b"x")),
    "wrapper of batches": wrapper(1, 0, encode_batch([(0, b"a", b"x", [])])),
    "wrapper with an offset too small": wrapper(1, 0, message(1, 0, b"a", b"x") + message(1, 1, b"a", b"x")),
    "zstd before format 2": message(1, 0, None, b"x", attributes=4),
    "format of the future": encode_batch([(0, None, None, [])])[:16] + b"\x03" + bytes(44),
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_malformed(data: bytes) -> None:
    for job in (decode_batch, up_convert, to_columns):
        with pytest.raises(ProtocolError):
            job(data)


def test_key_and_value_must_fill_the_entry() -> None:
    for key_size, value_size in ((-2, 1), (3, 1), (1, 2), (1, 0), (2**31 - 1, 1)):
        body = struct.pack(">bbi", 0, 0, key_size) + b"k" + struct.pack(">i", value_size) + b"v"
        data = struct.pack(">qiI", 0, len(body) + 4, zlib.crc32(body)) + body
        with pytest.raises(InvalidRecordError):
            decode_batch(data)


def test_unchecked_checksums() -> None:
    data = BROKEN["wrong checksum"]
    assert decode_batch(data, check_crc=False)[0].value == b"y"
    assert decode_batch(up_convert(data, check_crc=False))[0].value == b"y"


def test_a_bomb_in_a_wrapper() -> None:
    data = wrapper(1, 0, message(1, 0, None, bytes(5_000_000)))
    assert len(data) < 10_000
    with pytest.raises(ProtocolError, match="grow beyond"):
        decode_batch(data, max_bytes=1_000_000)


@given(
    edits=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 255)), max_size=4),
    cut=st.integers(0, 60),
    form=st.sampled_from(FORMATS),
    check_crc=st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_damage_is_a_protocol_error(
    edits: list[tuple[int, int]], cut: int, form: tuple[int, int], check_crc: bool
) -> None:
    magic, codec = form
    builder = KafkaPythonLegacyBuilder(magic, codec, 1 << 20)
    for number in range(5):
        builder.append(number, 1000 if magic else None, b"key", bytes(40))
    data = bytearray(builder.build())
    for position, value in edits:
        data[position % len(data)] = value
    del data[len(data) - cut :]
    for job in (decode_batch, up_convert, to_columns):
        try:
            job(data, check_crc=check_crc, max_bytes=100_000)
        except ProtocolError:
            pass
