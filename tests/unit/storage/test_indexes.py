from __future__ import annotations

import errno
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from storage_kit import FailingDisk, quick_directory

from moldau.runtime.disk import RealDisk
from moldau.storage.mapped_index import CorruptIndex
from moldau.storage.offset_index import OffsetIndex
from moldau.storage.time_index import TimeIndex
from moldau.storage.transaction_index import AbortedTransaction, TransactionIndex

BASE = 1000


def offset_index(path, entries=(), max_bytes=800):
    index = OffsetIndex(RealDisk(), str(path / "i.index"), BASE, max_bytes)
    index.start_empty()
    for offset, position in entries:
        index.make_room()
        index.append(offset, position)
    return index


def time_index(path, entries=(), max_bytes=1200):
    index = TimeIndex(RealDisk(), str(path / "i.timeindex"), BASE, max_bytes)
    index.start_empty()
    for timestamp, offset in entries:
        index.make_room()
        index.append(timestamp, offset)
    return index


ascending = st.lists(
    st.tuples(st.integers(1, 50), st.integers(1, 5000)), max_size=80
)  # steps of offset and of position or time


def accumulated(steps, first, second):
    rows = []
    for step, other in steps:
        first, second = first + step, second + other
        rows.append((first, second))
    return rows


@settings(max_examples=60, deadline=None)
@given(ascending, st.lists(st.integers(BASE - 10, BASE + 4200), max_size=20))
def test_offset_lookups_as_a_linear_scan_would_answer(steps, wanted):
    entries = accumulated(steps, BASE, 0)
    with quick_directory() as path:
        index = offset_index(path, entries)
        for offset in wanted:
            assert index.lookup(offset) == max((p for o, p in entries if o <= offset), default=0)
        for _, position in entries:
            for limit in (position - 1, position, position + 1):
                assert index.end_of(limit) == min((o for o, p in entries if p >= limit), default=None)
        index.release()


@settings(max_examples=60, deadline=None)
@given(ascending, st.lists(st.integers(-5, 260_000), max_size=20))
def test_time_lookups_as_a_linear_scan_would_answer(steps, wanted):
    entries = [(timestamp, offset) for offset, timestamp in accumulated(steps, BASE, 0)]
    with quick_directory() as path:
        index = time_index(path, entries)
        for timestamp in wanted:
            assert index.lookup(timestamp) == max((o for t, o in entries if t <= timestamp), default=BASE)
        assert index.last_entry == (entries[-1] if entries else (-1, BASE))
        index.release()


@settings(max_examples=60, deadline=None)
@given(ascending, st.integers(BASE - 10, BASE + 4200))
def test_truncation_keeps_what_lies_before(steps, offset):
    entries = accumulated(steps, BASE, 0)
    with quick_directory() as path:
        index = offset_index(path, entries)
        times = time_index(path, [(position, at) for at, position in entries])
        index.truncate_to(offset)
        times.truncate_to(offset)
        kept = [entry for entry in entries if entry[0] < offset]
        assert [index.entry(slot) for slot in range(index.entries)] == kept
        assert [times.entry(slot) for slot in range(times.entries)] == [(p, o) for o, p in kept]
        index.close()
        times.close()


def test_the_files_are_kafkas(tmp_path):
    index = offset_index(tmp_path, [(BASE + 7, 100), (BASE + 9, 300)])
    assert (tmp_path / "i.index").stat().st_size == 800
    index.close()
    assert (tmp_path / "i.index").read_bytes() == struct.pack(">iiii", 7, 100, 9, 300)
    times = time_index(tmp_path, [(50, BASE + 7), (60, BASE + 9)])
    times.close()
    assert (tmp_path / "i.timeindex").read_bytes() == struct.pack(">qiqi", 50, 7, 60, 9)


def test_an_index_opens_again_and_grows(tmp_path):
    offset_index(tmp_path, [(BASE + 7, 100)]).close()
    index = OffsetIndex(RealDisk(), str(tmp_path / "i.index"), BASE, 800)
    assert index.lookup(BASE + 8) == 100
    assert index.is_full
    index.grow()
    assert not index.is_full
    assert index._map is None, "it holds no descriptor before somebody writes"
    assert index.lookup(BASE + 8) == 100
    index.rest()
    index.make_room()
    assert (tmp_path / "i.index").stat().st_size == 800
    index.append(BASE + 20, 500)
    assert index.lookup(BASE + 30) == 500
    index.close()
    assert (tmp_path / "i.index").stat().st_size == 16


def test_an_empty_index_can_be_closed_and_opened(tmp_path):
    offset_index(tmp_path).close()
    assert (tmp_path / "i.index").stat().st_size == 0
    index = OffsetIndex(RealDisk(), str(tmp_path / "i.index"), BASE, 800)
    assert index.lookup(BASE + 8) == 0
    assert index.last_offset == BASE
    index.close()


def test_the_size_is_rounded_down_to_whole_entries(tmp_path):
    index = time_index(tmp_path, max_bytes=100)
    assert index.max_entries == 8
    index.make_room()
    assert (tmp_path / "i.timeindex").stat().st_size == 96
    assert index.max_entries == 8
    index.close()


def test_a_new_index_is_no_file_before_its_first_entry(tmp_path):
    index = offset_index(tmp_path)
    assert (index.lookup(BASE + 8), index.last_offset, index.is_full) == (0, BASE, False)
    index.grow()
    index.truncate_to(BASE)
    index.flush()
    assert list(tmp_path.iterdir()) == []
    index.make_room()
    index.append(BASE + 7, 100)
    assert index.lookup(BASE + 8) == 100
    index.close()
    assert (tmp_path / "i.index").read_bytes() == struct.pack(">ii", 7, 100)


