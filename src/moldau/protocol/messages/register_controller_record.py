# Generated from schema/metadata_records.wire by tools/generate_messages.py: do not edit.
"""RegisterControllerRecord: a controller joined, with its endpoints and features."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, read_compact_count
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import compact_string, fixed, null_sent, read_compact_string
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_Hh, _unpack_Hh = fixed("Hh")
_pack_hh, _unpack_hh = fixed("hh")
_pack_iuo, _unpack_iuo = fixed("i16s?")


class ControllerEndpoint(Struct):
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
    def write_all(out: Writer, items: Iterable[ControllerEndpoint], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += compact_string(item.host)
            buf += _pack_Hh(item.port, item.security_protocol)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ControllerEndpoint], int]:
        items: list[ControllerEndpoint] = []
        for _ in range(count):
            item = new(ControllerEndpoint)
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


class ControllerFeature(Struct):
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
    def write_all(out: Writer, items: Iterable[ControllerFeature], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += _pack_hh(item.min_supported_version, item.max_supported_version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ControllerFeature], int]:
        items: list[ControllerFeature] = []
        for _ in range(count):
            item = new(ControllerFeature)
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


class RegisterControllerRecord(Message):
    FIELDS = ("controller_id", "incarnation_id", "zk_migration_ready", "end_points", "features")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 27
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    controller_id: int
    incarnation_id: Uuid
    zk_migration_ready: bool
    end_points: list[ControllerEndpoint]
    features: list[ControllerFeature]

    def __init__(
        self,
        *,
        controller_id: int = 0,
        incarnation_id: Uuid = ZERO_UUID,
        zk_migration_ready: bool = False,
        end_points: list[ControllerEndpoint] = UNSET,
        features: list[ControllerFeature] = UNSET,
    ) -> None:
        self.controller_id = controller_id
        self.incarnation_id = incarnation_id
        self.zk_migration_ready = zk_migration_ready
        self.end_points = [] if end_points is UNSET else end_points
        self.features = [] if features is UNSET else features
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[RegisterControllerRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_iuo(item.controller_id, item.incarnation_id, item.zk_migration_ready)
            buf += compact_array_count(item.end_points)
            ControllerEndpoint.write_all(out, item.end_points, version)
            buf += compact_array_count(item.features)
            ControllerFeature.write_all(out, item.features, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RegisterControllerRecord], int]:
        items: list[RegisterControllerRecord] = []
        for _ in range(count):
            item = new(RegisterControllerRecord)
            item.controller_id, item.incarnation_id, item.zk_migration_ready = _unpack_iuo(data, pos)
            pos += 21
            size, pos = read_compact_count(data, pos, 7)
            if size < 0:
                raise null_sent("end_points")
            item.end_points, pos = ControllerEndpoint.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 6)
            if size < 0:
                raise null_sent("features")
            item.features, pos = ControllerFeature.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
