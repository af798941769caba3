# Generated from schema/sasl_authenticate.wire by tools/generate_messages.py: do not edit.
"""SaslAuthenticate: carries one SASL token each way.

Since version
   1  how long the session lasts
   2  flexible
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new, no_tags
from moldau.protocol.primitives import (
    bytes_,
    compact_bytes,
    fixed,
    nullable_compact_string,
    nullable_string,
    read_bytes,
    read_compact_bytes,
    read_nullable_compact_string,
    read_nullable_string,
)
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_h, _unpack_h = fixed("h")
_pack_q, _unpack_q = fixed("q")


class SaslAuthenticateRequest(Message):
    FIELDS = ("auth_bytes",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 36
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    auth_bytes: bytes

    def __init__(self, *, auth_bytes: bytes = b"") -> None:
        self.auth_bytes = auth_bytes
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[SaslAuthenticateRequest], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_bytes(item.auth_bytes)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += bytes_(item.auth_bytes)
            if item.unknown_tags:
                raise no_tags("SaslAuthenticateRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[SaslAuthenticateRequest], int]:
        items: list[SaslAuthenticateRequest] = []
        if version >= 2:
            for _ in range(count):
                item = new(SaslAuthenticateRequest)
                item.auth_bytes, pos = read_compact_bytes(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(SaslAuthenticateRequest)
            item.auth_bytes, pos = read_bytes(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class SaslAuthenticateResponse(Message):
    FIELDS = ("error_code", "error_message", "auth_bytes", "session_lifetime_ms")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 36
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    error_code: int
    error_message: str | None
    auth_bytes: bytes
    session_lifetime_ms: int

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        auth_bytes: bytes = b"",
        session_lifetime_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.auth_bytes = auth_bytes
        self.session_lifetime_ms = session_lifetime_ms
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[SaslAuthenticateResponse], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_h(item.error_code)
                buf += nullable_compact_string(item.error_message)
                buf += compact_bytes(item.auth_bytes)
                buf += _pack_q(item.session_lifetime_ms)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_h(item.error_code)
            buf += nullable_string(item.error_message)
            buf += bytes_(item.auth_bytes)
            if version >= 1:
                buf += _pack_q(item.session_lifetime_ms)
            if item.unknown_tags:
                raise no_tags("SaslAuthenticateResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[SaslAuthenticateResponse], int]:
        items: list[SaslAuthenticateResponse] = []
        if version >= 2:
            for _ in range(count):
                item = new(SaslAuthenticateResponse)
                (item.error_code,) = _unpack_h(data, pos)
                pos += 2
                item.error_message, pos = read_nullable_compact_string(data, pos)
                item.auth_bytes, pos = read_compact_bytes(data, pos)
                (item.session_lifetime_ms,) = _unpack_q(data, pos)
                pos += 8
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(SaslAuthenticateResponse)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.error_message, pos = read_nullable_string(data, pos)
            item.auth_bytes, pos = read_bytes(data, pos)
            if version >= 1:
                (item.session_lifetime_ms,) = _unpack_q(data, pos)
                pos += 8
            else:
                item.session_lifetime_ms = 0
            item.unknown_tags = None
            items.append(item)
        return items, pos
