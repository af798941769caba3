"""The records of streams groups: what each says, and how it is read back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, Final

from moldau.coordinator.group.consumer_member import MemberState
from moldau.coordinator.group.groups import Groups
from moldau.coordinator.group.streams_group import StreamsGroup
from moldau.coordinator.group.streams_member import NO_TASKS, Endpoint, Partitions, StreamsMember, TaskId, Tasks
from moldau.coordinator.group.streams_topology import Topology, topology_of, topology_value
from moldau.coordinator.shard import CoordinatorRecord
from moldau.dataclass import replace
from moldau.protocol.messages import streams_group_current_member_assignment_value as current
from moldau.protocol.messages import streams_group_member_metadata_value as metadata
from moldau.protocol.messages import streams_group_target_assignment_member_value as target
from moldau.protocol.messages.streams_group_current_member_assignment_key import StreamsGroupCurrentMemberAssignmentKey
from moldau.protocol.messages.streams_group_member_metadata_key import StreamsGroupMemberMetadataKey
from moldau.protocol.messages.streams_group_metadata_key import StreamsGroupMetadataKey
from moldau.protocol.messages.streams_group_metadata_value import LastAssignmentConfig, StreamsGroupMetadataValue
from moldau.protocol.messages.streams_group_target_assignment_member_key import StreamsGroupTargetAssignmentMemberKey
from moldau.protocol.messages.streams_group_target_assignment_metadata_key import (
    StreamsGroupTargetAssignmentMetadataKey,
)
from moldau.protocol.messages.streams_group_target_assignment_metadata_value import (
    StreamsGroupTargetAssignmentMetadataValue,
)
from moldau.protocol.messages.streams_group_topology_key import StreamsGroupTopologyKey
from moldau.slicing import Work, in_order, pieces

_VERSION: Final = 0
_LEFT_EPOCH: Final = -1


def streams_epoch_record(
    group_id: str, epoch: int, metadata_hash: int, validated_epoch: int, configs: Mapping[str, str]
) -> CoordinatorRecord:
    value = StreamsGroupMetadataValue(
        epoch=epoch,
        metadata_hash=metadata_hash,
        validated_topology_epoch=validated_epoch,
        last_assignment_configs=[LastAssignmentConfig(key=key, value=text) for key, text in sorted(configs.items())],
    )
    return CoordinatorRecord(StreamsGroupMetadataKey(group_id=group_id), value, _VERSION)


def topology_record(group_id: str, kept: Topology) -> Work[CoordinatorRecord]:
    value = yield from topology_value(kept)
    return CoordinatorRecord(StreamsGroupTopologyKey(group_id=group_id), value, _VERSION)


def streams_member_record(group_id: str, member: StreamsMember) -> CoordinatorRecord:
    """Who the member is."""
    endpoint = member.endpoint
    value = metadata.StreamsGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None if endpoint is None else metadata.Endpoint(host=endpoint.host, port=endpoint.port),
        client_tags=[metadata.KeyValue(key=key, value=value) for key, value in member.client_tags],
    )
    key = StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id)
    return CoordinatorRecord(key, value, _VERSION)


def streams_target_epoch_record(group_id: str, epoch: int, timestamp: int) -> CoordinatorRecord:
    value = StreamsGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp)
    return CoordinatorRecord(StreamsGroupTargetAssignmentMetadataKey(group_id=group_id), value, _VERSION)


def streams_target_record(group_id: str, member_id: str, tasks: Tasks) -> Work[CoordinatorRecord]:
    roles: list[list[target.TaskIds]] = []
    for partitions in tasks:
        rows = []
        for some in pieces((yield from in_order(partitions))):
            rows += [target.TaskIds(subtopology_id=each, partitions=sorted(partitions[each])) for each in some]
            yield
        roles.append(rows)
    value = target.StreamsGroupTargetAssignmentMemberValue(
        active_tasks=roles[0], standby_tasks=roles[1], warmup_tasks=roles[2]
    )
    key = StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    return CoordinatorRecord(key, value, _VERSION)


def streams_current_record(group_id: str, member: StreamsMember) -> Work[CoordinatorRecord]:
    """What the member has, and how far it is."""
    epochs, nothing = member.assignment_epochs, dict[TaskId, int]()
    assigned, pending = member.assigned, member.pending_revocation
    value = current.StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state,
        active_tasks=(yield from _rows(assigned.active, epochs)),
        standby_tasks=(yield from _rows(assigned.standby, nothing)),
        warmup_tasks=(yield from _rows(assigned.warmup, nothing)),
        active_tasks_pending_revocation=(yield from _rows(pending.active, epochs)),
        standby_tasks_pending_revocation=(yield from _rows(pending.standby, nothing)),
        warmup_tasks_pending_revocation=(yield from _rows(pending.warmup, nothing)),
    )
    key = StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id)
    return CoordinatorRecord(key, value, _VERSION)


def _rows(partitions: Partitions, epochs: Mapping[TaskId, int]) -> Work[list[current.TaskIds]]:
    """`epochs` say since when the member has active tasks; of the others nobody asks."""
    rows: list[current.TaskIds] = []
    for some in pieces((yield from in_order(partitions))):
        for each in some:
            ordered = sorted(partitions[each])
            since = [epochs[each, number] for number in ordered] if epochs else None
            rows.append(current.TaskIds(subtopology_id=each, partitions=ordered, assignment_epochs=since))
        yield
    return rows


def streams_member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """In the order that leaves no record without the member it belongs to."""
    return [
        CoordinatorRecord(StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None),
        CoordinatorRecord(StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None),
        CoordinatorRecord(StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None),
    ]


def streams_group_tombstones(group: StreamsGroup) -> list[CoordinatorRecord]:
    """Everything the group has ever stored."""
    group_id = group.group_id
    records = [record for member_id in group.members for record in streams_member_tombstones(group_id, member_id)]
    records.append(CoordinatorRecord(StreamsGroupTargetAssignmentMetadataKey(group_id=group_id), None))
    records.append(CoordinatorRecord(StreamsGroupTopologyKey(group_id=group_id), None))
    records.append(CoordinatorRecord(StreamsGroupMetadataKey(group_id=group_id), None))
    return records


# ----------------------------------------------------------------------------------------------------------- replay


def _replay_epoch(groups: Groups, key: Any, value: Any) -> None:
    if value is None:
        if groups.streams(key.group_id) is not None:
            groups.remove(key.group_id)
        return
    group = groups.streams_for_replay(key.group_id)
    group.epoch, group.metadata_hash = value.epoch, value.metadata_hash
    group.validated_epoch.value = value.validated_topology_epoch
    group.assignment_configs.value = {row.key: row.value for row in value.last_assignment_configs or ()}


def _replay_topology(groups: Groups, key: Any, value: Any) -> Work[None]:
    if value is None:
        group = groups.streams(key.group_id)
        if group is not None:
            group.topology = None
        return
    kept = yield from topology_of(value)
    groups.streams_for_replay(key.group_id).topology = kept


def _replay_member(groups: Groups, key: Any, value: Any) -> Work[None]:
    if value is None:
        group = groups.streams(key.group_id)
        if group is not None:
            yield from group.remove_member(key.member_id)
        return
    group = groups.streams_for_replay(key.group_id)
    member = group.members.get(key.member_id) or StreamsMember(key.member_id)
    endpoint = value.user_endpoint
    yield from group.put_member(
        replace(
            member,
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            topology_epoch=value.topology_epoch,
            process_id=value.process_id,
            endpoint=None if endpoint is None else Endpoint(endpoint.host, endpoint.port),
            client_tags=tuple((row.key, row.value) for row in value.client_tags),
        )
    )


def _replay_current(groups: Groups, key: Any, value: Any) -> Work[None]:
    if value is None:
        group = groups.streams(key.group_id)
        member = None if group is None else group.members.get(key.member_id)
        if group is not None and member is not None:
            yield from group.put_member(
                replace(
                    member,
                    epoch=_LEFT_EPOCH,
                    previous_epoch=_LEFT_EPOCH,
                    state=MemberState.STABLE,
                    assigned=NO_TASKS,
                    pending_revocation=NO_TASKS,
                    assignment_epochs={},
                )
            )
        return
    group = groups.streams_for_replay(key.group_id)
    member = group.members.get(key.member_id) or StreamsMember(key.member_id)
    known = value.state in (MemberState.STABLE, MemberState.UNREVOKED_PARTITIONS, MemberState.UNRELEASED_PARTITIONS)
    assigned = value.active_tasks, value.standby_tasks, value.warmup_tasks
    pending = (
        value.active_tasks_pending_revocation,
        value.standby_tasks_pending_revocation,
        value.warmup_tasks_pending_revocation,
    )
    yield from group.put_member(
        replace(
            member,
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            state=MemberState(value.state) if known else MemberState.UNKNOWN,
            assigned=(yield from _tasks(assigned)),
            pending_revocation=(yield from _tasks(pending)),
            assignment_epochs=dict(_epochs(assigned[0], value.member_epoch))
            | dict(_epochs(pending[0], value.member_epoch)),
        )
    )


def _replay_target(groups: Groups, key: Any, value: Any) -> Work[None]:
    if value is None:
        group = groups.streams(key.group_id)
        if group is not None:
            group.targets.pop(key.member_id)
        return
    tasks = yield from _tasks((value.active_tasks, value.standby_tasks, value.warmup_tasks))
    groups.streams_for_replay(key.group_id).targets[key.member_id] = tasks


def _replay_target_epoch(groups: Groups, key: Any, value: Any) -> None:
    if value is None:
        return
    group = groups.streams_for_replay(key.group_id)
    group.assignment_epoch, group.assignment_timestamp.value = value.assignment_epoch, value.assignment_timestamp


def _tasks(roles: Sequence[Sequence[current.TaskIds | target.TaskIds]]) -> Work[Tasks]:
    read: list[Partitions] = []
    for rows in roles:
        partitions: dict[str, frozenset[int]] = {}
        for some in pieces(rows):
            partitions.update((row.subtopology_id, frozenset(row.partitions)) for row in some)
            yield
        read.append(partitions)
    return Tasks(*read)


def _epochs(rows: Sequence[current.TaskIds], member_epoch: int) -> Iterator[tuple[TaskId, int]]:
    """Records of a broker that did not keep them have none: then it is the member's own."""
    for row in rows:
        known = row.assignment_epochs or ()
        if len(known) != len(row.partitions):
            known = [max(member_epoch, 0)] * len(row.partitions)
        yield from zip(zip(repeat(row.subtopology_id), row.partitions, strict=False), known, strict=True)


STREAMS_REPLAY: Final[dict[type, Callable[[Groups, Any, Any], Work[None] | None]]] = {
    StreamsGroupMetadataKey: _replay_epoch,
    StreamsGroupTopologyKey: _replay_topology,
    StreamsGroupMemberMetadataKey: _replay_member,
    StreamsGroupCurrentMemberAssignmentKey: _replay_current,
    StreamsGroupTargetAssignmentMemberKey: _replay_target,
    StreamsGroupTargetAssignmentMetadataKey: _replay_target_epoch,
}
