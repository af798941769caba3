# Generated from schema/headers.wire by tools/generate_messages.py: do not edit.
"""RequestHeader: precedes every request. The client id keeps its old encoding so that a broker can read it at any
version.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new, no_tags
from moldau.protocol.primitives import fixed, nullable_string, view_nullable_string
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_hhi, _unpack_hhi = fixed("hhi")


class RequestHeader(Message):
    FIELDS = ("request_api_key", "request_api_version", "correlation_id", "client_id")
    __slots__ = FIELDS

    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 2
    KEEPS_VIEW: ClassVar[bool] = True

    request_api_key: int
    request_api_version: int
    correlation_id: int
    client_id: str | None

    def __init__(
        self,
        *,
        request_api_key: int = 0,
        request_api_version: int = 0,
        correlation_id: int = 0,
        client_id: str | None = "",
    ) -> None:
        self.request_api_key = request_api_key
        self.request_api_version = request_api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[RequestHeader], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_hhi(item.request_api_key, item.request_api_version, item.correlation_id)
                buf += nullable_string(item.client_id)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_hhi(item.request_api_key, item.request_api_version, item.correlation_id)
            buf += nullable_string(item.client_id)
            if item.unknown_tags:
                raise no_tags("RequestHeader", version)

    @staticmethod
    def read_all(data: memoryview, pos: int, version: int, count: int) -> tuple[list[RequestHeader], int]:
        items: list[RequestHeader] = []
        if version >= 2:
            for _ in range(count):
                item = new(RequestHeader)
                item.request_api_key, item.request_api_version, item.correlation_id = _unpack_hhi(data, pos)
                pos += 8
                item.client_id, pos = view_nullable_string(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(RequestHeader)
            item.request_api_key, item.request_api_version, item.correlation_id = _unpack_hhi(data, pos)
            pos += 8
            item.client_id, pos = view_nullable_string(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos
