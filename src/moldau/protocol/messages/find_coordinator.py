# Generated from schema/find_coordinator.wire by tools/generate_messages.py: do not edit.
"""FindCoordinator: which broker coordinates a group, a transaction or share state.

Since version
   1  the kind of key
   3  flexible
   4  several keys in one request
   5  a transaction may be declared abortable by its error
   6  share state keys
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, compact_strings, read_compact_count, read_many
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field, no_tags
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
from moldau.protocol.slices import Slices, check_count, value_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_b, _unpack_b = fixed("b")
_pack_h, _unpack_h = fixed("h")
_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")


class FindCoordinatorRequest(Message):
    FIELDS = ("key", "key_type", "coordinator_keys")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_SINCE: ClassVar[int | None] = 3

    key: str
    key_type: int
    coordinator_keys: list[str]

    def __init__(self, *, key: str = "", key_type: int = 0, coordinator_keys: list[str] = UNSET) -> None:
        self.key = key
        self.key_type = key_type
        self.coordinator_keys = [] if coordinator_keys is UNSET else coordinator_keys
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[FindCoordinatorRequest], version: int) -> None:
        buf = out.buffer
        if version >= 3:
            for item in items:
                if version >= 4:
                    if item.key != "":
                        raise no_such_field("FindCoordinatorRequest", "key", version)
                else:
                    buf += compact_string(item.key)
                buf += _pack_b(item.key_type)
                if version >= 4:
                    buf += compact_strings(item.coordinator_keys)
                else:
                    if item.coordinator_keys:
                        raise no_such_field("FindCoordinatorRequest", "coordinator_keys", version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.key)
            if version >= 1:
                buf += _pack_b(item.key_type)
            else:
                if item.key_type != 0:
                    raise no_such_field("FindCoordinatorRequest", "key_type", version)
            if item.coordinator_keys:
                raise no_such_field("FindCoordinatorRequest", "coordinator_keys", version)
            if item.unknown_tags:
                raise no_tags("FindCoordinatorRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[FindCoordinatorRequest], int]:
        items: list[FindCoordinatorRequest] = []
        if version >= 3:
            for _ in range(count):
                item = new(FindCoordinatorRequest)
                if version >= 4:
                    item.key = ""
                else:
                    item.key, pos = read_compact_string(data, pos)
                (item.key_type,) = _unpack_b(data, pos)
                pos += 1
                if version >= 4:
                    size, pos = read_compact_count(data, pos, 1)
                    if size < 0:
                        raise null_sent("coordinator_keys")
                    item.coordinator_keys, pos = read_many(read_compact_string, data, pos, size)
                else:
                    item.coordinator_keys = []
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(FindCoordinatorRequest)
            item.key, pos = read_string(data, pos)
            if version >= 1:
                (item.key_type,) = _unpack_b(data, pos)
                pos += 1
            else:
                item.key_type = 0
            item.coordinator_keys = []
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[FindCoordinatorRequest], int]]:
        check_count(count)
        items: list[FindCoordinatorRequest] = []
        if version >= 3:
            for _ in range(count):
                item = new(FindCoordinatorRequest)
                if version >= 4:
                    item.key = ""
                else:
                    item.key, pos = read_compact_string(data, pos)
                (item.key_type,) = _unpack_b(data, pos)
                pos += 1
                if version >= 4:
                    size, pos = read_compact_count(data, pos, 1)
                    if size < 0:
                        raise null_sent("coordinator_keys")
                    item.coordinator_keys, pos = yield from value_slices(read_compact_string, data, pos, size)
                else:
                    item.coordinator_keys = []
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(FindCoordinatorRequest)
            item.key, pos = read_string(data, pos)
            if version >= 1:
                (item.key_type,) = _unpack_b(data, pos)
                pos += 1
            else:
                item.key_type = 0
            item.coordinator_keys = []
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class Coordinator(Struct):
    FIELDS = ("key", "node_id", "host", "port", "error_code", "error_message")
    __slots__ = FIELDS

    key: str
    node_id: int
    host: str
    port: int
    error_code: int
    error_message: str | None

    def __init__(
        self,
        *,
        key: str = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.key = key
        self.node_id = node_id
        self.host = host
        self.port = port
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[Coordinator], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.key)
            buf += _pack_i(item.node_id)
            buf += compact_string(item.host)
            buf += _pack_ih(item.port, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[Coordinator], int]:
        items: list[Coordinator] = []
        for _ in range(count):
            item = new(Coordinator)
            item.key, pos = read_compact_string(data, pos)
            (item.node_id,) = _unpack_i(data, pos)
            pos += 4
            item.host, pos = read_compact_string(data, pos)
            item.port, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.error_message, pos = read_nullable_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class FindCoordinatorResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "error_message", "node_id", "host", "port", "coordinators")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_SINCE: ClassVar[int | None] = 3

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    node_id: int
    host: str
    port: int
    coordinators: list[Coordinator]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        coordinators: list[Coordinator] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.node_id = node_id
        self.host = host
        self.port = port
        self.coordinators = [] if coordinators is UNSET else coordinators
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[FindCoordinatorResponse], version: int) -> None:
        buf = out.buffer
        if version >= 3:
            for item in items:
                if version >= 4:
                    if item.error_code != 0:
                        raise no_such_field("FindCoordinatorResponse", "error_code", version)
                    buf += _pack_i(item.throttle_time_ms)
                else:
                    buf += _pack_ih(item.throttle_time_ms, item.error_code)
                if version >= 4:
                    if item.node_id != 0:
                        raise no_such_field("FindCoordinatorResponse", "node_id", version)
                    if item.host != "":
                        raise no_such_field("FindCoordinatorResponse", "host", version)
                    if item.port != 0:
                        raise no_such_field("FindCoordinatorResponse", "port", version)
                else:
                    buf += nullable_compact_string(item.error_message)
                    buf += _pack_i(item.node_id)
                    buf += compact_string(item.host)
                    buf += _pack_i(item.port)
                if version >= 4:
                    buf += compact_array_count(item.coordinators)
                    Coordinator.write_all(out, item.coordinators, version)
                else:
                    if item.coordinators:
                        raise no_such_field("FindCoordinatorResponse", "coordinators", version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 1:
                buf += _pack_ih(item.throttle_time_ms, item.error_code)
            else:
                buf += _pack_h(item.error_code)
            if version >= 1:
                buf += nullable_string(item.error_message)
            buf += _pack_i(item.node_id)
            buf += string(item.host)
            buf += _pack_i(item.port)
            if item.coordinators:
                raise no_such_field("FindCoordinatorResponse", "coordinators", version)
            if item.unknown_tags:
                raise no_tags("FindCoordinatorResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[FindCoordinatorResponse], int]:
        items: list[FindCoordinatorResponse] = []
        if version >= 3:
            for _ in range(count):
                item = new(FindCoordinatorResponse)
                if version >= 4:
                    (item.throttle_time_ms,) = _unpack_i(data, pos)
                    pos += 4
                    item.error_code = 0
                else:
                    item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
                    pos += 6
                if version >= 4:
                    item.error_message = ""
                    item.node_id = 0
                    item.host = ""
                    item.port = 0
                else:
                    item.error_message, pos = read_nullable_compact_string(data, pos)
                    (item.node_id,) = _unpack_i(data, pos)
                    pos += 4
                    item.host, pos = read_compact_string(data, pos)
                    (item.port,) = _unpack_i(data, pos)
                    pos += 4
                if version >= 4:
                    size, pos = read_compact_count(data, pos, 14)
                    if size < 0:
                        raise null_sent("coordinators")
                    item.coordinators, pos = Coordinator.read_all(data, pos, version, size)
                else:
                    item.coordinators = []
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(FindCoordinatorResponse)
            if version >= 1:
                item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
                pos += 6
            else:
                (item.error_code,) = _unpack_h(data, pos)
                pos += 2
                item.throttle_time_ms = 0
            if version >= 1:
                item.error_message, pos = read_nullable_string(data, pos)
            else:
                item.error_message = ""
            (item.node_id,) = _unpack_i(data, pos)
            pos += 4
            item.host, pos = read_string(data, pos)
            (item.port,) = _unpack_i(data, pos)
            pos += 4
            item.coordinators = []
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[FindCoordinatorResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 3:
            for item in items:
                if version >= 4:
                    if item.error_code != 0:
                        raise no_such_field("FindCoordinatorResponse", "error_code", version)
                    buf += _pack_i(item.throttle_time_ms)
                else:
                    buf += _pack_ih(item.throttle_time_ms, item.error_code)
                if version >= 4:
                    if item.node_id != 0:
                        raise no_such_field("FindCoordinatorResponse", "node_id", version)
                    if item.host != "":
                        raise no_such_field("FindCoordinatorResponse", "host", version)
                    if item.port != 0:
                        raise no_such_field("FindCoordinatorResponse", "port", version)
                else:
                    buf += nullable_compact_string(item.error_message)
                    buf += _pack_i(item.node_id)
                    buf += compact_string(item.host)
                    buf += _pack_i(item.port)
                if version >= 4:
                    buf += compact_array_count(item.coordinators)
                    yield from written_slices(Coordinator.write_all, out, item.coordinators, version)
                else:
                    if item.coordinators:
                        raise no_such_field("FindCoordinatorResponse", "coordinators", version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            if version >= 1:
                buf += _pack_ih(item.throttle_time_ms, item.error_code)
            else:
                buf += _pack_h(item.error_code)
            if version >= 1:
                buf += nullable_string(item.error_message)
            buf += _pack_i(item.node_id)
            buf += string(item.host)
            buf += _pack_i(item.port)
            if item.coordinators:
                raise no_such_field("FindCoordinatorResponse", "coordinators", version)
            if item.unknown_tags:
                raise no_tags("FindCoordinatorResponse", version)
            yield 1
