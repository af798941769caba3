"""Real chance, from the operating system: ids and jitter must not be guessable or repeat after a restart."""

from __future__ import annotations

import os
import secrets


class SystemRandom:
    __slots__ = ()

    def bytes(self, count: int) -> bytes:
        return os.urandom(count)

    def below(self, limit: int) -> int:
        return secrets.randbelow(limit)
