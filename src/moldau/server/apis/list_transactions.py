"""ListTransactions (key 66): the transactional ids this broker coordinates.

Versions: 1 filters by how long a transaction has been running, 2 by a pattern for the transactional id.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.slicing import Work


def list_transactions(
    context: RequestContext, request: ListTransactionsRequest
) -> Work[ListTransactionsResponse | Deferred[ListTransactionsResponse]]:
    return context.services.transactions.list_transactions(request)


def error_response(request: ListTransactionsRequest, version: int, error: KafkaError) -> ListTransactionsResponse:
    return ListTransactionsResponse(error_code=error.code)


LIST_TRANSACTIONS: Final = Api(
    ApiKey.LIST_TRANSACTIONS, ListTransactionsRequest, list_transactions, error_response, most_elements=10_000
)
