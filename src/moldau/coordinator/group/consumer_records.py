"""The records of consumer groups: what each says, and how it is read back."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat
from typing import Final

from moldau.coordinator.group.classic_member import MemberProtocol
from moldau.coordinator.group.consumer_group import ConsumerGroup, ResolvedPattern
from moldau.coordinator.group.consumer_member import Assignment, ClassicSide, ConsumerMember, MemberState
from moldau.coordinator.shard import CoordinatorRecord
from moldau.dataclass import replace
from moldau.protocol.messages import consumer_group_current_member_assignment_value as current
from moldau.protocol.messages import consumer_group_member_metadata_value as metadata
from moldau.protocol.messages import consumer_group_target_assignment_member_value as target
from moldau.protocol.messages.consumer_group_current_member_assignment_key import (
    ConsumerGroupCurrentMemberAssignmentKey,
)
from moldau.protocol.messages.consumer_group_member_metadata_key import ConsumerGroupMemberMetadataKey
from moldau.protocol.messages.consumer_group_metadata_key import ConsumerGroupMetadataKey
from moldau.protocol.messages.consumer_group_metadata_value import ConsumerGroupMetadataValue
from moldau.protocol.messages.consumer_group_regular_expression_key import ConsumerGroupRegularExpressionKey
from moldau.protocol.messages.consumer_group_regular_expression_value import ConsumerGroupRegularExpressionValue
from moldau.protocol.messages.consumer_group_target_assignment_member_key import ConsumerGroupTargetAssignmentMemberKey
from moldau.protocol.messages.consumer_group_target_assignment_metadata_key import (
    ConsumerGroupTargetAssignmentMetadataKey,
)
from moldau.protocol.messages.consumer_group_target_assignment_metadata_value import (
    ConsumerGroupTargetAssignmentMetadataValue,
)
from moldau.slicing import Work, in_order, pieces
from moldau.types import Uuid

_VERSION: Final = 0


def group_epoch_record(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    value = ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return CoordinatorRecord(ConsumerGroupMetadataKey(group_id=group_id), value, _VERSION)


def member_record(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    """Who the member is and what it subscribes to."""
    classic = None
    if member.classic is not None:
        classic = metadata.ClassicMemberMetadata(
            session_timeout_ms=member.classic.session_timeout_ms,
            supported_protocols=[
                metadata.ClassicProtocol(name=protocol.name, metadata=protocol.metadata)
                for protocol in member.classic.protocols
            ],
        )
    value = metadata.ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topics),
        subscribed_topic_regex=member.pattern,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.assignor,
        classic_member_metadata=classic,
    )
    key = ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id)
    return CoordinatorRecord(key, value, _VERSION)


def apply_member(member: ConsumerMember, value: metadata.ConsumerGroupMemberMetadataValue) -> ConsumerMember:
    classic = None
    if value.classic_member_metadata is not None:
        side = value.classic_member_metadata
        protocols = tuple(MemberProtocol(each.name, each.metadata) for each in side.supported_protocols)
        classic = ClassicSide(side.session_timeout_ms, protocols)
    return replace(
        member,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        topics=tuple(value.subscribed_topic_names),
        pattern=value.subscribed_topic_regex or None,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        assignor=value.server_assignor,
        classic=classic,
    )


def target_epoch_record(group_id: str, epoch: int, timestamp: int) -> CoordinatorRecord:
    value = ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp)
    return CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), value, _VERSION)


def target_record(group_id: str, member_id: str, partitions: Assignment) -> Work[CoordinatorRecord]:
    rows: list[target.TopicPartition] = []
    for some in pieces((yield from in_order(partitions))):
        rows += [target.TopicPartition(topic_id=topic_id, partitions=sorted(partitions[topic_id])) for topic_id in some]
        yield
    value = target.ConsumerGroupTargetAssignmentMemberValue(topic_partitions=rows)
    key = ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    return CoordinatorRecord(key, value, _VERSION)


def target_of(value: target.ConsumerGroupTargetAssignmentMemberValue) -> Work[Assignment]:
    return (yield from _assignment(value.topic_partitions))


def current_record(group_id: str, member: ConsumerMember) -> Work[CoordinatorRecord]:
    """What the member has, and how far it is."""
    value = current.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state,
        assigned_partitions=(yield from _rows(member, member.assigned)),
        partitions_pending_revocation=(yield from _rows(member, member.pending_revocation)),
    )
    key = ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id)
    return CoordinatorRecord(key, value, _VERSION)


def apply_current(
    member: ConsumerMember, value: current.ConsumerGroupCurrentMemberAssignmentValue
) -> Work[ConsumerMember]:
    known = value.state in (MemberState.STABLE, MemberState.UNREVOKED_PARTITIONS, MemberState.UNRELEASED_PARTITIONS)
    return replace(
        member,
        epoch=value.member_epoch,
        previous_epoch=value.previous_member_epoch,
        state=MemberState(value.state) if known else MemberState.UNKNOWN,
        assigned=(yield from _assignment(value.assigned_partitions)),
        pending_revocation=(yield from _assignment(value.partitions_pending_revocation)),
        assignment_epochs=(yield from _epochs(value)),
    )


def pattern_record(group_id: str, pattern: str, resolved: ResolvedPattern) -> Work[CoordinatorRecord]:
    value = ConsumerGroupRegularExpressionValue(
        topics=(yield from in_order(resolved.topics)), version=resolved.version, timestamp=resolved.timestamp
    )
    return CoordinatorRecord(_pattern_key(group_id, pattern), value, _VERSION)


def pattern_tombstone(group_id: str, pattern: str) -> CoordinatorRecord:
    return CoordinatorRecord(_pattern_key(group_id, pattern), None)


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """In the order that leaves no record without the member it belongs to."""
    return [
        CoordinatorRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None),
        CoordinatorRecord(ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None),
        CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None),
    ]


def group_tombstones(group: ConsumerGroup) -> list[CoordinatorRecord]:
    """Everything the group has ever stored."""
    group_id = group.group_id
    records = [record for member_id in group.members for record in member_tombstones(group_id, member_id)]
    records += [pattern_tombstone(group_id, pattern) for pattern in group.patterns]
    records.append(CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None))
    records.append(CoordinatorRecord(ConsumerGroupMetadataKey(group_id=group_id), None))
    return records


def _pattern_key(group_id: str, pattern: str) -> ConsumerGroupRegularExpressionKey:
    return ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=pattern)


def _rows(member: ConsumerMember, partitions: Assignment) -> Work[list[current.TopicPartitions]]:
    epochs = member.assignment_epochs
    rows: list[current.TopicPartitions] = []
    for some in pieces((yield from in_order(partitions))):
        for topic_id in some:
            ordered = sorted(partitions[topic_id])
            held_since = [epochs[topic_id, number] for number in ordered]
            rows.append(current.TopicPartitions(topic_id=topic_id, partitions=ordered, assignment_epochs=held_since))
        yield
    return rows


def _epochs(value: current.ConsumerGroupCurrentMemberAssignmentValue) -> Work[dict[tuple[Uuid, int], int]]:
    """Records of a broker that did not keep them have none: then it is the member's own."""
    epochs: dict[tuple[Uuid, int], int] = {}
    for rows in pieces(chain(value.assigned_partitions, value.partitions_pending_revocation)):
        for row in rows:
            known = row.assignment_epochs or ()
            if len(known) != len(row.partitions):
                known = [max(value.member_epoch, 0)] * len(row.partitions)
            epochs.update(zip(zip(repeat(row.topic_id), row.partitions, strict=False), known, strict=True))
        yield
    return epochs


def _assignment(rows: Sequence[current.TopicPartitions | target.TopicPartition]) -> Work[Assignment]:
    assigned: dict[Uuid, frozenset[int]] = {}
    for some in pieces(rows):
        assigned.update((row.topic_id, frozenset(row.partitions)) for row in some)
        yield
    return assigned
