"""Streams groups: applications of Kafka Streams, seen as groups that read the topics of their tasks.

Task 3 of a subtopology reads partition 3 of each of its input topics that has one. So an active task is shown with what
it reads, and the positions of the group mean the same as those of consumers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from moldau.client.admin.groups import GroupDescription, MemberDescription, describe_group, find_group_coordinator
from moldau.client.conversation import Ask, Conversation, Learn, retrying
from moldau.client.metadata import ClusterView
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.links.errors import UnsupportedRequest
from moldau.protocol.messages import streams_group_describe as streams
from moldau.types import TopicPartition

STREAMS = "streams"


def describe_group_or_application(group_id: str) -> Conversation[GroupDescription]:
    """The group, if it is one of consumers or an application of Kafka Streams; GROUP_ID_NOT_FOUND if there is none."""
    try:
        return (yield from describe_group(group_id))
    except KafkaError as error:
        if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
            raise
    try:
        return (yield from describe_streams_group(group_id))
    except UnsupportedRequest:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"There is no group {group_id}.") from None


def describe_streams_group(group_id: str) -> Conversation[GroupDescription]:
    """GROUP_ID_NOT_FOUND if there is none of the name, or one of another kind."""

    def attempt() -> Conversation[GroupDescription]:
        node = yield from find_group_coordinator(group_id)
        request = streams.StreamsGroupDescribeRequest(group_ids=[group_id], include_authorized_operations=True)
        response: streams.StreamsGroupDescribeResponse = yield Ask(request, to=node)
        (row,) = response.groups
        code = error_code(row.error_code)
        # What is switched off for the cluster cannot be there.
        if code in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION):
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"There is no group {group_id}.")
        if code is not ErrorCode.NONE:
            raise KafkaError(code, row.error_message or code.text)
        view: ClusterView = yield Learn(sorted(_topics(row)), anew=True)
        return _described(node, row, view)

    return retrying(attempt)


def _subtopologies(row: streams.DescribedGroup) -> Sequence[streams.Subtopology]:
    return (row.topology.subtopologies or ()) if row.topology is not None else ()


def _topics(row: streams.DescribedGroup) -> set[str]:
    return {name for each in _subtopologies(row) for name in (*_inputs(each), *_names(each.state_changelog_topics))}


def _inputs(subtopology: streams.Subtopology) -> Iterator[str]:
    yield from subtopology.source_topics
    yield from _names(subtopology.repartition_source_topics)


def _names(topics: Iterable[streams.TopicInfo]) -> list[str]:
    return [topic.name for topic in topics]


def _described(node: int, row: streams.DescribedGroup, view: ClusterView) -> GroupDescription:
    sizes = {name: len(topic.partitions) for name, topic in view.topics.items() if topic.error is ErrorCode.NONE}
    inputs = {each.subtopology_id: tuple(_inputs(each)) for each in _subtopologies(row)}
    members = [
        MemberDescription(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            member.member_epoch,
            tuple(sorted(name for names in inputs.values() for name in names)),
            _read(member.assignment.active_tasks, inputs, sizes),
            _read(member.target_assignment.active_tasks, inputs, sizes),
            True,
            process_id=member.process_id,
            copies=_tasks(member.assignment.standby_tasks, member.assignment.warmup_tasks),
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
        tuple(sorted(members, key=lambda member: (member.process_id, member.member_id))),
        row.group_epoch,
        row.assignment_epoch,
        row.authorized_operations,
        missing_topics=tuple(sorted(name for name in _topics(row) if name not in sizes)),
    )


def _read(
    tasks: Iterable[streams.TaskIds], inputs: Mapping[str, Iterable[str]], sizes: Mapping[str, int]
) -> frozenset[TopicPartition]:
    return frozenset(
        TopicPartition(name, number)
        for task in tasks
        for name in inputs.get(task.subtopology_id, ())
        for number in task.partitions
        if number < sizes.get(name, 0)
    )


def _tasks(*roles: Iterable[streams.TaskIds]) -> tuple[str, ...]:
    """As Kafka Streams names them: 1_3 is task 3 of subtopology 1."""
    return tuple(
        sorted(f"{row.subtopology_id}_{number}" for rows in roles for row in rows for number in row.partitions)
    )
