"""Share groups: their members, how far they have come, and moving or forgetting that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from moldau.client.admin.groups import GroupDescription, MemberDescription, find_group_coordinator
from moldau.client.conversation import NOT_THERE, Ask, Conversation, retrying
from moldau.client.leaders import by_topic
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages import alter_share_group_offsets as altering
from moldau.protocol.messages import delete_share_group_offsets as deleting
from moldau.protocol.messages import describe_share_group_offsets as describing
from moldau.protocol.messages import share_group_describe as share
from moldau.types import NO_EPOCH, TopicPartition

SHARE = "share"


class SharePosition(NamedTuple):
    """Everything before `start` is done with, or will not be handed out any more; -1 where nothing is known yet. `lag`
    counts the records that are still to be delivered, -1 if the broker does not tell."""

    start: int
    lag: int = -1
    leader_epoch: int = NO_EPOCH


def describe_share_group(group_id: str) -> Conversation[GroupDescription]:
    """GROUP_ID_NOT_FOUND if there is none of the name, or one of another kind."""

    def attempt() -> Conversation[GroupDescription]:
        node = yield from find_group_coordinator(group_id)
        response: share.ShareGroupDescribeResponse = yield Ask(
            share.ShareGroupDescribeRequest(group_ids=[group_id], include_authorized_operations=True), to=node
        )
        (row,) = response.groups
        code = error_code(row.error_code)
        if code is ErrorCode.GROUP_ID_NOT_FOUND:
            raise KafkaError(code, f"There is no share group {group_id}.")
        _check(row.error_code, row.error_message)
        return _described(node, row)

    return retrying(attempt)


def _described(node: int, row: share.DescribedGroup) -> GroupDescription:
    members = []
    for member in row.members:
        assigned = frozenset(
            TopicPartition(each.topic_name, number)
            for each in member.assignment.topic_partitions
            for number in each.partitions
        )
        members.append(
            MemberDescription(
                member.member_id,
                None,
                member.client_id,
                member.client_host,
                member.member_epoch,
                tuple(member.subscribed_topic_names),
                assigned,
                assigned,
            )
        )
    return GroupDescription(
        row.group_id,
        SHARE,
        row.group_state,
        node,
        SHARE,
        row.assignor_name,
        tuple(sorted(members, key=lambda member: member.member_id)),
        row.group_epoch,
        row.assignment_epoch,
        row.authorized_operations,
    )


def share_positions(
    group_id: str, partitions: Iterable[TopicPartition] | None = None
) -> Conversation[dict[TopicPartition, SharePosition | KafkaError]]:
    """Where the group stands in the partitions named, or in all it has read from."""
    topics = (
        None
        if partitions is None
        else [
            describing.DescribeShareGroupOffsetsRequestTopic(
                topic_name=topic, partitions=[where.partition for where in group]
            )
            for topic, group in by_topic(partitions).items()
        ]
    )

    def attempt() -> Conversation[dict[TopicPartition, SharePosition | KafkaError]]:
        node = yield from find_group_coordinator(group_id)
        response: describing.DescribeShareGroupOffsetsResponse = yield Ask(
            describing.DescribeShareGroupOffsetsRequest(
                groups=[describing.DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=topics)]
            ),
            to=node,
        )
        (row,) = response.groups
        if error_code(row.error_code) is ErrorCode.GROUP_ID_NOT_FOUND:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"There is no share group {group_id}.")
        _check(row.error_code, row.error_message)
        found: dict[TopicPartition, SharePosition | KafkaError] = {}
        for topic in row.topics:
            for each in topic.partitions:
                where = TopicPartition(topic.topic_name, each.partition_index)
                code = error_code(each.error_code)
                if code.retriable and code not in NOT_THERE:
                    raise KafkaError(code, each.error_message)
                found[where] = (
                    SharePosition(each.start_offset, each.lag, each.leader_epoch)
                    if code is ErrorCode.NONE
                    else _of_partition(where, code, each.error_message)
                )
        return found

    return retrying(attempt)


def alter_share_positions(
    group_id: str, positions: Mapping[TopicPartition, int]
) -> Conversation[dict[TopicPartition, KafkaError | None]]:
    """Moves a share group that has no members. What went wrong per partition, None where nothing did."""
    request = altering.AlterShareGroupOffsetsRequest(
        group_id=group_id,
        topics=[
            altering.AlterShareGroupOffsetsRequestTopic(
                topic_name=topic,
                partitions=[
                    altering.AlterShareGroupOffsetsRequestPartition(
                        partition_index=where.partition, start_offset=positions[where]
                    )
                    for where in group
                ],
            )
            for topic, group in by_topic(positions).items()
        ],
    )

    def attempt() -> Conversation[dict[TopicPartition, KafkaError | None]]:
        node = yield from find_group_coordinator(group_id)
        response: altering.AlterShareGroupOffsetsResponse = yield Ask(request, to=node)
        _check_group(group_id, response.error_code, response.error_message)
        outcomes: dict[TopicPartition, KafkaError | None] = {}
        for topic in response.responses:
            for row in topic.partitions:
                where = TopicPartition(topic.topic_name, row.partition_index)
                code = error_code(row.error_code)
                if code.retriable and code not in NOT_THERE:
                    raise KafkaError(code, row.error_message)
                outcomes[where] = None if code is ErrorCode.NONE else _of_partition(where, code, row.error_message)
        return outcomes

    return retrying(attempt)


def delete_share_positions(group_id: str, topics: Sequence[str]) -> Conversation[dict[str, KafkaError | None]]:
    """Forgets where a group without members stands in topics: it begins there anew."""
    request = deleting.DeleteShareGroupOffsetsRequest(
        group_id=group_id,
        topics=[deleting.DeleteShareGroupOffsetsRequestTopic(topic_name=topic) for topic in topics],
    )

    def attempt() -> Conversation[dict[str, KafkaError | None]]:
        node = yield from find_group_coordinator(group_id)
        response: deleting.DeleteShareGroupOffsetsResponse = yield Ask(request, to=node)
        _check_group(group_id, response.error_code, response.error_message)
        outcomes: dict[str, KafkaError | None] = {}
        for row in response.responses:
            code = error_code(row.error_code)
            if code.retriable and code not in NOT_THERE:
                raise KafkaError(code, row.error_message)
            outcomes[row.topic_name] = (
                None
                if code is ErrorCode.NONE
                else KafkaError(code, f"{row.topic_name}: {row.error_message or code.text}")
            )
        return outcomes

    return retrying(attempt)


def _of_partition(where: TopicPartition, code: ErrorCode, message: str | None) -> KafkaError:
    return KafkaError(code, f"Partition {where}: {message or code.text}")


def _check_group(group_id: str, number: int, message: str | None) -> None:
    code = error_code(number)
    if code is ErrorCode.NON_EMPTY_GROUP:
        raise KafkaError(code, f"The share group {group_id} has members: it can be moved only while it has none.")
    if code is ErrorCode.GROUP_ID_NOT_FOUND:
        raise KafkaError(code, f"There is no share group {group_id}.")
    _check(number, message)


def _check(number: int, message: str | None = None) -> None:
    code = error_code(number)
    if code is not ErrorCode.NONE:
        raise KafkaError(code, message or None)
