"""A whole node inside the test, its requests handed to a connection as bytes: all of the server but the socket."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from struct import Struct
from typing import Any

from moldau.config.broker import BrokerConfig
from moldau.deferred import Deferred
from moldau.node import Node
from moldau.protocol.api import request_header_version, response_header_version
from moldau.protocol.message import Message
from moldau.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from moldau.runtime.ports import FileSlice
from moldau.runtime.real import RealRuntime
from moldau.server.apis.table import BROKER_APIS, CONTROLLER_APIS
from moldau.server.connection import Connection
from moldau.server.dispatch import DispatchTable
from moldau.server.request_channel import RequestChannel

_HEADER = Struct(">hhih")
_CORRELATION_ID = 77


class Wire:
    """The lower end of a connection: keeps what is sent."""

    peer = ("127.0.0.1", 1)
    local = ("127.0.0.1", 2)
    activity = 0
    unsent = 0

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.closed: str | None = None
        self.paused = False

    def send(self, chunks: Any) -> None:
        self.sent.append(b"".join(chunk.read() if isinstance(chunk, FileSlice) else bytes(chunk) for chunk in chunks))

    def flush(self) -> None:
        """All of it has left already."""

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    def announce(self, told: Callable[[bytes], None]) -> None:
        """Nothing arrives here but whole frames, one by one."""

    def close(self, reason: str | None = None) -> None:
        self.closed = reason or "closed"


class InProcessNode:
    def __init__(
        self,
        data: Path,
        *,
        compiled: bool,
        settings: dict[str, str] | None = None,
        runtime: RealRuntime | None = None,
        hurry: bool = False,
    ) -> None:
        """With `hurry`, long work is done in slices as in a real node; else none ends because the machine is slow."""
        self.runtime = runtime or RealRuntime()
        properties = {"log.dirs": str(data), "listeners": "PLAINTEXT://127.0.0.1:0", **(settings or {})}
        self.node = Node(BrokerConfig.parse(properties), self.runtime)
        if not hurry:
            _take_time(self.node, self.runtime)
        self.node.start(lambda _addresses: self.runtime.loop.stop())
        self.runtime.loop.run()
        apis = BROKER_APIS if compiled else tuple(_without_raw(api) for api in BROKER_APIS)
        services = self.node.services
        self.channels = {
            name: RequestChannel(DispatchTable(table, services), services, self.runtime.loop, lambda _connection: None)
            for name, table in (("controller", CONTROLLER_APIS), ("broker", apis))
        }

    def create_topic(self, name: str, partitions: int = 1, **configs: str) -> bytes:
        """The id of the new topic."""
        request = CreateTopicsRequest(
            topics=[
                CreatableTopic(
                    name=name,
                    num_partitions=partitions,
                    replication_factor=1,
                    configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
                )
            ],
            timeout_ms=10_000,
        )
        response = self.settle(self.node.controller.create_topics(request))
        assert response.topics[0].error_code == 0, response
        topic_id: bytes = response.topics[0].topic_id
        return topic_id

    def settle(self, deferred: Deferred[Any]) -> Any:
        outcome: list[Any] = []

        def done(value: Any, error: BaseException | None) -> None:
            outcome.extend((value, error))
            self.runtime.loop.stop()

        deferred.then(done)
        if not outcome:
            self.runtime.loop.run()
        value, error = outcome
        if error is not None:
            raise error
        return value

    def ask(self, request: Message, version: int, response: type[Message], *, at: str = "broker") -> Any:
        """Sends the request and reads the answer; None if there was none. Waits where the answer has to."""
        wire = Wire()
        self.send(wire, request_frame(request, version), at=at)
        self.turn_until(lambda: not wire.paused or bool(wire.sent) or wire.closed is not None)
        if wire.closed is not None:
            return wire.closed
        if not wire.sent:
            return None
        (answer,) = wire.sent
        assert int.from_bytes(answer[:4], "big") == len(answer) - 4
        assert int.from_bytes(answer[4:8], "big") == _CORRELATION_ID
        start = 8 + (1 if response_header_version(request.API_KEY, version) else 0)
        return response.decode(answer[start:], version)

    def send(self, wire: Wire, frame: bytearray, *, at: str = "broker") -> None:
        """Hands in one request on a connection of its own; its answer comes to `wire`, now or in a later turn."""
        self.connect(wire, at=at).frame(memoryview(frame), 0, len(frame))

    def connect(self, wire: Any, *, at: str = "broker") -> Connection:
        return Connection(wire, self.channels[at], "PLAINTEXT", 0.0)

    def turn(self) -> None:
        """One turn of the loop."""
        self.runtime.loop.call_soon(self.runtime.loop.stop)
        self.runtime.loop.run()

    def turn_until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self.runtime.loop.call_later(0.002, self.runtime.loop.stop)
            self.runtime.loop.run()

    def close(self) -> None:
        self.node.shutdown(self.runtime.loop.stop)
        self.runtime.loop.run()
        self.runtime.close()


class StandingClock:
    """Of those who ask how long they may go on: always a little longer."""

    def monotonic(self) -> float:
        return 0.0

    def now_ms(self) -> int:
        return 0


def _take_time(node: Node, runtime: RealRuntime) -> None:
    """Unless the test has brought a clock of its own."""
    if node.slicer._now is runtime.clock.monotonic:
        node.slicer._now = StandingClock().monotonic
        node.replicas.arrivals._clock = StandingClock()


def request_frame(request: Message, version: int) -> bytearray:
    tags = b"\0" if request_header_version(request.API_KEY, version) >= 2 else b""
    header = _HEADER.pack(request.API_KEY, version, _CORRELATION_ID, 4) + b"test" + tags
    return bytearray(header + request.encode(version))


def _without_raw(api: Any) -> Any:
    from moldau.dataclass import replace

    return replace(api, raw=None)
