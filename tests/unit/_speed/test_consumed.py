"""Records as consumers see them, and the twin: the same from the same bytes."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from moldau import _speed
from moldau._speed import reference as plain
from moldau._speed.reference import consumed as reference
from moldau.errors import ProtocolError
from moldau.protocol.records import encode_batch

consumed = pytest.importorskip("moldau._speed.consumed")

RECORDS = some.lists(
    some.tuples(
        some.integers(0, 1 << 40),
        some.none() | some.binary(max_size=20),
        some.none() | some.binary(max_size=40),
        some.lists(some.tuples(some.text(max_size=5), some.none() | some.binary(max_size=5)), max_size=3),
    ),
    min_size=1,
    max_size=20,
)


def taken(kind: Any, speed: Any, batch: bytes, first: int, steps: list[int]) -> list[list[tuple[Any, ...]]]:
    header = speed.read_header(batch)
    cursor = kind.BatchCursor(header, batch, 61, len(batch), "rivers", 3, first)
    found = [[tuple(record) for record in cursor.take(step)] for step in steps]
    found.append([tuple(record) for record in cursor.take(1000)])
    assert cursor.done
    return found


@given(RECORDS, some.integers(0, 25), some.lists(some.integers(1, 7), max_size=4))
def test_the_twins_agree(records: Any, first: int, steps: list[int]) -> None:
    batch = encode_batch(records, base_offset=5, partition_leader_epoch=9)
    found = taken(consumed, _speed, batch, first, steps)
    assert found == taken(reference, plain, batch, first, steps)
    flat = [record for part in found for record in part]
    assert [record[3] for record in flat] == list(range(max(first, 5), 5 + len(records)))
    assert all(record[:3] == ("rivers", 3, 9) for record in flat)


@pytest.mark.parametrize(("kind", "speed"), [(consumed, _speed), (reference, plain)], ids=["compiled", "reference"])
def test_damage_is_noticed_and_deserializers_may_fail(kind: Any, speed: Any) -> None:
    batch = encode_batch([(0, b"k", b"1", []), (0, None, b"x", [])])
    header = speed.read_header(batch)
    with pytest.raises(ProtocolError):
        kind.BatchCursor(header, batch[:-3], 61, len(batch) - 3, "t", 0, 0).take(10)
    cursor = kind.BatchCursor(header, batch, 61, len(batch), "t", 0, 0, None, int)
    assert cursor.take(1)[0].value == 1
    with pytest.raises(ValueError, match="invalid literal"):
        cursor.take(1)


@pytest.mark.parametrize("kind", [consumed, reference], ids=["compiled", "reference"])
def test_applications_can_make_records_for_their_own_tests(kind: Any) -> None:
    record = kind.ConsumerRecord("t", 0, -1, 5, 6, 0, b"k", b"v")
    assert record == ("t", 0, -1, 5, 6, 0, b"k", b"v", (), None, -1, -1, -1)
    assert isinstance(record, tuple)
    assert record._replace(value=b"w").value == b"w"
    assert record[3] == record.offset == 5
    assert "value=b'v'" in repr(record)


def test_records_are_nothing_to_the_garbage_collector() -> None:
    """Thousands of them per poll would make it run again and again, over all of them."""
    batch = encode_batch([(0, b"k", b"1", []), (0, None, b"x", [("h", b"y")])])
    for record in consumed.BatchCursor(_speed.read_header(batch), batch, 61, len(batch), "t", 0, 0).take(10):
        assert not gc.is_tracked(record)
        assert not gc.is_tracked(record.headers)


def test_the_collector_does_not_come_by_while_records_are_made() -> None:
    """It counts objects, and finds nothing; every hundredth time it would go over the whole program."""
    batch = encode_batch([(0, None, b"v", [])] * 5000)
    cursor = consumed.BatchCursor(_speed.read_header(batch), batch, 61, len(batch), "t", 0, 0)
    seen: list[int] = []

    def came(phase: str, about: dict[str, int]) -> None:
        seen.append(about["generation"])

    gc.callbacks.append(came)
    try:
        records = cursor.take(5000)
        during = list(seen)
    finally:
        gc.callbacks.remove(came)
    assert len(records) == 5000
    # Between the end of it and the next look there is room for one.
    assert len(during) <= 2


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("deserializer", [None, bytes])
@pytest.mark.parametrize("missing", [0, 3])
def test_the_collector_is_left_as_it_was(enabled: bool, deserializer: Any, missing: int) -> None:
    batch = encode_batch([(0, None, b"v", [])] * 3)
    header = _speed.read_header(batch)
    batch = batch[: len(batch) - missing]
    cursor = consumed.BatchCursor(header, batch, 61, len(batch), "t", 0, 0, None, deserializer)
    was = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        if missing:
            with pytest.raises(ProtocolError):
                cursor.take(10)
        else:
            assert len(cursor.take(10)) == 3
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if was else gc.disable)()
