"""Record batches as Arrow-style columns."""

from __future__ import annotations

from array import array
from itertools import pairwise
from typing import Any

import pytest

from moldau.errors import InvalidRecordError


def batch(speed: Any, rows: list[tuple[Any, ...]], **fields: Any) -> tuple[Any, bytes]:
    writer = speed.RecordWriter()
    writer.extend(rows)
    data = writer.pack(**fields)
    return speed.read_header(data), data


def numbers(view: memoryview, code: str) -> list[int]:
    values = array(code)
    values.frombytes(view)
    return values.tolist()


def texts(validity: memoryview | None, offsets: memoryview, data: memoryview) -> list[bytes | None]:
    ends = numbers(offsets, "i")
    assert ends[0] == 0
    assert ends[-1] == len(data)
    return [
        bytes(data[start:end]) if validity is None or validity[row >> 3] >> (row & 7) & 1 else None
        for row, (start, end) in enumerate(pairwise(ends))
    ]


ROWS = [
    (100, b"k1", b"value one", [("h", b"x"), ("n", None)]),
    (101, None, b"", []),
    (99, b"", None, [("only", b"")]),
] * 5


def test_one_batch(speed: Any) -> None:
    header, data = batch(speed, ROWS, base_offset=50)
    builder = speed.ColumnBuilder(headers=True)
    assert builder.append(header, data, 61) == len(ROWS) == builder.rows
    columns = builder.finish()
    assert columns.rows == 15
    assert numbers(columns.offset, "q") == list(range(50, 65))
    assert numbers(columns.timestamp, "q") == [row[0] for row in ROWS]
    assert texts(columns.key_validity, columns.key_offsets, columns.key_data) == [row[1] for row in ROWS]
    assert texts(columns.value_validity, columns.value_offsets, columns.value_data) == [row[2] for row in ROWS]
    heads = columns.headers
    keys = texts(None, heads.key_offsets, heads.key_data)
    values = texts(heads.value_validity, heads.value_offsets, heads.value_data)
    ends = numbers(heads.offsets, "i")
    for row, (start, end) in zip(ROWS, pairwise(ends), strict=True):
        assert [(key.decode(), value) for key, value in zip(keys[start:end], values[start:end], strict=True)] == row[3]


def test_many_batches_become_one_set(speed: Any) -> None:
    builder = speed.ColumnBuilder()
    expected = []
    for number in range(40):
        rows = [(n, b"%d" % n, bytes(number), []) for n in range(number % 7)]
        if rows:
            header, data = batch(speed, rows, base_offset=number * 10)
            assert builder.append(header, data, 61, len(data)) == len(rows)
            expected += [(number * 10 + n, b"%d" % n, bytes(number)) for n in range(len(rows))]
    assert builder.size == sum(len(key) + len(value) for _, key, value in expected)
    columns = builder.finish()
    assert columns.headers is None
    assert numbers(columns.offset, "q") == [offset for offset, _, _ in expected]
    assert texts(columns.key_validity, columns.key_offsets, columns.key_data) == [key for _, key, _ in expected]
    assert texts(columns.value_validity, columns.value_offsets, columns.value_data) == [
        value for _, _, value in expected
    ]


def test_only_the_offsets_asked_for(speed: Any) -> None:
    header, data = batch(speed, ROWS, base_offset=50)
    builder = speed.ColumnBuilder(headers=True)
    assert builder.append(header, data, 61, first_offset=53, end_offset=57) == 4
    assert builder.append(header, data, 61, first_offset=65) == 0
    columns = builder.finish()
    assert numbers(columns.offset, "q") == [53, 54, 55, 56]
    assert len(numbers(columns.headers.offsets, "i")) == 5


def test_the_broker_s_time(speed: Any) -> None:
    header, data = batch(speed, ROWS, attributes=0x08, max_timestamp=777)
    builder = speed.ColumnBuilder()
    builder.append(header, data, 61)
    assert set(numbers(builder.finish().timestamp, "q")) == {777}


def test_a_damaged_batch_leaves_no_trace(speed: Any) -> None:
    header, data = batch(speed, ROWS)
    builder = speed.ColumnBuilder(headers=True)
    builder.append(header, data, 61)
    sound = builder.finish()
    builder.append(header, data, 61)
    for end in range(70, len(data)):
        with pytest.raises(InvalidRecordError):
            builder.append(header, data, 61, end)
        assert builder.rows == len(ROWS)
    assert builder.finish() == sound
    builder.append(header, data, 61)
    with pytest.raises(InvalidRecordError):
        builder.append(header, data, 61, len(data) - 1)
    builder.append(*batch(speed, [(1, None, None, [])] * 20), 61)
    columns = builder.finish()
    assert texts(columns.key_validity, columns.key_offsets, columns.key_data)[15:] == [None] * 20


def test_nothing(speed: Any) -> None:
    builder = speed.ColumnBuilder(headers=True)
    columns = builder.finish()
    assert columns.rows == 0
    assert numbers(columns.key_offsets, "i") == numbers(columns.headers.offsets, "i") == [0]
    assert not any(map(len, (columns.offset, columns.key_validity, columns.key_data, columns.headers.key_data)))


def test_buffers_outlive_the_builder(speed: Any) -> None:
    header, data = batch(speed, ROWS)
    builder = speed.ColumnBuilder()
    builder.append(header, data, 61)
    columns = builder.finish()
    before = bytes(columns.value_data)
    builder.append(*batch(speed, [(0, None, b"other" * 50, [])] * 9), 61)
    builder.finish()
    del builder
    assert columns.value_data == before
    assert columns.value_data.readonly


def test_columns_nobody_wants_are_left_out(speed: Any) -> None:
    header, data = batch(speed, ROWS, base_offset=50)
    for keys, values in ((True, False), (False, True), (False, False)):
        builder = speed.ColumnBuilder(keys=keys, values=values)
        builder.append(header, data, 61)
        assert builder.size == sum(keys * len(row[1] or b"") + values * len(row[2] or b"") for row in ROWS)
        columns = builder.finish()
        assert numbers(columns.offset, "q") == list(range(50, 65))
        for wanted, number, buffers in ((keys, 1, columns[3:6]), (values, 2, columns[6:9])):
            if wanted:
                assert texts(*buffers) == [row[number] for row in ROWS]
            else:
                assert [len(each) for each in buffers] == [0, 0, 0]


def test_microseconds(speed: Any) -> None:
    furthest = 2**63 - 1
    rows = [(time, None, None, []) for time in (1_700_000_000_123, -1, 0, furthest // 1000, furthest // 1000 + 1)]
    header, data = batch(speed, rows)
    builder = speed.ColumnBuilder(microseconds=True)
    builder.append(header, data, 61)
    assert numbers(builder.finish().timestamp, "q") == [
        1_700_000_000_123_000,
        -1000,
        0,
        furthest // 1000 * 1000,
        furthest,
    ]
