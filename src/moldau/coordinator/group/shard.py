"""One partition of `__consumer_offsets` in memory: its groups, their offsets, and the replay of its records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from itertools import chain
from typing import Any, Final

from moldau.config.broker import BrokerConfig
from moldau.coordinator.group.classic_group import ClassicGroup, ClassicState
from moldau.coordinator.group.classic_join import ClassicJoin, Joining
from moldau.coordinator.group.classic_on_consumer import ClassicOnConsumer
from moldau.coordinator.group.classic_rebalance import NOTHING, ClassicRebalance
from moldau.coordinator.group.classic_records import group_from_record, group_tombstone
from moldau.coordinator.group.classic_session import ClassicSession
from moldau.coordinator.group.consumer_group import ConsumerGroup, ResolvedPattern
from moldau.coordinator.group.consumer_heartbeat import ConsumerHeartbeat
from moldau.coordinator.group.consumer_member import LEAVING_EPOCH, NO_PARTITIONS, ConsumerMember, MemberState
from moldau.coordinator.group.consumer_records import apply_current, apply_member, group_tombstones, target_of
from moldau.coordinator.group.consumer_sessions import ConsumerSessions
from moldau.coordinator.group.consumer_update import ConsumerUpdate
from moldau.coordinator.group.group_configs import GroupConfigs
from moldau.coordinator.group.groups import Group, Groups
from moldau.coordinator.group.migration import Migration
from moldau.coordinator.group.offset_commit import OffsetCommits
from moldau.coordinator.group.offset_fetch import OffsetFetches
from moldau.coordinator.group.offset_store import OffsetStore, offset_from_record
from moldau.coordinator.group.share_group import ShareGroup
from moldau.coordinator.group.share_heartbeat import ShareHeartbeat
from moldau.coordinator.group.share_records import SHARE_REPLAY, share_group_tombstones
from moldau.coordinator.group.share_state import ShareStates
from moldau.coordinator.group.streams_group import StreamsGroup
from moldau.coordinator.group.streams_heartbeat import StreamsHeartbeat
from moldau.coordinator.group.streams_records import STREAMS_REPLAY, streams_group_tombstones
from moldau.coordinator.group.streams_sessions import StreamsSessions
from moldau.coordinator.group.topic_pattern import PatternResolver
from moldau.coordinator.shard import CoordinatorRecord, Outcome, Result, ShardContext
from moldau.dataclass import replace
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages import consumer_group_current_member_assignment_key as current_key
from moldau.protocol.messages import consumer_group_member_metadata_key as member_key
from moldau.protocol.messages import consumer_group_metadata_key as epoch_key
from moldau.protocol.messages import consumer_group_regular_expression_key as pattern_key
from moldau.protocol.messages import consumer_group_target_assignment_member_key as target_key
from moldau.protocol.messages import consumer_group_target_assignment_metadata_key as target_epoch_key
from moldau.protocol.messages.group_metadata_key import GroupMetadataKey
from moldau.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from moldau.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from moldau.protocol.messages.legacy_offset_commit_key import LegacyOffsetCommitKey
from moldau.protocol.messages.offset_commit_key import OffsetCommitKey
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from moldau.slicing import Work
from moldau.types import NO_PRODUCER_ID, TopicPartition, Uuid

_EXPIRY: Final = "expire offsets"
_MINUTE_MS: Final = 60_000
_WITHOUT_CLASSIC_MEMBERS: Final = (ShareGroup, StreamsGroup)


class GroupShard:
    def __init__(
        self,
        context: ShardContext,
        config: BrokerConfig,
        resolver: PatternResolver,
        current: Callable[[], BrokerConfig] | None = None,
    ) -> None:
        self._timers = context.timers
        self._config = config
        self.groups = Groups(context.registry)
        self.offsets = OffsetStore(context.registry)
        self._rebalance = ClassicRebalance(self.groups, context.timers, config)
        self._join = ClassicJoin(self._rebalance)
        self._session = ClassicSession(self._rebalance)
        configs = GroupConfigs(current or (lambda: config), lambda: self.update.image)
        self.update = ConsumerUpdate(config, self.groups, context.timers, resolver, configs)
        self._sessions = ConsumerSessions(self.groups, context.timers, configs, self.update)
        migration = Migration(self._rebalance, self.update, self._sessions, config)
        self._mixed = ClassicOnConsumer(self.update, self._sessions, migration, config)
        self.consumers = ConsumerHeartbeat(self.groups, self.update, self._sessions, migration, config)
        self.share_states = ShareStates(self.groups, config, lambda: self.update.image)
        self.shares = ShareHeartbeat(
            self.groups, context.timers, config, configs, self.share_states, lambda: self.update.image
        )
        self._streams_sessions = StreamsSessions(self.groups, context.timers, configs)
        self.streams = StreamsHeartbeat(self.groups, config, self._streams_sessions, lambda: self.update.image)
        self.commits = OffsetCommits(self.groups, self.offsets, self._rebalance, self.update, config)
        self.fetches = OffsetFetches(self.groups, self.offsets)

    # ------------------------------------------------------------------------------------------- classic requests

    def join(self, joining: Joining) -> Outcome[None]:
        group = self.groups.get(joining.request.group_id)
        if isinstance(group, ConsumerGroup) and not group.is_empty:
            return self._mixed.join(group, joining)
        return self._join.join(joining)

    def sync(self, request: SyncGroupRequest, answer: Deferred[SyncGroupResponse], now_ms: int) -> Outcome[None]:
        group = self.groups.get(request.group_id)
        if group is None or group.is_empty or isinstance(group, _WITHOUT_CLASSIC_MEMBERS):
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        if isinstance(group, ClassicGroup):
            return self._session.sync(group, request, answer, now_ms)
        result = self._mixed.sync(group, request)
        answer.resolve(result.response)
        return NOTHING

    def heartbeat(self, request: HeartbeatRequest) -> Result[HeartbeatResponse]:
        group = self.groups.get(request.group_id)
        if group is None or isinstance(group, _WITHOUT_CLASSIC_MEMBERS):
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        if isinstance(group, ClassicGroup):
            return self._session.heartbeat(group, request)
        return self._mixed.heartbeat(group, request)

    def leave(self, request: LeaveGroupRequest, now_ms: int) -> Outcome[LeaveGroupResponse]:
        group = self.groups.get(request.group_id)
        if group is None or isinstance(group, _WITHOUT_CLASSIC_MEMBERS):
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        if isinstance(group, ClassicGroup):
            return self._session.leave(group, request, now_ms)
        return self._mixed.leave(group, request, now_ms)

    # ---------------------------------------------------------------------------------------- deletion and expiry

    def delete_group(self, group_id: str) -> Work[Result[ErrorCode]]:
        group = self.groups.get(group_id)
        if group is None or (isinstance(group, ClassicGroup) and group.is_in(ClassicState.DEAD)):
            return Result((), ErrorCode.GROUP_ID_NOT_FOUND)
        if not group.is_empty:
            return Result((), ErrorCode.NON_EMPTY_GROUP)
        offsets = yield from self.commits.tombstones(group_id)
        return Result([*offsets, *_tombstones(group)], ErrorCode.NONE)

    def expire_offsets(self, now_ms: int) -> Result[None]:
        """Tombstones for offsets nobody needs any more, and for empty groups that have none left."""
        self._schedule_expiry()
        return Result((), None, atomic=False, stream=self._expired(now_ms))

    def _expired(self, now_ms: int) -> Iterator[CoordinatorRecord | None]:
        retention_ms = self._config.offsets_retention_minutes * _MINUTE_MS
        for group in self.groups:
            if isinstance(group, ShareGroup):
                continue
            nothing_left = yield from self.commits.expired(group, now_ms, retention_ms)
            waited_for = isinstance(group, ClassicGroup) and group.pending_join
            if nothing_left and group.is_empty and not waited_for:
                yield from _tombstones(group)
            yield None

    def forget_topics(self, topics: set[str], topic_ids: Set[Uuid] = frozenset()) -> Result[None]:
        stream = chain(self.commits.forget_topics(topics), self.share_states.forget_topics(topic_ids))
        return Result((), None, atomic=False, stream=stream)

    def _schedule_expiry(self) -> None:
        self._timers.schedule(_EXPIRY, self._config.offsets_retention_check_interval_ms, self.expire_offsets)

    # --------------------------------------------------------------------------------------------- shard's own life

    def on_loaded(self, image: MetadataImage) -> Work[None]:
        self.update.image = image
        self._schedule_expiry()
        for group in self.groups:
            yield
            if self.groups.get(group.group_id) is not group:
                continue
            if isinstance(group, ConsumerGroup):
                yield from self._sessions.restart(group)
                continue
            if isinstance(group, ShareGroup):
                yield from self.shares.restart(group)
                continue
            if isinstance(group, StreamsGroup):
                yield from self._streams_sessions.restart(group)
                continue
            yield from self._rebalance.restart_sessions(group)
            if len(group.members) > self._config.group_max_size:
                self._shrink(group)

    def _shrink(self, group: ClassicGroup) -> None:
        """The limit was lowered: everybody joins again, may commit before, and the last ones are turned away."""
        reason = f"it has more than {self._config.group_max_size} members"
        self._timers.schedule(
            f"shrink {group.group_id}", 0, lambda now: self._rebalance.rebalance_or_complete(group, reason, now)
        )

    def on_unloaded(self) -> Work[None]:
        code = ErrorCode.NOT_COORDINATOR
        for group in self.groups:
            if isinstance(group, ClassicGroup):
                group.state = ClassicState.DEAD
                yield from group.answer_all(code)
            yield

    def on_new_image(self, image: MetadataImage, delta: MetadataDelta) -> Work[None] | None:
        self.update.image = image
        topics = {gone.name for gone in delta.topics.deleted.values()}
        for topic in delta.topics.changed.values():
            if topic.base is None or topic.partitions.keys() - topic.base.partitions.keys():
                topics.add(topic.name)
        return self._refresh(topics) if topics else None

    def _refresh(self, topics: set[str]) -> Work[None]:
        """The next heartbeat of every group that subscribes to one of them looks again at what there is."""
        for group in self.groups:
            if not isinstance(group, ClassicGroup) and group.is_subscribed_to_any(topics):
                group.refresh_metadata = True
            yield

    # ------------------------------------------------------------------------------------------------------ replay

    def replay(
        self, record: CoordinatorRecord, offset: int, producer_id: int, producer_epoch: int
    ) -> Work[None] | None:
        apply = _REPLAY.get(type(record.key))
        if apply is None:
            modern = SHARE_REPLAY.get(type(record.key)) or STREAMS_REPLAY.get(type(record.key))
            return None if modern is None else modern(self.groups, record.key, record.value)
        if apply is GroupShard._replay_offset:
            self._replay_offset(record.key, record.value, offset, producer_id)
            return None
        return apply(self, record.key, record.value)

    def replay_marker(self, producer_id: int, producer_epoch: int, committed: bool) -> Work[None]:
        for group_id in (yield from self.offsets.end_transaction(producer_id, committed)):
            if committed:
                self.groups.classic_for_offsets(group_id)

    def _replay_offset(self, key: Any, value: Any, offset: int = -1, producer_id: int = NO_PRODUCER_ID) -> None:
        where = TopicPartition(key.topic, key.partition)
        if value is None:
            self.offsets.remove(key.group, where)
            return
        self.groups.classic_for_offsets(key.group)
        committed = offset_from_record(value, offset)
        if producer_id == NO_PRODUCER_ID:
            self.offsets.put(key.group, where, committed)
        else:
            self.offsets.put_pending(producer_id, key.group, where, committed)

    def _replay_classic(self, key: Any, value: Any) -> Work[None]:
        if value is not None:
            self.groups.put((yield from group_from_record(key.group, value)))
        elif self.groups.classic(key.group) is not None:
            self.groups.remove(key.group)

    def _replay_epoch(self, key: Any, value: Any) -> None:
        if value is None:
            if self.groups.consumer(key.group_id) is not None:
                self.groups.remove(key.group_id)
            return
        group = self.groups.consumer_for_replay(key.group_id)
        group.epoch, group.metadata_hash = value.epoch, value.metadata_hash

    def _replay_member(self, key: Any, value: Any) -> Work[None]:
        if value is None:
            group = self.groups.consumer(key.group_id)
            if group is not None:
                yield from group.remove_member(key.member_id)
            return
        group = self.groups.consumer_for_replay(key.group_id)
        member = group.members.get(key.member_id) or ConsumerMember(key.member_id)
        yield from group.put_member(apply_member(member, value))

    def _replay_current(self, key: Any, value: Any) -> Work[None]:
        if value is None:
            group = self.groups.consumer(key.group_id)
            member = None if group is None else group.members.get(key.member_id)
            if group is not None and member is not None:
                yield from group.put_member(
                    replace(
                        member,
                        epoch=LEAVING_EPOCH,
                        previous_epoch=LEAVING_EPOCH,
                        state=MemberState.STABLE,
                        assigned=NO_PARTITIONS,
                        pending_revocation=NO_PARTITIONS,
                        assignment_epochs={},
                    )
                )
            return
        group = self.groups.consumer_for_replay(key.group_id)
        member = group.members.get(key.member_id) or ConsumerMember(key.member_id)
        yield from group.put_member((yield from apply_current(member, value)))

    def _replay_target(self, key: Any, value: Any) -> Work[None]:
        if value is None:
            group = self.groups.consumer(key.group_id)
            if group is not None:
                group.targets.pop(key.member_id)
            return
        target = yield from target_of(value)
        self.groups.consumer_for_replay(key.group_id).targets[key.member_id] = target

    def _replay_target_epoch(self, key: Any, value: Any) -> None:
        if value is None:
            return
        group = self.groups.consumer_for_replay(key.group_id)
        group.assignment_epoch, group.assignment_timestamp.value = value.assignment_epoch, value.assignment_timestamp

    def _replay_pattern(self, key: Any, value: Any) -> None:
        if value is None:
            group = self.groups.consumer(key.group_id)
            if group is not None:
                group.patterns.pop(key.regular_expression)
            return
        resolved = ResolvedPattern(frozenset(value.topics), value.version, value.timestamp)
        self.groups.consumer_for_replay(key.group_id).put_pattern(key.regular_expression, resolved)


def _tombstones(group: Group) -> list[CoordinatorRecord]:
    if isinstance(group, ShareGroup):
        return share_group_tombstones(group)
    if isinstance(group, StreamsGroup):
        return streams_group_tombstones(group)
    return [group_tombstone(group.group_id)] if isinstance(group, ClassicGroup) else group_tombstones(group)


_REPLAY: Final[dict[type, Callable[..., Work[None] | None]]] = {
    LegacyOffsetCommitKey: GroupShard._replay_offset,
    OffsetCommitKey: GroupShard._replay_offset,
    GroupMetadataKey: GroupShard._replay_classic,
    epoch_key.ConsumerGroupMetadataKey: GroupShard._replay_epoch,
    member_key.ConsumerGroupMemberMetadataKey: GroupShard._replay_member,
    current_key.ConsumerGroupCurrentMemberAssignmentKey: GroupShard._replay_current,
    target_key.ConsumerGroupTargetAssignmentMemberKey: GroupShard._replay_target,
    target_epoch_key.ConsumerGroupTargetAssignmentMetadataKey: GroupShard._replay_target_epoch,
    pattern_key.ConsumerGroupRegularExpressionKey: GroupShard._replay_pattern,
}
