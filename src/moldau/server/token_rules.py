"""Who may ask for delegation tokens at all: whoever has logged in, and not with a token."""

from __future__ import annotations

from moldau.errors import ErrorCode, KafkaError
from moldau.security.principal import ANONYMOUS
from moldau.server.context import RequestContext


def check_may_ask(context: RequestContext) -> None:
    """Otherwise one token would beget others, and live for ever."""
    principal = context.principal
    if principal == ANONYMOUS or principal.by_token:
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
