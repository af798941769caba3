# Generated from schema/broker_registration.wire by tools/generate_messages.py: do not edit.
"""BrokerRegistration: a broker joins the cluster.

Since version
   1  migration from ZooKeeper
   2  log directories
   3  epoch of the broker's previous registration
   4  supported features may start at 0
"""

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
from moldau.protocol.slices import Slices, check_count, struct_slices, uuid_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_Hh, _unpack_Hh = fixed("Hh")
_pack_hh, _unpack_hh = fixed("hh")
_pack_i, _unpack_i = fixed("i")
_pack_ihq, _unpack_ihq = fixed("ihq")
_pack_o, _unpack_o = fixed("?")
_pack_q, _unpack_q = fixed("q")
_pack_u, _unpack_u = fixed("16s")


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


class BrokerRegistrationRequest(Message):
    FIELDS = (
        "broker_id",
        "cluster_id",
        "incarnation_id",
        "listeners",
        "features",
        "rack",
        "is_migrating_zk_broker",
        "log_dirs",
        "previous_broker_epoch",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 62
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    broker_id: int
    cluster_id: str
    incarnation_id: Uuid
    listeners: list[Listener]
    features: list[Feature]
    rack: str | None
    is_migrating_zk_broker: bool
    log_dirs: list[Uuid]
    previous_broker_epoch: int

    def __init__(
        self,
        *,
        broker_id: int = 0,
        cluster_id: str = "",
        incarnation_id: Uuid = ZERO_UUID,
        listeners: list[Listener] = UNSET,
        features: list[Feature] = UNSET,
        rack: str | None = "",
        is_migrating_zk_broker: bool = False,
        log_dirs: list[Uuid] = UNSET,
        previous_broker_epoch: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.cluster_id = cluster_id
        self.incarnation_id = incarnation_id
        self.listeners = [] if listeners is UNSET else listeners
        self.features = [] if features is UNSET else features
        self.rack = rack
        self.is_migrating_zk_broker = is_migrating_zk_broker
        self.log_dirs = [] if log_dirs is UNSET else log_dirs
        self.previous_broker_epoch = previous_broker_epoch
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[BrokerRegistrationRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.broker_id)
            buf += compact_string(item.cluster_id)
            buf += _pack_u(item.incarnation_id)
            buf += compact_array_count(item.listeners)
            Listener.write_all(out, item.listeners, version)
            buf += compact_array_count(item.features)
            Feature.write_all(out, item.features, version)
            buf += nullable_compact_string(item.rack)
            if version >= 1:
                buf += _pack_o(item.is_migrating_zk_broker)
            else:
                if item.is_migrating_zk_broker:
                    raise no_such_field("BrokerRegistrationRequest", "is_migrating_zk_broker", version)
            if version >= 2:
                buf += compact_uuids(item.log_dirs)
            if version >= 3:
                buf += _pack_q(item.previous_broker_epoch)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[BrokerRegistrationRequest], int]:
        items: list[BrokerRegistrationRequest] = []
        for _ in range(count):
            item = new(BrokerRegistrationRequest)
            (item.broker_id,) = _unpack_i(data, pos)
            pos += 4
            item.cluster_id, pos = read_compact_string(data, pos)
            (item.incarnation_id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 7)
            if size < 0:
                raise null_sent("listeners")
            item.listeners, pos = Listener.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 6)
            if size < 0:
                raise null_sent("features")
            item.features, pos = Feature.read_all(data, pos, version, size)
            item.rack, pos = read_nullable_compact_string(data, pos)
            if version >= 1:
                (item.is_migrating_zk_broker,) = _unpack_o(data, pos)
                pos += 1
            else:
                item.is_migrating_zk_broker = False
            if version >= 2:
                size, pos = read_compact_count(data, pos, 16)
                if size < 0:
                    raise null_sent("log_dirs")
                item.log_dirs, pos = read_uuids(data, pos, size)
            else:
                item.log_dirs = []
            if version >= 3:
                (item.previous_broker_epoch,) = _unpack_q(data, pos)
                pos += 8
            else:
                item.previous_broker_epoch = -1
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
    ) -> Slices[tuple[list[BrokerRegistrationRequest], int]]:
        check_count(count)
        items: list[BrokerRegistrationRequest] = []
        for _ in range(count):
            item = new(BrokerRegistrationRequest)
            (item.broker_id,) = _unpack_i(data, pos)
            pos += 4
            item.cluster_id, pos = read_compact_string(data, pos)
            (item.incarnation_id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 7)
            if size < 0:
                raise null_sent("listeners")
            item.listeners, pos = yield from struct_slices(Listener.read_all, data, pos, version, size)
            size, pos = read_compact_count(data, pos, 6)
            if size < 0:
                raise null_sent("features")
            item.features, pos = yield from struct_slices(Feature.read_all, data, pos, version, size)
            item.rack, pos = read_nullable_compact_string(data, pos)
            if version >= 1:
                (item.is_migrating_zk_broker,) = _unpack_o(data, pos)
                pos += 1
            else:
                item.is_migrating_zk_broker = False
            if version >= 2:
                size, pos = read_compact_count(data, pos, 16)
                if size < 0:
                    raise null_sent("log_dirs")
                item.log_dirs, pos = yield from uuid_slices(data, pos, size)
            else:
                item.log_dirs = []
            if version >= 3:
                (item.previous_broker_epoch,) = _unpack_q(data, pos)
                pos += 8
            else:
                item.previous_broker_epoch = -1
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class BrokerRegistrationResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "broker_epoch")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 62
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    error_code: int
    broker_epoch: int

    def __init__(self, *, throttle_time_ms: int = 0, error_code: int = 0, broker_epoch: int = -1) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.broker_epoch = broker_epoch
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[BrokerRegistrationResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ihq(item.throttle_time_ms, item.error_code, item.broker_epoch)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[BrokerRegistrationResponse], int]:
        items: list[BrokerRegistrationResponse] = []
        for _ in range(count):
            item = new(BrokerRegistrationResponse)
            item.throttle_time_ms, item.error_code, item.broker_epoch = _unpack_ihq(data, pos)
            pos += 14
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
