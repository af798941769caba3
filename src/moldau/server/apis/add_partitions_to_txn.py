"""AddPartitionsToTxn (key 24): makes partitions part of a producer's transaction.

Versions: 2 knows PRODUCER_FENCED, 3 is flexible, 4 is the form brokers use among themselves: several transactions at
once, each of which may only be verified. 5 knows TRANSACTION_ABORTABLE and adds for clients of transactions version 2.

One transaction is added as a whole: if one of its partitions does not exist, none is added.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Final

from moldau.coordinator.txn.coordinator import for_client
from moldau.coordinator.txn.transaction import EPOCH_PER_TRANSACTION, Producer
from moldau.deferred import Deferred
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
from moldau.types import TopicPartition

_BATCHED: Final = 4
_Codes = dict[TopicPartition, ErrorCode]
_Done = Callable[[_Codes], None]


def add_partitions_to_txn(
    context: RequestContext, request: AddPartitionsToTxnRequest
) -> Deferred[AddPartitionsToTxnResponse]:
    if context.version >= _BATCHED:
        # Only brokers send it.
        require_cluster(context, Operation.CLUSTER_ACTION)
    else:
        require(context, Operation.WRITE, TRANSACTIONAL_ID, request.v3_and_below_transactional_id)
    answer: Deferred[AddPartitionsToTxnResponse] = Deferred()
    transactions = _transactions(request, context.version)
    results: list[AddPartitionsToTxnResult | None] = [None] * len(transactions)
    left = len(transactions)

    def settle(place: int, codes: _Codes) -> None:
        nonlocal left
        results[place] = AddPartitionsToTxnResult(
            transactional_id=transactions[place].transactional_id, topic_results=_topic_results(codes)
        )
        left -= 1
        if not left:
            answer.resolve(_response([result for result in results if result is not None], context.version))

    if not transactions:
        answer.resolve(AddPartitionsToTxnResponse())
    for place, transaction in enumerate(transactions):
        _add(context, transaction, lambda codes, place=place: settle(place, codes))  # type: ignore[misc]
    return answer


def _add(context: RequestContext, transaction: AddPartitionsToTxnTransaction, done: _Done) -> None:
    coordinator, version = context.services.transactions, context.version
    places = _places(transaction.topics)
    producer = Producer(transaction.producer_id, transaction.producer_epoch)
    if transaction.verify_only:
        done(coordinator.verify_partitions(transaction.transactional_id, producer, places))
        return
    image = context.services.metadata.image
    denied = Denied(context, Operation.WRITE, TOPIC) if version < _BATCHED else ()
    codes = {
        place: ErrorCode.TOPIC_AUTHORIZATION_FAILED if place.topic in denied else _why_not(image, place, version)
        for place in places
    }
    if any(codes.values()):
        done({place: code or ErrorCode.OPERATION_NOT_ATTEMPTED for place, code in codes.items()})
        return
    client_version = EPOCH_PER_TRANSACTION if version > _BATCHED else 0
    added = coordinator.add_partitions(transaction.transactional_id, producer, places, client_version)
    added.then(
        lambda code, _: done(
            dict.fromkeys(places, ErrorCode.UNKNOWN_SERVER_ERROR if code is None else for_client(code, version >= 2))
        )
    )


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


def _places(topics: list[AddPartitionsToTxnTopic]) -> list[TopicPartition]:
    return [TopicPartition(topic.name, partition) for topic in topics for partition in topic.partitions]


def _why_not(image: MetadataImage, place: TopicPartition, version: int) -> ErrorCode:
    # Brokers, and clients of transactions version 2, add offsets this way; others say so with AddOffsetsToTxn.
    if version < _BATCHED and is_internal(place.topic):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    topic = image.topics.get(place.topic)
    exists = topic is not None and place.partition in topic.partitions
    return ErrorCode.NONE if exists else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _topic_results(codes: _Codes) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            name=topic,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(partition_index=place.partition, partition_error_code=codes[place])
                for place in places
            ],
        )
        for topic, places in groupby(sorted(codes), key=lambda place: place.topic)
    ]


def _response(results: list[AddPartitionsToTxnResult], version: int) -> AddPartitionsToTxnResponse:
    if version >= _BATCHED:
        return AddPartitionsToTxnResponse(results_by_transaction=results)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results[0].topic_results)


def error_response(request: AddPartitionsToTxnRequest, version: int, error: KafkaError) -> AddPartitionsToTxnResponse:
    if version >= _BATCHED:
        return AddPartitionsToTxnResponse(error_code=error.code)
    results = [
        AddPartitionsToTxnResult(
            transactional_id=one.transactional_id,
            topic_results=_topic_results(dict.fromkeys(_places(one.topics), error.code)),
        )
        for one in _transactions(request, version)
    ]
    return _response(results, version)


ADD_PARTITIONS_TO_TXN: Final = Api(
    ApiKey.ADD_PARTITIONS_TO_TXN, AddPartitionsToTxnRequest, add_partitions_to_txn, error_response, most_elements=20_000
)
