"""A share partition: a partition as one share group sees it, with every record that is in flight.

Theory of operation. Everything before `start` is done with; nobody has been given anything from `end` on. What lies
between is *in flight*: available, acquired by a member until its lock runs out, acknowledged (accepted) or archived
(rejected, given up after so many deliveries, or not there at all). What is done with at the front moves the start.

A member acquires records from `next_fetch_offset` on, which is the first that is available, or the end. How many may be
between start and end is limited, so a record that nobody gets done with holds up the others at some time.

What a member says of its records becomes a `Change`: it counts only once it is written down, until then the records are
neither his nor anybody's, and if it cannot be written they are his again. A lock that ran out counts at once; that is
written down as well, and whether it could be does not matter: it runs out again for whoever reads the state.

Offsets at which there is no record (markers of transactions, what compaction took) are acquired like the others where
they lie between records, and the member says so; where the log begins behind them they are archived here. So are
records of aborted transactions, for a group that reads committed ones only.

A record that has been delivered often may be what its readers break at. From half of the limit on those beside it come
in ever smaller pieces, and for the last time it comes alone: so it does not take others with it.

Pure: no clock, no IO. Moments are milliseconds of the same clock, given by whoever calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from moldau.coordinator.share.state_batches import Batch
from moldau.errors import ErrorCode, KafkaError
from moldau.server.share.acquisition import Acquired, Span, Taking, in_batches, piece_of, pieces_from
from moldau.server.share.in_flight import DONE, NOBODY, InFlight, Run, State

# What a member says of a record; 0 that there is none at its offset.
GAP: Final = 0
ACCEPT: Final = 1
RELEASE: Final = 2
REJECT: Final = 3
RENEW: Final = 4
_BECOMES: Final = {
    GAP: State.ARCHIVED,
    ACCEPT: State.ACKNOWLEDGED,
    RELEASE: State.AVAILABLE,
    REJECT: State.ARCHIVED,
}


class Limits(NamedTuple):
    """What the settings of the group say at the moment."""

    lock_ms: int = 30_000
    deliveries: int = 5
    locks: int = 2000
    renewals: bool = True


_USUAL: Final = Limits()


class Acknowledgement(NamedTuple):
    """One type for all offsets, or one for each."""

    first: int
    last: int
    types: Sequence[int]


class Change:
    """What is to be written down, and where in flight it is waited for."""

    __slots__ = ("batches", "ranges")

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.ranges: list[Span] = []

    def add(self, run: Run, state: State, deliveries: int) -> None:
        before = self.batches[-1] if self.batches else None
        if before is not None and before[1:] == (run.first - 1, state, deliveries):
            self.batches[-1] = before._replace(last=run.last)
        else:
            self.batches.append(Batch(run.first, run.last, state, deliveries))

    def begin(self, run: Run, state: State, deliveries: int) -> None:
        """The run waits for it."""
        run.change, run.next = self, (state, deliveries)
        if self.ranges and self.ranges[-1].last == run.first - 1:
            self.ranges[-1] = Span(self.ranges[-1].first, run.last)
        else:
            self.ranges.append(Span(run.first, run.last))
        self.add(run, state, deliveries)


class SharePartition:
    """`batches` is what the share coordinator knew of it; offsets it says nothing of were never done with."""

    def __init__(self, start: int, batches: Iterable[Batch] = (), limits: Limits = _USUAL) -> None:
        self.limits = limits
        self._flight = InFlight(start)
        for batch in batches:
            if batch.last < self._flight.end:
                continue
            if batch.first > self._flight.end:
                self._flight.append(batch.first - 1, State.AVAILABLE)
            self._flight.append(batch.last, _stored(batch.state), batch.deliveries)
        # Nothing before it is available, and no lock ends before that moment.
        self._seek = start
        self._deadline: int | None = None
        self._advance()

    @property
    def start(self) -> int:
        return self._flight.start

    @property
    def end(self) -> int:
        return self._flight.end

    @property
    def runs(self) -> Sequence[Run]:
        return self._flight.runs

    @property
    def in_flight(self) -> int:
        """Records between the start and the end."""
        return self.end - self.start

    @property
    def delivery_complete_count(self) -> int:
        """Records behind the start that are done with, or will be when what was said of them is written down."""
        return sum(len(run) for run in self._flight.runs if (run.state if run.change is None else run.next[0]) in DONE)

    # --------------------------------------------------------------------------------------------------- acquiring

    @property
    def next_fetch_offset(self) -> int:
        """Where somebody who wants records has to read."""
        flight = self._flight
        runs = flight.runs
        for place in range(flight.at(self._seek), len(runs)):
            if runs[place].is_free:
                self._seek = runs[place].first
                return max(self._seek, self.start)
        self._seek = flight.end
        return flight.end

    @property
    def has_room(self) -> bool:
        """Whether records may be acquired: such as are available again, or new ones."""
        return self.next_fetch_offset < self.end or self.end - self.start < self.limits.locks

    def reach(self, offset: int, most: int) -> int:
        """How far somebody has to read who wants so many records from there on."""
        for run in self._flight.between(offset, self.end - 1):
            if run.is_free:
                most -= run.last - max(run.first, offset) + 1
            if most <= 0:
                return run.last
        return max(offset, self.end) + most

    def acquire(
        self,
        member: str,
        fetched_from: int,
        spans: Sequence[Span],
        most: int,
        now_ms: int,
        *,
        batch_size: int = 2**31 - 1,
        exact: bool = False,
        aborted: Sequence[Span] = (),
    ) -> list[Acquired]:
        """Gives `member` about `most` records of the batches (`spans`) that were read at `fetched_from`, which is the
        next fetch offset: up to the end of a batch, or `exact` that many. What lies in `aborted` nobody gets."""
        if not spans or most <= 0:
            return []
        taking = Taking(member, spans, most, now_ms, exact)
        last = spans[-1].last
        self._archive(fetched_from, min(spans[0].first, self.end) - 1)
        for span in aborted:
            self._archive(max(span.first, fetched_from), min(span.last, self.end - 1))
        self._take(taking, fetched_from, last)
        room = min(taking.left, self.limits.locks - (self.end - self.start))
        if last >= self.end and room > 0 and not taking.closed:
            self._extend(taking, spans, aborted, last, room)
        self._advance()
        return in_batches(taking.taken, spans, batch_size) if not exact else taking.taken

    def _extend(self, taking: Taking, spans: Sequence[Span], aborted: Sequence[Span], last: int, room: int) -> None:
        """Records nobody has been given yet."""
        flight = self._flight
        if flight.end < spans[0].first:
            flight.append(spans[0].first - 1, State.ARCHIVED)
        first = flight.end
        flight.append(taking.stop(first, last, room), State.AVAILABLE)
        for span in aborted:
            self._archive(max(span.first, first), min(span.last, flight.end - 1))
        self._take(taking, first, flight.end - 1)

    def _take(self, taking: Taking, first: int, last: int) -> None:
        """Acquires what is available there, as far as it goes."""
        flight, limits = self._flight, self.limits
        position = first
        while position <= min(last, flight.end - 1) and taking.left > 0 and not taking.closed:
            run = flight.runs[flight.at(position)]
            if not run.is_free:
                position = run.last + 1
                continue
            stop = taking.stop(position, min(run.last, last), taking.left)
            if run.deliveries >= pieces_from(limits.deliveries):
                if taking.taken:
                    taking.closed = True
                    return
                taking.closed = True
                stop = min(stop, position + piece_of(run.deliveries, limits.deliveries, taking.most) - 1)
            deliveries, deadline = run.deliveries + 1, taking.now_ms + limits.lock_ms

            def lock(part: Run, deliveries: int = deliveries, deadline: int = deadline) -> None:
                part.state, part.deliveries = State.ACQUIRED, deliveries
                part.member, part.deadline = taking.member, deadline

            flight.change(position, stop, lock)
            self._locked(deadline)
            taking.add(position, stop, deliveries)
            position = stop + 1

    def _archive(self, first: int, last: int) -> None:
        """Nobody has it and nobody gets it: there is no such record, or none that counts."""
        for free in [run for run in self._flight.between(first, last) if run.is_free]:
            self._flight.change(max(free.first, first), min(free.last, last), _give_up)

    # ---------------------------------------------------------------------------------------------- acknowledging

    def acknowledge(self, member: str, said: Sequence[Acknowledgement], now_ms: int) -> Change | None:
        """What a member says of records it has; the ranges are in order and do not overlap. All of it is taken, or a
        KafkaError says why nothing is. None if there is nothing to write down."""
        pieces: list[tuple[int, int, int]] = []
        for each in said:
            # One after the other, so that no more is looked at than can have been delivered.
            if each.last >= self.end:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"Offset {each.last} has not been delivered to anybody.")
            of_this = _by_type(each, self.start)
            self._check(member, of_this)
            pieces += of_this
        change = Change()
        deadline = now_ms + self.limits.lock_ms

        def apply(run: Run, number: int) -> None:
            kind = pieces[number][2]
            if kind == RENEW:
                run.deadline = deadline
                self._locked(deadline)
            else:
                change.begin(run, self._becomes(_BECOMES[kind], run.deliveries), run.deliveries)

        self._flight.change_each([piece[:2] for piece in pieces], apply)
        return change if change.batches else None

    def _check(self, member: str, pieces: Iterable[tuple[int, int, int]]) -> None:
        for first, last, kind in pieces:
            for run in self._flight.between(first, last):
                if run.state is not State.ACQUIRED:
                    raise KafkaError(ErrorCode.INVALID_RECORD_STATE, f"Offset {max(first, run.first)} is not acquired.")
                if run.member != member:
                    raise KafkaError(
                        ErrorCode.INVALID_RECORD_STATE, f"Another member has acquired offset {max(first, run.first)}."
                    )
                if run.change is not None:
                    raise KafkaError(
                        ErrorCode.INVALID_RECORD_STATE,
                        f"What was said of offset {max(first, run.first)} before is still being written down.",
                    )
            if kind == RENEW and not self.limits.renewals:
                raise KafkaError(ErrorCode.INVALID_RECORD_STATE, "The locks of this group are not renewed.")

    def release(self, member: str) -> Change | None:
        """A member is gone: what it had is for others. It counts as delivered, since nobody knows what became of it."""
        change = Change()
        held = [run for run in self._flight.runs if run.state is State.ACQUIRED and run.member == member]
        for run in held:
            if run.change is None:
                change.begin(run, self._becomes(State.AVAILABLE, run.deliveries), run.deliveries)
        return change if change.batches else None

    def complete(self, change: Change, *, written: bool) -> None:
        """It is written down, or cannot be."""
        for span in change.ranges:
            for run in self._flight.between(*span):
                if run.change is not change:
                    continue
                run.change = None
                if written:
                    run.state, run.deliveries = run.next
                    run.member, run.deadline = NOBODY, 0
                    self._freed(run)
                else:
                    self._locked(run.deadline)
            self._flight.join(*span)
        self._advance()

    # ----------------------------------------------------------------------------------------------------- locks

    @property
    def next_deadline(self) -> int | None:
        """When to look whether a lock has run out; None if there is none."""
        return self._deadline

    def expire(self, now_ms: int) -> Change | None:
        """Locks that have run out by now."""
        change, left = Change(), list[int]()
        for run in self._flight.runs:
            if run.state is not State.ACQUIRED or run.change is not None:
                continue
            if run.deadline > now_ms:
                left.append(run.deadline)
                continue
            run.state = self._becomes(State.AVAILABLE, run.deliveries)
            run.member, run.deadline = NOBODY, 0
            self._freed(run)
            change.add(run, run.state, run.deliveries)
        self._deadline = min(left, default=None)
        for batch in change.batches:
            self._flight.join(batch.first, batch.last)
        self._advance()
        return change if change.batches else None

    def _locked(self, deadline: int) -> None:
        if self._deadline is None or deadline < self._deadline:
            self._deadline = deadline

    # ------------------------------------------------------------------------------------------------- the log moves

    def move_start(self, log_start: int) -> None:
        """The log begins later now, and what was before it nobody can get any more."""
        if log_start > self.start:
            self._flight.drop_before(log_start)
            self._advance()

    def cut(self, log_end: int) -> None:
        """The log ends earlier: its leader was lost with records that nobody else had."""
        if log_end < self.end:
            self._flight.drop_from(log_end)
            self._seek = min(self._seek, log_end)

    # ------------------------------------------------------------------------------------------------------ details

    def _becomes(self, state: State, deliveries: int) -> State:
        given_up = state is State.AVAILABLE and deliveries >= self.limits.deliveries
        return State.ARCHIVED if given_up else state

    def _freed(self, run: Run) -> None:
        if run.state is State.AVAILABLE and run.first < self._seek:
            self._seek = run.first

    def _advance(self) -> None:
        """The start moves over what is done with."""
        runs = self._flight.runs
        place = 0
        while place < len(runs) and runs[place].is_done:
            place += 1
        if place:
            self._flight.drop_before(runs[place - 1].last + 1)


def _by_type(said: Acknowledgement, start: int) -> list[tuple[int, int, int]]:
    """Ranges of one type each. What is before the start is done with, whatever is said of it."""
    first = max(said.first, start)
    if first > said.last:
        return []
    if len(said.types) == 1:
        return [(first, said.last, said.types[0])]
    pieces: list[tuple[int, int, int]] = []
    for offset in range(first, said.last + 1):
        kind = said.types[offset - said.first]
        if pieces and pieces[-1][2] == kind:
            pieces[-1] = (pieces[-1][0], offset, kind)
        else:
            pieces.append((offset, offset, kind))
    return pieces


def _stored(state: int) -> State:
    """Who had it under another leader has it no more."""
    known = State(state) if state in State._value2member_map_ else State.AVAILABLE
    if known is State.ARCHIVING:
        return State.ARCHIVED
    return State.AVAILABLE if known is State.ACQUIRED else known


def _give_up(run: Run) -> None:
    run.state = State.ARCHIVED
