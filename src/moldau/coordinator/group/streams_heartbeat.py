"""StreamsGroupHeartbeat: join, stay, leave; the one request by which a member takes part in a streams group.

The epoch in the request says what it is: 0 joins and brings the topology, -1 leaves, anything else is a member that
reports the tasks it has and learns which it should have.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import NamedTuple

from moldau.config.broker import BrokerConfig
from moldau.coordinator.group.classic_group import ClassicGroup
from moldau.coordinator.group.classic_rebalance import NOTHING
from moldau.coordinator.group.classic_records import group_tombstone
from moldau.coordinator.group.consumer_member import JOINING_EPOCH, LEAVING_EPOCH
from moldau.coordinator.group.groups import Groups
from moldau.coordinator.group.requests import RequestInfo
from moldau.coordinator.group.streams_assignor import TaskProblem, Worker, assign_sticky
from moldau.coordinator.group.streams_group import StreamsGroup
from moldau.coordinator.group.streams_member import NO_TASKS, StreamsMember, Tasks
from moldau.coordinator.group.streams_reconciliation import reconcile_tasks
from moldau.coordinator.group.streams_records import (
    streams_current_record,
    streams_epoch_record,
    streams_member_record,
    streams_target_epoch_record,
    streams_target_record,
    topology_record,
)
from moldau.coordinator.group.streams_requests import (
    changed_member,
    check,
    check_epoch,
    check_owned,
    endpoint_rows,
    owned_tasks,
    response_tasks,
    status,
)
from moldau.coordinator.group.streams_sessions import StreamsSessions
from moldau.coordinator.group.streams_topics import ConfiguredTopology, Status, configure
from moldau.coordinator.group.streams_topology import InternalTopic, Topology, topology_of
from moldau.coordinator.group.target_assignment import heartbeat_soon, may_assign, metadata_hash
from moldau.coordinator.shard import CoordinatorRecord, Outcome, Result
from moldau.dataclass import replace
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.streams_group_heartbeat import Status as StatusRow
from moldau.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest as Request
from moldau.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatResponse as Response
from moldau.slicing import Work
from moldau.timeline import SnapshotRegistry

logger = logging.getLogger("moldau.coordinator.group")

_STANDBY_REPLICAS = "num.standby.replicas"


class Heard(NamedTuple):
    """What comes of a heartbeat."""

    response: Response
    # Topics of the application that somebody has to create.
    missing: tuple[InternalTopic, ...] = ()


class _Target(NamedTuple):
    epoch: int
    tasks: Tasks
    # When another one may be worked out.
    due_ms: int = 0


class StreamsHeartbeat:
    def __init__(
        self, groups: Groups, config: BrokerConfig, sessions: StreamsSessions, image: Callable[[], MetadataImage]
    ) -> None:
        self._groups = groups
        self._max_size = config.group_streams_max_size
        self._sessions = sessions
        self._image = image

    def heartbeat(self, info: RequestInfo, request: Request, now_ms: int) -> Work[Result[Heard]]:
        check(request)
        if request.member_epoch == LEAVING_EPOCH:
            return self._leave(request)
        records: list[CoordinatorRecord] = []
        group_id, image = request.group_id, self._image()
        group = self._group(request, records)
        owned = yield from owned_tasks(request)
        before = self._before(group, request, owned)
        after = changed_member(before, info, request)
        is_new = after.member_id not in group.members
        if is_new or after != before:
            records.append(streams_member_record(group_id, after))
        topology = yield from self._topology(group, request, records)
        configured, new_hash = yield from _configured(group, topology, image)
        if owned is not None and configured.is_ready:
            check_owned(owned, configured.tasks)
        validated = topology.epoch if configured.is_ready else -1
        configs = {_STANDBY_REPLICAS: str(self._sessions.settings(group_id).streams_num_standby_replicas)}
        epoch = group.epoch
        as_before = group.metadata_hash, group.validated_epoch.value, group.assignment_configs.value
        if is_new or after != before or as_before != (new_hash, validated, configs):
            epoch += 1
            records.append(streams_epoch_record(group_id, epoch, new_hash, validated, configs))
        together = len(records)
        if group.is_empty:
            self._sessions.gather(group_id, now_ms, lambda now: self._assign_gathered(group_id, now))
        statuses = _statuses_before(after, topology)
        target = yield from self._target(group, after, configured, epoch, configs, now_ms, records, statuses)
        member = yield from reconcile_tasks(group, after, target.epoch, target.tasks, owned)
        if member != after:
            records.append((yield from streams_current_record(group_id, member)))
        self._sessions.extend_session(group_id, member.member_id)
        if (member.state, member.epoch) != (before.state, before.epoch):
            # The time to give up tasks runs from when the member was told, not from its last heartbeat.
            self._sessions.watch_revocation(group_id, member)
        if request.shutdown_application and group.shutdown_by is None:
            group.shutdown_by = member.member_id
        statuses += _statuses_after(group, configured)
        response = yield from self._answer(group, request, before, member, owned, image)
        response.status = statuses
        if epoch > target.epoch:
            response.heartbeat_interval_ms = heartbeat_soon(response.heartbeat_interval_ms, target.due_ms, 0, now_ms)
        done = self._looked_at(group_id, configured, image)
        # A target that is only half written is worked out again, and so is the member's own step.
        return Result(records, Heard(response, tuple(configured.missing)), atomic=False, together=together, done=done)

    def _group(self, request: Request, records: list[CoordinatorRecord]) -> StreamsGroup:
        """The group, or one that comes into being when the records gathered here are replayed."""
        group = self._groups.get(request.group_id)
        if isinstance(group, StreamsGroup):
            return group
        if request.member_epoch == JOINING_EPOCH:
            if group is None:
                return StreamsGroup(request.group_id, SnapshotRegistry())
            if isinstance(group, ClassicGroup) and group.is_empty:
                # The application has used the classic protocol; its offsets stay.
                records.append(group_tombstone(group.group_id))
                return StreamsGroup(request.group_id, SnapshotRegistry())
        raise _not_a_streams_group(request.group_id, exists=group is not None)

    def _before(self, group: StreamsGroup, request: Request, owned: Tasks | None) -> StreamsMember:
        known = group.members.get(request.member_id)
        if request.member_epoch != JOINING_EPOCH:
            member = group.member(request.member_id)
            check_epoch(member, request.member_epoch, owned)
            return member
        if known is None and len(group.members) >= self._max_size:
            raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED, f"The group has {self._max_size} members, its limit.")
        return known or StreamsMember(request.member_id)

    def _topology(self, group: StreamsGroup, request: Request, records: list[CoordinatorRecord]) -> Work[Topology]:
        kept = group.topology
        if request.topology is None:
            if kept is None:
                raise KafkaError(
                    ErrorCode.FENCED_MEMBER_EPOCH, "The group has lost its topology; the member must join again."
                )
            return kept
        given = yield from topology_of(request.topology)
        if kept is None:
            records.append((yield from topology_record(group.group_id, given)))
            return given
        if given.epoch >= kept.epoch and given != kept:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"The group {group.group_id} has another topology, and a group cannot change it; "
                "delete the group to begin with a new one.",
            )
        return kept

    # ------------------------------------------------------------------------------------------------------- target

    def _target(
        self,
        group: StreamsGroup,
        after: StreamsMember,
        configured: ConfiguredTopology,
        epoch: int,
        configs: Mapping[str, str],
        now_ms: int,
        records: list[CoordinatorRecord],
        statuses: list[StatusRow],
    ) -> Work[_Target]:
        """What the member should have by now; it is worked out anew if something has changed, unless it is too soon."""
        due_ms = self._sessions.begins_ms(group.group_id)
        if due_ms is not None:
            statuses.append(status(Status.ASSIGNMENT_DELAYED, "The group waits for its first members."))
        elif epoch > group.assignment_epoch:
            interval = self._sessions.settings(group.group_id).streams_assignment_interval_ms
            assigned_ms = group.assignment_timestamp.value
            if may_assign(assigned_ms, interval, now_ms):
                members = {**dict(group.members.items()), after.member_id: after}
                targets = yield from _targets(group, members, configured, configs)
                records += yield from _target_records(group, targets, epoch, now_ms)
                return _Target(epoch, targets[after.member_id])
            statuses.append(status(Status.ASSIGNMENT_DELAYED, "The tasks were assigned a moment ago."))
            due_ms = assigned_ms + interval
        return _Target(group.assignment_epoch, group.target(after.member_id), due_ms or now_ms)

    def _assign_gathered(self, group_id: str, now_ms: int) -> Outcome[None]:
        """The group has waited for its first members."""
        group = self._groups.streams(group_id)
        if group is None or group.is_empty or group.topology is None or group.epoch <= group.assignment_epoch:
            return NOTHING
        return self._assign_first(group, group.topology, now_ms)

    def _assign_first(self, group: StreamsGroup, topology: Topology, now_ms: int) -> Work[Result[None]]:
        configured, _ = yield from _configured(group, topology, self._image())
        members = dict(group.members.items())
        targets = yield from _targets(group, members, configured, group.assignment_configs.value)
        records = yield from _target_records(group, targets, group.epoch, now_ms)
        return Result(records, None, atomic=False)

    # ------------------------------------------------------------------------------------------------------- answer

    def _answer(
        self,
        group: StreamsGroup,
        request: Request,
        before: StreamsMember,
        member: StreamsMember,
        owned: Tasks | None,
        image: MetadataImage,
    ) -> Work[Response]:
        """Its tasks are told to a member that gets others, and to one that says it has others: the answer that told it
        may have been lost."""
        response = Response(
            member_id=member.member_id,
            member_epoch=member.epoch,
            heartbeat_interval_ms=self._sessions.settings(group.group_id).streams_heartbeat_interval_ms,
        )
        is_changed = request.member_epoch == JOINING_EPOCH or member.assigned != before.assigned
        if is_changed and member.endpoint is not None:
            group.endpoint_epoch += 1
        if is_changed or (owned is not None and not owned.is_same(member.assigned)):
            response.active_tasks = yield from response_tasks(member.assigned.active)
            response.standby_tasks = yield from response_tasks(member.assigned.standby)
            response.warmup_tasks = yield from response_tasks(member.assigned.warmup)
        if group.endpoint_epoch != request.endpoint_information_epoch:
            members = {**dict(group.members.items()), member.member_id: member}
            response.partitions_by_user_endpoint = yield from endpoint_rows(members.values(), group.topology, image)
        response.endpoint_information_epoch = group.endpoint_epoch
        return response

    def _looked_at(
        self, group_id: str, configured: ConfiguredTopology, image: MetadataImage
    ) -> Callable[[KafkaError | None], None]:
        def done(error: KafkaError | None) -> None:
            # The looked-at metadata counts only when what followed from it is stored, and if it is still the newest.
            current = self._groups.streams(group_id)
            if error is None and current is not None and self._image() is image and current.refresh_metadata:
                topology = current.topology
                if topology == configured.topology:
                    current.configured = replace(configured, topology=topology)
                    current.refresh_metadata = False

        return done

    def _leave(self, request: Request) -> Result[Heard]:
        group = self._groups.streams(request.group_id)
        if group is None:
            raise _not_a_streams_group(request.group_id, exists=request.group_id in self._groups)
        member = group.member(request.member_id)
        if request.shutdown_application and group.shutdown_by is None:
            group.shutdown_by = member.member_id
        result = self._sessions.fence(group, member.member_id)
        response = Response(member_id=member.member_id, member_epoch=request.member_epoch, status=[])
        return Result(result.records, Heard(response), done=result.done)


def _configured(group: StreamsGroup, topology: Topology, image: MetadataImage) -> Work[tuple[ConfiguredTopology, int]]:
    """What the topology comes to, and the hash of the topics it was found with."""
    known = group.configured
    if known is not None and not group.refresh_metadata and known.topology is topology:
        return known, group.metadata_hash
    new_hash = yield from metadata_hash(topology.topics, image)
    configured = yield from configure(topology, image)
    return configured, new_hash


def _targets(
    group: StreamsGroup,
    members: Mapping[str, StreamsMember],
    configured: ConfiguredTopology,
    configs: Mapping[str, str],
) -> Work[dict[str, Tasks]]:
    """Nobody has anything to do while the group is not ready."""
    if not configured.is_ready:
        return dict.fromkeys(members, NO_TASKS)
    workers = [
        Worker(member_id, member.process_id, member.client_tags, group.target(member_id))
        for member_id, member in members.items()
    ]
    stateful = frozenset(each.id for each in configured.topology.subtopologies if each.is_stateful)
    replicas = int(configs.get(_STANDBY_REPLICAS, "0"))
    return (yield from assign_sticky(TaskProblem(workers, configured.tasks, stateful, replicas)))


def _target_records(
    group: StreamsGroup, targets: Mapping[str, Tasks], epoch: int, now_ms: int
) -> Work[list[CoordinatorRecord]]:
    """Only what is different from the last target, and the epoch last: until then the old one counts."""
    records = []
    for member_id, tasks in targets.items():
        if group.targets.get(member_id) != tasks:
            records.append((yield from streams_target_record(group.group_id, member_id, tasks)))
        yield
    records.append(streams_target_epoch_record(group.group_id, epoch, now_ms))
    return records


def _statuses_before(member: StreamsMember, topology: Topology) -> list[StatusRow]:
    if member.topology_epoch >= topology.epoch:
        return []
    detail = f"The member has the topology of epoch {member.topology_epoch}, the group that of {topology.epoch}."
    return [status(Status.STALE_TOPOLOGY, detail)]


def _statuses_after(group: StreamsGroup, configured: ConfiguredTopology) -> list[StatusRow]:
    rows = [] if configured.problem is None else [status(configured.problem.status, configured.problem.detail)]
    if group.shutdown_by is not None:
        detail = f"The member {group.shutdown_by} met an error and asked the whole application to end."
        rows.append(status(Status.SHUTDOWN_APPLICATION, detail))
    return rows


def _not_a_streams_group(group_id: str, *, exists: bool) -> KafkaError:
    detail = f"Group {group_id} is not a streams group." if exists else f"There is no streams group {group_id}."
    return KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, detail)
