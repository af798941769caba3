# Generated from schema/incremental_alter_configs.wire by tools/generate_messages.py: do not edit.
"""IncrementalAlterConfigs: sets, removes, appends to and subtracts from settings.

Since version
   1  flexible
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
_pack_h, _unpack_h = fixed("h")
_pack_i, _unpack_i = fixed("i")
_pack_o, _unpack_o = fixed("?")


class AlterableConfig(Struct):
    FIELDS = ("name", "config_operation", "value")
    __slots__ = FIELDS

    name: str
    config_operation: int
    value: str | None

    def __init__(self, *, name: str = "", config_operation: int = 0, value: str | None = "") -> None:
        self.name = name
        self.config_operation = config_operation
        self.value = value
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AlterableConfig], version: int) -> None:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += compact_string(item.name)
                buf += _pack_b(item.config_operation)
                buf += nullable_compact_string(item.value)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.name)
            buf += _pack_b(item.config_operation)
            buf += nullable_string(item.value)
            if item.unknown_tags:
                raise no_tags("AlterableConfig", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AlterableConfig], int]:
        items: list[AlterableConfig] = []
        if version >= 1:
            for _ in range(count):
                item = new(AlterableConfig)
                item.name, pos = read_compact_string(data, pos)
                (item.config_operation,) = _unpack_b(data, pos)
                pos += 1
                item.value, pos = read_nullable_compact_string(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(AlterableConfig)
            item.name, pos = read_string(data, pos)
            (item.config_operation,) = _unpack_b(data, pos)
            pos += 1
            item.value, pos = read_nullable_string(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class AlterConfigsResource(Struct):
    FIELDS = ("resource_type", "resource_name", "configs")
    __slots__ = FIELDS

    resource_type: int
    resource_name: str
    configs: list[AlterableConfig]

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        configs: list[AlterableConfig] = UNSET,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs = [] if configs is UNSET else configs
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AlterConfigsResource], version: int) -> None:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += _pack_b(item.resource_type)
                buf += compact_string(item.resource_name)
                buf += compact_array_count(item.configs)
                AlterableConfig.write_all(out, item.configs, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_b(item.resource_type)
            buf += string(item.resource_name)
            buf += array_count(item.configs)
            AlterableConfig.write_all(out, item.configs, version)
            if item.unknown_tags:
                raise no_tags("AlterConfigsResource", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AlterConfigsResource], int]:
        items: list[AlterConfigsResource] = []
        if version >= 1:
            for _ in range(count):
                item = new(AlterConfigsResource)
                (item.resource_type,) = _unpack_b(data, pos)
                pos += 1
                item.resource_name, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 4)
                if size < 0:
                    raise null_sent("configs")
                item.configs, pos = AlterableConfig.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(AlterConfigsResource)
            (item.resource_type,) = _unpack_b(data, pos)
            pos += 1
            item.resource_name, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 5)
            if size < 0:
                raise null_sent("configs")
            item.configs, pos = AlterableConfig.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[AlterConfigsResource], int]]:
        check_count(count)
        items: list[AlterConfigsResource] = []
        if version >= 1:
            for _ in range(count):
                item = new(AlterConfigsResource)
                (item.resource_type,) = _unpack_b(data, pos)
                pos += 1
                item.resource_name, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 4)
                if size < 0:
                    raise null_sent("configs")
                item.configs, pos = yield from struct_slices(AlterableConfig.read_all, data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(AlterConfigsResource)
            (item.resource_type,) = _unpack_b(data, pos)
            pos += 1
            item.resource_name, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 5)
            if size < 0:
                raise null_sent("configs")
            item.configs, pos = yield from struct_slices(AlterableConfig.read_all, data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[AlterConfigsResource], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += _pack_b(item.resource_type)
                buf += compact_string(item.resource_name)
                buf += compact_array_count(item.configs)
                yield from written_slices(AlterableConfig.write_all, out, item.configs, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_b(item.resource_type)
            buf += string(item.resource_name)
            buf += array_count(item.configs)
            yield from written_slices(AlterableConfig.write_all, out, item.configs, version)
            if item.unknown_tags:
                raise no_tags("AlterConfigsResource", version)
            yield 1


class IncrementalAlterConfigsRequest(Message):
    FIELDS = ("resources", "validate_only")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 44
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 1

    resources: list[AlterConfigsResource]
    validate_only: bool

    def __init__(self, *, resources: list[AlterConfigsResource] = UNSET, validate_only: bool = False) -> None:
        self.resources = [] if resources is UNSET else resources
        self.validate_only = validate_only
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[IncrementalAlterConfigsRequest], version: int) -> None:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += compact_array_count(item.resources)
                AlterConfigsResource.write_all(out, item.resources, version)
                buf += _pack_o(item.validate_only)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += array_count(item.resources)
            AlterConfigsResource.write_all(out, item.resources, version)
            buf += _pack_o(item.validate_only)
            if item.unknown_tags:
                raise no_tags("IncrementalAlterConfigsRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[IncrementalAlterConfigsRequest], int]:
        items: list[IncrementalAlterConfigsRequest] = []
        if version >= 1:
            for _ in range(count):
                item = new(IncrementalAlterConfigsRequest)
                size, pos = read_compact_count(data, pos, 4)
                if size < 0:
                    raise null_sent("resources")
                item.resources, pos = AlterConfigsResource.read_all(data, pos, version, size)
                (item.validate_only,) = _unpack_o(data, pos)
                pos += 1
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(IncrementalAlterConfigsRequest)
            size, pos = read_count(data, pos, 7)
            if size < 0:
                raise null_sent("resources")
            item.resources, pos = AlterConfigsResource.read_all(data, pos, version, size)
            (item.validate_only,) = _unpack_o(data, pos)
            pos += 1
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[IncrementalAlterConfigsRequest], int]]:
        check_count(count)
        items: list[IncrementalAlterConfigsRequest] = []
        if version >= 1:
            for _ in range(count):
                item = new(IncrementalAlterConfigsRequest)
                size, pos = read_compact_count(data, pos, 4)
                if size < 0:
                    raise null_sent("resources")
                item.resources, pos = yield from AlterConfigsResource.read_slices(data, pos, version, size)
                (item.validate_only,) = _unpack_o(data, pos)
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
            item = new(IncrementalAlterConfigsRequest)
            size, pos = read_count(data, pos, 7)
            if size < 0:
                raise null_sent("resources")
            item.resources, pos = yield from AlterConfigsResource.read_slices(data, pos, version, size)
            (item.validate_only,) = _unpack_o(data, pos)
            pos += 1
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[IncrementalAlterConfigsRequest], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += compact_array_count(item.resources)
                yield from AlterConfigsResource.write_slices(out, item.resources, version)
                buf += _pack_o(item.validate_only)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += array_count(item.resources)
            yield from AlterConfigsResource.write_slices(out, item.resources, version)
            buf += _pack_o(item.validate_only)
            if item.unknown_tags:
                raise no_tags("IncrementalAlterConfigsRequest", version)
            yield 1


class AlterConfigsResourceResponse(Struct):
    FIELDS = ("error_code", "error_message", "resource_type", "resource_name")
    __slots__ = FIELDS

    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AlterConfigsResourceResponse], version: int) -> None:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += _pack_h(item.error_code)
                buf += nullable_compact_string(item.error_message)
                buf += _pack_b(item.resource_type)
                buf += compact_string(item.resource_name)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_h(item.error_code)
            buf += nullable_string(item.error_message)
            buf += _pack_b(item.resource_type)
            buf += string(item.resource_name)
            if item.unknown_tags:
                raise no_tags("AlterConfigsResourceResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AlterConfigsResourceResponse], int]:
        items: list[AlterConfigsResourceResponse] = []
        if version >= 1:
            for _ in range(count):
                item = new(AlterConfigsResourceResponse)
                (item.error_code,) = _unpack_h(data, pos)
                pos += 2
                item.error_message, pos = read_nullable_compact_string(data, pos)
                (item.resource_type,) = _unpack_b(data, pos)
                pos += 1
                item.resource_name, pos = read_compact_string(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(AlterConfigsResourceResponse)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.error_message, pos = read_nullable_string(data, pos)
            (item.resource_type,) = _unpack_b(data, pos)
            pos += 1
            item.resource_name, pos = read_string(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class IncrementalAlterConfigsResponse(Message):
    FIELDS = ("throttle_time_ms", "responses")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 44
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 1

    throttle_time_ms: int
    responses: list[AlterConfigsResourceResponse]

    def __init__(self, *, throttle_time_ms: int = 0, responses: list[AlterConfigsResourceResponse] = UNSET) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses = [] if responses is UNSET else responses
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[IncrementalAlterConfigsResponse], version: int) -> None:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.responses)
                AlterConfigsResourceResponse.write_all(out, item.responses, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.responses)
            AlterConfigsResourceResponse.write_all(out, item.responses, version)
            if item.unknown_tags:
                raise no_tags("IncrementalAlterConfigsResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[IncrementalAlterConfigsResponse], int]:
        items: list[IncrementalAlterConfigsResponse] = []
        if version >= 1:
            for _ in range(count):
                item = new(IncrementalAlterConfigsResponse)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 6)
                if size < 0:
                    raise null_sent("responses")
                item.responses, pos = AlterConfigsResourceResponse.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(IncrementalAlterConfigsResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_count(data, pos, 7)
            if size < 0:
                raise null_sent("responses")
            item.responses, pos = AlterConfigsResourceResponse.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[IncrementalAlterConfigsResponse], int]]:
        items: list[IncrementalAlterConfigsResponse] = []
        if version >= 1:
            for _ in range(count):
                item = new(IncrementalAlterConfigsResponse)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 6)
                if size < 0:
                    raise null_sent("responses")
                item.responses, pos = yield from struct_slices(
                    AlterConfigsResourceResponse.read_all,
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
            item = new(IncrementalAlterConfigsResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_count(data, pos, 7)
            if size < 0:
                raise null_sent("responses")
            item.responses, pos = yield from struct_slices(
                AlterConfigsResourceResponse.read_all,
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
    def write_slices(out: Writer, items: Iterable[IncrementalAlterConfigsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.responses)
                yield from written_slices(AlterConfigsResourceResponse.write_all, out, item.responses, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.responses)
            yield from written_slices(AlterConfigsResourceResponse.write_all, out, item.responses, version)
            if item.unknown_tags:
                raise no_tags("IncrementalAlterConfigsResponse", version)
            yield 1
