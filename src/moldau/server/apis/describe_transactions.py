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
from moldau.slicing import Work, distinct


def describe_transactions(
    context: RequestContext, request: DescribeTransactionsRequest
) -> Work[DescribeTransactionsResponse]:
    response = DescribeTransactionsResponse()
    for name in (yield from distinct(request.transactional_ids)):
        one = DescribeTransactionsRequest(transactional_ids=[name])
        response.transaction_states += context.services.transactions.describe_transactions(one).transaction_states
        yield
    return response


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
