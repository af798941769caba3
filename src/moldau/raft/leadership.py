"""The side that leads: answers fetches, moves the high watermark, notices when nobody follows any more.

A fetch that finds nothing new waits; it is answered when there are records, when the high watermark moved past what
the follower knows, or when its time is over.
"""

from __future__ import annotations

from typing import Any

from moldau.errors import ErrorCode
from moldau.raft.effects import Reply, ReplySnapshot
from moldau.raft.elections import Elections
from moldau.raft.log_view import EpochOffset
from moldau.raft.member import Member
from moldau.raft.messages import (
    BeginEpochRequest,
    EpochAnswer,
    FetchAnswer,
    FetchRequest,
    SnapshotAnswer,
    SnapshotRequest,
)
from moldau.raft.roles import Leader, Parked
from moldau.raft.voter_changes import VoterChanges

_NONE = ErrorCode.NONE


class Leadership:
    def __init__(self, member: Member, elections: Elections, changes: VoterChanges) -> None:
        self._member = member
        self._elections = elections
        self._changes = changes

    # -------------------------------------------------------------------------------------------------------- requests

    def check(self, epoch: int) -> ErrorCode:
        """Whether a request that only the leader of `epoch` can answer is right here."""
        member = self._member
        if epoch < member.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if epoch > member.epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        return _NONE if isinstance(member.role, Leader) else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def fetch(self, request: FetchRequest, token: Any) -> None:
        member, role = self._member, self._member.role
        end = request.end
        error = self.check(request.epoch)
        is_valid = request.max_wait >= 0 and end.offset >= 0 and 0 <= end.epoch <= request.epoch
        if not is_valid or (error is _NONE and request.replica.id == member.key.id):
            error = ErrorCode.INVALID_REQUEST
        if error is not _NONE or not isinstance(role, Leader):
            member.emit(Reply(token, FetchAnswer(error, member.standing)))
            return
        refused = self._compared(end)
        if refused is not None:
            # It follows, though it has nothing yet that counts.
            role.progress.heard(request.replica, member.now)
            member.emit(Reply(token, refused))
            return
        if request.replica.id >= 0:
            role.progress.fetched(request.replica, end.offset, member.end.offset, member.now)
            self.advance()
        if member.role is not role:
            # With this fetch its own departure was committed.
            member.emit(Reply(token, FetchAnswer(ErrorCode.NOT_LEADER_OR_FOLLOWER, member.standing)))
        elif self._has_news(request) or request.max_wait == 0:
            self._answer(request, token)
        else:
            role.parked.append(Parked(token, request, member.now + request.max_wait))

    def _compared(self, end: EpochOffset) -> FetchAnswer | None:
        """The answer to one whose log is no part of this one, or ended before it begins."""
        member, log = self._member, self._member.log
        high_watermark = member.high_watermark if self._is_settled else -1
        snapshot = log.snapshot
        if snapshot is not None and (
            end.offset == 0
            or end.offset < log.start_offset
            or (end.offset == log.start_offset and end.epoch != log.epoch_before(log.start_offset))
            or end.epoch < log.epoch_before(log.start_offset)
        ):
            return FetchAnswer(_NONE, member.standing, high_watermark, snapshot=snapshot)
        if end.offset == 0:
            return None
        own = log.end_of_epoch(end.epoch) if end.epoch != member.end.epoch else member.end
        if own.epoch != end.epoch or own.offset < end.offset:
            return FetchAnswer(_NONE, member.standing, high_watermark, diverging=own)
        return None

    @property
    def _is_settled(self) -> bool:
        return isinstance(self._member.role, Leader) and self._member.role.is_settled

    def _has_news(self, request: FetchRequest) -> bool:
        member = self._member
        return member.end.offset > request.end.offset or (
            self._is_settled and request.high_watermark < member.high_watermark
        )

    def _answer(self, request: FetchRequest, token: Any) -> None:
        member = self._member
        offset = request.end.offset
        answer = FetchAnswer(
            _NONE,
            member.standing,
            # Before something of this epoch is committed nobody can say what is.
            member.high_watermark if self._is_settled else -1,
            read_from=offset if member.end.offset > offset else None,
            max_bytes=request.max_bytes,
        )
        member.emit(Reply(token, answer))

    def fetch_snapshot(self, request: SnapshotRequest, token: Any) -> None:
        member, role = self._member, self._member.role
        error = self.check(request.epoch)
        if error is not _NONE or not isinstance(role, Leader):
            member.emit(Reply(token, SnapshotAnswer(error, member.standing)))
            return
        role.progress.heard(request.replica, member.now)
        member.emit(ReplySnapshot(token, request, member.standing))

    # ---------------------------------------------------------------------------------------------------- what happened

    def appended(self) -> None:
        """The log has grown: whoever waits for that gets it."""
        self._wake()

    def forced(self) -> None:
        """More of the leader's own log is on disk."""
        role = self._member.role
        if isinstance(role, Leader):
            role.progress.forced(min(self._member.flushed, self._member.end.offset))
            self.advance()

    def advance(self) -> None:
        member, role = self._member, self._member.role
        if not isinstance(role, Leader):
            return
        offset = role.progress.committed()
        if offset is None:
            return
        offset = min(offset, member.end.offset)
        if offset > member.high_watermark or not role.is_settled:
            member.commit(offset)
            if not role.is_settled:
                role.is_settled = True
                member.announce(member.key.id)
            self._changes.committed()
            self._wake()

    def _wake(self) -> None:
        role = self._member.role
        if isinstance(role, Leader) and role.parked:
            parked, role.parked = role.parked, []
            for one in parked:
                if self._has_news(one.request):
                    self._answer(one.request, one.token)
                else:
                    role.parked.append(one)

    def begin_answered(self, answer: EpochAnswer) -> None:
        self._elections.heard(answer.error, answer.standing)

    # ------------------------------------------------------------------------------------------------------------ time

    def poll(self) -> None:
        member, role = self._member, self._member.role
        if not isinstance(role, Leader):
            return
        now = member.now
        if role.progress.is_cut_off(now):
            # A majority may have elected somebody else by now; whoever asks here is better told so.
            member.become_resigned()
            self._elections.poll()
            return
        for parked in [parked for parked in role.parked if parked.deadline <= now]:
            role.parked.remove(parked)
            self._answer(parked.request, parked.token)
        self._changes.poll()
        if role.announce_at <= now:
            role.announce_at = now + member.settings.fetch_timeout / 2
            self._announce(role)

    def _announce(self, role: Leader) -> None:
        """Tells voters who leads, those that do not fetch: all of them at first."""
        member = self._member
        for replica in role.progress.unheard(member.now):
            voter = member.voters.get(replica.key.id)
            address = member.address_of(replica.key.id)
            if voter is not None and address is not None and member.connections.is_free(voter.key.id, member.now):
                request = BeginEpochRequest(member.epoch, member.key.id, voter.key, member.local.endpoints)
                member.send(voter.key.id, address, request)
