"""`Cluster`: as many nodes as a test asks for, on free ports, with their data in a temporary directory."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final

from moldau.supervision.guard import Guard
from moldau.supervision.layout import Layout, Place, new_cluster_id, voters_among
from moldau.testing.node import Node, Wires
from moldau.testing.owners import SocketOwners
from moldau.testing.questions import Questions

# What a test wants and a server does not: no waiting for further members before a group begins, and topics of the
# node itself that are small enough to be there at once.
_DEFAULTS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
}
# And to see within two seconds that a node is gone. On a server that would be taken for gone too often.
_WATCHFUL: Final = {
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "300",
}


class Cluster:
    """Started by its constructor, gone after `close` or at the end of the `with` block.

    `settings` are broker settings with Kafka's names. `proxied=True` puts wires between clients and nodes, and between
    nodes, that a test can cut (`node.cut_off()`). `directory` is where the data lies, and stays; without it, nothing
    is left.
    """

    node_kind: type[Node] = Node

    def __init__(
        self,
        nodes: int = 1,
        *,
        settings: Mapping[str, str] | None = None,
        proxied: bool = False,
        directory: Path | None = None,
    ) -> None:
        if nodes < 1:
            raise ValueError("a cluster has at least one node")
        self._directory = Path(tempfile.mkdtemp(prefix="moldau-")) if directory is None else directory
        self._guard = Guard(self._directory, keep=directory is not None)
        self._owners = SocketOwners(self._processes)
        self._questions = Questions(lambda: self.bootstrap_servers)
        self.nodes: list[Node] = []
        try:
            self._make(nodes, proxied)
            self._configure(settings or {})
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(node.address for node in self.nodes)

    @property
    def controller(self) -> Node:
        """The node that leads the quorum of controllers."""
        return self.node(self._questions.controller() if len(self.nodes) > 1 else self.nodes[0].id)

    def leader_of(self, topic: str, partition: int = 0) -> Node:
        """The node that leads a partition; waits until there is one."""
        return self.node(self._questions.leader_of(topic, partition))

    def node(self, id: int) -> Node:
        for node in self.nodes:
            if node.id == id:
                return node
        raise KeyError(f"there is no node {id}")

    def start(self) -> None:
        """Starts those that do not run, side by side; returns when all of them accept clients."""
        begun = [node for node in self.nodes if not node.running]
        for node in begun:
            node.begin()
        for node in begun:
            node.wait_ready()

    def kill(self) -> None:
        """All of them at once, as a power cut does."""
        for node in self.nodes:
            node.kill()

    def close(self) -> None:
        """Ends all nodes and removes what they wrote."""
        self._questions.close()
        for node in self.nodes:
            node.close()
        self._guard.close()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --------------------------------------------------------------------------------------------------- inside

    def _make(self, nodes: int, proxied: bool) -> None:
        voting = voters_among(nodes) if nodes > 1 else 0
        cluster_id = new_cluster_id() if nodes > 1 else None
        for id in range(1, nodes + 1):
            votes = id <= voting
            wires = Wires(id, self._owners.of if nodes > 1 else None, votes=votes) if proxied else None
            place = self._directory / f"node-{id}"
            self.nodes.append(self.node_kind(id, place, votes=votes, wires=wires, cluster_id=cluster_id))
        for node in self.nodes:
            node.others = [other for other in self.nodes if other is not node]

    def _configure(self, settings: Mapping[str, str]) -> None:
        if len(self.nodes) == 1:
            self.nodes[0].configure({**_DEFAULTS, "node.id": "1", **settings})
            return
        places = tuple(Place(node.id, node.port, node.controller_port) for node in self.nodes)
        layout = Layout(self.nodes[0].cluster_id or "", places)
        voters = ",".join(node.voter for node in self.nodes if node.voter is not None)
        for node, place in zip(self.nodes, places, strict=True):
            node.configure({**_DEFAULTS, **_WATCHFUL, **layout.settings(place, voters), **settings})

    def _processes(self) -> dict[int, int]:
        return {node.id: node.pid for node in self.nodes if node.pid is not None}
