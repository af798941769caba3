"""How values are spread, with bounded error and bounded memory.

Buckets are linear up to 32 and then 16 for every doubling, so a quantile is at most 1/16 above the truth whatever the
size of the values, and finding the bucket of a value takes a shift instead of a search. Values are whole numbers of a
small unit (microseconds, bytes); whoever shows them converts.
"""

from __future__ import annotations

_BITS = 5
_STEP = _BITS - 1


class Histogram:
    """Counts of values by bucket. Negative values count as 0."""

    __slots__ = ("_counts", "count", "maximum", "total")

    def __init__(self) -> None:
        self._counts: list[int] = []
        self.count: int = 0
        self.total: int = 0
        self.maximum: int = 0

    def record(self, value: int) -> None:
        if value < 0:
            value = 0
        shift = value.bit_length() - _BITS
        bucket = value if shift <= 0 else (shift << _STEP) + (value >> shift)
        try:
            self._counts[bucket] += 1
        except IndexError:
            self._counts.extend([0] * (bucket + 1 - len(self._counts)))
            self._counts[bucket] = 1
        self.count += 1
        self.total += value
        if value > self.maximum:
            self.maximum = value

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else 0.0

    def quantile(self, fraction: float) -> int:
        """A value that at least `fraction` of the recorded ones do not exceed; 0 if there are none."""
        if not 0 <= fraction <= 1:
            raise ValueError(f"a quantile lies between 0 and 1, not at {fraction}")
        wanted = max(1.0, fraction * self.count)
        seen = 0
        for bucket, count in enumerate(self._counts):
            seen += count
            if seen >= wanted:
                return min(_largest(bucket), self.maximum)
        return 0

    def below_power(self, exponent: int) -> int:
        """How many values are smaller than 2 ** exponent. Exact, because buckets end where powers of two do."""
        limit = 1 << exponent
        shift = limit.bit_length() - _BITS
        bucket = limit if shift <= 0 else (shift << _STEP) + (limit >> shift)
        return sum(self._counts[:bucket])

    def copy(self) -> Histogram:
        other = Histogram()
        other._counts = self._counts.copy()
        other.count, other.total, other.maximum = self.count, self.total, self.maximum
        return other

    def since(self, earlier: Histogram) -> Histogram:
        """What was recorded after `earlier` was copied from this one. Its maximum is that of the highest bucket."""
        recent = Histogram()
        before = earlier._counts + [0] * (len(self._counts) - len(earlier._counts))
        recent._counts = [now - then for now, then in zip(self._counts, before, strict=True)]
        recent.count, recent.total = self.count - earlier.count, self.total - earlier.total
        filled = [bucket for bucket, count in enumerate(recent._counts) if count]
        recent.maximum = min(_largest(filled[-1]), self.maximum) if filled else 0
        return recent


def _largest(bucket: int) -> int:
    """The largest value that falls into a bucket."""
    if bucket < 1 << _BITS:
        return bucket
    shift = (bucket >> _STEP) - 1
    return ((bucket - (shift << _STEP) + 1) << shift) - 1
