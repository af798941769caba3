"""How much somebody has used of what is limited, and how long he has to wait for that.

`RateWindow` measures a rate in samples of a second, of which the last eleven count, as Kafka does. Kafka takes what was
used for spread over ten seconds even if it was used at once: a client may begin with ten seconds' worth, and waits
twice for what is above that. Here a second is all that is given in advance, so that a quota holds from the beginning.
`TokenBucket` is Kafka's for what cannot be taken back, such as partitions that are created.
"""

from __future__ import annotations

from collections import deque


class RateWindow:
    __slots__ = ("_most", "_samples", "_seconds", "_total", "touched")

    def __init__(self, samples: int, seconds: float) -> None:
        self._most = samples
        self._seconds = seconds
        # When each began, and what was used in it.
        self._samples: deque[list[float]] = deque()
        self._total = 0.0
        self.touched = 0.0

    def record(self, value: float, now: float) -> None:
        self.touched = now
        self._forget(now)
        if not self._samples or now - self._samples[-1][0] >= self._seconds:
            self._samples.append([now, 0.0])
        self._samples[-1][1] += value
        self._total += value

    def wait(self, bound: float, now: float) -> float:
        """Seconds until what was used is no more than `bound` a second."""
        self._forget(now)
        if not self._samples:
            return 0.0
        # A sample counts at least: else the first request of somebody would be far above any rate.
        return max(0.0, self._total / bound - max(now - self._samples[0][0], self._seconds))

    def rate(self, now: float) -> float:
        """Used a second, over the samples that count."""
        self._forget(now)
        return self._total / max(now - self._samples[0][0], self._seconds) if self._samples else 0.0

    def _forget(self, now: float) -> None:
        oldest = now - self._most * self._seconds
        while self._samples and self._samples[0][0] <= oldest:
            self._total -= self._samples.popleft()[1]
        if not self._samples:
            self._total = 0.0


class TokenBucket:
    __slots__ = ("_last", "_tokens", "touched")

    def __init__(self, bound: float, burst: float, now: float) -> None:
        self._tokens = bound * burst
        self._last = self.touched = now

    def wait(self, bound: float, burst: float, now: float) -> float:
        """Seconds until something may be taken again."""
        self._refill(bound, burst, now)
        return max(0.0, -self._tokens / bound)

    def take(self, count: float, bound: float, burst: float, now: float) -> None:
        """Also what is not there: whoever comes next waits for it."""
        self._refill(bound, burst, now)
        self._tokens -= count
        self.touched = now

    def _refill(self, bound: float, burst: float, now: float) -> None:
        self._tokens = min(bound * burst, self._tokens + (now - self._last) * bound)
        self._last = now
