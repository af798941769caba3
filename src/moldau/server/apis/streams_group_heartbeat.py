"""StreamsGroupHeartbeat (key 88): a member of a streams group tells its topology and tasks and learns what to run.

The topics that the application has for itself are created here, in the client's name: the answer waits for that, and
says which ones could not be created and why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from moldau.coordinator.group.streams_heartbeat import Heard
from moldau.coordinator.group.streams_topics import Status
from moldau.coordinator.group.streams_topology import InternalTopic, check_size
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.metadata import topic_name
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from moldau.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Topology,
)
from moldau.security.acl import Operation
from moldau.server.authorization import GROUP, TOPIC, Denied, cluster_allowed, refusal, require
from moldau.server.context import RequestContext, request_info
from moldau.server.dispatch import Api

# How long the answer waits for topics to be created; they may come later all the same.
_CREATION_SECONDS: Final = 5.0
# When a member is to ask again whose topics were just created: their partitions may have reached the coordinator then.
_SOON_MS: Final = 100
_MOST_NAMED: Final = 10


def streams_group_heartbeat(
    context: RequestContext, request: StreamsGroupHeartbeatRequest
) -> Deferred[StreamsGroupHeartbeatResponse]:
    require(context, Operation.READ, GROUP, request.group_id)
    if request.topology is not None:
        check_size(request.topology)
        names = sorted(set(_topics(request.topology)))
        _check_names(names)
        if Denied(context, Operation.DESCRIBE, TOPIC).among(names):
            raise refusal(TOPIC)
    answer: Deferred[StreamsGroupHeartbeatResponse] = Deferred()

    def heard(result: Heard | None, error: BaseException | None) -> None:
        if result is not None and result.missing:
            _create(context, result, answer)
        elif result is not None:
            answer.resolve(result.response)
        elif error is not None:
            answer.fail(error)

    context.services.groups.streams.heartbeat(request_info(context), request).then(heard)
    return answer


def _topics(topology: Topology) -> Iterator[str]:
    for each in topology.subtopologies:
        yield from each.source_topics
        yield from each.repartition_sink_topics
        for topic in (*each.repartition_source_topics, *each.state_changelog_topics):
            yield topic.name


def _check_names(names: Sequence[str]) -> None:
    for name in names:
        why = topic_name.why_invalid(name)
        if why is None and (topic_name.is_internal(name) or name == topic_name.CLUSTER_METADATA):
            why = "it is a topic of the cluster itself"
        if why is not None:
            shown = name[: topic_name.MAX_LENGTH]
            raise KafkaError(ErrorCode.STREAMS_INVALID_TOPOLOGY, f"The topology cannot use the topic {shown!r}: {why}.")


# ------------------------------------------------------------------------------------------------------------ creation


def _create(context: RequestContext, heard: Heard, answer: Deferred[StreamsGroupHeartbeatResponse]) -> None:
    """Has the controller create the topics, as far as the client may, and answers when it has."""
    response = heard.response
    denied: set[str] = set()
    if not cluster_allowed(context, Operation.CREATE, quiet=True):
        denied = Denied(context, Operation.CREATE, TOPIC).among(topic.name for topic in heard.missing)
    if denied:
        # Without one of them the application cannot run, so none is created.
        _tell(response, f"the client may not create {_listed(sorted(denied))}")
        answer.resolve(response)
        return

    def created(result: CreateTopicsResponse | None, error: BaseException | None) -> None:
        failures = [] if error is None else [f"they cannot be created now ({error})"]
        for topic in [] if result is None else result.topics:
            code = error_code(topic.error_code)
            if code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                failures.append(f"{topic.name} cannot be created: {topic.error_message or code.name}")
        if failures:
            _tell(response, _listed(failures))
        else:
            response.heartbeat_interval_ms = min(response.heartbeat_interval_ms, _SOON_MS)
        answer.resolve(response)

    creation = CreateTopicsRequest(
        topics=[_creatable(topic) for topic in heard.missing], timeout_ms=int(_CREATION_SECONDS * 1000)
    )
    channel = context.services.controller_channel
    if context.services.authorization is None:
        channel.ask(creation, timeout=_CREATION_SECONDS).then(created)
    else:
        # In the client's name: what it may not do, this node does not do for it.
        version = CreateTopicsRequest.MAX_VERSION
        asking = RequestContext(
            context.connection, context.services, ApiKey.CREATE_TOPICS, version, 0, context.client_id
        )
        channel.forward(asking, creation, timeout=_CREATION_SECONDS).then(created)


def _creatable(topic: InternalTopic) -> CreatableTopic:
    return CreatableTopic(
        name=topic.name,
        num_partitions=topic.partitions,
        replication_factor=topic.replication_factor or -1,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in topic.configs],
    )


def _tell(response: StreamsGroupHeartbeatResponse, why: str) -> None:
    for row in response.status or ():
        if row.status_code == Status.MISSING_INTERNAL_TOPICS:
            row.status_detail += f"; {why}"


def _listed(parts: Sequence[str]) -> str:
    more = len(parts) - _MOST_NAMED
    return ", ".join(parts[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def error_response(
    request: StreamsGroupHeartbeatRequest, version: int, error: KafkaError
) -> StreamsGroupHeartbeatResponse:
    return StreamsGroupHeartbeatResponse(error_code=error.code, error_message=error.message, status=[])


STREAMS_GROUP_HEARTBEAT: Final = Api(
    ApiKey.STREAMS_GROUP_HEARTBEAT,
    StreamsGroupHeartbeatRequest,
    streams_group_heartbeat,
    error_response,
    most_elements=50_000,
)
