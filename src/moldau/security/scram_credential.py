"""What a broker keeps of a password for SCRAM, and for which mechanisms. Nothing here needs to compute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# By Kafka's numbers, which stand in records and requests.
MECHANISMS: Final[Mapping[int, str]] = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
NUMBERS: Final[Mapping[str, int]] = {name: number for number, name in MECHANISMS.items()}
HASHES: Final[Mapping[str, str]] = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}

# Fewer would let whoever listens or steals a credential try passwords too fast; more would keep clients busy.
FEWEST_ITERATIONS: Final = 4096
MOST_ITERATIONS: Final = 16384


class ScramCredential:
    """Enough to check a password, not enough to know it; still a secret, since it lets anybody play the broker."""

    __slots__ = ("iterations", "salt", "server_key", "stored_key")

    def __init__(self, salt: bytes, stored_key: bytes, server_key: bytes, iterations: int) -> None:
        self.salt = salt
        self.stored_key = stored_key
        self.server_key = server_key
        self.iterations = iterations

    def __repr__(self) -> str:
        return f"ScramCredential([hidden], iterations={self.iterations})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScramCredential) and self._all() == other._all()

    def __hash__(self) -> int:
        return hash(self._all())

    def _all(self) -> tuple[bytes, bytes, bytes, int]:
        return self.salt, self.stored_key, self.server_key, self.iterations
