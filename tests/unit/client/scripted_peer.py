"""A broker that says what the test tells it to say, on a real socket."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from struct import Struct
from types import TracebackType
from typing import Any

from moldau.links.addresses import Address
from moldau.protocol.api import REQUESTS, ApiKey, request_header_version, response_header_version
from moldau.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from moldau.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from moldau.protocol.messages.request_header import RequestHeader
from moldau.protocol.wire import Reader

_LENGTH = Struct(">i")
_HEAD = Struct(">hh")

# What a handler may return instead of a response: nothing is sent, or the connection is closed.
SILENCE = object()
HANG_UP = object()

Handler = Callable[[int, Any], Any]


class ScriptedPeer:
    """`handlers` answer by API: handler(version, request) -> response, bytes of a whole frame, SILENCE or HANG_UP.

    A list of handlers is used up one after the other; its last one stays.
    """

    def __init__(
        self,
        handlers: Mapping[ApiKey, Handler | list[Handler]] | None = None,
        *,
        ranges: Mapping[ApiKey, tuple[int, int]] | None = None,
    ) -> None:
        self.handlers = dict(handlers or {})
        self.ranges = dict(ranges or {})
        self.requests: list[tuple[ApiKey, int, Any]] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = Address(*self._listener.getsockname())
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._closing = False
        self._start(self._accept)

    def __enter__(self) -> ScriptedPeer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._closing:
            return
        self._closing = True
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._open:
            connection.close() if connection.fileno() < 0 else _end(connection)
        for thread in self._threads:
            thread.join(timeout=10)

    def asked(self, key: ApiKey) -> list[Any]:
        """The requests of one API, in order."""
        return [request for api, _, request in self.requests if api == key]

    def versions_asked(self, key: ApiKey) -> list[int]:
        return [version for api, version, _ in self.requests if api == key]

    # -------------------------------------------------------------------------------------------------- inside

    def _start(self, target: Callable[[], None]) -> None:
        thread = threading.Thread(target=target, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(connection)
            self._start(lambda connection=connection: self._serve(connection))  # type: ignore[misc]

    def _serve(self, connection: socket.socket) -> None:
        try:
            while (frame := _read_frame(connection)) is not None:
                answer = self._answer(frame)
                if answer is HANG_UP:
                    break
                if answer is not SILENCE:
                    connection.sendall(_LENGTH.pack(len(answer)) + answer)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the client has had enough
        except OSError:
            if not self._closing:
                raise
        finally:
            connection.close()

    def _answer(self, frame: bytes) -> Any:
        key, version = _HEAD.unpack_from(frame)
        source = Reader(frame)
        kind = REQUESTS[key]
        known = key == ApiKey.API_VERSIONS and version > ApiVersionsRequest.MAX_VERSION
        header = RequestHeader.read(source, 1 if known else request_header_version(key, version))
        request = kind.decode(source.rest(), version)
        self.requests.append((ApiKey(key), version, request))
        answer = self._handler(ApiKey(key))(version, request)
        if answer is SILENCE or answer is HANG_UP or isinstance(answer, bytes):
            return answer
        tags = b"\0" if response_header_version(key, version) else b""
        return _LENGTH.pack(header.correlation_id) + tags + answer.encode(version)

    def _handler(self, key: ApiKey) -> Handler:
        handler = self.handlers.get(key)
        if isinstance(handler, list):
            return handler.pop(0) if len(handler) > 1 else handler[0]
        if handler is None and key == ApiKey.API_VERSIONS:
            return lambda version, request: api_versions(self.offered())
        if handler is None:
            raise AssertionError(f"the script has no line for {key.name}")
        return handler

    def offered(self) -> dict[ApiKey, tuple[int, int]]:
        offered = {key: (REQUESTS[key].MIN_VERSION, REQUESTS[key].MAX_VERSION) for key in self.handlers}
        return {ApiKey.API_VERSIONS: (0, 4), **offered, **self.ranges}


def api_versions(ranges: Mapping[ApiKey, tuple[int, int]], error: int = 0) -> ApiVersionsResponse:
    return ApiVersionsResponse(
        error_code=error,
        api_keys=[ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in ranges.items()],
    )


def metadata(
    brokers: Mapping[int, Address],
    topics: Mapping[str, Mapping[int, tuple[int, int]]] | None = None,
    *,
    controller: int = 1,
    ids: Mapping[str, bytes] | None = None,
    errors: Mapping[str, int] | None = None,
) -> MetadataResponse:
    """`topics` gives (leader, leader epoch) by partition; `errors` names topics that have nothing but an error."""
    described = [
        MetadataResponseTopic(
            name=name,
            topic_id=(ids or {}).get(name, bytes(16)),
            partitions=[
                MetadataResponsePartition(
                    partition_index=index,
                    leader_id=leader,
                    leader_epoch=epoch,
                    replica_nodes=[1],
                    isr_nodes=[1],
                )
                for index, (leader, epoch) in partitions.items()
            ],
        )
        for name, partitions in (topics or {}).items()
    ]
    missing = [MetadataResponseTopic(name=name, error_code=error) for name, error in (errors or {}).items()]
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=node, host=address.host, port=address.port)
            for node, address in brokers.items()
        ],
        cluster_id="scripted",
        controller_id=controller,
        topics=[*described, *missing],
    )


def _read_frame(connection: socket.socket) -> bytes | None:
    head = _read(connection, 4)
    if head is None:
        return None
    (size,) = _LENGTH.unpack(head)
    return _read(connection, size)


def _read(connection: socket.socket, size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        try:
            chunk = connection.recv(size - len(data))
        except ConnectionResetError:
            return None
        if not chunk:
            return None
        data += chunk
    return data


def _end(connection: socket.socket) -> None:
    """Wakes the thread that reads from it; that thread closes it."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        connection.close()
