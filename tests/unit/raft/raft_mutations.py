"""Errors that others have made, to be switched on: the simulation must find each of them.

Every mutation is a context in which the machine, or the host that keeps its promises, is wrong in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from raft_model import Host

from moldau.raft.effects import Persist, Truncate
from moldau.raft.elections import Elections
from moldau.raft.fetcher import Fetcher
from moldau.raft.leadership import Leadership
from moldau.raft.log_view import EpochOffset
from moldau.raft.machine import RaftMachine
from moldau.raft.member import Member
from moldau.raft.progress import Progress
from moldau.raft.roles import Ballot, Follower, Leader
from moldau.raft.voter_changes import VoterChanges


@contextmanager
def _replaced(owner: Any, name: str, make: Callable[[Any], Any]) -> Iterator[None]:
    original = getattr(owner, name)
    setattr(owner, name, make(original))
    try:
        yield
    finally:
        setattr(owner, name, original)


def forgets_its_vote() -> Any:
    """The vote is told, and not written down."""

    def make(original: Any) -> Any:
        return lambda self, effect: original(self, Persist(effect.election._replace(voted=None)))

    return _replaced(Host, "_persist", make)


def tells_its_vote_before_it_is_on_disk() -> Any:
    def make(original: Any) -> Any:
        def persist(self: Host, effect: Persist) -> None:
            original(self, effect)
            self._persisting = False

        return persist

    return _replaced(Host, "_persist", make)


def votes_for_a_shorter_log() -> Any:
    def make(original: Any) -> Any:
        def may_vote(self: Elections, request: Any) -> bool:
            member = self._member
            end, member.end = member.end, EpochOffset(0, 0)
            try:
                return bool(original(self, request))
            finally:
                member.end = end

        return may_vote

    return _replaced(Elections, "_may_vote", make)


def commits_older_epochs_by_count() -> Any:
    """Figure 8 of the Raft paper."""

    def make(original: Any) -> Any:
        def committed(self: Progress) -> int | None:
            start, self.epoch_start = self.epoch_start, 0
            try:
                result: int | None = original(self)
                return result
            finally:
                self.epoch_start = start

        return committed

    return _replaced(Progress, "committed", make)


def counts_the_leaders_unsynced_log() -> Any:
    def make(original: Any) -> Any:
        def fetched(self: Progress, key: Any, offset: int, leader_end: int, now: float) -> None:
            self.forced(leader_end)
            original(self, key, offset, leader_end, now)

        return fetched

    return _replaced(Progress, "fetched", make)


def fetches_before_the_fsync() -> Any:
    def make(original: Any) -> Any:
        def append(self: Fetcher, entries: Any) -> None:
            original(self, entries)
            self._member.flushed = self._member.end.offset

        return append

    return _replaced(Fetcher, "_append", make)


def cuts_by_the_high_watermark() -> Any:
    """Before epochs were asked (KIP-101): a new follower cuts its log where it knows it to be committed."""

    def make(original: Any) -> Any:
        def become_follower(self: Member, epoch: int, leader_id: int, address: Any) -> None:
            original(self, epoch, leader_id, address)
            if isinstance(self.role, Follower) and self.high_watermark < self.end.offset:
                self.emit(Truncate(max(self.high_watermark, self.log.start_offset)))
                end = max(self.high_watermark, self.log.start_offset)
                self.history.cut(end)
                self.flushed = min(self.flushed, end)
                self.end = EpochOffset(self.log.epoch_before(end), end)

        return become_follower

    return _replaced(Member, "become_follower", make)


def appends_without_comparing_epochs() -> Any:
    """The leader takes the follower's word that its log is the same up to an offset."""

    def make(original: Any) -> Any:
        def compared(self: Leadership, end: EpochOffset) -> Any:
            answer = original(self, end)
            if answer is not None and answer.diverging is not None and end.offset <= self._member.end.offset:
                return None
            return answer

        return compared

    return _replaced(Leadership, "_compared", make)


def leads_its_epoch_again() -> Any:
    """After a restart the leader goes on where it was."""

    def make(original: Any) -> Any:
        def start(self: RaftMachine, now: float) -> Any:
            member = self.member
            if member.election.leader_id == member.key.id and member.epoch > 0:
                member.now, member.end = now, member.log.end
                progress = Progress(member.key, max(0, member.end.offset - 1), member.settings.fetch_timeout)
                progress.begin(member.voters, member.flushed, now)
                member.role = Leader(progress, now)
                return self._end()
            return original(self, now)

        return start

    return _replaced(RaftMachine, "start", make)


def changes_voters_before_the_last_change_is_committed() -> Any:
    def make(original: Any) -> Any:
        def may_change(self: VoterChanges, role: Leader, token: Any) -> bool:
            return self._member.history.kraft_version > 0

        return may_change

    return _replaced(VoterChanges, "_may_change", make)


def wins_with_half_of_the_votes() -> Any:
    def make(original: Any) -> Any:
        return property(lambda self: len(self.granted) >= max(1, len(self._votes) // 2))

    return _replaced(Ballot, "is_won", make)


MUTATIONS: tuple[Callable[[], Any], ...] = (
    forgets_its_vote,
    tells_its_vote_before_it_is_on_disk,
    votes_for_a_shorter_log,
    commits_older_epochs_by_count,
    counts_the_leaders_unsynced_log,
    fetches_before_the_fsync,
    cuts_by_the_high_watermark,
    appends_without_comparing_epochs,
    leads_its_epoch_again,
    changes_voters_before_the_last_change_is_committed,
    wins_with_half_of_the_votes,
)
