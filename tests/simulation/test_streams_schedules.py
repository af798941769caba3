"""Thousands of random lives of streams groups; a failure names its seed, and the seed repeats it."""

from __future__ import annotations

import pytest
from streams_schedule import StreamsSchedule


def test_random_schedules() -> None:
    for seed in range(150):
        StreamsSchedule(seed).run(steps=60)


def test_who_comes_back_before_his_end_is_written_down_and_dies_is_removed() -> None:
    """A schedule that failed: his timeout was taken away with the one of his former life."""
    StreamsSchedule(4254).run(steps=60)


@pytest.mark.long
def test_ten_thousand_random_schedules() -> None:
    for seed in range(150, 10_150):
        StreamsSchedule(seed).run(steps=60)
