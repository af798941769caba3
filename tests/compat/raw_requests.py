"""One request to one broker, and its answer: for tests that ask what no client would, or a certain broker."""

from __future__ import annotations

from struct import Struct
from typing import Any, Final

from raw_connection import RawConnection

from moldau.protocol.api import RESPONSES, request_header_version, response_header_version
from moldau.protocol.message import Message

_HEADER: Final = Struct(">hhih")


def ask(bootstrap: str, request: Message, version: int) -> Any:
    host, port = bootstrap.rsplit(":", 1)
    tags = b"\0" if request_header_version(request.API_KEY, version) >= 2 else b""
    frame = _HEADER.pack(request.API_KEY, version, 7, 4) + b"test" + tags + request.encode(version)
    with RawConnection((host, int(port))) as connection:
        connection.send(len(frame).to_bytes(4, "big") + frame)
        answer = connection.receive()
    start = 4 + (1 if response_header_version(request.API_KEY, version) else 0)
    return RESPONSES[request.API_KEY].decode(answer[start:], version)
