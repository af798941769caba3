"""AddPartitionsToTxn (key 24): makes partitions part of a producer's transaction.

Versions: 2 knows PRODUCER_FENCED, 3 is flexible, 4 is the form brokers use among themselves: several transactions at
once, each of which may only be verified. 5 knows TRANSACTION_ABORTABLE and adds for clients of transactions version 2.

One transaction is added as a whole: if one of its partitions does not exist, none is added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from moldau.coordinator.txn.coordinator import for_client
from moldau.coordinator.txn.transaction import EPOCH_PER_TRANSACTION, Producer
from moldau.deferred import Deferred, gather, ready
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import MetadataImage
from moldau.metadata.topic_name import is_internal
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from moldau.security.acl import Operation
from moldau.server.authorization import TOPIC, TRANSACTIONAL_ID, Denied, require, require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.slicing import Work, in_order, pieces, run_whole
from moldau.types import TopicPartition

_BATCHED: Final = 4
_Codes = dict[TopicPartition, ErrorCode]


def add_partitions_to_txn(
    context: RequestContext, request: AddPartitionsToTxnRequest
) -> Work[Deferred[AddPartitionsToTxnResponse]]:
    if context.version >= _BATCHED:
        # Only brokers send it.
        require_cluster(context, Operation.CLUSTER_ACTION)
    else:
        require(context, Operation.WRITE, TRANSACTIONAL_ID, request.v3_and_below_transactional_id)
    transactions = _transactions(request, context.version)
    added: list[Deferred[_Codes]] = []
    for transaction in transactions:
        added.append((yield from _add(context, transaction)))
        yield
    return context.services.slicer.then(gather(added), lambda codes: _answer(transactions, codes, context.version))


def _add(context: RequestContext, transaction: AddPartitionsToTxnTransaction) -> Work[Deferred[_Codes]]:
    coordinator, version = context.services.transactions, context.version
    producer = Producer(transaction.producer_id, transaction.producer_epoch)
    image = context.services.metadata.image
    denied = Denied(context, Operation.WRITE, TOPIC) if version < _BATCHED else ()
    codes: _Codes = {}
    for some in pieces(_places(transaction.topics)):
        for place in some:
            code = ErrorCode.NONE
            if not transaction.verify_only:
                refused = place.topic in denied
                code = ErrorCode.TOPIC_AUTHORIZATION_FAILED if refused else _why_not(image, place, version)
            codes[place] = code
        yield
    if transaction.verify_only:
        return ready(coordinator.verify_partitions(transaction.transactional_id, producer, codes))
    if any(codes.values()):
        return ready({place: code or ErrorCode.OPERATION_NOT_ATTEMPTED for place, code in codes.items()})
    client_version = EPOCH_PER_TRANSACTION if version > _BATCHED else 0
    added = coordinator.add_partitions(transaction.transactional_id, producer, codes, client_version)
    answer: Deferred[_Codes] = Deferred()
    added.then(
        lambda code, _: answer.resolve(
            dict.fromkeys(codes, ErrorCode.UNKNOWN_SERVER_ERROR if code is None else for_client(code, version >= 2))
        )
    )
    return answer


def _transactions(request: AddPartitionsToTxnRequest, version: int) -> list[AddPartitionsToTxnTransaction]:
    if version >= _BATCHED:
        return request.transactions
    return [
        AddPartitionsToTxnTransaction(
            transactional_id=request.v3_and_below_transactional_id,
            producer_id=request.v3_and_below_producer_id,
            producer_epoch=request.v3_and_below_producer_epoch,
            topics=request.v3_and_below_topics,
        )
    ]


def _places(topics: Iterable[AddPartitionsToTxnTopic]) -> Iterator[TopicPartition]:
    return (TopicPartition(topic.name, partition) for topic in topics for partition in topic.partitions)


def _why_not(image: MetadataImage, place: TopicPartition, version: int) -> ErrorCode:
    # Brokers, and clients of transactions version 2, add offsets this way; others say so with AddOffsetsToTxn.
    if version < _BATCHED and is_internal(place.topic):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    topic = image.topics.get(place.topic)
    exists = topic is not None and place.partition in topic.partitions
    return ErrorCode.NONE if exists else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _answer(
    transactions: Sequence[AddPartitionsToTxnTransaction], codes: Iterable[_Codes], version: int
) -> Work[AddPartitionsToTxnResponse]:
    results = []
    for transaction, found in zip(transactions, codes, strict=True):
        rows = yield from _topic_results(found)
        results.append(AddPartitionsToTxnResult(transactional_id=transaction.transactional_id, topic_results=rows))
        yield
    if version >= _BATCHED:
        return AddPartitionsToTxnResponse(results_by_transaction=results)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results[0].topic_results)


def _topic_results(codes: _Codes) -> Work[list[AddPartitionsToTxnTopicResult]]:
    topics: list[AddPartitionsToTxnTopicResult] = []
    places = yield from in_order(codes)
    for some in pieces(places):
        for place in some:
            if not topics or topics[-1].name != place.topic:
                topics.append(AddPartitionsToTxnTopicResult(name=place.topic))
            row = AddPartitionsToTxnPartitionResult(partition_index=place.partition, partition_error_code=codes[place])
            topics[-1].results_by_partition.append(row)
        yield
    return topics


def error_response(request: AddPartitionsToTxnRequest, version: int, error: KafkaError) -> AddPartitionsToTxnResponse:
    if version >= _BATCHED:
        return AddPartitionsToTxnResponse(error_code=error.code)
    transactions = _transactions(request, version)
    refused = [dict.fromkeys(_places(one.topics), error.code) for one in transactions]
    return run_whole(_answer(transactions, refused, version))


ADD_PARTITIONS_TO_TXN: Final = Api(
    ApiKey.ADD_PARTITIONS_TO_TXN, AddPartitionsToTxnRequest, add_partitions_to_txn, error_response, most_elements=20_000
)
