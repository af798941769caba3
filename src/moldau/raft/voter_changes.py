"""Changes of the voters, one at a time, as the leader makes them.

A new set counts for elections and commits from the moment it is written, and the change is answered when that set has
committed it. The next one waits for that, and the first one of an epoch until something of the epoch is committed:
otherwise a leader could build on a change that another leader replaces (the error in Raft's one-server changes).
"""

from __future__ import annotations

from typing import Any

from moldau.errors import ErrorCode
from moldau.raft.control_records import voters_record
from moldau.raft.effects import Reply
from moldau.raft.elections import Elections
from moldau.raft.member import Member
from moldau.raft.messages import (
    AddVoterRequest,
    ChangeAnswer,
    RemoveVoterRequest,
    UpdateVoterRequest,
    VersionsAnswer,
    VersionsRequest,
)
from moldau.raft.roles import Leader, PendingChange
from moldau.raft.version_upgrade import VersionUpgrade
from moldau.raft.voters import VoterSet
from moldau.types import ZERO_UUID

_NONE = ErrorCode.NONE


class VoterChanges:
    def __init__(self, member: Member, elections: Elections, upgrade: VersionUpgrade) -> None:
        self._member = member
        self._elections = elections
        self._upgrade = upgrade

    # -------------------------------------------------------------------------------------------------------- requests

    def add(self, request: AddVoterRequest, token: Any) -> None:
        member, voter = self._member, request.voter
        address = voter.address(member.settings.listener)
        role = self._leader(token)
        if role is None:
            return
        if voter.key.id < 0 or voter.key.directory == ZERO_UUID or address is None:
            self._reply(
                token,
                ErrorCode.INVALID_REQUEST,
                f"A voter needs an id, a directory id and an endpoint for the listener {member.settings.listener}.",
            )
        elif self._may_change(role, token):
            if member.voters.get(voter.key.id) is not None:
                self._reply(token, ErrorCode.DUPLICATE_VOTER, f"Node {voter.key.id} is a voter already.")
                return
            deadline = member.now + min(request.timeout, member.settings.request_timeout)
            asked = member.send(voter.key.id, address, VersionsRequest())
            role.change = PendingChange(token, deadline, not request.ack_when_committed, voter, asked)

    def versions_answered(self, id: int, answer: VersionsAnswer | None) -> None:
        """The node that is to become a voter said what it understands, or could not be reached."""
        member, role = self._member, self._member.role
        change = role.change if isinstance(role, Leader) else None
        if not isinstance(role, Leader) or change is None or change.asked != id or change.added is None:
            return
        voter, version = change.added, member.history.kraft_version
        if answer is None or answer.error is not _NONE:
            self._finish(role, ErrorCode.REQUEST_TIMED_OUT, f"Node {voter.key.id} could not be reached.")
        elif not answer.min_version <= version <= answer.max_version:
            self._finish(
                role, ErrorCode.INVALID_REQUEST, f"Node {voter.key.id} does not understand kraft.version {version}."
            )
        elif not role.progress.is_caught_up(voter.key, member.now):
            self._finish(role, ErrorCode.REQUEST_TIMED_OUT, f"Node {voter.key.id} has not caught up with the log.")
        else:
            known = voter._replace(min_version=answer.min_version, max_version=answer.max_version)
            change.added = None
            self._write(role, change, member.voters.with_voter(known))

    def remove(self, request: RemoveVoterRequest, token: Any) -> None:
        member, key = self._member, request.voter
        role = self._leader(token)
        if role is None:
            return
        if key.id < 0 or key.directory == ZERO_UUID:
            self._reply(token, ErrorCode.INVALID_REQUEST, "A voter has an id and a directory id.")
        elif self._may_change(role, token):
            voters = member.voters.without(key)
            if len(voters) == len(member.voters) or not voters:
                self._reply(token, ErrorCode.VOTER_NOT_FOUND, f"Node {key.id} is no voter that can be removed.")
                return
            change = role.change = PendingChange(token, member.now + member.settings.request_timeout)
            self._write(role, change, voters)

    def update(self, request: UpdateVoterRequest, token: Any) -> None:
        """A voter says where it is reached and what it understands; answered before it is committed, as in Kafka."""
        member, voter = self._member, request.voter
        if request.epoch != member.epoch:
            fenced = request.epoch < member.epoch
            self._reply(token, ErrorCode.FENCED_LEADER_EPOCH if fenced else ErrorCode.UNKNOWN_LEADER_EPOCH)
            return
        role = self._leader(token)
        if role is None:
            return
        version = member.history.kraft_version
        is_valid = voter.key.directory != ZERO_UUID and voter.address(member.settings.listener) is not None
        if not is_valid or not 0 <= voter.min_version <= version <= voter.max_version:
            self._reply(token, ErrorCode.INVALID_REQUEST)
        elif version < 1:
            # Nothing is written before the voters come to stand in the log.
            self._reply(token, self._upgrade.report(role, voter))
        elif self._may_change(role, token):
            if not member.voters.has(voter.key):
                self._reply(token, ErrorCode.VOTER_NOT_FOUND)
                return
            self._reply(token, _NONE)
            if member.voters.get(voter.key.id) != voter:
                change = role.change = PendingChange(None, member.now + member.settings.request_timeout)
                self._write(role, change, member.voters.with_voter(voter))

    def _leader(self, token: Any) -> Leader | None:
        role = self._member.role
        if isinstance(role, Leader):
            return role
        self._reply(token, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return None

    def _may_change(self, role: Leader, token: Any) -> bool:
        member = self._member
        if role.change is not None:
            self._reply(token, ErrorCode.REQUEST_TIMED_OUT, "Another change of the voters is under way.")
        elif not role.is_settled:
            self._reply(token, ErrorCode.REQUEST_TIMED_OUT, "The leader has not committed anything in its epoch yet.")
        elif member.history.kraft_version < 1:
            self._reply(token, ErrorCode.UNSUPPORTED_VERSION, "The voters are fixed, because kraft.version is 0.")
        elif member.history.last_offset >= member.high_watermark:
            self._reply(token, ErrorCode.REQUEST_TIMED_OUT, "The last change of the voters is not committed yet.")
        else:
            return True
        return False

    # ---------------------------------------------------------------------------------------------------------- course

    def _write(self, role: Leader, change: PendingChange, voters: VoterSet) -> None:
        member = self._member
        change.offset = member.append_control([voters_record(voters)], voters, member.history.kraft_version)
        role.progress.change_voters(member.voters)
        role.progress.forced(min(member.flushed, member.end.offset))
        if change.answers_early and change.token is not None:
            self._reply(change.token, _NONE)
            change.token = None

    def committed(self) -> None:
        """The high watermark moved."""
        member, role = self._member, self._member.role
        if not isinstance(role, Leader):
            return
        change = role.change
        if change is not None and change.offset is not None and change.offset < member.high_watermark:
            self._finish(role, _NONE)
        if not member.is_voter and member.history.last_offset < member.high_watermark:
            # The log says that it is no voter any more, and others have that now.
            member.become_resigned()
            self._elections.poll()

    def poll(self) -> None:
        role = self._member.role
        change = role.change if isinstance(role, Leader) else None
        if isinstance(role, Leader) and change is not None and change.deadline <= self._member.now:
            if change.offset is None:
                self._finish(role, ErrorCode.REQUEST_TIMED_OUT, "The change was not made in time.")
            elif change.token is not None:
                # It is in the log and counts; only nobody knows yet whether it stays.
                self._reply(change.token, ErrorCode.REQUEST_TIMED_OUT, "The change was not committed in time.")
                change.token = None

    def _finish(self, role: Leader, error: ErrorCode, message: str | None = None) -> None:
        change, role.change = role.change, None
        if change is not None and change.token is not None:
            self._reply(change.token, error, message)

    def _reply(self, token: Any, error: ErrorCode, message: str | None = None) -> None:
        self._member.emit(Reply(token, ChangeAnswer(error, self._member.standing, message)))
