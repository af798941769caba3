"""SASL: the mechanisms against the examples of their RFCs, and a whole authentication on a real connection."""

from __future__ import annotations

import threading
import time
from base64 import b64encode
from typing import Any

import pytest
from on_a_loop import PATIENCE, OnALoop
from scram_broker import ScramBroker, broker_with, secured_by
from scripted_peer import HANG_UP, ScriptedPeer

from moldau.client.sasl import AbstractTokenProvider, mechanism_maker
from moldau.client.security import SETTINGS, Security, read_security
from moldau.errors import KafkaError
from moldau.links.addresses import Address
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.metadata import MetadataRequest, MetadataResponse
from moldau.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from moldau.protocol.messages.sasl_handshake import SaslHandshakeResponse
from moldau.security.logins import OAuthBearer, Plain, Scram

# name, hash, user, password, and the four messages: RFC 5802 section 5, RFC 7677 section 3.
CONVERSATIONS = [
    (
        *("SCRAM-SHA-1", "sha1", "fyko+d2lbbFgONRv9qkxdawL"),
        b"n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL",
        b"r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096",
        b"c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
        b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ=",
    ),
    (
        *("SCRAM-SHA-256", "sha256", "rOprNGfwEbeRWgbNEkqO"),
        b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
        b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
    ),
]


@pytest.mark.parametrize(("name", "hash", "nonce", "first", "challenge", "final", "verdict"), CONVERSATIONS)
def test_scram_as_in_the_rfcs(
    name: str, hash: str, nonce: str, first: bytes, challenge: bytes, final: bytes, verdict: bytes
) -> None:
    def conversation() -> Scram:
        scram = Scram(name, "user", "pencil", nonce, hash)
        assert scram.first() == first
        assert scram.answer(challenge) == final
        return scram

    assert conversation().answer(verdict) is None
    with pytest.raises(KafkaError, match="does not know the password"):
        conversation().answer(b"v=" + b64encode(bytes(20)))
    with pytest.raises(KafkaError, match="invalid-proof"):
        conversation().answer(b"e=invalid-proof")


@pytest.mark.parametrize(
    ("challenge", "complaint"),
    [
        (b"r=another,s=QSXCR+Q6sek8bf92,i=4096", "belong"),
        (b"r=nonce,s=QSXCR+Q6sek8bf92,i=4096", "belong"),
        (b"r=nonce-and-more,s=,i=4096", "belong"),
        (b"r=nonce-and-more,s=QSXCR+Q6sek8bf92,i=4095", "iterations"),
        (b"r=nonce-and-more,s=QSXCR+Q6sek8bf92,i=999999999", "iterations"),
        (b"r=nonce-and-more,s=QSXCR+Q6sek8bf92,i=many", "iterations"),
        (b"r=nonce-and-more,s=?,i=4096", "not SCRAM"),
        (b"\xff\xfe", "not SCRAM"),
        (b"", "belong"),
    ],
)
def test_scram_does_not_go_along_with_everything(challenge: bytes, complaint: str) -> None:
    scram = Scram("SCRAM-SHA-256", "user", "pencil", "nonce")
    scram.first()
    with pytest.raises(KafkaError, match=complaint):
        scram.answer(challenge)


def test_scram_nonces_differ_and_names_are_escaped() -> None:
    make = mechanism_maker("SCRAM-SHA-512", "a=b,c", "p", None)
    made = [make(Address("127.0.0.1", 9092)).first() for _ in range(2)]
    assert made[0] != made[1]
    assert made[0].startswith(b"n,,n=a=3Db=2Cc,r=")


