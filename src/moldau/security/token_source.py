"""The tokens somebody logs in with by OAUTHBEARER: had from an issuer or a file, kept, and had anew before they end.

Kafka's settings say where from: `file:` is read, an address is asked with the credentials of a client (RFC 6749, 4.4).
Nothing here is believed of a token but when it ends; whether it is any good is for the broker to say. What has to wait
does so in `token`, which is called beside the loop, one call after the other (`runtime.ports.Network.aside`).
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from moldau.dataclass import dataclass
from moldau.errors import ErrorCode, KafkaError
from moldau.runtime.ports import Clock, WebRefusal
from moldau.security.jws import TokenRefused, parse_token
from moldau.security.jwt import LATEST

FILE: Final = "file:"
_SCHEMES: Final = (FILE, "http://", "https://")
_EXTENSION: Final = "extension_"
_FORM: Final = "application/x-www-form-urlencoded"
# A token is sent in one request, which brokers take up to 512 KiB of.
_MOST_BYTES: Final = 256 << 10
_LOGIN_IN_URL: Final = re.compile(r"//[^/@]*@")
_PLAIN: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.*")
_EXTENSION_NAME: Final = re.compile(r"[A-Za-z]+")
_EXTENSION_VALUE: Final = re.compile(r"[\x21-\x7e \t\r\n]+")
# Of an issuer: to come back later, perhaps with the same.
_PASSING: Final = (408, 425, 429)


class Fetch(Protocol):
    """`runtime.ports.Network.fetch`."""

    def __call__(
        self, url: str, *, seconds: float, most_bytes: int, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> bytes: ...


class Outside(NamedTuple):
    """What of the outside world it takes; `chance` is a number below 1."""

    fetch: Fetch
    read_file: Callable[[str], bytes]
    clock: Clock
    chance: Callable[[], float]


@dataclass(frozen=True, slots=True)
class TokenSettings:
    """Plain data, which may travel. Never shown, for there is a secret in it."""

    url: str
    client_id: str = ""
    client_secret: str = ""
    scope: str = ""
    # Whether id and secret are escaped as in an address before they stand in the header.
    escaped: bool = False
    extensions: tuple[tuple[str, str], ...] = ()
    seconds: float = 20.0
    # A new one is had when this share of a token's life is over, and somewhat later (`spread`); not sooner than
    # `shortest` after the last, and so long before its end (`buffer`), where its life has room for both.
    share: float = 0.8
    spread: float = 0.05
    shortest: float = 60.0
    buffer: float = 300.0
    # Between tries that failed.
    pause: float = 0.1
    longest_pause: float = 10.0

    def __repr__(self) -> str:
        return "TokenSettings([hidden])"


class TokenSource:
    def __init__(self, settings: TokenSettings, outside: Outside) -> None:
        self._settings = settings
        self._outside = outside
        # In sentences: an address may hold a name and a password.
        self._place = _LOGIN_IN_URL.sub("//", settings.url)
        self._token = ""
        self._due = 0.0
        self._ends = 0.0
        self._failures = 0
        self._not_before = 0.0
        self._why: KafkaError | None = None

    def extensions(self) -> Mapping[str, str]:
        return dict(self._settings.extensions)

    def token(self) -> str:
        """One that counts now. KafkaError says where it was to come from, and never what it is."""
        now = self._outside.clock.now_ms() / 1000
        if now >= self._due:
            try:
                self._renew(now)
            except KafkaError:
                # Better than none, until its end.
                if now >= self._ends:
                    raise
        return self._token

    def _renew(self, now: float) -> None:
        if self._why is not None and self._outside.clock.monotonic() < self._not_before:
            raise self._why
        try:
            token = self._read() if self._settings.url.startswith(FILE) else self._ask()
            ends = self._end_of(token, now)
        except KafkaError as error:
            pause = min(self._settings.pause * 2**self._failures, self._settings.longest_pause)
            self._failures = min(self._failures + 1, 30)
            self._not_before, self._why = self._outside.clock.monotonic() + pause, error
            raise
        self._token, self._ends, self._failures, self._why = token, ends, 0, None
        self._due = _due(self._settings, now, ends, self._outside.chance())

    def _read(self) -> str:
        path = self._settings.url.removeprefix(FILE)
        try:
            return self._outside.read_file(f"/{path.lstrip('/')}").decode("ascii").strip()
        except OSError as error:
            raise self._refused(f"it cannot be read ({error.strerror or error})") from None
        except UnicodeDecodeError:
            raise self._refused("there is something else in it") from None

    def _ask(self) -> str:
        settings = self._settings
        name, secret = settings.client_id, settings.client_secret
        if settings.escaped:
            name, secret = _escaped(name), _escaped(secret)
        login = b64encode(f"{name}:{secret}".encode()).decode()
        scope = f"&scope={_escaped(settings.scope)}" if settings.scope else ""
        try:
            answer = self._outside.fetch(
                settings.url,
                seconds=settings.seconds,
                most_bytes=_MOST_BYTES,
                headers=[("Authorization", f"Basic {login}"), ("Content-Type", _FORM), ("Cache-Control", "no-cache")],
                body=f"grant_type=client_credentials{scope}".encode(),
            )
        except WebRefusal as refusal:
            if refusal.status >= 500 or refusal.status in _PASSING:
                raise self._away(refusal) from None
            raise self._refused(str(refusal)) from None
        except OSError as error:
            raise self._away(error) from None
        except ValueError as error:
            raise self._refused(str(error)) from None
        return self._token_in(answer)

    def _token_in(self, answer: bytes) -> str:
        try:
            said = json.loads(answer)
        except (ValueError, RecursionError):
            said = None
        token = (said.get("access_token") or said.get("id_token")) if isinstance(said, dict) else None
        if not isinstance(token, str):
            raise self._refused("there is no access_token in the answer")
        return token.strip()

    def _end_of(self, token: str, now: float) -> float:
        try:
            ends: Any = parse_token(token).claims.get("exp") if token.isascii() else None
        except TokenRefused:
            ends = None
        if isinstance(ends, bool) or not isinstance(ends, int | float):
            raise self._refused("it is no signed token (JWT) with an end")
        if not now < ends <= LATEST:
            raise self._refused("the token has expired")
        return float(ends)

    def _refused(self, reason: str) -> KafkaError:
        return KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, f"No token can be had from {self._place}: {reason}.")

    def _away(self, error: OSError) -> KafkaError:
        """Another try may help."""
        return KafkaError(ErrorCode.NETWORK_EXCEPTION, f"No token can be had from {self._place}: {error}.")


def _due(settings: TokenSettings, now: float, ends: float, chance: float) -> float:
    life = ends - now
    due = life * (settings.share + settings.spread * chance)
    if life > settings.shortest + settings.buffer:
        due = max(min(due, life - settings.buffer), settings.shortest)
    return now + due


def _escaped(text: str) -> str:
    return "".join(chr(byte) if byte in _PLAIN else "+" if byte == 0x20 else f"%{byte:02X}" for byte in text.encode())


# ------------------------------------------------------------------------------------------------------------ settings


def token_settings(get: Callable[[str], Any], options: Mapping[str, str]) -> TokenSettings:
    """From Kafka's settings (`get`, None where one is not set) and the options of the login module, which give way to
    them. ValueError says which is missing or of no use."""
    url = get("sasl.oauthbearer.token.endpoint.url")
    if not url:
        raise ValueError("sasl.oauthbearer.token.endpoint.url is required to log in by OAUTHBEARER")
    if not url.startswith(_SCHEMES):
        raise ValueError(f"sasl.oauthbearer.token.endpoint.url must begin with one of {', '.join(_SCHEMES)}")
    unknown = [name for name in options if name not in _OPTIONS and not name.startswith(_EXTENSION)]
    if unknown:
        raise ValueError(f"the login module cannot be given {min(unknown)}; there are {', '.join(_OPTIONS)}")
    client_id = get("sasl.oauthbearer.client.credentials.client.id") or options.get("clientId", "")
    secret = get("sasl.oauthbearer.client.credentials.client.secret") or options.get("clientSecret", "")
    if not url.startswith(FILE) and not (client_id and secret):
        raise ValueError("the issuer of tokens wants to know a client: clientId and clientSecret are missing")
    waits = [get(f"sasl.login.{what}.timeout.ms") for what in ("connect", "read")]
    return TokenSettings(
        url=url,
        client_id=client_id,
        client_secret=secret,
        scope=get("sasl.oauthbearer.scope") or options.get("scope", ""),
        escaped=bool(get("sasl.oauthbearer.header.urlencode")),
        extensions=tuple(_extensions(options)),
        seconds=sum(10.0 if wait is None else wait / 1000 for wait in waits),
        share=get("sasl.login.refresh.window.factor"),
        spread=get("sasl.login.refresh.window.jitter"),
        shortest=get("sasl.login.refresh.min.period.seconds"),
        buffer=get("sasl.login.refresh.buffer.seconds"),
        pause=get("sasl.login.retry.backoff.ms") / 1000,
        longest_pause=get("sasl.login.retry.backoff.max.ms") / 1000,
    )


_OPTIONS: Final = ("clientId", "clientSecret", "scope")


def _extensions(options: Mapping[str, str]) -> list[tuple[str, str]]:
    pairs = [(name.removeprefix(_EXTENSION), value) for name, value in options.items() if name.startswith(_EXTENSION)]
    for name, value in pairs:
        if not _EXTENSION_NAME.fullmatch(name) or name == "auth" or not _EXTENSION_VALUE.fullmatch(value):
            raise ValueError(f"{_EXTENSION}{name} of the login module can be no extension")
    return pairs
