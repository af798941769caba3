"""Where the tokens of a login come from: an issuer that is asked over HTTP, a file; for how long one is used."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moldau.errors import ErrorCode, KafkaError
from moldau.runtime.web import fetch
from moldau.security.token_source import Outside, TokenSettings, TokenSource, token_settings
from token_endpoint import TokenEndpoint
from token_issuer import unsigned

START = 1_800_000_000


class Clock:
    """Only the source looks at it, so it can be moved."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now_ms(self) -> int:
        return int((START + self.seconds) * 1000)

    def monotonic(self) -> float:
        return self.seconds


CLOCK = Clock()


def made(name: str) -> str:
    return unsigned({"sub": name, "exp": START + CLOCK.seconds + 1000, "n": CLOCK.seconds})


@pytest.fixture(autouse=True)
def _noon() -> None:
    CLOCK.seconds = 0.0


@pytest.fixture
def endpoint() -> Iterator[TokenEndpoint]:
    with TokenEndpoint(made, {"node": "s:cret", "a b": "ü"}) as endpoint:
        yield endpoint


def source(url: str, chance: float = 0.0, **settings: Any) -> TokenSource:
    usual: dict[str, Any] = {"client_id": "node", "client_secret": "s:cret"}
    given = TokenSettings(url=url, **{**usual, **settings})
    return TokenSource(given, Outside(fetch, lambda path: Path(path).read_bytes(), CLOCK, lambda: chance))


def test_an_issuer_is_asked_with_the_credentials_of_a_client(endpoint: TokenEndpoint) -> None:
    assert source(endpoint.url, scope="read & write").token() == made("node")
    assert endpoint.asked == [("node", {"grant_type": ["client_credentials"], "scope": ["read & write"]})]


def test_names_and_secrets_that_are_escaped(endpoint: TokenEndpoint) -> None:
    asking = source(endpoint.url, client_id="a b", client_secret="ü", escaped=True)
    with pytest.raises(KafkaError, match="the answer was 401"):
        asking.token()
    assert endpoint.asked[0][0] == "a+b"


def test_a_token_is_kept_until_it_is_due(endpoint: TokenEndpoint) -> None:
    asking = source(endpoint.url, shortest=60, buffer=300)
    first = asking.token()
    CLOCK.seconds = 699
    assert asking.token() == first
    CLOCK.seconds = 700  # its life of 1000 s less the buffer, which is sooner than 80 %
    assert asking.token() != first
    assert len(endpoint.asked) == 2


@pytest.mark.parametrize(
    ("settings", "chance", "due"),
    [
        ({}, 0.0, 700),
        ({"buffer": 0}, 0.0, 800),
        ({"buffer": 0}, 0.99, 849.5),
        ({"buffer": 0, "spread": 0.1}, 0.99, 899),
        ({"share": 0.5}, 0.0, 500),
        ({"share": 0.5, "shortest": 650}, 0.0, 650),
        # Too little life for both: neither counts.
        ({"share": 0.5, "shortest": 900}, 0.0, 500),
    ],
)
def test_when_it_is_due(endpoint: TokenEndpoint, settings: dict[str, Any], chance: float, due: float) -> None:
    asking = source(endpoint.url, chance, **settings)
    first = asking.token()
    CLOCK.seconds = due - 0.01
    assert asking.token() == first
    CLOCK.seconds = due + 0.01
    assert asking.token() != first


def test_an_issuer_that_is_away_is_not_missed_before_the_token_ends(endpoint: TokenEndpoint) -> None:
    asking = source(endpoint.url)
    first = asking.token()
    endpoint.status = 503
    CLOCK.seconds = 999
    assert asking.token() == first
    CLOCK.seconds = 1000
    with pytest.raises(KafkaError, match="the answer was 503") as away:
        asking.token()
    assert away.value.code is ErrorCode.NETWORK_EXCEPTION  # worth another try
    endpoint.status = None
    CLOCK.seconds = 1010
    assert asking.token() == made("node")


def test_tries_that_fail_are_further_and_further_apart(endpoint: TokenEndpoint) -> None:
    asking = source(endpoint.url, pause=1.0, longest_pause=3.0)
    endpoint.status = 503
    tries = []
    for tenth in range(110):
        CLOCK.seconds = tenth / 10
        before = len(endpoint.asked)
        with pytest.raises(KafkaError, match="503"):
            asking.token()
        if len(endpoint.asked) > before:
            tries.append(CLOCK.seconds)
    assert tries == [0.0, 1.0, 3.0, 6.0, 9.0]


