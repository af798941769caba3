"""RenewDelegationToken (key 39): prolongs a delegation token, up to its last day (KIP-48).

Version 2 is flexible. Decided by the controller.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse
from moldau.server.apis.forwarding import controller_of
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.token_rules import check_may_ask


def renew_delegation_token(
    context: RequestContext, request: RenewDelegationTokenRequest
) -> Deferred[RenewDelegationTokenResponse]:
    check_may_ask(context)
    controller = controller_of(context)
    return controller.run(lambda: controller.state.tokens.renew(request, context.principal))


def error_response(
    request: RenewDelegationTokenRequest, version: int, error: KafkaError
) -> RenewDelegationTokenResponse:
    return RenewDelegationTokenResponse(error_code=error.code, expiry_timestamp_ms=-1)


RENEW_DELEGATION_TOKEN: Final = Api(
    ApiKey.RENEW_DELEGATION_TOKEN, RenewDelegationTokenRequest, renew_delegation_token, error_response
)
