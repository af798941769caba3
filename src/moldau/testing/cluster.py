"""`Cluster`: as many nodes as a test asks for, on free ports, with their data in a temporary directory."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final

from moldau.testing.guard import Guard
from moldau.testing.node import Node, NodeFailed

# What a test wants and a server does not: no waiting for further members before a group begins, and topics of the
# node itself that are small enough to be there at once.
_DEFAULTS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
}


class Cluster:
    """Started by its constructor, gone after `close` or at the end of the `with` block.

    `settings` are broker settings with Kafka's names. `proxied=True` puts a wire between clients and nodes that a
    test can cut (`node.cut_off()`).
    """

    def __init__(self, nodes: int = 1, *, settings: Mapping[str, str] | None = None, proxied: bool = False) -> None:
        if nodes != 1:
            raise NodeFailed(f"A cluster of {nodes} nodes was asked for; this version runs a cluster of one node.")
        self._directory = Path(tempfile.mkdtemp(prefix="moldau-"))
        self._guard = Guard(self._directory)
        self.nodes: list[Node] = []
        try:
            for id in range(1, nodes + 1):
                merged = {**_DEFAULTS, "node.id": str(id), **(settings or {})}
                self.nodes.append(Node(id, self._directory / f"node-{id}", merged, proxied=proxied))
        except BaseException:
            self.close()
            raise

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(node.address for node in self.nodes)

    def close(self) -> None:
        """Ends all nodes and removes what they wrote."""
        for node in self.nodes:
            node.close()
        self._guard.close()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