@pytest.mark.parametrize(
    ("status", "answer", "sentence"),
    [
        (401, None, "the answer was 401"),
        (302, None, "the answer was 302"),
        (200, b"[", "no access_token"),
        (200, b"[]", "no access_token"),
        (200, b'{"access_token": 7}', "no access_token"),
        (200, b'{"access_token": "opaque"}', "no signed token"),
        (200, b'{"access_token": "\\u010da.b.c"}', "no signed token"),
        (200, b"[" * 100_000, "no access_token"),
    ],
)
def test_answers_that_are_no_token(endpoint: TokenEndpoint, status: int, answer: bytes | None, sentence: str) -> None:
    endpoint.status, endpoint.answer = status, answer
    with pytest.raises(KafkaError, match=sentence) as refused:
        source(endpoint.url).token()
    assert refused.value.code is ErrorCode.SASL_AUTHENTICATION_FAILED
    assert "s:cret" not in str(refused.value)


def test_an_answer_without_an_end(endpoint: TokenEndpoint) -> None:
    endpoint.answer = b" " * (1 << 20)
    with pytest.raises(KafkaError, match="longer than 262144 bytes"):
        source(endpoint.url).token()


@pytest.mark.parametrize(
    ("end", "sentence"),
    [
        (START, "has expired"),
        (START - 1, "has expired"),
        (math.nan, "has expired"),
        (math.inf, "has expired"),
        ("later", "no signed token"),
        (True, "no signed token"),
        (None, "no signed token"),
    ],
)
def test_ends_that_are_none(tmp_path: Path, end: Any, sentence: str) -> None:
    (tmp_path / "token").write_text(unsigned({"sub": "node", "exp": end}))
    with pytest.raises(KafkaError, match=sentence):
        source(f"file:{tmp_path}/token").token()


def test_a_file_is_read_again_when_its_token_is_due(tmp_path: Path) -> None:
    place = tmp_path / "token"
    reading = source(f"file://{place}", client_id="", client_secret="")
    with pytest.raises(KafkaError, match=f"No token can be had from file://{place}: it cannot be read"):
        reading.token()
    place.write_bytes(b"\xff")
    CLOCK.seconds = 10
    with pytest.raises(KafkaError, match="something else"):
        reading.token()
    first = made("node")
    place.write_text(first + "\n")
    CLOCK.seconds = 20
    assert reading.token() == first
    CLOCK.seconds = 900
    second = made("node")
    place.write_text(second)
    assert reading.token() == second


def test_an_address_is_shown_without_the_login_in_it() -> None:
    with pytest.raises(KafkaError) as away:
        source("http://me:hush@127.0.0.1:1/token").token()
    assert "127.0.0.1:1/token" in str(away.value)
    assert "hush" not in str(away.value)
    assert "hush" not in repr(TokenSettings(url="http://me:hush@x", client_secret="hush"))


# ------------------------------------------------------------------------------------------------------------ settings

USUAL: dict[str, Any] = {
    "sasl.oauthbearer.token.endpoint.url": "https://issuer/token",
    "sasl.login.refresh.window.factor": 0.8,
    "sasl.login.refresh.window.jitter": 0.05,
    "sasl.login.refresh.min.period.seconds": 60,
    "sasl.login.refresh.buffer.seconds": 300,
    "sasl.login.retry.backoff.ms": 100,
    "sasl.login.retry.backoff.max.ms": 10_000,
}
LOGIN = {"clientId": "node", "clientSecret": "secret"}


def test_settings_win_over_the_options_of_the_line() -> None:
    options = {**LOGIN, "scope": "of-line", "extension_trace": "on"}
    read = token_settings(USUAL.get, options)
    assert (read.client_id, read.client_secret, read.scope) == ("node", "secret", "of-line")
    assert (read.extensions, read.seconds, read.longest_pause) == ((("trace", "on"),), 20.0, 10.0)
    given = {
        **USUAL,
        "sasl.oauthbearer.client.credentials.client.id": "other",
        "sasl.oauthbearer.client.credentials.client.secret": "word",
        "sasl.oauthbearer.scope": "of-settings",
        "sasl.login.connect.timeout.ms": 1000,
        "sasl.login.read.timeout.ms": 500,
    }
    read = token_settings(given.get, options)
    assert (read.client_id, read.client_secret, read.scope, read.seconds) == ("other", "word", "of-settings", 1.5)


@pytest.mark.parametrize(
    ("url", "options", "sentence"),
    [
        (None, LOGIN, "is required"),
        ("ftp://issuer", LOGIN, "must begin with one of"),
        ("https://issuer", {}, "clientId and clientSecret are missing"),
        ("https://issuer", {"clientId": "node"}, "clientId and clientSecret are missing"),
        ("https://issuer", {**LOGIN, "ssl.truststore.location": "x"}, "cannot be given ssl.truststore.location"),
        ("https://issuer", {**LOGIN, "extension_auth": "x"}, "can be no extension"),
        ("https://issuer", {**LOGIN, "extension_a1": "x"}, "can be no extension"),
        ("https://issuer", {**LOGIN, "extension_a": "x\x01auth=Bearer y"}, "can be no extension"),
    ],
)
def test_settings_that_bring_no_token(url: str | None, options: dict[str, str], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        token_settings({**USUAL, "sasl.oauthbearer.token.endpoint.url": url}.get, options)
