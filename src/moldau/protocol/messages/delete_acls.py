# Generated from schema/delete_acls.wire by tools/generate_messages.py: do not edit.
"""DeleteAcls: removes the access control entries that match filters.

Since version
   1  prefixed patterns
   2  flexible
   3  user resources
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import array_count, compact_array_count, read_compact_count, read_count
from moldau.protocol.message import UNSET, Message, Struct, new, no_tags
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

_pack_b, _unpack_b = fixed("b")
_pack_bb, _unpack_bb = fixed("bb")
_pack_h, _unpack_h = fixed("h")
_pack_i, _unpack_i = fixed("i")


class DeleteAclsFilter(Struct):
    FIELDS = (
        "resource_type_filter",
        "resource_name_filter",
        "pattern_type_filter",
        "principal_filter",
        "host_filter",
        "operation",
        "permission_type",
    )
    __slots__ = FIELDS

    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int

    def __init__(
        self,
        *,
        resource_type_filter: int = 0,
        resource_name_filter: str | None = "",
        pattern_type_filter: int = 3,
        principal_filter: str | None = "",
        host_filter: str | None = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.resource_type_filter = resource_type_filter
        self.resource_name_filter = resource_name_filter
        self.pattern_type_filter = pattern_type_filter
        self.principal_filter = principal_filter
        self.host_filter = host_filter
        self.operation = operation
        self.permission_type = permission_type
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeleteAclsFilter], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_b(item.resource_type_filter)
                buf += nullable_compact_string(item.resource_name_filter)
                buf += _pack_b(item.pattern_type_filter)
                buf += nullable_compact_string(item.principal_filter)
                buf += nullable_compact_string(item.host_filter)
                buf += _pack_bb(item.operation, item.permission_type)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_b(item.resource_type_filter)
            buf += nullable_string(item.resource_name_filter)
            buf += _pack_b(item.pattern_type_filter)
            buf += nullable_string(item.principal_filter)
            buf += nullable_string(item.host_filter)
            buf += _pack_bb(item.operation, item.permission_type)
            if item.unknown_tags:
                raise no_tags("DeleteAclsFilter", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DeleteAclsFilter], int]:
        items: list[DeleteAclsFilter] = []
        if version >= 2:
            for _ in range(count):
                item = new(DeleteAclsFilter)
                (item.resource_type_filter,) = _unpack_b(data, pos)
                pos += 1
                item.resource_name_filter, pos = read_nullable_compact_string(data, pos)
                (item.pattern_type_filter,) = _unpack_b(data, pos)
                pos += 1
                item.principal_filter, pos = read_nullable_compact_string(data, pos)
                item.host_filter, pos = read_nullable_compact_string(data, pos)
                item.operation, item.permission_type = _unpack_bb(data, pos)
                pos += 2
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DeleteAclsFilter)
            (item.resource_type_filter,) = _unpack_b(data, pos)
            pos += 1
            item.resource_name_filter, pos = read_nullable_string(data, pos)
            (item.pattern_type_filter,) = _unpack_b(data, pos)
            pos += 1
            item.principal_filter, pos = read_nullable_string(data, pos)
            item.host_filter, pos = read_nullable_string(data, pos)
            item.operation, item.permission_type = _unpack_bb(data, pos)
            pos += 2
            item.unknown_tags = None
            items.append(item)
        return items, pos


class DeleteAclsRequest(Message):
    FIELDS = ("filters",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 31
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    filters: list[DeleteAclsFilter]

    def __init__(self, *, filters: list[DeleteAclsFilter] = UNSET) -> None:
        self.filters = [] if filters is UNSET else filters
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeleteAclsRequest], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_array_count(item.filters)
                DeleteAclsFilter.write_all(out, item.filters, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += array_count(item.filters)
            DeleteAclsFilter.write_all(out, item.filters, version)
            if item.unknown_tags:
                raise no_tags("DeleteAclsRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DeleteAclsRequest], int]:
        items: list[DeleteAclsRequest] = []
        if version >= 2:
            for _ in range(count):
                item = new(DeleteAclsRequest)
                size, pos = read_compact_count(data, pos, 8)
                if size < 0:
                    raise null_sent("filters")
                item.filters, pos = DeleteAclsFilter.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DeleteAclsRequest)
            size, pos = read_count(data, pos, 10)
            if size < 0:
                raise null_sent("filters")
            item.filters, pos = DeleteAclsFilter.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[DeleteAclsRequest], int]]:
        check_count(count)
        items: list[DeleteAclsRequest] = []
        if version >= 2:
            for _ in range(count):
                item = new(DeleteAclsRequest)
                size, pos = read_compact_count(data, pos, 8)
                if size < 0:
                    raise null_sent("filters")
                item.filters, pos = yield from struct_slices(DeleteAclsFilter.read_all, data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(DeleteAclsRequest)
            size, pos = read_count(data, pos, 10)
            if size < 0:
                raise null_sent("filters")
            item.filters, pos = yield from struct_slices(DeleteAclsFilter.read_all, data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DeleteAclsRequest], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_array_count(item.filters)
                yield from written_slices(DeleteAclsFilter.write_all, out, item.filters, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += array_count(item.filters)
            yield from written_slices(DeleteAclsFilter.write_all, out, item.filters, version)
            if item.unknown_tags:
                raise no_tags("DeleteAclsRequest", version)
            yield 1


class DeleteAclsMatchingAcl(Struct):
    FIELDS = (
        "error_code",
        "error_message",
        "resource_type",
        "resource_name",
        "pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
    )
    __slots__ = FIELDS

    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeleteAclsMatchingAcl], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_h(item.error_code)
                buf += nullable_compact_string(item.error_message)
                buf += _pack_b(item.resource_type)
                buf += compact_string(item.resource_name)
                buf += _pack_b(item.pattern_type)
                buf += compact_string(item.principal)
                buf += compact_string(item.host)
                buf += _pack_bb(item.operation, item.permission_type)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_h(item.error_code)
            buf += nullable_string(item.error_message)
            buf += _pack_b(item.resource_type)
            buf += string(item.resource_name)
            buf += _pack_b(item.pattern_type)
            buf += string(item.principal)
            buf += string(item.host)
            buf += _pack_bb(item.operation, item.permission_type)
            if item.unknown_tags:
                raise no_tags("DeleteAclsMatchingAcl", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DeleteAclsMatchingAcl], int]:
        items: list[DeleteAclsMatchingAcl] = []
        if version >= 2:
            for _ in range(count):
                item = new(DeleteAclsMatchingAcl)
                (item.error_code,) = _unpack_h(data, pos)
                pos += 2
                item.error_message, pos = read_nullable_compact_string(data, pos)
                (item.resource_type,) = _unpack_b(data, pos)
                pos += 1
                item.resource_name, pos = read_compact_string(data, pos)
                (item.pattern_type,) = _unpack_b(data, pos)
                pos += 1
                item.principal, pos = read_compact_string(data, pos)
                item.host, pos = read_compact_string(data, pos)
                item.operation, item.permission_type = _unpack_bb(data, pos)
                pos += 2
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DeleteAclsMatchingAcl)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.error_message, pos = read_nullable_string(data, pos)
            (item.resource_type,) = _unpack_b(data, pos)
            pos += 1
            item.resource_name, pos = read_string(data, pos)
            (item.pattern_type,) = _unpack_b(data, pos)
            pos += 1
            item.principal, pos = read_string(data, pos)
            item.host, pos = read_string(data, pos)
            item.operation, item.permission_type = _unpack_bb(data, pos)
            pos += 2
            item.unknown_tags = None
            items.append(item)
        return items, pos


class DeleteAclsFilterResult(Struct):
    FIELDS = ("error_code", "error_message", "matching_acls")
    __slots__ = FIELDS

    error_code: int
    error_message: str | None
    matching_acls: list[DeleteAclsMatchingAcl]

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        matching_acls: list[DeleteAclsMatchingAcl] = UNSET,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.matching_acls = [] if matching_acls is UNSET else matching_acls
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeleteAclsFilterResult], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_h(item.error_code)
                buf += nullable_compact_string(item.error_message)
                buf += compact_array_count(item.matching_acls)
                DeleteAclsMatchingAcl.write_all(out, item.matching_acls, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_h(item.error_code)
            buf += nullable_string(item.error_message)
            buf += array_count(item.matching_acls)
            DeleteAclsMatchingAcl.write_all(out, item.matching_acls, version)
            if item.unknown_tags:
                raise no_tags("DeleteAclsFilterResult", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DeleteAclsFilterResult], int]:
        items: list[DeleteAclsFilterResult] = []
        if version >= 2:
            for _ in range(count):
                item = new(DeleteAclsFilterResult)
                (item.error_code,) = _unpack_h(data, pos)
                pos += 2
                item.error_message, pos = read_nullable_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 11)
                if size < 0:
                    raise null_sent("matching_acls")
                item.matching_acls, pos = DeleteAclsMatchingAcl.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DeleteAclsFilterResult)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.error_message, pos = read_nullable_string(data, pos)
            size, pos = read_count(data, pos, 14)
            if size < 0:
                raise null_sent("matching_acls")
            item.matching_acls, pos = DeleteAclsMatchingAcl.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[DeleteAclsFilterResult], int]]:
        items: list[DeleteAclsFilterResult] = []
        if version >= 2:
            for _ in range(count):
                item = new(DeleteAclsFilterResult)
                (item.error_code,) = _unpack_h(data, pos)
                pos += 2
                item.error_message, pos = read_nullable_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 11)
                if size < 0:
                    raise null_sent("matching_acls")
                item.matching_acls, pos = yield from struct_slices(
                    DeleteAclsMatchingAcl.read_all,
                    data,
                    pos,
                    version,
                    size,
                    bounded=False,
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
            item = new(DeleteAclsFilterResult)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.error_message, pos = read_nullable_string(data, pos)
            size, pos = read_count(data, pos, 14)
            if size < 0:
                raise null_sent("matching_acls")
            item.matching_acls, pos = yield from struct_slices(
                DeleteAclsMatchingAcl.read_all,
                data,
                pos,
                version,
                size,
                bounded=False,
            )
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DeleteAclsFilterResult], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_h(item.error_code)
                buf += nullable_compact_string(item.error_message)
                buf += compact_array_count(item.matching_acls)
                yield from written_slices(DeleteAclsMatchingAcl.write_all, out, item.matching_acls, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_h(item.error_code)
            buf += nullable_string(item.error_message)
            buf += array_count(item.matching_acls)
            yield from written_slices(DeleteAclsMatchingAcl.write_all, out, item.matching_acls, version)
            if item.unknown_tags:
                raise no_tags("DeleteAclsFilterResult", version)
            yield 1


class DeleteAclsResponse(Message):
    FIELDS = ("throttle_time_ms", "filter_results")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 31
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    throttle_time_ms: int
    filter_results: list[DeleteAclsFilterResult]

    def __init__(self, *, throttle_time_ms: int = 0, filter_results: list[DeleteAclsFilterResult] = UNSET) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.filter_results = [] if filter_results is UNSET else filter_results
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeleteAclsResponse], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.filter_results)
                DeleteAclsFilterResult.write_all(out, item.filter_results, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.filter_results)
            DeleteAclsFilterResult.write_all(out, item.filter_results, version)
            if item.unknown_tags:
                raise no_tags("DeleteAclsResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DeleteAclsResponse], int]:
        items: list[DeleteAclsResponse] = []
        if version >= 2:
            for _ in range(count):
                item = new(DeleteAclsResponse)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 5)
                if size < 0:
                    raise null_sent("filter_results")
                item.filter_results, pos = DeleteAclsFilterResult.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DeleteAclsResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_count(data, pos, 8)
            if size < 0:
                raise null_sent("filter_results")
            item.filter_results, pos = DeleteAclsFilterResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[DeleteAclsResponse], int]]:
        items: list[DeleteAclsResponse] = []
        if version >= 2:
            for _ in range(count):
                item = new(DeleteAclsResponse)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 5)
                if size < 0:
                    raise null_sent("filter_results")
                item.filter_results, pos = yield from DeleteAclsFilterResult.read_slices(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(DeleteAclsResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_count(data, pos, 8)
            if size < 0:
                raise null_sent("filter_results")
            item.filter_results, pos = yield from DeleteAclsFilterResult.read_slices(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DeleteAclsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.filter_results)
                yield from DeleteAclsFilterResult.write_slices(out, item.filter_results, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.filter_results)
            yield from DeleteAclsFilterResult.write_slices(out, item.filter_results, version)
            if item.unknown_tags:
                raise no_tags("DeleteAclsResponse", version)
            yield 1
