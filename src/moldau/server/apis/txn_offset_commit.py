"""TxnOffsetCommit (key 28): offsets of a group that count once the producer's transaction is committed.

Sent to the coordinator of the group, which first makes sure that its partition is part of the transaction. Versions: 2
adds leader epochs, 3 is flexible and names the member so that a zombie can be told from its successor, 4 knows
TRANSACTION_ABORTABLE, 5 is transactions version 2: the partition is added now, without AddOffsetsToTxn before.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from moldau.coordinator.txn.transaction import Producer
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from moldau.security.acl import Operation
from moldau.server.authorization import GROUP, TOPIC, TRANSACTIONAL_ID, Denied, refusal, require
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.parts import Parts
from moldau.types import TopicPartition

_KNOWS_ABORTABLE: Final = 4
_ADDS_PARTITION: Final = 5
_COORDINATOR_AWAY: Final = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.BROKER_NOT_AVAILABLE,
    ErrorCode.NETWORK_EXCEPTION,
)


def txn_offset_commit(context: RequestContext, request: TxnOffsetCommitRequest) -> Deferred[TxnOffsetCommitResponse]:
    require(context, Operation.WRITE, TRANSACTIONAL_ID, request.transactional_id)
    require(context, Operation.READ, GROUP, request.group_id)
    answer: Deferred[TxnOffsetCommitResponse] = Deferred()
    services, version = context.services, context.version
    known, unknown = _known_topics(context, request)
    asked = TxnOffsetCommitRequest(
        transactional_id=request.transactional_id,
        group_id=request.group_id,
        producer_id=request.producer_id,
        producer_epoch=request.producer_epoch,
        generation_id=request.generation_id,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        topics=known,
    )

    def committed(response: TxnOffsetCommitResponse | None, error: BaseException | None) -> None:
        if response is None:
            assert error is not None
            answer.fail(error)
        else:
            response.topics.extend(unknown)
            answer.resolve(response)

    def verified(codes: dict[TopicPartition, ErrorCode] | None, _: BaseException | None) -> None:
        code = ErrorCode.UNKNOWN_SERVER_ERROR if codes is None else next(iter(codes.values()))
        if code != ErrorCode.NONE:
            committed(_refused(asked, _for_client(code, version)), None)
        else:
            info = services.groups.info(context.client_id, f"/{context.peer[0]}", version)
            services.groups.commit_transactional_offsets(info, asked).then(committed)

    place = services.transactions.offsets_partition(request.group_id)
    if place is None:
        committed(_refused(asked, ErrorCode.COORDINATOR_NOT_AVAILABLE), None)
    elif not known:
        committed(TxnOffsetCommitResponse(), None)
    elif not services.transaction_partitions.required and version < _ADDS_PARTITION:
        verified({place: ErrorCode.NONE}, None)
    else:
        producer = Producer(request.producer_id, request.producer_epoch)
        services.transaction_partitions.ask(
            request.transactional_id, producer, [place], add=version >= _ADDS_PARTITION
        ).then(verified)
    return answer


def _known_topics(
    context: RequestContext, request: TxnOffsetCommitRequest
) -> tuple[list[TxnOffsetCommitRequestTopic], list[TxnOffsetCommitResponseTopic]]:
    """The part of the request that can be committed, and the answers for topics that are not there or not allowed."""
    known, unknown = [], []
    topics = context.services.metadata.image.topics
    denied = Denied(context, Operation.READ, TOPIC)
    for topic in request.topics:
        if topic.name in denied:
            unknown.append(_topic(topic.name, topic.partitions, refusal(TOPIC).code))
            continue
        registered = topics.get(topic.name)
        indexes: Container[int] = registered.partitions if registered is not None else ()
        there = [row for row in topic.partitions if row.partition_index in indexes]
        if there:
            known.append(TxnOffsetCommitRequestTopic(name=topic.name, partitions=there))
        missing = [row for row in topic.partitions if row.partition_index not in indexes]
        if missing:
            unknown.append(_topic(topic.name, missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    return known, unknown


def _topic(name: str, rows: list[TxnOffsetCommitRequestPartition], code: ErrorCode) -> TxnOffsetCommitResponseTopic:
    return TxnOffsetCommitResponseTopic(
        name=name,
        partitions=[
            TxnOffsetCommitResponsePartition(partition_index=row.partition_index, error_code=code) for row in rows
        ],
    )


def _refused(request: TxnOffsetCommitRequest, code: ErrorCode) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(topics=[_topic(topic.name, topic.partitions, code) for topic in request.topics])


def _for_client(code: ErrorCode, version: int) -> ErrorCode:
    if code == ErrorCode.TRANSACTION_ABORTABLE and version < _KNOWS_ABORTABLE:
        return ErrorCode.INVALID_TXN_STATE
    if code == ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code == ErrorCode.CONCURRENT_TRANSACTIONS and version < _ADDS_PARTITION:
        # Clients of this version do not repeat the request after CONCURRENT_TRANSACTIONS.
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    if code in _COORDINATOR_AWAY:
        # Of the transaction: the group's coordinator is still here, and need not be looked for.
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return code


def error_response(request: TxnOffsetCommitRequest, version: int, error: KafkaError) -> TxnOffsetCommitResponse:
    return _refused(request, error.code)


TXN_OFFSET_COMMIT: Final = Api(
    ApiKey.TXN_OFFSET_COMMIT,
    TxnOffsetCommitRequest,
    txn_offset_commit,
    error_response,
    parts=(Parts(("topics", "partitions"), ("topics", "partitions"), size=500),),
)
