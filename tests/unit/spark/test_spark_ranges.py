"""Offset arithmetic: tasks cut out of ranges, and batches cut short by limits."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from moldau.spark.source.positions import from_position, to_position
from moldau.spark.source.ranges import OffsetRange, at_once, lag, limited, offset_ranges, shared_tasks, split_ranges
from moldau.types import TopicPartition

A, B, C = (TopicPartition("rivers", number) for number in range(3))


def test_ranges_leave_out_what_is_empty_or_unknown() -> None:
    assert offset_ranges({A: 5, B: 7}, {A: 9, B: 7, C: 4}) == [OffsetRange("rivers", 0, 5, 9)]


def test_a_long_range_is_cut_by_the_most_a_task_may_have() -> None:
    whole = OffsetRange("rivers", 0, 10, 35)
    assert [(part.start, part.end) for part in split_ranges([whole], max_records=10)] == [(10, 18), (18, 26), (26, 35)]
    assert split_ranges([whole], max_records=25) == [whole]


def test_small_ranges_stay_whole_when_more_tasks_are_wanted() -> None:
    small, large = OffsetRange("rivers", 0, 0, 10), OffsetRange("rivers", 1, 0, 990)
    tasks = split_ranges([small, large], min_partitions=5)
    assert tasks[0] == small
    assert len(tasks) == 5
    assert {part.size for part in tasks[1:]} <= {247, 248}


def test_no_task_is_empty() -> None:
    assert len(split_ranges([OffsetRange("rivers", 0, 0, 3)], min_partitions=50)) == 3
    assert split_ranges([], min_partitions=50) == []


@given(
    sizes=st.lists(st.integers(1, 10_000), max_size=6),
    least=st.none() | st.integers(1, 50),
    most=st.none() | st.integers(1, 5000),
)
def test_tasks_cover_every_offset_once(sizes: list[int], least: int | None, most: int | None) -> None:
    ranges = [OffsetRange("rivers", number, 7, 7 + size) for number, size in enumerate(sizes)]
    tasks = split_ranges(ranges, min_partitions=least, max_records=most)
    for whole in ranges:
        parts = [part for part in tasks if part.partition == whole.partition]
        assert parts[0].start == whole.start
        assert parts[-1].end == whole.end
        assert all(one.end == other.start for one, other in pairwise(parts))
        assert all(0 < part.size <= (most or part.size) for part in parts)


def test_a_limit_is_shared_in_proportion_to_lag() -> None:
    assert limited({A: 0, B: 0}, {A: 300, B: 100}, 100) == {A: 75, B: 25}
    assert limited({A: 10, B: 5}, {A: 1_000_010, B: 6}, 100) == {A: 109, B: 6}  # the short one is not left behind
    assert limited({A: 0}, {A: 3}, 100) == {A: 3}
    assert limited({A: 5}, {A: 5}, 100) == {A: 5}
    assert limited({A: 9}, {A: 5}, 100) == {A: 5}  # a log that was cut back is the business of whoever reports loss


@given(
    st.dictionaries(st.sampled_from([A, B, C]), st.tuples(st.integers(0, 10**9), st.integers(0, 10**9))),
    st.integers(1, 10**6),
)
def test_a_limit_always_lets_the_stream_move_and_never_past_the_end(
    partitions: dict[TopicPartition, tuple[int, int]], most: int
) -> None:
    start = {where: begin for where, (begin, _) in partitions.items()}
    latest = {where: begin + size for where, (begin, size) in partitions.items()}
    end = limited(start, latest, most)
    assert all(start[where] <= end[where] <= latest[where] for where in partitions)
    assert all(end[where] > start[where] for where in partitions if latest[where] > start[where])
    assert lag(start, end) <= most + len(partitions)


def test_lag_counts_new_partitions_from_their_beginning() -> None:
    assert lag({A: 5}, {A: 7, B: 3}) == 5
    assert lag({A: 5}, {A: 4}) == 0


def test_positions_are_written_in_order() -> None:
    offsets = {TopicPartition("b", 10): 1, TopicPartition("b", 9): 2, TopicPartition("a", 0): 3}
    assert list(to_position(offsets).items()) == [("a", {"0": 3}), ("b", {"9": 2, "10": 1})]
    assert list(to_position(offsets)["b"]) == ["9", "10"]
    assert from_position(to_position(offsets)) == offsets


@given(st.lists(st.integers(1, 30_000), max_size=60), st.none() | st.integers(1, 40), st.none() | st.integers(1, 5000))
def test_shared_tasks_have_every_range_once_and_keep_the_limits(
    sizes: list[int], least: int | None, most: int | None
) -> None:
    ranges = [OffsetRange("rivers", number, 0, size) for number, size in enumerate(sizes)]
    tasks = shared_tasks(ranges, least=least, most=most)
    assert sorted(each for task in tasks for each in task) == ranges
    assert len(tasks) >= min(len(ranges), max(least or 0, 8))
    for task in tasks:
        assert task
        assert len(task) == 1 or sum(each.size for each in task) <= min(most or 10_000, 10_000)


def test_many_tiny_ranges_become_few_tasks_and_large_ones_stay_alone() -> None:
    tiny = [OffsetRange("rivers", number, 0, 100) for number in range(200)]
    assert len(shared_tasks(tiny)) == 8
    assert len(shared_tasks(tiny, least=50)) == 50
    assert shared_tasks(tiny[:8]) == [(each,) for each in tiny[:8]]
    large = OffsetRange("rivers", 200, 0, 1_000_000)
    assert (large,) in shared_tasks([*tiny, large])


def test_what_a_task_reads_at_once_has_each_partition_once() -> None:
    first, second, other = OffsetRange(*A, 0, 5), OffsetRange(*A, 5, 9), OffsetRange(*B, 0, 3)
    assert at_once((first, other)) == [(first, other)]
    assert at_once((first, second, other)) == [(first,), (second, other)]
