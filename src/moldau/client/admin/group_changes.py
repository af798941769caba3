"""What is taken out of groups: offsets of partitions nobody reads any more, members that will not come back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from moldau.client.admin.groups import find_group_coordinator
from moldau.client.conversation import NOT_THERE, Ask, Conversation, retrying
from moldau.client.leaders import by_topic
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages import leave_group as leaving
from moldau.protocol.messages import offset_delete as deleting
from moldau.types import TopicPartition


class MemberToRemove(NamedTuple):
    """By its id, or by its instance id if it is a static one; the coordinator logs the reason."""

    member_id: str | None = None
    group_instance_id: str | None = None
    reason: str | None = None


def delete_positions(
    group_id: str, partitions: Iterable[TopicPartition]
) -> Conversation[dict[TopicPartition, KafkaError | None]]:
    """Forgets what the group committed for partitions; GROUP_SUBSCRIBED_TO_TOPIC where members still read them."""
    request = deleting.OffsetDeleteRequest(
        group_id=group_id,
        topics=[
            deleting.OffsetDeleteRequestTopic(
                name=topic,
                partitions=[deleting.OffsetDeleteRequestPartition(partition_index=where.partition) for where in group],
            )
            for topic, group in by_topic(partitions).items()
        ],
    )

    def attempt() -> Conversation[dict[TopicPartition, KafkaError | None]]:
        node = yield from find_group_coordinator(group_id)
        response: deleting.OffsetDeleteResponse = yield Ask(request, to=node)
        _check(response.error_code, group_id)
        outcomes: dict[TopicPartition, KafkaError | None] = {}
        for topic in response.topics:
            for row in topic.partitions:
                where = TopicPartition(topic.name, row.partition_index)
                code = error_code(row.error_code)
                if code.retriable and code not in NOT_THERE:
                    raise KafkaError(code)
                outcomes[where] = (
                    None if code is ErrorCode.NONE else KafkaError(code, f"Partition {where}: {code.text}")
                )
        return outcomes

    return retrying(attempt)


def remove_members(
    group_id: str, members: Sequence[MemberToRemove]
) -> Conversation[dict[MemberToRemove, KafkaError | None]]:
    """Takes members out of a classic group, so that the others need not wait until their sessions end."""
    request = leaving.LeaveGroupRequest(
        group_id=group_id,
        members=[
            leaving.MemberIdentity(
                member_id=member.member_id or "", group_instance_id=member.group_instance_id, reason=member.reason
            )
            for member in members
        ],
    )

    def attempt() -> Conversation[dict[MemberToRemove, KafkaError | None]]:
        node = yield from find_group_coordinator(group_id)
        response: leaving.LeaveGroupResponse = yield Ask(request, to=node)
        _check(response.error_code, group_id)
        # In the order asked: a coordinator fills in the id of a static member that was named by its instance only.
        outcomes: dict[MemberToRemove, KafkaError | None] = {}
        for member, row in zip(members, response.members, strict=True):
            code = error_code(row.error_code)
            outcomes[member] = None if code is ErrorCode.NONE else KafkaError(code)
        return outcomes

    return retrying(attempt)


def _check(number: int, group_id: str) -> None:
    code = error_code(number)
    if code is ErrorCode.GROUP_ID_NOT_FOUND:
        raise KafkaError(code, f"There is no group {group_id}.")
    if code is not ErrorCode.NONE:
        raise KafkaError(code, f"Group {group_id}: {code.text}")
