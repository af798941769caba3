"""A real runtime on a thread of its own, and blocking sockets to talk to it."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from typing import Any

from moldau.runtime.ports import Receiver, Transport
from moldau.runtime.real import RealRuntime

PATIENCE = 60.0


class Echo:
    """Answers every frame with itself; records what happens."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.frames: list[bytes] = []
        self.reason: str | None = "still open"
        self.closed_event = threading.Event()
        self.drained_count = 0

    def frame(self, data: memoryview, start: int, end: int) -> None:
        body = bytes(data[start:end])
        self.frames.append(body)
        self.answer(body)

    def answer(self, body: bytes) -> None:
        self.transport.send([struct.pack(">i", len(body)), body])

    def drained(self) -> None:
        self.drained_count += 1

    def closed(self, reason: str | None) -> None:
        self.reason = reason
        self.closed_event.set()


class Peer:
    """The other end of a connection: a blocking socket that speaks in frames."""

    def __init__(self, address: tuple[str, int], *, receive_buffer: int | None = None) -> None:
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.settimeout(PATIENCE)
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.connect(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, *bodies: bytes) -> None:
        self.socket.sendall(b"".join(struct.pack(">i", len(body)) + body for body in bodies))

    def receive(self) -> bytes:
        (size,) = struct.unpack(">i", self.exactly(4))
        return self.exactly(size)

    def exactly(self, count: int) -> bytes:
        parts = []
        while count:
            part = self.socket.recv(min(count, 1 << 20))
            if not part:
                raise EOFError(f"the connection ended with {count} bytes missing")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def ended(self) -> bool:
        """Reads to the end of the stream; a reset counts as an end."""
        try:
            while self.socket.recv(1 << 16):
                pass
        except ConnectionResetError:
            pass
        return True


class Running:
    """The runtime under test. What touches it from the test goes through `call`."""

    def __init__(self) -> None:
        self.runtime = RealRuntime()
        self.peers: list[Peer] = []
        self.thread = threading.Thread(target=self.runtime.loop.run, daemon=True)
        self.thread.start()

    def call(self, function: Callable[[], Any]) -> Any:
        """Runs `function` on the loop and returns what it returned."""
        done = threading.Event()
        result: list[Any] = [None, None]

        def run() -> None:
            try:
                result[0] = function()
            except BaseException as error:
                result[1] = error
            done.set()

        self.runtime.loop.call_from_thread(run)
        assert done.wait(PATIENCE), "the loop did not answer"
        if result[1] is not None:
            raise result[1]
        return result[0]

    def listen(
        self,
        receiver: Callable[[Transport], Receiver | None] = Echo,
        *,
        host: str = "127.0.0.1",
        max_frame: int = 100 << 20,
        **options: Any,
    ) -> Any:
        return self.call(lambda: self.runtime.network.listen(host, 0, receiver, max_frame=max_frame, **options))

    def peer(self, address: tuple[str, int], **options: Any) -> Peer:
        peer = Peer(address, **options)
        self.peers.append(peer)
        return peer

    def close(self) -> None:
        for peer in self.peers:
            peer.socket.close()
        self.runtime.loop.call_from_thread(self.runtime.loop.stop)
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive(), "the loop did not stop"
        self.runtime.close()
