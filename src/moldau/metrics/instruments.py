"""What is measured with: counters, gauges and rates. Histograms have their own file.

The hot path touches these thousands of times a second, so an instrument is an object with an attribute and no more:
`counter.value += 1` is the whole cost.
"""

from __future__ import annotations

from collections.abc import Callable


class Counter:
    """Something that only grows. Add to `value` directly; the method is for where speed does not matter."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: int = 0

    def add(self, amount: int = 1) -> None:
        self.value += amount


class Gauge:
    """Something that goes up and down: set by whoever knows it, or asked for when it is read."""

    __slots__ = ("_read", "_value")

    def __init__(self, read: Callable[[], float] | None = None) -> None:
        self._read = read
        self._value: float = 0

    @property
    def value(self) -> float:
        return self._value if self._read is None else self._read()

    @value.setter
    def value(self, value: float) -> None:
        if self._read is not None:
            raise TypeError("a gauge that is asked for its value cannot be set")
        self._value = value


class Rate:
    """How much per second, over the last few windows of time, as Kafka measures quotas.

    The amount is kept per window and windows are forgotten one by one, so the rate neither jumps when a window ends
    nor needs a list of events. While there is less than `samples - 1` windows of history the missing time counts as
    time without events; otherwise the first record after a pause would look like a flood.
    """

    __slots__ = ("_amounts", "_current", "samples", "total", "window_ms")

    def __init__(self, window_ms: int = 1000, samples: int = 11) -> None:
        if window_ms < 1 or samples < 2:
            raise ValueError("a rate needs windows of at least 1 ms and at least 2 of them")
        self.window_ms = window_ms
        self.samples = samples
        self.total: float = 0
        # A ring: window number n lies at n % samples, and `_current` is the newest of them.
        self._amounts: list[float] = [0] * samples
        self._current: int | None = None

    def record(self, amount: float, now_ms: int) -> None:
        self._advance(now_ms)
        assert self._current is not None
        self._amounts[self._current % self.samples] += amount
        self.total += amount

    def per_second(self, now_ms: int) -> float:
        self._advance(now_ms)
        elapsed_ms = (self.samples - 1) * self.window_ms + now_ms % self.window_ms
        return sum(self._amounts) * 1000 / elapsed_ms

    def _advance(self, now_ms: int) -> None:
        """Forgets the windows between the newest one and now. A clock that goes back stays in the newest window."""
        window = now_ms // self.window_ms
        if self._current is None:
            self._current = window
            return
        for passed in range(self._current + 1, min(window, self._current + self.samples) + 1):
            self._amounts[passed % self.samples] = 0
        self._current = max(self._current, window)
