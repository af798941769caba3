"""Groups: which there are, who is in them, where they stand, and moving or deleting that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from moldau.client.conversation import NOT_THERE, Ask, AskAll, Conversation, Learn, retrying
from moldau.client.leaders import by_topic
from moldau.client.metadata import ClusterView
from moldau.errors import ErrorCode, KafkaError, ProtocolError, error_code
from moldau.links.errors import UnsupportedRequest
from moldau.links.versions import ByVersion
from moldau.protocol.messages import consumer_group_describe as consumer
from moldau.protocol.messages import describe_groups as classic
from moldau.protocol.messages import offset_commit as commits
from moldau.protocol.messages import offset_fetch as fetches
from moldau.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from moldau.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from moldau.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from moldau.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from moldau.protocol.wire import Reader
from moldau.types import NO_EPOCH, TopicPartition

_GROUP: Final = 0
_SEVERAL_KEYS_SINCE: Final = 4
_OPERATIONS_SINCE: Final = 3
_STATES_SINCE, _TYPES_SINCE = 4, 5
_SEVERAL_GROUPS_SINCE, _STABLE_SINCE = 8, 7
# From the version that names topics by id on, a name would have to be looked up first.
_LAST_WITH_NAMES: Final = 9


class GroupListing(NamedTuple):
    group_id: str
    type: str
    state: str
    protocol_type: str
    coordinator: int


@dataclass(slots=True, frozen=True)
class MemberDescription:
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    # The member's epoch in a consumer group; -1 in a classic one.
    epoch: int
    subscription: tuple[str, ...]
    assigned: frozenset[TopicPartition]
    # What it should have; the same as `assigned` in a classic group.
    target: frozenset[TopicPartition]
    # Whether it speaks the consumer protocol.
    consumer_protocol: bool = False
    # Of an application of Kafka Streams: the instance it is a thread of, and the tasks whose state it keeps a copy of.
    process_id: str = ""
    copies: tuple[str, ...] = ()


@dataclass(slots=True, frozen=True)
class GroupDescription:
    group_id: str
    type: str
    state: str
    coordinator: int
    protocol_type: str
    # The protocol the members agreed on, or the assignor of the coordinator.
    assignor: str
    members: tuple[MemberDescription, ...]
    epoch: int = NO_EPOCH
    assignment_epoch: int = NO_EPOCH
    # What we may do with the group, as bits; the lowest number if the broker does not tell.
    authorized_operations: int = -(1 << 31)
    # Of those an application of Kafka Streams has to have.
    missing_topics: tuple[str, ...] = ()


class CommittedPosition(NamedTuple):
    """`offset` is -1 where nothing is committed; `pending` while a transaction that commits another is open."""

    offset: int
    metadata: str
    leader_epoch: int = NO_EPOCH
    pending: bool = False


def find_group_coordinator(group_id: str) -> Conversation[int]:
    """The node that looks after the group."""

    def build(version: int) -> FindCoordinatorRequest:
        if version >= _SEVERAL_KEYS_SINCE:
            return FindCoordinatorRequest(key_type=_GROUP, coordinator_keys=[group_id])
        return FindCoordinatorRequest(key=group_id)

    def attempt() -> Conversation[int]:
        yield Learn(())
        response: FindCoordinatorResponse = yield Ask(ByVersion(FindCoordinatorRequest, build))
        found: Any = response.coordinators[0] if response.coordinators else response
        _check(found.error_code, found.error_message)
        node: int = found.node_id
        return node

    return retrying(attempt)


def list_groups(states: Sequence[str] = (), types: Sequence[str] = ()) -> Conversation[list[GroupListing]]:
    """The groups of all coordinators, by name."""

    def build(version: int) -> ListGroupsRequest:
        return ListGroupsRequest(
            states_filter=list(states) if version >= _STATES_SINCE else [],
            types_filter=list(types) if version >= _TYPES_SINCE else [],
        )

    def attempt() -> Conversation[list[GroupListing]]:
        view: ClusterView = yield Learn((), anew=True)
        nodes = sorted(view.brokers)
        responses = yield AskAll([Ask(ByVersion(ListGroupsRequest, build), to=node) for node in nodes])
        found: list[GroupListing] = []
        for node, response in zip(nodes, responses, strict=True):
            found += _listed(node, response)
        return sorted(found)

    return retrying(attempt)


def _listed(node: int, response: ListGroupsResponse | KafkaError) -> list[GroupListing]:
    if isinstance(response, KafkaError):
        raise response
    _check(response.error_code)
    return [
        GroupListing(row.group_id, row.group_type or "classic", row.group_state, row.protocol_type, node)
        for row in response.groups
    ]


# ------------------------------------------------------------------------------------------------------- describe


def describe_group(group_id: str) -> Conversation[GroupDescription]:
    """A group of consumers, of whichever protocol; GROUP_ID_NOT_FOUND if there is none."""

    def attempt() -> Conversation[GroupDescription]:
        node = yield from find_group_coordinator(group_id)
        try:
            response: consumer.ConsumerGroupDescribeResponse = yield Ask(
                consumer.ConsumerGroupDescribeRequest(group_ids=[group_id], include_authorized_operations=True), to=node
            )
            (row,) = response.groups
            if row.error_code != ErrorCode.GROUP_ID_NOT_FOUND:
                _check(row.error_code, row.error_message)
                return _consumer_group(node, row)
        except UnsupportedRequest:
            pass
        answer: classic.DescribeGroupsResponse = yield Ask(
            ByVersion(
                classic.DescribeGroupsRequest,
                lambda version: classic.DescribeGroupsRequest(
                    groups=[group_id], include_authorized_operations=version >= _OPERATIONS_SINCE
                ),
            ),
            to=node,
        )
        (old,) = answer.groups
        if old.group_state == "Dead" or old.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"There is no group {group_id}.")
        _check(old.error_code)
        return _classic_group(node, old)

    return retrying(attempt)


def _consumer_group(node: int, row: consumer.DescribedGroup) -> GroupDescription:
    members = [
        MemberDescription(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            member.member_epoch,
            (
                *member.subscribed_topic_names,
                *([member.subscribed_topic_regex] if member.subscribed_topic_regex else []),
            ),
            _partitions((each.topic_name, each.partitions) for each in member.assignment.topic_partitions),
            _partitions((each.topic_name, each.partitions) for each in member.target_assignment.topic_partitions),
            member.member_type != 0,
        )
        for member in row.members
    ]
    return GroupDescription(
        row.group_id,
        "consumer",
        row.group_state,
        node,
        "consumer",
        row.assignor_name,
        tuple(sorted(members, key=lambda member: member.member_id)),
        row.group_epoch,
        row.assignment_epoch,
        row.authorized_operations,
    )


def _classic_group(node: int, row: classic.DescribedGroup) -> GroupDescription:
    consumers = row.protocol_type == "consumer"
    members = []
    for member in row.members:
        assigned = _assigned(member.member_assignment) if consumers else frozenset()
        members.append(
            MemberDescription(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                NO_EPOCH,
                _subscribed(member.member_metadata) if consumers else (),
                assigned,
                assigned,
            )
        )
    return GroupDescription(
        row.group_id,
        "classic",
        row.group_state,
        node,
        row.protocol_type,
        row.protocol_data,
        tuple(sorted(members, key=lambda member: member.member_id)),
        authorized_operations=row.authorized_operations,
    )


def _assigned(data: bytes) -> frozenset[TopicPartition]:
    """The partitions in a classic consumer's assignment; nothing if it is in a form of its own."""
    try:
        assignment = ConsumerProtocolAssignment.read(Reader(data, 2), 0)
    except ProtocolError:
        return frozenset()
    return _partitions((row.topic, row.partitions) for row in assignment.assigned_partitions)


