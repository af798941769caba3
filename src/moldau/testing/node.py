"""One node of a cluster under test, and what can be done to it: stopped, killed, paused, cut off, started again."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from pathlib import Path

from moldau.supervision.layout import CLIENTS, CONTROLLER, HOST, reserve
from moldau.supervision.process import NodeFailed, NodeProcess
from moldau.testing.proxy import Proxy


class Wires:
    """What stands between a node and everybody else: a proxy for each of its listeners.

    `whose` tells which node a connection comes from, by the ports of both its ends; None for clients. What a node says
    to itself passes no cable, and is never held back.
    """

    def __init__(self, id: int, whose: Callable[[int, int], int | None] | None, *, votes: bool) -> None:
        self.clients = Proxy(whose, own=id)
        self.controller = Proxy(whose, own=id) if votes else None

    @property
    def proxies(self) -> list[Proxy]:
        return [self.clients] if self.controller is None else [self.clients, self.controller]


class Node:
    """`address` is where clients find it, from the first start to the last: a restart comes back at the same place."""

    # Our own tests put another broker's process here, to see that they hold for it too.
    process_kind: type[NodeProcess] = NodeProcess

    def __init__(
        self,
        id: int,
        directory: Path,
        *,
        votes: bool = False,
        wires: Wires | None = None,
        cluster_id: str | None = None,
    ) -> None:
        self.id = id
        self.directory = directory
        self.cluster_id = cluster_id
        # The ports stay this node's while it is down.
        self._reserved = [reserve() for _ in range(2 if votes else 1)]
        self._port: int = self._reserved[0].getsockname()[1]
        self.controller_port: int | None = self._reserved[1].getsockname()[1] if votes else None
        self._wires = wires
        if wires is not None:
            wires.clients.lead_to(HOST, self._port)
            if wires.controller is not None and self.controller_port is not None:
                wires.controller.lead_to(HOST, self.controller_port)
        self._process: NodeProcess | None = None
        # The other nodes of the cluster, for `cut_off`.
        self.others: list[Node] = []

    @property
    def port(self) -> int:
        """Where it listens for clients itself, behind any proxy."""
        return self._port

    @property
    def address(self) -> str:
        return f"{HOST}:{self._wires.clients.port if self._wires else self._port}"

    @property
    def voter(self) -> str | None:
        """As it stands in controller.quorum.voters."""
        if self.controller_port is None:
            return None
        wire = self._wires.controller if self._wires else None
        return f"{self.id}@{HOST}:{self.controller_port if wire is None else wire.port}"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.running

    def configure(self, settings: Mapping[str, str]) -> None:
        """What it is started with, the next time."""
        merged = dict(settings)
        if self._wires is not None:
            advertised = [f"{CLIENTS}://{self.address}"]
            if self._wires.controller is not None:
                advertised.append(f"{CONTROLLER}://{HOST}:{self._wires.controller.port}")
            merged["advertised.listeners"] = ",".join(advertised)
        listen = None if "listeners" in merged else f"{HOST}:{self._port}"
        self._process = self.process_kind(self.id, self.directory, merged, cluster_id=self.cluster_id, listen=listen)

    def begin(self) -> None:
        """Starts it and does not wait: several nodes get ready side by side."""
        assert self._process is not None
        if not self.running:
            self._process.begin()

    def wait_ready(self) -> None:
        assert self._process is not None
        self._process.wait_ready()

    def start(self) -> None:
        """Starts it where it was before, with the data it had; returns when clients are accepted."""
        if not self.running:
            self.begin()
            self.wait_ready()

    def stop(self) -> None:
        """Shuts it down in order, as SIGTERM does."""
        if self.running and self._process is not None:
            self._process.stop()

    def kill(self) -> None:
        """As `kill -9` does: nothing is finished, nothing is said."""
        if self._process is not None:
            self._process.kill()

    def restart(self) -> None:
        """Stops it in order if it runs, and starts it again."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Halts the process (SIGSTOP): connections stay open and nothing answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def cut_off(self) -> None:
        """Pulls its network cable: connections stay open, bytes no longer pass in either direction, new connections
        hang; neither clients nor the other nodes reach it, nor it them.

        Needs `Cluster(proxied=True)`, because something has to stand between them for that.
        """
        for proxy in self._between().proxies:
            proxy.hold()
        for other in self.others:
            for proxy in other._between().proxies:
                proxy.hold_from(self.id)

    def heal(self) -> None:
        """Ends `cut_off`: what was held back passes on."""
        for proxy in self._between().proxies:
            proxy.release()
        for other in self.others:
            for proxy in other._between().proxies:
                proxy.release_from(self.id)

    def disconnect(self) -> None:
        """Breaks all connections there are at the moment; new ones are possible at once."""
        for proxy in self._between().proxies:
            proxy.drop()

    def close(self) -> None:
        """Ends it at once. The data goes with the directory, so there is nothing to finish."""
        self.kill()
        for place in self._reserved:
            place.close()
        if self._wires is not None:
            for proxy in self._wires.proxies:
                proxy.close()

    def log_tail(self, lines: int = 40) -> str:
        return "" if self._process is None else self._process.log_tail(lines)

    # --------------------------------------------------------------------------------------------------- inside

    def _between(self) -> Wires:
        if self._wires is None:
            raise NodeFailed("A node can be cut off only in a cluster made with proxied=True.")
        return self._wires

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.signal(number)
