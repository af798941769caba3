# Generated from schema/alter_client_quotas.wire by tools/generate_messages.py: do not edit.
"""AlterClientQuotas: sets and removes quotas.

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

_pack_do, _unpack_do = fixed("d?")
_pack_h, _unpack_h = fixed("h")
_pack_i, _unpack_i = fixed("i")
_pack_o, _unpack_o = fixed("?")


class RequestEntityData(Struct):
    FIELDS = ("entity_type", "entity_name")
    __slots__ = FIELDS

    entity_type: str
    entity_name: str | None

    def __init__(self, *, entity_type: str = "", entity_name: str | None = "") -> None:
        self.entity_type = entity_type
        self.entity_name = entity_name
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[RequestEntityData], version: int) -> None:
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
                raise no_tags("RequestEntityData", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RequestEntityData], int]:
        items: list[RequestEntityData] = []
        if version >= 1:
            for _ in range(count):
                item = new(RequestEntityData)
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
            item = new(RequestEntityData)
            item.entity_type, pos = read_string(data, pos)
            item.entity_name, pos = read_nullable_string(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class OpData(Struct):
    FIELDS = ("key", "value", "remove")
    __slots__ = FIELDS

    key: str
    value: float
    remove: bool

    def __init__(self, *, key: str = "", value: float = 0.0, remove: bool = False) -> None:
        self.key = key
        self.value = value
        self.remove = remove
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OpData], version: int) -> None:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += compact_string(item.key)
                buf += _pack_do(item.value, item.remove)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.key)
            buf += _pack_do(item.value, item.remove)
            if item.unknown_tags:
                raise no_tags("OpData", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OpData], int]:
        items: list[OpData] = []
        if version >= 1:
            for _ in range(count):
                item = new(OpData)
                item.key, pos = read_compact_string(data, pos)
                item.value, item.remove = _unpack_do(data, pos)
                pos += 9
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(OpData)
            item.key, pos = read_string(data, pos)
            item.value, item.remove = _unpack_do(data, pos)
            pos += 9
            item.unknown_tags = None
            items.append(item)
        return items, pos


class RequestEntryData(Struct):
    FIELDS = ("entity", "ops")
    __slots__ = FIELDS

    entity: list[RequestEntityData]
    ops: list[OpData]

    def __init__(self, *, entity: list[RequestEntityData] = UNSET, ops: list[OpData] = UNSET) -> None:
        self.entity = [] if entity is UNSET else entity
        self.ops = [] if ops is UNSET else ops
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[RequestEntryData], version: int) -> None:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += compact_array_count(item.entity)
                RequestEntityData.write_all(out, item.entity, version)
                buf += compact_array_count(item.ops)
                OpData.write_all(out, item.ops, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += array_count(item.entity)
            RequestEntityData.write_all(out, item.entity, version)
            buf += array_count(item.ops)
            OpData.write_all(out, item.ops, version)
            if item.unknown_tags:
                raise no_tags("RequestEntryData", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RequestEntryData], int]:
        items: list[RequestEntryData] = []
        if version >= 1:
            for _ in range(count):
                item = new(RequestEntryData)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("entity")
                item.entity, pos = RequestEntityData.read_all(data, pos, version, size)
                size, pos = read_compact_count(data, pos, 11)
                if size < 0:
                    raise null_sent("ops")
                item.ops, pos = OpData.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(RequestEntryData)
            size, pos = read_count(data, pos, 4)
            if size < 0:
                raise null_sent("entity")
            item.entity, pos = RequestEntityData.read_all(data, pos, version, size)
            size, pos = read_count(data, pos, 11)
            if size < 0:
                raise null_sent("ops")
            item.ops, pos = OpData.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[RequestEntryData], int]]:
        check_count(count)
        items: list[RequestEntryData] = []
        if version >= 1:
            for _ in range(count):
                item = new(RequestEntryData)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("entity")
                item.entity, pos = yield from struct_slices(RequestEntityData.read_all, data, pos, version, size)
                size, pos = read_compact_count(data, pos, 11)
                if size < 0:
                    raise null_sent("ops")
                item.ops, pos = yield from struct_slices(OpData.read_all, data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(RequestEntryData)
            size, pos = read_count(data, pos, 4)
            if size < 0:
                raise null_sent("entity")
            item.entity, pos = yield from struct_slices(RequestEntityData.read_all, data, pos, version, size)
            size, pos = read_count(data, pos, 11)
            if size < 0:
                raise null_sent("ops")
            item.ops, pos = yield from struct_slices(OpData.read_all, data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[RequestEntryData], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += compact_array_count(item.entity)
                yield from written_slices(RequestEntityData.write_all, out, item.entity, version)
                buf += compact_array_count(item.ops)
                yield from written_slices(OpData.write_all, out, item.ops, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += array_count(item.entity)
            yield from written_slices(RequestEntityData.write_all, out, item.entity, version)
            buf += array_count(item.ops)
            yield from written_slices(OpData.write_all, out, item.ops, version)
            if item.unknown_tags:
                raise no_tags("RequestEntryData", version)
            yield 1


class AlterClientQuotasRequest(Message):
    FIELDS = ("entries", "validate_only")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 49
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 1

    entries: list[RequestEntryData]
    validate_only: bool

    def __init__(self, *, entries: list[RequestEntryData] = UNSET, validate_only: bool = False) -> None:
        self.entries = [] if entries is UNSET else entries
        self.validate_only = validate_only
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AlterClientQuotasRequest], version: int) -> None:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += compact_array_count(item.entries)
                RequestEntryData.write_all(out, item.entries, version)
                buf += _pack_o(item.validate_only)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += array_count(item.entries)
            RequestEntryData.write_all(out, item.entries, version)
            buf += _pack_o(item.validate_only)
            if item.unknown_tags:
                raise no_tags("AlterClientQuotasRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AlterClientQuotasRequest], int]:
        items: list[AlterClientQuotasRequest] = []
        if version >= 1:
            for _ in range(count):
                item = new(AlterClientQuotasRequest)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("entries")
                item.entries, pos = RequestEntryData.read_all(data, pos, version, size)
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
            item = new(AlterClientQuotasRequest)
            size, pos = read_count(data, pos, 8)
            if size < 0:
                raise null_sent("entries")
            item.entries, pos = RequestEntryData.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[AlterClientQuotasRequest], int]]:
        check_count(count)
        items: list[AlterClientQuotasRequest] = []
        if version >= 1:
            for _ in range(count):
                item = new(AlterClientQuotasRequest)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("entries")
                item.entries, pos = yield from RequestEntryData.read_slices(data, pos, version, size)
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
            item = new(AlterClientQuotasRequest)
            size, pos = read_count(data, pos, 8)
            if size < 0:
                raise null_sent("entries")
            item.entries, pos = yield from RequestEntryData.read_slices(data, pos, version, size)
            (item.validate_only,) = _unpack_o(data, pos)
            pos += 1
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[AlterClientQuotasRequest], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += compact_array_count(item.entries)
                yield from RequestEntryData.write_slices(out, item.entries, version)
                buf += _pack_o(item.validate_only)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += array_count(item.entries)
            yield from RequestEntryData.write_slices(out, item.entries, version)
            buf += _pack_o(item.validate_only)
            if item.unknown_tags:
                raise no_tags("AlterClientQuotasRequest", version)
            yield 1


class ResponseEntityData(Struct):
    FIELDS = ("entity_type", "entity_name")
    __slots__ = FIELDS

    entity_type: str
    entity_name: str | None

    def __init__(self, *, entity_type: str = "", entity_name: str | None = "") -> None:
        self.entity_type = entity_type
        self.entity_name = entity_name
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ResponseEntityData], version: int) -> None:
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
                raise no_tags("ResponseEntityData", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ResponseEntityData], int]:
        items: list[ResponseEntityData] = []
        if version >= 1:
            for _ in range(count):
                item = new(ResponseEntityData)
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
            item = new(ResponseEntityData)
            item.entity_type, pos = read_string(data, pos)
            item.entity_name, pos = read_nullable_string(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class ResponseEntryData(Struct):
    FIELDS = ("error_code", "error_message", "entity")
    __slots__ = FIELDS

    error_code: int
    error_message: str | None
    entity: list[ResponseEntityData]

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        entity: list[ResponseEntityData] = UNSET,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.entity = [] if entity is UNSET else entity
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ResponseEntryData], version: int) -> None:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += _pack_h(item.error_code)
                buf += nullable_compact_string(item.error_message)
                buf += compact_array_count(item.entity)
                ResponseEntityData.write_all(out, item.entity, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_h(item.error_code)
            buf += nullable_string(item.error_message)
            buf += array_count(item.entity)
            ResponseEntityData.write_all(out, item.entity, version)
            if item.unknown_tags:
                raise no_tags("ResponseEntryData", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ResponseEntryData], int]:
        items: list[ResponseEntryData] = []
        if version >= 1:
            for _ in range(count):
                item = new(ResponseEntryData)
                (item.error_code,) = _unpack_h(data, pos)
                pos += 2
                item.error_message, pos = read_nullable_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("entity")
                item.entity, pos = ResponseEntityData.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(ResponseEntryData)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.error_message, pos = read_nullable_string(data, pos)
            size, pos = read_count(data, pos, 4)
            if size < 0:
                raise null_sent("entity")
            item.entity, pos = ResponseEntityData.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[ResponseEntryData], int]]:
        items: list[ResponseEntryData] = []
        if version >= 1:
            for _ in range(count):
                item = new(ResponseEntryData)
                (item.error_code,) = _unpack_h(data, pos)
                pos += 2
                item.error_message, pos = read_nullable_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("entity")
                item.entity, pos = yield from struct_slices(
                    ResponseEntityData.read_all,
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
            item = new(ResponseEntryData)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.error_message, pos = read_nullable_string(data, pos)
            size, pos = read_count(data, pos, 4)
            if size < 0:
                raise null_sent("entity")
            item.entity, pos = yield from struct_slices(
                ResponseEntityData.read_all,
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
    def write_slices(out: Writer, items: Iterable[ResponseEntryData], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += _pack_h(item.error_code)
                buf += nullable_compact_string(item.error_message)
                buf += compact_array_count(item.entity)
                yield from written_slices(ResponseEntityData.write_all, out, item.entity, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_h(item.error_code)
            buf += nullable_string(item.error_message)
            buf += array_count(item.entity)
            yield from written_slices(ResponseEntityData.write_all, out, item.entity, version)
            if item.unknown_tags:
                raise no_tags("ResponseEntryData", version)
            yield 1


class AlterClientQuotasResponse(Message):
    FIELDS = ("throttle_time_ms", "entries")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 49
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 1

    throttle_time_ms: int
    entries: list[ResponseEntryData]

    def __init__(self, *, throttle_time_ms: int = 0, entries: list[ResponseEntryData] = UNSET) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.entries = [] if entries is UNSET else entries
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AlterClientQuotasResponse], version: int) -> None:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.entries)
                ResponseEntryData.write_all(out, item.entries, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.entries)
            ResponseEntryData.write_all(out, item.entries, version)
            if item.unknown_tags:
                raise no_tags("AlterClientQuotasResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AlterClientQuotasResponse], int]:
        items: list[AlterClientQuotasResponse] = []
        if version >= 1:
            for _ in range(count):
                item = new(AlterClientQuotasResponse)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 5)
                if size < 0:
                    raise null_sent("entries")
                item.entries, pos = ResponseEntryData.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(AlterClientQuotasResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_count(data, pos, 8)
            if size < 0:
                raise null_sent("entries")
            item.entries, pos = ResponseEntryData.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[AlterClientQuotasResponse], int]]:
        items: list[AlterClientQuotasResponse] = []
        if version >= 1:
            for _ in range(count):
                item = new(AlterClientQuotasResponse)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 5)
                if size < 0:
                    raise null_sent("entries")
                item.entries, pos = yield from ResponseEntryData.read_slices(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(AlterClientQuotasResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_count(data, pos, 8)
            if size < 0:
                raise null_sent("entries")
            item.entries, pos = yield from ResponseEntryData.read_slices(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[AlterClientQuotasResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.entries)
                yield from ResponseEntryData.write_slices(out, item.entries, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.entries)
            yield from ResponseEntryData.write_slices(out, item.entries, version)
            if item.unknown_tags:
                raise no_tags("AlterClientQuotasResponse", version)
            yield 1
