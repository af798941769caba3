"""A socket server on a thread of its own with APIs made for the test, and a blocking client that speaks to it."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from moldau.config.broker import BrokerConfig
from moldau.config.listeners import Endpoint, SecurityProtocol
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage
from moldau.protocol.api import request_header_version, response_header_version
from moldau.protocol.message import Message
from moldau.protocol.messages.request_header import RequestHeader
from moldau.raft.raft_quorum import RaftQuorum
from moldau.runtime.real import RealRuntime
from moldau.server.apis.api_versions import API_VERSIONS
from moldau.server.context import Services
from moldau.server.credentials import NodeCredentials
from moldau.server.dispatch import Api, DispatchTable
from moldau.server.socket_server import SocketServer
from moldau.slicing import Slicer

PATIENCE = 60.0


class Metadata:
    image: MetadataImage = EMPTY_IMAGE


class Client:
    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address, timeout=PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.correlation_id = 0

    def frame(
        self,
        api_key: int,
        version: int,
        body: bytes,
        *,
        client_id: str | None = "test",
        tags: dict[int, bytes] | None = None,
    ) -> bytes:
        self.correlation_id += 1
        header = RequestHeader(
            request_api_key=api_key,
            request_api_version=version,
            correlation_id=self.correlation_id,
            client_id=client_id,
        )
        header.unknown_tags = tags
        flexible = request_header_version(api_key, version)
        content = header.encode(flexible) + body
        return struct.pack(">i", len(content)) + content

    def ask(self, request: Message, version: int, **header: Any) -> None:
        """Sends a request and does not wait for the answer."""
        self.socket.sendall(self.frame(request.API_KEY, version, request.encode(version), **header))

    def call(self, request: Message, version: int, answer: type[Message], **header: Any) -> Any:
        self.ask(request, version, **header)
        correlation_id, response = self.answer(answer, version)
        assert correlation_id == self.correlation_id
        return response

    def answer(self, kind: type[Message], version: int) -> tuple[int, Any]:
        """The next answer: correlation id and message."""
        body = self.receive()
        (correlation_id,) = struct.unpack_from(">i", body)
        start = 4
        if response_header_version(kind.API_KEY, version):
            assert body[4] == 0
            start = 5
        return correlation_id, kind.decode(body[start:], version)

    def receive(self) -> bytes:
        (size,) = struct.unpack(">i", self.exactly(4))
        return self.exactly(size)

    def exactly(self, count: int) -> bytes:
        parts = []
        while count:
            part = self.socket.recv(count)
            if not part:
                raise EOFError("the connection ended")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def ended(self) -> bool:
        """Reads to the end; True if nothing but the end came."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def close(self) -> None:
        self.socket.close()


class RunningServer:
    def __init__(self, apis: Iterable[Api], properties: Mapping[str, str]) -> None:
        self.runtime = RealRuntime()
        self.services = Services()
        self.services.config = BrokerConfig.parse(dict(properties))
        self.services.runtime = self.runtime
        self.services.slicer = Slicer(self.runtime.loop, self.runtime.clock)
        self.services.metadata = Metadata()
        self.services.cluster_id = "a-cluster"
        self.services.credentials = NodeCredentials(self.services)
        runtime = self.runtime
        self.services.quorum = RaftQuorum(
            self.services.config, runtime.disk, runtime.clock, runtime.loop, runtime.random
        )
        self.table = DispatchTable([API_VERSIONS, *apis], self.services)
        self.clients: list[Client] = []
        self.thread = threading.Thread(target=self.runtime.loop.run, daemon=True)
        self.thread.start()
        self.server: SocketServer = self.on_loop(
            lambda: SocketServer(self.services.config, self.runtime, self.services)
        )
        self.address = self.listen("PLAINTEXT")

    def listen(self, name: str, protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT) -> tuple[str, int]:
        endpoint = Endpoint(name, "127.0.0.1", 0, protocol)
        address: tuple[str, int] = self.on_loop(lambda: self.server.open(endpoint, self.table))
        return address

    def on_loop(self, function: Callable[[], Any]) -> Any:
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

    def until(self, condition: Callable[[], object]) -> None:
        """Waits until the condition holds on the loop."""
        met = threading.Event()

        def look() -> None:
            if condition():
                met.set()
            else:
                self.runtime.loop.call_later(0.002, look)

        self.on_loop(look)
        assert met.wait(PATIENCE), "it did not happen"

    def client(self, address: tuple[str, int] | None = None) -> Client:
        client = Client(address or self.address)
        self.clients.append(client)
        return client

    def close(self) -> None:
        for client in self.clients:
            client.close()
        self.runtime.loop.call_from_thread(self.runtime.loop.stop)
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive(), "the loop did not stop"
        self.runtime.close()
