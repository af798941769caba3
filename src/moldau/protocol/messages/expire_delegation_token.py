# Generated from schema/expire_delegation_token.wire by tools/generate_messages.py: do not edit.
"""ExpireDelegationToken: ends a delegation token, or sets when it ends.

Since version
   2  flexible
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new, no_tags
from moldau.protocol.primitives import bytes_, compact_bytes, fixed, read_bytes, read_compact_bytes
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_hqi, _unpack_hqi = fixed("hqi")
_pack_q, _unpack_q = fixed("q")


class ExpireDelegationTokenRequest(Message):
    FIELDS = ("hmac", "expiry_time_period_ms")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 40
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    hmac: bytes
    expiry_time_period_ms: int

    def __init__(self, *, hmac: bytes = b"", expiry_time_period_ms: int = 0) -> None:
        self.hmac = hmac
        self.expiry_time_period_ms = expiry_time_period_ms
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ExpireDelegationTokenRequest], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_bytes(item.hmac)
                buf += _pack_q(item.expiry_time_period_ms)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += bytes_(item.hmac)
            buf += _pack_q(item.expiry_time_period_ms)
            if item.unknown_tags:
                raise no_tags("ExpireDelegationTokenRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ExpireDelegationTokenRequest], int]:
        items: list[ExpireDelegationTokenRequest] = []
        if version >= 2:
            for _ in range(count):
                item = new(ExpireDelegationTokenRequest)
                item.hmac, pos = read_compact_bytes(data, pos)
                (item.expiry_time_period_ms,) = _unpack_q(data, pos)
                pos += 8
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(ExpireDelegationTokenRequest)
            item.hmac, pos = read_bytes(data, pos)
            (item.expiry_time_period_ms,) = _unpack_q(data, pos)
            pos += 8
            item.unknown_tags = None
            items.append(item)
        return items, pos


class ExpireDelegationTokenResponse(Message):
    FIELDS = ("error_code", "expiry_timestamp_ms", "throttle_time_ms")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 40
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    error_code: int
    expiry_timestamp_ms: int
    throttle_time_ms: int

    def __init__(self, *, error_code: int = 0, expiry_timestamp_ms: int = 0, throttle_time_ms: int = 0) -> None:
        self.error_code = error_code
        self.expiry_timestamp_ms = expiry_timestamp_ms
        self.throttle_time_ms = throttle_time_ms
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ExpireDelegationTokenResponse], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_hqi(item.error_code, item.expiry_timestamp_ms, item.throttle_time_ms)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_hqi(item.error_code, item.expiry_timestamp_ms, item.throttle_time_ms)
            if item.unknown_tags:
                raise no_tags("ExpireDelegationTokenResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ExpireDelegationTokenResponse], int]:
        items: list[ExpireDelegationTokenResponse] = []
        if version >= 2:
            for _ in range(count):
                item = new(ExpireDelegationTokenResponse)
                item.error_code, item.expiry_timestamp_ms, item.throttle_time_ms = _unpack_hqi(data, pos)
                pos += 14
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(ExpireDelegationTokenResponse)
            item.error_code, item.expiry_timestamp_ms, item.throttle_time_ms = _unpack_hqi(data, pos)
            pos += 14
            item.unknown_tags = None
            items.append(item)
        return items, pos
