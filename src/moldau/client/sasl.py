"""The client's side of SASL: what to say to prove who one is, token by token, without a connection.

A mechanism is made anew for each authentication: `first` gives the opening token, `answer` the reply to each of the
broker's, None when there is nothing more to say. What the broker says in return is believed only when it proves that it
knows the password too (SCRAM); where the mechanism has no such proof, TLS has to vouch for the broker.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from abc import ABC, abstractmethod
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from moldau.errors import ErrorCode, KafkaError
from moldau.links.security import Mechanism

_NO_CHANNEL_BINDING: Final = "n,,"
_SEPARATOR: Final = "\x01"

# Fewer would let whoever listens try passwords too fast; more would let a false broker keep us busy.
_FEWEST_ITERATIONS: Final = 4096
_MOST_ITERATIONS: Final = 1 << 24


class AbstractTokenProvider(ABC):
    """What OAUTHBEARER asks for tokens: an object with `token()` and, if there is something to add, `extensions()`.

    Called on the client's own thread at each authentication, so a provider that has to fetch its tokens from
    elsewhere does well to keep them.
    """

    def __init__(self, **config: Any) -> None:
        self.config = config

    @abstractmethod
    def token(self) -> str:
        """A token that is valid now."""

    def extensions(self) -> Mapping[str, str]:
        return {}


class Plain:
    """RFC 4616: name and password as they are. Over a connection without TLS anybody on the way can read them."""

    name = "PLAIN"

    def __init__(self, username: str, password: str) -> None:
        self._token = f"\0{username}\0{password}".encode()

    def first(self) -> bytes:
        return self._token

    def answer(self, challenge: bytes) -> bytes | None:
        return None


class Scram:
    """RFC 5802 and 7677: both sides prove that they know the password, and it never crosses the wire."""

    HASHES: ClassVar[Mapping[str, str]] = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}

    def __init__(self, name: str, username: str, password: str, nonce: str | None = None, hash: str = "") -> None:
        self.name = name
        self._hash = hash or self.HASHES[name]
        self._password = password.encode()
        self._nonce = nonce or secrets.token_urlsafe(24)
        escaped = username.replace("=", "=3D").replace(",", "=2C")
        self._first_bare = f"n={escaped},r={self._nonce}"
        self._signature: bytes | None = None

    def first(self) -> bytes:
        return (_NO_CHANNEL_BINDING + self._first_bare).encode()

    def answer(self, challenge: bytes) -> bytes | None:
        said = _attributes(challenge)
        if "e" in said:
            raise _refused(f"The broker refused: {said['e']}.")
        if self._signature is None:
            return self._prove(challenge, said)
        if not hmac.compare_digest(_decoded(said.get("v", "")), self._signature):
            raise _refused("The broker does not know the password it is asked to check.")
        return None

    def _prove(self, challenge: bytes, said: Mapping[str, str]) -> bytes:
        nonce, salt, count = said.get("r", ""), _decoded(said.get("s", "")), said.get("i", "")
        if not nonce.startswith(self._nonce) or nonce == self._nonce or not salt:
            raise _refused("The broker's answer does not belong to this conversation.")
        if not (count.isascii() and count.isdigit() and _FEWEST_ITERATIONS <= int(count) <= _MOST_ITERATIONS):
            raise _refused(f"The broker asks for {count} iterations; at least {_FEWEST_ITERATIONS} are safe.")
        final = f"c={b64encode(_NO_CHANNEL_BINDING.encode()).decode()},r={nonce}"
        spoken = b",".join((self._first_bare.encode(), challenge, final.encode()))
        salted = hashlib.pbkdf2_hmac(self._hash, self._password, salt, int(count))
        key = self._keyed(salted, b"Client Key")
        signature = self._keyed(hashlib.new(self._hash, key).digest(), spoken)
        proof = bytes(left ^ right for left, right in zip(key, signature, strict=True))
        self._signature = self._keyed(self._keyed(salted, b"Server Key"), spoken)
        return f"{final},p={b64encode(proof).decode()}".encode()

    def _keyed(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self._hash)


class OAuthBearer:
    """RFC 7628: a token somebody else has issued. A broker that refuses says why, and wants to hear that we heard."""

    name = "OAUTHBEARER"

    def __init__(self, provider: Any) -> None:
        self._provider = provider

    def first(self) -> bytes:
        extensions = self._provider.extensions() if hasattr(self._provider, "extensions") else {}
        parts = [f"auth=Bearer {self._provider.token()}", *(f"{name}={value}" for name, value in extensions.items())]
        return f"{_NO_CHANNEL_BINDING}{_SEPARATOR}{_SEPARATOR.join(parts)}{_SEPARATOR}{_SEPARATOR}".encode()

    def answer(self, challenge: bytes) -> bytes | None:
        return _SEPARATOR.encode() if challenge else None


MECHANISMS: Final = ("PLAIN", *Scram.HASHES, "OAUTHBEARER")


def mechanism_maker(name: str, username: str | None, password: str | None, provider: Any) -> Callable[[], Mechanism]:
    """Makes mechanisms for one connection after the other. ValueError says which setting is missing."""
    if name == "OAUTHBEARER":
        if not callable(getattr(provider, "token", None)):
            raise ValueError("sasl_mechanism OAUTHBEARER needs sasl_oauth_token_provider, an object with token().")
        return lambda: OAuthBearer(provider)
    if name not in MECHANISMS:
        raise ValueError(f"sasl_mechanism {name!r} is not built; there are {', '.join(MECHANISMS)}.")
    if username is None or password is None:
        raise ValueError(f"sasl_mechanism {name} needs sasl_plain_username and sasl_plain_password.")
    if name == "PLAIN":
        return lambda: Plain(username, password)
    return lambda: Scram(name, username, password)


def _attributes(message: bytes) -> dict[str, str]:
    try:
        parts = message.decode().split(",")
    except UnicodeDecodeError:
        raise _refused("The broker's answer is not SCRAM.") from None
    return {part[0]: part[2:] for part in parts if part[1:2] == "="}


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (NotBase64, ValueError):
        raise _refused("The broker's answer is not SCRAM.") from None


def _refused(message: str) -> KafkaError:
    return KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, message)
