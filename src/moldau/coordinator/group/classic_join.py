"""JoinGroup on a classic group.

Version 4 and later: a new dynamic member is first told its id (MEMBER_ID_REQUIRED) and joins again with it, so that a
client that repeats a lost request does not become two members. A static member is known by its instance id: when it
comes back it takes its old place under a new member id, and no rebalance is needed if nothing else changed.
"""

from __future__ import annotations

from typing import NamedTuple

from moldau.coordinator.group.classic_group import ClassicGroup, ClassicState
from moldau.coordinator.group.classic_member import ClassicMember, MemberProtocol
from moldau.coordinator.group.classic_rebalance import (
    NEW_MEMBER_TIMEOUT_MS,
    NOTHING,
    ClassicRebalance,
)
from moldau.coordinator.group.classic_records import group_record, new_group_record
from moldau.coordinator.group.consumer_group import ConsumerGroup
from moldau.coordinator.group.consumer_records import group_tombstones
from moldau.coordinator.group.requests import RequestInfo
from moldau.coordinator.group.streams_group import StreamsGroup
from moldau.coordinator.group.streams_records import streams_group_tombstones
from moldau.coordinator.shard import CoordinatorRecord, Outcome, Result, decided
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from moldau.slicing import Work

_MEMBER_ID_REQUIRED_SINCE = 4
_SKIP_ASSIGNMENT_SINCE = 9


class Joining(NamedTuple):
    """One JoinGroup on its way."""

    info: RequestInfo
    request: JoinGroupRequest
    protocols: tuple[MemberProtocol, ...]
    answer: Deferred[JoinGroupResponse]
    now_ms: int

    @property
    def reason(self) -> str:
        return self.request.reason or "no reason given"

    def refuse(self, code: ErrorCode, member_id: str = "") -> Result[None]:
        self.answer.resolve(JoinGroupResponse(error_code=code, member_id=member_id))
        return NOTHING


