"""Real chance, from the operating system: ids and jitter must not be guessable or repeat after a restart."""

from __future__ import annotations

import os
import random
from typing import Final

# What `secrets` stands on, without the hashes that `secrets` brings along and nobody here needs.
_SOURCE: Final = random.SystemRandom()


class SystemRandom:
    __slots__ = ()

    def bytes(self, count: int) -> bytes:
        return os.urandom(count)

    def below(self, limit: int) -> int:
        return _SOURCE.randrange(limit)
