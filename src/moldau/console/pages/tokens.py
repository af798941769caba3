"""Delegation tokens, without what makes them valid: whose they are, who may renew them, and until when."""

from __future__ import annotations

from time import time

from starlette.responses import Response

from moldau.client.admin.tokens import TokenDescription, describe_tokens
from moldau.console.listing import listing
from moldau.console.visits import Visit
from moldau.errors import ErrorCode, KafkaError, MoldauError

_SENTENCES = {
    ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED: "The cluster gives out none: delegation.token.secret.key is not set.",
    ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: "Tokens are shown to those who logged in, and the console did not.",
}


def tokens(visit: Visit) -> Response:
    found: list[TokenDescription] = []
    nothing, unknown = "", ""
    try:
        found = visit.links.remembered(("tokens",), 2.0, lambda: visit.links.ask(describe_tokens()))
    except KafkaError as error:
        nothing = _SENTENCES.get(error.code, "")
        unknown = "" if nothing else str(error)
    except MoldauError as error:
        unknown = str(error)
    return visit.page(
        "tokens.html",
        "Delegation tokens",
        tokens=listing(
            visit,
            found,
            lambda token: f"{token.id} {token.owner} {token.requester} {' '.join(token.renewers)}",
            {
                "id": lambda token: token.id,
                "owner": lambda token: token.owner.lower(),
                "issued": lambda token: token.issued_ms,
                "expiry": lambda token: token.expiry_ms,
            },
            "owner",
        ),
        nothing=nothing,
        unknown=unknown,
        now=time() * 1000,
    )
