"""Heartbeats of streams groups: what is asked for that cannot be, and what answers are made of.

Static members, patterns of source topics, offsets of tasks and warm-up tasks are in the protocol, but Kafka 4.3
refuses them, and so does this node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from moldau.coordinator.group.consumer_member import JOINING_EPOCH, STATIC_LEAVING_EPOCH
from moldau.coordinator.group.requests import RequestInfo
from moldau.coordinator.group.streams_member import Endpoint, Partitions, StreamsMember, Tasks
from moldau.coordinator.group.streams_topics import Status
from moldau.coordinator.group.streams_topology import Topology, check_topology
from moldau.dataclass import replace
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages import streams_group_heartbeat as messages
from moldau.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest as Request
from moldau.slicing import Work, in_order, pieces

# They are put in order in one go. Kafka's clients have five at most.
_MOST_TAGS: Final = 1000
_UNSUPPORTED: Final = "are not supported by streams groups yet."


def check(request: Request) -> None:
    _check_supported(request)
    for text, what in (
        (request.member_id, "member id"),
        (request.group_id, "group id"),
        (request.rack_id, "rack id"),
    ):
        if text is not None and not text.strip():
            raise _invalid(f"The {what} is empty.")
    if len(request.client_tags or ()) > _MOST_TAGS:
        raise _invalid(f"At most {_MOST_TAGS} client tags are taken.")
    owned = request.active_tasks, request.standby_tasks, request.warmup_tasks
    if request.member_epoch == JOINING_EPOCH:
        if request.rebalance_timeout_ms == -1:
            raise _invalid("A joining member must say its rebalance timeout.")
        if any(tasks is None or tasks for tasks in owned):
            raise _invalid("A joining member cannot own tasks.")
        if request.topology is None:
            raise _invalid("A joining member must bring the topology.")
        check_topology(request.topology)
        return
    if request.member_epoch == STATIC_LEAVING_EPOCH:
        raise _invalid("Only a static member can leave for a while.")
    if request.member_epoch < STATIC_LEAVING_EPOCH:
        raise _invalid(f"{request.member_epoch} is not a member epoch.")
    if len({tasks is None for tasks in owned}) > 1:
        raise _invalid("A member says of all three kinds of tasks which ones it has, or of none.")
    if request.topology is not None:
        raise _invalid("Only a joining member can bring a topology.")


def _check_supported(request: Request) -> None:
    if request.instance_id is not None:
        raise _invalid(f"Static members {_UNSUPPORTED}")
    if request.task_offsets is not None or request.task_end_offsets is not None:
        raise _invalid(f"Offsets of tasks {_UNSUPPORTED}")
    if request.warmup_tasks:
        raise _invalid(f"Warm-up tasks {_UNSUPPORTED}")
    if request.topology is not None and any(each.source_topic_regex for each in request.topology.subtopologies):
        raise _invalid(f"Patterns of source topics {_UNSUPPORTED}")


def _invalid(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, why)


def check_epoch(member: StreamsMember, epoch: int, owned: Tasks | None) -> None:
    """The member's own epoch, or the one before it if the answer that carried the new one may have been lost."""
    if epoch == member.epoch:
        return
    lost_answer = epoch == member.previous_epoch and owned is not None and owned.is_within(member.assigned)
    if epoch > member.epoch or not lost_answer:
        raise KafkaError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The member {member.member_id} is at epoch {member.epoch}, the request at {epoch}; it must join again.",
        )


def check_owned(owned: Tasks, tasks: Mapping[str, int]) -> None:
    for partitions in owned:
        for subtopology, numbers in partitions.items():
            count = tasks.get(subtopology)
            if count is None:
                raise _invalid(f"There is no subtopology {subtopology}.")
            if any(not 0 <= number < count for number in numbers):
                raise _invalid(f"The subtopology {subtopology} has the tasks 0 to {count - 1}.")


def owned_tasks(request: Request) -> Work[Tasks | None]:
    """None where it does not say."""
    if request.active_tasks is None or request.standby_tasks is None or request.warmup_tasks is None:
        return None
    read: list[Partitions] = []
    for rows in (request.active_tasks, request.standby_tasks, request.warmup_tasks):
        partitions: dict[str, frozenset[int]] = {}
        for some in pieces(rows):
            partitions.update((row.subtopology_id, frozenset(row.partitions)) for row in some)
            yield
        read.append(partitions)
    return Tasks(*read)


def changed_member(before: StreamsMember, info: RequestInfo, request: Request) -> StreamsMember:
    endpoint, tags = request.user_endpoint, request.client_tags
    return replace(
        before,
        rack_id=request.rack_id if request.rack_id is not None else before.rack_id,
        rebalance_timeout_ms=(
            request.rebalance_timeout_ms if request.rebalance_timeout_ms != -1 else before.rebalance_timeout_ms
        ),
        topology_epoch=before.topology_epoch if request.topology is None else request.topology.epoch,
        process_id=request.process_id if request.process_id is not None else before.process_id,
        endpoint=before.endpoint if endpoint is None else Endpoint(endpoint.host, endpoint.port),
        client_tags=before.client_tags if tags is None else tuple(sorted((row.key, row.value) for row in tags)),
        client_id=info.client_id,
        client_host=info.client_host,
    )


# ------------------------------------------------------------------------------------------------------------- answers


def status(code: Status, detail: str) -> messages.Status:
    return messages.Status(status_code=code, status_detail=detail)


def response_tasks(partitions: Partitions) -> Work[list[messages.ResponseTaskIds]]:
    rows: list[messages.ResponseTaskIds] = []
    for some in pieces((yield from in_order(partitions))):
        rows += [messages.ResponseTaskIds(subtopology_id=each, partitions=sorted(partitions[each])) for each in some]
        yield
    return rows


def endpoint_rows(
    members: Iterable[StreamsMember], topology: Topology | None, image: MetadataImage
) -> Work[list[messages.EndpointToPartitions]]:
    """Which partitions can be asked for where, a row for each member that has an endpoint."""
    rows = []
    inputs = {} if topology is None else {each.id: list(each.inputs()) for each in topology.subtopologies}
    for member in members:
        if member.endpoint is None:
            continue
        rows.append(
            messages.EndpointToPartitions(
                user_endpoint=messages.ResponseEndpoint(host=member.endpoint.host, port=member.endpoint.port),
                active_partitions=_topic_partitions(member.assigned.active, inputs, image),
                standby_partitions=_topic_partitions(member.assigned.standby, inputs, image),
            )
        )
        yield
    return rows


def _topic_partitions(
    tasks: Partitions, inputs: Mapping[str, Iterable[str]], image: MetadataImage
) -> list[messages.TopicPartition]:
    """A task of a subtopology reads the partition of its number of every topic that has one."""
    rows = []
    for subtopology, numbers in sorted(tasks.items()):
        for name in inputs.get(subtopology, ()):
            topic = image.topics.get(name)
            if topic is not None:
                partitions = sorted(number for number in numbers if number < len(topic.partitions))
                rows.append(messages.TopicPartition(topic=name, partitions=partitions))
    return rows
