# Generated from schema/delete_groups.wire by tools/generate_messages.py: do not edit.
"""DeleteGroups: deletes empty groups.

Since version
   2  flexible
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
from moldau.protocol.message import UNSET, Message, Struct, new, no_tags
from moldau.protocol.primitives import compact_string, fixed, null_sent, read_compact_string, read_string, string
from moldau.protocol.slices import Slices, check_count, value_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_h, _unpack_h = fixed("h")
_pack_i, _unpack_i = fixed("i")


class DeleteGroupsRequest(Message):
    FIELDS = ("groups_names",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 42
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    groups_names: list[str]

    def __init__(self, *, groups_names: list[str] = UNSET) -> None:
        self.groups_names = [] if groups_names is UNSET else groups_names
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeleteGroupsRequest], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_strings(item.groups_names)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += strings(item.groups_names)
            if item.unknown_tags:
                raise no_tags("DeleteGroupsRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DeleteGroupsRequest], int]:
        items: list[DeleteGroupsRequest] = []
        if version >= 2:
            for _ in range(count):
                item = new(DeleteGroupsRequest)
                size, pos = read_compact_count(data, pos, 1)
                if size < 0:
                    raise null_sent("groups_names")
                item.groups_names, pos = read_many(read_compact_string, data, pos, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DeleteGroupsRequest)
            size, pos = read_count(data, pos, 2)
            if size < 0:
                raise null_sent("groups_names")
            item.groups_names, pos = read_many(read_string, data, pos, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[DeleteGroupsRequest], int]]:
        check_count(count)
        items: list[DeleteGroupsRequest] = []
        if version >= 2:
            for _ in range(count):
                item = new(DeleteGroupsRequest)
                size, pos = read_compact_count(data, pos, 1)
                if size < 0:
                    raise null_sent("groups_names")
                item.groups_names, pos = yield from value_slices(read_compact_string, data, pos, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(DeleteGroupsRequest)
            size, pos = read_count(data, pos, 2)
            if size < 0:
                raise null_sent("groups_names")
            item.groups_names, pos = yield from value_slices(read_string, data, pos, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class DeletableGroupResult(Struct):
    FIELDS = ("group_id", "error_code")
    __slots__ = FIELDS

    group_id: str
    error_code: int

    def __init__(self, *, group_id: str = "", error_code: int = 0) -> None:
        self.group_id = group_id
        self.error_code = error_code
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeletableGroupResult], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_string(item.group_id)
                buf += _pack_h(item.error_code)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.group_id)
            buf += _pack_h(item.error_code)
            if item.unknown_tags:
                raise no_tags("DeletableGroupResult", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DeletableGroupResult], int]:
        items: list[DeletableGroupResult] = []
        if version >= 2:
            for _ in range(count):
                item = new(DeletableGroupResult)
                item.group_id, pos = read_compact_string(data, pos)
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
            item = new(DeletableGroupResult)
            item.group_id, pos = read_string(data, pos)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.unknown_tags = None
            items.append(item)
        return items, pos


class DeleteGroupsResponse(Message):
    FIELDS = ("throttle_time_ms", "results")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 42
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    throttle_time_ms: int
    results: list[DeletableGroupResult]

    def __init__(self, *, throttle_time_ms: int = 0, results: list[DeletableGroupResult] = UNSET) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is UNSET else results
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeleteGroupsResponse], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.results)
                DeletableGroupResult.write_all(out, item.results, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.results)
            DeletableGroupResult.write_all(out, item.results, version)
            if item.unknown_tags:
                raise no_tags("DeleteGroupsResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DeleteGroupsResponse], int]:
        items: list[DeleteGroupsResponse] = []
        if version >= 2:
            for _ in range(count):
                item = new(DeleteGroupsResponse)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 4)
                if size < 0:
                    raise null_sent("results")
                item.results, pos = DeletableGroupResult.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DeleteGroupsResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_count(data, pos, 4)
            if size < 0:
                raise null_sent("results")
            item.results, pos = DeletableGroupResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DeleteGroupsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.results)
                yield from written_slices(DeletableGroupResult.write_all, out, item.results, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.results)
            yield from written_slices(DeletableGroupResult.write_all, out, item.results, version)
            if item.unknown_tags:
                raise no_tags("DeleteGroupsResponse", version)
            yield 1
