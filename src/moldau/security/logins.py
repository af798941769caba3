"""The calling side of SASL: what to say to prove who one is, token by token, without a connection.

Clients and nodes use the same. A mechanism is made anew for each authentication: `first` gives the opening token,
`answer` the reply to each of the broker's, None when there is nothing more to say. What the broker says in return is
believed only when it proves that it knows the password too (SCRAM); where the mechanism has no such proof, TLS has to
vouch for the broker.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from typing import Any, Final

from moldau.errors import ErrorCode, KafkaError
from moldau.security.scram import (
    attributes,
    client_key,
    escaped_name,
    exclusive_or,
    from_base64,
    hashed,
    keyed,
    salted_password,
    server_key,
    to_base64,
)
from moldau.security.scram_credential import FEWEST_ITERATIONS, HASHES

_NO_CHANNEL_BINDING: Final = "n,,"
_SEPARATOR: Final = "\x01"
# More would let a false broker keep us busy.
MOST_ITERATIONS: Final = 1 << 24

# (hash, password, salt, iterations) -> salted password
Salting = Callable[[str, bytes, bytes, int], bytes]


class Plain:
    """RFC 4616: name and password as they are. Over a connection without TLS anybody on the way can read them."""

    name = "PLAIN"
    waits = False

    def __init__(self, username: str, password: str) -> None:
        self._token = f"\0{username}\0{password}".encode()

    def first(self) -> bytes:
        return self._token

    def answer(self, challenge: bytes) -> bytes | None:
        return None


class Scram:
    """RFC 5802 and 7677: both sides prove that they know the password, and it never crosses the wire.

    With `by_token` the name is the id of a delegation token and the password its HMAC (KIP-48).
    """

    waits = False

    def __init__(
        self,
        name: str,
        username: str,
        password: str,
        nonce: str,
        hash: str = "",
        *,
        by_token: bool = False,
        most_iterations: int = MOST_ITERATIONS,
        salting: Salting = salted_password,
    ) -> None:
        self.name = name
        self._hash = hash or HASHES[name]
        self._password = password.encode()
        self._nonce = nonce
        self._most_iterations = most_iterations
        self._salting = salting
        self._first_bare = f"n={escaped_name(username)},r={nonce}" + (",tokenauth=true" if by_token else "")
        self._signature: bytes | None = None

    def first(self) -> bytes:
        return (_NO_CHANNEL_BINDING + self._first_bare).encode()

    def answer(self, challenge: bytes) -> bytes | None:
        said = attributes(challenge)
        if said is None:
            raise _refused("The broker's answer is not SCRAM.")
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
        if not (count.isascii() and count.isdigit() and len(count) < 10 and int(count) >= FEWEST_ITERATIONS):
            raise _refused(f"The broker asks for {count[:20]} iterations; at least {FEWEST_ITERATIONS} are safe.")
        if int(count) > self._most_iterations:
            raise _refused(f"The broker asks for {count} iterations; no more than {self._most_iterations} are made.")
        final = f"c={to_base64(_NO_CHANNEL_BINDING.encode())},r={nonce}"
        spoken = b",".join((self._first_bare.encode(), challenge, final.encode()))
        salted = self._salting(self._hash, self._password, salt, int(count))
        key = client_key(self._hash, salted)
        signature = keyed(self._hash, hashed(self._hash, key), spoken)
        self._signature = keyed(self._hash, server_key(self._hash, salted), spoken)
        return f"{final},p={to_base64(exclusive_or(key, signature))}".encode()


class OAuthBearer:
    """RFC 7628: a token somebody else has issued. A broker that refuses says why, and wants to hear that we heard."""

    name = "OAUTHBEARER"
    waits = True

    def __init__(self, provider: Any) -> None:
        self._provider = provider

    def first(self) -> bytes:
        extensions = self._provider.extensions() if hasattr(self._provider, "extensions") else {}
        parts = [f"auth=Bearer {self._provider.token()}", *(f"{name}={value}" for name, value in extensions.items())]
        return f"{_NO_CHANNEL_BINDING}{_SEPARATOR}{_SEPARATOR.join(parts)}{_SEPARATOR}{_SEPARATOR}".encode()

    def answer(self, challenge: bytes) -> bytes | None:
        return _SEPARATOR.encode() if challenge else None


def _decoded(text: str) -> bytes:
    data = from_base64(text)
    if data is None:
        raise _refused("The broker's answer is not SCRAM.")
    return data


def _refused(message: str) -> KafkaError:
    return KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, message)
