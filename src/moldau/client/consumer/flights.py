"""Fetches on their way, by node and lane.

Usually a node has one fetch in flight. A fetch for partitions without new records waits at the broker, up to
`fetch_max_wait_ms`, and answers come in order. So what turns up meanwhile (a seek, a partition that was assigned or
resumed) goes out over a second connection. There no fetch waits for long, so that the next seek need not either; and it
comes back a moment before the first does: then both are one again.
"""

from __future__ import annotations

from typing import Final

# Fetches wait at the broker, so they have connections of their own.
MAIN: Final = "fetch"
ASIDE: Final = "fetch aside"

# An answer that has records comes at once. What took longer than this is waiting for some.
_AT_ONCE: Final = 0.01
# Not worth a request of its own when the first is back in this time.
_SOON: Final = 0.02
_BRIEFLY: Final = 0.05


class Flights:
    def __init__(self) -> None:
        self._until: dict[tuple[int, str], tuple[float, float]] = {}

    def begin(self, node: int, lane: str, now: float, wait: float = 0.0) -> None:
        self._until[node, lane] = (now, now + wait)

    def end(self, node: int, lane: str) -> None:
        self._until.pop((node, lane), None)

    def underway(self, node: int, lane: str) -> bool:
        return (node, lane) in self._until

    def aside(self, node: int, now: float) -> tuple[float, float] | None:
        """What to do beside a fetch that is under way: (seconds until that is worth it, seconds it may then wait)."""
        if (node, ASIDE) in self._until:
            return None
        begun, until = self._until[node, MAIN]
        wait = until - max(now, begun + _AT_ONCE) - _SOON
        return (max(0.0, begun + _AT_ONCE - now), min(wait, _BRIEFLY)) if wait > 0 else None
