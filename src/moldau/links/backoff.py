"""How long to wait before trying again: doubling up to a limit, with jitter so that nobody marches in step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from moldau.dataclass import dataclass, field
from moldau.runtime.ports import Random

_STEPS: Final = 1 << 20


def chance_of(random: Random) -> Callable[[], float]:
    """Numbers from 0 up to 1, as a node has them: from its own source of chance."""
    return lambda: random.below(_STEPS) / _STEPS


@dataclass(slots=True, frozen=True)
class Backoff:
    """Kafka's rule (`retry.backoff.ms`, `retry.backoff.max.ms`): times two per attempt, twenty per cent either way."""

    first: float = 0.1
    limit: float = 1.0
    factor: float = 2.0
    jitter: float = 0.2
    chance: Callable[[], float] = field(kw_only=True)

    def delay(self, attempt: int) -> float:
        """Seconds to wait after failed attempt number `attempt`, counted from 0."""
        # The exponent is capped because a float overflows long before a patient caller stops counting.
        plain = min(self.first * self.factor ** min(attempt, 64), self.limit)
        return plain * (1 + self.jitter * (2 * self.chance() - 1))
