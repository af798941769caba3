"""Nodes that take nothing although something waits for them (KIP-794, `partitioner_availability_timeout_ms`).

They may be away, or hang, or have as many requests unanswered as they may have. Records without a key go elsewhere
until the first batch leaves for them again, or nothing waits for them any more.
"""

from __future__ import annotations

from collections.abc import Set
from math import inf


class StuckNodes:
    """`nodes` are those that have taken nothing for longer than `timeout`; a timeout of 0 means that nobody asks."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self.nodes: frozenset[int] = frozenset()
        self.next_look = inf
        self._since: dict[int, float] = {}

    def moves(self, node: int) -> None:
        """A batch has left for it."""
        self._since.pop(node, None)

    def look(self, waiting: Set[int], now: float) -> bool:
        """`waiting` are the nodes that something waits for; whether `nodes` has changed."""
        self._since = {node: self._since.get(node, now) for node in waiting if node >= 0}
        nodes = frozenset(node for node, since in self._since.items() if now - since >= self.timeout)
        pending = [since + self.timeout for node, since in self._since.items() if node not in nodes]
        self.next_look = min(pending, default=inf)
        changed, self.nodes = nodes != self.nodes, nodes
        return changed
