"""Cutting wires: what comes from one node can be held back and what comes from another not."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from moldau.testing.owners import SocketOwners
from moldau.testing.proxy import Proxy

PATIENCE = 30.0
SHORT = 0.2


@contextmanager
def echo() -> Iterator[int]:
    """A server that sends back what it is sent; its port."""
    listening = socket.create_server(("127.0.0.1", 0))
    opened: list[socket.socket] = []

    def answer(client: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(100):
                client.sendall(data)

    def serve() -> None:
        with suppress(OSError):
            while True:
                client, _ = listening.accept()
                opened.append(client)
                threading.Thread(target=answer, args=(client,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield listening.getsockname()[1]
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    for each in opened:
        each.close()


class Caller:
    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)

    @property
    def port(self) -> int:
        return int(self.socket.getsockname()[1])

    def passes(self) -> bool:
        """Whether a byte comes back."""
        self.socket.sendall(b"x")
        return self._comes(PATIENCE)

    def is_held(self) -> bool:
        """Whether none does; it is still on its way then."""
        self.socket.sendall(b"x")
        return not self._comes(SHORT)

    def comes_late(self) -> bool:
        return self._comes(PATIENCE)

    def _comes(self, seconds: float) -> bool:
        self.socket.settimeout(seconds)
        try:
            return self.socket.recv(1) == b"x"
        except TimeoutError:
            return False


@contextmanager
def wired(nodes: dict[int, int], own: int = 9) -> Iterator[Proxy]:
    """A proxy in front of node `own`; `nodes` has the node of a port, and grows as callers come."""
    with echo() as port:
        proxy = Proxy(lambda port, _to: nodes.get(port), own=own)
        proxy.lead_to("127.0.0.1", port)
        yield proxy
        proxy.close()


def caller(proxy: Proxy, nodes: dict[int, int], node: int | None) -> Caller:
    made = socket.socket()
    made.bind(("127.0.0.1", 0))
    if node is not None:
        nodes[made.getsockname()[1]] = node
    made.settimeout(PATIENCE)
    made.connect(("127.0.0.1", proxy.port))
    calling = Caller.__new__(Caller)
    calling.socket = made
    return calling


def test_one_node_is_held_back_and_others_are_not() -> None:
    nodes: dict[int, int] = {}
    with wired(nodes) as proxy:
        one, two, client = (caller(proxy, nodes, node) for node in (1, 2, None))
        assert one.passes()
        assert two.passes()
        assert client.passes()
        proxy.hold_from(1)
        assert one.is_held()
        assert two.passes()
        assert client.passes()
        late = caller(proxy, nodes, 1)
        assert late.is_held()
        proxy.release_from(1)
        assert one.comes_late()
        assert late.comes_late()
        for each in (one, two, client, late):
            each.socket.close()


def test_a_node_that_is_cut_off_still_reaches_itself() -> None:
    nodes: dict[int, int] = {}
    with wired(nodes, own=1) as proxy:
        itself, other, client = (caller(proxy, nodes, node) for node in (1, 2, None))
        for each in (itself, other, client):
            assert each.passes()
        proxy.hold()
        assert itself.passes()
        assert other.is_held()
        assert client.is_held()
        late = caller(proxy, nodes, 1)
        assert late.passes()
        proxy.release()
        assert other.comes_late()
        assert client.comes_late()
        for each in (itself, other, client, late):
            each.socket.close()


def test_whose_a_socket_is() -> None:
    script = "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); sys.stdin.read()"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        process = subprocess.Popen([sys.executable, "-c", script, str(port)], stdin=subprocess.PIPE)
        listening.settimeout(PATIENCE)
        theirs, (_, their_port) = listening.accept()
        with theirs, socket.create_connection(("127.0.0.1", port)) as ours:
            owners = SocketOwners(lambda: {7: process.pid})
            assert owners.of(their_port, port) == 7
            assert owners.of(ours.getsockname()[1], port) is None
            assert SocketOwners(dict).of(their_port, port) is None
        process.communicate()
