"""The records between the start and the end of a share partition, as runs of those that are alike.

A run is a range of offsets in one state. The runs follow each other without a hole and cover everything from the first
offset to before `end`; offsets at which there is no record are part of them. What was fetched together and nobody has
divided since is one run, however many records it holds; where records come to differ a run is cut, and what becomes
alike again is one run again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from typing import Final


class State(IntEnum):
    """As the share coordinator keeps them. ARCHIVING is for a topic of records that were given up, which is written
    before they are archived; there is none, so it is only ever read."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVING = 3
    ARCHIVED = 4


DONE: Final = frozenset({State.ACKNOWLEDGED, State.ARCHIVING, State.ARCHIVED})
NOBODY: Final = ""


class Run:
    """`first` to `last`, inclusive. Acquired ones have a member and a moment at which he loses them. While a change is
    being written down `change` names it, and `next` is what the run becomes then."""

    __slots__ = ("change", "deadline", "deliveries", "first", "last", "member", "next", "state")

    def __init__(self, first: int, last: int, state: State, deliveries: int) -> None:
        self.first = first
        self.last = last
        self.state = state
        self.deliveries = deliveries
        self.member = NOBODY
        self.deadline = 0
        self.change: object | None = None
        self.next: tuple[State, int] = (state, deliveries)

    def __len__(self) -> int:
        return self.last - self.first + 1

    @property
    def is_free(self) -> bool:
        """Whether it can be given to somebody."""
        return self.state is State.AVAILABLE and self.change is None

    @property
    def is_done(self) -> bool:
        return self.state in DONE and self.change is None

    def part(self, first: int, last: int) -> Run:
        part = Run(first, last, self.state, self.deliveries)
        part.member, part.deadline, part.change, part.next = self.member, self.deadline, self.change, self.next
        return part

    def is_like(self, other: Run) -> bool:
        return (
            self.state is other.state
            and self.deliveries == other.deliveries
            and self.member == other.member
            and self.deadline == other.deadline
            and self.change is None is other.change
        )


class InFlight:
    """Runs in the order of their offsets. Empty, it begins and ends at `end`."""

    __slots__ = ("end", "runs")

    def __init__(self, end: int) -> None:
        self.end = end
        self.runs: list[Run] = []

    @property
    def start(self) -> int:
        return self.runs[0].first if self.runs else self.end

    def append(self, last: int, state: State, deliveries: int = 0) -> None:
        """Everything from the end to `last`."""
        self.runs.append(Run(self.end, last, state, deliveries))
        self.end = last + 1
        self.join(last, last)

    def at(self, offset: int) -> int:
        """The place of the run that holds it, or of the first one behind it."""
        return bisect_left(self.runs, offset, key=_last)

    def between(self, first: int, last: int) -> Iterator[Run]:
        """Runs of which at least a part lies there."""
        for place in range(self.at(first), len(self.runs)):
            run = self.runs[place]
            if run.first > last:
                return
            yield run

    def change(self, first: int, last: int, apply: Callable[[Run], None]) -> None:
        self.change_each([(first, last)], lambda run, _: apply(run))

    def change_each(self, ranges: Iterable[tuple[int, int]], apply: Callable[[Run, int], None]) -> None:
        """Calls `apply(run, number of the range)` with runs that lie whole in a range, cut out of the others where need
        be. The ranges are in order, do not overlap, and lie between start and end."""
        runs, out = self.runs, list[Run]()
        begin = place = -1
        # Of the run at `place` everything before this offset has been dealt with.
        rest = 0
        for number, (first, last) in enumerate(ranges):
            if begin < 0:
                begin = place = self.at(first)
                rest = runs[place].first
            position = first
            while position <= last:
                run = runs[place]
                if run.last < position:
                    out.append(_part(run, rest, run.last))
                    place, rest = place + 1, run.last + 1
                    continue
                if rest < position:
                    out.append(_part(run, rest, position - 1))
                stop = min(run.last, last)
                piece = _part(run, position, stop)
                apply(piece, number)
                out.append(piece)
                position = rest = stop + 1
                if stop == run.last:
                    place += 1
        if begin < 0:
            return
        if place < len(runs) and rest > runs[place].first:
            out.append(_part(runs[place], rest, runs[place].last))
            place += 1
        runs[begin:place] = out
        self._join(begin, begin + len(out))

    def join(self, first: int, last: int) -> None:
        """What is alike there, and beside it, becomes one."""
        self._join(self.at(first), self.at(last) + 1)

    def _join(self, begin: int, end: int) -> None:
        begin, end = max(begin - 1, 0), min(end + 1, len(self.runs))
        joined: list[Run] = []
        for run in self.runs[begin:end]:
            if joined and joined[-1].is_like(run):
                joined[-1].last = run.last
            else:
                joined.append(run)
        if len(joined) < end - begin:
            self.runs[begin:end] = joined

    def drop_before(self, offset: int) -> None:
        """Nothing before it is in flight any more."""
        place = self.at(offset)
        del self.runs[:place]
        if not self.runs:
            self.end = max(self.end, offset)
        elif self.runs[0].first < offset:
            self.runs[0] = self.runs[0].part(offset, self.runs[0].last)

    def drop_from(self, offset: int) -> None:
        place = self.at(offset)
        if place < len(self.runs) and self.runs[place].first < offset:
            self.runs[place] = self.runs[place].part(self.runs[place].first, offset - 1)
            place += 1
        del self.runs[place:]
        self.end = min(self.end, offset)


def _part(run: Run, first: int, last: int) -> Run:
    return run if (first, last) == (run.first, run.last) else run.part(first, last)


def _last(run: Run) -> int:
    return run.last
