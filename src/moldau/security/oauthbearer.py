"""OAUTHBEARER on the broker (RFC 7628): one message with a token in it, which somebody else judges.

A client whose token is refused is told so in JSON and answers with one byte, before it hears that it is not let in.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from moldau.deferred import Deferred
from moldau.security.jwt import Claims
from moldau.security.principal import user
from moldau.security.verdict import AuthenticationFailed, Identity, Reply, invalid_credentials

_FIRST: Final = re.compile(r"n,(?:a=(?P<authzid>[^,\x01]*))?,\x01(?P<pairs>(?:[A-Za-z]+=[\x21-\x7e \t\r\n]*\x01)+)\x01")
_BEARER: Final = re.compile(r"bearer +(?P<token>[-_~+/.A-Za-z0-9]+=*)", re.IGNORECASE)
_UNDERSTOOD: Final = b"\x01"
_INVALID: Final = '{"status":"invalid_token"}'

# Says what a token claims; fails with AuthenticationFailed if it is not taken.
Validate = Callable[[str], Deferred[Claims]]


class OAuthBearerServer:
    name = "OAUTHBEARER"

    def __init__(self, validate: Validate) -> None:
        self._validate = validate
        self._begun = False
        self._refused = False

    def answer(self, token: bytes) -> Reply | Deferred[Reply]:
        if self._refused and token == _UNDERSTOOD:
            raise AuthenticationFailed(_INVALID)
        if self._begun:
            raise invalid_credentials(self.name)
        self._begun = True
        bearer, authorization = _parse(token)
        answer: Deferred[Reply] = Deferred()

        def judged(claims: Claims | None, error: BaseException | None) -> None:
            if isinstance(error, AuthenticationFailed):
                self._refused = True
                answer.resolve(Reply(_INVALID.encode()))
            elif claims is None:
                assert error is not None
                answer.fail(error)
            elif authorization and authorization != claims.subject:
                answer.fail(
                    AuthenticationFailed(
                        "Authentication failed: Client requested an authorization id that is different from the "
                        "token's principal name"
                    )
                )
            else:
                answer.resolve(Reply(b"", Identity(user(claims.subject), claims.expires_ms)))

        self._validate(bearer).then(judged)
        return answer


def _parse(message: bytes) -> tuple[str, str]:
    """The token, and as whom it is to be taken if that is said."""
    try:
        found = _FIRST.fullmatch(message.decode())
    except UnicodeDecodeError:
        found = None
    if found is None:
        raise invalid_credentials(OAuthBearerServer.name)
    pairs = [pair.partition("=")[::2] for pair in found["pairs"].split("\x01")[:-1]]
    said = [value for name, value in pairs if name == "auth"]
    bearer = _BEARER.fullmatch(said[0]) if len(said) == 1 else None
    if bearer is None:
        raise invalid_credentials(OAuthBearerServer.name)
    return bearer["token"], (found["authzid"] or "").replace("=2C", ",").replace("=3D", "=")
