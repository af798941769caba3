"""Virtual time: it stands still while code runs and jumps to the next event when nobody has anything to do."""

from __future__ import annotations

from typing import Final

# Where the wall clock stands when a world begins. Any moment would do; one fixed moment makes runs repeatable.
BEGINNING_MS: Final = 1_750_000_000_000


class VirtualClock:
    __slots__ = ("now_us", "wall_shift_ms")

    def __init__(self) -> None:
        # Whole microseconds, so that adding up delays never rounds.
        self.now_us = 0
        # What somebody has set the wall clock forward or back by.
        self.wall_shift_ms = 0

    def now_ms(self) -> int:
        return BEGINNING_MS + self.wall_shift_ms + self.now_us // 1000

    def monotonic(self) -> float:
        return self.now_us / 1_000_000


class HostClock:
    """A machine's own idea of what time it is. Durations are the same everywhere."""

    __slots__ = ("_world", "ahead_ms")

    def __init__(self, world: VirtualClock, ahead_ms: int = 0) -> None:
        self._world = world
        self.ahead_ms = ahead_ms

    def now_ms(self) -> int:
        return self._world.now_ms() + self.ahead_ms

    def monotonic(self) -> float:
        return self._world.monotonic()
