"""ShareGroupHeartbeat: join, stay, leave; the one request by which a member takes part in a share group.

The epoch in the request says what it is: 0 joins, -1 leaves, anything else is a member that stays. What it subscribes
to comes with the first request and whenever it changes. Where a topic is new to the group the answer waits until the
share coordinator has initialised the state of its partitions; the next assignment has them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from moldau.config.broker import BrokerConfig
from moldau.coordinator.group.assignors import Problem, Subscriber
from moldau.coordinator.group.classic_rebalance import NOTHING, session_key
from moldau.coordinator.group.consumer_member import JOINING_EPOCH, LEAVING_EPOCH, Assignment
from moldau.coordinator.group.group_configs import GroupConfigs
from moldau.coordinator.group.groups import Groups
from moldau.coordinator.group.requests import RequestInfo
from moldau.coordinator.group.share_assignor import assign_simple
from moldau.coordinator.group.share_group import ShareGroup, ShareMember, TopicStates, subscribed_topics
from moldau.coordinator.group.share_records import (
    share_current_record,
    share_epoch_record,
    share_member_record,
    share_member_tombstones,
    share_target_epoch_record,
    share_target_record,
)
from moldau.coordinator.group.share_state import ShareStates
from moldau.coordinator.group.target_assignment import heartbeat_soon, may_assign, metadata_hash
from moldau.coordinator.shard import CoordinatorRecord, Outcome, Result, Timers
from moldau.dataclass import replace
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages import share_group_heartbeat as messages
from moldau.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest as Request
from moldau.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatResponse as Response
from moldau.slicing import Work, distinct, in_order, pieces
from moldau.timeline import SnapshotRegistry

logger = logging.getLogger("moldau.coordinator.group")


_LONGEST_MEMBER_ID: Final = 36


class Heard(NamedTuple):
    """What comes of a heartbeat."""

    response: Response
    # Partitions whose state has to be initialised before the member is answered, and the epoch of that state.
    initialize: TopicStates = {}
    state_epoch: int = 0


class ShareHeartbeat:
    def __init__(
        self,
        groups: Groups,
        timers: Timers,
        config: BrokerConfig,
        configs: GroupConfigs,
        states: ShareStates,
        image: Callable[[], MetadataImage],
    ) -> None:
        self._groups = groups
        self._timers = timers
        self._max_size = config.group_share_max_size
        self._configs = configs
        self._states = states
        self._image = image

    def heartbeat(self, info: RequestInfo, request: Request, now_ms: int) -> Work[Result[Heard]]:
        check(request)
        if request.member_epoch == LEAVING_EPOCH:
            return (yield from self._leave(request))
        group_id, joining = request.group_id, request.member_epoch == JOINING_EPOCH
        group = self._group(group_id, joining)
        known = group.members.get(request.member_id)
        if known is None and len(group.members) >= self._max_size:
            raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED, f"The group has {self._max_size} members, its limit.")
        before = known or (ShareMember(request.member_id) if joining else group.member(request.member_id))
        _check_epoch(before, request.member_epoch)
        after = yield from _changed(before, info, request)
        records: list[CoordinatorRecord] = []
        image = self._image()
        members = {**dict(group.members.items()), after.member_id: after}
        if after != known:
            records.append(share_member_record(group_id, after))
        bump = set(after.topics) != set(before.topics)
        if not bump and group.epoch <= group.assignment_epoch:
            bump = self._initialized_since(group)
        epoch = group.epoch
        if bump or group.refresh_metadata:
            new_hash = yield from metadata_hash(subscribed_topics(members.values()), image)
            bump = bump or new_hash != group.metadata_hash
            if bump:
                epoch += 1
                records.append(share_epoch_record(group_id, epoch, new_hash))
        target_epoch, target = group.assignment_epoch, group.target(after.member_id)
        interval = self._configs.of(group_id).share_assignment_interval_ms
        if epoch > target_epoch and may_assign(group.assignment_timestamp.value, interval, now_ms):
            targets = yield from self._targets(group, members.values(), image)
            for member_id, partitions in targets.items():
                if group.targets.get(member_id) != partitions:
                    records.append((yield from share_target_record(group_id, member_id, partitions)))
            records.append(share_target_epoch_record(group_id, epoch, now_ms))
            target_epoch, target = epoch, targets[after.member_id]
        member = _reconciled(after, target_epoch, target, image, subscription_changed=bump)
        if member != after:
            records.append((yield from share_current_record(group_id, member)))
        initialize = self._states.to_initialize(group, subscribed_topics(members.values()), now_ms)
        if initialize:
            records.append(self._states.initializing(group, initialize, now_ms))
        self.extend_session(group_id, after.member_id)
        response = yield from self._answer(group_id, member, before, request)
        if initialize or epoch > target_epoch:
            assigned_ms = now_ms if target_epoch > group.assignment_epoch else group.assignment_timestamp.value
            response.heartbeat_interval_ms = heartbeat_soon(
                response.heartbeat_interval_ms, assigned_ms, interval, now_ms
            )
        done = self._refreshed(group_id, image) if group.refresh_metadata else None
        return Result(records, Heard(response, initialize, epoch), done=done)

    def _group(self, group_id: str, joining: bool) -> ShareGroup:
        """The group, or one that comes into being when the records are replayed."""
        group = self._groups.get(group_id)
        if isinstance(group, ShareGroup):
            return group
        if group is not None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a share group.")
        if not joining:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"There is no share group {group_id}.")
        return ShareGroup(group_id, SnapshotRegistry())

    def _initialized_since(self, group: ShareGroup) -> bool:
        """Whether partitions that could be assigned by now are in nobody's target."""
        topics = subscribed_topics(group.members.values())
        assigned: dict[bytes, set[int]] = {}
        for target in group.targets.values():
            for topic_id, partitions in target.items():
                assigned.setdefault(topic_id, set()).update(partitions)
        return any(
            state.name in topics and assigned.get(topic_id, set()) != set(state.partitions)
            for topic_id, state in group.state_partitions.initialized.items()
        )

    def _targets(
        self, group: ShareGroup, members: Iterable[ShareMember], image: MetadataImage
    ) -> Work[dict[str, Assignment]]:
        subscribers, counts = [], {}
        for member in members:
            ids = set()
            for some in pieces(member.topics):
                for name in some:
                    topic = image.topics.get(name)
                    if topic is not None:
                        ids.add(topic.id)
                        counts[topic.id] = len(topic.partitions)
                yield
            subscribers.append(Subscriber(member.member_id, None, frozenset(ids), group.target(member.member_id)))
        ordered = {topic_id: counts[topic_id] for topic_id in (yield from in_order(counts))}
        ready = {topic_id: state.partitions for topic_id, state in group.state_partitions.initialized.items()}
        return (yield from assign_simple(Problem(subscribers, ordered), ready))

    def _answer(self, group_id: str, member: ShareMember, before: ShareMember, request: Request) -> Work[Response]:
        response = Response(
            member_id=member.member_id,
            member_epoch=member.epoch,
            heartbeat_interval_ms=self._configs.of(group_id).share_heartbeat_interval_ms,
        )
        full = request.member_epoch == JOINING_EPOCH or request.subscribed_topic_names is not None
        if full or member.assigned != before.assigned:
            response.assignment = assigned = messages.Assignment()
            for topic_ids in pieces((yield from in_order(member.assigned))):
                assigned.topic_partitions += [
                    messages.TopicPartitions(topic_id=topic_id, partitions=sorted(member.assigned[topic_id]))
                    for topic_id in topic_ids
                ]
                yield
        return response

    def _refreshed(self, group_id: str, image: MetadataImage) -> Callable[[KafkaError | None], None]:
        def done(error: KafkaError | None) -> None:
            # The looked-at metadata counts only when what followed from it is stored, and if it is still the newest.
            current = self._groups.share(group_id)
            if error is None and current is not None and self._image() is image:
                current.refresh_metadata = False

        return done

    # ----------------------------------------------------------------------------------------------- leave, sessions

    def _leave(self, request: Request) -> Work[Result[Heard]]:
        group = self._groups.share(request.group_id)
        if group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"There is no share group {request.group_id}.")
        group.member(request.member_id)
        result = yield from self._fence(group, request.member_id)
        response = Response(member_id=request.member_id, member_epoch=request.member_epoch)
        return Result(result.records, Heard(response), done=result.done)

    def _fence(self, group: ShareGroup, member_id: str) -> Work[Result[None]]:
        """Removes a member; the next heartbeat of another one assigns anew."""
        group_id = group.group_id
        members = [member for each, member in group.members.items() if each != member_id]
        new_hash = yield from metadata_hash(subscribed_topics(members), self._image())
        records = share_member_tombstones(group_id, member_id)
        records.append(share_epoch_record(group_id, group.epoch + 1, new_hash))

        def done(error: Exception | None) -> None:
            current = self._groups.share(group_id)
            # Who has come back before that was written down has a new timeout.
            if error is None and (current is None or member_id not in current.members):
                self._timers.cancel(session_key(group_id, member_id))

        return Result(records, None, done=done)

    def extend_session(self, group_id: str, member_id: str) -> None:
        def expire(now_ms: int) -> Outcome[None]:
            group = self._groups.share(group_id)
            if group is None or member_id not in group.members:
                return NOTHING
            logger.info("the member %s of %s was silent for too long and is removed", member_id, group_id)
            return self._fence(group, member_id)

        timeout = self._configs.of(group_id).share_session_timeout_ms
        self._timers.schedule(session_key(group_id, member_id), timeout, expire)

    def restart(self, group: ShareGroup) -> Work[None]:
        """After loading: everybody has its whole time again."""
        for member_ids in pieces(list(group.members)):
            for member_id in member_ids:
                if member_id in group.members:
                    self.extend_session(group.group_id, member_id)
            yield