def test_plain_and_bearer_tokens() -> None:
    assert Plain("jan", "žluť").first() == b"\0jan\0" + "žluť".encode()

    class Tokens(AbstractTokenProvider):
        def token(self) -> str:
            return "abc"

        def extensions(self) -> dict[str, str]:
            return {"trace": "1"}

    class Bare:
        def token(self) -> str:
            return "xyz"

    bearer = OAuthBearer(Tokens())
    assert bearer.first() == b"n,,\x01auth=Bearer abc\x01trace=1\x01\x01"
    assert bearer.answer(b"") is None
    # An error in JSON has to be acknowledged before the broker says that it is one.
    assert bearer.answer(b'{"status":"invalid_token"}') == b"\x01"
    assert OAuthBearer(Bare()).first() == b"n,,\x01auth=Bearer xyz\x01\x01"


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"security_protocol": "SASL_PLAINTEXT"}, "needs a sasl_mechanism"),
        ({"security_protocol": "PLAINTEXT", "sasl_mechanism": "PLAIN"}, "only with security_protocol SASL"),
        ({"security_protocol": "SSL", "sasl_mechanism": "PLAIN"}, "only with security_protocol SASL"),
        ({"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN"}, "sasl_plain_username"),
        ({"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "AWS_MSK_IAM"}, "not built"),
        ({"sasl_kerberos_service_name": "broker"}, "sasl_kerberos_service_name: only with security_protocol SASL"),
        ({"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER"}, "token_provider"),
        ({"security_protocol": "TLS"}, "not known"),
        (
            {"sasl_plain_username": "vltava", "sasl_plain_password": "x"},
            "sasl_plain_username, sasl_plain_password: only",
        ),
        ({"ssl_cafile": "/there/is/no/such.pem"}, "ssl_cafile: only with security_protocol SSL or SASL_SSL"),
        ({"ssl_check_hostname": False}, "ssl_check_hostname: only"),
        ({"security_protocol": "SSL", "sasl_plain_password": "x"}, "sasl_plain_password: only"),
        ({"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "ssl_certfile": "x"}, "ssl_certfile: only"),
        ({"security_protocol": "SSL", "ssl_cafile": "/there/is/no/such.pem"}, "such.pem"),
        ({"security_protocol": "SSL", "ssl_ciphers": "NONE-OF-THESE"}, "NONE-OF-THESE"),
    ],
)
def test_settings_that_would_not_protect_are_refused(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        read_security({**SETTINGS, **settings})


# ------------------------------------------------------------------------------------------------- on a connection


def test_requests_wait_until_the_broker_knows_who_asks() -> None:
    with broker_with(ScramBroker(b"secret")) as peer, OnALoop() as loop:
        link = loop.link(peer.address, security=secured_by("SCRAM-SHA-512", "secret"))
        assert loop.get(lambda: link.ask(MetadataRequest(), PATIENCE)).brokers[0].node_id == 1
        keys = [key.name for key, _, _ in peer.requests]
        assert keys == ["API_VERSIONS", "SASL_HANDSHAKE", "SASL_AUTHENTICATE", "SASL_AUTHENTICATE", "METADATA"]
        assert peer.versions_asked(ApiKey.SASL_AUTHENTICATE) == [2, 2]


@pytest.mark.parametrize(
    ("name", "password", "complaint"),
    [("SCRAM-SHA-512", "guess", "wrong password"), ("PLAIN", "secret", "offers SCRAM-SHA-512")],
)
def test_a_refusal_fails_what_waits_and_says_why(name: str, password: str, complaint: str) -> None:
    with broker_with(ScramBroker(b"secret")) as peer, OnALoop() as loop:
        link = loop.link(peer.address, security=secured_by(name, password))
        with pytest.raises(KafkaError, match=complaint):
            loop.get(lambda: link.ask(MetadataRequest(), PATIENCE))
        assert not link.usable
        assert not peer.asked(ApiKey.METADATA)


def test_a_broker_without_sasl_is_not_used_without_it() -> None:
    with ScriptedPeer({ApiKey.METADATA: lambda _version, _request: HANG_UP}) as peer, OnALoop() as loop:
        link = loop.link(peer.address, security=secured_by("PLAIN", "secret"))
        with pytest.raises(KafkaError, match="does not offer SaslHandshake"):
            loop.get(lambda: link.ask(MetadataRequest(), PATIENCE))
        assert not peer.asked(ApiKey.METADATA)


class Slow:
    """A source of tokens that takes its time, and at last has none."""

    def __init__(self, *tokens: str) -> None:
        self.tokens = list(tokens)
        self.threads: set[str] = set()

    def token(self) -> str:
        self.threads.add(threading.current_thread().name)
        time.sleep(0.3)
        return self.tokens.pop(0)


def test_a_source_of_tokens_holds_up_nobody() -> None:
    def handshake(_version: int, _request: Any) -> SaslHandshakeResponse:
        return SaslHandshakeResponse(mechanisms=["OAUTHBEARER"])

    def authenticate(_version: int, request: Any) -> SaslAuthenticateResponse:
        return SaslAuthenticateResponse(error_message=None, auth_bytes=b"")

    answers = {
        ApiKey.SASL_HANDSHAKE: handshake,
        ApiKey.SASL_AUTHENTICATE: authenticate,
        ApiKey.METADATA: lambda _version, _request: MetadataResponse(),
    }
    slow = Slow("one")
    made = mechanism_maker("OAUTHBEARER", None, None, slow)
    with ScriptedPeer(answers) as peer, OnALoop() as loop:
        turns: list[float] = []

        def turn() -> None:
            turns.append(time.monotonic())
            loop.background.loop.call_later(0.01, turn)

        loop.call(turn)
        link = loop.link(peer.address, security=Security(mechanism=made))
        loop.get(lambda: link.ask(MetadataRequest(), PATIENCE))
        # The loop went on while the token was waited for, which was elsewhere.
        assert len(turns) > 5
        assert threading.current_thread().name not in slow.threads
        assert [key.name for key, _, _ in peer.requests][-2:] == ["SASL_AUTHENTICATE", "METADATA"]
        # Whatever a source raises is the end of this attempt, in a sentence.
        another = loop.link(peer.address, security=Security(mechanism=made))
        with pytest.raises(KafkaError, match="Nothing to log in with by OAUTHBEARER: pop from empty list"):
            loop.get(lambda: another.ask(MetadataRequest(), PATIENCE))
