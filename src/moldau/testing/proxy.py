"""A TCP proxy of one thread: what stands in front of a node so that a test can cut the wire.

`hold` is a cable pulled out, not a process that died: nothing is closed, nothing is refused, bytes simply stop. New
connections are left in the listening socket's queue, which to a client looks like a handshake that never ends.
`hold_from` does the same to what comes from one other node; its new connections are taken, and left without an answer.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import threading
from collections.abc import Callable
from typing import Final

_CHUNK: Final = 256 * 1024
_ALIVE: Final = 1.0


class Proxy:
    """In front of node `own`; `whose` tells which node a connection comes from, by the ports of both its ends."""

    def __init__(self, whose: Callable[[int, int], int | None] | None = None, own: int | None = None) -> None:
        self._whose = whose
        self._own = own
        # Which node is at the other end of a client's socket, for those that are nodes.
        self._from: dict[socket.socket, int] = {}
        self._barred: set[int] = set()
        # Taken from nodes that are barred, and not led on.
        self._stranded: list[tuple[socket.socket, int | None]] = []
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._listening.setblocking(False)
        self.port: int = self._listening.getsockname()[1]
        self._target: tuple[str, int] | None = None
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = os.pipe()
        self._other: dict[socket.socket, socket.socket] = {}
        self._unsent: dict[socket.socket, bytes] = {}
        self._held = False
        self._closing = False
        self._dropping = False
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"proxy-{self.port}", daemon=True)
        self._thread.start()

    def lead_to(self, host: str, port: int) -> None:
        self._target = (host, port)

    def hold(self) -> None:
        """From now on nothing passes."""
        self._held = True
        self._nudge()

    def release(self) -> None:
        self._held = False
        self._nudge()

    def hold_from(self, node: int) -> None:
        """From now on nothing passes between that node and ours."""
        self._barred.add(node)
        self._nudge()

    def release_from(self, node: int) -> None:
        self._barred.discard(node)
        self._nudge()

    def drop(self) -> None:
        """Closes every connection there is; returns when they are closed."""
        self._dropping = True
        self._nudge()

    def close(self) -> None:
        self._closing = True
        self._nudge()
        self._thread.join()

    # ------------------------------------------------------------------------------------------------ the thread

    def _nudge(self) -> None:
        """Wakes the thread and waits until it has seen what changed."""
        if threading.current_thread() is self._thread or not self._thread.is_alive():
            return
        self._done.clear()
        os.write(self._wake_write, b"\0")
        self._done.wait(_ALIVE)

    def _run(self) -> None:
        self._selector.register(self._wake_read, selectors.EVENT_READ)
        self._selector.register(self._listening, selectors.EVENT_READ)
        try:
            while not self._closing:
                for key, events in self._selector.select():
                    self._serve(key.fileobj, events)
        finally:
            for each in tuple(self._other):
                self._end(each)
            for client, _ in self._stranded:
                client.close()
            self._selector.close()
            self._listening.close()
            os.close(self._wake_read)
            os.close(self._wake_write)
            self._done.set()

    def _serve(self, ready: object, events: int) -> None:
        if ready == self._wake_read:
            os.read(self._wake_read, 64)
            self._adjust()
            self._done.set()
        elif ready is self._listening:
            self._accept()
        elif isinstance(ready, socket.socket) and ready in self._other:
            if events & selectors.EVENT_WRITE:
                self._send(ready, self._unsent.pop(ready, b""))
            if events & selectors.EVENT_READ and ready in self._other:
                self._pass_on(ready)

    def _adjust(self) -> None:
        if self._dropping:
            self._dropping = False
            for each in tuple(self._other):
                self._end(each)
        with contextlib.suppress(KeyError):  # it is registered, or not, as it should be
            if self._held and self._whose is None:
                self._selector.unregister(self._listening)
            else:
                self._selector.register(self._listening, selectors.EVENT_READ)
        stranded, self._stranded = self._stranded, []
        for client, source in stranded:
            self._take(client, source)
        for each in self._other:
            self._watch(each)

    def _is_held(self, source: int | None) -> bool:
        """What a node says to itself passes no cable."""
        if source is not None and source == self._own:
            return False
        return self._held or source in self._barred

    def _watch(self, each: socket.socket) -> None:
        """Reads from a side as long as the other side takes what is read."""
        events = 0 if self._other[each] in self._unsent else selectors.EVENT_READ
        events |= selectors.EVENT_WRITE if each in self._unsent else 0
        with contextlib.suppress(KeyError):
            self._selector.unregister(each)
        if events and not self._is_held(self._from.get(each)):
            self._selector.register(each, events)

    def _accept(self) -> None:
        try:
            client, (_, port) = self._listening.accept()
        except OSError:
            return
        self._take(client, None if self._whose is None else self._whose(port, self.port))

    def _take(self, client: socket.socket, source: int | None) -> None:
        if self._is_held(source):
            self._stranded.append((client, source))
            return
        try:
            if self._target is None:
                raise ConnectionRefusedError
            node = socket.create_connection(self._target, timeout=_ALIVE)
        except OSError:
            client.close()
            return
        for each in (client, node):
            each.setblocking(False)
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if source is not None:
                self._from[each] = source
        self._other[client], self._other[node] = node, client
        self._watch(client)
        self._watch(node)

    def _pass_on(self, source: socket.socket) -> None:
        try:
            data = source.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._send(self._other[source], data)
        else:
            self._end(source)

    def _send(self, target: socket.socket, data: bytes) -> None:
        try:
            sent = target.send(data) if data else 0
        except BlockingIOError:
            sent = 0
        except OSError:
            self._end(target)
            return
        if sent < len(data):
            self._unsent[target] = data[sent:]
        self._watch(target)
        self._watch(self._other[target])

    def _end(self, each: socket.socket) -> None:
        other = self._other.pop(each, None)
        if other is None:
            return
        self._other.pop(other, None)
        for side in (each, other):
            self._unsent.pop(side, None)
            self._from.pop(side, None)
            with contextlib.suppress(KeyError):
                self._selector.unregister(side)
            side.close()
