"""A node on the simulated network that says what the test tells it to say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct
from typing import Any

from moldau.protocol.api import REQUESTS, ApiKey, request_header_version, response_header_version
from moldau.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from moldau.protocol.messages.request_header import RequestHeader
from moldau.protocol.wire import Reader
from moldau.runtime.ports import Transport
from moldau.simulation.runtime import SimulatedRuntime

_LENGTH = Struct(">i")
_HEAD = Struct(">hh")

SILENCE = object()

Handler = Callable[[int, Any], Any]


class SimulatedPeer:
    """`handlers` answer by API with a response, the bytes of a whole frame, or SILENCE.

    `connections` counts who came, `asked` holds what they asked, with the number of their connection. An answer takes
    `pause` seconds.
    """

    pause = 0.0

    def __init__(self, runtime: SimulatedRuntime, port: int, handlers: Mapping[ApiKey, Handler]) -> None:
        self.handlers = dict(handlers)
        self.loop = runtime.loop
        self.asked: list[tuple[int, ApiKey, Any]] = []
        self.connections = 0
        self._listener = runtime.network.listen("", port, self._accept, max_frame=1 << 20)

    def close(self) -> None:
        self._listener.close()

    def _accept(self, transport: Transport) -> _Connection:
        self.connections += 1
        return _Connection(self, transport, self.connections)


class _Connection:
    def __init__(self, peer: SimulatedPeer, transport: Transport, number: int) -> None:
        self._peer = peer
        self._transport = transport
        self._number = number

    def frame(self, data: memoryview, start: int, end: int) -> None:
        content = bytes(data[start:end])
        key, version = _HEAD.unpack_from(content)
        source = Reader(content)
        header = RequestHeader.read(source, request_header_version(key, version))
        request = REQUESTS[key].decode(source.rest(), version)
        self._peer.asked.append((self._number, ApiKey(key), request))
        handler = self._peer.handlers.get(ApiKey(key), self._versions)
        answer = handler(version, request)
        if answer is SILENCE:
            return
        if not isinstance(answer, bytes):
            tags = b"\0" if response_header_version(key, version) else b""
            answer = _LENGTH.pack(header.correlation_id) + tags + answer.encode(version)
        frame = _LENGTH.pack(len(answer)) + answer
        if self._peer.pause:
            self._peer.loop.call_later(self._peer.pause, lambda: self._transport.send([frame]))
        else:
            self._transport.send([frame])

    def _versions(self, _version: int, _request: Any) -> ApiVersionsResponse:
        offered = [ApiKey.API_VERSIONS, *self._peer.handlers]
        return ApiVersionsResponse(
            api_keys=[
                ApiVersion(api_key=key, min_version=REQUESTS[key].MIN_VERSION, max_version=REQUESTS[key].MAX_VERSION)
                for key in offered
            ]
        )

    def drained(self) -> None:
        pass

    def closed(self, reason: str | None) -> None:
        pass
