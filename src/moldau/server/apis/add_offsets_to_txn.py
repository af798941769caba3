"""AddOffsetsToTxn (key 25): makes the offsets of a group part of a producer's transaction.

That is the partition of `__consumer_offsets` the group lives in. Versions: 2 knows PRODUCER_FENCED, 3 is flexible, 4
knows TRANSACTION_ABORTABLE. A producer of transactions version 2 does not send it: TxnOffsetCommit adds the partition.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def add_offsets_to_txn(context: RequestContext, request: AddOffsetsToTxnRequest) -> Deferred[AddOffsetsToTxnResponse]:
    return context.services.transactions.add_offsets(request, context.version)


def error_response(request: AddOffsetsToTxnRequest, version: int, error: KafkaError) -> AddOffsetsToTxnResponse:
    return AddOffsetsToTxnResponse(error_code=error.code)


ADD_OFFSETS_TO_TXN: Final = Api(ApiKey.ADD_OFFSETS_TO_TXN, AddOffsetsToTxnRequest, add_offsets_to_txn, error_response)
