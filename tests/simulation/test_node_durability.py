"""Durable topics on a disk that loses what was not forced to it: nothing acknowledged is lost, whatever the moment.

A world is one seed: a node, five clients, and half a dozen power cuts, kills and stops at random moments, many of them
in the middle of a write, a roll, a snapshot or a recovery. See `moldau.simulation.scenario` for what is checked.

`MOLDAU_SEED=n` begins with another seed; the command that repeats a failure is printed with it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest

from moldau.simulation.__main__ import repeat_command
from moldau.simulation.scenario import run_durable

REQUESTS = 30
TROUBLES = 6


def run_worlds(first: int, *, cuts_wanted: int, tell: Callable[[str], None] = lambda _: None) -> None:
    cuts, seed, told = 0, first, time.monotonic()
    while cuts < cuts_wanted:
        try:
            cuts += run_durable(seed, requests=REQUESTS, power_cuts=TROUBLES).cuts
        except BaseException as error:
            error.add_note(f"to repeat: {repeat_command(seed, REQUESTS, TROUBLES)}")
            raise
        seed += 1
        if time.monotonic() - told > 10:
            told = time.monotonic()
            tell(f"{cuts} of {cuts_wanted} power cuts survived, seed {seed}")


def test_acknowledged_records_survive_power_cuts():
    run_worlds(int(os.environ.get("MOLDAU_SEED", "1")), cuts_wanted=150)


@pytest.mark.long
def test_acknowledged_records_survive_thousands_of_power_cuts(tell: Callable[[str], None]):
    """Other seeds every time: what a fixed set of them cannot find, some day does."""
    first = int(os.environ.get("MOLDAU_SEED", str(time.time_ns() // 1_000_000)))
    tell(f"seeds from {first} on")
    run_worlds(first, cuts_wanted=3000, tell=tell)
