# Generated from schema/describe_acls.wire by tools/generate_messages.py: do not edit.
"""DescribeAcls: the access control entries that match a filter.

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
from moldau.protocol.slices import Slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_b, _unpack_b = fixed("b")
_pack_bb, _unpack_bb = fixed("bb")
_pack_ih, _unpack_ih = fixed("ih")


class DescribeAclsRequest(Message):
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

    API_KEY: ClassVar[int] = 29
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

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
    def write_all(out: Writer, items: Iterable[DescribeAclsRequest], version: int) -> None:
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
                raise no_tags("DescribeAclsRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeAclsRequest], int]:
        items: list[DescribeAclsRequest] = []
        if version >= 2:
            for _ in range(count):
                item = new(DescribeAclsRequest)
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
            item = new(DescribeAclsRequest)
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


class AclDescription(Struct):
    FIELDS = ("principal", "host", "operation", "permission_type")
    __slots__ = FIELDS

    principal: str
    host: str
    operation: int
    permission_type: int

    def __init__(self, *, principal: str = "", host: str = "", operation: int = 0, permission_type: int = 0) -> None:
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AclDescription], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_string(item.principal)
                buf += compact_string(item.host)
                buf += _pack_bb(item.operation, item.permission_type)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.principal)
            buf += string(item.host)
            buf += _pack_bb(item.operation, item.permission_type)
            if item.unknown_tags:
                raise no_tags("AclDescription", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AclDescription], int]:
        items: list[AclDescription] = []
        if version >= 2:
            for _ in range(count):
                item = new(AclDescription)
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
            item = new(AclDescription)
            item.principal, pos = read_string(data, pos)
            item.host, pos = read_string(data, pos)
            item.operation, item.permission_type = _unpack_bb(data, pos)
            pos += 2
            item.unknown_tags = None
            items.append(item)
        return items, pos


class DescribeAclsResource(Struct):
    FIELDS = ("resource_type", "resource_name", "pattern_type", "acls")
    __slots__ = FIELDS

    resource_type: int
    resource_name: str
    pattern_type: int
    acls: list[AclDescription]

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        acls: list[AclDescription] = UNSET,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.acls = [] if acls is UNSET else acls
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeAclsResource], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_b(item.resource_type)
                buf += compact_string(item.resource_name)
                buf += _pack_b(item.pattern_type)
                buf += compact_array_count(item.acls)
                AclDescription.write_all(out, item.acls, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_b(item.resource_type)
            buf += string(item.resource_name)
            buf += _pack_b(item.pattern_type)
            buf += array_count(item.acls)
            AclDescription.write_all(out, item.acls, version)
            if item.unknown_tags:
                raise no_tags("DescribeAclsResource", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeAclsResource], int]:
        items: list[DescribeAclsResource] = []
        if version >= 2:
            for _ in range(count):
                item = new(DescribeAclsResource)
                (item.resource_type,) = _unpack_b(data, pos)
                pos += 1
                item.resource_name, pos = read_compact_string(data, pos)
                (item.pattern_type,) = _unpack_b(data, pos)
                pos += 1
                size, pos = read_compact_count(data, pos, 5)
                if size < 0:
                    raise null_sent("acls")
                item.acls, pos = AclDescription.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DescribeAclsResource)
            (item.resource_type,) = _unpack_b(data, pos)
            pos += 1
            item.resource_name, pos = read_string(data, pos)
            (item.pattern_type,) = _unpack_b(data, pos)
            pos += 1
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("acls")
            item.acls, pos = AclDescription.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DescribeAclsResource], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_b(item.resource_type)
                buf += compact_string(item.resource_name)
                buf += _pack_b(item.pattern_type)
                buf += compact_array_count(item.acls)
                yield from written_slices(AclDescription.write_all, out, item.acls, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_b(item.resource_type)
            buf += string(item.resource_name)
            buf += _pack_b(item.pattern_type)
            buf += array_count(item.acls)
            yield from written_slices(AclDescription.write_all, out, item.acls, version)
            if item.unknown_tags:
                raise no_tags("DescribeAclsResource", version)
            yield 1


class DescribeAclsResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "error_message", "resources")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 29
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    resources: list[DescribeAclsResource]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        resources: list[DescribeAclsResource] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.resources = [] if resources is UNSET else resources
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeAclsResponse], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_ih(item.throttle_time_ms, item.error_code)
                buf += nullable_compact_string(item.error_message)
                buf += compact_array_count(item.resources)
                DescribeAclsResource.write_all(out, item.resources, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_string(item.error_message)
            buf += array_count(item.resources)
            DescribeAclsResource.write_all(out, item.resources, version)
            if item.unknown_tags:
                raise no_tags("DescribeAclsResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeAclsResponse], int]:
        items: list[DescribeAclsResponse] = []
        if version >= 2:
            for _ in range(count):
                item = new(DescribeAclsResponse)
                item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
                pos += 6
                item.error_message, pos = read_nullable_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 5)
                if size < 0:
                    raise null_sent("resources")
                item.resources, pos = DescribeAclsResource.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DescribeAclsResponse)
            item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.error_message, pos = read_nullable_string(data, pos)
            size, pos = read_count(data, pos, 8)
            if size < 0:
                raise null_sent("resources")
            item.resources, pos = DescribeAclsResource.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DescribeAclsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_ih(item.throttle_time_ms, item.error_code)
                buf += nullable_compact_string(item.error_message)
                buf += compact_array_count(item.resources)
                yield from DescribeAclsResource.write_slices(out, item.resources, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_string(item.error_message)
            buf += array_count(item.resources)
            yield from DescribeAclsResource.write_slices(out, item.resources, version)
            if item.unknown_tags:
                raise no_tags("DescribeAclsResponse", version)
            yield 1
