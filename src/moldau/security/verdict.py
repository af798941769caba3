"""What a mechanism of SASL says to one token of a client: a challenge, who he is, or that he is not let in."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.security.principal import Principal


class Identity(NamedTuple):
    principal: Principal
    # When what he showed runs out, in milliseconds since the epoch; None if that has no end.
    expires_ms: int | None = None


class Reply(NamedTuple):
    """The token that goes back, and at the end who it goes to."""

    token: bytes
    identity: Identity | None = None


class AuthenticationFailed(KafkaError):
    """The sentence is for the client: whatever was wrong with a name or its password, it is the same one."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.SASL_AUTHENTICATION_FAILED, message)


def invalid_credentials(mechanism: str) -> AuthenticationFailed:
    return AuthenticationFailed(
        f"Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}"
    )


class ServerMechanism(Protocol):
    """The broker's side of one authentication. Made anew for each."""

    @property
    def name(self) -> str: ...

    def answer(self, token: bytes) -> Reply | Deferred[Reply]:
        """AuthenticationFailed, at once or later, when the client is not let in."""
        ...
