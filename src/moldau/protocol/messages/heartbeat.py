# Generated from schema/heartbeat.wire by tools/generate_messages.py: do not edit.
"""Heartbeat: a member of a classic group is still there.

Since version
   3  static membership
   4  flexible
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new, no_such_field, no_tags
from moldau.protocol.primitives import (
    compact_string,
    fixed,
    nullable_compact_string,
    nullable_string,
    read_compact_string,
    read_nullable_compact_string,
    read_nullable_string,
    read_string,
    string,
)
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_h, _unpack_h = fixed("h")
_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")


class HeartbeatRequest(Message):
    FIELDS = ("group_id", "generation_id", "member_id", "group_instance_id")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int | None] = 4

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None

    def __init__(
        self,
        *,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[HeartbeatRequest], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += compact_string(item.group_id)
                buf += _pack_i(item.generation_id)
                buf += compact_string(item.member_id)
                buf += nullable_compact_string(item.group_instance_id)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.group_id)
            buf += _pack_i(item.generation_id)
            buf += string(item.member_id)
            if version >= 3:
                buf += nullable_string(item.group_instance_id)
            else:
                if item.group_instance_id is not None:
                    raise no_such_field("HeartbeatRequest", "group_instance_id", version)
            if item.unknown_tags:
                raise no_tags("HeartbeatRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[HeartbeatRequest], int]:
        items: list[HeartbeatRequest] = []
        if version >= 4:
            for _ in range(count):
                item = new(HeartbeatRequest)
                item.group_id, pos = read_compact_string(data, pos)
                (item.generation_id,) = _unpack_i(data, pos)
                pos += 4
                item.member_id, pos = read_compact_string(data, pos)
                item.group_instance_id, pos = read_nullable_compact_string(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(HeartbeatRequest)
            item.group_id, pos = read_string(data, pos)
            (item.generation_id,) = _unpack_i(data, pos)
            pos += 4
            item.member_id, pos = read_string(data, pos)
            if version >= 3:
                item.group_instance_id, pos = read_nullable_string(data, pos)
            else:
                item.group_instance_id = None
            item.unknown_tags = None
            items.append(item)
        return items, pos


class HeartbeatResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int | None] = 4

    throttle_time_ms: int
    error_code: int

    def __init__(self, *, throttle_time_ms: int = 0, error_code: int = 0) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[HeartbeatResponse], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += _pack_ih(item.throttle_time_ms, item.error_code)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 1:
                buf += _pack_ih(item.throttle_time_ms, item.error_code)
            else:
                buf += _pack_h(item.error_code)
            if item.unknown_tags:
                raise no_tags("HeartbeatResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[HeartbeatResponse], int]:
        items: list[HeartbeatResponse] = []
        if version >= 4:
            for _ in range(count):
                item = new(HeartbeatResponse)
                item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
                pos += 6
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(HeartbeatResponse)
            if version >= 1:
                item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
                pos += 6
            else:
                (item.error_code,) = _unpack_h(data, pos)
                pos += 2
                item.throttle_time_ms = 0
            item.unknown_tags = None
            items.append(item)
        return items, pos
