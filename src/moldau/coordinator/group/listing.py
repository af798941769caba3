"""What tools see of the groups: lists and descriptions. Read as of the committed state."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from moldau.coordinator.group.classic_group import ClassicGroup, ClassicState
from moldau.coordinator.group.consumer_group import ConsumerGroup, preferred_assignor
from moldau.coordinator.group.consumer_member import Assignment, ConsumerMember
from moldau.coordinator.group.consumer_protocol import PROTOCOL_TYPE
from moldau.coordinator.group.groups import Groups
from moldau.coordinator.group.share_assignor import NAME as SIMPLE_ASSIGNOR
from moldau.coordinator.group.share_group import ShareGroup
from moldau.coordinator.group.streams_group import StreamsGroup
from moldau.coordinator.group.streams_member import NO_TASKS, StreamsMember, Tasks
from moldau.coordinator.group.streams_topics import configure
from moldau.coordinator.group.streams_topology import Topology, described_topology
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages import consumer_group_describe as consumer
from moldau.protocol.messages import describe_groups as classic
from moldau.protocol.messages import share_group_describe as share
from moldau.protocol.messages import streams_group_describe as streams
from moldau.protocol.messages.list_groups import ListedGroup
from moldau.slicing import Work, in_order, pieces

_NOT_FOUND_SINCE = 6
_CLASSIC_MEMBER = 0
_CONSUMER_MEMBER = 1


def list_groups(
    groups: Groups, committed: int, states: Collection[str], types: Collection[str]
) -> Iterator[ListedGroup | None]:
    """Filters are in lower case; an empty one lets everything through. None stands for a group that does not pass."""
    for group in groups.at(committed):
        if isinstance(group, ClassicGroup):
            state, protocol_type = str(group.state), group.protocol_type or ""
        else:
            protocol_type = PROTOCOL_TYPE if isinstance(group, ConsumerGroup) else group.TYPE
            # Groups of the newer kinds have their kind for a protocol type; clients sort them by it where a version
            # has no types.
            state = group.state_at(committed)
        if (states and state.lower() not in states) or (types and group.TYPE not in types):
            yield None
            continue
        yield ListedGroup(
            group_id=group.group_id, protocol_type=protocol_type, group_state=state, group_type=group.TYPE
        )


def describe_classic(groups: Groups, group_id: str, committed: int, version: int) -> Work[classic.DescribedGroup]:
    group = groups.get_at(group_id, committed)
    if not isinstance(group, ClassicGroup):
        # Older versions have no code for it: a group that does not exist is dead.
        missing = classic.DescribedGroup(group_id=group_id, group_state=str(ClassicState.DEAD))
        if version >= _NOT_FOUND_SINCE:
            missing.error_code = ErrorCode.GROUP_ID_NOT_FOUND
            missing.error_message = f"There is no classic group {group_id}."
        return missing
    stable, protocol = group.is_in(ClassicState.STABLE), group.protocol_name
    described = classic.DescribedGroup(
        group_id=group_id,
        group_state=str(group.state),
        protocol_type=group.protocol_type or "",
        protocol_data=(protocol or "") if stable else "",
    )
    for members in pieces(list(group.members.values())):
        described.members += [
            classic.DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                # It may have joined again with others since the description began.
                member_metadata=member.metadata(protocol, b"") if stable else b"",
                member_assignment=member.assignment if stable else b"",
            )
            for member in members
        ]
        yield
    return described


def describe_consumer(
    groups: Groups, group_id: str, committed: int, image: MetadataImage, default_assignor: str
) -> Work[consumer.DescribedGroup]:
    group = groups.get_at(group_id, committed)
    if not isinstance(group, ConsumerGroup):
        return consumer.DescribedGroup(
            group_id=group_id,
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=f"There is no consumer group {group_id}.",
        )
    epoch, assignment_epoch = group.epochs_at(committed)
    members = group.members.snapshot_at(committed)
    described = consumer.DescribedGroup(
        group_id=group_id,
        group_state=group.state_at(committed),
        group_epoch=epoch,
        assignment_epoch=assignment_epoch,
        assignor_name=preferred_assignor(members.values(), default_assignor),
    )
    targets = group.targets.snapshot_at(committed)
    for member_id, member in members.items():
        described.members.append((yield from _member(member, targets.get(member_id, {}), image)))
    return described


def describe_share(groups: Groups, group_id: str, committed: int, image: MetadataImage) -> Work[share.DescribedGroup]:
    group = groups.get_at(group_id, committed)
    if not isinstance(group, ShareGroup):
        return share.DescribedGroup(
            group_id=group_id,
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=f"There is no share group {group_id}.",
        )
    epoch, assignment_epoch = group.epochs_at(committed)
    described = share.DescribedGroup(
        group_id=group_id,
        group_state=group.state_at(committed),
        group_epoch=epoch,
        assignment_epoch=assignment_epoch,
        assignor_name=SIMPLE_ASSIGNOR,
    )
    for member in group.members.snapshot_at(committed).values():
        assigned = share.Assignment()
        for topic_ids in pieces((yield from in_order(member.assigned))):
            assigned.topic_partitions += [
                share.TopicPartitions(
                    topic_id=topic_id, topic_name=topic.name, partitions=sorted(member.assigned[topic_id])
                )
                for topic_id in topic_ids
                if (topic := image.topics.by_id(topic_id)) is not None
            ]
            yield
        described.members.append(
            share.Member(
                member_id=member.member_id,
                rack_id=member.rack_id,
                member_epoch=member.epoch,
                client_id=member.client_id,
                client_host=member.client_host,
                subscribed_topic_names=list(member.topics),
                assignment=assigned,
            )
        )
    return described


def describe_streams(
    groups: Groups, group_id: str, committed: int, image: MetadataImage
) -> Work[streams.DescribedGroup]:
    group = groups.get_at(group_id, committed)
    if not isinstance(group, StreamsGroup):
        return streams.DescribedGroup(
            group_id=group_id,
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=f"There is no streams group {group_id}.",
        )
    epoch, assignment_epoch = group.epochs_at(committed)
    topology = group.topology_at(committed)
    described = streams.DescribedGroup(
        group_id=group_id,
        group_state=group.state_at(committed),
        group_epoch=epoch,
        assignment_epoch=assignment_epoch,
        topology=None if topology is None else (yield from _topology(topology, image)),
    )
    targets = group.targets.snapshot_at(committed)
    for member_id, member in group.members.snapshot_at(committed).items():
        described.members.append((yield from _streams_member(member, targets.get(member_id, NO_TASKS))))
    return described


def _topology(topology: Topology, image: MetadataImage) -> Work[streams.Topology]:
    """With the partitions of its own topics where they are decided."""
    try:
        configured = yield from configure(topology, image)
    except KafkaError:
        return (yield from described_topology(topology, {}))
    return (yield from described_topology(topology, configured.partitions if configured.is_ready else {}))


def _streams_member(member: StreamsMember, target: Tasks) -> Work[streams.Member]:
    endpoint = member.endpoint
    return streams.Member(
        member_id=member.member_id,
        member_epoch=member.epoch,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None if endpoint is None else streams.Endpoint(host=endpoint.host, port=endpoint.port),
        client_tags=[streams.KeyValue(key=key, value=value) for key, value in member.client_tags],
        assignment=(yield from _tasks(member.assigned)),
        target_assignment=(yield from _tasks(target)),
    )


def _tasks(tasks: Tasks) -> Work[streams.Assignment]:
    roles: list[list[streams.TaskIds]] = []
    for partitions in tasks:
        rows = []
        for some in pieces((yield from in_order(partitions))):
            rows += [streams.TaskIds(subtopology_id=each, partitions=sorted(partitions[each])) for each in some]
            yield
        roles.append(rows)
    return streams.Assignment(active_tasks=roles[0], standby_tasks=roles[1], warmup_tasks=roles[2])


def _member(member: ConsumerMember, target: Assignment, image: MetadataImage) -> Work[consumer.Member]:
    return consumer.Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topics),
        subscribed_topic_regex=member.pattern,
        assignment=(yield from _assignment(member.assigned, image)),
        target_assignment=(yield from _assignment(target, image)),
        member_type=_CONSUMER_MEMBER if member.classic is None else _CLASSIC_MEMBER,
    )


def _assignment(partitions: Assignment, image: MetadataImage) -> Work[consumer.Assignment]:
    """Topics that are gone have no name and are left out."""
    assignment = consumer.Assignment()
    for topic_ids in pieces((yield from in_order(partitions))):
        assignment.topic_partitions += [
            consumer.TopicPartitions(topic_id=topic_id, topic_name=topic.name, partitions=sorted(partitions[topic_id]))
            for topic_id in topic_ids
            if (topic := image.topics.by_id(topic_id)) is not None
        ]
        yield
    return assignment
