"""Streams groups: their members, described as those of other groups are, with the partitions their tasks read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from moldau.client.admin.groups import GroupDescription, MemberDescription, find_group_coordinator
from moldau.client.conversation import Ask, Conversation, retrying
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages import streams_group_describe as streams
from moldau.types import TopicPartition

STREAMS = "streams"


def describe_streams_group(group_id: str) -> Conversation[GroupDescription]:
    """GROUP_ID_NOT_FOUND if there is none of the name, or one of another kind."""

    def attempt() -> Conversation[GroupDescription]:
        node = yield from find_group_coordinator(group_id)
        response: streams.StreamsGroupDescribeResponse = yield Ask(
            streams.StreamsGroupDescribeRequest(group_ids=[group_id], include_authorized_operations=True), to=node
        )
        (row,) = response.groups
        code = error_code(row.error_code)
        if code is ErrorCode.GROUP_ID_NOT_FOUND:
            raise KafkaError(code, f"There is no streams group {group_id}.")
        if code is not ErrorCode.NONE:
            raise KafkaError(code, row.error_message or code.text)
        return _described(node, row)

    return retrying(attempt)


def _described(node: int, row: streams.DescribedGroup) -> GroupDescription:
    subtopologies = (row.topology.subtopologies if row.topology is not None else None) or ()
    reads = {
        each.subtopology_id: (*each.source_topics, *(topic.name for topic in each.repartition_source_topics))
        for each in subtopologies
    }
    topics = tuple(sorted({topic for names in reads.values() for topic in names}))
    members = [
        MemberDescription(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            member.member_epoch,
            topics,
            _partitions(member.assignment.active_tasks, reads),
            _partitions(member.target_assignment.active_tasks, reads),
            True,
        )
        for member in row.members
    ]
    return GroupDescription(
        row.group_id,
        STREAMS,
        row.group_state,
        node,
        STREAMS,
        "",
        tuple(sorted(members, key=lambda member: member.member_id)),
        row.group_epoch,
        row.assignment_epoch,
        row.authorized_operations,
    )


def _partitions(tasks: Iterable[streams.TaskIds], reads: Mapping[str, tuple[str, ...]]) -> frozenset[TopicPartition]:
    """A task reads the partition of its number, of every topic that its subtopology begins with."""
    return frozenset(
        TopicPartition(topic, partition)
        for task in tasks
        for topic in reads.get(task.subtopology_id, ())
        for partition in task.partitions
    )
