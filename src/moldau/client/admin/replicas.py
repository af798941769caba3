"""Replicas: which broker has them, in which directory, and who leads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from moldau.client.conversation import CONTROLLER, Ask, AskAll, Conversation, Learn, first_error, retrying
from moldau.client.leaders import by_topic
from moldau.client.structs import TopicPartitionReplica
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages import alter_partition_reassignments as reassigning
from moldau.protocol.messages import alter_replica_log_dirs as moving
from moldau.protocol.messages import elect_leaders as electing
from moldau.protocol.messages import list_partition_reassignments as listing
from moldau.types import TopicPartition

_REQUEST_TIMEOUT_MS = 30_000


class ElectionType(IntEnum):
    """PREFERRED makes the first replica lead again; UNCLEAN takes any that is there, and may lose records."""

    PREFERRED = 0
    UNCLEAN = 1


class Reassignment(NamedTuple):
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


def move_replicas(
    places: Mapping[TopicPartitionReplica, str],
) -> Conversation[dict[TopicPartitionReplica, KafkaError | None]]:
    """Moves replicas into other log directories of the brokers that have them."""
    brokers = sorted({replica.broker_id for replica in places})

    def request(broker: int) -> moving.AlterReplicaLogDirsRequest:
        paths: dict[str, list[TopicPartition]] = {}
        for replica, path in places.items():
            if replica.broker_id == broker:
                paths.setdefault(path, []).append(TopicPartition(replica.topic, replica.partition))
        return moving.AlterReplicaLogDirsRequest(
            dirs=[
                moving.AlterReplicaLogDir(
                    path=path,
                    topics=[
                        moving.AlterReplicaLogDirTopic(name=topic, partitions=[where.partition for where in group])
                        for topic, group in by_topic(partitions).items()
                    ],
                )
                for path, partitions in paths.items()
            ]
        )

    def attempt() -> Conversation[dict[TopicPartitionReplica, KafkaError | None]]:
        yield Learn((), anew=True)
        responses = yield AskAll([Ask(request(broker), to=broker) for broker in brokers])
        failure = first_error(responses)
        if failure is not None:
            raise failure
        return {
            TopicPartitionReplica(topic.topic_name, row.partition_index, broker): _error(row.error_code)
            for broker, response in zip(brokers, responses, strict=True)
            for topic in response.results
            for row in topic.partitions
        }

    return retrying(attempt)


def elect_leaders(
    kind: ElectionType, partitions: Iterable[TopicPartition] | None = None
) -> Conversation[dict[TopicPartition, KafkaError | None]]:
    """Has leaders elected for these partitions, or for all; ELECTION_NOT_NEEDED where the right one leads already."""
    chosen = None if partitions is None else by_topic(partitions)
    request = electing.ElectLeadersRequest(
        election_type=kind,
        topic_partitions=None
        if chosen is None
        else [
            electing.TopicPartitions(topic=topic, partitions=[where.partition for where in group])
            for topic, group in chosen.items()
        ],
        timeout_ms=_REQUEST_TIMEOUT_MS,
    )

    def attempt() -> Conversation[dict[TopicPartition, KafkaError | None]]:
        response: electing.ElectLeadersResponse = yield Ask(request, to=CONTROLLER)
        _check(response.error_code, None)
        return {
            TopicPartition(topic.topic, row.partition_id): _error(row.error_code, row.error_message)
            for topic in response.replica_election_results
            for row in topic.partition_result
        }

    return retrying(attempt)


def reassign(
    replicas: Mapping[TopicPartition, Sequence[int] | None],
) -> Conversation[dict[TopicPartition, KafkaError | None]]:
    """Begins to move partitions to other brokers; None gives up a move that is under way."""
    request = reassigning.AlterPartitionReassignmentsRequest(
        timeout_ms=_REQUEST_TIMEOUT_MS,
        topics=[
            reassigning.ReassignableTopic(
                name=topic,
                partitions=[
                    reassigning.ReassignablePartition(
                        partition_index=where.partition, replicas=_listed(replicas[where])
                    )
                    for where in group
                ],
            )
            for topic, group in by_topic(replicas).items()
        ],
    )

    def attempt() -> Conversation[dict[TopicPartition, KafkaError | None]]:
        response: reassigning.AlterPartitionReassignmentsResponse = yield Ask(request, to=CONTROLLER)
        _check(response.error_code, response.error_message)
        return {
            TopicPartition(topic.name, row.partition_index): _error(row.error_code, row.error_message)
            for topic in response.responses
            for row in topic.partitions
        }

    return retrying(attempt)


def list_reassignments(
    partitions: Iterable[TopicPartition] | None = None,
) -> Conversation[dict[TopicPartition, Reassignment]]:
    """The moves under way, of these partitions or of all."""
    request = listing.ListPartitionReassignmentsRequest(
        timeout_ms=_REQUEST_TIMEOUT_MS,
        topics=None
        if partitions is None
        else [
            listing.ListPartitionReassignmentsTopics(name=topic, partition_indexes=[where.partition for where in group])
            for topic, group in by_topic(partitions).items()
        ],
    )

    def attempt() -> Conversation[dict[TopicPartition, Reassignment]]:
        response: listing.ListPartitionReassignmentsResponse = yield Ask(request, to=CONTROLLER)
        _check(response.error_code, response.error_message)
        return {
            TopicPartition(topic.name, row.partition_index): Reassignment(
                tuple(row.replicas), tuple(row.adding_replicas), tuple(row.removing_replicas)
            )
            for topic in response.topics
            for row in topic.partitions
        }

    return retrying(attempt)


def _listed(replicas: Sequence[int] | None) -> list[int] | None:
    return None if replicas is None else list(replicas)


def _error(number: int, message: str | None = None) -> KafkaError | None:
    code = error_code(number)
    return None if code is ErrorCode.NONE else KafkaError(code, message)


def _check(number: int, message: str | None) -> None:
    failure = _error(number, message)
    if failure is not None:
        raise failure
