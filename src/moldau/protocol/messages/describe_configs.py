# Generated from schema/describe_configs.wire by tools/generate_messages.py: do not edit.
"""DescribeConfigs: settings of topics, brokers and other resources.

Since version
   1  synonyms and the source of a value
   3  type and documentation
   4  flexible
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
    COMPACT_NULL,
    NULL,
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
from moldau.protocol.slices import Slices, check_count, value_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_b, _unpack_b = fixed("b")
_pack_h, _unpack_h = fixed("h")
_pack_i, _unpack_i = fixed("i")
_pack_o, _unpack_o = fixed("?")
_pack_obo, _unpack_obo = fixed("?b?")
_pack_oo, _unpack_oo = fixed("??")


class DescribeConfigsResource(Struct):
    FIELDS = ("resource_type", "resource_name", "configuration_keys")
    __slots__ = FIELDS

    resource_type: int
    resource_name: str
    configuration_keys: list[str] | None

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        configuration_keys: list[str] | None = UNSET,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configuration_keys = [] if configuration_keys is UNSET else configuration_keys
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeConfigsResource], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += _pack_b(item.resource_type)
                buf += compact_string(item.resource_name)
                configuration_keys = item.configuration_keys
                if configuration_keys is None:
                    buf += COMPACT_NULL
                else:
                    buf += compact_strings(configuration_keys)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_b(item.resource_type)
            buf += string(item.resource_name)
            configuration_keys = item.configuration_keys
            if configuration_keys is None:
                buf += NULL
            else:
                buf += strings(configuration_keys)
            if item.unknown_tags:
                raise no_tags("DescribeConfigsResource", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeConfigsResource], int]:
        items: list[DescribeConfigsResource] = []
        if version >= 4:
            for _ in range(count):
                item = new(DescribeConfigsResource)
                (item.resource_type,) = _unpack_b(data, pos)
                pos += 1
                item.resource_name, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 1)
                if size < 0:
                    item.configuration_keys = None
                else:
                    item.configuration_keys, pos = read_many(read_compact_string, data, pos, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DescribeConfigsResource)
            (item.resource_type,) = _unpack_b(data, pos)
            pos += 1
            item.resource_name, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 2)
            if size < 0:
                item.configuration_keys = None
            else:
                item.configuration_keys, pos = read_many(read_string, data, pos, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[DescribeConfigsResource], int]]:
        check_count(count)
        items: list[DescribeConfigsResource] = []
        if version >= 4:
            for _ in range(count):
                item = new(DescribeConfigsResource)
                (item.resource_type,) = _unpack_b(data, pos)
                pos += 1
                item.resource_name, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 1)
                if size < 0:
                    item.configuration_keys = None
                else:
                    item.configuration_keys, pos = yield from value_slices(read_compact_string, data, pos, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(DescribeConfigsResource)
            (item.resource_type,) = _unpack_b(data, pos)
            pos += 1
            item.resource_name, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 2)
            if size < 0:
                item.configuration_keys = None
            else:
                item.configuration_keys, pos = yield from value_slices(read_string, data, pos, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class DescribeConfigsRequest(Message):
    FIELDS = ("resources", "include_synonyms", "include_documentation")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 32
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int | None] = 4

    resources: list[DescribeConfigsResource]
    include_synonyms: bool
    include_documentation: bool

    def __init__(
        self,
        *,
        resources: list[DescribeConfigsResource] = UNSET,
        include_synonyms: bool = False,
        include_documentation: bool = False,
    ) -> None:
        self.resources = [] if resources is UNSET else resources
        self.include_synonyms = include_synonyms
        self.include_documentation = include_documentation
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeConfigsRequest], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += compact_array_count(item.resources)
                DescribeConfigsResource.write_all(out, item.resources, version)
                buf += _pack_oo(item.include_synonyms, item.include_documentation)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += array_count(item.resources)
            DescribeConfigsResource.write_all(out, item.resources, version)
            if version >= 3:
                buf += _pack_oo(item.include_synonyms, item.include_documentation)
            else:
                if item.include_documentation:
                    raise no_such_field("DescribeConfigsRequest", "include_documentation", version)
                buf += _pack_o(item.include_synonyms)
            if item.unknown_tags:
                raise no_tags("DescribeConfigsRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeConfigsRequest], int]:
        items: list[DescribeConfigsRequest] = []
        if version >= 4:
            for _ in range(count):
                item = new(DescribeConfigsRequest)
                size, pos = read_compact_count(data, pos, 4)
                if size < 0:
                    raise null_sent("resources")
                item.resources, pos = DescribeConfigsResource.read_all(data, pos, version, size)
                item.include_synonyms, item.include_documentation = _unpack_oo(data, pos)
                pos += 2
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DescribeConfigsRequest)
            size, pos = read_count(data, pos, 7)
            if size < 0:
                raise null_sent("resources")
            item.resources, pos = DescribeConfigsResource.read_all(data, pos, version, size)
            if version >= 3:
                item.include_synonyms, item.include_documentation = _unpack_oo(data, pos)
                pos += 2
            else:
                (item.include_synonyms,) = _unpack_o(data, pos)
                pos += 1
                item.include_documentation = False
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[DescribeConfigsRequest], int]]:
        check_count(count)
        items: list[DescribeConfigsRequest] = []
        if version >= 4:
            for _ in range(count):
                item = new(DescribeConfigsRequest)
                size, pos = read_compact_count(data, pos, 4)
                if size < 0:
                    raise null_sent("resources")
                item.resources, pos = yield from DescribeConfigsResource.read_slices(data, pos, version, size)
                item.include_synonyms, item.include_documentation = _unpack_oo(data, pos)
                pos += 2
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(DescribeConfigsRequest)
            size, pos = read_count(data, pos, 7)
            if size < 0:
                raise null_sent("resources")
            item.resources, pos = yield from DescribeConfigsResource.read_slices(data, pos, version, size)
            if version >= 3:
                item.include_synonyms, item.include_documentation = _unpack_oo(data, pos)
                pos += 2
            else:
                (item.include_synonyms,) = _unpack_o(data, pos)
                pos += 1
                item.include_documentation = False
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class DescribeConfigsSynonym(Struct):
    FIELDS = ("name", "value", "source")
    __slots__ = FIELDS

    name: str
    value: str | None
    source: int

    def __init__(self, *, name: str = "", value: str | None = "", source: int = 0) -> None:
        self.name = name
        self.value = value
        self.source = source
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeConfigsSynonym], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += compact_string(item.name)
                buf += nullable_compact_string(item.value)
                buf += _pack_b(item.source)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.name)
            buf += nullable_string(item.value)
            buf += _pack_b(item.source)
            if item.unknown_tags:
                raise no_tags("DescribeConfigsSynonym", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeConfigsSynonym], int]:
        items: list[DescribeConfigsSynonym] = []
        if version >= 4:
            for _ in range(count):
                item = new(DescribeConfigsSynonym)
                item.name, pos = read_compact_string(data, pos)
                item.value, pos = read_nullable_compact_string(data, pos)
                (item.source,) = _unpack_b(data, pos)
                pos += 1
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DescribeConfigsSynonym)
            item.name, pos = read_string(data, pos)
            item.value, pos = read_nullable_string(data, pos)
            (item.source,) = _unpack_b(data, pos)
            pos += 1
            item.unknown_tags = None
            items.append(item)
        return items, pos


class DescribeConfigsResourceResult(Struct):
    FIELDS = ("name", "value", "read_only", "config_source", "is_sensitive", "synonyms", "config_type", "documentation")
    __slots__ = FIELDS

    name: str
    value: str | None
    read_only: bool
    config_source: int
    is_sensitive: bool
    synonyms: list[DescribeConfigsSynonym]
    config_type: int
    documentation: str | None

    def __init__(
        self,
        *,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
        synonyms: list[DescribeConfigsSynonym] = UNSET,
        config_type: int = 0,
        documentation: str | None = "",
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive
        self.synonyms = [] if synonyms is UNSET else synonyms
        self.config_type = config_type
        self.documentation = documentation
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeConfigsResourceResult], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += compact_string(item.name)
                buf += nullable_compact_string(item.value)
                buf += _pack_obo(item.read_only, item.config_source, item.is_sensitive)
                buf += compact_array_count(item.synonyms)
                DescribeConfigsSynonym.write_all(out, item.synonyms, version)
                buf += _pack_b(item.config_type)
                buf += nullable_compact_string(item.documentation)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.name)
            buf += nullable_string(item.value)
            buf += _pack_obo(item.read_only, item.config_source, item.is_sensitive)
            buf += array_count(item.synonyms)
            DescribeConfigsSynonym.write_all(out, item.synonyms, version)
            if version >= 3:
                buf += _pack_b(item.config_type)
                buf += nullable_string(item.documentation)
            if item.unknown_tags:
                raise no_tags("DescribeConfigsResourceResult", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeConfigsResourceResult], int]:
        items: list[DescribeConfigsResourceResult] = []
        if version >= 4:
            for _ in range(count):
                item = new(DescribeConfigsResourceResult)
                item.name, pos = read_compact_string(data, pos)
                item.value, pos = read_nullable_compact_string(data, pos)
                item.read_only, item.config_source, item.is_sensitive = _unpack_obo(data, pos)
                pos += 3
                size, pos = read_compact_count(data, pos, 4)
                if size < 0:
                    raise null_sent("synonyms")
                item.synonyms, pos = DescribeConfigsSynonym.read_all(data, pos, version, size)
                (item.config_type,) = _unpack_b(data, pos)
                pos += 1
                item.documentation, pos = read_nullable_compact_string(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DescribeConfigsResourceResult)
            item.name, pos = read_string(data, pos)
            item.value, pos = read_nullable_string(data, pos)
            item.read_only, item.config_source, item.is_sensitive = _unpack_obo(data, pos)
            pos += 3
            size, pos = read_count(data, pos, 5)
            if size < 0:
                raise null_sent("synonyms")
            item.synonyms, pos = DescribeConfigsSynonym.read_all(data, pos, version, size)
            if version >= 3:
                (item.config_type,) = _unpack_b(data, pos)
                pos += 1
                item.documentation, pos = read_nullable_string(data, pos)
            else:
                item.config_type = 0
                item.documentation = ""
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DescribeConfigsResourceResult], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += compact_string(item.name)
                buf += nullable_compact_string(item.value)
                buf += _pack_obo(item.read_only, item.config_source, item.is_sensitive)
                buf += compact_array_count(item.synonyms)
                yield from written_slices(DescribeConfigsSynonym.write_all, out, item.synonyms, version)
                buf += _pack_b(item.config_type)
                buf += nullable_compact_string(item.documentation)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += string(item.name)
            buf += nullable_string(item.value)
            buf += _pack_obo(item.read_only, item.config_source, item.is_sensitive)
            buf += array_count(item.synonyms)
            yield from written_slices(DescribeConfigsSynonym.write_all, out, item.synonyms, version)
            if version >= 3:
                buf += _pack_b(item.config_type)
                buf += nullable_string(item.documentation)
            if item.unknown_tags:
                raise no_tags("DescribeConfigsResourceResult", version)
            yield 1


class DescribeConfigsResult(Struct):
    FIELDS = ("error_code", "error_message", "resource_type", "resource_name", "configs")
    __slots__ = FIELDS

    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str
    configs: list[DescribeConfigsResourceResult]

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        configs: list[DescribeConfigsResourceResult] = UNSET,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs = [] if configs is UNSET else configs
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeConfigsResult], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += _pack_h(item.error_code)
                buf += nullable_compact_string(item.error_message)
                buf += _pack_b(item.resource_type)
                buf += compact_string(item.resource_name)
                buf += compact_array_count(item.configs)
                DescribeConfigsResourceResult.write_all(out, item.configs, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_h(item.error_code)
            buf += nullable_string(item.error_message)
            buf += _pack_b(item.resource_type)
            buf += string(item.resource_name)
            buf += array_count(item.configs)
            DescribeConfigsResourceResult.write_all(out, item.configs, version)
            if item.unknown_tags:
                raise no_tags("DescribeConfigsResult", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeConfigsResult], int]:
        items: list[DescribeConfigsResult] = []
        if version >= 4:
            for _ in range(count):
                item = new(DescribeConfigsResult)
                (item.error_code,) = _unpack_h(data, pos)
                pos += 2
                item.error_message, pos = read_nullable_compact_string(data, pos)
                (item.resource_type,) = _unpack_b(data, pos)
                pos += 1
                item.resource_name, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 9)
                if size < 0:
                    raise null_sent("configs")
                item.configs, pos = DescribeConfigsResourceResult.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DescribeConfigsResult)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.error_message, pos = read_nullable_string(data, pos)
            (item.resource_type,) = _unpack_b(data, pos)
            pos += 1
            item.resource_name, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 11)
            if size < 0:
                raise null_sent("configs")
            item.configs, pos = DescribeConfigsResourceResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DescribeConfigsResult], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += _pack_h(item.error_code)
                buf += nullable_compact_string(item.error_message)
                buf += _pack_b(item.resource_type)
                buf += compact_string(item.resource_name)
                buf += compact_array_count(item.configs)
                yield from DescribeConfigsResourceResult.write_slices(out, item.configs, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_h(item.error_code)
            buf += nullable_string(item.error_message)
            buf += _pack_b(item.resource_type)
            buf += string(item.resource_name)
            buf += array_count(item.configs)
            yield from DescribeConfigsResourceResult.write_slices(out, item.configs, version)
            if item.unknown_tags:
                raise no_tags("DescribeConfigsResult", version)
            yield 1


class DescribeConfigsResponse(Message):
    FIELDS = ("throttle_time_ms", "results")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 32
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int | None] = 4

    throttle_time_ms: int
    results: list[DescribeConfigsResult]

    def __init__(self, *, throttle_time_ms: int = 0, results: list[DescribeConfigsResult] = UNSET) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is UNSET else results
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeConfigsResponse], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.results)
                DescribeConfigsResult.write_all(out, item.results, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.results)
            DescribeConfigsResult.write_all(out, item.results, version)
            if item.unknown_tags:
                raise no_tags("DescribeConfigsResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeConfigsResponse], int]:
        items: list[DescribeConfigsResponse] = []
        if version >= 4:
            for _ in range(count):
                item = new(DescribeConfigsResponse)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 7)
                if size < 0:
                    raise null_sent("results")
                item.results, pos = DescribeConfigsResult.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DescribeConfigsResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_count(data, pos, 11)
            if size < 0:
                raise null_sent("results")
            item.results, pos = DescribeConfigsResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DescribeConfigsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.results)
                yield from DescribeConfigsResult.write_slices(out, item.results, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.results)
            yield from DescribeConfigsResult.write_slices(out, item.results, version)
            if item.unknown_tags:
                raise no_tags("DescribeConfigsResponse", version)
            yield 1
