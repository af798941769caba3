"""Thousands of random lives of streams groups; a failure names its seed, and the seed repeats it."""

from __future__ import annotations

import pytest
from streams_schedule import StreamsSchedule


def test_random_schedules() -> None:
    for seed in range(150):
        StreamsSchedule(seed).run(steps=60)


@pytest.mark.long
def test_ten_thousand_random_schedules() -> None:
    for seed in range(150, 10_150):
        StreamsSchedule(seed).run(steps=60)
