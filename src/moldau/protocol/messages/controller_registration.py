# Generated from schema/controller_registration.wire by tools/generate_messages.py: do not edit.
"""ControllerRegistration: a controller tells the cluster its endpoints and features."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, read_compact_count
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import (
    compact_string,
    fixed,
    null_sent,
    nullable_compact_string,
    read_compact_string,
    read_nullable_compact_string,
)
from moldau.protocol.slices import Slices, check_count, struct_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_Hh, _unpack_Hh = fixed("Hh")
_pack_hh, _unpack_hh = fixed("hh")
_pack_ih, _unpack_ih = fixed("ih")
_pack_iuo, _unpack_iuo = fixed("i16s?")


class Listener(Struct):
    FIELDS = ("name", "host", "port", "security_protocol")
    __slots__ = FIELDS

    name: str
    host: str
    port: int
    security_protocol: int

    def __init__(self, *, name: str = "", host: str = "", port: int = 0, security_protocol: int = 0) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.security_protocol = security_protocol
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[Listener], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += compact_string(item.host)
            buf += _pack_Hh(item.port, item.security_protocol)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[Listener], int]:
        items: list[Listener] = []
        for _ in range(count):
            item = new(Listener)
            item.name, pos = read_compact_string(data, pos)
            item.host, pos = read_compact_string(data, pos)
            item.port, item.security_protocol = _unpack_Hh(data, pos)
            pos += 4
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class Feature(Struct):
    FIELDS = ("name", "min_supported_version", "max_supported_version")
    __slots__ = FIELDS

    name: str
    min_supported_version: int
    max_supported_version: int

    def __init__(self, *, name: str = "", min_supported_version: int = 0, max_supported_version: int = 0) -> None:
        self.name = name
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[Feature], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += _pack_hh(item.min_supported_version, item.max_supported_version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[Feature], int]:
        items: list[Feature] = []
        for _ in range(count):
            item = new(Feature)
            item.name, pos = read_compact_string(data, pos)
            item.min_supported_version, item.max_supported_version = _unpack_hh(data, pos)
            pos += 4
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class ControllerRegistrationRequest(Message):
    FIELDS = ("controller_id", "incarnation_id", "zk_migration_ready", "listeners", "features")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 70
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    controller_id: int
    incarnation_id: Uuid
    zk_migration_ready: bool
    listeners: list[Listener]
    features: list[Feature]

    def __init__(
        self,
        *,
        controller_id: int = 0,
        incarnation_id: Uuid = ZERO_UUID,
        zk_migration_ready: bool = False,
        listeners: list[Listener] = UNSET,
        features: list[Feature] = UNSET,
    ) -> None:
        self.controller_id = controller_id
        self.incarnation_id = incarnation_id
        self.zk_migration_ready = zk_migration_ready
        self.listeners = [] if listeners is UNSET else listeners
        self.features = [] if features is UNSET else features
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ControllerRegistrationRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_iuo(item.controller_id, item.incarnation_id, item.zk_migration_ready)
            buf += compact_array_count(item.listeners)
            Listener.write_all(out, item.listeners, version)
            buf += compact_array_count(item.features)
            Feature.write_all(out, item.features, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ControllerRegistrationRequest], int]:
        items: list[ControllerRegistrationRequest] = []
        for _ in range(count):
            item = new(ControllerRegistrationRequest)
            item.controller_id, item.incarnation_id, item.zk_migration_ready = _unpack_iuo(data, pos)
            pos += 21
            size, pos = read_compact_count(data, pos, 7)
            if size < 0:
                raise null_sent("listeners")
            item.listeners, pos = Listener.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 6)
            if size < 0:
                raise null_sent("features")
            item.features, pos = Feature.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[ControllerRegistrationRequest], int]]:
        check_count(count)
        items: list[ControllerRegistrationRequest] = []
        for _ in range(count):
            item = new(ControllerRegistrationRequest)
            item.controller_id, item.incarnation_id, item.zk_migration_ready = _unpack_iuo(data, pos)
            pos += 21
            size, pos = read_compact_count(data, pos, 7)
            if size < 0:
                raise null_sent("listeners")
            item.listeners, pos = yield from struct_slices(Listener.read_all, data, pos, version, size)
            size, pos = read_compact_count(data, pos, 6)
            if size < 0:
                raise null_sent("features")
            item.features, pos = yield from struct_slices(Feature.read_all, data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class ControllerRegistrationResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "error_message")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 70
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    error_code: int
    error_message: str | None

    def __init__(self, *, throttle_time_ms: int = 0, error_code: int = 0, error_message: str | None = "") -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ControllerRegistrationResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ControllerRegistrationResponse], int]:
        items: list[ControllerRegistrationResponse] = []
        for _ in range(count):
            item = new(ControllerRegistrationResponse)
            item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.error_message, pos = read_nullable_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
