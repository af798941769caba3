"""Columns packed into batches: the compiled packer does what the plain one says, and what it writes can be read."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau._speed import reference
from moldau._speed.reference import packing
from moldau._speed.reference.packing import BytesBuffers, HeaderBuffers, NoSuchPartition, NumberBuffers
from moldau.client.partitioner import partition_for_key
from moldau.protocol.records import BatchBuilder, Compression, decode_batch, read_header

Row = tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]] | None, int | None]

BYTES = st.none() | st.binary(max_size=12) | st.binary(min_size=60, max_size=300)
HEADERS = st.none() | st.lists(st.tuples(st.text(max_size=4), st.none() | st.binary(max_size=6)), max_size=3)
# Microseconds, as Spark has them: from before the year 1 to after the year 9999.
MOMENTS = st.lists(st.none() | st.integers(-(10**17), 10**18) | st.integers(-2000, 2000), min_size=40, max_size=40)
ROWS = st.lists(st.tuples(BYTES, BYTES, HEADERS, st.none() | st.integers(0, 4)), max_size=40)


@pytest.fixture(scope="session", params=["compiled", "reference"])
def kernel(request: pytest.FixtureRequest) -> Any:
    """(the packer, the writer it fills)"""
    if request.param == "reference":
        return packing.RowPacker, reference.RecordWriter
    return compiled()


def compiled() -> Any:
    pytest.importorskip("moldau._speed.packing", reason="the kernels are not compiled")
    return import_module("moldau._speed.packing").RowPacker, import_module("moldau._speed.writer").RecordWriter


def bits(valid: Sequence[bool], start: int) -> bytes:
    out = bytearray((start + len(valid) + 7) // 8)
    for at, one in enumerate(valid, start):
        out[at >> 3] |= one << (at & 7)
    return bytes(out)


def bytes_column(values: Sequence[bytes | None], start: int) -> BytesBuffers:
    """As a slice that begins at row `start` of a larger column, whose other rows are rubbish."""
    data, offsets = bytearray(b"rubbish"), array("i", [0] * start + [7])
    for value in values:
        data += value or b""
        offsets.append(len(data))
    return BytesBuffers(bits([v is not None for v in values], start), offsets.tobytes(), bytes(data), start)


def header_column(values: Sequence[list[tuple[str, bytes | None]] | None], start: int) -> HeaderBuffers:
    flat = [pair for headers in values for pair in headers or ()]
    offsets, total = array("i", [0] * (start + 1)), 0
    for headers in values:
        total += len(headers or ())
        offsets.append(total)
    keys = bytes_column([key.encode() for key, _ in flat], 1)
    contents = bytes_column([content for _, content in flat], 2)
    valid = bits([headers is not None for headers in values], start)
    return HeaderBuffers(valid, offsets.tobytes(), keys, contents, len(flat), start)


def number_column(values: Sequence[int | None], start: int) -> NumberBuffers:
    numbers = array("i", [99] * start + [-5 if value is None else value for value in values])
    return NumberBuffers(bits([value is not None for value in values], start), numbers.tobytes(), start)


def moment_column(values: Sequence[int | None], start: int) -> NumberBuffers:
    numbers = array("q", [99] * start + [-5 if value is None else value for value in values])
    return NumberBuffers(bits([value is not None for value in values], start), numbers.tobytes(), start)


def columns(rows: Sequence[Row], start: int) -> tuple[Any, ...]:
    keys, values, headers, partitions = (list(each) for each in zip(*rows, strict=True)) if rows else ([], [], [], [])
    return (
        len(rows),
        bytes_column(keys, start),
        bytes_column(values, start),
        header_column(headers, start),
        number_column(partitions, start),
    )


def packed(kernel: Any, given: tuple[Any, ...], count: int, size: int, **how: Any) -> Any:
    """What became of it: (turn, room) and the batches of each partition."""
    packer_type, writer_type = kernel
    packer = packer_type(*given, select=how.get("select"), timestamp=how.get("timestamp"))
    state = packer.assign(count, how.get("sticky") or list(range(count)), 0, how.get("room", 0), how.get("stick", 100))
    batches: list[list[bytes]] = []
    for partition in range(count):
        batches.append([])
        while packer.left(partition):
            writer = writer_type(size)
            assert packer.fill(partition, writer, 1234) == writer.count > 0
            batches[-1].append(writer.pack(producer_id=7, base_sequence=3))
    return state, batches


@settings(max_examples=150, deadline=None)
@given(ROWS, MOMENTS, st.integers(0, 9), st.integers(5, 7), st.integers(61, 2000), st.integers(0, 300), st.randoms())
def test_the_twins_agree(
    rows: list[Row], moments: list[int | None], start: int, count: int, size: int, stick: int, chance: Any
) -> None:
    given_columns = columns(rows, start)
    chosen = [row for row in range(len(rows)) if chance.random() < 0.7]
    timestamp = moment_column(moments[: len(rows)], start)
    for select, stamped in ((None, None), (array("i", chosen).tobytes(), None), (None, timestamp)):
        how = {"select": select, "stick": stick, "sticky": [3, 1], "timestamp": stamped}
        plain = packed((packing.RowPacker, reference.RecordWriter), given_columns, count, size, **how)
        assert packed(compiled(), given_columns, count, size, **how) == plain
        digests = [
            packer(*given_columns, select=select, timestamp=stamped).digest(stick * 0x1234567890ABCDEF % (1 << 64))
            for packer in (packing.RowPacker, compiled()[0])
        ]
        assert digests[0] == digests[1]


def test_a_digest_knows_rows_in_any_order_and_in_any_pieces(kernel: Any) -> None:
    rows: list[Row] = [
        (None, b"v", None, None),
        (b"", b"v", None, None),
        (b"v", None, None, None),
        (b"", b"", [("a", None)], None),
        (b"", b"", [("a", b"")], 1),
        (b"key", b"0123456789", [("a", b"b"), ("c", b"d")], 1),
        (b"key", b"0123456789\0", [("a", b"b"), ("c", b"d")], 1),
        (b"key", b"0123456789", [("a", b"b"), ("c", b"d")], 2),
    ]

    def digest(*rows: Row, seed: int = 5) -> Any:
        return kernel[0](*columns(rows, 3)).digest(seed)

    assert len({digest(row) for row in rows}) == len(rows)
    assert digest(rows[0]) != digest(rows[0], seed=6)
    whole = digest(*rows)
    assert digest(*reversed(rows)) == whole
    pieces = [digest(*rows[:3]), digest(*rows[3:])]
    assert (sum(piece[0] for piece in pieces), sum(piece[1] for piece in pieces) % (1 << 64)) == whole
    assert digest(*rows[:-1], rows[0]) != whole


@settings(max_examples=100, deadline=None)
@given(ROWS, st.integers(0, 9), st.integers(61, 2000))
def test_what_was_packed_is_read_again(rows: list[Row], start: int, size: int) -> None:
    _, batches = packed(compiled(), columns(rows, start), 5, size)
    found = [record for partition in batches for batch in partition for record in decode_batch(batch)]
    assert len(found) == len(rows)
    for partition, content in enumerate(batches):
        records = [record for batch in content for record in decode_batch(batch)]
        said = [(record.key, record.value, list(record.headers)) for record in records]
        named = [row for row in rows if where(row) == partition]
        assert [row for row in said if row[0] is not None] == [
            (row[0], row[1], row[2] or []) for row in named if row[0] is not None
        ]
        assert {record.timestamp for record in records} <= {1234}


def test_rows_with_a_timestamp_of_their_own(kernel: Any) -> None:
    moments = [5_999, None, -1, -1_000, -1_001, 7_000_000, 0]
    wanted = [5, 1234, -1, -1, -2, 7000, 0]
    rows: list[Row] = [(None, b"v", None, 0)] * len(moments)
    for chosen in ([0, 1, 2, 3, 4, 5, 6], [4, 6, 2], [1]):
        select = array("i", chosen).tobytes()
        how = {"select": select, "timestamp": moment_column(moments, 3)}
        _, batches = packed(kernel, columns(rows, 2), 1, 10_000, **how)
        assert [record.timestamp for record in decode_batch(batches[0][0])] == [wanted[row] for row in chosen]
        header = read_header(batches[0][0], 0)
        assert header.base_timestamp == wanted[chosen[0]]
        assert header.max_timestamp == max(wanted[row] for row in chosen)


def test_a_record_that_did_not_fit_does_not_count_among_the_timestamps(kernel: Any) -> None:
    rows: list[Row] = [(None, b"v" * 30, None, 0)] * 3
    timestamp = moment_column([2_000, 1_000, 9_000], 0)
    _, batches = packed(kernel, columns(rows, 0), 1, 61 + 2 * 40, timestamp=timestamp)
    headers = [read_header(batch, 0) for batch in batches[0]]
    assert [(one.count, one.base_timestamp, one.max_timestamp) for one in headers] == [(2, 2, 2), (1, 9, 9)]


def test_timestamps_too_far_apart_for_a_batch(kernel: Any) -> None:
    packer_type, writer_type = kernel
    writer = writer_type(10_000, -(2**63))
    for moments in ([0], [None, 0]):
        packer = packer_type(len(moments), None, None, timestamp=moment_column(moments, 0))
        packer.assign(1, [0], 0, 0, 0)
        with pytest.raises(OverflowError, match="64 bits"):
            packer.fill(0, writer, -5)


def where(row: Row) -> int | None:
    if row[3] is not None:
        return row[3]
    return None if row[0] is None else partition_for_key(row[0], 5)


def test_rows_without_a_key_stay_together_until_there_are_enough(kernel: Any) -> None:
    rows: list[Row] = [(None, b"%050d" % number, None, None) for number in range(10)]
    (turn, room), batches = packed(kernel, columns(rows, 0), 4, 10_000, sticky=[2, 0], room=100, stick=150)
    counts = [[len(decode_batch(batch)) for batch in partition] for partition in batches]
    # 58 bytes each: two while there was room for a hundred, then three at a time, and two that remain.
    assert counts == [[3 + 2], [], [2 + 3], []]
    assert (turn, room) == (1, 150 - 2 * 58)
    keyed = kernel[0](3, bytes_column([b"a", b"b", b"c"], 0), None)
    keyed.assign(4, [2], 0, 0, 100, by_key=False)
    assert [keyed.left(partition) for partition in range(4)] == [0, 0, 3, 0]


def test_a_batch_that_has_records_takes_more(kernel: Any) -> None:
    packer_type, writer_type = kernel
    writer = writer_type(10_000)
    writer.append(1000, b"first", None, None)
    for value in (b"second", b"third"):
        packer = packer_type(1, None, bytes_column([value], 3))
        packer.assign(1, [0], 0, 0, 0)
        assert packer.fill(0, writer, 2000) == 1
        assert packer.left(0) == 0
        assert packer.fill(0, writer, 2000) == 0
    records = decode_batch(writer.pack())
    assert [(record.offset, record.timestamp, record.key, record.value) for record in records] == [
        (0, 1000, b"first", None),
        (1, 2000, None, b"second"),
        (2, 2000, None, b"third"),
    ]


def test_a_record_larger_than_the_limit_has_a_batch_of_its_own(kernel: Any) -> None:
    rows: list[Row] = [(None, b"s", None, 0), (None, b"l" * 500, None, 0), (None, b"s", None, 0)]
    _, batches = packed(kernel, columns(rows, 0), 1, 100)
    assert [[len(record.value or b"") for record in decode_batch(batch)] for batch in batches[0]] == [[1], [500], [1]]


def test_a_compressed_batch(kernel: Any) -> None:
    builder = BatchBuilder(10_000)
    if not isinstance(builder, kernel[1]):
        pytest.skip("batches are built by the other twin")
    packer = kernel[0](2, bytes_column([b"k", None], 0), bytes_column([b"v" * 1000, None], 0))
    packer.assign(1, [0], 0, 0, 0)
    assert packer.fill(0, builder, 5) == 2
    data = builder.build(compression=Compression.LZ4)
    assert len(data) < 500
    assert [(record.key, record.value) for record in decode_batch(data)] == [(b"k", b"v" * 1000), (None, None)]


def test_a_partition_that_is_not_there(kernel: Any) -> None:
    for wrong in (4, -1):
        packer = kernel[0](3, None, None, None, number_column([1, wrong, 2], 2))
        with pytest.raises(NoSuchPartition) as refused:
            packer.assign(4, [0], 0, 0, 0)
        assert (refused.value.partition, refused.value.count) == (wrong, 4)
        with pytest.raises(ValueError, match="not been assigned"):
            packer.left(0)


GOOD = bytes_column([b"one", None, b"three"], 1)
NAMES = bytes_column([b"a", None], 0)


@pytest.mark.parametrize(
    "given",
    [
        (3, GOOD._replace(offsets=GOOD.offsets[:-4]), None),
        (3, GOOD._replace(data=GOOD.data[:-1]), None),
        (3, GOOD._replace(validity=b""), None),
        (3, GOOD._replace(start=2), None),
        (3, GOOD._replace(start=-1), None),
        (3, GOOD._replace(start=2**62), None),
        (3, None, GOOD._replace(offsets=array("i", [0, 7, 5, 5, 9]).tobytes())),
        (3, None, GOOD._replace(offsets=array("i", [0, -1, 5, 5, 9]).tobytes())),
        (-1, None, None),
        (2**31, None, None),
        (3, None, None, None, NumberBuffers(None, bytes(11))),
        (3, None, None, None, NumberBuffers(b"\x01", bytes(80), 9)),
        (3, None, None, None, None, None, NumberBuffers(None, bytes(23))),
        (3, None, None, None, None, None, NumberBuffers(None, bytes(24), 1)),
        (3, None, None, None, None, None, NumberBuffers(None, bytes(24), -1)),
        (3, None, None, None, None, None, NumberBuffers(b"\x01", bytes(160), 9)),
        (1, None, None, HeaderBuffers(None, array("i", [0, 3]).tobytes(), GOOD, GOOD, 2)),
        (1, None, None, HeaderBuffers(None, array("i", [0, 2]).tobytes(), NAMES, GOOD, 2)),
        (1, None, None, HeaderBuffers(None, array("i", [0, 2]).tobytes(), GOOD, NAMES, -1)),
        (1, None, None, HeaderBuffers(None, b"", GOOD, GOOD, 0)),
        (3, GOOD, GOOD, None, None, array("i", [0, 3]).tobytes()),
        (3, GOOD, GOOD, None, None, array("i", [-1]).tobytes()),
    ],
)
def test_buffers_that_contradict_themselves(kernel: Any, given: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match=r"column|selected|header"):
        kernel[0](*given)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(-2, 12),
    st.lists(st.integers(-(2**31), 2**31 - 1) | st.integers(0, 30), max_size=14),
    st.binary(max_size=3) | st.none(),
    st.binary(max_size=30),
    st.integers(-2, 14),
)
def test_random_buffers_are_refused_by_both_or_by_none(
    rows: int, offsets: list[int], validity: bytes | None, data: bytes, start: int
) -> None:
    column = BytesBuffers(validity, array("i", offsets).tobytes(), data, start)
    outcomes = []
    for kernel in ((packing.RowPacker, reference.RecordWriter), compiled()):
        try:
            outcomes.append(packed(kernel, (rows, column, column), 3, 500))
        except ValueError:
            outcomes.append("refused")
    assert outcomes[0] == outcomes[1]
