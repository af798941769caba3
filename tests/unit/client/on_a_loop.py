"""A client's loop on a thread of its own, as applications have it, for tests to look into."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from moldau.client.background import Background
from moldau.client.backoff import Backoff
from moldau.client.conversation import Conversation
from moldau.client.network import ClientNetwork
from moldau.deferred import Deferred
from moldau.links.addresses import Address
from moldau.links.link import Link

PATIENCE = 60.0

T = TypeVar("T")


def eventually(condition: Callable[[], Any]) -> None:
    """Of what happens on another thread, and can only be looked for."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.005)


class OnALoop:
    def __init__(self) -> None:
        self.background = Background("test")
        self.background.start()
        self.losses: list[tuple[Link, Exception]] = []
        self._networks: list[ClientNetwork] = []

    def __enter__(self) -> OnALoop:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.background.close(self._close_networks)

    def _close_networks(self) -> None:
        for network in self._networks:
            network.close()

    def call(self, function: Callable[[], T]) -> T:
        """Runs it on the loop and returns what it returned."""

        def ask() -> Deferred[T]:
            result: Deferred[T] = Deferred()
            result.resolve(function())
            return result

        return self.background.get(ask, PATIENCE)

    def get(self, ask: Callable[[], Deferred[T]]) -> T:
        return self.background.get(ask, PATIENCE)

    def outcome(self, promised: Deferred[T]) -> T:
        """Waits for what was promised already."""
        return self.get(lambda: promised)

    def link(self, address: Address, connect_timeout: float = PATIENCE, **options: Any) -> Link:
        def make() -> Link:
            return Link(
                address,
                self.background.network,
                self.background.clock,
                client_id="tester",
                connect_timeout=connect_timeout,
                lost=lambda link, error: self.losses.append((link, error)),
                chance=lambda: 0.5,
                **options,
            )

        return self.call(make)

    def network(self, *bootstrap: Address, **options: Any) -> ClientNetwork:
        def make() -> ClientNetwork:
            settings: dict[str, Any] = {
                "client_id": "tester",
                "backoff": Backoff(0.01, 0.05),
                "reconnect": Backoff(0.01, 0.05),
                **options,
            }
            background = self.background
            return ClientNetwork(bootstrap, background.loop, background.network, background.clock, **settings)

        network = self.call(make)
        self._networks.append(network)
        return network

    def perform(self, network: ClientNetwork, conversation: Conversation[T], timeout: float = PATIENCE) -> T:
        return self.get(lambda: network.perform(conversation, timeout))
