"""How long it takes to force records to disk, off the loop: what a slow disk shows first."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from moldau.metrics.histogram import Histogram
from moldau.runtime.ports import Clock


class Forcing:
    def __init__(self, clock: Clock) -> None:
        self.times = Histogram()
        self._now = clock.monotonic

    def timed(self, job: Callable[[], None]) -> Callable[[], float]:
        """The same job, which says how many seconds it took."""
        return partial(self._run, job)

    def _run(self, job: Callable[[], None]) -> float:
        begun = self._now()
        job()
        return self._now() - begun

    def took(self, seconds: float | None) -> None:
        """On the loop; None for one that failed."""
        if seconds is not None:
            self.times.record(seconds)
