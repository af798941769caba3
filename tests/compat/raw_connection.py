"""A connection without a client library behind it, for tests about the connection itself.

The few requests are built by hand, at old and simple versions, so that a mistake in our own codec cannot hide itself.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import Self

API_VERSIONS, METADATA = 18, 3


def request(api: int, version: int, body: bytes, correlation_id: int) -> bytes:
    data = struct.pack(">hhih", api, version, correlation_id, 3) + b"raw" + body
    return struct.pack(">i", len(data)) + data


def api_versions(correlation_id: int = 1) -> bytes:
    return request(API_VERSIONS, 0, b"", correlation_id)


def all_topics(correlation_id: int = 1) -> bytes:
    return request(METADATA, 1, struct.pack(">i", -1), correlation_id)


class RawConnection:
    def __init__(self, address: tuple[str, int], timeout: float = 30.0) -> None:
        self.socket = socket.create_connection(address, timeout=timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_failure: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def receive(self) -> bytes:
        """One response without its length; ConnectionError if the node hangs up instead."""
        (length,) = struct.unpack(">i", self._read(4))
        return self._read(length)

    def _read(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise ConnectionError("the node closed the connection")
            data += part
        return bytes(data)

    def is_served(self) -> bool:
        """Whether a request is answered as it should be, right now."""
        self.send(api_versions(77))
        answer = self.receive()
        correlation_id, error, count = struct.unpack_from(">ihi", answer)
        return bool(correlation_id == 77 and error == 0 and count > 0)

    def hang_up_hard(self) -> None:
        """Closes with a reset, as a crashed client does."""
        with contextlib.suppress(OSError):
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()
