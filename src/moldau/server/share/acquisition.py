"""Records on their way to a member: how many of them, and where to stop."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

# Half of the deliveries, but not less, before records that were delivered so often come in smaller pieces.
_FEWEST_BEFORE_PIECES: Final = 2


class Span(NamedTuple):
    """The offsets of a batch in the log."""

    first: int
    last: int


class Acquired(NamedTuple):
    first: int
    last: int
    deliveries: int


class Taking:
    def __init__(self, member: str, spans: Sequence[Span], most: int, now_ms: int, exact: bool) -> None:
        self.member = member
        self.most = self.left = most
        self.now_ms = now_ms
        self.taken: list[Acquired] = []
        # Nothing may come beside what was taken.
        self.closed = False
        self._spans = spans
        self._exact = exact

    def stop(self, first: int, last: int, most: int) -> int:
        """Where so many records end: with the batch, if not exactly there."""
        target = first + most - 1
        if target >= last:
            return last
        if self._exact:
            return target
        place = bisect_right(self._spans, target, key=_first) - 1
        return min(max(target, self._spans[place].last), last) if place >= 0 else target

    def add(self, first: int, last: int, deliveries: int) -> None:
        self.left -= last - first + 1
        before = self.taken[-1] if self.taken else None
        if before is not None and before[1:] == (first - 1, deliveries):
            self.taken[-1] = before._replace(last=last)
        else:
            self.taken.append(Acquired(first, last, deliveries))


def pieces_from(most_deliveries: int) -> int:
    """How often a record must have been delivered to come in smaller pieces."""
    return max(_FEWEST_BEFORE_PIECES, -(-most_deliveries // 2))


def piece_of(deliveries: int, most_deliveries: int, most: int) -> int:
    if most_deliveries > _FEWEST_BEFORE_PIECES and deliveries >= most_deliveries - 1:
        return 1
    return max(1, most >> (deliveries - pieces_from(most_deliveries) + 1))


def in_batches(taken: Sequence[Acquired], spans: Sequence[Span], size: int) -> list[Acquired]:
    """Cut where a batch of the log begins, so that none has many more records than `size`."""
    found: list[Acquired] = []
    for first, last, deliveries in taken:
        begin = first
        if last - first + 1 > size:
            for place in range(bisect_right(spans, first, key=_first), len(spans)):
                at = spans[place].first
                if at > last:
                    break
                if at - begin >= size:
                    found.append(Acquired(begin, at - 1, deliveries))
                    begin = at
        found.append(Acquired(begin, last, deliveries))
    return found


def _first(span: Span) -> int:
    return span.first
