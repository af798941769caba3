"""The real clocks of the machine."""

from __future__ import annotations

import time


class SystemClock:
    """Wall clock for stamps, monotonic clock for durations: the two never mix."""

    __slots__ = ()

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    # Bound straight to the C function: deadlines are read several times per turn of the loop.
    monotonic = staticmethod(time.monotonic)
