"""The calling side of GSSAPI against our broker's, with a Kerberos of the test's own; a real realm is in
tests/compat/test_kerberos.py."""

from __future__ import annotations

import pytest

from moldau.errors import ErrorCode, KafkaError
from moldau.security.gssapi_client import GssapiLogin
from moldau.security.gssapi_server import GssapiServer, local_names
from moldau.security.principal import user
from moldau.security.verdict import Identity


class Kerberos:
    """One side: `says` is what each step answers, complete with the last of it."""

    initiator = "jan@MOLDAU.TEST"

    def __init__(self, *says: bytes) -> None:
        self._says = list(says)
        self.heard: list[bytes | None] = []

    @property
    def complete(self) -> bool:
        return not self._says

    def step(self, token: bytes | None) -> bytes:
        self.heard.append(token)
        if token == b"forged":
            raise OSError("no such ticket")
        return self._says.pop(0)

    def wrap(self, message: bytes) -> bytes:
        return b"[" + message + b"]"

    def unwrap(self, message: bytes) -> bytes:
        if message[:1] != b"[" or message[-1:] != b"]":
            raise OSError("not wrapped")
        return message[1:-1]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ((b"ticket", b""), (b"mutual",)),
        ((b"ticket", b"more", b""), (b"go on", b"mutual")),
        # The last token is ours, and the broker's offer the answer to it.
        ((b"ticket", b"more"), (b"go on", b"")),
    ],
)
def test_both_sides_come_together(ours: tuple[bytes, ...], theirs: tuple[bytes, ...]) -> None:
    client = GssapiLogin(lambda: Kerberos(*ours))
    broker = GssapiServer(lambda: Kerberos(*theirs), local_names(["DEFAULT"], "MOLDAU.TEST"))
    token: bytes | None = client.first()
    identity = None
    while token is not None:
        assert identity is None
        reply = broker.answer(token)
        identity = reply.identity
        token = client.answer(reply.token)
    assert identity == Identity(user("jan"))


@pytest.mark.parametrize("offer", [b"[\x02\0\0\0]", b"[\x01\0]", b"[]", b"bare"])
def test_offers_that_are_none(offer: bytes) -> None:
    client = GssapiLogin(lambda: Kerberos(b"ticket", b""))
    client.first()
    client.answer(b"mutual")
    with pytest.raises(KafkaError, match="Kerberos does not let us log in") as refused:
        client.answer(offer)
    assert refused.value.code is ErrorCode.SASL_AUTHENTICATION_FAILED


def test_a_centre_that_is_away_may_come_back() -> None:
    def nobody() -> Kerberos:
        raise ConnectionError("no centre answers")

    with pytest.raises(KafkaError, match="no centre answers") as away:
        GssapiLogin(nobody).first()
    assert away.value.code is ErrorCode.NETWORK_EXCEPTION
    client = GssapiLogin(lambda: Kerberos(b"ticket", b""))
    client.first()
    with pytest.raises(KafkaError, match="no such ticket") as refused:
        client.answer(b"forged")
    assert refused.value.code is ErrorCode.SASL_AUTHENTICATION_FAILED