def _subscribed(data: bytes) -> tuple[str, ...]:
    try:
        return tuple(sorted(ConsumerProtocolSubscription.read(Reader(data, 2), 0).topics))
    except ProtocolError:
        return ()


def _partitions(rows: Iterable[tuple[str, Sequence[int]]]) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(topic, number) for topic, numbers in rows for number in numbers)


# -------------------------------------------------------------------------------------------------------- offsets


def committed_positions(group_id: str) -> Conversation[dict[TopicPartition, CommittedPosition]]:
    """Everything the group has committed."""

    def build(version: int) -> fetches.OffsetFetchRequest:
        stable = version >= _STABLE_SINCE
        if version >= _SEVERAL_GROUPS_SINCE:
            group = fetches.OffsetFetchRequestGroup(group_id=group_id, topics=None)
            return fetches.OffsetFetchRequest(groups=[group], require_stable=stable)
        return fetches.OffsetFetchRequest(group_id=group_id, topics=None, require_stable=stable)

    def attempt() -> Conversation[dict[TopicPartition, CommittedPosition]]:
        node = yield from find_group_coordinator(group_id)
        ask = Ask(ByVersion(fetches.OffsetFetchRequest, build), to=node, at_most=_LAST_WITH_NAMES)
        response: fetches.OffsetFetchResponse = yield ask
        answer: Any = response.groups[0] if response.groups else response
        _check(answer.error_code)
        positions = {}
        for topic in answer.topics:
            for row in topic.partitions:
                pending = row.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT
                if not pending:
                    _check(row.error_code)
                where = TopicPartition(topic.name, row.partition_index)
                positions[where] = CommittedPosition(
                    row.committed_offset, row.metadata or "", row.committed_leader_epoch, pending
                )
        return positions

    return retrying(attempt)


