"""Topics and their partitions: create, delete, grow, list, describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from moldau.client.conversation import CONTROLLER, Ask, Conversation, Learn, retrying
from moldau.client.metadata import ClusterView, TopicView
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.links.versions import ByVersion
from moldau.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from moldau.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from moldau.types import ZERO_UUID, Uuid

_OPERATIONS_SINCE = 8

# From here on DeleteTopics takes names and ids side by side, in another field.
_NAMES_IN_STATES = 6

_REQUEST_TIMEOUT_MS = 30_000


@dataclass(slots=True, frozen=True)
class NewTopic:
    """A topic to be created; -1 leaves the number to the broker's defaults."""

    name: str
    partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str] = field(default_factory=dict)
    assignments: Mapping[int, Sequence[int]] = field(default_factory=dict)


@dataclass(slots=True, frozen=True)
class TopicOutcome:
    name: str
    error: KafkaError | None = None
    id: Uuid = ZERO_UUID
    partitions: int = -1
    replication_factor: int = -1
    # In the broker's own words.
    message: str | None = None
    # What a new topic begins with: name, value, whether it cannot be changed, source, whether it is a secret.
    settings: tuple[tuple[str, str | None, bool, int, bool], ...] = ()


def create_topics(topics: Sequence[NewTopic], *, validate_only: bool = False) -> Conversation[list[TopicOutcome]]:
    request = CreateTopicsRequest(
        topics=[_creatable(topic) for topic in topics], timeout_ms=_REQUEST_TIMEOUT_MS, validate_only=validate_only
    )

    def attempt() -> Conversation[list[TopicOutcome]]:
        response: CreateTopicsResponse = yield Ask(request, to=CONTROLLER)
        _check_controller([result.error_code for result in response.topics])
        return [_created(result) for result in response.topics]

    return retrying(attempt)


def delete_topics(names: Sequence[str]) -> Conversation[list[TopicOutcome]]:
    def build(version: int) -> DeleteTopicsRequest:
        if version < _NAMES_IN_STATES:
            return DeleteTopicsRequest(topic_names=list(names), timeout_ms=_REQUEST_TIMEOUT_MS)
        return DeleteTopicsRequest(
            topics=[DeleteTopicState(name=name) for name in names], timeout_ms=_REQUEST_TIMEOUT_MS
        )

    def attempt() -> Conversation[list[TopicOutcome]]:
        response: DeleteTopicsResponse = yield Ask(ByVersion(DeleteTopicsRequest, build), to=CONTROLLER)
        _check_controller([result.error_code for result in response.responses])
        return [
            TopicOutcome(
                result.name or "",
                _problem(result.name or "", result.error_code, result.error_message),
                result.topic_id,
                message=result.error_message,
            )
            for result in response.responses
        ]

    return retrying(attempt)


def create_partitions(
    counts: Mapping[str, int],
    *,
    assignments: Mapping[str, Sequence[Sequence[int]]] | None = None,
    validate_only: bool = False,
) -> Conversation[list[TopicOutcome]]:
    """Grows topics to the given total numbers of partitions; `assignments` place the new ones only."""
    placed = assignments or {}
    request = CreatePartitionsRequest(
        topics=[
            CreatePartitionsTopic(
                name=name,
                count=count,
                assignments=[CreatePartitionsAssignment(broker_ids=list(ids)) for ids in placed[name]]
                if name in placed
                else None,
            )
            for name, count in counts.items()
        ],
        timeout_ms=_REQUEST_TIMEOUT_MS,
        validate_only=validate_only,
    )

    def attempt() -> Conversation[list[TopicOutcome]]:
        response: CreatePartitionsResponse = yield Ask(request, to=CONTROLLER)
        _check_controller([result.error_code for result in response.results])
        return [
            TopicOutcome(
                result.name,
                _problem(result.name, result.error_code, result.error_message),
                partitions=counts.get(result.name, -1),
                message=result.error_message,
            )
            for result in response.results
        ]

    return retrying(attempt)


def list_topics(*, internal: bool = False) -> Conversation[list[TopicView]]:
    """All topics by name; Kafka's own (offsets, transactions) only if asked for."""

    def attempt() -> Conversation[list[TopicView]]:
        view: ClusterView = yield Learn(None, anew=True)
        return [view.topics[name] for name in sorted(view.topics) if internal or not view.topics[name].internal]

    return retrying(attempt)


def describe_topics(names: Sequence[str]) -> Conversation[list[TopicView]]:
    """The topics in the order asked for; KafkaError for the first that cannot be described."""

    def attempt() -> Conversation[list[TopicView]]:
        view: ClusterView = yield Learn(names, anew=True)
        return [view.topic(name) for name in names]

    return retrying(attempt)


def describe_authorized(names: Sequence[str] | None) -> Conversation[list[tuple[TopicView, int]]]:
    """Topics, all or those named, each with what we may do with it, as bits. What cannot be described says why."""

    def build(version: int) -> MetadataRequest:
        return MetadataRequest(
            topics=None if names is None else [MetadataRequestTopic(name=name) for name in names],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=version >= _OPERATIONS_SINCE,
        )

    def attempt() -> Conversation[list[tuple[TopicView, int]]]:
        response: MetadataResponse = yield Ask(ByVersion(MetadataRequest, build))
        view = ClusterView().after(response, names)
        return [(view.topics[row.name], row.topic_authorized_operations) for row in response.topics if row.name]

    return retrying(attempt)


def _creatable(topic: NewTopic) -> CreatableTopic:
    # With an explicit assignment Kafka wants both numbers left open: the assignment says it all.
    assigned = bool(topic.assignments)
    return CreatableTopic(
        name=topic.name,
        num_partitions=-1 if assigned else topic.partitions,
        replication_factor=-1 if assigned else topic.replication_factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=list(ids))
            for index, ids in sorted(topic.assignments.items())
        ],
        configs=[CreatableTopicConfig(name=name, value=value) for name, value in topic.configs.items()],
    )


def _created(result: CreatableTopicResult) -> TopicOutcome:
    return TopicOutcome(
        result.name,
        _problem(result.name, result.error_code, result.error_message),
        result.topic_id,
        result.num_partitions,
        result.replication_factor,
        result.error_message,
        tuple(
            (each.name, each.value, each.read_only, each.config_source, each.is_sensitive)
            for each in result.configs or ()
        ),
    )


def _problem(name: str, number: int, message: str | None) -> KafkaError | None:
    code = error_code(number)
    if code is ErrorCode.NONE:
        return None
    if code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return KafkaError(code, f"There is no topic {name!r}.")
    if code is ErrorCode.TOPIC_ALREADY_EXISTS:
        return KafkaError(code, f"Topic {name!r} exists already.")
    return KafkaError(code, f"Topic {name!r}: {message or code.text}")


def _check_controller(numbers: Sequence[int]) -> None:
    """A broker that lost the controller's role answers so for every topic: nothing was done, ask the next one."""
    if numbers and all(number == ErrorCode.NOT_CONTROLLER for number in numbers):
        raise KafkaError(ErrorCode.NOT_CONTROLLER)
