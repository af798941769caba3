"""ConsumerGroupHeartbeat: join, stay, leave; the one request of the consumer protocol.

The epoch in the request says what it is: 0 joins, -1 leaves, -2 is a static member that will be back, anything else is
a member that reports what it owns and learns what it should own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.coordinator.group.assignors import ASSIGNORS
from moldau.coordinator.group.classic_group import ClassicGroup
from moldau.coordinator.group.classic_records import group_tombstone
from moldau.coordinator.group.consumer_group import ConsumerGroup
from moldau.coordinator.group.consumer_member import (
    JOINING_EPOCH,
    LEAVING_EPOCH,
    NO_PARTITIONS,
    STATIC_LEAVING_EPOCH,
    Assignment,
    ConsumerMember,
    all_at_epoch,
    is_subset,
)
from moldau.coordinator.group.consumer_records import current_record
from moldau.coordinator.group.consumer_sessions import ConsumerSessions
from moldau.coordinator.group.consumer_update import ConsumerUpdate, MemberChange
from moldau.coordinator.group.groups import Groups
from moldau.coordinator.group.migration import Migration
from moldau.coordinator.group.requests import RequestInfo, random_uuid
from moldau.coordinator.group.target_assignment import heartbeat_soon
from moldau.coordinator.shard import CoordinatorRecord, Result
from moldau.dataclass import replace
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages import consumer_group_heartbeat as messages
from moldau.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest as Request
from moldau.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse as Response
from moldau.slicing import Work, distinct, in_order, pieces
from moldau.timeline import SnapshotRegistry
from moldau.types import Uuid

# Since then a member chooses its own id; before, it was given one.
_OWN_ID_SINCE: Final = 1


class ConsumerHeartbeat:
    def __init__(
        self,
        groups: Groups,
        update: ConsumerUpdate,
        sessions: ConsumerSessions,
        migration: Migration,
        config: BrokerConfig,
    ) -> None:
        self._groups = groups
        self._update = update
        self._sessions = sessions
        self._migration = migration
        self._max_size = config.group_consumer_max_size

    def heartbeat(self, info: RequestInfo, request: Request, now_ms: int) -> Work[Result[Response]]:
        _check(request, info.api_version)
        if request.member_epoch in (LEAVING_EPOCH, STATIC_LEAVING_EPOCH):
            return (yield from self._leave(request, now_ms))
        records: list[CoordinatorRecord] = []
        image = self._update.image
        group = yield from self._group(request, records)
        member_id = request.member_id or random_uuid(info.random)
        joining = request.member_epoch == JOINING_EPOCH
        if joining and member_id not in group.members and len(group.members) >= self._max_size:
            raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED, f"The group has {self._max_size} members, its limit.")
        change = yield from self._change(group, member_id, info, request)
        member, together, waits = yield from self._update.apply(group, change, now_ms, records)
        response = yield from self._answer(group, change, member, request)
        if waits:
            settings = self._sessions.settings(group.group_id)
            response.heartbeat_interval_ms = heartbeat_soon(
                response.heartbeat_interval_ms,
                group.assignment_timestamp.value,
                settings.consumer_assignment_interval_ms,
                now_ms,
            )
        done = self._refreshed(group.group_id, image) if group.refresh_metadata else None
        # A member of ten thousand topics is more than one batch may hold; the client asks again if only a part of it
        # was written.
        return Result(records, response, atomic=False, together=together, done=done)

    def _group(self, request: Request, records: list[CoordinatorRecord]) -> Work[ConsumerGroup]:
        """The group, or one that comes into being when the records gathered here are replayed."""
        group = self._groups.get(request.group_id)
        if isinstance(group, ConsumerGroup):
            return group
        if request.member_epoch != JOINING_EPOCH:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"There is no consumer group {request.group_id}.")
        if isinstance(group, ClassicGroup):
            if not group.is_empty:
                return (yield from self._migration.upgrade(group, records))
            records.append(group_tombstone(group.group_id))
        elif group is not None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {request.group_id} is not a consumer group.")
        return ConsumerGroup(request.group_id, SnapshotRegistry())

    # ------------------------------------------------------------------------------------------------------ member

    def _change(self, group: ConsumerGroup, member_id: str, info: RequestInfo, request: Request) -> Work[MemberChange]:
        owned = yield from _owned(request)
        before, replaced = self._before(group, member_id, request, owned)
        topics = before.topics
        if request.subscribed_topic_names is not None:
            names = yield from distinct(request.subscribed_topic_names)
            topics = tuple((yield from in_order(names)))
        after = replace(
            before,
            instance_id=request.instance_id if request.instance_id is not None else before.instance_id,
            rack_id=request.rack_id if request.rack_id is not None else before.rack_id,
            rebalance_timeout_ms=(
                request.rebalance_timeout_ms if request.rebalance_timeout_ms != -1 else before.rebalance_timeout_ms
            ),
            assignor=request.server_assignor if request.server_assignor is not None else before.assignor,
            topics=topics,
            pattern=(
                before.pattern if request.subscribed_topic_regex is None else request.subscribed_topic_regex or None
            ),
            client_id=info.client_id,
            client_host=info.client_host,
            classic=None,
        )
        return MemberChange(before, after, owned, replaced, info.visible)

    def _before(
        self, group: ConsumerGroup, member_id: str, request: Request, owned: Assignment | None
    ) -> tuple[ConsumerMember, str | None]:
        joining, instance_id = request.member_epoch == JOINING_EPOCH, request.instance_id
        if instance_id is None:
            if joining:
                return group.members.get(member_id) or ConsumerMember(member_id), None
            member = group.member(member_id)
            _check_epoch(member, request.member_epoch, owned)
            return member, None
        existing = group.static_member(instance_id)
        if not joining:
            if existing is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"The instance {instance_id} is not in the group.")
            _check_instance(existing, member_id)
            _check_epoch(existing, request.member_epoch, owned)
            return existing, None
        if existing is None:
            return ConsumerMember(member_id), None
        if existing.member_id == member_id:
            return existing, None
        if existing.classic is None and existing.epoch != STATIC_LEAVING_EPOCH:
            raise KafkaError(
                ErrorCode.UNRELEASED_INSTANCE_ID,
                f"The instance {instance_id} is held by the member {existing.member_id}.",
            )
        return replace(existing, member_id=member_id, epoch=0, previous_epoch=0), existing.member_id

    # ------------------------------------------------------------------------------------------------------ answer

    def _answer(
        self,
        group: ConsumerGroup,
        change: MemberChange,
        member: ConsumerMember,
        request: Request,
    ) -> Work[Response]:
        group_id = group.group_id
        self._sessions.extend_session(group_id, member)
        if (member.state, member.epoch) != (change.before.state, change.before.epoch):
            # The time to give up partitions runs from when the member was told, not from its last heartbeat.
            self._sessions.watch_revocation(group_id, member)
        response = Response(
            member_id=member.member_id,
            member_epoch=member.epoch,
            heartbeat_interval_ms=self._sessions.settings(group_id).consumer_heartbeat_interval_ms,
        )
        full = request.member_epoch == JOINING_EPOCH or (
            request.rebalance_timeout_ms != -1
            and (request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None)
            and request.topic_partitions is not None
        )
        if full or member.assigned != change.before.assigned:
            response.assignment = assignment = messages.Assignment()
            for topic_ids in pieces((yield from in_order(member.assigned))):
                assignment.topic_partitions += [
                    messages.ResponseTopicPartitions(topic_id=topic_id, partitions=sorted(member.assigned[topic_id]))
                    for topic_id in topic_ids
                ]
                yield
        return response

    def _refreshed(self, group_id: str, image: MetadataImage) -> Callable[[KafkaError | None], None]:
        def done(error: KafkaError | None) -> None:
            # The looked-at metadata counts only when what followed from it is stored, and if it is still the newest.
            current = self._groups.consumer(group_id)
            if error is None and current is not None and self._update.image is image:
                current.refresh_metadata = False

        return done

    # ------------------------------------------------------------------------------------------------------- leave

    def _leave(self, request: Request, now_ms: int) -> Work[Result[Response]]:
        group = self._groups.consumer(request.group_id)
        if group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"There is no consumer group {request.group_id}.")
        if request.instance_id is None:
            member = group.member(request.member_id)
        else:
            existing = group.static_member(request.instance_id)
            if existing is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"The instance {request.instance_id} is not there.")
            _check_instance(existing, request.member_id)
            member = existing
        response = Response(member_id=request.member_id, member_epoch=request.member_epoch)
        if request.member_epoch == STATIC_LEAVING_EPOCH:
            gone = replace(
                member,
                epoch=STATIC_LEAVING_EPOCH,
                pending_revocation=NO_PARTITIONS,
                # Whoever comes back begins at epoch 0, and these are its own from the start.
                assignment_epochs=all_at_epoch(JOINING_EPOCH, member.assigned),
            )
            return Result([(yield from current_record(group.group_id, gone))], response)
        result = yield from self._sessions.fence(group, {member.member_id}, now_ms)
        return Result(result.records, response, replay=result.replay, done=result.done)


def _check(request: Request, version: int) -> None:
    for text, what in (
        (request.group_id, "group id"),
        (request.instance_id, "instance id"),
        (request.rack_id, "rack id"),
    ):
        if text is not None and not text.strip():
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"The {what} is empty.")
    if request.member_epoch < STATIC_LEAVING_EPOCH:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{request.member_epoch} is not a member epoch.")
    has_id = bool(request.member_id.strip())
    if not has_id and (version >= _OWN_ID_SINCE or request.member_epoch != JOINING_EPOCH):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The member id is empty.")
    if request.member_epoch == STATIC_LEAVING_EPOCH and request.instance_id is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Only a static member can leave for a while.")
    if request.member_epoch == JOINING_EPOCH:
        if request.rebalance_timeout_ms == -1:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "A joining member must say its rebalance timeout.")
        if request.topic_partitions is None or request.topic_partitions:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "A joining member cannot own partitions.")
        if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
            # Nothing is fine: a client that looks for its topics itself may find none today.
            raise KafkaError(ErrorCode.INVALID_REQUEST, "A joining member must say what it subscribes to.")
    if request.server_assignor is not None and request.server_assignor not in ASSIGNORS:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"There is no assignor {request.server_assignor}; there are {', '.join(ASSIGNORS)}.",
        )


def _owned(request: Request) -> Work[Assignment | None]:
    if request.topic_partitions is None:
        return None
    owned: dict[Uuid, frozenset[int]] = {}
    for rows in pieces(request.topic_partitions):
        owned.update((row.topic_id, frozenset(row.partitions)) for row in rows)
        yield
    return owned


def _check_instance(member: ConsumerMember, member_id: str) -> None:
    if member.member_id != member_id:
        raise KafkaError(
            ErrorCode.FENCED_INSTANCE_ID, f"The instance {member.instance_id} went on as {member.member_id}."
        )


def _check_epoch(member: ConsumerMember, epoch: int, owned: Assignment | None) -> None:
    """The member's own epoch, or the one before it if the answer that carried the new one may have been lost."""
    if epoch == member.epoch:
        return
    lost_answer = epoch == member.previous_epoch and owned is not None and is_subset(owned, member.assigned)
    if epoch > member.epoch or not lost_answer:
        raise KafkaError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The member {member.member_id} is at epoch {member.epoch}, the request at {epoch}; it must join again.",
        )
