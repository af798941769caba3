"""Records inside a batch: read, checked and written by both twins."""

from __future__ import annotations

from typing import Any

import pytest

from moldau.errors import InvalidRecordError, ProtocolError


def varint(value: int) -> bytes:
    raw = (value << 1) ^ (value >> 63)
    out = bytearray()
    while raw >= 0x80:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    return bytes(out) + bytes([raw])


def record(*parts: bytes) -> bytes:
    """Attributes and the given parts, with the length before them."""
    body = b"\0" + b"".join(parts)
    return varint(len(body)) + body


def header(speed: Any, **fields: int) -> Any:
    values = {
        "base_offset": 0,
        "length": 49,
        "partition_leader_epoch": 0,
        "magic": 2,
        "crc": 0,
        "attributes": 0,
        "last_offset_delta": 0,
        "base_timestamp": 0,
        "max_timestamp": 0,
        "producer_id": -1,
        "producer_epoch": -1,
        "base_sequence": -1,
        "count": 1,
    }
    return speed.BatchHeader(**(values | fields))


NULL, EMPTY, NOTHING = varint(-1), varint(0), varint(0)

BROKEN = {
    "no bytes": b"",
    "length zero": varint(0) + bytes(7),
    "length negative": varint(-1) + bytes(7),
    "length beyond the end": varint(8) + bytes(7),
    "length too small": varint(5) + bytes(7),
    "length too large": varint(7) + bytes(7),
    "length of six bytes": b"\x8c\x80\x80\x80\x80\x00" + bytes(6),
    "length above 32 bits": b"\x8c\x80\x80\x80\x10" + bytes(6),
    "timestamp of eleven bytes": record(b"\x80" * 10 + b"\0", varint(0), NULL, NULL, NOTHING),
    "timestamp above 64 bits": record(b"\x80" * 9 + b"\x02", varint(0), NULL, NULL, NOTHING),
    "offset above 32 bits": record(varint(0), b"\x80\x80\x80\x80\x10", NULL, NULL, NOTHING),
    "key of length -2": record(varint(0), varint(0), varint(-2), NULL, NOTHING),
    "key beyond the record": record(varint(0), varint(0), varint(9), NULL, NOTHING),
    "value of length -2": record(varint(0), varint(0), NULL, varint(-2), NOTHING),
    "value beyond the record": record(varint(0), varint(0), NULL, varint(2**31 - 1), NOTHING),
    "negative header count": record(varint(0), varint(0), NULL, NULL, varint(-1)),
    "huge header count": record(varint(0), varint(0), NULL, NULL, varint(2**31 - 1)),
    "header without key": record(varint(0), varint(0), NULL, NULL, varint(1), NULL, NULL),
    "header key beyond the record": record(varint(0), varint(0), NULL, NULL, varint(1), varint(4), NULL),
    "header value missing": record(varint(0), varint(0), NULL, NULL, varint(1), EMPTY, b""),
    "bytes after the headers": record(varint(0), varint(0), NULL, NULL, NOTHING, b"\0"),
    "ends before the headers": record(varint(0), varint(0), NULL, NULL),
    "an unfinished varint": record(varint(0), varint(0), NULL, b"\x80\x80"),
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_broken_records(speed: Any, data: bytes) -> None:
    one = header(speed)
    for job in (speed.decode_records, speed.check_records, speed.ColumnBuilder(headers=True).append):
        with pytest.raises(InvalidRecordError):
            job(one, data)


def test_smallest_record(speed: Any) -> None:
    (only,) = speed.decode_records(
        header(speed, base_offset=5, base_timestamp=9), record(varint(0), varint(0), NULL, NULL, NOTHING)
    )
    assert only == speed.Record(5, 9, None, None, [])
    assert only != speed.Record(5, 9, b"", None, [])
    assert only != speed.Record(5, 9, None, None, [("a", None)])
    assert repr(only) == "Record(offset=5, timestamp=9, key=None, value=None, headers=[])"
    with pytest.raises(TypeError):
        hash(only)


def test_null_and_empty_differ(speed: Any) -> None:
    data = record(varint(0), varint(0), EMPTY, NULL, varint(2), EMPTY, EMPTY, varint(1), b"k", NULL)
    (only,) = speed.decode_records(header(speed), data)
    assert (only.key, only.value, only.headers) == (b"", None, [("", b""), ("k", None)])


def test_header_keys_that_are_not_text_survive(speed: Any) -> None:
    data = record(varint(0), varint(0), NULL, NULL, varint(1), varint(2), b"\xff\xc3", NULL)
    (only,) = speed.decode_records(header(speed), data)
    writer = speed.RecordWriter()
    writer.append(0, only.key, only.value, only.headers)
    assert writer.body() == data


@pytest.mark.parametrize(("base", "delta"), [(2**63 - 1, 1), (-(2**63), -1), (-2, -(2**63))])
def test_timestamps_that_leave_64_bits(speed: Any, base: int, delta: int) -> None:
    data = record(varint(delta), varint(0), NULL, NULL, NOTHING)
    with pytest.raises(InvalidRecordError, match="timestamp"):
        speed.decode_records(header(speed, base_timestamp=base), data)


def test_extreme_timestamps(speed: Any) -> None:
    data = record(varint(2**63 - 1), varint(0), NULL, NULL, NOTHING)
    (only,) = speed.decode_records(header(speed, base_timestamp=-1), data)
    assert only.timestamp == 2**63 - 2


def offsets(*deltas: int) -> bytes:
    return b"".join(record(varint(n), varint(delta), NULL, NULL, NOTHING) for n, delta in enumerate(deltas))


def test_offsets(speed: Any) -> None:
    gaps = header(speed, count=3, last_offset_delta=9, base_offset=100)
    records = speed.decode_records(gaps, offsets(1, 5, 9))
    assert [one.offset for one in records] == [101, 105, 109]
    assert speed.check_records(gaps, offsets(1, 5, 9), consecutive=False).records == 3
    for deltas in ((0, 1, 10), (-1, 0, 1)):
        with pytest.raises(InvalidRecordError, match="offset"):
            speed.decode_records(gaps, offsets(*deltas))
    with pytest.raises(InvalidRecordError, match="contradict"):
        speed.check_records(gaps, offsets(0, 1, 2))
    dense = header(speed, count=3, last_offset_delta=2)
    assert speed.check_records(dense, offsets(0, 1, 2)).records == 3
    for deltas in ((0, 2, 1), (1, 2, 2), (0, 0, 0)):
        with pytest.raises(InvalidRecordError, match="out of order"):
            speed.check_records(dense, offsets(*deltas))


def test_counts(speed: Any) -> None:
    two = offsets(0, 1)
    for count in (0, 1):
        with pytest.raises(InvalidRecordError, match="follow the last record"):
            speed.decode_records(header(speed, count=count, last_offset_delta=1), two)
    for count in (-1, 3, 2**31 - 1):
        with pytest.raises(InvalidRecordError, match="contradict"):
            speed.decode_records(header(speed, count=count, last_offset_delta=2**31 - 2), two)
    with pytest.raises(InvalidRecordError, match="contradict"):
        speed.decode_records(header(speed, base_offset=2**63 - 1, last_offset_delta=1, count=2), two)
    assert speed.decode_records(header(speed, count=0), b"") == []


def test_summary(speed: Any) -> None:
    writer = speed.RecordWriter()
    for timestamp, key in ((50, b"a"), (70, b"b"), (40, None), (70, b"c"), (60, None)):
        writer.append(timestamp, key, b"")
    data = writer.pack(base_offset=10)
    summary = speed.check_records(speed.read_header(data), data, 61)
    assert summary == speed.RecordsSummary(records=5, min_timestamp=40, max_timestamp=70, first_without_key=2)
    empty = speed.check_records(header(speed, count=0), b"", consecutive=False)
    assert (empty.records, empty.min_timestamp, empty.max_timestamp, empty.first_without_key) == (0, -1, -1, -1)


def test_a_large_body_is_walked_too(speed: Any) -> None:
    writer = speed.RecordWriter()
    for number in range(700):
        writer.append(number, b"k", bytes(100))
    data = writer.pack()
    assert speed.check_records(speed.read_header(data), data, 61).max_timestamp == 699


def test_records_that_are_not_wanted_are_counted_and_the_first_named(speed: Any) -> None:
    writer = speed.RecordWriter()
    for timestamp, key in ((50, b"a"), (-1, b"b"), (40, None), (70, b"c"), (-2, b"d"), (60, b"e")):
        writer.append(timestamp, key, b"")
    data = writer.pack()
    asked = {"needs_key": True, "earliest": 40, "latest": 60}
    refusals = ((2, 40, True), (3, 70, False), (4, -2, False))
    summary = speed.check_records(speed.read_header(data), data, 61, **asked)
    assert (summary.refused, summary.refusals) == (3, refusals)
    assert speed.open_batch(data, 0, len(data), **asked)[1] == summary
    walk = speed.RecordWalk(speed.read_header(data), **asked)
    walk.feed(data[61:])
    assert walk.finish() == summary
    assert speed.check_records(speed.read_header(data), data, 61).refused == 0


def test_not_more_than_a_hundred_are_named(speed: Any) -> None:
    writer = speed.RecordWriter()
    for number in range(1500):
        writer.append(number, None, None)
    data = writer.pack()
    summary = speed.check_records(speed.read_header(data), data, 61, needs_key=True)
    assert (summary.refused, len(summary.refusals), summary.refusals[-1]) == (1500, 100, (99, 99, True))


def test_the_records_own_times(speed: Any) -> None:
    writer = speed.RecordWriter()
    writer.append(5, None, None)
    data = writer.pack(attributes=0x08, max_timestamp=70)
    head = speed.read_header(data)
    assert speed.check_records(head, data, 61).max_timestamp == 70
    assert speed.check_records(head, data, 61, own_times=True).max_timestamp == 5
    assert speed.open_batch(data, 0, len(data), own_times=True)[1].max_timestamp == 5


def test_opening_looks_at_plain_records_of_producers_only(speed: Any) -> None:
    writer = speed.RecordWriter()
    writer.append(5, b"k", None)
    for attributes in (0x01, 0x20):
        data = writer.pack(attributes=attributes)
        assert speed.open_batch(data, 0, len(data))[1] is None
    gaps = writer.pack(last_offset_delta=4)
    with pytest.raises(InvalidRecordError, match="contradict"):
        speed.open_batch(gaps, 0, len(gaps))
    with pytest.raises(ProtocolError, match="end inside"):
        speed.open_batch(b"", 0, 0)


# ------------------------------------------------------------------------------------------------- writing


def test_the_writer_keeps_within_its_size(speed: Any) -> None:
    writer = speed.RecordWriter(200)
    assert writer.append(1, None, bytes(500))  # the first goes in whatever its size
    assert not writer.append(2, None, b"")
    assert (writer.count, writer.last_offset_delta, writer.max_timestamp) == (1, 0, 1)
    writer.clear()
    assert (writer.count, writer.size, writer.body()) == (0, 61, b"")
    taken = writer.extend([(n, b"k", b"0123456789", [("h", b"v")]) for n in range(20)])
    assert 0 < taken == writer.count < 20
    assert len(writer.pack()) == writer.size <= 200
    assert writer.size + 25 > 200


def test_the_writer_takes_records_and_buffers(speed: Any) -> None:
    writer = speed.RecordWriter()
    taken = writer.extend(
        [
            speed.Record(500, 7, b"k", b"v", [("a", b"b")]),
            (8, bytearray(b"k"), memoryview(b"v"), [("a", memoryview(b"b"))]),
            (9, None, None, None),
            (9, None, None, ()),
        ]
    )
    data = writer.pack(base_offset=3)
    assert taken == 4
    assert speed.decode_records(speed.read_header(data), data, 61) == [
        speed.Record(3, 7, b"k", b"v", [("a", b"b")]),
        speed.Record(4, 8, b"k", b"v", [("a", b"b")]),
        speed.Record(5, 9, None, None, []),
        speed.Record(6, 9, None, None, []),
    ]


def test_the_writer_leaves_gaps(speed: Any) -> None:
    writer = speed.RecordWriter(base_timestamp=1000)
    assert writer.append_at(4, 900, b"k", None)
    assert writer.append_at(90, 1100, b"k", None)
    for delta in (90, 3, -1, 2**31 - 1):
        with pytest.raises(ValueError, match="cannot follow 90"):
            writer.append_at(delta, 0, None, None)
    data = writer.pack(base_offset=10, last_offset_delta=99, attributes=0x40)
    (head,) = speed.scan_batches(data)
    assert (head.base_timestamp, head.max_timestamp, head.next_offset) == (1000, 1100, 110)
    assert [(one.offset, one.timestamp) for one in speed.decode_records(head, data, 61)] == [(14, 900), (100, 1100)]


def test_mistakes_of_the_writer_s_caller(speed: Any) -> None:
    writer = speed.RecordWriter()
    for arguments in ((0, "text", b""), (0, b"", 5), (0, b"", b"", [(b"bytes", b"")]), (0, b"", b"", [("k", "text")])):
        with pytest.raises((TypeError, AttributeError)):
            writer.append(*arguments)
    with pytest.raises(OverflowError):
        writer.append(1 << 63, None, None)
    writer.append(-1, None, None)
    with pytest.raises(OverflowError):
        writer.append((1 << 63) - 1, None, None)
    assert writer.count == 1
    for size in (-1, 1 << 31):
        with pytest.raises((ValueError, OverflowError)):
            speed.RecordWriter(size)