def check(request: Request) -> None:
    for text, what in (
        (request.member_id, "member id"),
        (request.group_id, "group id"),
        (request.rack_id, "rack id"),
    ):
        if text is not None and not text.strip():
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"The {what} is empty.")
    if len(request.member_id) > _LONGEST_MEMBER_ID:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"A member id has at most {_LONGEST_MEMBER_ID} characters.")
    if request.member_epoch == JOINING_EPOCH:
        if not request.subscribed_topic_names:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "A joining member must say what it subscribes to.")
    elif request.member_epoch < LEAVING_EPOCH:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{request.member_epoch} is not a member epoch.")


def _check_epoch(member: ShareMember, epoch: int) -> None:
    """The member's own epoch, or the one before it if the answer that carried the new one may have been lost."""
    if epoch not in (JOINING_EPOCH, member.epoch, member.previous_epoch):
        raise KafkaError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The member {member.member_id} is at epoch {member.epoch}, the request at {epoch}; it must join again.",
        )


def _changed(before: ShareMember, info: RequestInfo, request: Request) -> Work[ShareMember]:
    topics = before.topics
    if request.subscribed_topic_names is not None:
        topics = tuple((yield from in_order((yield from distinct(request.subscribed_topic_names)))))
    return replace(
        before,
        rack_id=request.rack_id if request.rack_id is not None else before.rack_id,
        client_id=info.client_id,
        client_host=info.client_host,
        topics=topics,
    )


def _reconciled(
    member: ShareMember, epoch: int, target: Assignment, image: MetadataImage, *, subscription_changed: bool
) -> ShareMember:
    """The member with its target, as far as it still subscribes to it: it may be of an older epoch."""
    if member.epoch == epoch and not subscription_changed:
        return member
    ids = {topic.id for name in member.topics if (topic := image.topics.get(name)) is not None}
    assigned = {topic_id: partitions for topic_id, partitions in target.items() if topic_id in ids}
    if member.epoch == epoch:
        return replace(member, assigned=assigned)
    return replace(member, epoch=epoch, previous_epoch=member.epoch, assigned=assigned)
