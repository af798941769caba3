# Generated from schema/headers.wire by tools/generate_messages.py: do not edit.
"""ResponseHeader: precedes every response. ApiVersions is always answered with version 0 of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new, no_tags
from moldau.protocol.primitives import fixed
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_i, _unpack_i = fixed("i")


class ResponseHeader(Message):
    FIELDS = ("correlation_id",)
    __slots__ = FIELDS

    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 1
    KEEPS_VIEW: ClassVar[bool] = True

    correlation_id: int

    def __init__(self, *, correlation_id: int = 0) -> None:
        self.correlation_id = correlation_id
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ResponseHeader], version: int) -> None:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += _pack_i(item.correlation_id)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_i(item.correlation_id)
            if item.unknown_tags:
                raise no_tags("ResponseHeader", version)

    @staticmethod
    def read_all(data: memoryview, pos: int, version: int, count: int) -> tuple[list[ResponseHeader], int]:
        items: list[ResponseHeader] = []
        if version >= 1:
            for _ in range(count):
                item = new(ResponseHeader)
                (item.correlation_id,) = _unpack_i(data, pos)
                pos += 4
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(ResponseHeader)
            (item.correlation_id,) = _unpack_i(data, pos)
            pos += 4
            item.unknown_tags = None
            items.append(item)
        return items, pos
