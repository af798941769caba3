"""ListTransactions (key 66): the transactional ids this broker coordinates.

Versions: 1 filters by how long a transaction has been running, 2 by a pattern for the transactional id.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred, mapped
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from moldau.security.acl import Operation
from moldau.server.authorization import TRANSACTIONAL_ID, Denied
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.slicing import Work


def list_transactions(
    context: RequestContext, request: ListTransactionsRequest
) -> Work[ListTransactionsResponse | Deferred[ListTransactionsResponse]]:
    listed = yield from context.services.transactions.list_transactions(request)
    denied = Denied(context, Operation.DESCRIBE, TRANSACTIONAL_ID)
    if not denied:
        return listed

    def shown(response: ListTransactionsResponse) -> ListTransactionsResponse:
        states = [state for state in response.transaction_states if state.transactional_id not in denied]
        return response.changed(transaction_states=states)

    return mapped(listed, shown) if isinstance(listed, Deferred) else shown(listed)


def error_response(request: ListTransactionsRequest, version: int, error: KafkaError) -> ListTransactionsResponse:
    return ListTransactionsResponse(error_code=error.code)


LIST_TRANSACTIONS: Final = Api(
    ApiKey.LIST_TRANSACTIONS, ListTransactionsRequest, list_transactions, error_response, most_elements=10_000
)
