"""ListOffsets (key 2): which offset stands at a time, at the beginning or at the end of a partition.

Versions: 2 adds isolation, 4 leader epochs, 5 OFFSET_NOT_AVAILABLE, 6 is flexible, 7 the offset of the largest
timestamp (-3), 8 the earliest local offset (-4), 9 the last tiered offset (-5), 10 a timeout, 11 the earliest offset
waiting for upload (-6). There is no tiered storage here, so -5 and -6 answer that there is nothing, as a broker with
tiering switched off does.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from moldau.deferred import Deferred
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
from moldau.security.acl import Operation
from moldau.server.authorization import TOPIC, denied_names, refusal
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.slicing import Work
from moldau.storage.append_info import TimestampOffset
from moldau.storage.timestamp_search import Found, LargeBatch
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

# These are what they are, whether anything may be read there or not.
_ENDS: Final = frozenset({LATEST, EARLIEST, EARLIEST_LOCAL})

# There is nothing of this kind here, now or later.
_NOWHERE: Final = frozenset({LATEST_TIERED, EARLIEST_PENDING_UPLOAD})

CONSUMER = -1
# Who says to be this wants to look at any replica, also at one that only follows.
DEBUGGING = -2
READ_COMMITTED = 1
SHOWS_EPOCH: Final = 4  # the version from which the answer has room for the leader epoch
_KNOWS_NOT_AVAILABLE: Final = 5


class _Question(NamedTuple):
    """An answer that waits until a batch has been opened."""

    answer: ListOffsetsPartitionResponse
    partition: Partition
    timestamp: int
    batch: LargeBatch


def list_offsets(
    context: RequestContext, request: ListOffsetsRequest
) -> Work[ListOffsetsResponse | Deferred[ListOffsetsResponse]]:
    asked: set[tuple[str, int]] = set()
    twice: set[tuple[str, int]] = set()
    for topic in request.topics:
        yield
        for partition in topic.partitions:
            key = (topic.name, partition.partition_index)
            (twice if key in asked else asked).add(key)
            yield
    denied = denied_names(context, Operation.DESCRIBE, TOPIC)
    response = ListOffsetsResponse()
    questions: list[_Question] = []
    for topic in request.topics:
        answered = ListOffsetsTopicResponse(name=topic.name)
        response.topics.append(answered)
        yield
        for partition in topic.partitions:
            if topic.name in denied:
                answered.partitions.append(_failed(partition, refusal(TOPIC).code))
            elif (topic.name, partition.partition_index) in twice:
                answered.partitions.append(_failed(partition, ErrorCode.INVALID_REQUEST))
            else:
                answer = yield from _answer(context, request, topic.name, partition, questions)
                answered.partitions.append(answer)
            yield
    return _open(context, request, response, questions)


def _open(
    context: RequestContext, request: ListOffsetsRequest, response: ListOffsetsResponse, questions: list[_Question]
) -> ListOffsetsResponse | Deferred[ListOffsetsResponse]:
    """The response, once the batches it waits for have been opened: by a worker, one after the other."""
    if not questions:
        return response
    later: Deferred[ListOffsetsResponse] = Deferred()
    question = questions.pop()

    def opened(found: TimestampOffset | None, error: BaseException | None) -> None:
        work = _opened(context, request, response, questions, question, found, error)
        context.services.slicer.run_into(work, later)

    context.services.runtime.workers.submit(question.batch.find, opened)
    return later


def _opened(
    context: RequestContext,
    request: ListOffsetsRequest,
    response: ListOffsetsResponse,
    questions: list[_Question],
    question: _Question,
    record: TimestampOffset | None,
    error: BaseException | None,
) -> Work[ListOffsetsResponse | Deferred[ListOffsetsResponse]]:
    answer, partition, timestamp, batch = question
    found: Found = record
    try:
        if error is not None:
            raise partition.log.directory.unopened(error)
        if found is None and timestamp != MAX_TIMESTAMP:
            # It was later than asked for, but only before the log's start, or is damaged.
            found = yield from partition.log.offset_for_timestamp(timestamp, batch.next_offset)
        _fill(context, request, partition, timestamp, answer, found, questions)
    except KafkaError as refusal:
        answer.error_code = refusal.code
    return _open(context, request, response, questions)


def _fill(
    context: RequestContext,
    request: ListOffsetsRequest,
    partition: Partition,
    timestamp: int,
    answer: ListOffsetsPartitionResponse,
    found: Found,
    questions: list[_Question],
) -> None:
    """Puts what was found into an answer that says nothing yet, or asks on."""
    if isinstance(found, LargeBatch):
        questions.append(_Question(answer, partition, timestamp, found))
    # A reader must not be sent to an offset it may not read yet.
    elif found is not None and (timestamp in _ENDS or found.offset < _limit(partition, request)):
        answer.timestamp, answer.offset = found.timestamp, found.offset
        answer.leader_epoch = found.leader_epoch if context.version >= SHOWS_EPOCH else NO_EPOCH
    elif timestamp not in _NOWHERE:
        _check_available(context, request, partition)


def _check_available(context: RequestContext, request: ListOffsetsRequest, partition: Partition) -> None:
    """A new leader does not know the end of what is committed before its followers have fetched from it. Until then it
    must not name one: a reader may have read further already."""
    if (
        request.replica_id == CONSUMER
        and partition.is_leader
        and partition.log.high_watermark < partition.epoch_start_offset
    ):
        is_known = context.version >= _KNOWS_NOT_AVAILABLE
        raise KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE if is_known else ErrorCode.LEADER_NOT_AVAILABLE)


def _answer(
    context: RequestContext,
    request: ListOffsetsRequest,
    topic: str,
    asked: ListOffsetsPartition,
    questions: list[_Question],
) -> Work[ListOffsetsPartitionResponse]:
    if asked.timestamp < 0 and context.version < SINCE.get(asked.timestamp, context.version + 1):
        return _failed(asked, ErrorCode.UNSUPPORTED_VERSION)
    try:
        partition = context.services.replicas.get(topic, asked.partition_index)
        if request.replica_id == DEBUGGING:
            partition.check_epoch(asked.current_leader_epoch)
        else:
            partition.check_leader(asked.current_leader_epoch)
        if asked.timestamp == LATEST:
            _check_available(context, request, partition)
        found = yield from _find(partition, request, asked.timestamp)
        answer = _failed(asked, ErrorCode.NONE)
        _fill(context, request, partition, asked.timestamp, answer, found, questions)
    except KafkaError as error:
        return _failed(asked, error.code)
    return answer


def _limit(partition: Partition, request: ListOffsetsRequest) -> int:
    """The first offset this reader may not read."""
    if request.replica_id != CONSUMER:
        return partition.log.log_end_offset
    return (
        partition.log.last_stable_offset if request.isolation_level == READ_COMMITTED else partition.log.high_watermark
    )


def _find(partition: Partition, request: ListOffsetsRequest, timestamp: int) -> Work[Found]:
    """None when no record fits, and for a batch that takes long to open the batch."""
    log = partition.log
    if timestamp == LATEST:
        return TimestampOffset(NO_TIMESTAMP, _limit(partition, request), partition.leader_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return log.earliest()
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return None
    return (yield from log.max_timestamp() if timestamp == MAX_TIMESTAMP else log.offset_for_timestamp(timestamp))


def _failed(asked: ListOffsetsPartition, code: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(
        partition_index=asked.partition_index,
        error_code=code,
        timestamp=NO_TIMESTAMP,
        offset=NO_OFFSET,
        leader_epoch=NO_EPOCH,
    )


LIST_OFFSETS: Final = Api(ApiKey.LIST_OFFSETS, ListOffsetsRequest, list_offsets)
