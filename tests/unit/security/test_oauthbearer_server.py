"""The broker's side of OAUTHBEARER: one message, well formed or not, and what is said to a token that is not taken."""

from __future__ import annotations

import pytest

from moldau.deferred import Deferred, failed, ready
from moldau.security.jwt import Claims
from moldau.security.oauthbearer import OAuthBearerServer
from moldau.security.principal import user
from moldau.security.verdict import AuthenticationFailed, Identity, Reply

REFUSAL = b'{"status":"invalid_token"}'


def validate(token: str) -> Deferred[Claims]:
    if token == "good.token.x":
        return ready(Claims("jan", 77, frozenset()))
    return failed(AuthenticationFailed("not taken"))


def answered(server: OAuthBearerServer, message: bytes) -> Reply:
    outcome: list[tuple[Reply | None, BaseException | None]] = []
    reply = server.answer(message)
    assert isinstance(reply, Deferred)
    reply.then(lambda value, error: outcome.append((value, error)))
    value, error = outcome[0]
    if error is not None:
        raise error
    assert value is not None
    return value


@pytest.mark.parametrize(
    "message",
    [
        b"n,,\x01auth=Bearer good.token.x\x01\x01",
        b"n,,\x01auth=bearer  good.token.x\x01\x01",
        b"n,a=jan,\x01auth=Bearer good.token.x\x01\x01",
        b"n,,\x01auth=Bearer good.token.x\x01logicalCluster=lkc-1\x01other=a b=c\x01\x01",
    ],
)
def test_a_good_token(message: bytes) -> None:
    assert answered(OAuthBearerServer(validate), message) == Reply(b"", Identity(user("jan"), 77))


def test_a_token_that_is_not_taken() -> None:
    server = OAuthBearerServer(validate)
    assert answered(server, b"n,,\x01auth=Bearer bad.token.x\x01\x01") == Reply(REFUSAL)
    with pytest.raises(AuthenticationFailed, match="invalid_token"):
        server.answer(b"\x01")
    # Nor does it get another try.
    server = OAuthBearerServer(validate)
    answered(server, b"n,,\x01auth=Bearer bad.token.x\x01\x01")
    with pytest.raises(AuthenticationFailed):
        server.answer(b"n,,\x01auth=Bearer good.token.x\x01\x01")


def test_as_somebody_else() -> None:
    with pytest.raises(AuthenticationFailed, match="different from the token's principal"):
        answered(OAuthBearerServer(validate), b"n,a=eve,\x01auth=Bearer good.token.x\x01\x01")


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x01",
        b"\xff",
        b"n,,",
        b"n,,\x01\x01",
        b"n,,\x01auth=Bearer good.token.x\x01",
        b"y,,\x01auth=Bearer good.token.x\x01\x01",
        b"n,,\x01auth=Basic good.token.x\x01\x01",
        b"n,,\x01auth=Bearer \x01\x01",
        b"n,,\x01auth=Bearer good token\x01\x01",
        b"n,,\x01auth=Bearer good.token.x\x01auth=Bearer good.token.x\x01\x01",
        b"n,,\x01other=x\x01\x01",
        b"n,,\x01auth=Bearer good.token.x\x011=x\x01\x01",
        b"n,,\x01auth=Bearer good.token.x\x01\x01more",
        b"\0jan\0secret",
    ],
)
def test_messages_that_are_none(message: bytes) -> None:
    with pytest.raises(AuthenticationFailed, match="invalid credentials with SASL mechanism OAUTHBEARER"):
        OAuthBearerServer(validate).answer(message)


def test_only_the_sign_that_it_was_understood_follows_a_refusal() -> None:
    server = OAuthBearerServer(validate)
    assert answered(server, b"n,,\x01auth=Bearer bad.token.x\x01\x01") == Reply(REFUSAL)
    with pytest.raises(AuthenticationFailed, match="invalid credentials"):
        server.answer(b"n,,\x01auth=Bearer good.token.x\x01\x01")


def test_what_went_wrong_with_a_check_is_no_verdict() -> None:
    """Whoever holds the keys could not be asked: the connection ends, and the log tells why."""
    server = OAuthBearerServer(lambda _token: failed(OSError("no keys")))
    with pytest.raises(OSError, match="no keys"):
        answered(server, b"n,a=jan,\x01auth=Bearer good.token.x\x01\x01")
