"""The kernel of compaction: what it keeps, what it drops, and that both twins write the same bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau._speed import decode_records, scan_batches
from moldau.errors import ProtocolError
from moldau.protocol.records import encode_batch

SEED = bytes(range(16))
NOW = 1_700_000_000_000
OPTIONS = {"now_ms": NOW, "delete_retention_ms": 1000, "index_interval": 64}


def batch(base: int, *pairs: tuple[bytes | None, bytes | None], timestamp: int = 5, **fields: Any) -> bytes:
    records = [(timestamp + index, key, value, ()) for index, (key, value) in enumerate(pairs)]
    return encode_batch(records, base_offset=base, **fields)


def indexed(speed: Any, data: bytes, *, limit: int = 100, first_offset: int = 0) -> Any:
    found = speed.OffsetMap(200, limit, SEED)
    assert found.index_batches(data, 0, len(data), first_offset) == len(data)
    return found


def cleaned(speed: Any, data: bytes, *, kept: Any = (), latest: int | None = None, **options: Any) -> Any:
    known = indexed(speed, data)
    latest = scan_batches(data)[-1].last_offset if latest is None else latest
    part = speed.BatchFilter(known, latest, kept, **{**OPTIONS, **options})
    assert part.add_batches(data, 0, len(data)) == len(data)
    return part


def content(data: bytes) -> list[tuple[int, bytes | None, bytes | None]]:
    found, position = [], 0
    for header in scan_batches(data):
        records = decode_records(header, data, position + 61, position + header.size)
        found += [(record.offset, record.key, record.value) for record in records]
        position += header.size
    return found


def test_the_latest_offset_of_a_key_counts(speed):
    known = speed.OffsetMap(8, 2, SEED)
    assert known.put(b"a", 3)
    assert known.put(b"a", 1)
    assert known.put(b"b", 4)
    assert not known.put(b"c", 5)
    assert known.put(b"a", 9)
    assert (known.get(b"a"), known.get(b"b"), known.get(b"c"), known.size) == (9, 4, -1, 2)
    known.close()
    assert (known.get(b"a"), known.put(b"a", 1), known.size) == (-1, False, 0)


def test_a_map_that_is_full_stops_before_the_batch_that_was_too_much(speed):
    first, second = batch(0, (b"a", b"1"), (b"b", b"1")), batch(2, (b"a", b"2"), (b"c", b"1"))
    known = speed.OffsetMap(10, 2, SEED)
    assert known.index_batches(first + second, 0, len(first + second), 0) == len(first)
    assert known.full


def test_only_records_from_the_first_dirty_offset_on_are_entered(speed):
    known = indexed(speed, batch(0, (b"a", b"1"), (b"b", b"1")), first_offset=1)
    assert (known.get(b"a"), known.get(b"b")) == (-1, 1)


@pytest.mark.parametrize("fields", [{"is_transactional": True, "producer_id": 1}, {"compression": 1}])
def test_runs_stop_at_a_special_batch(speed, fields):
    first, special = batch(0, (b"a", b"1")), batch(1, (b"b", b"1"), **fields)
    data = first + special
    assert speed.OffsetMap(10, 5, SEED).index_batches(data, 0, len(data), 0) == len(first)
    part = speed.BatchFilter(speed.OffsetMap(10, 5, SEED), 1, (), **OPTIONS)
    assert part.add_batches(data, 0, len(data)) == len(first)


def test_a_batch_that_is_cut_off_waits_for_its_rest(speed):
    data = batch(0, (b"a", b"1")) + batch(1, (b"b", b"1"))
    part = speed.BatchFilter(speed.OffsetMap(10, 5, SEED), -1, (), **OPTIONS)
    first = scan_batches(data)[0].size
    for end in range(first, len(data)):
        assert part.add_batches(data, first, end) == first
    assert part.add_batches(data, 0, len(data)) == len(data)


def test_damage_is_refused(speed):
    data = bytearray(batch(0, (b"a", b"1")) + batch(1, (b"b", b"1")))
    data[-1] ^= 1
    with pytest.raises(ProtocolError, match="checksum"):
        speed.OffsetMap(10, 5, SEED).index_batches(data, 0, len(data), 0)
    part = speed.BatchFilter(speed.OffsetMap(10, 5, SEED), -1, (), **OPTIONS)
    with pytest.raises(ProtocolError, match="checksum"):
        part.add_batches(data, 0, len(data))


def test_replaced_records_go_and_offsets_stay(speed):
    data = batch(10, (b"a", b"1"), (b"b", b"1"), (b"a", b"2"), producer_id=7, producer_epoch=1, base_sequence=4)
    data += batch(13, (b"b", b"2"))
    part = cleaned(speed, data)
    out = bytes(part.take()[0])
    assert content(out) == [(12, b"a", b"2"), (13, b"b", b"2")]
    first = scan_batches(out)[0]
    assert (first.base_offset, first.last_offset, first.last_sequence, first.count) == (10, 12, 6, 1)
    assert (part.records_read, part.records_kept) == (4, 2)


def test_a_batch_nothing_is_left_of_goes_unless_it_must_stay(speed):
    data = batch(0, (b"a", b"1"), producer_id=7, producer_epoch=1, base_sequence=4) + batch(1, (b"a", b"2"))
    assert [header.base_offset for header in scan_batches(bytes(cleaned(speed, data).take()[0]))] == [1]
    kept = scan_batches(bytes(cleaned(speed, data, kept=[0]).take()[0]))
    assert [(header.base_offset, header.count, header.size) for header in kept] == [(0, 0, 61), (1, 1, len(data) // 2)]
    assert (kept[0].last_sequence, kept[0].max_timestamp) == (4, 5)


def test_records_without_a_key_go_and_records_behind_the_map_stay(speed):
    data = batch(0, (None, b"1"), (b"a", b"1"), (None, b"2"), (b"a", b"2"))
    part = cleaned(speed, data, latest=1)
    assert content(bytes(part.take()[0])) == [(2, None, b"2"), (3, b"a", b"2")]


def test_a_tombstone_gets_a_horizon_and_goes_when_it_is_reached(speed):
    data = batch(0, (b"a", b"1"), (b"a", None), (b"b", b"1"))
    marked = bytes(cleaned(speed, data).take()[0])
    (header,) = scan_batches(marked)
    assert header.has_delete_horizon
    assert (header.base_timestamp, header.max_timestamp) == (NOW + 1000, 7)
    assert [record.timestamp for record in decode_records(header, marked, 61)] == [6, 7]
    assert content(marked) == [(1, b"a", None), (2, b"b", b"1")]
    again = bytes(cleaned(speed, marked, now_ms=NOW + 999).take()[0])
    assert again == marked
    assert content(bytes(cleaned(speed, marked, now_ms=NOW + 1000).take()[0])) == [(2, b"b", b"1")]


def test_one_batch_by_decision(speed):
    data = batch(0, (b"a", b"1"), is_transactional=True, producer_id=1, producer_epoch=0, base_sequence=0)

    def one(**decision: bool) -> list[Any]:
        part = speed.BatchFilter(speed.OffsetMap(10, 5, SEED), 100, (), **OPTIONS)
        part.add_batch(data, 0, len(data), **decision)
        return scan_batches(bytes(part.take()[0]))

    assert [header.count for header in one()] == [1]
    assert one(discard=True) == []
    assert [(header.count, header.is_transactional) for header in one(discard=True, keep_empty=True)] == [(0, True)]
    (horizon,) = one(keep_records=True, set_horizon=True)
    assert horizon.has_delete_horizon


def test_marks_lead_to_batches(speed):
    data = b"".join(batch(base, (b"k%d" % base, b"v" * 20), timestamp=base) for base in range(6))
    part = cleaned(speed, data)
    out, marks = part.take()
    assert len(marks) == 5
    for mark in marks:
        header = scan_batches(bytes(out)[mark.position :])[0]
        assert (header.last_offset, header.max_timestamp) == (mark.last_offset, mark.max_timestamp)
    assert part.take()[1] == []


KEYS = st.none() | st.sampled_from([b"", b"a", b"b", b"c" * 20])
VALUES = st.none() | st.binary(max_size=12)
BATCHES = st.lists(
    st.tuples(
        st.lists(st.tuples(st.integers(-5, 2**41), KEYS, VALUES, st.just(())), min_size=1, max_size=5),
        st.fixed_dictionaries(
            {},
            optional={
                "timestamp_type": st.just(1),
                "has_delete_horizon": st.booleans(),
                "producer_id": st.integers(0, 3),
                "base_sequence": st.integers(0, 2**31 - 1),
            },
        ),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=150, deadline=None)
@given(BATCHES, st.integers(0, 12), st.integers(0, 20), st.integers(0, 2**42), st.integers(1, 6), st.data())
def test_both_twins_write_the_same(compiled, batches, first_offset, latest, now, limit, draw):
    from moldau._speed import reference

    data, offset = b"", 0
    for records, fields in batches:
        data += encode_batch(records, base_offset=offset, **fields)
        offset += len(records)
    flips = draw.draw(st.lists(st.integers(0, len(data) - 1), max_size=1))
    damaged = bytearray(data)
    for flip in flips:
        damaged[flip] ^= 0x10

    def run(speed: Any) -> Any:
        try:
            known = speed.OffsetMap(16, limit, SEED)
            position = known.index_batches(damaged, 0, len(damaged), first_offset)
            options = {"now_ms": now, "delete_retention_ms": 10, "index_interval": 100}
            part = speed.BatchFilter(known, latest, [1, 4], **options)
            end = part.add_batches(damaged, 0, len(damaged))
            output, marks = part.take()
            counted = (part.position, part.last_offset, part.max_timestamp, part.max_timestamp_offset)
            return position, known.size, known.full, end, bytes(output), marks, counted, part.records_kept
        except ProtocolError as error:
            return type(error), str(error)

    assert run(compiled) == run(reference)
