"""OffsetForLeaderEpoch (key 23): where an epoch ended, so that a client or follower can find what it must cut off.

Versions: 3 adds the asking replica, 4 is flexible. librdkafka uses exactly version 2.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from moldau.security.acl import Operation
from moldau.server.authorization import TOPIC, Denied, cluster_allowed, refusal
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.slicing import Work


def offset_for_leader_epoch(
    context: RequestContext, request: OffsetForLeaderEpochRequest
) -> Work[OffsetForLeaderEpochResponse]:
    response = OffsetForLeaderEpochResponse()
    denied: Container[str] = ()
    if not cluster_allowed(context, Operation.CLUSTER_ACTION, quiet=True):
        denied = Denied(context, Operation.DESCRIBE, TOPIC)
    for topic in request.topics:
        answered = OffsetForLeaderTopicResult(topic=topic.topic)
        response.topics.append(answered)
        yield
        for asked in topic.partitions:
            if topic.topic in denied:
                refused = EpochEndOffset(partition=asked.partition, error_code=refusal(TOPIC).code)
                answered.partitions.append(refused)
            else:
                answered.partitions.append(_answer(context, topic.topic, asked))
            yield
    return response


def _answer(context: RequestContext, topic: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
    try:
        partition = context.services.replicas.get(topic, asked.partition)
        partition.check_leader(asked.current_leader_epoch)
    except KafkaError as error:
        return EpochEndOffset(partition=asked.partition, error_code=error.code)
    epoch, end_offset = partition.log.end_offset_for_epoch(asked.leader_epoch)
    return EpochEndOffset(
        partition=asked.partition, error_code=ErrorCode.NONE, leader_epoch=epoch, end_offset=end_offset
    )


OFFSET_FOR_LEADER_EPOCH: Final = Api(
    ApiKey.OFFSET_FOR_LEADER_EPOCH, OffsetForLeaderEpochRequest, offset_for_leader_epoch
)
