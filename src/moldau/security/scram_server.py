"""SCRAM on the broker: two messages of the client, two answers (RFC 5802, section 5).

A user who is not there is asked for a proof like any other, with a salt that stays the same for his name, and hears at
the end what one with a wrong password hears. A login with `tokenauth=true` is one with a delegation token (KIP-48): the
name is the token's id, the password its HMAC, and who comes in is the token's owner.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from moldau.deferred import Deferred, mapped
from moldau.security.principal import user
from moldau.security.scram import attributes, exclusive_or, from_base64, hashed, keyed, plain_name, to_base64
from moldau.security.scram_credential import FEWEST_ITERATIONS, HASHES, ScramCredential
from moldau.security.verdict import AuthenticationFailed, Identity, Reply, invalid_credentials

# Longer ones serve nobody; Kafka's own clients use some thirty characters.
_LONGEST_NONCE: Final = 512
_SALT_SIZE: Final = 24


class Known(NamedTuple):
    """A credential, and who it lets in."""

    credential: ScramCredential
    identity: Identity


class Credentials(Protocol):
    """Where the broker looks users up; None for whom it does not know."""

    def user(self, mechanism: str, name: str) -> ScramCredential | None: ...

    def token(self, mechanism: str, token_id: str) -> Deferred[Known | None]:
        """Later, because the credential of a token is worked out when it is first used."""
        ...


class ScramServer:
    """`nonce` is the broker's part of it, fresh for each authentication; `stranger` is a secret of the cluster that
    users who are not there get their salt from."""

    def __init__(self, name: str, credentials: Credentials, nonce: Callable[[], str], stranger: bytes) -> None:
        self.name = name
        self._hash = HASHES[name]
        self._credentials = credentials
        self._make_nonce = nonce
        self._stranger = stranger
        self._begun = False
        self._known: Known | None = None
        self._nonce = ""
        self._binding = ""
        self._first_bare = b""
        self._challenge = b""

    def answer(self, token: bytes) -> Reply | Deferred[Reply]:
        if not self._begun:
            self._begun = True
            return self._opened(token)
        if not self._challenge:
            raise invalid_credentials(self.name)
        return self._proved(token)

    # ------------------------------------------------------------------------------------------------ first message

    def _opened(self, token: bytes) -> Reply | Deferred[Reply]:
        try:
            text = token.decode()
        except UnicodeDecodeError:
            raise invalid_credentials(self.name) from None
        binding, comma, rest = text.partition(",")
        authorization, second, bare = rest.partition(",")
        # p= asks for channel binding, which is not offered.
        if binding not in ("n", "y") or not comma or not second:
            raise invalid_credentials(self.name)
        fields = bare.split(",")
        if len(fields) < 2 or fields[0][:2] != "n=" or fields[1][:2] != "r=":
            raise invalid_credentials(self.name)
        name, nonce = plain_name(fields[0][2:]), fields[1][2:]
        if not name or not nonce or len(nonce) > _LONGEST_NONCE or not (nonce.isascii() and nonce.isprintable()):
            raise invalid_credentials(self.name)
        self._check_authorization(authorization, name)
        extensions = dict(field.partition("=")[::2] for field in fields[2:])
        self._binding = to_base64(f"{binding},{authorization},".encode())
        self._first_bare = bare.encode()
        self._nonce = nonce + self._make_nonce()
        if extensions.get("tokenauth", "").lower() == "true":
            return mapped(self._credentials.token(self.name, name), lambda known: self._challenged(name, known))
        credential = self._credentials.user(self.name, name)
        return self._challenged(name, None if credential is None else Known(credential, Identity(user(name))))

    def _check_authorization(self, authorization: str, name: str) -> None:
        if authorization and (authorization[:2] != "a=" or plain_name(authorization[2:]) is None):
            raise invalid_credentials(self.name)
        if authorization[2:] and plain_name(authorization[2:]) != name:
            raise AuthenticationFailed(
                "Authentication failed: Client requested an authorization id that is different from username"
            )

    def _challenged(self, name: str, known: Known | None) -> Reply:
        self._known = known
        if known is None:
            salt, iterations = self._salt_of_stranger(name), FEWEST_ITERATIONS
        else:
            salt, iterations = known.credential.salt, known.credential.iterations
        self._challenge = f"r={self._nonce},s={to_base64(salt)},i={iterations}".encode()
        return Reply(self._challenge)

    def _salt_of_stranger(self, name: str) -> bytes:
        return keyed("sha256", self._stranger, f"{self.name}\0{name}".encode())[:_SALT_SIZE]

    # ------------------------------------------------------------------------------------------------- the proof

    def _proved(self, token: bytes) -> Reply:
        final, _, _ = token.rpartition(b",p=")
        said = attributes(token)
        challenge, self._challenge = self._challenge, b""
        # librdkafka before 2.1 puts its own nonce before the whole once more, and Kafka lets it.
        if said is None or not said.get("r", "").endswith(self._nonce):
            raise invalid_credentials(self.name)
        proof = from_base64(said.get("p", ""))
        if said.get("c") != self._binding or proof is None:
            raise invalid_credentials(self.name)
        spoken = b",".join((self._first_bare, challenge, final))
        known = self._known
        # The same work for a user who is not there.
        nothing = bytes(len(hashed(self._hash, b"")))
        stored = nothing if known is None else known.credential.stored_key
        signature = keyed(self._hash, stored, spoken)
        if len(proof) != len(signature) or len(stored) != len(signature):
            raise invalid_credentials(self.name)
        right = hmac.compare_digest(hashed(self._hash, exclusive_or(proof, signature)), stored)
        if known is None or not right:
            raise invalid_credentials(self.name)
        verdict = keyed(self._hash, known.credential.server_key, spoken)
        return Reply(f"v={to_base64(verdict)}".encode(), known.identity)
