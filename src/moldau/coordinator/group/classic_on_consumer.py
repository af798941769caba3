"""Members that speak the classic protocol to a consumer group, while it is being migrated.

Their generation is the member epoch. JoinGroup is their heartbeat with a changed subscription: it takes them one step
further, and what they own is in their subscription. SyncGroup gives them what they are assigned, Heartbeat tells them
when the next step is due.
"""

from __future__ import annotations

from moldau.config.broker import BrokerConfig
from moldau.coordinator.group.classic_join import Joining
from moldau.coordinator.group.classic_rebalance import NOTHING
from moldau.coordinator.group.consumer_group import ConsumerGroup
from moldau.coordinator.group.consumer_member import ClassicSide, ConsumerMember, MemberState
from moldau.coordinator.group.consumer_protocol import (
    PROTOCOL_TYPE,
    decode_subscription,
    encode_assignment,
    version_of,
)
from moldau.coordinator.group.consumer_sessions import ConsumerSessions
from moldau.coordinator.group.consumer_update import ConsumerUpdate, MemberChange
from moldau.coordinator.group.migration import Migration, by_name, owned_by_id
from moldau.coordinator.shard import CoordinatorRecord, Result
from moldau.dataclass import replace
from moldau.errors import ErrorCode, KafkaError, ProtocolError
from moldau.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from moldau.protocol.messages.join_group import JoinGroupResponse
from moldau.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from moldau.slicing import Work, in_order

_MEMBER_ID_REQUIRED_SINCE = 4


