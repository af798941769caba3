# Generated from schema/describe_client_quotas.wire by tools/generate_messages.py: do not edit.
"""DescribeClientQuotas: the quotas that match a filter.

Since version
   1  flexible
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import array_count, compact_array_count, read_compact_count, read_count
from moldau.protocol.message import UNSET, Message, Struct, new, no_tags
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
from moldau.protocol.slices import Slices, check_count, struct_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_b, _unpack_b = fixed("b")
_pack_d, _unpack_d = fixed("d")
_pack_ih, _unpack_ih = fixed("ih")
_pack_o, _unpack_o = fixed("?")


class ComponentData(Struct):
    FIELDS = ("entity_type", "match_type", "match")
    __slots__ = FIELDS

    entity_type: str
    match_type: int
    match: str | None

    def __init__(self, *, entity_type: str = "", match_type: int = 0, match: str | None = "") -> None:
        self.entity_type = entity_type
        self.match_type = match_type
        self.match = match
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ComponentData], version: int) -> None:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += compact_string(item.entity_type)
                buf += _pack_b(item.match_type)
                buf += nullable_compact_string(item.match)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.entity_type)
            buf += _pack_b(item.match_type)
            buf += nullable_string(item.match)
            if item.unknown_tags:
                raise no_tags("ComponentData", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ComponentData], int]:
        items: list[ComponentData] = []
        if version >= 1:
            for _ in range(count):
                item = new(ComponentData)
                item.entity_type, pos = read_compact_string(data, pos)
                (item.match_type,) = _unpack_b(data, pos)
                pos += 1
                item.match, pos = read_nullable_compact_string(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(ComponentData)
            item.entity_type, pos = read_string(data, pos)
            (item.match_type,) = _unpack_b(data, pos)
            pos += 1
            item.match, pos = read_nullable_string(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class DescribeClientQuotasRequest(Message):
    FIELDS = ("components", "strict")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 48
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 1

    components: list[ComponentData]
    strict: bool

    def __init__(self, *, components: list[ComponentData] = UNSET, strict: bool = False) -> None:
        self.components = [] if components is UNSET else components
        self.strict = strict
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeClientQuotasRequest], version: int) -> None:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += compact_array_count(item.components)
                ComponentData.write_all(out, item.components, version)
                buf += _pack_o(item.strict)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += array_count(item.components)
            ComponentData.write_all(out, item.components, version)
            buf += _pack_o(item.strict)
            if item.unknown_tags:
                raise no_tags("DescribeClientQuotasRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeClientQuotasRequest], int]:
        items: list[DescribeClientQuotasRequest] = []
        if version >= 1:
            for _ in range(count):
                item = new(DescribeClientQuotasRequest)
                size, pos = read_compact_count(data, pos, 4)
                if size < 0:
                    raise null_sent("components")
                item.components, pos = ComponentData.read_all(data, pos, version, size)
                (item.strict,) = _unpack_o(data, pos)
                pos += 1
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DescribeClientQuotasRequest)
            size, pos = read_count(data, pos, 5)
            if size < 0:
                raise null_sent("components")
            item.components, pos = ComponentData.read_all(data, pos, version, size)
            (item.strict,) = _unpack_o(data, pos)
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
    ) -> Slices[tuple[list[DescribeClientQuotasRequest], int]]:
        check_count(count)
        items: list[DescribeClientQuotasRequest] = []
        if version >= 1:
            for _ in range(count):
                item = new(DescribeClientQuotasRequest)
                size, pos = read_compact_count(data, pos, 4)
                if size < 0:
                    raise null_sent("components")
                item.components, pos = yield from struct_slices(ComponentData.read_all, data, pos, version, size)
                (item.strict,) = _unpack_o(data, pos)
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
            item = new(DescribeClientQuotasRequest)
            size, pos = read_count(data, pos, 5)
            if size < 0:
                raise null_sent("components")
            item.components, pos = yield from struct_slices(ComponentData.read_all, data, pos, version, size)
            (item.strict,) = _unpack_o(data, pos)
            pos += 1
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class EntityData(Struct):
    FIELDS = ("entity_type", "entity_name")
    __slots__ = FIELDS

    entity_type: str
    entity_name: str | None

    def __init__(self, *, entity_type: str = "", entity_name: str | None = "") -> None:
        self.entity_type = entity_type
        self.entity_name = entity_name
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[EntityData], version: int) -> None:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += compact_string(item.entity_type)
                buf += nullable_compact_string(item.entity_name)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.entity_type)
            buf += nullable_string(item.entity_name)
            if item.unknown_tags:
                raise no_tags("EntityData", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[EntityData], int]:
        items: list[EntityData] = []
        if version >= 1:
            for _ in range(count):
                item = new(EntityData)
                item.entity_type, pos = read_compact_string(data, pos)
                item.entity_name, pos = read_nullable_compact_string(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(EntityData)
            item.entity_type, pos = read_string(data, pos)
            item.entity_name, pos = read_nullable_string(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class ValueData(Struct):
    FIELDS = ("key", "value")
    __slots__ = FIELDS

    key: str
    value: float

    def __init__(self, *, key: str = "", value: float = 0.0) -> None:
        self.key = key
        self.value = value
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ValueData], version: int) -> None:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += compact_string(item.key)
                buf += _pack_d(item.value)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.key)
            buf += _pack_d(item.value)
            if item.unknown_tags:
                raise no_tags("ValueData", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ValueData], int]:
        items: list[ValueData] = []
        if version >= 1:
            for _ in range(count):
                item = new(ValueData)
                item.key, pos = read_compact_string(data, pos)
                (item.value,) = _unpack_d(data, pos)
                pos += 8
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(ValueData)
            item.key, pos = read_string(data, pos)
            (item.value,) = _unpack_d(data, pos)
            pos += 8
            item.unknown_tags = None
            items.append(item)
        return items, pos


class EntryData(Struct):
    FIELDS = ("entity", "values")
    __slots__ = FIELDS

    entity: list[EntityData]
    values: list[ValueData]

    def __init__(self, *, entity: list[EntityData] = UNSET, values: list[ValueData] = UNSET) -> None:
        self.entity = [] if entity is UNSET else entity
        self.values = [] if values is UNSET else values
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[EntryData], version: int) -> None:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += compact_array_count(item.entity)
                EntityData.write_all(out, item.entity, version)
                buf += compact_array_count(item.values)
                ValueData.write_all(out, item.values, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += array_count(item.entity)
            EntityData.write_all(out, item.entity, version)
            buf += array_count(item.values)
            ValueData.write_all(out, item.values, version)
            if item.unknown_tags:
                raise no_tags("EntryData", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[EntryData], int]:
        items: list[EntryData] = []
        if version >= 1:
            for _ in range(count):
                item = new(EntryData)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("entity")
                item.entity, pos = EntityData.read_all(data, pos, version, size)
                size, pos = read_compact_count(data, pos, 10)
                if size < 0:
                    raise null_sent("values")
                item.values, pos = ValueData.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(EntryData)
            size, pos = read_count(data, pos, 4)
            if size < 0:
                raise null_sent("entity")
            item.entity, pos = EntityData.read_all(data, pos, version, size)
            size, pos = read_count(data, pos, 10)
            if size < 0:
                raise null_sent("values")
            item.values, pos = ValueData.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[EntryData], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += compact_array_count(item.entity)
                yield from written_slices(EntityData.write_all, out, item.entity, version)
                buf += compact_array_count(item.values)
                yield from written_slices(ValueData.write_all, out, item.values, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += array_count(item.entity)
            yield from written_slices(EntityData.write_all, out, item.entity, version)
            buf += array_count(item.values)
            yield from written_slices(ValueData.write_all, out, item.values, version)
            if item.unknown_tags:
                raise no_tags("EntryData", version)
            yield 1


class DescribeClientQuotasResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "error_message", "entries")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 48
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 1

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    entries: list[EntryData] | None

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        entries: list[EntryData] | None = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.entries = [] if entries is UNSET else entries
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeClientQuotasResponse], version: int) -> None:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += _pack_ih(item.throttle_time_ms, item.error_code)
                buf += nullable_compact_string(item.error_message)
                entries = item.entries
                if entries is None:
                    buf += COMPACT_NULL
                else:
                    buf += compact_array_count(entries)
                    EntryData.write_all(out, entries, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_string(item.error_message)
            entries = item.entries
            if entries is None:
                buf += NULL
            else:
                buf += array_count(entries)
                EntryData.write_all(out, entries, version)
            if item.unknown_tags:
                raise no_tags("DescribeClientQuotasResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeClientQuotasResponse], int]:
        items: list[DescribeClientQuotasResponse] = []
        if version >= 1:
            for _ in range(count):
                item = new(DescribeClientQuotasResponse)
                item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
                pos += 6
                item.error_message, pos = read_nullable_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    item.entries = None
                else:
                    item.entries, pos = EntryData.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DescribeClientQuotasResponse)
            item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.error_message, pos = read_nullable_string(data, pos)
            size, pos = read_count(data, pos, 8)
            if size < 0:
                item.entries = None
            else:
                item.entries, pos = EntryData.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DescribeClientQuotasResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += _pack_ih(item.throttle_time_ms, item.error_code)
                buf += nullable_compact_string(item.error_message)
                entries = item.entries
                if entries is None:
                    buf += COMPACT_NULL
                else:
                    buf += compact_array_count(entries)
                    yield from EntryData.write_slices(out, entries, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_string(item.error_message)
            entries = item.entries
            if entries is None:
                buf += NULL
            else:
                buf += array_count(entries)
                yield from EntryData.write_slices(out, entries, version)
            if item.unknown_tags:
                raise no_tags("DescribeClientQuotasResponse", version)
            yield 1
