"""CreateDelegationToken (key 38): issues a delegation token, for whoever asks or for somebody else (KIP-48, KIP-373).

Version 2 is flexible. Version 3 may name another owner. Decided by the controller.
"""

from __future__ import annotations

from typing import Final

from moldau.controller.delegation_tokens import owner_of
from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.create_delegation_token import CreateDelegationTokenRequest, CreateDelegationTokenResponse
from moldau.security.acl import Operation, ResourceType
from moldau.security.delegation_token import same
from moldau.server.apis.forwarding import controller_of
from moldau.server.authorization import require, str_of
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.token_rules import check_may_ask


def create_delegation_token(
    context: RequestContext, request: CreateDelegationTokenRequest
) -> Deferred[CreateDelegationTokenResponse]:
    check_may_ask(context)
    owner = owner_of(request, context.principal)
    if not same(owner, context.principal):
        require(context, Operation.CREATE_TOKENS, ResourceType.USER, str_of(owner))
    controller = controller_of(context)
    return controller.run(lambda: controller.state.tokens.create(request, context.principal, context.version))


def error_response(
    request: CreateDelegationTokenRequest, version: int, error: KafkaError
) -> CreateDelegationTokenResponse:
    return CreateDelegationTokenResponse(error_code=error.code)


CREATE_DELEGATION_TOKEN: Final = Api(
    ApiKey.CREATE_DELEGATION_TOKEN,
    CreateDelegationTokenRequest,
    create_delegation_token,
    error_response,
    most_elements=1_000,  # of renewers, who are all in the record of the token
)
