"""The record of a classic group: written when a generation is complete, and when the group becomes empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from moldau.coordinator.group.classic_group import PIECE, ClassicGroup, ClassicState
from moldau.coordinator.group.classic_member import ClassicMember, MemberProtocol
from moldau.coordinator.shard import CoordinatorRecord
from moldau.protocol.messages.group_metadata_key import GroupMetadataKey
from moldau.protocol.messages.group_metadata_value import GroupMetadataValue, MemberMetadata
from moldau.slicing import Work, pieces

# The newest version that brokers before the flexible one can read as well.
_VERSION: Final = 3


def group_record(group: ClassicGroup, assignments: Mapping[str, bytes]) -> Work[CoordinatorRecord]:
    """The group with what each member is assigned."""
    rows: list[MemberMetadata] = []
    for members in pieces(list(group.members.values()), PIECE):
        rows += [
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata(group.protocol_name),
                assignment=assignments.get(member.member_id, b""),
            )
            for member in members
        ]
        yield
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=group.protocol_name,
        leader=group.leader,
        current_state_timestamp=-1 if group.state_timestamp is None else group.state_timestamp,
        members=rows,
    )
    return CoordinatorRecord(GroupMetadataKey(group=group.group_id), value, _VERSION)


def new_group_record(group: ClassicGroup) -> CoordinatorRecord:
    """A group that has just come into being; its members are not part of any generation yet."""
    value = GroupMetadataValue(
        protocol_type="",
        generation=0,
        protocol=None,
        leader=None,
        current_state_timestamp=-1 if group.state_timestamp is None else group.state_timestamp,
    )
    return CoordinatorRecord(GroupMetadataKey(group=group.group_id), value, _VERSION)


def group_tombstone(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(GroupMetadataKey(group=group_id), None)


def group_from_record(group_id: str, value: GroupMetadataValue) -> Work[ClassicGroup]:
    """The group as it was when the record was written."""
    state = ClassicState.STABLE if value.members else ClassicState.EMPTY
    group = ClassicGroup(group_id, state, value.generation)
    for rows in pieces(value.members, PIECE):
        for row in rows:
            group.add(
                ClassicMember(
                    row.member_id,
                    row.group_instance_id,
                    row.client_id,
                    row.client_host,
                    row.session_timeout if row.rebalance_timeout == -1 else row.rebalance_timeout,
                    row.session_timeout,
                    value.protocol_type,
                    [MemberProtocol(value.protocol or "", row.subscription)],
                    row.assignment,
                )
            )
        yield
    group.protocol_type = value.protocol_type or None
    group.protocol_name = value.protocol
    group.leader = value.leader
    group.state_timestamp = None if value.current_state_timestamp == -1 else value.current_state_timestamp
    yield from group.note_subscriptions(value.protocol)
    return group
