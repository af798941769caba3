"""Keys of tokens: fetched when they are needed, kept, fetched again, and what happens while they cannot be had."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from moldau.config.broker import BrokerConfig
from moldau.config.definition import ConfigError
from moldau.deferred import Deferred
from moldau.runtime.disk import RealDisk
from moldau.runtime.web import fetch
from moldau.security.jaas import JaasEntry
from moldau.security.jws import VerificationKey
from moldau.security.jwt import TokenRules
from moldau.security.verdict import AuthenticationFailed
from moldau.server.jwks import VerificationKeys
from moldau.server.oauth_tokens import SignedTokens, oauthbearer_maker
from token_issuer import Issuer

NOW = 1_700_000_000
GOOD = {"sub": "jan", "iat": NOW - 10, "exp": NOW + 600}
ISSUER, NEXT = Issuer(), Issuer("next")
URL = "https://issuer/keys"


class Place:
    """Clock, workers and web of a runtime, in the hands of the test."""

    def __init__(self) -> None:
        self.now = 100.0
        self.document: bytes | None = ISSUER.document()
        self.fetched = 0
        self.held: list[Callable[[], None]] | None = None
        self.clock = self.workers = self.network = self
        self.disk = RealDisk()

    def monotonic(self) -> float:
        return self.now

    def now_ms(self) -> int:
        return NOW * 1000

    def fetch(self, url: str, *, seconds: float, most_bytes: int) -> bytes:
        self.fetched += 1
        if self.document is None:
            raise OSError("unreachable")
        return self.document

    def submit(self, job: Callable[[], Any], done: Callable[[Any, BaseException | None], None]) -> None:
        def run() -> None:
            try:
                result = job()
            except Exception as error:
                done(None, error)
            else:
                done(result, None)

        if self.held is None:
            run()
        else:
            self.held.append(run)


def outcome(answer: Deferred[Any]) -> Any:
    found: list[Any] = []
    answer.then(lambda value, error: found.append(value if error is None else error))
    return found[0] if found else None


@pytest.fixture
def place() -> Place:
    return Place()


def keys_at(place: Any, url: str = URL, **settings: str) -> VerificationKeys:
    return VerificationKeys(url, BrokerConfig.parse({"log.dirs": "/unused", **settings}), place)


def names(answer: Deferred[list[VerificationKey]]) -> set[str | None] | None:
    found = outcome(answer)
    return {key.id for key in found} if isinstance(found, list) else found


def test_they_are_kept_until_they_are_old(place: Place) -> None:
    keys = keys_at(place)
    assert "one-rsa" in (names(keys.get()) or ())
    place.now += 3599
    keys.get()
    assert place.fetched == 1
    place.now += 2
    place.document = NEXT.document()
    place.held = []
    # The old ones are used while the new ones are on their way, and they are fetched once.
    assert "one-rsa" in (names(keys.get()) or ())
    assert "one-rsa" in (names(keys.get()) or ())
    (fetching,) = place.held
    fetching()
    assert "next-rsa" in (names(keys.get()) or ())


def test_those_who_wait_for_the_first_wait_together(place: Place) -> None:
    keys = keys_at(place)
    place.held = []
    waiting = [keys.get(), keys.get()]
    assert [outcome(one) for one in waiting] == [None, None]
    (fetching,) = place.held
    fetching()
    assert all("one-rsa" in (names(one) or ()) for one in waiting)


def test_a_failure_is_not_repeated_at_once(place: Place) -> None:
    keys = keys_at(place)
    place.document = None
    for pause, tries in ((0.0, 1), (0.09, 1), (0.02, 2), (0.15, 2), (0.06, 3)):
        place.now += pause
        assert isinstance(outcome(keys.get()), OSError)
        assert place.fetched == tries
    for _ in range(20):
        place.now += 10.1
        keys.get()
    assert place.fetched == 23
    place.document = ISSUER.document()
    place.now += 10.1
    assert "one-rsa" in (names(keys.get()) or ())


def test_old_keys_outlive_a_failure(place: Place) -> None:
    keys = keys_at(place)
    keys.get()
    place.document = b"nonsense"
    place.now += 4000
    assert "one-rsa" in (names(keys.get()) or ())


def test_a_file(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    keys = keys_at(place, f"file://{file}")
    assert isinstance(outcome(keys.get()), OSError)
    file.write_bytes(ISSUER.document())
    place.now += 1
    assert "one-rsa" in (names(keys.get()) or ())
    file.write_bytes(b" " * (1 << 20) + NEXT.document())
    place.now += 4000
    assert "one-rsa" in (names(keys.get()) or ())


# ---------------------------------------------------------------------------------------------------- tokens with them


def tokens_at(place: Any) -> SignedTokens:
    return SignedTokens(keys_at(place), TokenRules(), place)


def test_a_rotated_key_is_fetched_ahead_of_time(place: Place) -> None:
    tokens = tokens_at(place)
    assert outcome(tokens.validate(ISSUER.token(GOOD))).subject == "jan"
    place.document = NEXT.document()
    # Too soon after the last time, or anybody could have us fetch all day.
    assert isinstance(outcome(tokens.validate(NEXT.token(GOOD))), AuthenticationFailed)
    place.now += 11
    assert outcome(tokens.validate(NEXT.token(GOOD))).subject == "jan"
    assert isinstance(outcome(tokens.validate(ISSUER.token(GOOD))), AuthenticationFailed)
    assert place.fetched == 2


def test_a_token_that_is_not_right_fetches_nothing(place: Place) -> None:
    tokens = tokens_at(place)
    place.now += 100
    for token in ("nonsense", ISSUER.token({**GOOD, "exp": 5}), NEXT.token(GOOD, kid="one-rsa")):
        assert isinstance(outcome(tokens.validate(token)), AuthenticationFailed)
    assert place.fetched == 1


def test_without_keys_nobody_comes_in(place: Place) -> None:
    place.document = None
    assert isinstance(outcome(tokens_at(place).validate(ISSUER.token(GOOD))), AuthenticationFailed)


# ------------------------------------------------------------------------------------------------------------ settings


def maker(place: Any, options: dict[str, str] | None = None, **settings: str) -> Any:
    config = BrokerConfig.parse({"log.dirs": "/unused", **settings})
    entry = None if options is None else JaasEntry("oauthbearer.OAuthBearerLoginModule", options)
    return oauthbearer_maker("SASL", config, place, entry)


def test_settings_that_say_how_tokens_are_judged(place: Place) -> None:
    unsigned = "org.apache.kafka.common.security.oauthbearer.internals.unsecured"
    handler = f"{unsigned}.OAuthBearerUnsecuredValidatorCallbackHandler"
    assert maker(place, **{"sasl.oauthbearer.jwks.endpoint.url": URL})().name == "OAUTHBEARER"
    assert maker(place, **{"listener.name.sasl.oauthbearer.sasl.server.callback.handler.class": handler})()
    assert maker(place, {"unsecuredLoginStringClaim_sub": "x"})()


@pytest.mark.parametrize(
    ("options", "settings", "sentence"),
    [
        (None, {}, "is required to check tokens"),
        ({}, {}, "is required to check tokens"),
        (None, {"sasl.oauthbearer.jwks.endpoint.url": "ftp://issuer"}, "must begin with"),
        ({"unsecuredValidatorAllowableClockSkewMs": "x"}, {}, "number of milliseconds"),
    ],
)
def test_settings_that_do_not(
    place: Place, options: dict[str, str] | None, settings: dict[str, str], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        maker(place, options, **settings)


# ------------------------------------------------------------------------------------------------------------- the web


@pytest.fixture
def web() -> Iterator[str]:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/elsewhere":
                self.send_response(302)
                self.send_header("Location", "/keys")
                self.end_headers()
                return
            self.send_response(200 if self.path == "/keys" else 404)
            self.end_headers()
            self.wfile.write(b"k" * 1000)

        def log_message(self, *_arguments: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_documents_are_bounded_and_nobody_is_followed(web: str) -> None:
    assert fetch(f"{web}/keys", 10, 1000) == b"k" * 1000
    with pytest.raises(OSError, match="longer than 999"):
        fetch(f"{web}/keys", 10, 999)
    with pytest.raises(OSError, match="404"):
        fetch(f"{web}/other", 10, 1000)
    with pytest.raises(OSError, match="302"):
        fetch(f"{web}/elsewhere", 10, 1000)
    with pytest.raises(ValueError, match="neither"):
        fetch("file:///etc/passwd", 10, 1000)
