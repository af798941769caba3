"""The client for those who wait: one network on a thread of its own, and `run` for conversations with the cluster.

    with Cluster("127.0.0.1:9092") as cluster:
        cluster.run(create_topics([NewTopic("rivers", partitions=3)]))

The command line and Spark's source talk to brokers through this; producers and consumers stand on the same network.
Every conversation has one deadline, whatever it takes: connecting, asking, pausing between tries. Thread-safe.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from time import monotonic
from types import TracebackType
from typing import TypeVar

from moldau.client.background import Background, Waiter
from moldau.client.backoff import Backoff
from moldau.client.conversation import ANY_NODE, Conversation
from moldau.client.metadata import ClusterView
from moldau.client.network import ClientNetwork
from moldau.client.security import OPEN, Security
from moldau.links.addresses import Address, parse_bootstrap
from moldau.links.versions import NodeVersions

T = TypeVar("T")


class Cluster:
    """Connects when it is first used; until then it is only a description, and may cross a fork."""

    def __init__(
        self,
        bootstrap: str | Sequence[Address],
        *,
        client_id: str = "moldau",
        timeout: float = 30.0,
        request_timeout: float | None = None,
        connect_timeout: float = 10.0,
        backoff: Backoff | None = None,
        security: Security = OPEN,
    ) -> None:
        self.bootstrap = parse_bootstrap(bootstrap) if isinstance(bootstrap, str) else list(bootstrap)
        self.client_id = client_id
        self.timeout = timeout
        self.backoff = backoff or Backoff()
        self.security = security
        self._request_timeout = timeout if request_timeout is None else request_timeout
        self._connect_timeout = connect_timeout
        self._opening = threading.Lock()
        self._opened: tuple[Background, ClientNetwork] | None = None

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the thread and all connections. Who uses it again connects again."""
        with self._opening:
            opened, self._opened = self._opened, None
        if opened is not None:
            background, network = opened
            background.close(network.close)

    def open(self) -> tuple[Background, ClientNetwork]:
        """The thread and the network on it; for those who do more there than have conversations."""
        with self._opening:
            if self._opened is None:
                background = Background(self.client_id)
                network = ClientNetwork(
                    self.bootstrap,
                    background.loop,
                    background.network,
                    background.clock,
                    client_id=self.client_id,
                    request_timeout=self._request_timeout,
                    connect_timeout=self._connect_timeout,
                    backoff=self.backoff,
                    security=self.security,
                )
                background.start()
                self._opened = background, network
            return self._opened

    @property
    def view(self) -> ClusterView:
        return ClusterView() if self._opened is None else self._opened[1].view

    def run(self, conversation: Conversation[T], timeout: float | None = None) -> T:
        """Performs the steps of a conversation and returns what it comes to."""
        background, network = self.open()
        return background.run(network, conversation, self.timeout if timeout is None else timeout)

    def begin(self, conversation: Conversation[T], timeout: float | None = None) -> Waiter[T]:
        """The same without waiting: `wait` brings the result."""
        background, network = self.open()
        limit = self.timeout if timeout is None else timeout
        return background.begin(lambda: network.perform(conversation, limit))

    def versions(self, node: int = ANY_NODE) -> NodeVersions:
        """What a node speaks."""
        background, network = self.open()
        deadline = monotonic() + self.timeout
        link = background.get(lambda: network.reach(node), deadline - monotonic())
        assert link.versions is not None
        return link.versions

    def doubt(self) -> None:
        """What failed may have failed because of what we believe about leaders and the controller: ask again.

        The view itself stays, because an answer older than it must not replace it.
        """
        background, network = self.open()
        background.call(network.doubt)
