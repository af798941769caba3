"""SyncGroup, Heartbeat and LeaveGroup on a classic group."""

from __future__ import annotations

from moldau.coordinator.group.classic_group import PIECE, ClassicGroup, ClassicState
from moldau.coordinator.group.classic_rebalance import NOTHING, ClassicRebalance, named, session_key, synced
from moldau.coordinator.group.classic_records import group_record
from moldau.coordinator.group.requests import append_error
from moldau.coordinator.shard import Outcome, Result, decided
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from moldau.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from moldau.slicing import Work, pieces


class ClassicSession:
    def __init__(self, rebalance: ClassicRebalance) -> None:
        self._rebalance = rebalance

    # -------------------------------------------------------------------------------------------------------- sync

    def sync(
        self, group: ClassicGroup, request: SyncGroupRequest, answer: Deferred[SyncGroupResponse], now_ms: int
    ) -> Outcome[None]:
        _check(group, request.member_id, request.group_instance_id, request.generation_id)
        if _differs(request.protocol_type, group.protocol_type) or _differs(request.protocol_name, group.protocol_name):
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if group.is_in(ClassicState.PREPARING_REBALANCE):
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
        member = group.members[request.member_id]
        self._rebalance.note_sync(group, member.member_id)
        if group.is_in(ClassicState.STABLE):
            answer.resolve(synced(group, member))
            return NOTHING
        group.complete_sync(member, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        member.sync_answer = answer
        if group.leader != member.member_id:
            return NOTHING
        given = {row.member_id: row.assignment for row in request.assignments}
        return self._store(group, {member_id: given.get(member_id, b"") for member_id in group.members}, now_ms)

    def _store(self, group: ClassicGroup, assignments: dict[str, bytes], now_ms: int) -> Work[Result[None]]:
        generation = group.generation
        record = yield from group_record(group, assignments)

        def done(error: KafkaError | None) -> Work[None]:
            if not group.is_in(ClassicState.COMPLETING_REBALANCE) or group.generation != generation:
                # A member came or went while the record was being written: the next generation is under way.
                return
            if error is None:
                yield from self._rebalance.distribute(group, assignments, now_ms)
            else:
                yield from self._rebalance.fail_sync(group, append_error(error))
                if error.code == ErrorCode.NOT_COORDINATOR:
                    return  # the next generation begins where the group is now
                # Nobody has joined again yet, so there is nothing to write.
                yield from decided(
                    self._rebalance.prepare(group, f"the assignment could not be stored: {error}", now_ms)
                )

        return Result([record], None, replay=False, done=done)

    # --------------------------------------------------------------------------------------------------- heartbeat

    def heartbeat(self, group: ClassicGroup, request: HeartbeatRequest) -> Result[HeartbeatResponse]:
        _check(group, request.member_id, request.group_instance_id, request.generation_id)
        if group.is_empty:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        self._rebalance.extend_session(group, group.members[request.member_id])
        preparing = group.is_in(ClassicState.PREPARING_REBALANCE)
        code = ErrorCode.REBALANCE_IN_PROGRESS if preparing else ErrorCode.NONE
        return Result((), HeartbeatResponse(error_code=code))

    # ------------------------------------------------------------------------------------------------------- leave

    def leave(self, group: ClassicGroup, request: LeaveGroupRequest, now_ms: int) -> Work[Result[LeaveGroupResponse]]:
        if group.is_in(ClassicState.DEAD):
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        rows: list[MemberResponse] = []
        for identities in pieces(request.members, PIECE):
            rows += [self._leave(group, identity) for identity in identities]
            yield
        response = LeaveGroupResponse(members=rows)
        left = [row.member_id or str(row.group_instance_id) for row in rows if row.error_code == ErrorCode.NONE]
        outcome: Outcome[None] = NOTHING
        if left and group.is_in(ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE):
            outcome = self._rebalance.rebalance_or_complete(group, f"{named(left)} left", now_ms)
        elif left:
            outcome = self._rebalance.maybe_complete_join(group, now_ms)
        result = yield from decided(outcome)
        return Result(result.records, response, replay=result.replay, done=result.done)

    def _leave(self, group: ClassicGroup, identity: MemberIdentity) -> MemberResponse:
        row = MemberResponse(member_id=identity.member_id, group_instance_id=identity.group_instance_id)
        member_id = identity.member_id
        if member_id in group.pending_join:
            group.remove(member_id)
            self._rebalance.timers.cancel(session_key(group.group_id, member_id))
            return row
        if not member_id:
            # An administrator removes a static member and need not know its current id.
            member_id = group.static_members.get(identity.group_instance_id or "", "")
        try:
            group.check_member(member_id, identity.group_instance_id)
        except KafkaError as error:
            row.error_code = error.code
            return row
        self._rebalance.drop_member(group, group.members[member_id])
        return row


def _check(group: ClassicGroup, member_id: str, instance_id: str | None, generation: int) -> None:
    if group.is_in(ClassicState.DEAD):
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    group.check_member(member_id, instance_id)
    if generation != group.generation:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)


def _differs(mine: str | None, groups: str | None) -> bool:
    return mine is not None and groups is not None and mine != groups
