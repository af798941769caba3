"""ExpireDelegationToken (key 40): ends a delegation token at once, or after a time (KIP-48).

Version 2 is flexible. Decided by the controller.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse
from moldau.server.apis.forwarding import controller_of
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.token_rules import check_may_ask


def expire_delegation_token(
    context: RequestContext, request: ExpireDelegationTokenRequest
) -> Deferred[ExpireDelegationTokenResponse]:
    check_may_ask(context)
    controller = controller_of(context)
    return controller.run(lambda: controller.state.tokens.expire(request, context.principal))


def error_response(
    request: ExpireDelegationTokenRequest, version: int, error: KafkaError
) -> ExpireDelegationTokenResponse:
    return ExpireDelegationTokenResponse(error_code=error.code, expiry_timestamp_ms=-1)


EXPIRE_DELEGATION_TOKEN: Final = Api(
    ApiKey.EXPIRE_DELEGATION_TOKEN, ExpireDelegationTokenRequest, expire_delegation_token, error_response
)
