"""TLS in front of a node that has none: ends it here, and passes the bytes on."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading


class TlsProxy:
    """Listens at once; `lead_to` says where to. A thread for each direction of each connection: it is for few."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listening.getsockname()[1]
        self._target = ("127.0.0.1", 0)
        self._threads: list[threading.Thread] = []
        self._open: set[socket.socket] = set()
        self.handshakes = 0
        self._start(self._accept)

    def lead_to(self, target: tuple[str, int]) -> None:
        self._target = target

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for each in tuple(self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in tuple(self._threads):
            thread.join(10)

    def _start(self, target: object, *arguments: socket.socket) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                plain, _ = self._listening.accept()
            except OSError:
                return
            self._start(self._connect, plain)

    def _connect(self, plain: socket.socket) -> None:
        try:
            client: socket.socket = self._context.wrap_socket(plain, server_side=True)
            node = socket.create_connection(self._target)
        except OSError:  # a client that does not trust us says so and goes
            plain.close()
            return
        self.handshakes += 1
        self._open |= {client, node}
        self._start(self._pass_on, client, node)
        self._pass_on(node, client)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
        client.close()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)
        if source in self._open:
            self._open.discard(source)
        if not isinstance(source, ssl.SSLSocket):
            source.close()
