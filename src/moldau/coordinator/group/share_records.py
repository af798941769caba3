"""The records of share groups: what each says, and how it is read back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from moldau.coordinator.group.consumer_member import NO_PARTITIONS, Assignment
from moldau.coordinator.group.groups import Groups
from moldau.coordinator.group.share_group import NO_STATE, ShareGroup, ShareMember, StatePartitions, TopicState
from moldau.coordinator.shard import CoordinatorRecord
from moldau.dataclass import replace
from moldau.protocol.messages import share_group_current_member_assignment_value as current
from moldau.protocol.messages import share_group_state_partition_metadata_value as state
from moldau.protocol.messages import share_group_target_assignment_member_value as target
from moldau.protocol.messages.share_group_current_member_assignment_key import ShareGroupCurrentMemberAssignmentKey
from moldau.protocol.messages.share_group_member_metadata_key import ShareGroupMemberMetadataKey
from moldau.protocol.messages.share_group_member_metadata_value import ShareGroupMemberMetadataValue
from moldau.protocol.messages.share_group_metadata_key import ShareGroupMetadataKey
from moldau.protocol.messages.share_group_metadata_value import ShareGroupMetadataValue
from moldau.protocol.messages.share_group_state_partition_metadata_key import ShareGroupStatePartitionMetadataKey
from moldau.protocol.messages.share_group_target_assignment_member_key import ShareGroupTargetAssignmentMemberKey
from moldau.protocol.messages.share_group_target_assignment_metadata_key import ShareGroupTargetAssignmentMetadataKey
from moldau.protocol.messages.share_group_target_assignment_metadata_value import (
    ShareGroupTargetAssignmentMetadataValue,
)
from moldau.slicing import Work, in_order, pieces
from moldau.types import Uuid

_VERSION: Final = 0
_STABLE: Final = 0
_LEFT_EPOCH: Final = -1


def share_epoch_record(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    value = ShareGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return CoordinatorRecord(ShareGroupMetadataKey(group_id=group_id), value, _VERSION)


def share_member_record(group_id: str, member: ShareMember) -> CoordinatorRecord:
    value = ShareGroupMemberMetadataValue(
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topics),
    )
    key = ShareGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id)
    return CoordinatorRecord(key, value, _VERSION)


def share_target_epoch_record(group_id: str, epoch: int, timestamp: int) -> CoordinatorRecord:
    value = ShareGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp)
    return CoordinatorRecord(ShareGroupTargetAssignmentMetadataKey(group_id=group_id), value, _VERSION)


def share_target_record(group_id: str, member_id: str, partitions: Assignment) -> Work[CoordinatorRecord]:
    rows: list[target.TopicPartition] = []
    for some in pieces((yield from in_order(partitions))):
        rows += [target.TopicPartition(topic_id=topic_id, partitions=sorted(partitions[topic_id])) for topic_id in some]
        yield
    value = target.ShareGroupTargetAssignmentMemberValue(topic_partitions=rows)
    key = ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    return CoordinatorRecord(key, value, _VERSION)


def share_current_record(group_id: str, member: ShareMember) -> Work[CoordinatorRecord]:
    rows: list[current.TopicPartitions] = []
    for some in pieces((yield from in_order(member.assigned))):
        rows += [
            current.TopicPartitions(topic_id=topic_id, partitions=sorted(member.assigned[topic_id]))
            for topic_id in some
        ]
        yield
    value = current.ShareGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=_STABLE,
        assigned_partitions=rows,
    )
    key = ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id)
    return CoordinatorRecord(key, value, _VERSION)


def state_partitions_record(group_id: str, partitions: StatePartitions) -> CoordinatorRecord:
    value = state.ShareGroupStatePartitionMetadataValue(
        initializing_topics=_topics(partitions.initializing.items()),
        initialized_topics=_topics(partitions.initialized.items()),
        deleting_topics=[
            state.TopicInfo(topic_id=topic_id, topic_name=name)
            for topic_id, name in sorted(partitions.deleting.items())
        ],
    )
    return CoordinatorRecord(ShareGroupStatePartitionMetadataKey(group_id=group_id), value, _VERSION)


def _topics(states: Iterable[tuple[Uuid, TopicState]]) -> list[state.TopicPartitionsInfo]:
    return [
        state.TopicPartitionsInfo(topic_id=topic_id, topic_name=known.name, partitions=sorted(known.partitions))
        for topic_id, known in sorted(states)
    ]


def share_member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """In the order that leaves no record without the member it belongs to."""
    return [
        CoordinatorRecord(ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None),
        CoordinatorRecord(ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None),
        CoordinatorRecord(ShareGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None),
    ]


def share_group_tombstones(group: ShareGroup) -> list[CoordinatorRecord]:
    """Everything the group has ever stored."""
    group_id = group.group_id
    records = [record for member_id in group.members for record in share_member_tombstones(group_id, member_id)]
    records.append(CoordinatorRecord(ShareGroupTargetAssignmentMetadataKey(group_id=group_id), None))
    records.append(CoordinatorRecord(ShareGroupStatePartitionMetadataKey(group_id=group_id), None))
    records.append(CoordinatorRecord(ShareGroupMetadataKey(group_id=group_id), None))
    return records


# ----------------------------------------------------------------------------------------------------------- replay


def _replay_epoch(groups: Groups, key: Any, value: Any) -> None:
    if value is None:
        if groups.share(key.group_id) is not None:
            groups.remove(key.group_id)
        return
    group = groups.share_for_replay(key.group_id)
    group.epoch, group.metadata_hash = value.epoch, value.metadata_hash


def _replay_member(groups: Groups, key: Any, value: Any) -> None:
    if value is None:
        group = groups.share(key.group_id)
        if group is not None:
            group.members.pop(key.member_id)
        return
    group = groups.share_for_replay(key.group_id)
    member = group.members.get(key.member_id) or ShareMember(key.member_id)
    group.members[key.member_id] = replace(
        member,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        topics=tuple(value.subscribed_topic_names),
    )


def _replay_current(groups: Groups, key: Any, value: Any) -> Work[None]:
    if value is None:
        group = groups.share(key.group_id)
        member = None if group is None else group.members.get(key.member_id)
        if group is not None and member is not None:
            group.members[key.member_id] = replace(
                member, epoch=_LEFT_EPOCH, previous_epoch=_LEFT_EPOCH, assigned=NO_PARTITIONS
            )
        return
    group = groups.share_for_replay(key.group_id)
    member = group.members.get(key.member_id) or ShareMember(key.member_id)
    group.members[key.member_id] = replace(
        member,
        epoch=value.member_epoch,
        previous_epoch=value.previous_member_epoch,
        assigned=(yield from _assignment(value.assigned_partitions)),
    )


def _replay_target(groups: Groups, key: Any, value: Any) -> Work[None]:
    if value is None:
        group = groups.share(key.group_id)
        if group is not None:
            group.targets.pop(key.member_id)
        return
    partitions = yield from _assignment(value.topic_partitions)
    groups.share_for_replay(key.group_id).targets[key.member_id] = partitions


def _replay_target_epoch(groups: Groups, key: Any, value: Any) -> None:
    if value is None:
        return
    group = groups.share_for_replay(key.group_id)
    group.assignment_epoch, group.assignment_timestamp.value = value.assignment_epoch, value.assignment_timestamp


def _replay_state_partitions(groups: Groups, key: Any, value: Any) -> None:
    if value is None:
        group = groups.share(key.group_id)
        if group is not None:
            group.state_partitions = NO_STATE
        return
    groups.share_for_replay(key.group_id).state_partitions = StatePartitions(
        {row.topic_id: TopicState(row.topic_name, frozenset(row.partitions)) for row in value.initializing_topics},
        {row.topic_id: TopicState(row.topic_name, frozenset(row.partitions)) for row in value.initialized_topics},
        {row.topic_id: row.topic_name for row in value.deleting_topics},
    )


def _assignment(rows: Sequence[current.TopicPartitions | target.TopicPartition]) -> Work[Assignment]:
    assigned: dict[Uuid, frozenset[int]] = {}
    for some in pieces(rows):
        assigned.update((row.topic_id, frozenset(row.partitions)) for row in some)
        yield
    return assigned


SHARE_REPLAY: Final[dict[type, Callable[[Groups, Any, Any], Work[None] | None]]] = {
    ShareGroupMetadataKey: _replay_epoch,
    ShareGroupMemberMetadataKey: _replay_member,
    ShareGroupCurrentMemberAssignmentKey: _replay_current,
    ShareGroupTargetAssignmentMemberKey: _replay_target,
    ShareGroupTargetAssignmentMetadataKey: _replay_target_epoch,
    ShareGroupStatePartitionMetadataKey: _replay_state_partitions,
}
