"""DescribeDelegationToken (key 41): the delegation tokens of owners, of all or of those named, with their HMACs.

Version 2 is flexible. Version 3 tells who requested a token. Nobody is told of tokens that are none of his.
"""

from __future__ import annotations

from typing import Final

from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from moldau.security.acl import Operation, ResourceType
from moldau.security.delegation_token import DelegationToken
from moldau.server.authorization import allowed, str_of
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.token_rules import check_may_ask
from moldau.slicing import Work

_IN_ONE_GO: Final = 200


def describe_delegation_token(
    context: RequestContext, request: DescribeDelegationTokenRequest
) -> Work[DescribeDelegationTokenResponse]:
    check_may_ask(context)
    secret = context.services.config.delegation_token_secret_key
    if secret is None:
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    owners = None
    if request.owners is not None:
        owners = frozenset((one.principal_type, one.principal_name) for one in request.owners)
    found: list[DescribedDelegationToken] = []
    for number, token in enumerate(context.services.metadata.image.tokens.values()):
        if _is_asked_for(token, owners) and _may_see(context, token):
            found.append(_described(token, secret.value, context.version))
        if number % _IN_ONE_GO == _IN_ONE_GO - 1:
            yield
    return DescribeDelegationTokenResponse(tokens=found)


def _is_asked_for(token: DelegationToken, owners: frozenset[tuple[str, str]] | None) -> bool:
    """Whether one of them may renew it."""
    may = (token.owner, token.requester, *token.renewers)
    return owners is None or any((who.kind, who.name) in owners for who in may)


def _may_see(context: RequestContext, token: DelegationToken) -> bool:
    """Whoever owns or renews it, and whom a rule permits. Without an authorizer nobody else, unlike in Kafka: with the
    HMAC he could come in as its owner."""
    if token.renewed_by(context.principal):
        return True
    if context.services.authorization is None:
        return False
    return allowed(context, Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token.id, quiet=True) or allowed(
        context, Operation.DESCRIBE_TOKENS, ResourceType.USER, str_of(token.owner), quiet=True
    )


def _described(token: DelegationToken, secret: str, version: int) -> DescribedDelegationToken:
    from moldau.security.token_hmac import token_hmac  # what it needs is slow to load, and few clusters have tokens

    return DescribedDelegationToken(
        principal_type=token.owner.kind,
        principal_name=token.owner.name,
        token_requester_principal_type=token.requester.kind if version >= 3 else "",
        token_requester_principal_name=token.requester.name if version >= 3 else "",
        issue_timestamp=token.issued_ms,
        expiry_timestamp=token.expiry_ms,
        max_timestamp=token.max_ms,
        token_id=token.id,
        hmac=token_hmac(secret, token.id),
        renewers=[
            DescribedDelegationTokenRenewer(principal_type=one.kind, principal_name=one.name) for one in token.renewers
        ],
    )


def error_response(
    request: DescribeDelegationTokenRequest, version: int, error: KafkaError
) -> DescribeDelegationTokenResponse:
    return DescribeDelegationTokenResponse(error_code=error.code)


DESCRIBE_DELEGATION_TOKEN: Final = Api(
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
    DescribeDelegationTokenRequest,
    describe_delegation_token,
    error_response,
    most_elements=5_000,
)
