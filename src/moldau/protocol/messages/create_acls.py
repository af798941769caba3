# Generated from schema/create_acls.wire by tools/generate_messages.py: do not edit.
"""CreateAcls: adds access control entries.

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


class AclCreation(Struct):
    FIELDS = (
        "resource_type",
        "resource_name",
        "resource_pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
    )
    __slots__ = FIELDS

    resource_type: int
    resource_name: str
    resource_pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        resource_pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.resource_pattern_type = resource_pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AclCreation], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_b(item.resource_type)
                buf += compact_string(item.resource_name)
                buf += _pack_b(item.resource_pattern_type)
                buf += compact_string(item.principal)
                buf += compact_string(item.host)
                buf += _pack_bb(item.operation, item.permission_type)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_b(item.resource_type)
            buf += string(item.resource_name)
            buf += _pack_b(item.resource_pattern_type)
            buf += string(item.principal)
            buf += string(item.host)
            buf += _pack_bb(item.operation, item.permission_type)
            if item.unknown_tags:
                raise no_tags("AclCreation", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AclCreation], int]:
        items: list[AclCreation] = []
        if version >= 2:
            for _ in range(count):
                item = new(AclCreation)
                (item.resource_type,) = _unpack_b(data, pos)
                pos += 1
                item.resource_name, pos = read_compact_string(data, pos)
                (item.resource_pattern_type,) = _unpack_b(data, pos)
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
            item = new(AclCreation)
            (item.resource_type,) = _unpack_b(data, pos)
            pos += 1
            item.resource_name, pos = read_string(data, pos)
            (item.resource_pattern_type,) = _unpack_b(data, pos)
            pos += 1
            item.principal, pos = read_string(data, pos)
            item.host, pos = read_string(data, pos)
            item.operation, item.permission_type = _unpack_bb(data, pos)
            pos += 2
            item.unknown_tags = None
            items.append(item)
        return items, pos


class CreateAclsRequest(Message):
    FIELDS = ("creations",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 30
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    creations: list[AclCreation]

    def __init__(self, *, creations: list[AclCreation] = UNSET) -> None:
        self.creations = [] if creations is UNSET else creations
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[CreateAclsRequest], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_array_count(item.creations)
                AclCreation.write_all(out, item.creations, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += array_count(item.creations)
            AclCreation.write_all(out, item.creations, version)
            if item.unknown_tags:
                raise no_tags("CreateAclsRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[CreateAclsRequest], int]:
        items: list[CreateAclsRequest] = []
        if version >= 2:
            for _ in range(count):
                item = new(CreateAclsRequest)
                size, pos = read_compact_count(data, pos, 8)
                if size < 0:
                    raise null_sent("creations")
                item.creations, pos = AclCreation.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(CreateAclsRequest)
            size, pos = read_count(data, pos, 10)
            if size < 0:
                raise null_sent("creations")
            item.creations, pos = AclCreation.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[CreateAclsRequest], int]]:
        check_count(count)
        items: list[CreateAclsRequest] = []
        if version >= 2:
            for _ in range(count):
                item = new(CreateAclsRequest)
                size, pos = read_compact_count(data, pos, 8)
                if size < 0:
                    raise null_sent("creations")
                item.creations, pos = yield from struct_slices(AclCreation.read_all, data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(CreateAclsRequest)
            size, pos = read_count(data, pos, 10)
            if size < 0:
                raise null_sent("creations")
            item.creations, pos = yield from struct_slices(AclCreation.read_all, data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class AclCreationResult(Struct):
    FIELDS = ("error_code", "error_message")
    __slots__ = FIELDS

    error_code: int
    error_message: str | None

    def __init__(self, *, error_code: int = 0, error_message: str | None = "") -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AclCreationResult], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_h(item.error_code)
                buf += nullable_compact_string(item.error_message)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_h(item.error_code)
            buf += nullable_string(item.error_message)
            if item.unknown_tags:
                raise no_tags("AclCreationResult", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AclCreationResult], int]:
        items: list[AclCreationResult] = []
        if version >= 2:
            for _ in range(count):
                item = new(AclCreationResult)
                (item.error_code,) = _unpack_h(data, pos)
                pos += 2
                item.error_message, pos = read_nullable_compact_string(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(AclCreationResult)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.error_message, pos = read_nullable_string(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class CreateAclsResponse(Message):
    FIELDS = ("throttle_time_ms", "results")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 30
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    throttle_time_ms: int
    results: list[AclCreationResult]

    def __init__(self, *, throttle_time_ms: int = 0, results: list[AclCreationResult] = UNSET) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is UNSET else results
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[CreateAclsResponse], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.results)
                AclCreationResult.write_all(out, item.results, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.results)
            AclCreationResult.write_all(out, item.results, version)
            if item.unknown_tags:
                raise no_tags("CreateAclsResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[CreateAclsResponse], int]:
        items: list[CreateAclsResponse] = []
        if version >= 2:
            for _ in range(count):
                item = new(CreateAclsResponse)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 4)
                if size < 0:
                    raise null_sent("results")
                item.results, pos = AclCreationResult.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(CreateAclsResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_count(data, pos, 4)
            if size < 0:
                raise null_sent("results")
            item.results, pos = AclCreationResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[CreateAclsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.results)
                yield from written_slices(AclCreationResult.write_all, out, item.results, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.results)
            yield from written_slices(AclCreationResult.write_all, out, item.results, version)
            if item.unknown_tags:
                raise no_tags("CreateAclsResponse", version)
            yield 1
