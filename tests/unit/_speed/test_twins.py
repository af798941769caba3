"""The compiled kernels do what the plain ones say, on sound and on damaged bytes, and refuse with the same words."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from itertools import pairwise
from struct import pack_into
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from moldau._speed import reference
from moldau._speed.layout import HEADER
from moldau.errors import ProtocolError

# The difference of any two fits 64 bits, as a batch needs it.
INT64 = st.integers(-(2**62) + 1, 2**62 - 1) | st.integers(0, 300) | st.just(-1)
BYTES = st.none() | st.binary(max_size=20) | st.binary(min_size=60, max_size=300)
HEADERS = st.lists(st.tuples(st.text(max_size=4), st.none() | st.binary(max_size=6)), max_size=3)
RECORDS = st.lists(st.tuples(INT64, BYTES, BYTES, HEADERS), min_size=1, max_size=12)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "base_offset": st.integers(0, 2**40),
        "partition_leader_epoch": st.integers(-1, 2**31 - 1),
        "attributes": st.sampled_from([0x00, 0x08, 0x10, 0x20, 0x48, 0x02]),
        "last_offset_delta": st.integers(0, 40),
        "max_timestamp": INT64,
        "producer_id": st.integers(-1, 2**63 - 1),
        "producer_epoch": st.integers(-1, 2**15 - 1),
        "base_sequence": st.integers(-1, 2**31 - 1),
    },
)

# Where damage is likely to matter: sizes, counts, offsets of the header, and the first records.
EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("byte"), st.integers(0, 160), st.integers(0, 255)),
        st.tuples(st.just("count"), st.sampled_from([8, 23, 57]), st.sampled_from([-1, 0, 1, 5, 100, 2**31 - 1])),
        st.tuples(st.just("cut"), st.integers(0, 80), st.just(0)),
        st.tuples(st.just("more"), st.integers(0, 200), st.integers(1, 30)),
    ),
    max_size=4,
)


def plain(value: Any) -> Any:
    """Results of either twin as built-in values."""
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, tuple):
        return tuple(plain(one) for one in value)
    if isinstance(value, memoryview):
        return bytes(value)
    fields = {"BatchHeader": "crc", "Record": "key", "RecordsSummary": "records"}
    if type(value).__name__ in fields:
        return repr(value)
    return value


def outcome(job: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    try:
        return plain(job(*arguments, **options))
    except ProtocolError as error:
        return type(error), str(error)
    except OverflowError:
        return OverflowError


def written(speed: Any, records: list[Any], fields: dict[str, int]) -> bytes:
    writer = speed.RecordWriter()
    writer.extend(records)
    packed: bytes = writer.pack(**fields)
    return packed


def damaged(data: bytes, edits: list[tuple[str, int, int]]) -> bytearray:
    out = bytearray(data)
    for kind, where, what in edits:
        if kind == "byte" and out:
            out[where % len(out)] = what
        elif kind == "count" and len(out) >= where + 4:
            pack_into(">i", out, where, what)
        elif kind == "cut":
            del out[len(out) - where :]
        elif kind == "more":
            out[where:where] = bytes(what)
    return out


def both(compiled: Any, name: str, data: bytearray, *arguments: Any, **options: Any) -> None:
    """The same result, and the same bytes afterwards."""
    left, right = bytearray(data), bytearray(data)
    expected = outcome(getattr(reference, name), right, *arguments, **options)
    assert outcome(getattr(compiled, name), left, *arguments, **options) == expected
    assert left == right


def columns(speed: Any, header: Any, data: bytearray, first: int, last: int, **wanted: bool) -> Any:
    builder = speed.ColumnBuilder(**wanted)
    added = [
        outcome(builder.append, header, data, 61),
        outcome(builder.append, header, data, 61, first_offset=first, end_offset=last),
    ]
    return added, builder.rows, builder.size, plain(builder.finish())


@given(records=RECORDS, fields=FIELDS)
@settings(max_examples=80, deadline=None)
def test_writers_agree(compiled: Any, records: list[Any], fields: dict[str, int]) -> None:
    assert written(compiled, records, fields) == written(reference, records, fields)
    left, right = compiled.RecordWriter(400), reference.RecordWriter(400)
    assert left.extend(records) == right.extend(records)
    assert left.body() == right.body()
    for name in ("count", "size", "last_offset_delta", "base_timestamp", "max_timestamp"):
        assert getattr(left, name) == getattr(right, name)


@given(
    batches=st.lists(st.tuples(RECORDS, FIELDS), min_size=1, max_size=3),
    edits=EDITS,
    fix_crc=st.booleans(),
    offset=st.integers(0, 2**63 - 1),
)
@settings(max_examples=150, deadline=None)
def test_walks_over_batches_agree(
    compiled: Any, batches: list[Any], edits: list[tuple[str, int, int]], fix_crc: bool, offset: int
) -> None:
    data = damaged(b"".join(written(reference, records, fields) for records, fields in batches), edits)
    if fix_crc and len(data) > 61:
        size = int.from_bytes(data[8:12], "big", signed=True) + 12
        if 61 <= size <= len(data):
            pack_into(">I", data, 17, reference.crc32c(data, 21, size))
    both(compiled, "read_header", data)
    for check_crc in (True, False):
        for allow_partial in (True, False):
            both(compiled, "scan_batches", data, check_crc=check_crc, allow_partial=allow_partial)
    both(compiled, "assign_offsets", data, 0, len(data), offset, 7)
    both(compiled, "assign_offsets", data, 0, len(data), 5, 7, append_time=offset)
    both(compiled, "set_max_timestamp", data, 0, 1, offset)
    both(compiled, "set_max_timestamp", data, 0, 0, offset)


@given(
    records=RECORDS,
    fields=FIELDS,
    edits=EDITS,
    count=st.none() | st.integers(-1, 30),
    first=st.integers(0, 12),
    last=st.integers(0, 12) | st.just(2**63 - 1),
)
@settings(max_examples=200, deadline=None)
def test_walks_over_records_agree(
    compiled: Any,
    records: list[Any],
    fields: dict[str, int],
    edits: list[tuple[str, int, int]],
    count: int | None,
    first: int,
    last: int,
) -> None:
    sound = written(reference, records, fields)
    data = bytearray(sound[:61]) + damaged(sound[61:], edits)
    if count is not None:
        pack_into(">i", data, 57, count)
    values = HEADER.unpack_from(data)
    left, right = compiled.BatchHeader(*values), reference.BatchHeader(*values)
    assert repr(left) == repr(right)
    for name in ("decode_records", "check_records"):
        assert outcome(getattr(compiled, name), left, data, 61) == outcome(getattr(reference, name), right, data, 61)
    for consecutive in (True, False):
        options = {"consecutive": consecutive}
        expected = outcome(reference.check_records, right, data, 61, **options)
        assert outcome(compiled.check_records, left, data, 61, **options) == expected
    asked = {"needs_key": bool(first % 2), "earliest": -5, "latest": 200, "own_times": bool(last % 2)}
    expected = outcome(reference.check_records, right, data, 61, **asked)
    assert outcome(compiled.check_records, left, data, 61, **asked) == expected
    base = right.base_offset
    names = ("headers", "keys", "values", "microseconds")
    for flags in ((1, 1, 1, 0), (0, 1, 1, 0), (0, 0, 1, 1), (0, 1, 0, 0), (1, 0, 0, 1)):
        wanted = dict(zip(names, map(bool, flags), strict=True))
        expected = columns(reference, right, data, base + first, min(base + last, 2**63 - 1), **wanted)
        assert columns(compiled, left, data, base + first, min(base + last, 2**63 - 1), **wanted) == expected


def walked(speed: Any, header: Any, body: bytes, cuts: list[int], **asked: Any) -> Any:
    """The records in windows that end at `cuts`."""
    walk = speed.RecordWalk(header, **asked)
    places = sorted({cut % (len(body) + 1) for cut in cuts} | {0, len(body)})
    for start, end in pairwise(places):
        walk.feed(memoryview(body)[start:end])
    return walk.finish()


@given(
    records=RECORDS,
    edits=EDITS,
    count=st.none() | st.integers(-1, 30),
    cuts=st.lists(st.integers(0, 700), max_size=12),
    step=st.none() | st.integers(1, 9),
    consecutive=st.booleans(),
    needs_key=st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_windows_do_not_matter(
    compiled: Any,
    records: list[Any],
    edits: list[tuple[str, int, int]],
    count: int | None,
    cuts: list[int],
    step: int | None,
    consecutive: bool,
    needs_key: bool,
) -> None:
    """However the records are cut, both twins find in the windows what they find in one piece."""
    sound = bytearray(written(reference, records, {}))
    body = bytes(damaged(sound[61:], edits))
    if count is not None:
        pack_into(">i", sound, 57, count)
        pack_into(">i", sound, 23, max(count - 1, 0))
    if step is not None:
        cuts = list(range(0, len(body), step))
    values = HEADER.unpack_from(sound)
    left, right = compiled.BatchHeader(*values), reference.BatchHeader(*values)
    asked = {"consecutive": consecutive, "needs_key": needs_key, "earliest": -5, "latest": 200}
    expected = outcome(walked, reference, right, body, cuts, **asked)
    assert outcome(walked, compiled, left, body, cuts, **asked) == expected
    whole = outcome(reference.check_records, right, body, **asked)
    if isinstance(whole, str):
        assert expected == whole
    else:
        assert issubclass(expected[0], ProtocolError)


@given(records=RECORDS, fields=FIELDS, edits=EDITS, fix_crc=st.booleans(), front=st.integers(0, 5))
@settings(max_examples=300, deadline=None)
def test_opened_batches_agree(
    compiled: Any,
    records: list[Any],
    fields: dict[str, int],
    edits: list[tuple[str, int, int]],
    fix_crc: bool,
    front: int,
) -> None:
    data = damaged(written(reference, records, fields), edits)
    size = int.from_bytes(data[8:12], "big", signed=True) + 12 if len(data) > 61 else 0
    if fix_crc and 61 <= size <= len(data):
        pack_into(">I", data, 17, reference.crc32c(data, 21, size))
    data[:0] = bytes(front)
    asked = {"needs_key": front % 2 == 0, "earliest": -5, "latest": 200, "own_times": front > 2}
    both(compiled, "open_batch", data, front, len(data), **asked)


def test_a_batch_of_many_strides_is_opened_whole(compiled: Any) -> None:
    """Checksum and records are taken in turns; a record at fault anywhere is found, and a wrong checksum goes first."""
    data = bytearray(written(reference, [(n, b"k" if n != 4321 else None, bytes(90), []) for n in range(5000)], {}))
    header, summary = compiled.open_batch(data, 0, len(data), needs_key=True, latest=4900)
    assert (header.count, summary.records, summary.refused) == (5000, 5000, 100)
    assert (summary.refusals[0], summary.refusals[1]) == ((4321, 4321, True), (4901, 4901, False))
    data[-1] ^= 1
    assert outcome(compiled.open_batch, data, 0, len(data))[1].startswith("the record batch does not fit its checksum")
    pack_into(">I", data, 17, reference.crc32c(data, 21))
    assert outcome(compiled.open_batch, data, 0, len(data)) == outcome(reference.open_batch, data, 0, len(data))


@given(data=st.binary(max_size=400), count=st.integers(0, 60))
@settings(max_examples=200, deadline=None)
def test_random_bytes_agree(compiled: Any, data: bytes, count: int) -> None:
    both(compiled, "read_header", bytearray(data))
    both(compiled, "scan_batches", bytearray(data))
    values = (0, 0, 0, 2, 0, 0, 2**31 - 2, 0, 0, -1, -1, -1, count)
    left, right = compiled.BatchHeader(*values), reference.BatchHeader(*values)
    for name in ("decode_records", "check_records"):
        assert outcome(getattr(compiled, name), left, data) == outcome(getattr(reference, name), right, data)


def test_the_faces_are_the_same(compiled: Any) -> None:
    """Every function and class of the specification has a twin with the same public methods and properties."""
    data_only = {"Columns", "HeaderColumns", "Header", "Mark", "RecordData"}
    for name in set(reference.__all__) - data_only:
        ours, theirs = getattr(compiled, name), getattr(reference, name)
        assert ours is not theirs
        if isinstance(theirs, type):
            public = {attribute for attribute in dir(theirs) if not attribute.startswith("_")}
            assert public <= set(dir(ours)), name
        else:
            assert list(signature(ours).parameters) == list(signature(theirs).parameters), name
