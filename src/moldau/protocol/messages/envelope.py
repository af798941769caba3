# Generated from schema/envelope.wire by tools/generate_messages.py: do not edit.
"""Envelope: a request forwarded to the controller together with who made it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.primitives import (
    compact_bytes,
    fixed,
    nullable_compact_bytes,
    read_compact_bytes,
    read_nullable_compact_bytes,
)
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_h, _unpack_h = fixed("h")


class EnvelopeRequest(Message):
    FIELDS = ("request_data", "request_principal", "client_host_address")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 58
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    request_data: bytes
    request_principal: bytes | None
    client_host_address: bytes

    def __init__(
        self,
        *,
        request_data: bytes = b"",
        request_principal: bytes | None = b"",
        client_host_address: bytes = b"",
    ) -> None:
        self.request_data = request_data
        self.request_principal = request_principal
        self.client_host_address = client_host_address
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[EnvelopeRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_bytes(item.request_data)
            buf += nullable_compact_bytes(item.request_principal)
            buf += compact_bytes(item.client_host_address)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[EnvelopeRequest], int]:
        items: list[EnvelopeRequest] = []
        for _ in range(count):
            item = new(EnvelopeRequest)
            item.request_data, pos = read_compact_bytes(data, pos)
            item.request_principal, pos = read_nullable_compact_bytes(data, pos)
            item.client_host_address, pos = read_compact_bytes(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class EnvelopeResponse(Message):
    FIELDS = ("response_data", "error_code")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 58
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    response_data: bytes | None
    error_code: int

    def __init__(self, *, response_data: bytes | None = None, error_code: int = 0) -> None:
        self.response_data = response_data
        self.error_code = error_code
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[EnvelopeResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += nullable_compact_bytes(item.response_data)
            buf += _pack_h(item.error_code)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[EnvelopeResponse], int]:
        items: list[EnvelopeResponse] = []
        for _ in range(count):
            item = new(EnvelopeResponse)
            item.response_data, pos = read_nullable_compact_bytes(data, pos)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
