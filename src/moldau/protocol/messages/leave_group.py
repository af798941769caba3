# Generated from schema/leave_group.wire by tools/generate_messages.py: do not edit.
"""LeaveGroup: members leave a classic group.

Since version
   3  several members in one request
   4  flexible
   5  the reason for leaving
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import array_count, compact_array_count, read_compact_count, read_count
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field, no_tags
from moldau.protocol.primitives import (
    compact_string,
    fixed,
    null_sent,
    nullable_compact_string,
    nullable_string,
    read_compact_string,
    read_nullable_compact_string,
    read_nullable_string,
    read_string,
    string,
)
from moldau.protocol.slices import Slices, check_count, struct_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_h, _unpack_h = fixed("h")
_pack_ih, _unpack_ih = fixed("ih")


class MemberIdentity(Struct):
    FIELDS = ("member_id", "group_instance_id", "reason")
    __slots__ = FIELDS

    member_id: str
    group_instance_id: str | None
    reason: str | None

    def __init__(self, *, member_id: str = "", group_instance_id: str | None = None, reason: str | None = None) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.reason = reason
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[MemberIdentity], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += compact_string(item.member_id)
                buf += nullable_compact_string(item.group_instance_id)
                if version >= 5:
                    buf += nullable_compact_string(item.reason)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.member_id)
            buf += nullable_string(item.group_instance_id)
            if item.unknown_tags:
                raise no_tags("MemberIdentity", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[MemberIdentity], int]:
        items: list[MemberIdentity] = []
        if version >= 4:
            for _ in range(count):
                item = new(MemberIdentity)
                item.member_id, pos = read_compact_string(data, pos)
                item.group_instance_id, pos = read_nullable_compact_string(data, pos)
                if version >= 5:
                    item.reason, pos = read_nullable_compact_string(data, pos)
                else:
                    item.reason = None
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(MemberIdentity)
            item.member_id, pos = read_string(data, pos)
            item.group_instance_id, pos = read_nullable_string(data, pos)
            item.reason = None
            item.unknown_tags = None
            items.append(item)
        return items, pos


class LeaveGroupRequest(Message):
    FIELDS = ("group_id", "member_id", "members")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 13
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int | None] = 4

    group_id: str
    member_id: str
    members: list[MemberIdentity]

    def __init__(self, *, group_id: str = "", member_id: str = "", members: list[MemberIdentity] = UNSET) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.members = [] if members is UNSET else members
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[LeaveGroupRequest], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += compact_string(item.group_id)
                if item.member_id != "":
                    raise no_such_field("LeaveGroupRequest", "member_id", version)
                buf += compact_array_count(item.members)
                MemberIdentity.write_all(out, item.members, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.group_id)
            if version >= 3:
                if item.member_id != "":
                    raise no_such_field("LeaveGroupRequest", "member_id", version)
            else:
                buf += string(item.member_id)
            if version >= 3:
                buf += array_count(item.members)
                MemberIdentity.write_all(out, item.members, version)
            else:
                if item.members:
                    raise no_such_field("LeaveGroupRequest", "members", version)
            if item.unknown_tags:
                raise no_tags("LeaveGroupRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[LeaveGroupRequest], int]:
        items: list[LeaveGroupRequest] = []
        if version >= 4:
            for _ in range(count):
                item = new(LeaveGroupRequest)
                item.group_id, pos = read_compact_string(data, pos)
                item.member_id = ""
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("members")
                item.members, pos = MemberIdentity.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(LeaveGroupRequest)
            item.group_id, pos = read_string(data, pos)
            if version >= 3:
                item.member_id = ""
            else:
                item.member_id, pos = read_string(data, pos)
            if version >= 3:
                size, pos = read_count(data, pos, 4)
                if size < 0:
                    raise null_sent("members")
                item.members, pos = MemberIdentity.read_all(data, pos, version, size)
            else:
                item.members = []
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[LeaveGroupRequest], int]]:
        check_count(count)
        items: list[LeaveGroupRequest] = []
        if version >= 4:
            for _ in range(count):
                item = new(LeaveGroupRequest)
                item.group_id, pos = read_compact_string(data, pos)
                item.member_id = ""
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("members")
                item.members, pos = yield from struct_slices(MemberIdentity.read_all, data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(LeaveGroupRequest)
            item.group_id, pos = read_string(data, pos)
            if version >= 3:
                item.member_id = ""
            else:
                item.member_id, pos = read_string(data, pos)
            if version >= 3:
                size, pos = read_count(data, pos, 4)
                if size < 0:
                    raise null_sent("members")
                item.members, pos = yield from struct_slices(MemberIdentity.read_all, data, pos, version, size)
            else:
                item.members = []
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class MemberResponse(Struct):
    FIELDS = ("member_id", "group_instance_id", "error_code")
    __slots__ = FIELDS

    member_id: str
    group_instance_id: str | None
    error_code: int

    def __init__(self, *, member_id: str = "", group_instance_id: str | None = "", error_code: int = 0) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.error_code = error_code
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[MemberResponse], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += compact_string(item.member_id)
                buf += nullable_compact_string(item.group_instance_id)
                buf += _pack_h(item.error_code)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.member_id)
            buf += nullable_string(item.group_instance_id)
            buf += _pack_h(item.error_code)
            if item.unknown_tags:
                raise no_tags("MemberResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[MemberResponse], int]:
        items: list[MemberResponse] = []
        if version >= 4:
            for _ in range(count):
                item = new(MemberResponse)
                item.member_id, pos = read_compact_string(data, pos)
                item.group_instance_id, pos = read_nullable_compact_string(data, pos)
                (item.error_code,) = _unpack_h(data, pos)
                pos += 2
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(MemberResponse)
            item.member_id, pos = read_string(data, pos)
            item.group_instance_id, pos = read_nullable_string(data, pos)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.unknown_tags = None
            items.append(item)
        return items, pos


class LeaveGroupResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "members")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 13
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int | None] = 4

    throttle_time_ms: int
    error_code: int
    members: list[MemberResponse]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        members: list[MemberResponse] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.members = [] if members is UNSET else members
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[LeaveGroupResponse], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += _pack_ih(item.throttle_time_ms, item.error_code)
                buf += compact_array_count(item.members)
                MemberResponse.write_all(out, item.members, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 1:
                buf += _pack_ih(item.throttle_time_ms, item.error_code)
            else:
                buf += _pack_h(item.error_code)
            if version >= 3:
                buf += array_count(item.members)
                MemberResponse.write_all(out, item.members, version)
            else:
                if item.members:
                    raise no_such_field("LeaveGroupResponse", "members", version)
            if item.unknown_tags:
                raise no_tags("LeaveGroupResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[LeaveGroupResponse], int]:
        items: list[LeaveGroupResponse] = []
        if version >= 4:
            for _ in range(count):
                item = new(LeaveGroupResponse)
                item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
                pos += 6
                size, pos = read_compact_count(data, pos, 5)
                if size < 0:
                    raise null_sent("members")
                item.members, pos = MemberResponse.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(LeaveGroupResponse)
            if version >= 1:
                item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
                pos += 6
            else:
                (item.error_code,) = _unpack_h(data, pos)
                pos += 2
                item.throttle_time_ms = 0
            if version >= 3:
                size, pos = read_count(data, pos, 6)
                if size < 0:
                    raise null_sent("members")
                item.members, pos = MemberResponse.read_all(data, pos, version, size)
            else:
                item.members = []
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[LeaveGroupResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += _pack_ih(item.throttle_time_ms, item.error_code)
                buf += compact_array_count(item.members)
                yield from written_slices(MemberResponse.write_all, out, item.members, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            if version >= 1:
                buf += _pack_ih(item.throttle_time_ms, item.error_code)
            else:
                buf += _pack_h(item.error_code)
            if version >= 3:
                buf += array_count(item.members)
                yield from written_slices(MemberResponse.write_all, out, item.members, version)
            else:
                if item.members:
                    raise no_such_field("LeaveGroupResponse", "members", version)
            if item.unknown_tags:
                raise no_tags("LeaveGroupResponse", version)
            yield 1
