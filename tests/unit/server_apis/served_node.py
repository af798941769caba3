"""A node that serves its clients from a thread of its own, and clients that say exactly what they are told."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from in_process_node import InProcessNode

from moldau.protocol.api import request_header_version
from moldau.protocol.message import Message
from moldau.runtime.real import RealRuntime

PATIENCE = 60.0


class Served:
    """A node on a thread of its own, with the express way or without."""

    def __init__(
        self,
        data: Path,
        *,
        express: bool,
        topics: Mapping[str, Mapping[str, str]],
        settings: dict[str, str] | None = None,
    ) -> None:
        runtime = RealRuntime()
        self.express = runtime.network.express
        if not express:
            runtime.network.express = runtime.loop.express = None
        self.data = data
        self.node = InProcessNode(data, compiled=True, settings=settings, runtime=runtime)
        self.ids = {name: self.node.create_topic(name, 2, **config) for name, config in topics.items()}
        self.address = self.node.node.server.address("PLAINTEXT")
        self.thread = threading.Thread(target=runtime.loop.run, daemon=True)
        self.thread.start()

    @property
    def served(self) -> int:
        assert self.express is not None
        return self.express.served

    @contextmanager
    def held(self) -> Iterator[None]:
        """What is sent meanwhile is found together by the next turn, in the order in which it was sent.

        The kernel keeps whoever was served in a turn in line until it is asked again. Held in that turn, a connection
        would be found at its old place, ahead of others: so the loop asks once more before it is held.
        """
        reached, go_on = threading.Event(), threading.Event()
        loop = self.node.runtime.loop

        def hold() -> None:
            reached.set()
            assert go_on.wait(PATIENCE)

        loop.call_from_thread(lambda: loop.call_from_thread(hold))
        assert reached.wait(PATIENCE)
        try:
            yield
        finally:
            go_on.set()

    def close(self) -> None:
        self.node.runtime.loop.call_from_thread(self.node.runtime.loop.stop)
        self.thread.join(PATIENCE)
        self.node.close()


class Client:
    def __init__(
        self, address: tuple[str, int], client_id: str | None = "test", context: ssl.SSLContext | None = None
    ) -> None:
        """With a `context` over TLS."""
        self.socket = socket.create_connection(address, timeout=PATIENCE)
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_hostname="localhost")
        self._client = b"\xff\xff" if client_id is None else struct.pack(">h", len(client_id)) + client_id.encode()
        self._stream = self.socket.makefile("rb")

    def frame(self, request: Message, version: int, correlation_id: int = 0) -> bytes:
        tags = b"\0" if request_header_version(request.API_KEY, version) >= 2 else b""
        head = struct.pack(">hhi", request.API_KEY, version, correlation_id) + self._client + tags
        body = request.encode(version)
        return struct.pack(">i", len(head) + len(body)) + head + body

    def answer(self) -> bytes | None:
        """The next answer; None at the end."""
        try:
            size = self._stream.read(4)
            return self._stream.read(int.from_bytes(size, "big")) if size else None
        except ConnectionError:
            return None

    def close(self) -> None:
        self._stream.close()
        self.socket.close()
