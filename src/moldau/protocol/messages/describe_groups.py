# Generated from schema/describe_groups.wire by tools/generate_messages.py: do not edit.
"""DescribeGroups: state and members of classic groups.

Since version
   3  authorized operations on request
   4  static membership
   5  flexible
   6  an error message, and a code of its own for a group that does not exist
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import (
    array_count,
    compact_array_count,
    compact_strings,
    read_compact_count,
    read_count,
    read_many,
    strings,
)
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
from moldau.protocol.slices import Slices, check_count, value_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_h, _unpack_h = fixed("h")
_pack_i, _unpack_i = fixed("i")
_pack_o, _unpack_o = fixed("?")


class DescribeGroupsRequest(Message):
    FIELDS = ("groups", "include_authorized_operations")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_SINCE: ClassVar[int | None] = 5

    groups: list[str]
    include_authorized_operations: bool

    def __init__(self, *, groups: list[str] = UNSET, include_authorized_operations: bool = False) -> None:
        self.groups = [] if groups is UNSET else groups
        self.include_authorized_operations = include_authorized_operations
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeGroupsRequest], version: int) -> None:
        buf = out.buffer
        if version >= 5:
            for item in items:
                buf += compact_strings(item.groups)
                buf += _pack_o(item.include_authorized_operations)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += strings(item.groups)
            if version >= 3:
                buf += _pack_o(item.include_authorized_operations)
            else:
                if item.include_authorized_operations:
                    raise no_such_field("DescribeGroupsRequest", "include_authorized_operations", version)
            if item.unknown_tags:
                raise no_tags("DescribeGroupsRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeGroupsRequest], int]:
        items: list[DescribeGroupsRequest] = []
        if version >= 5:
            for _ in range(count):
                item = new(DescribeGroupsRequest)
                size, pos = read_compact_count(data, pos, 1)
                if size < 0:
                    raise null_sent("groups")
                item.groups, pos = read_many(read_compact_string, data, pos, size)
                (item.include_authorized_operations,) = _unpack_o(data, pos)
                pos += 1
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DescribeGroupsRequest)
            size, pos = read_count(data, pos, 2)
            if size < 0:
                raise null_sent("groups")
            item.groups, pos = read_many(read_string, data, pos, size)
            if version >= 3:
                (item.include_authorized_operations,) = _unpack_o(data, pos)
                pos += 1
            else:
                item.include_authorized_operations = False
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[DescribeGroupsRequest], int]]:
        check_count(count)
        items: list[DescribeGroupsRequest] = []
        if version >= 5:
            for _ in range(count):
                item = new(DescribeGroupsRequest)
                size, pos = read_compact_count(data, pos, 1)
                if size < 0:
                    raise null_sent("groups")
                item.groups, pos = yield from value_slices(read_compact_string, data, pos, size)
                (item.include_authorized_operations,) = _unpack_o(data, pos)
                pos += 1
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(DescribeGroupsRequest)
            size, pos = read_count(data, pos, 2)
            if size < 0:
                raise null_sent("groups")
            item.groups, pos = yield from value_slices(read_string, data, pos, size)
            if version >= 3:
                (item.include_authorized_operations,) = _unpack_o(data, pos)
                pos += 1
            else:
                item.include_authorized_operations = False
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class DescribedGroupMember(Struct):
    FIELDS = ("member_id", "group_instance_id", "client_id", "client_host", "member_metadata", "member_assignment")
    __slots__ = FIELDS

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    member_metadata: bytes
    member_assignment: bytes

    def __init__(
        self,
        *,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        member_metadata: bytes = b"",
        member_assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.member_metadata = member_metadata
        self.member_assignment = member_assignment
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribedGroupMember], version: int) -> None:
        buf = out.buffer
        if version >= 5:
            for item in items:
                buf += compact_string(item.member_id)
                buf += nullable_compact_string(item.group_instance_id)
                buf += compact_string(item.client_id)
                buf += compact_string(item.client_host)
                buf += compact_bytes(item.member_metadata)
                buf += compact_bytes(item.member_assignment)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.member_id)
            if version >= 4:
                buf += nullable_string(item.group_instance_id)
            buf += string(item.client_id)
            buf += string(item.client_host)
            buf += bytes_(item.member_metadata)
            buf += bytes_(item.member_assignment)
            if item.unknown_tags:
                raise no_tags("DescribedGroupMember", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribedGroupMember], int]:
        items: list[DescribedGroupMember] = []
        if version >= 5:
            for _ in range(count):
                item = new(DescribedGroupMember)
                item.member_id, pos = read_compact_string(data, pos)
                item.group_instance_id, pos = read_nullable_compact_string(data, pos)
                item.client_id, pos = read_compact_string(data, pos)
                item.client_host, pos = read_compact_string(data, pos)
                item.member_metadata, pos = read_compact_bytes(data, pos)
                item.member_assignment, pos = read_compact_bytes(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DescribedGroupMember)
            item.member_id, pos = read_string(data, pos)
            if version >= 4:
                item.group_instance_id, pos = read_nullable_string(data, pos)
            else:
                item.group_instance_id = None
            item.client_id, pos = read_string(data, pos)
            item.client_host, pos = read_string(data, pos)
            item.member_metadata, pos = read_bytes(data, pos)
            item.member_assignment, pos = read_bytes(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class DescribedGroup(Struct):
    FIELDS = (
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "protocol_type",
        "protocol_data",
        "members",
        "authorized_operations",
    )
    __slots__ = FIELDS

    error_code: int
    error_message: str | None
    group_id: str
    group_state: str
    protocol_type: str
    protocol_data: str
    members: list[DescribedGroupMember]
    authorized_operations: int

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        protocol_type: str = "",
        protocol_data: str = "",
        members: list[DescribedGroupMember] = UNSET,
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.protocol_type = protocol_type
        self.protocol_data = protocol_data
        self.members = [] if members is UNSET else members
        self.authorized_operations = authorized_operations
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribedGroup], version: int) -> None:
        buf = out.buffer
        if version >= 5:
            for item in items:
                buf += _pack_h(item.error_code)
                if version >= 6:
                    buf += nullable_compact_string(item.error_message)
                else:
                    if item.error_message is not None:
                        raise no_such_field("DescribedGroup", "error_message", version)
                buf += compact_string(item.group_id)
                buf += compact_string(item.group_state)
                buf += compact_string(item.protocol_type)
                buf += compact_string(item.protocol_data)
                buf += compact_array_count(item.members)
                DescribedGroupMember.write_all(out, item.members, version)
                buf += _pack_i(item.authorized_operations)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_h(item.error_code)
            if item.error_message is not None:
                raise no_such_field("DescribedGroup", "error_message", version)
            buf += string(item.group_id)
            buf += string(item.group_state)
            buf += string(item.protocol_type)
            buf += string(item.protocol_data)
            buf += array_count(item.members)
            DescribedGroupMember.write_all(out, item.members, version)
            if version >= 3:
                buf += _pack_i(item.authorized_operations)
            else:
                if item.authorized_operations != -2147483648:
                    raise no_such_field("DescribedGroup", "authorized_operations", version)
            if item.unknown_tags:
                raise no_tags("DescribedGroup", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribedGroup], int]:
        items: list[DescribedGroup] = []
        if version >= 5:
            for _ in range(count):
                item = new(DescribedGroup)
                (item.error_code,) = _unpack_h(data, pos)
                pos += 2
                if version >= 6:
                    item.error_message, pos = read_nullable_compact_string(data, pos)
                else:
                    item.error_message = None
                item.group_id, pos = read_compact_string(data, pos)
                item.group_state, pos = read_compact_string(data, pos)
                item.protocol_type, pos = read_compact_string(data, pos)
                item.protocol_data, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 7)
                if size < 0:
                    raise null_sent("members")
                item.members, pos = DescribedGroupMember.read_all(data, pos, version, size)
                (item.authorized_operations,) = _unpack_i(data, pos)
                pos += 4
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DescribedGroup)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.error_message = None
            item.group_id, pos = read_string(data, pos)
            item.group_state, pos = read_string(data, pos)
            item.protocol_type, pos = read_string(data, pos)
            item.protocol_data, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 14)
            if size < 0:
                raise null_sent("members")
            item.members, pos = DescribedGroupMember.read_all(data, pos, version, size)
            if version >= 3:
                (item.authorized_operations,) = _unpack_i(data, pos)
                pos += 4
            else:
                item.authorized_operations = -2147483648
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DescribedGroup], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 5:
            for item in items:
                buf += _pack_h(item.error_code)
                if version >= 6:
                    buf += nullable_compact_string(item.error_message)
                else:
                    if item.error_message is not None:
                        raise no_such_field("DescribedGroup", "error_message", version)
                buf += compact_string(item.group_id)
                buf += compact_string(item.group_state)
                buf += compact_string(item.protocol_type)
                buf += compact_string(item.protocol_data)
                buf += compact_array_count(item.members)
                yield from written_slices(DescribedGroupMember.write_all, out, item.members, version)
                buf += _pack_i(item.authorized_operations)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_h(item.error_code)
            if item.error_message is not None:
                raise no_such_field("DescribedGroup", "error_message", version)
            buf += string(item.group_id)
            buf += string(item.group_state)
            buf += string(item.protocol_type)
            buf += string(item.protocol_data)
            buf += array_count(item.members)
            yield from written_slices(DescribedGroupMember.write_all, out, item.members, version)
            if version >= 3:
                buf += _pack_i(item.authorized_operations)
            else:
                if item.authorized_operations != -2147483648:
                    raise no_such_field("DescribedGroup", "authorized_operations", version)
            if item.unknown_tags:
                raise no_tags("DescribedGroup", version)
            yield 1


class DescribeGroupsResponse(Message):
    FIELDS = ("throttle_time_ms", "groups")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_SINCE: ClassVar[int | None] = 5

    throttle_time_ms: int
    groups: list[DescribedGroup]

    def __init__(self, *, throttle_time_ms: int = 0, groups: list[DescribedGroup] = UNSET) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is UNSET else groups
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeGroupsResponse], version: int) -> None:
        buf = out.buffer
        if version >= 5:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.groups)
                DescribedGroup.write_all(out, item.groups, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 1:
                buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.groups)
            DescribedGroup.write_all(out, item.groups, version)
            if item.unknown_tags:
                raise no_tags("DescribeGroupsResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeGroupsResponse], int]:
        items: list[DescribeGroupsResponse] = []
        if version >= 5:
            for _ in range(count):
                item = new(DescribeGroupsResponse)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 12)
                if size < 0:
                    raise null_sent("groups")
                item.groups, pos = DescribedGroup.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DescribeGroupsResponse)
            if version >= 1:
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
            else:
                item.throttle_time_ms = 0
            size, pos = read_count(data, pos, 14)
            if size < 0:
                raise null_sent("groups")
            item.groups, pos = DescribedGroup.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DescribeGroupsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 5:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.groups)
                yield from DescribedGroup.write_slices(out, item.groups, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            if version >= 1:
                buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.groups)
            yield from DescribedGroup.write_slices(out, item.groups, version)
            if item.unknown_tags:
                raise no_tags("DescribeGroupsResponse", version)
            yield 1