class ClassicJoin:
    def __init__(self, rebalance: ClassicRebalance) -> None:
        self._rebalance = rebalance
        self._groups = rebalance.groups
        self._max_size = rebalance.config.group_max_size

    def join(self, joining: Joining) -> Outcome[None]:
        request = joining.request
        records: list[CoordinatorRecord] = []
        existing = self._groups.get(request.group_id)
        if isinstance(existing, ConsumerGroup | StreamsGroup) and existing.is_empty:
            # Nobody is left in it, so it may become a classic group. The tombstones are not replayed, the group is
            # put in its place here.
            records += _tombstones(existing)
            existing = None
        elif existing is not None and not isinstance(existing, ClassicGroup):
            return joining.refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id)
        if existing is None and request.member_id:
            return joining.refuse(ErrorCode.UNKNOWN_MEMBER_ID, request.member_id)
        group = existing
        if group is None:
            group = ClassicGroup(request.group_id)
            group.state_timestamp = joining.now_ms
            self._groups.put(group)
        result = self._join(group, joining)
        if existing is not None or result is not NOTHING:
            return result
        return Result([*records, new_group_record(group)], None, replay=False)

    def _join(self, group: ClassicGroup, joining: Joining) -> Outcome[None]:
        request = joining.request
        if not self._has_room(group, request.member_id):
            group.remove(request.member_id)
            joining.refuse(ErrorCode.GROUP_MAX_SIZE_REACHED)
            # It may have been the last one the others waited for.
            return self._rebalance.maybe_complete_join(group, joining.now_ms)
        if group.is_in(ClassicState.DEAD):
            return joining.refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE, request.member_id)
        if not group.supports(request.protocol_type, [protocol.name for protocol in joining.protocols]):
            return joining.refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id)
        if not request.member_id:
            return self._join_unknown(group, joining)
        if request.member_id in group.pending_join:
            if request.group_instance_id is not None:
                # An id is only handed out in advance to dynamic members.
                return joining.refuse(ErrorCode.UNKNOWN_MEMBER_ID, request.member_id)
            return self._add(group, joining, request.member_id)
        try:
            group.check_member(request.member_id, request.group_instance_id)
        except KafkaError as error:
            return joining.refuse(error.code, request.member_id)
        return self._rejoin(group, joining, group.members[request.member_id])

    def _has_room(self, group: ClassicGroup, member_id: str) -> bool:
        if group.is_in(ClassicState.EMPTY, ClassicState.DEAD):
            return True
        member = group.members.get(member_id)
        if group.is_in(ClassicState.PREPARING_REBALANCE):
            # Counted by who has joined: if the limit was lowered, the last ones to come back are turned away.
            return (member is not None and member.join_answer is not None) or group.awaiting_join < self._max_size
        return member is not None or len(group.members) < self._max_size

    # ------------------------------------------------------------------------------------------------- new members

    def _join_unknown(self, group: ClassicGroup, joining: Joining) -> Outcome[None]:
        request, info = joining.request, joining.info
        instance_id = request.group_instance_id
        member_id = info.new_member_id(info.client_id if instance_id is None else instance_id)
        if instance_id is not None:
            old_id = group.static_members.get(instance_id)
            if old_id is not None:
                return self._replace_static(group, joining, old_id, member_id)
            return self._add(group, joining, member_id)
        if info.api_version < _MEMBER_ID_REQUIRED_SINCE:
            return self._add(group, joining, member_id)
        group.pending_join.add(member_id)
        group_id, rebalance = group.group_id, self._rebalance
        rebalance.timers.schedule(
            f"session {group_id} {member_id}",
            request.session_timeout_ms,
            lambda now: rebalance.expire_member(group_id, member_id, now),
        )
        return joining.refuse(ErrorCode.MEMBER_ID_REQUIRED, member_id)

    def _add(self, group: ClassicGroup, joining: Joining, member_id: str) -> Outcome[None]:
        request, info = joining.request, joining.info
        member = ClassicMember(
            member_id,
            request.group_instance_id,
            info.client_id,
            info.client_host,
            request.rebalance_timeout_ms,
            request.session_timeout_ms,
            request.protocol_type,
            joining.protocols,
        )
        member.is_new = True
        group.member_added = True
        group.add(member, joining.answer)
        self._rebalance.extend_session(group, member, NEW_MEMBER_TIMEOUT_MS)
        return self._rebalance.rebalance_or_complete(group, f"{member_id} joins ({joining.reason})", joining.now_ms)

    # --------------------------------------------------------------------------------------------- members rejoin

    def _rejoin(self, group: ClassicGroup, joining: Joining, member: ClassicMember) -> Outcome[None]:
        unchanged = member.matches(joining.protocols)
        if group.is_in(ClassicState.COMPLETING_REBALANCE) and unchanged:
            # It did not get the answer to its last JoinGroup: the generation is the same, and so is the answer.
            return self._answer_again(group, joining, member.member_id)
        if group.is_in(ClassicState.STABLE) and unchanged and group.leader != member.member_id:
            joining.answer.resolve(group.joined(member.member_id))
            return NOTHING
        if group.is_in(ClassicState.EMPTY):
            return joining.refuse(ErrorCode.UNKNOWN_MEMBER_ID, member.member_id)
        self._update(group, joining, member)
        return self._rebalance.rebalance_or_complete(
            group, f"{member.member_id} joins again ({joining.reason})", joining.now_ms
        )

    def _answer_again(self, group: ClassicGroup, joining: Joining, member_id: str) -> Work[Result[None]]:
        roster = yield from group.roster(member_id)
        joining.answer.resolve(group.joined(member_id, roster))
        return NOTHING

    def _update(self, group: ClassicGroup, joining: Joining, member: ClassicMember) -> None:
        request = joining.request
        if member.join_answer is not None and not member.join_answer.settled:
            # The client gave up on its earlier request and asked again: the earlier one must not hang forever.
            member.join_answer.resolve(
                JoinGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS, member_id=member.member_id)
            )
        group.update(
            member, joining.protocols, request.rebalance_timeout_ms, request.session_timeout_ms, joining.answer
        )

    def _replace_static(self, group: ClassicGroup, joining: Joining, old_id: str, new_id: str) -> Work[Result[None]]:
        request, old_leader = joining.request, group.leader
        instance_id = request.group_instance_id
        assert instance_id is not None
        assert old_leader is not None
        before = group.members[old_id]
        undo = (before.protocols, before.rebalance_timeout_ms, before.session_timeout_ms)
        member = group.replace_static(instance_id, old_id, new_id)
        self._rebalance.extend_session(group, member)
        self._update(group, joining, member)
        if group.is_in(ClassicState.COMPLETING_REBALANCE):
            # The leader may be working out an assignment for the old id.
            reason = f"the instance {instance_id} came back"
            return (yield from decided(self._rebalance.prepare(group, reason, joining.now_ms)))
        if not group.is_in(ClassicState.STABLE):
            return (yield from decided(self._rebalance.maybe_complete_join(group, joining.now_ms)))
        if (yield from group.select_protocol()) != group.protocol_name:
            reason = f"the instance {instance_id} changes the protocol"
            return (yield from decided(self._rebalance.prepare(group, reason, joining.now_ms)))

        def done(error: KafkaError | None) -> Work[None]:
            if member.join_answer is not joining.answer:
                # It has been answered meanwhile: the instance came back once more, was removed, or has joined with
                # the others. What stands now is not this request's to take back.
                return
            if error is not None:
                group.update(member, *undo, None)
                group.replace_static(instance_id, new_id, old_id)
                self._rebalance.extend_session(group, member)
            elif joining.info.api_version >= _SKIP_ASSIGNMENT_SINCE:
                roster = yield from group.roster(new_id)
                group.complete_join(member, group.joined(new_id, roster, skip=bool(roster)))
            else:
                # Told the old leader's id, a leader does not take itself for the leader and does not assign anew.
                response = group.joined(new_id)
                response.leader = old_leader
                group.complete_join(member, response)

        assignments = {each.member_id: each.assignment for each in group.members.values()}
        record = yield from group_record(group, assignments)
        return Result([record], None, replay=False, done=done)


def _tombstones(group: ConsumerGroup | StreamsGroup) -> list[CoordinatorRecord]:
    return group_tombstones(group) if isinstance(group, ConsumerGroup) else streams_group_tombstones(group)
