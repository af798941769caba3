# Generated from schema/sync_group.wire by tools/generate_messages.py: do not edit.
"""SyncGroup: the leader of a classic group hands in the assignment, and every member gets its part.

Since version
   3  static membership
   4  flexible
   5  protocol type and name, to detect a mismatch
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import array_count, compact_array_count, read_compact_count, read_count
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field, no_tags
from moldau.protocol.primitives import (
    bytes_,
    compact_bytes,
    compact_string,
    fixed,
    null_sent,
    nullable_compact_string,
    nullable_string,
    read_bytes,
    read_compact_bytes,
    read_compact_string,
    read_nullable_compact_string,
    read_nullable_string,
    read_string,
    string,
)
from moldau.protocol.slices import Slices, check_count, struct_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_h, _unpack_h = fixed("h")
_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")


class SyncGroupRequestAssignment(Struct):
    FIELDS = ("member_id", "assignment")
    __slots__ = FIELDS

    member_id: str
    assignment: bytes

    def __init__(self, *, member_id: str = "", assignment: bytes = b"") -> None:
        self.member_id = member_id
        self.assignment = assignment
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[SyncGroupRequestAssignment], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += compact_string(item.member_id)
                buf += compact_bytes(item.assignment)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.member_id)
            buf += bytes_(item.assignment)
            if item.unknown_tags:
                raise no_tags("SyncGroupRequestAssignment", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[SyncGroupRequestAssignment], int]:
        items: list[SyncGroupRequestAssignment] = []
        if version >= 4:
            for _ in range(count):
                item = new(SyncGroupRequestAssignment)
                item.member_id, pos = read_compact_string(data, pos)
                item.assignment, pos = read_compact_bytes(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(SyncGroupRequestAssignment)
            item.member_id, pos = read_string(data, pos)
            item.assignment, pos = read_bytes(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class SyncGroupRequest(Message):
    FIELDS = (
        "group_id",
        "generation_id",
        "member_id",
        "group_instance_id",
        "protocol_type",
        "protocol_name",
        "assignments",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int | None] = 4

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None
    protocol_type: str | None
    protocol_name: str | None
    assignments: list[SyncGroupRequestAssignment]

    def __init__(
        self,
        *,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignments: list[SyncGroupRequestAssignment] = UNSET,
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignments = [] if assignments is UNSET else assignments
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[SyncGroupRequest], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += compact_string(item.group_id)
                buf += _pack_i(item.generation_id)
                buf += compact_string(item.member_id)
                buf += nullable_compact_string(item.group_instance_id)
                if version >= 5:
                    buf += nullable_compact_string(item.protocol_type)
                    buf += nullable_compact_string(item.protocol_name)
                buf += compact_array_count(item.assignments)
                SyncGroupRequestAssignment.write_all(out, item.assignments, version)
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
                    raise no_such_field("SyncGroupRequest", "group_instance_id", version)
            buf += array_count(item.assignments)
            SyncGroupRequestAssignment.write_all(out, item.assignments, version)
            if item.unknown_tags:
                raise no_tags("SyncGroupRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[SyncGroupRequest], int]:
        items: list[SyncGroupRequest] = []
        if version >= 4:
            for _ in range(count):
                item = new(SyncGroupRequest)
                item.group_id, pos = read_compact_string(data, pos)
                (item.generation_id,) = _unpack_i(data, pos)
                pos += 4
                item.member_id, pos = read_compact_string(data, pos)
                item.group_instance_id, pos = read_nullable_compact_string(data, pos)
                if version >= 5:
                    item.protocol_type, pos = read_nullable_compact_string(data, pos)
                    item.protocol_name, pos = read_nullable_compact_string(data, pos)
                else:
                    item.protocol_type = None
                    item.protocol_name = None
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("assignments")
                item.assignments, pos = SyncGroupRequestAssignment.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(SyncGroupRequest)
            item.group_id, pos = read_string(data, pos)
            (item.generation_id,) = _unpack_i(data, pos)
            pos += 4
            item.member_id, pos = read_string(data, pos)
            if version >= 3:
                item.group_instance_id, pos = read_nullable_string(data, pos)
            else:
                item.group_instance_id = None
            item.protocol_type = None
            item.protocol_name = None
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("assignments")
            item.assignments, pos = SyncGroupRequestAssignment.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[SyncGroupRequest], int]]:
        check_count(count)
        items: list[SyncGroupRequest] = []
        if version >= 4:
            for _ in range(count):
                item = new(SyncGroupRequest)
                item.group_id, pos = read_compact_string(data, pos)
                (item.generation_id,) = _unpack_i(data, pos)
                pos += 4
                item.member_id, pos = read_compact_string(data, pos)
                item.group_instance_id, pos = read_nullable_compact_string(data, pos)
                if version >= 5:
                    item.protocol_type, pos = read_nullable_compact_string(data, pos)
                    item.protocol_name, pos = read_nullable_compact_string(data, pos)
                else:
                    item.protocol_type = None
                    item.protocol_name = None
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("assignments")
                item.assignments, pos = yield from struct_slices(
                    SyncGroupRequestAssignment.read_all,
                    data,
                    pos,
                    version,
                    size,
                )
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(SyncGroupRequest)
            item.group_id, pos = read_string(data, pos)
            (item.generation_id,) = _unpack_i(data, pos)
            pos += 4
            item.member_id, pos = read_string(data, pos)
            if version >= 3:
                item.group_instance_id, pos = read_nullable_string(data, pos)
            else:
                item.group_instance_id = None
            item.protocol_type = None
            item.protocol_name = None
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("assignments")
            item.assignments, pos = yield from struct_slices(
                SyncGroupRequestAssignment.read_all,
                data,
                pos,
                version,
                size,
            )
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class SyncGroupResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "protocol_type", "protocol_name", "assignment")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int | None] = 4

    throttle_time_ms: int
    error_code: int
    protocol_type: str | None
    protocol_name: str | None
    assignment: bytes

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignment: bytes = b"",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignment = assignment
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[SyncGroupResponse], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += _pack_ih(item.throttle_time_ms, item.error_code)
                if version >= 5:
                    buf += nullable_compact_string(item.protocol_type)
                    buf += nullable_compact_string(item.protocol_name)
                buf += compact_bytes(item.assignment)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 1:
                buf += _pack_ih(item.throttle_time_ms, item.error_code)
            else:
                buf += _pack_h(item.error_code)
            buf += bytes_(item.assignment)
            if item.unknown_tags:
                raise no_tags("SyncGroupResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[SyncGroupResponse], int]:
        items: list[SyncGroupResponse] = []
        if version >= 4:
            for _ in range(count):
                item = new(SyncGroupResponse)
                item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
                pos += 6
                if version >= 5:
                    item.protocol_type, pos = read_nullable_compact_string(data, pos)
                    item.protocol_name, pos = read_nullable_compact_string(data, pos)
                else:
                    item.protocol_type = None
                    item.protocol_name = None
                item.assignment, pos = read_compact_bytes(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(SyncGroupResponse)
            if version >= 1:
                item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
                pos += 6
            else:
                (item.error_code,) = _unpack_h(data, pos)
                pos += 2
                item.throttle_time_ms = 0
            item.protocol_type = None
            item.protocol_name = None
            item.assignment, pos = read_bytes(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos
