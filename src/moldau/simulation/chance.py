"""Seeded chance. Every part of a world draws from a stream of its own: one more draw here moves nothing there."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class SeededRandom:
    """The Random port, and a few more questions that only the simulator asks."""

    __slots__ = ("_random", "seed")

    def __init__(self, seed: int | str) -> None:
        self.seed = seed
        # Seeded with text: the generator hashes it itself, the same way in every process.
        self._random = random.Random(str(seed))

    def fork(self, name: str) -> SeededRandom:
        """An independent stream, the same one for the same name."""
        return SeededRandom(f"{self.seed}/{name}")

    def bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)

    def below(self, limit: int) -> int:
        return self._random.randrange(limit)

    def between(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return self._random.randint(low, high)

    def happens(self, probability: float) -> bool:
        return self._random.random() < probability

    def choice(self, options: Sequence[T]) -> T:
        return self._random.choice(options)

    def fraction(self) -> float:
        return self._random.random()

    def shuffle(self, items: list[T]) -> None:
        self._random.shuffle(items)
