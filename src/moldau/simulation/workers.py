"""Jobs off the loop: each runs at a later virtual moment, in an order that only the seed knows.

A job happens at one moment and its result arrives at another, so a crash may fall before it, between the two, or after.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from moldau.runtime.ports import WorkersLoad
from moldau.simulation.chance import SeededRandom
from moldau.simulation.loop import SimulatedLoop

T = TypeVar("T")

_USUAL_US: Final = 3_000
_SLOW_US: Final = 60_000
# Of a disk that is overloaded, or about to fail.
_VERY_SLOW_US: Final = 2_000_000


class SimulatedWorkers:
    def __init__(self, loop: SimulatedLoop, chance: SeededRandom) -> None:
        self._loop = loop
        self._chance = chance
        self._closed = False
        # They take no time, and nobody looks.
        self.load = WorkersLoad()
        # Whether what they do for the disk takes very long.
        self.is_slow = False

    def submit(self, job: Callable[[], T], done: Callable[[T | None, BaseException | None], None]) -> None:
        if self._closed:
            raise RuntimeError("the workers are closed")

        def run() -> None:
            result: T | None = None
            error: BaseException | None = None
            try:
                result = job()
            except Exception as caught:
                error = caught
            self._loop.call_after_us(self._chance.between(0, 200), lambda: done(result, error))

        longest = _SLOW_US if self._chance.happens(0.05) else _USUAL_US
        if self.is_slow:
            longest = _VERY_SLOW_US
        self._loop.call_after_us(self._chance.between(20, longest), run)

    def close(self) -> None:
        self._closed = True
