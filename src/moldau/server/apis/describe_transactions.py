"""DescribeTransactions (key 65): the state of transactional ids this broker coordinates."""

from __future__ import annotations

from typing import Final

from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def describe_transactions(
    context: RequestContext, request: DescribeTransactionsRequest
) -> DescribeTransactionsResponse:
    return context.services.transactions.describe_transactions(request)


def error_response(
    request: DescribeTransactionsRequest, version: int, error: KafkaError
) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[
            TransactionState(transactional_id=name, error_code=error.code) for name in request.transactional_ids
        ]
    )


DESCRIBE_TRANSACTIONS: Final = Api(
    ApiKey.DESCRIBE_TRANSACTIONS, DescribeTransactionsRequest, describe_transactions, error_response
)
