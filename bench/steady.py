"""Warming: the same work again and again, window after window, until its rate no longer changes.

A broker in Java compiles its own code while it runs, in steps that take minutes: a load of half a second after ten
seconds of warming finds it at half of what it can do. So nobody is measured before the rate of several windows in a
row is the same to within some percent, and a Java machine not before a minute has passed, however even it looks.
Whoever never becomes steady is measured after a while all the same, and the table says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

WINDOWS = 3  # in a row that must agree
TOLERANCE = 0.05  # of the largest of them


class Patience(NamedTuple):
    """How long somebody is warmed: not less than `least` seconds, not more than `most`."""

    least: float
    most: float
    tolerance: float = TOLERANCE


class Warmth(NamedTuple):
    seconds: float
    rates: tuple[float, ...]  # of all windows
    steady: bool

    @property
    def words(self) -> str:
        """For the page: how long it took, and what became of it."""
        if self.steady:
            return f"{self.seconds:.0f} s until steady"
        return f"{self.seconds:.0f} s, its last windows still {swing(self.rates[-WINDOWS:]) * 100:.0f} % apart"


def swing(rates: Sequence[float]) -> float:
    """How far windows are apart, as a part of the largest; 1 if there is nothing to compare."""
    if len(rates) < 2 or max(rates) <= 0:
        return 1.0
    return (max(rates) - min(rates)) / max(rates)


def is_steady(rates: Sequence[float], tolerance: float = TOLERANCE) -> bool:
    """Whether the last windows agree. A rate that still rises by little each time is not steady: the first and the last
    of them are compared as well as any two."""
    return len(rates) >= WINDOWS and swing(rates[-WINDOWS:]) <= tolerance


def until_steady(
    window: Callable[[], float], patience: Patience, clock: Callable[[], float] = time.monotonic
) -> Warmth:
    """Runs windows until they are steady; `window` does some work and says how fast it was, or how long it took."""
    began = clock()
    rates: list[float] = []
    while True:
        rates.append(window())
        passed = clock() - began
        steady = is_steady(rates, patience.tolerance)
        enough = len(rates) >= WINDOWS and passed >= patience.most
        if enough or (steady and passed >= patience.least):
            return Warmth(passed, tuple(rates), steady)