def commit_positions(
    group_id: str, positions: Mapping[TopicPartition, int | CommittedPosition]
) -> Conversation[dict[TopicPartition, KafkaError | None]]:
    """Moves the group; only while it has no members. What went wrong per partition, None where nothing did."""
    wanted = {where: CommittedPosition(at, "") if isinstance(at, int) else at for where, at in positions.items()}

    def attempt() -> Conversation[dict[TopicPartition, KafkaError | None]]:
        node = yield from find_group_coordinator(group_id)
        request = commits.OffsetCommitRequest(
            group_id=group_id,
            topics=[
                commits.OffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        commits.OffsetCommitRequestPartition(
                            partition_index=where.partition,
                            committed_offset=wanted[where].offset,
                            committed_leader_epoch=wanted[where].leader_epoch,
                            committed_metadata=wanted[where].metadata,
                        )
                        for where in partitions
                    ],
                )
                for topic, partitions in by_topic(positions).items()
            ],
        )
        response: commits.OffsetCommitResponse = yield Ask(request, to=node, at_most=_LAST_WITH_NAMES)
        outcomes: dict[TopicPartition, KafkaError | None] = {}
        for topic in response.topics:
            for row in topic.partitions:
                code = error_code(row.error_code)
                where = TopicPartition(topic.name, row.partition_index)
                if code is not ErrorCode.NONE and code.retriable and code not in NOT_THERE:
                    raise KafkaError(code)
                outcomes[where] = None if code is ErrorCode.NONE else _refused(group_id, where, code)
        return outcomes

    return retrying(attempt)


def _refused(group_id: str, where: TopicPartition, code: ErrorCode) -> KafkaError:
    if code is ErrorCode.UNKNOWN_MEMBER_ID:
        return KafkaError(code, f"The group {group_id} has members: offsets can be moved only while it has none.")
    return KafkaError(code, f"Partition {where}: {code.text}")


def delete_group(group_id: str) -> Conversation[None]:
    """Deletes a group without members, and its offsets."""

    def attempt() -> Conversation[None]:
        node = yield from find_group_coordinator(group_id)
        response: DeleteGroupsResponse = yield Ask(DeleteGroupsRequest(groups_names=[group_id]), to=node)
        code = error_code(response.results[0].error_code)
        if code is ErrorCode.NON_EMPTY_GROUP:
            raise KafkaError(code, f"The group {group_id} has members and cannot be deleted.")
        if code is ErrorCode.GROUP_ID_NOT_FOUND:
            raise KafkaError(code, f"There is no group {group_id}.")
        _check(code)

    return retrying(attempt)


def _check(number: int, message: str | None = None) -> None:
    code = error_code(number)
    if code is not ErrorCode.NONE:
        raise KafkaError(code, message)