class ClassicOnConsumer:
    def __init__(
        self, update: ConsumerUpdate, sessions: ConsumerSessions, migration: Migration, config: BrokerConfig
    ) -> None:
        self._update = update
        self._sessions = sessions
        self._migration = migration
        self._max_size = config.group_consumer_max_size

    # -------------------------------------------------------------------------------------------------------- join

    def join(self, group: ConsumerGroup, joining: Joining) -> Work[Result[None]]:
        request, info = joining.request, joining.info
        unknown = not request.member_id
        member_id = info.new_member_id(request.group_instance_id or info.client_id) if unknown else request.member_id
        if member_id not in group.members and len(group.members) >= self._max_size:
            return joining.refuse(ErrorCode.GROUP_MAX_SIZE_REACHED)
        if not group.supports_classic(request.protocol_type, [each.name for each in joining.protocols]):
            return joining.refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id)
        if unknown and request.group_instance_id is None and info.api_version >= _MEMBER_ID_REQUIRED_SINCE:
            return joining.refuse(ErrorCode.MEMBER_ID_REQUIRED, member_id)
        try:
            before, replaced = self._before(group, joining, member_id, unknown)
            subscription = decode_subscription(joining.protocols[0].metadata)
        except KafkaError as error:
            return joining.refuse(error.code, request.member_id)
        except ProtocolError:
            return joining.refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id)
        after = replace(
            before,
            instance_id=request.group_instance_id,
            rack_id=subscription.rack_id if subscription.rack_id is not None else before.rack_id,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            client_id=info.client_id,
            client_host=info.client_host,
            topics=tuple((yield from in_order(set(subscription.topics)))),
            pattern=None,
            classic=ClassicSide(request.session_timeout_ms, joining.protocols),
        )
        owned = owned_by_id(subscription.owned_partitions, self._update.image)
        records: list[CoordinatorRecord] = []
        change = MemberChange(before, after, owned, replaced, info.visible)
        member, _, _ = yield from self._update.apply(group, change, joining.now_ms, records)
        stays = True
        if replaced is not None and self._migration.can_downgrade(group, {replaced}, len(group.members)):
            # The last member of the consumer protocol came back with the classic one.
            others = [each for each in group.members.values() if each.member_id != replaced]
            records, _ = yield from self._migration.to_classic(group, [*others, member], joining.now_ms)
            stays = False
        return self._answer(group.group_id, joining, member, records, stays)

    def _before(
        self, group: ConsumerGroup, joining: Joining, member_id: str, unknown: bool
    ) -> tuple[ConsumerMember, str | None]:
        instance_id = joining.request.group_instance_id
        if instance_id is None:
            return group.members.get(member_id) or ConsumerMember(member_id), None
        existing = group.static_member(instance_id)
        if not unknown:
            if existing is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            if existing.member_id != member_id:
                raise KafkaError(ErrorCode.FENCED_INSTANCE_ID)
            return existing, None
        if existing is None:
            return ConsumerMember(member_id), None
        return replace(existing, member_id=member_id, epoch=0, previous_epoch=0), existing.member_id

    def _answer(
        self, group_id: str, joining: Joining, member: ConsumerMember, records: list[CoordinatorRecord], stays: bool
    ) -> Result[None]:
        response = JoinGroupResponse(
            member_id=member.member_id,
            generation_id=member.epoch,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=joining.protocols[0].name,
        )

        def done(error: KafkaError | None) -> None:
            if error is not None:
                return
            if stays:
                self._sessions.extend_session(group_id, member)
                self._sessions.await_sync(group_id, member)
            joining.answer.resolve(response)

        return Result(records, None, replay=stays, done=done)

    # -------------------------------------------------------------------------------------------- sync, heartbeat

    def sync(self, group: ConsumerGroup, request: SyncGroupRequest) -> Result[SyncGroupResponse]:
        member, side = self._member(group, request.member_id, request.group_instance_id, request.generation_id)
        protocol = side.protocols[0]
        if request.protocol_type not in (None, PROTOCOL_TYPE) or request.protocol_name not in (None, protocol.name):
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if group.epoch > member.epoch and member.state != MemberState.UNREVOKED_PARTITIONS:
            self._sessions.await_rejoin(group.group_id, member)
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
        self._sessions.synced(group.group_id, member)
        response = SyncGroupResponse(
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=encode_assignment(by_name(member.assigned, self._update.image), version_of(protocol.metadata)),
        )
        return Result((), response)

    def heartbeat(self, group: ConsumerGroup, request: HeartbeatRequest) -> Result[HeartbeatResponse]:
        member, _ = self._member(group, request.member_id, request.group_instance_id, request.generation_id)
        self._sessions.extend_session(group.group_id, member)
        # Whoever still has something to give up is at an older epoch, too.
        behind = member.epoch < group.epoch or (
            member.state == MemberState.UNRELEASED_PARTITIONS and not group.waits_for_others(member)
        )
        if behind:
            self._sessions.await_rejoin(group.group_id, member)
        return Result((), HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS if behind else ErrorCode.NONE))

    def _member(
        self, group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
    ) -> tuple[ConsumerMember, ClassicSide]:
        member = self._find(group, member_id, instance_id)
        if member.classic is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        if generation != member.epoch:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        return member, member.classic

    def _find(self, group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember:
        if instance_id is None:
            return group.member(member_id)
        member = group.static_member(instance_id)
        if member is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        if member_id and member.member_id != member_id:
            raise KafkaError(ErrorCode.FENCED_INSTANCE_ID)
        return member

    # ------------------------------------------------------------------------------------------------------- leave

    def leave(self, group: ConsumerGroup, request: LeaveGroupRequest, now_ms: int) -> Work[Result[LeaveGroupResponse]]:
        leaving: set[str] = set()
        rows = [self._leave(group, identity, leaving) for identity in request.members]
        response = LeaveGroupResponse(members=rows)
        if not leaving:
            return Result(NOTHING.records, response)
        result = yield from self._sessions.fence(group, leaving, now_ms)
        return Result(result.records, response, replay=result.replay, done=result.done)

    def _leave(self, group: ConsumerGroup, identity: MemberIdentity, leaving: set[str]) -> MemberResponse:
        row = MemberResponse(member_id=identity.member_id, group_instance_id=identity.group_instance_id)
        try:
            member = self._find(group, identity.member_id, identity.group_instance_id)
        except KafkaError as error:
            row.error_code = error.code
            return row
        # Whichever protocol it speaks: this is how an operator removes a member.
        leaving.add(member.member_id)
        return row
