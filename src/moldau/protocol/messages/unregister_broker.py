# Generated from schema/unregister_broker.wire by tools/generate_messages.py: do not edit.
"""UnregisterBroker: removes a broker from the cluster."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.primitives import fixed, nullable_compact_string, read_nullable_compact_string
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")


class UnregisterBrokerRequest(Message):
    FIELDS = ("broker_id",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 64
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    broker_id: int

    def __init__(self, *, broker_id: int = 0) -> None:
        self.broker_id = broker_id
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[UnregisterBrokerRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.broker_id)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[UnregisterBrokerRequest], int]:
        items: list[UnregisterBrokerRequest] = []
        for _ in range(count):
            item = new(UnregisterBrokerRequest)
            (item.broker_id,) = _unpack_i(data, pos)
            pos += 4
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class UnregisterBrokerResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "error_message")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 64
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    error_code: int
    error_message: str | None

    def __init__(self, *, throttle_time_ms: int = 0, error_code: int = 0, error_message: str | None = "") -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[UnregisterBrokerResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[UnregisterBrokerResponse], int]:
        items: list[UnregisterBrokerResponse] = []
        for _ in range(count):
            item = new(UnregisterBrokerResponse)
            item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.error_message, pos = read_nullable_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
