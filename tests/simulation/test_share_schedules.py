"""Random schedules of members, lost writes, new leaders and a moving log against share groups.

A failure names its seed: `Schedule(SEED).run(STEPS)` plays it again.
"""

from __future__ import annotations

import pytest
from share_schedule import Schedule

STEPS = 60


def play(seeds: range, steps: int) -> None:
    for seed in seeds:
        try:
            Schedule(seed).run(steps)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise


@pytest.mark.parametrize("block", range(4))
def test_schedules(block: int) -> None:
    play(range(block * 50, block * 50 + 50), STEPS)


@pytest.mark.long
@pytest.mark.parametrize("block", range(20))
def test_many_schedules(block: int) -> None:
    play(range(100_000 + block * 500, 100_000 + block * 500 + 500), 150)
