"""Elections: who asks for votes, who gives one, how a leader makes itself known and how it takes its leave.

A vote is given once in an epoch, to a log that is not behind the voter's own. Before it asks for votes a node asks
whether it would get them (pre-vote): one that was merely cut off comes back without disturbing a leader that works.
"""

from __future__ import annotations

from typing import Any

from moldau.errors import ErrorCode
from moldau.links.addresses import Address
from moldau.raft.effects import Reply
from moldau.raft.member import Member
from moldau.raft.messages import (
    BeginEpochRequest,
    EndEpochRequest,
    EpochAnswer,
    Standing,
    VoteAnswer,
    VoteRequest,
)
from moldau.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from moldau.raft.voters import Endpoint, ReplicaKey

_NONE = ErrorCode.NONE


class Elections:
    def __init__(self, member: Member) -> None:
        self._member = member

    # -------------------------------------------------------------------------------------------------------- requests

    def vote(self, request: VoteRequest, token: Any) -> None:
        error, granted = self._decide(request)
        self._member.emit(Reply(token, VoteAnswer(error, self._member.standing, granted)))

    def _decide(self, request: VoteRequest) -> tuple[ErrorCode, bool]:
        member, end = self._member, request.end
        if end.offset < 0 or end.epoch < 0 or end.epoch > request.epoch - (not request.pre_vote):
            return ErrorCode.INVALID_REQUEST, False
        if request.epoch < member.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH, False
        if request.candidate.id < 0 or request.candidate.id == member.key.id:
            return ErrorCode.INVALID_REQUEST, False
        if request.epoch > member.epoch:
            member.become_unattached(request.epoch)
        if not self._is_meant(request.voter):
            return ErrorCode.INVALID_VOTER_KEY, False
        granted = self._may_vote(request)
        if granted and not request.pre_vote and member.election.voted is None:
            # On disk before the answer leaves.
            member.become_unattached(member.epoch, voted=request.candidate)
        return _NONE, granted

    def _may_vote(self, request: VoteRequest) -> bool:
        member, role = self._member, self._member.role
        is_up_to_date = request.end >= member.end
        if request.pre_vote:
            has_leader = isinstance(role, Leader) or (isinstance(role, Follower) and role.has_fetched)
            return is_up_to_date and not has_leader
        voted = member.election.voted
        if voted is not None:
            # The same candidate asks again: the answer was lost on the way.
            return voted == request.candidate
        may_still = isinstance(role, Unattached | Prospective) and member.election.leader_id < 0
        return may_still and is_up_to_date

    def _is_meant(self, voter: ReplicaKey | None) -> bool:
        return voter is None or voter.covers(self._member.key)

    def begin_epoch(self, request: BeginEpochRequest, token: Any) -> None:
        error = self._from_leader(request.epoch, request.leader_id, request.endpoints)
        if error is _NONE and not self._is_meant(request.voter):
            error = ErrorCode.INVALID_VOTER_KEY
        self._member.emit(Reply(token, EpochAnswer(error, self._member.standing)))

    def end_epoch(self, request: EndEpochRequest, token: Any) -> None:
        member = self._member
        error = self._from_leader(request.epoch, request.leader_id, request.endpoints)
        role = member.role
        if error is _NONE and isinstance(role, Follower) and role.leader_id == request.leader_id:
            # The first of the successors stands for election at once, each further one a little later.
            position = next(
                (i for i, key in enumerate(request.successors) if key.covers(member.key)), len(request.successors)
            )
            role.deadline = member.now + self._turn(position, len(request.successors))
            role.has_fetched = False
        member.emit(Reply(token, EpochAnswer(error, member.standing)))

    def _turn(self, position: int, count: int) -> float:
        longest = self._member.settings.election_backoff_max
        if position == 0:
            return 0.0
        if position >= count:
            return longest
        return min(longest, longest * 2.0 ** (position - count))

    def _from_leader(self, epoch: int, leader_id: int, endpoints: tuple[Endpoint, ...]) -> ErrorCode:
        member = self._member
        if epoch < member.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if leader_id < 0:
            return ErrorCode.INVALID_REQUEST
        listener = member.settings.listener
        address = next((Address(e.host, e.port) for e in endpoints if e.name == listener), None)
        self.consider(Standing(epoch, leader_id, address))
        return _NONE

    # ---------------------------------------------------------------------------------------------------- what it hears

    def consider(self, standing: Standing) -> None:
        """Somebody says who leads in an epoch that is not behind ours."""
        member, leader_id = self._member, standing.leader_id
        if leader_id == member.key.id:
            # Of an epoch it led before it was restarted, or of one it lost: nobody follows himself.
            if standing.epoch > member.epoch:
                member.become_unattached(standing.epoch)
        elif standing.epoch > member.epoch:
            if leader_id >= 0:
                member.become_follower(standing.epoch, leader_id, self._address(standing))
            else:
                member.become_unattached(standing.epoch)
        elif leader_id >= 0 and standing.epoch == member.epoch and not isinstance(member.role, Leader | Resigned):
            known, address = member.election.leader_id, self._address(standing)
            # Whoever asks for votes has given up the leader that others may still name; that is no news.
            is_found = self._seeks_leader and known == leader_id and address is not None
            if known < 0 or is_found:
                member.become_follower(standing.epoch, leader_id, address)

    @property
    def _seeks_leader(self) -> bool:
        """Whether it asks around where its leader is. So does one that only observes, when it has not heard of its
        leader for too long; it may be the only one that knows of no other way to it."""
        member, role = self._member, self._member.role
        is_lost = isinstance(role, Follower) and role.deadline <= member.now and not member.may_stand
        return is_lost or isinstance(role, Unattached)

    def _address(self, standing: Standing) -> Address | None:
        return standing.address or self._member.address_of(standing.leader_id)

    def heard(self, error: ErrorCode, standing: Standing) -> bool:
        """What every answer has in common; True if there is nothing more in it for the one who asked."""
        member = self._member
        if standing.epoch < member.epoch or error is ErrorCode.UNKNOWN_LEADER_EPOCH:
            return True
        epoch = member.epoch
        self.consider(standing)
        return member.epoch != epoch or error is not _NONE

    def vote_answered(self, voter_id: int, request: VoteRequest, answer: VoteAnswer) -> None:
        member = self._member
        if self.heard(answer.error, answer.standing):
            return
        role = member.role
        if not isinstance(role, Prospective | Candidate) or request.pre_vote != isinstance(role, Prospective):
            return
        role.ballot.record(voter_id, answer.granted)
        self.count()

    def count(self) -> None:
        member, role = self._member, self._member.role
        if isinstance(role, Prospective):
            if role.ballot.is_won:
                member.become_candidate()
                self.count()
            elif role.ballot.is_lost:
                self._not_now(role)
        elif isinstance(role, Candidate):
            if role.ballot.is_won:
                member.become_leader(role.ballot.granted)
            elif role.ballot.is_lost and role.retry is None:
                role.retry = member.now + member.backoff()

    def _not_now(self, role: Prospective) -> None:
        """Others still hear their leader, or have more: back to where it came from, and again later."""
        member = self._member
        leader_id, voted = member.election.leader_id, member.election.voted
        if leader_id >= 0 and role.leader is not None:
            member.become_follower(member.epoch, leader_id, role.leader)
        else:
            member.become_unattached(member.epoch, leader_id, voted)

    # ------------------------------------------------------------------------------------------------------------ time

    def poll(self) -> None:
        """Whatever is due in a role without a leader."""
        member = self._member
        role, now = member.role, member.now
        if isinstance(role, Unattached):
            if member.may_stand and role.deadline <= now:
                member.become_prospective()
                self.count()
                self.poll()
        elif isinstance(role, Prospective):
            if role.deadline <= now:
                self._not_now(role)
            else:
                self._ask(role.ballot.missing, pre_vote=True)
        elif isinstance(role, Candidate):
            self._poll_candidate(role)
        elif isinstance(role, Resigned):
            self._poll_resigned(role)

    def _poll_candidate(self, role: Candidate) -> None:
        member = self._member
        if role.retry is None and role.deadline <= member.now:
            role.retry = member.now + member.backoff()
        if role.retry is None:
            self._ask(role.ballot.missing, pre_vote=False)
        elif role.retry <= member.now:
            member.become_prospective()
            self.count()
            self.poll()

    def _poll_resigned(self, role: Resigned) -> None:
        member = self._member
        if not member.may_stand and (role.deadline <= member.now or not role.unacknowledged):
            # A leader that was voted out, and all that vote know. In its old epoch it would be told that it leads.
            member.become_unattached(member.epoch + 1)
            return
        if role.deadline <= member.now:
            member.become_prospective()
            self.count()
            self.poll()
            return
        endpoints = member.local.endpoints
        for node_id in sorted(role.unacknowledged):
            address = member.address_of(node_id)
            if address is not None and member.connections.is_free(node_id, member.now):
                member.send(node_id, address, EndEpochRequest(member.epoch, member.key.id, role.successors, endpoints))

    def end_answered(self, node_id: int, answer: EpochAnswer) -> None:
        role = self._member.role
        if not self.heard(answer.error, answer.standing) and isinstance(role, Resigned):
            role.unacknowledged.discard(node_id)

    def _ask(self, voters: tuple[int, ...], *, pre_vote: bool) -> None:
        member = self._member
        for node_id in voters:
            voter = member.voters.get(node_id)
            address = member.address_of(node_id)
            if voter is None or address is None or not member.connections.is_free(node_id, member.now):
                continue
            request = VoteRequest(member.epoch, member.key, voter.key, member.end, pre_vote)
            member.send(node_id, address, request)

    def refused(self, voter_id: int) -> None:
        """The voter does not know pre-votes: it has nothing against a real one."""
        role = self._member.role
        if isinstance(role, Prospective):
            role.ballot.record(voter_id, True)
            self.count()
