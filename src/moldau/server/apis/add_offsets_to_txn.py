"""AddOffsetsToTxn (key 25): makes the offsets of a group part of a producer's transaction.

That is the partition of `__consumer_offsets` the group lives in. Versions: 2 knows PRODUCER_FENCED, 3 is flexible, 4
knows TRANSACTION_ABORTABLE. A producer of transactions version 2 does not send it: TxnOffsetCommit adds the partition.

It may come before anybody has asked for the group's coordinator, which clients do only after it: so the topic is made
here as well, or they would wait for ever.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred, chained, recovered
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from moldau.security.acl import Operation
from moldau.server.authorization import GROUP, TRANSACTIONAL_ID, require
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.internal_topics import CONSUMER_OFFSETS


def add_offsets_to_txn(context: RequestContext, request: AddOffsetsToTxnRequest) -> Deferred[AddOffsetsToTxnResponse]:
    require(context, Operation.WRITE, TRANSACTIONAL_ID, request.transactional_id)
    require(context, Operation.READ, GROUP, request.group_id)
    services, version = context.services, context.version
    if services.metadata.image.topics.get(CONSUMER_OFFSETS) is not None:
        return services.transactions.add_offsets(request, version)
    created = services.create_internal_topic(CONSUMER_OFFSETS)
    return recovered(
        chained(created, lambda: services.transactions.add_offsets(request, version)),
        lambda error: error_response(request, version, error),
    )


def error_response(request: AddOffsetsToTxnRequest, version: int, error: KafkaError) -> AddOffsetsToTxnResponse:
    return AddOffsetsToTxnResponse(error_code=error.code)


ADD_OFFSETS_TO_TXN: Final = Api(ApiKey.ADD_OFFSETS_TO_TXN, AddOffsetsToTxnRequest, add_offsets_to_txn, error_response)
