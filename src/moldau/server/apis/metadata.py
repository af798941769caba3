"""Metadata (key 3): brokers and topics as clients see them; asking for a topic may create it.

Versions: in 0 an empty list means all topics, from 1 on null does and an empty list means none. 1 adds racks, the
controller and the internal flag, 2 the cluster id, 4 lets the client forbid creation, 5 adds offline replicas, 6 tells
a missing listener (LISTENER_NOT_FOUND) from a missing leader, 7 adds leader epochs, 8 authorized operations (for the
cluster only up to 10), 9 is flexible, 10 adds topic ids, 12 lets the client ask by id, 13 has an error for the whole
request.

A topic that is to be created is waited for: the answer then has its partitions and leaders, and the client need not
come back. Kafka answers at once that there is no such topic and lets the client ask again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata import topic_name
from moldau.metadata.image import MetadataImage, PartitionRegistration, TopicImage
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from moldau.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from moldau.server.apis.authorized_operations import NOT_REQUESTED, cluster_operations, topic_operations
from moldau.server.apis.cluster_view import alive_brokers, any_broker, offline_replicas
from moldau.server.apis.forwarding import forward
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.types import NO_LEADER, ZERO_UUID, Uuid


def metadata(context: RequestContext, request: MetadataRequest) -> MetadataResponse | Deferred[MetadataResponse]:
    image = context.services.metadata.image
    topics = request.topics
    if topics is None or (context.version == 0 and not topics):
        return _respond(context, request, [_describe(context, image, topic) for topic in image.topics.by_name.values()])
    for topic in topics:
        if context.version < 12 and (topic.name is None or topic.topic_id != ZERO_UUID):
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, f"Topics cannot be asked for by id in version {context.version}."
            )
    ids = dict.fromkeys(topic.topic_id for topic in topics if topic.topic_id != ZERO_UUID)
    if ids:
        return _respond(context, request, [_by_id(context, image, topic_id) for topic_id in ids])
    names = list(dict.fromkeys(topic.name for topic in topics if topic.name is not None))
    missing = [name for name in names if image.topics.get(name) is None and _may_be_created(name)]
    if missing and request.allow_auto_topic_creation and context.services.config.auto_create_topics_enable:
        return _create_and_respond(context, request, names, missing)
    return _respond(context, request, [_by_name(context, image, name) for name in names])


def error_response(request: MetadataRequest, version: int, error: KafkaError) -> MetadataResponse:
    return MetadataResponse(
        error_code=error.code,
        topics=[
            MetadataResponseTopic(
                error_code=error.code, name=topic.name if version >= 12 else topic.name or "", topic_id=topic.topic_id
            )
            for topic in request.topics or ()
        ],
    )


METADATA: Final = Api(ApiKey.METADATA, MetadataRequest, metadata, error_response)


# ------------------------------------------------------------------------------------------------------- creation


def _create_and_respond(
    context: RequestContext, request: MetadataRequest, names: list[str], missing: list[str]
) -> Deferred[MetadataResponse]:
    creation = CreateTopicsRequest(
        topics=[_creatable(context, name) for name in missing], timeout_ms=context.services.config.request_timeout_ms
    )
    answer: Deferred[MetadataResponse] = Deferred()

    def created(response: CreateTopicsResponse | None, error: BaseException | None) -> None:
        # The image has the new topics already: it is published before the controller's answer leaves.
        image = context.services.metadata.image
        refused = {} if response is None else {topic.name: topic.error_code for topic in response.topics}
        # The whole request failed or timed out: the client shall come back.
        otherwise = ErrorCode.LEADER_NOT_AVAILABLE if error is not None else ErrorCode.NONE
        answer.resolve(
            _respond(
                context,
                request,
                [_by_name(context, image, name, refused.get(name, otherwise)) for name in names],
            )
        )

    forward(context, lambda controller: controller.create_topics(creation)).then(created)
    return answer


def _may_be_created(name: str) -> bool:
    """Internal topics are made by their coordinators, which know the settings they need."""
    return topic_name.why_invalid(name) is None and not topic_name.is_internal(name)


def _creatable(context: RequestContext, name: str) -> CreatableTopic:
    config = context.services.config
    return CreatableTopic(
        name=name, num_partitions=config.num_partitions, replication_factor=config.default_replication_factor
    )


# ------------------------------------------------------------------------------------------------------- answers


def _respond(
    context: RequestContext, request: MetadataRequest, topics: list[MetadataResponseTopic]
) -> MetadataResponse:
    services, version = context.services, context.version
    if version >= 8 and request.include_topic_authorized_operations:
        for topic in topics:
            if topic.name is not None:
                topic.topic_authorized_operations = topic_operations(context, topic.name)
    image = services.metadata.image
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=broker.id, host=endpoint.host, port=endpoint.port, rack=broker.rack)
            for broker, endpoint in alive_brokers(image, context.listener_name)
        ],
        cluster_id=services.cluster_id,
        controller_id=any_broker(context, image),
        topics=topics,
        cluster_authorized_operations=(
            cluster_operations(context)
            if 8 <= version <= 10 and request.include_cluster_authorized_operations
            else NOT_REQUESTED
        ),
    )


def _by_id(context: RequestContext, image: MetadataImage, topic_id: Uuid) -> MetadataResponseTopic:
    topic = image.topics.by_id(topic_id)
    if topic is None:
        return MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id)
    return _describe(context, image, topic)


def _by_name(
    context: RequestContext, image: MetadataImage, name: str, refused: int = ErrorCode.NONE
) -> MetadataResponseTopic:
    """`refused` is why the topic could not be created, where that was tried."""
    topic = image.topics.get(name)
    if topic is not None:
        return _describe(context, image, topic)
    if topic_name.why_invalid(name) is not None:
        code: int = ErrorCode.INVALID_TOPIC_EXCEPTION
    elif refused in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
        # Created, here or by somebody else, and not yet seen here.
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    else:
        code = refused
    return MetadataResponseTopic(error_code=code, name=name, is_internal=topic_name.is_internal(name))


def _describe(context: RequestContext, image: MetadataImage, topic: TopicImage) -> MetadataResponseTopic:
    listener, version = context.listener_name, context.version
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic_name.is_internal(topic.name),
        partitions=[_partition(image, index, state, listener, version) for index, state in topic.partitions.items()],
    )


def _partition(
    image: MetadataImage, index: int, state: PartitionRegistration, listener: str, version: int
) -> MetadataResponsePartition:
    replicas, isr = list(state.replicas), list(state.isr)
    if version == 0:
        replicas, isr = _reachable(image, replicas, listener), _reachable(image, isr, listener)
    leader = state.leader
    code = ErrorCode.NONE
    if image.cluster.endpoint(leader, listener) is None:
        # A leader that is registered but cannot be reached over this listener is a mistake someone should hear of.
        code = ErrorCode.LEADER_NOT_AVAILABLE
        if version >= 6 and leader in image.cluster.brokers and not image.cluster.brokers[leader].fenced:
            code = ErrorCode.LISTENER_NOT_FOUND
        leader = NO_LEADER
    elif len(replicas) < len(state.replicas) or len(isr) < len(state.isr):
        code = ErrorCode.REPLICA_NOT_AVAILABLE
    return MetadataResponsePartition(
        error_code=code,
        partition_index=index,
        leader_id=leader,
        leader_epoch=state.leader_epoch,
        replica_nodes=replicas,
        isr_nodes=isr,
        offline_replicas=offline_replicas(image, state, listener),
    )


def _reachable(image: MetadataImage, brokers: Iterable[int], listener: str) -> list[int]:
    """Version 0 names only brokers that are in the answer."""
    return [broker for broker in brokers if image.cluster.endpoint(broker, listener) is not None]
