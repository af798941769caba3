"""How measured times are spread, with bounded error and bounded memory, and what was measured of late.

Buckets are linear up to 32 and then 16 for every doubling, so a quantile is at most 1/16 above the truth whatever the
size of the values, and finding the bucket of a value takes a shift instead of a search. Values are whole microseconds.
The express way (`_speed/express`) counts into the same buckets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Final

_BITS: Final = 5
_STEP: Final = _BITS - 1
# What quantiles are about: what was measured in so many seconds before the last look, and up to twice as many.
LATELY_SECONDS: Final = 60.0


class Histogram:
    """Counts of values by bucket. Negative values count as 0."""

    __slots__ = ("_before", "_earlier", "_looked_at", "counts")

    def __init__(self) -> None:
        self.counts: list[int] = []
        # As the counts were at the last two looks that were far enough apart, and when the later of them was.
        self._before: list[int] = []
        self._earlier: list[int] = []
        self._looked_at = float("-inf")

    @property
    def count(self) -> int:
        return sum(self.counts)

    def record(self, seconds: float) -> None:
        value = int(seconds * 1e6)
        if value < 0:
            value = 0
        shift = value.bit_length() - _BITS
        bucket = value if shift <= 0 else (shift << _STEP) + (value >> shift)
        try:
            self.counts[bucket] += 1
        except IndexError:
            self.counts.extend([0] * (bucket + 1 - len(self.counts)))
            self.counts[bucket] = 1

    def replace(self, counts: Iterable[Sequence[int]]) -> None:
        """Shows what others have counted in the same buckets, all of it together."""
        self.counts = [sum(bucket) for bucket in zip_longest(*counts, fillvalue=0)]

    def quantiles(self, fractions: Sequence[float], now: float) -> list[int]:
        """For each fraction, in rising order, a value that so many of those recorded lately do not exceed; 0 if there
        are none."""
        if now - self._looked_at >= LATELY_SECONDS:
            self._before, self._earlier, self._looked_at = self._earlier, self.counts.copy(), now
        before = self._before + [0] * (len(self.counts) - len(self._before))
        return _quantiles([count - then for count, then in zip(self.counts, before, strict=True)], fractions)


def _quantiles(counts: list[int], fractions: Sequence[float]) -> list[int]:
    all_of_them, found, seen, bucket = sum(counts), [], 0, -1
    for fraction in fractions:
        while seen < max(1.0, fraction * all_of_them) and bucket + 1 < len(counts):
            bucket += 1
            seen += counts[bucket]
        found.append(_largest(bucket) if all_of_them else 0)
    return found


def _largest(bucket: int) -> int:
    """The largest value that falls into a bucket."""
    if bucket < 1 << _BITS:
        return bucket
    shift = (bucket >> _STEP) - 1
    return ((bucket - (shift << _STEP) + 1) << shift) - 1
