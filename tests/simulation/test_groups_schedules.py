"""Thousands of random lives of groups; a failure names its seed, and the seed repeats it."""

from __future__ import annotations

import pytest
from group_schedule import Schedule

KINDS = ("classic", "consumer", "mixed")


@pytest.mark.parametrize("kind", KINDS)
def test_random_schedules(kind: str) -> None:
    for seed in range(150):
        Schedule(seed, kind).run(steps=60)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_ten_thousand_random_schedules(kind: str) -> None:
    for seed in range(150, 3500):
        Schedule(seed, kind).run(steps=60)
