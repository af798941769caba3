# Generated from schema/list_config_resources.wire by tools/generate_messages.py: do not edit.
"""ListConfigResources: the resources that have settings.

Since version
   1  any type of resource, not only client metrics
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, compact_int8s, read_compact_count, read_compact_int8s
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field
from moldau.protocol.primitives import compact_string, fixed, null_sent, read_compact_string
from moldau.protocol.slices import Slices, check_count, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_b, _unpack_b = fixed("b")
_pack_ih, _unpack_ih = fixed("ih")


class ListConfigResourcesRequest(Message):
    FIELDS = ("resource_types",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 74
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    resource_types: list[int]

    def __init__(self, *, resource_types: list[int] = UNSET) -> None:
        self.resource_types = [] if resource_types is UNSET else resource_types
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ListConfigResourcesRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            if version >= 1:
                buf += compact_int8s(item.resource_types)
            else:
                if item.resource_types:
                    raise no_such_field("ListConfigResourcesRequest", "resource_types", version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ListConfigResourcesRequest], int]:
        items: list[ListConfigResourcesRequest] = []
        for _ in range(count):
            item = new(ListConfigResourcesRequest)
            if version >= 1:
                item.resource_types, pos = read_compact_int8s(data, pos)
            else:
                item.resource_types = []
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[ListConfigResourcesRequest], int]]:
        check_count(count)
        items: list[ListConfigResourcesRequest] = []
        for _ in range(count):
            item = new(ListConfigResourcesRequest)
            if version >= 1:
                item.resource_types, pos = read_compact_int8s(data, pos)
                yield len(item.resource_types)
            else:
                item.resource_types = []
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class ConfigResource(Struct):
    FIELDS = ("resource_name", "resource_type")
    __slots__ = FIELDS

    resource_name: str
    resource_type: int

    def __init__(self, *, resource_name: str = "", resource_type: int = 16) -> None:
        self.resource_name = resource_name
        self.resource_type = resource_type
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ConfigResource], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.resource_name)
            if version >= 1:
                buf += _pack_b(item.resource_type)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ConfigResource], int]:
        items: list[ConfigResource] = []
        for _ in range(count):
            item = new(ConfigResource)
            item.resource_name, pos = read_compact_string(data, pos)
            if version >= 1:
                (item.resource_type,) = _unpack_b(data, pos)
                pos += 1
            else:
                item.resource_type = 16
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class ListConfigResourcesResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "config_resources")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 74
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    error_code: int
    config_resources: list[ConfigResource]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        config_resources: list[ConfigResource] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.config_resources = [] if config_resources is UNSET else config_resources
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ListConfigResourcesResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += compact_array_count(item.config_resources)
            ConfigResource.write_all(out, item.config_resources, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ListConfigResourcesResponse], int]:
        items: list[ListConfigResourcesResponse] = []
        for _ in range(count):
            item = new(ListConfigResourcesResponse)
            item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
            pos += 6
            size, pos = read_compact_count(data, pos, 2)
            if size < 0:
                raise null_sent("config_resources")
            item.config_resources, pos = ConfigResource.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ListConfigResourcesResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += compact_array_count(item.config_resources)
            yield from written_slices(ConfigResource.write_all, out, item.config_resources, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