def test_a_new_index_that_is_let_go_of_leaves_no_file(tmp_path):
    offset_index(tmp_path).release()
    assert list(tmp_path.iterdir()) == []


def test_entries_of_a_file_that_is_there_do_not_count_after_a_new_start(tmp_path):
    offset_index(tmp_path, [(BASE + 7, 100)]).close()
    index = offset_index(tmp_path)
    assert index.lookup(BASE + 8) == 0
    index.close()
    assert (tmp_path / "i.index").stat().st_size == 0


def test_a_mapped_index_follows_its_file_to_another_name(tmp_path):
    index = offset_index(tmp_path, [(BASE + 7, 100)])
    (tmp_path / "i.index").rename(tmp_path / "j.index")
    index.path = str(tmp_path / "j.index")
    index.truncate_to(BASE)
    index.close()
    assert [(path.name, path.stat().st_size) for path in tmp_path.iterdir()] == [("j.index", 0)]


def test_the_last_slot_of_the_time_index_is_kept_for_closing(tmp_path):
    index = time_index(tmp_path, [(1, BASE + 1), (2, BASE + 2)], max_bytes=36)
    assert index.is_full
    index.finish(3, BASE + 3)
    assert index.last_entry == (3, BASE + 3)
    index.finish(4, BASE + 4)
    assert index.entries == 4
    index.close()
    assert (tmp_path / "i.timeindex").stat().st_size == 48


def test_times_that_do_not_grow_are_not_entered(tmp_path):
    index = time_index(tmp_path, [(10, BASE + 1), (10, BASE + 2), (9, BASE + 3), (11, BASE + 4)])
    assert [index.entry(slot) for slot in range(index.entries)] == [(10, BASE + 1), (11, BASE + 4)]
    index.close()


def test_a_size_that_is_no_multiple_is_damage(tmp_path):
    (tmp_path / "i.index").write_bytes(bytes(12))
    with pytest.raises(CorruptIndex):
        OffsetIndex(RealDisk(), str(tmp_path / "i.index"), BASE, 800).check_against(100)


def test_an_entry_behind_the_log_is_damage(tmp_path):
    offset_index(tmp_path, [(BASE + 7, 100)]).close()
    index = OffsetIndex(RealDisk(), str(tmp_path / "i.index"), BASE, 800)
    index.check_against(101)
    with pytest.raises(CorruptIndex):
        index.check_against(100)
    index.close()


def test_room_for_entries_is_asked_for_before_they_are_stored(tmp_path):
    """A store into a mapped page without space behind it would kill the process."""
    disk = FailingDisk()
    index = OffsetIndex(disk, str(tmp_path / "i.index"), BASE, 16384)
    index.start_empty()
    disk.bytes_left = 4096
    for number in range(512):
        index.make_room()
        index.append(BASE + number, number)
    with pytest.raises(OSError, match="space") as refused:
        index.make_room()
    assert refused.value.errno == errno.ENOSPC
    disk.bytes_left = None
    index.make_room()
    index.append(BASE + 512, 512)
    assert [index.entry(slot) for slot in range(513)] == [(BASE + number, number) for number in range(513)]
    index.close()


# ------------------------------------------------------------------------------------------------------ transactions


def transaction_index(path):
    return TransactionIndex(RealDisk(), str(path / "i.txnindex"), 0)


def test_the_file_of_aborted_transactions_exists_from_the_first_one_on(tmp_path):
    index = transaction_index(tmp_path)
    assert index.entries == []
    assert not (tmp_path / "i.txnindex").exists()
    index.append(AbortedTransaction(7, 1, 5, 3))
    index.close()
    assert (tmp_path / "i.txnindex").read_bytes() == struct.pack(">hqqqq", 0, 7, 1, 5, 3)
    assert transaction_index(tmp_path).entries == [AbortedTransaction(7, 1, 5, 3)]


def test_which_transactions_reach_into_a_range(tmp_path):
    index = transaction_index(tmp_path)
    first, second, third = (
        AbortedTransaction(1, 0, 10, 11),
        AbortedTransaction(2, 5, 20, 15),
        AbortedTransaction(3, 15, 30, 31),
    )
    for aborted in (first, second, third):
        index.append(aborted)
    assert index.collect(0, 4) == ([first], True)
    assert index.collect(0, 12) == ([first, second], True)
    assert index.collect(11, 12) == ([second], True)
    assert index.collect(25, 40) == ([third], False)
    assert index.collect(31, 40) == ([], False)
    index.close()


def test_truncating_transactions(tmp_path):
    index = transaction_index(tmp_path)
    for last in (10, 20, 30):
        index.append(AbortedTransaction(1, last - 5, last, last + 1))
    index.truncate_to(20)
    assert [aborted.last_offset for aborted in index.entries] == [10]
    assert (tmp_path / "i.txnindex").stat().st_size == 34
    index.append(AbortedTransaction(1, 11, 15, 16))
    index.drop_last()
    index.trim()
    index.close()
    assert (tmp_path / "i.txnindex").stat().st_size == 34


@pytest.mark.parametrize("content", [bytes(33), struct.pack(">hqqqq", 9, 1, 2, 3, 4)])
def test_damaged_transaction_indexes(tmp_path, content):
    (tmp_path / "i.txnindex").write_bytes(content)
    with pytest.raises(CorruptIndex):
        transaction_index(tmp_path).check()
