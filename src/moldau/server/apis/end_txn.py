"""EndTxn (key 26): commits or aborts a producer's transaction.

The answer comes when the decision is in the log; the partitions are told after that. Versions: 2 knows PRODUCER_FENCED,
3 is flexible, 4 knows TRANSACTION_ABORTABLE, 5 is transactions version 2: the answer gives the producer the epoch, and
now and then the id, of its next transaction.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from moldau.security.acl import Operation
from moldau.server.authorization import TRANSACTIONAL_ID, require
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def end_txn(context: RequestContext, request: EndTxnRequest) -> Deferred[EndTxnResponse]:
    require(context, Operation.WRITE, TRANSACTIONAL_ID, request.transactional_id)
    return context.services.transactions.end(request, context.version)


def error_response(request: EndTxnRequest, version: int, error: KafkaError) -> EndTxnResponse:
    return EndTxnResponse(error_code=error.code)


END_TXN: Final = Api(ApiKey.END_TXN, EndTxnRequest, end_txn, error_response)
