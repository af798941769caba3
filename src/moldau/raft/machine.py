"""KRaft as a machine of steps: messages and time go in, effects come out. It knows no disk, clock, network or chance.

    effects = machine.receive(request, token, now)      a request of another node; `token` comes back with its answer
    effects = machine.answered(id, answer, now)         the answer to one of ours, None if there will be none; whether
                                                        that is because its connection ended
    effects = machine.tick(now)                         time passed; `deadline` says when that is worth it
    effects = machine.appended(now)                     the driver wrote records, as leader
    effects = machine.flushed(end_offset, now)          the log is on disk up to there
    effects = machine.snapshot_installed(changes, now)  a snapshot of the leader took the place of the log

`effects` says in which order they have to be true. After every step the log must be as its effects left it, because the
next step looks at it. Read `member` for the roles, then `elections`, `leadership` and `fetcher`, which share it;
`voter_changes` for a quorum whose voters change. These always hold, and `tests/unit/raft` tries to break them:

- An epoch has one leader: a vote is given once in it, and is on disk before it is told.
- A log is cut off by what epochs ended where, and never behind the high watermark.
- What counts as replicated is on disk, the leader's own log included.
- Only a record of the leader's own epoch is committed by counting; those before it come along.
- Who led an epoch does not lead it again after a restart: it cannot know what it lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moldau.errors import ErrorCode
from moldau.raft.effects import Effect, Election
from moldau.raft.elections import Elections
from moldau.raft.fetcher import Fetcher
from moldau.raft.leadership import Leadership
from moldau.raft.log_view import LogView
from moldau.raft.member import Member, RaftSettings
from moldau.raft.messages import (
    AddVoterRequest,
    Answer,
    BeginEpochRequest,
    ChangeAnswer,
    EndEpochRequest,
    EpochAnswer,
    FetchAnswer,
    FetchRequest,
    RemoveVoterRequest,
    Request,
    SnapshotAnswer,
    SnapshotRequest,
    UpdateVoterRequest,
    VersionsAnswer,
    VersionsRequest,
    VoteAnswer,
    VoteRequest,
)
from moldau.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from moldau.raft.version_upgrade import VersionUpgrade
from moldau.raft.voter_changes import VoterChanges
from moldau.raft.voters import Voter, VoterChange, VoterHistory
from moldau.runtime.ports import Random


class RaftMachine:
    def __init__(
        self,
        local: Voter,
        settings: RaftSettings,
        voters: VoterHistory,
        election: Election,
        log: LogView,
        flushed: int,
        random: Random,
        now: float,
    ) -> None:
        self.member = member = Member(local, settings, voters, log, flushed, random, now)
        member.election = election
        snapshot = log.snapshot
        member.high_watermark = 0 if snapshot is None else snapshot.offset
        self._elections = Elections(member)
        self._upgrade = VersionUpgrade(member)
        self._changes = VoterChanges(member, self._elections, self._upgrade)
        self._leadership = Leadership(member, self._elections, self._changes)
        self._fetcher = Fetcher(member, self._elections)

    # ------------------------------------------------------------------------------------------------------------ start

    def start(self, now: float) -> list[Effect]:
        """The first role, from what was remembered. The only voter leads when this returns."""
        self._begin(now)
        member = self.member
        election, last_epoch = member.election, member.end.epoch
        if last_epoch > election.epoch:
            # The file was lost or is older than the log: no vote of that epoch was this node's, that is all it knows.
            member.become_unattached(last_epoch)
        elif member.is_voter and len(member.voters) == 1:
            pass
        elif election.leader_id == member.key.id:
            member.become_resigned()
        elif election.leader_id >= 0:
            member.become_follower(election.epoch, election.leader_id, member.address_of(election.leader_id))
        else:
            member.become_unattached(election.epoch, voted=election.voted)
        if member.is_voter and len(member.voters) == 1:
            # Nobody else could have voted. It leads, and one record on disk says so.
            member.election = Election(member.epoch + 1)
            member.become_leader((member.key.id,))
        return self._end()

    # ----------------------------------------------------------------------------------------------------------- inputs

    def receive(self, request: Request, token: Any, now: float) -> list[Effect]:
        self._begin(now)
        if isinstance(request, FetchRequest):
            self._leadership.fetch(request, token)
        elif isinstance(request, VoteRequest):
            self._elections.vote(request, token)
        elif isinstance(request, BeginEpochRequest):
            self._elections.begin_epoch(request, token)
        elif isinstance(request, EndEpochRequest):
            self._elections.end_epoch(request, token)
        elif isinstance(request, SnapshotRequest):
            self._leadership.fetch_snapshot(request, token)
        elif isinstance(request, AddVoterRequest):
            self._changes.add(request, token)
        elif isinstance(request, RemoveVoterRequest):
            self._changes.remove(request, token)
        elif isinstance(request, UpdateVoterRequest):
            self._changes.update(request, token)
        if not isinstance(request, FetchRequest):
            # What it wrote is for those whose fetches wait.
            self._leadership.appended()
        return self._end()

    def answered(self, id: int, answer: Answer | None, now: float, *, disconnected: bool = False) -> list[Effect]:
        self._begin(now)
        member = self.member
        waiting = member.connections.settle(id)
        if waiting is not None:
            role, request = member.role, waiting.request
            if answer is None:
                self._unanswered(waiting.id, waiting.node_id, request)
                if disconnected:
                    self._fetcher.doubt(waiting.node_id)
            else:
                self._take(waiting.id, waiting.node_id, request, answer)
            if member.role is role and (answer is None or answer.error is not ErrorCode.NONE):
                member.connections.pause(waiting.node_id, now)
        return self._end()

    def _take(self, id: int, node_id: int, request: Request, answer: Answer) -> None:
        if isinstance(answer, FetchAnswer):
            self._fetcher.fetched(answer)
            if answer.error is ErrorCode.NOT_LEADER_OR_FOLLOWER and answer.standing.leader_id != node_id:
                # It does not lead, it says: it was restarted, or has resigned.
                self._fetcher.doubt(node_id)
        elif isinstance(answer, VoteAnswer) and isinstance(request, VoteRequest):
            if answer.error is ErrorCode.UNSUPPORTED_VERSION:
                self._elections.refused(node_id)
            else:
                self._elections.vote_answered(node_id, request, answer)
        elif isinstance(answer, EpochAnswer):
            if isinstance(request, EndEpochRequest):
                self._elections.end_answered(node_id, answer)
            else:
                self._leadership.begin_answered(answer)
        elif isinstance(answer, SnapshotAnswer):
            self._fetcher.snapshot_fetched(answer)
        elif isinstance(answer, ChangeAnswer):
            self._fetcher.update_answered(request, answer)
        elif isinstance(answer, VersionsAnswer):
            self._changes.versions_answered(id, answer)
            self._leadership.appended()

    def _unanswered(self, id: int, node_id: int, request: Request) -> None:
        if isinstance(request, VersionsRequest):
            self._changes.versions_answered(id, None)

    def tick(self, now: float) -> list[Effect]:
        self._begin(now)
        return self._end()

    def appended(self, now: float) -> list[Effect]:
        self._begin(now)
        self._leadership.appended()
        return self._end()

    def upgrade(self, kraft_version: int, now: float, *, validate_only: bool) -> list[Effect]:
        """KafkaError if this node does not lead, or not every voter can go along."""
        self._begin(now)
        self._upgrade.run(kraft_version, validate_only=validate_only)
        self._leadership.appended()
        return self._end()

    def append_failed(self, now: float) -> list[Effect]:
        """What the leader sent could not be written; the log is as it was."""
        self._begin(now)
        self._fetcher.append_failed()
        return self._end()

    def flushed(self, end_offset: int, now: float) -> list[Effect]:
        self._begin(now)
        self.member.flushed = min(end_offset, self.member.end.offset)
        self._leadership.forced()
        return self._end()

    def snapshot_installed(self, changes: tuple[VoterChange, ...], now: float) -> list[Effect]:
        self._begin(now)
        self._fetcher.snapshot_installed(changes)
        return self._end()

    def snapshot_failed(self, now: float) -> list[Effect]:
        """The snapshot could not be saved; begun again after a pause."""
        self._begin(now)
        self._fetcher.snapshot_given_up()
        if isinstance(self.member.role, Follower):
            self.member.connections.pause(self.member.role.leader_id, now)
        return self._end()

    def resign(self, epoch: int, now: float) -> list[Effect]:
        self._begin(now)
        if isinstance(self.member.role, Leader) and epoch == self.member.epoch:
            self.member.become_resigned()
        return self._end()

    # ------------------------------------------------------------------------------------------------------------ state

    def leads(self, epoch: int) -> bool:
        """Whether records may be appended in `epoch`."""
        return isinstance(self.member.role, Leader) and epoch == self.member.epoch

    @property
    def deadline(self) -> float | None:
        """When the next tick is due, if nothing happens before."""
        return min(self._deadlines(), default=None)

    def _deadlines(self) -> Iterator[float]:
        member, role = self.member, self.member.role
        yield from member.connections.deadlines()
        if isinstance(role, Leader):
            if len(role.progress.voters) > 1 or not role.progress.is_voter(member.key):
                yield role.progress.check_deadline
                yield role.announce_at
            for parked in role.parked:
                yield parked.deadline
            if role.change is not None and (role.change.offset is None or role.change.token is not None):
                yield role.change.deadline
        elif isinstance(role, Candidate):
            yield role.deadline if role.retry is None else role.retry
        elif isinstance(role, Unattached | Follower):
            if member.may_stand or (isinstance(role, Follower) and role.deadline > member.now):
                yield role.deadline
        elif isinstance(role, Prospective | Resigned):
            yield role.deadline

    # ------------------------------------------------------------------------------------------------------------ steps

    def _begin(self, now: float) -> None:
        member = self.member
        member.now = now
        member.end = member.log.end

    def _end(self) -> list[Effect]:
        member = self.member
        for late in member.connections.expired(member.now):
            self._unanswered(late.id, late.node_id, late.request)
            member.connections.pause(late.node_id, member.now)
        self._elections.poll()
        self._leadership.poll()
        self._fetcher.poll()
        effects, member.effects = member.effects, []
        return effects
