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
from moldau.security.acl import Operation
from moldau.server.authorization import TOPIC, TRANSACTIONAL_ID, Denied, refusal
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.slicing import Work, distinct


def describe_transactions(
    context: RequestContext, request: DescribeTransactionsRequest
) -> Work[DescribeTransactionsResponse]:
    response = DescribeTransactionsResponse()
    denied = Denied(context, Operation.DESCRIBE, TRANSACTIONAL_ID)
    hidden = Denied(context, Operation.DESCRIBE, TOPIC)
    for name in (yield from distinct(request.transactional_ids)):
        one = DescribeTransactionsRequest(transactional_ids=[name])
        if name in denied:
            described = error_response(one, context.version, refusal(TRANSACTIONAL_ID))
        else:
            described = context.services.transactions.describe_transactions(one)
        for state in described.transaction_states if hidden else ():
            state.topics = [topic for topic in state.topics if topic.topic not in hidden]
        response.transaction_states += described.transaction_states
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
