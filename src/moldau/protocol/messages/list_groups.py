# Generated from schema/list_groups.wire by tools/generate_messages.py: do not edit.
"""ListGroups: the groups a broker coordinates.

Since version
   3  flexible
   4  filtered by state
   5  filtered by type
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
)
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field, no_tags
from moldau.protocol.primitives import compact_string, fixed, null_sent, read_compact_string, read_string, string
from moldau.protocol.slices import Slices, check_count, value_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_h, _unpack_h = fixed("h")
_pack_ih, _unpack_ih = fixed("ih")


class ListGroupsRequest(Message):
    FIELDS = ("states_filter", "types_filter")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int | None] = 3

    states_filter: list[str]
    types_filter: list[str]

    def __init__(self, *, states_filter: list[str] = UNSET, types_filter: list[str] = UNSET) -> None:
        self.states_filter = [] if states_filter is UNSET else states_filter
        self.types_filter = [] if types_filter is UNSET else types_filter
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ListGroupsRequest], version: int) -> None:
        buf = out.buffer
        if version >= 3:
            for item in items:
                if version >= 4:
                    buf += compact_strings(item.states_filter)
                else:
                    if item.states_filter:
                        raise no_such_field("ListGroupsRequest", "states_filter", version)
                if version >= 5:
                    buf += compact_strings(item.types_filter)
                else:
                    if item.types_filter:
                        raise no_such_field("ListGroupsRequest", "types_filter", version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if item.states_filter:
                raise no_such_field("ListGroupsRequest", "states_filter", version)
            if item.types_filter:
                raise no_such_field("ListGroupsRequest", "types_filter", version)
            if item.unknown_tags:
                raise no_tags("ListGroupsRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ListGroupsRequest], int]:
        items: list[ListGroupsRequest] = []
        if version >= 3:
            for _ in range(count):
                item = new(ListGroupsRequest)
                if version >= 4:
                    size, pos = read_compact_count(data, pos, 1)
                    if size < 0:
                        raise null_sent("states_filter")
                    item.states_filter, pos = read_many(read_compact_string, data, pos, size)
                else:
                    item.states_filter = []
                if version >= 5:
                    size, pos = read_compact_count(data, pos, 1)
                    if size < 0:
                        raise null_sent("types_filter")
                    item.types_filter, pos = read_many(read_compact_string, data, pos, size)
                else:
                    item.types_filter = []
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(ListGroupsRequest)
            item.states_filter = []
            item.types_filter = []
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[ListGroupsRequest], int]]:
        check_count(count)
        items: list[ListGroupsRequest] = []
        if version >= 3:
            for _ in range(count):
                item = new(ListGroupsRequest)
                if version >= 4:
                    size, pos = read_compact_count(data, pos, 1)
                    if size < 0:
                        raise null_sent("states_filter")
                    item.states_filter, pos = yield from value_slices(read_compact_string, data, pos, size)
                else:
                    item.states_filter = []
                if version >= 5:
                    size, pos = read_compact_count(data, pos, 1)
                    if size < 0:
                        raise null_sent("types_filter")
                    item.types_filter, pos = yield from value_slices(read_compact_string, data, pos, size)
                else:
                    item.types_filter = []
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(ListGroupsRequest)
            item.states_filter = []
            item.types_filter = []
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class ListedGroup(Struct):
    FIELDS = ("group_id", "protocol_type", "group_state", "group_type")
    __slots__ = FIELDS

    group_id: str
    protocol_type: str
    group_state: str
    group_type: str

    def __init__(
        self,
        *,
        group_id: str = "",
        protocol_type: str = "",
        group_state: str = "",
        group_type: str = "",
    ) -> None:
        self.group_id = group_id
        self.protocol_type = protocol_type
        self.group_state = group_state
        self.group_type = group_type
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ListedGroup], version: int) -> None:
        buf = out.buffer
        if version >= 3:
            for item in items:
                buf += compact_string(item.group_id)
                buf += compact_string(item.protocol_type)
                if version >= 4:
                    buf += compact_string(item.group_state)
                if version >= 5:
                    buf += compact_string(item.group_type)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.group_id)
            buf += string(item.protocol_type)
            if item.unknown_tags:
                raise no_tags("ListedGroup", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ListedGroup], int]:
        items: list[ListedGroup] = []
        if version >= 3:
            for _ in range(count):
                item = new(ListedGroup)
                item.group_id, pos = read_compact_string(data, pos)
                item.protocol_type, pos = read_compact_string(data, pos)
                if version >= 4:
                    item.group_state, pos = read_compact_string(data, pos)
                else:
                    item.group_state = ""
                if version >= 5:
                    item.group_type, pos = read_compact_string(data, pos)
                else:
                    item.group_type = ""
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(ListedGroup)
            item.group_id, pos = read_string(data, pos)
            item.protocol_type, pos = read_string(data, pos)
            item.group_state = ""
            item.group_type = ""
            item.unknown_tags = None
            items.append(item)
        return items, pos


class ListGroupsResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "groups")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int | None] = 3

    throttle_time_ms: int
    error_code: int
    groups: list[ListedGroup]

    def __init__(self, *, throttle_time_ms: int = 0, error_code: int = 0, groups: list[ListedGroup] = UNSET) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.groups = [] if groups is UNSET else groups
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ListGroupsResponse], version: int) -> None:
        buf = out.buffer
        if version >= 3:
            for item in items:
                buf += _pack_ih(item.throttle_time_ms, item.error_code)
                buf += compact_array_count(item.groups)
                ListedGroup.write_all(out, item.groups, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 1:
                buf += _pack_ih(item.throttle_time_ms, item.error_code)
            else:
                buf += _pack_h(item.error_code)
            buf += array_count(item.groups)
            ListedGroup.write_all(out, item.groups, version)
            if item.unknown_tags:
                raise no_tags("ListGroupsResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ListGroupsResponse], int]:
        items: list[ListGroupsResponse] = []
        if version >= 3:
            for _ in range(count):
                item = new(ListGroupsResponse)
                item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
                pos += 6
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("groups")
                item.groups, pos = ListedGroup.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(ListGroupsResponse)
            if version >= 1:
                item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
                pos += 6
            else:
                (item.error_code,) = _unpack_h(data, pos)
                pos += 2
                item.throttle_time_ms = 0
            size, pos = read_count(data, pos, 4)
            if size < 0:
                raise null_sent("groups")
            item.groups, pos = ListedGroup.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ListGroupsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 3:
            for item in items:
                buf += _pack_ih(item.throttle_time_ms, item.error_code)
                buf += compact_array_count(item.groups)
                yield from written_slices(ListedGroup.write_all, out, item.groups, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            if version >= 1:
                buf += _pack_ih(item.throttle_time_ms, item.error_code)
            else:
                buf += _pack_h(item.error_code)
            buf += array_count(item.groups)
            yield from written_slices(ListedGroup.write_all, out, item.groups, version)
            if item.unknown_tags:
                raise no_tags("ListGroupsResponse", version)
            yield 1
