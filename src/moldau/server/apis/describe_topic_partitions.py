"""DescribeTopicPartitions (key 75): topics and partitions page by page, for clusters whose metadata is large.

Topics come in the order of their names. A page ends after a number of partitions; the cursor says where the next one
begins. Version 0 is the only one.
"""

from __future__ import annotations

from typing import Final

from moldau.errors import ErrorCode, KafkaError
from moldau.metadata import topic_name
from moldau.metadata.image import MetadataImage, PartitionRegistration
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    ResponseCursor,
)
from moldau.security.acl import Operation
from moldau.server.apis.authorized_operations import topic_operations
from moldau.server.apis.cluster_view import offline_replicas
from moldau.server.authorization import TOPIC, denied_names, refusal
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.slicing import Work, distinct, in_order, pieces
from moldau.types import NO_LEADER


def describe_topic_partitions(
    context: RequestContext, request: DescribeTopicPartitionsRequest
) -> Work[DescribeTopicPartitionsResponse]:
    image = context.services.metadata.image
    denied = denied_names(context, Operation.DESCRIBE, TOPIC, quiet=not request.topics)
    refused: list[str] = []
    names = []
    for name in (yield from _asked(request, image)):
        if name in denied:
            refused.append(name)
        else:
            names.append(name)
        yield
    cursor = request.cursor
    start = {cursor.topic_name: cursor.partition_index} if cursor is not None else {}
    limit = max(1, min(context.services.config.max_request_partition_size_limit, request.response_partition_limit))
    response = DescribeTopicPartitionsResponse()
    for name in names:
        yield
        if limit == 0:
            response.next_cursor = ResponseCursor(topic_name=name, partition_index=0)
            break
        topic = image.topics.get(name)
        if topic is None:
            # A listing of everything leaves out what vanished under it.
            if request.topics:
                response.topics.append(_unknown(context, name))
            continue
        first = start.get(name, 0)
        indexes = sorted(index for index in topic.partitions if index >= first)
        described = DescribeTopicPartitionsResponseTopic(
            name=name,
            topic_id=topic.id,
            is_internal=topic_name.is_internal(name),
            topic_authorized_operations=topic_operations(context, name),
        )
        response.topics.append(described)
        for index in indexes[:limit]:
            described.partitions.append(_partition(image, index, topic.partitions[index], context.listener_name))
            yield
        if len(indexes) > limit:
            response.next_cursor = ResponseCursor(topic_name=name, partition_index=indexes[limit])
            break
        limit -= len(indexes)
    # Of a topic that may not be described it is not even said whether it is there.
    response.topics += [
        DescribeTopicPartitionsResponseTopic(error_code=refusal(TOPIC).code, name=name)
        for name in (refused if request.topics else ())
    ]
    return response


def _asked(request: DescribeTopicPartitionsRequest, image: MetadataImage) -> Work[list[str]]:
    """The names to describe, in order, from the cursor on."""
    cursor = request.cursor
    names = yield from distinct(topic.name for topic in request.topics)
    if cursor is not None:
        if cursor.partition_index < 0:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, f"The cursor points to partition {cursor.partition_index}, which cannot be."
            )
        if request.topics and cursor.topic_name not in names:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"The cursor points to {cursor.topic_name!r}, which is not in the list of topics.",
            )
    if not request.topics:
        names = list(image.topics.by_name)
    if cursor is not None:
        after: list[str] = []
        for some in pieces(names):
            after += [name for name in some if name >= cursor.topic_name]
            yield
        names = after
    return (yield from in_order(names))


def _unknown(context: RequestContext, name: str) -> DescribeTopicPartitionsResponseTopic:
    valid = topic_name.why_invalid(name) is None
    return DescribeTopicPartitionsResponseTopic(
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if valid else ErrorCode.INVALID_TOPIC_EXCEPTION,
        name=name,
        is_internal=topic_name.is_internal(name),
        topic_authorized_operations=topic_operations(context, name),
    )


def _partition(
    image: MetadataImage, index: int, state: PartitionRegistration, listener: str
) -> DescribeTopicPartitionsResponsePartition:
    reachable = image.cluster.endpoint(state.leader, listener) is not None
    return DescribeTopicPartitionsResponsePartition(
        partition_index=index,
        leader_id=state.leader if reachable else NO_LEADER,
        leader_epoch=state.leader_epoch,
        replica_nodes=list(state.replicas),
        isr_nodes=list(state.isr),
        eligible_leader_replicas=list(state.elr),
        last_known_elr=list(state.last_known_elr),
        offline_replicas=offline_replicas(image, state, listener),
    )


def error_response(
    request: DescribeTopicPartitionsRequest, version: int, error: KafkaError
) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(
        topics=[
            DescribeTopicPartitionsResponseTopic(error_code=error.code, name=topic.name) for topic in request.topics
        ]
    )


DESCRIBE_TOPIC_PARTITIONS: Final = Api(
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    DescribeTopicPartitionsRequest,
    describe_topic_partitions,
    error_response,
    most_elements=50_000,
)
