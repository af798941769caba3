"""ListOffsets (key 2): which offset stands at a time, at the beginning or at the end of a partition.

Versions: 2 adds isolation, 4 leader epochs, 5 OFFSET_NOT_AVAILABLE, 6 is flexible, 7 the offset of the largest
timestamp (-3), 8 the earliest local offset (-4), 9 the last tiered offset (-5), 10 a timeout, 11 the earliest offset
waiting for upload (-6). There is no tiered storage here, so -5 and -6 answer that there is nothing, as a broker with
tiering switched off does.
"""

from __future__ import annotations

from typing import Final

from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from moldau.replica.partition import Partition
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.slicing import Work
from moldau.types import NO_EPOCH, NO_OFFSET, NO_TIMESTAMP

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6

# The first version at which each special timestamp may be asked for.
SINCE = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}

CONSUMER = -1
READ_COMMITTED = 1
SHOWS_EPOCH: Final = 4  # the version from which the answer has room for the leader epoch


def list_offsets(context: RequestContext, request: ListOffsetsRequest) -> Work[ListOffsetsResponse]:
    asked: set[tuple[str, int]] = set()
    twice: set[tuple[str, int]] = set()
    for topic in request.topics:
        yield
        for partition in topic.partitions:
            key = (topic.name, partition.partition_index)
            (twice if key in asked else asked).add(key)
            yield
    response = ListOffsetsResponse()
    for topic in request.topics:
        answered = ListOffsetsTopicResponse(name=topic.name)
        response.topics.append(answered)
        yield
        for partition in topic.partitions:
            if (topic.name, partition.partition_index) in twice:
                answered.partitions.append(_failed(partition, ErrorCode.INVALID_REQUEST))
            else:
                answered.partitions.append(_answer(context, request, topic.name, partition))
            yield
    return response


def _answer(
    context: RequestContext, request: ListOffsetsRequest, topic: str, asked: ListOffsetsPartition
) -> ListOffsetsPartitionResponse:
    if asked.timestamp < 0 and context.version < SINCE.get(asked.timestamp, context.version + 1):
        return _failed(asked, ErrorCode.UNSUPPORTED_VERSION)
    try:
        partition = context.services.replicas.get(topic, asked.partition_index)
        partition.check_leader(asked.current_leader_epoch)
        found = _find(partition, request, asked.timestamp)
    except KafkaError as error:
        return _failed(asked, error.code)
    if found is None:
        return _failed(asked, ErrorCode.NONE)
    timestamp, offset, epoch = found
    return ListOffsetsPartitionResponse(
        partition_index=asked.partition_index,
        timestamp=timestamp,
        offset=offset,
        leader_epoch=epoch if context.version >= SHOWS_EPOCH else NO_EPOCH,
    )


def _find(partition: Partition, request: ListOffsetsRequest, timestamp: int) -> tuple[int, int, int] | None:
    """(timestamp, offset, leader epoch), or None when no record fits."""
    log = partition.log
    if request.replica_id != CONSUMER:
        limit = log.log_end_offset
    elif request.isolation_level == READ_COMMITTED:
        limit = log.last_stable_offset
    else:
        limit = log.high_watermark
    if timestamp == LATEST:
        return NO_TIMESTAMP, limit, partition.leader_epoch
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return log.earliest()
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return None
    found = log.max_timestamp() if timestamp == MAX_TIMESTAMP else log.offset_for_timestamp(timestamp)
    # A reader must not be sent to an offset it may not read yet.
    return found if found is not None and found[1] < limit else None


def _failed(asked: ListOffsetsPartition, code: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(
        partition_index=asked.partition_index,
        error_code=code,
        timestamp=NO_TIMESTAMP,
        offset=NO_OFFSET,
        leader_epoch=NO_EPOCH,
    )


LIST_OFFSETS: Final = Api(ApiKey.LIST_OFFSETS, ListOffsetsRequest, list_offsets)
