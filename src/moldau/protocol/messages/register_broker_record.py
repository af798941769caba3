# Generated from schema/metadata_records.wire by tools/generate_messages.py: do not edit.
"""RegisterBrokerRecord: a broker joined, with its epoch, endpoints and features."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, compact_uuids, read_compact_count, read_uuids
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field
from moldau.protocol.primitives import (
    compact_string,
    fixed,
    null_sent,
    nullable_compact_string,
    read_compact_string,
    read_nullable_compact_string,
)
from moldau.protocol.tagged_fields import (
    check_tag_end,
    keep_tag,
    misplaced_tag,
    read_tag,
    read_tag_count,
    read_unknown_tags,
    tagged,
)
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_Hh, _unpack_Hh = fixed("Hh")
_pack_hh, _unpack_hh = fixed("hh")
_pack_iouq, _unpack_iouq = fixed("i?16sq")
_pack_iuq, _unpack_iuq = fixed("i16sq")
_pack_o, _unpack_o = fixed("?")
_pack_oo, _unpack_oo = fixed("??")


class BrokerEndpoint(Struct):
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
    def write_all(out: Writer, items: Iterable[BrokerEndpoint], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += compact_string(item.host)
            buf += _pack_Hh(item.port, item.security_protocol)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[BrokerEndpoint], int]:
        items: list[BrokerEndpoint] = []
        for _ in range(count):
            item = new(BrokerEndpoint)
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


class BrokerFeature(Struct):
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
    def write_all(out: Writer, items: Iterable[BrokerFeature], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += _pack_hh(item.min_supported_version, item.max_supported_version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[BrokerFeature], int]:
        items: list[BrokerFeature] = []
        for _ in range(count):
            item = new(BrokerFeature)
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


class RegisterBrokerRecord(Message):
    FIELDS = (
        "broker_id",
        "is_migrating_zk_broker",
        "incarnation_id",
        "broker_epoch",
        "end_points",
        "features",
        "rack",
        "fenced",
        "in_controlled_shutdown",
        "log_dirs",
        "cordoned_log_dirs",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    broker_id: int
    is_migrating_zk_broker: bool
    incarnation_id: Uuid
    broker_epoch: int
    end_points: list[BrokerEndpoint]
    features: list[BrokerFeature]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool
    log_dirs: list[Uuid]
    cordoned_log_dirs: list[Uuid] | None

    def __init__(
        self,
        *,
        broker_id: int = 0,
        is_migrating_zk_broker: bool = False,
        incarnation_id: Uuid = ZERO_UUID,
        broker_epoch: int = 0,
        end_points: list[BrokerEndpoint] = UNSET,
        features: list[BrokerFeature] = UNSET,
        rack: str | None = "",
        fenced: bool = True,
        in_controlled_shutdown: bool = False,
        log_dirs: list[Uuid] = UNSET,
        cordoned_log_dirs: list[Uuid] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.is_migrating_zk_broker = is_migrating_zk_broker
        self.incarnation_id = incarnation_id
        self.broker_epoch = broker_epoch
        self.end_points = [] if end_points is UNSET else end_points
        self.features = [] if features is UNSET else features
        self.rack = rack
        self.fenced = fenced
        self.in_controlled_shutdown = in_controlled_shutdown
        self.log_dirs = [] if log_dirs is UNSET else log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[RegisterBrokerRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            if version >= 2:
                buf += _pack_iouq(item.broker_id, item.is_migrating_zk_broker, item.incarnation_id, item.broker_epoch)
            else:
                if item.is_migrating_zk_broker:
                    raise no_such_field("RegisterBrokerRecord", "is_migrating_zk_broker", version)
                buf += _pack_iuq(item.broker_id, item.incarnation_id, item.broker_epoch)
            buf += compact_array_count(item.end_points)
            BrokerEndpoint.write_all(out, item.end_points, version)
            buf += compact_array_count(item.features)
            BrokerFeature.write_all(out, item.features, version)
            buf += nullable_compact_string(item.rack)
            if version >= 1:
                buf += _pack_oo(item.fenced, item.in_controlled_shutdown)
            else:
                if item.in_controlled_shutdown:
                    raise no_such_field("RegisterBrokerRecord", "in_controlled_shutdown", version)
                buf += _pack_o(item.fenced)
            tags: dict[int, bytes] = {}
            if version >= 3:
                log_dirs = item.log_dirs
                if log_dirs:
                    tags[0] = compact_uuids(log_dirs)
            else:
                if item.log_dirs:
                    raise no_such_field("RegisterBrokerRecord", "log_dirs", version)
            if version >= 4:
                cordoned_log_dirs = item.cordoned_log_dirs
                if cordoned_log_dirs is not None:
                    tags[1] = compact_uuids(cordoned_log_dirs)
            else:
                if item.cordoned_log_dirs is not None:
                    raise no_such_field("RegisterBrokerRecord", "cordoned_log_dirs", version)
            buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RegisterBrokerRecord], int]:
        items: list[RegisterBrokerRecord] = []
        for _ in range(count):
            item = new(RegisterBrokerRecord)
            if version >= 2:
                (
                    item.broker_id,
                    item.is_migrating_zk_broker,
                    item.incarnation_id,
                    item.broker_epoch,
                ) = _unpack_iouq(data, pos)
                pos += 29
            else:
                item.broker_id, item.incarnation_id, item.broker_epoch = _unpack_iuq(data, pos)
                pos += 28
                item.is_migrating_zk_broker = False
            size, pos = read_compact_count(data, pos, 7)
            if size < 0:
                raise null_sent("end_points")
            item.end_points, pos = BrokerEndpoint.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 6)
            if size < 0:
                raise null_sent("features")
            item.features, pos = BrokerFeature.read_all(data, pos, version, size)
            item.rack, pos = read_nullable_compact_string(data, pos)
            if version >= 1:
                item.fenced, item.in_controlled_shutdown = _unpack_oo(data, pos)
                pos += 2
            else:
                (item.fenced,) = _unpack_o(data, pos)
                pos += 1
                item.in_controlled_shutdown = False
            item.log_dirs = []
            item.cordoned_log_dirs = None
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                tags, pos = read_tag_count(data, pos)
                for _ in range(tags):
                    tag, pos, stop = read_tag(data, pos)
                    if tag == 0:
                        if version < 3:
                            raise misplaced_tag(tag, version)
                        size, pos = read_compact_count(data, pos, 16)
                        if size < 0:
                            raise null_sent("log_dirs")
                        item.log_dirs, pos = read_uuids(data, pos, size)
                    elif tag == 1:
                        if version < 4:
                            raise misplaced_tag(tag, version)
                        size, pos = read_compact_count(data, pos, 16)
                        if size < 0:
                            item.cordoned_log_dirs = None
                        else:
                            item.cordoned_log_dirs, pos = read_uuids(data, pos, size)
                    else:
                        item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                        pos = stop
                    check_tag_end(tag, pos, stop)
            items.append(item)
        return items, pos
