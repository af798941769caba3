"""PLAIN on the broker (RFC 4616): a name and a password, compared with those of the listener's JAAS line."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from hashlib import sha256

from moldau.security.principal import user
from moldau.security.verdict import AuthenticationFailed, Identity, Reply, invalid_credentials


class PlainServer:
    """`passwords` by name of the user."""

    name = "PLAIN"

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._passwords = passwords

    def answer(self, token: bytes) -> Reply:
        try:
            parts = token.decode().split("\0")
        except UnicodeDecodeError:
            raise invalid_credentials(self.name) from None
        if len(parts) != 3:
            raise invalid_credentials(self.name)
        wanted, name, password = parts
        if not name:
            raise AuthenticationFailed("Authentication failed: username not specified")
        if not password:
            raise AuthenticationFailed("Authentication failed: password not specified")
        known = self._passwords.get(name)
        # Compared by their hashes, also for a name nobody has: the time taken tells nothing.
        right = hmac.compare_digest(sha256(password.encode()).digest(), sha256((known or "").encode()).digest())
        if not right or known is None:
            raise AuthenticationFailed("Authentication failed: Invalid username or password")
        if wanted not in ("", name):
            raise AuthenticationFailed(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        return Reply(b"", Identity(user(name)))
