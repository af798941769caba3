# Generated from schema/describe_cluster.wire by tools/generate_messages.py: do not edit.
"""DescribeCluster: id, controller and brokers of the cluster.

Since version
   1  brokers or controllers
   2  fenced brokers on request
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, read_compact_count
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field
from moldau.protocol.primitives import (
    compact_string,
    fixed,
    null_sent,
    nullable_compact_string,
    read_compact_string,
    read_nullable_compact_string,
)
from moldau.protocol.slices import Slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_b, _unpack_b = fixed("b")
_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")
_pack_o, _unpack_o = fixed("?")
_pack_ob, _unpack_ob = fixed("?b")
_pack_obo, _unpack_obo = fixed("?b?")


class DescribeClusterRequest(Message):
    FIELDS = ("include_cluster_authorized_operations", "endpoint_type", "include_fenced_brokers")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 60
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    include_cluster_authorized_operations: bool
    endpoint_type: int
    include_fenced_brokers: bool

    def __init__(
        self,
        *,
        include_cluster_authorized_operations: bool = False,
        endpoint_type: int = 1,
        include_fenced_brokers: bool = False,
    ) -> None:
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.endpoint_type = endpoint_type
        self.include_fenced_brokers = include_fenced_brokers
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeClusterRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            if version >= 2:
                buf += _pack_obo(
                    item.include_cluster_authorized_operations,
                    item.endpoint_type,
                    item.include_fenced_brokers,
                )
            elif version >= 1:
                if item.include_fenced_brokers:
                    raise no_such_field("DescribeClusterRequest", "include_fenced_brokers", version)
                buf += _pack_ob(item.include_cluster_authorized_operations, item.endpoint_type)
            else:
                if item.endpoint_type != 1:
                    raise no_such_field("DescribeClusterRequest", "endpoint_type", version)
                if item.include_fenced_brokers:
                    raise no_such_field("DescribeClusterRequest", "include_fenced_brokers", version)
                buf += _pack_o(item.include_cluster_authorized_operations)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeClusterRequest], int]:
        items: list[DescribeClusterRequest] = []
        for _ in range(count):
            item = new(DescribeClusterRequest)
            if version >= 2:
                (
                    item.include_cluster_authorized_operations,
                    item.endpoint_type,
                    item.include_fenced_brokers,
                ) = _unpack_obo(data, pos)
                pos += 3
            elif version >= 1:
                item.include_cluster_authorized_operations, item.endpoint_type = _unpack_ob(data, pos)
                pos += 2
                item.include_fenced_brokers = False
            else:
                (item.include_cluster_authorized_operations,) = _unpack_o(data, pos)
                pos += 1
                item.endpoint_type = 1
                item.include_fenced_brokers = False
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class DescribeClusterBroker(Struct):
    FIELDS = ("broker_id", "host", "port", "rack", "is_fenced")
    __slots__ = FIELDS

    broker_id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool

    def __init__(
        self,
        *,
        broker_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
        is_fenced: bool = False,
    ) -> None:
        self.broker_id = broker_id
        self.host = host
        self.port = port
        self.rack = rack
        self.is_fenced = is_fenced
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeClusterBroker], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.broker_id)
            buf += compact_string(item.host)
            buf += _pack_i(item.port)
            buf += nullable_compact_string(item.rack)
            if version >= 2:
                buf += _pack_o(item.is_fenced)
            else:
                if item.is_fenced:
                    raise no_such_field("DescribeClusterBroker", "is_fenced", version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeClusterBroker], int]:
        items: list[DescribeClusterBroker] = []
        for _ in range(count):
            item = new(DescribeClusterBroker)
            (item.broker_id,) = _unpack_i(data, pos)
            pos += 4
            item.host, pos = read_compact_string(data, pos)
            (item.port,) = _unpack_i(data, pos)
            pos += 4
            item.rack, pos = read_nullable_compact_string(data, pos)
            if version >= 2:
                (item.is_fenced,) = _unpack_o(data, pos)
                pos += 1
            else:
                item.is_fenced = False
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class DescribeClusterResponse(Message):
    FIELDS = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "endpoint_type",
        "cluster_id",
        "controller_id",
        "brokers",
        "cluster_authorized_operations",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 60
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    endpoint_type: int
    cluster_id: str
    controller_id: int
    brokers: list[DescribeClusterBroker]
    cluster_authorized_operations: int

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        endpoint_type: int = 1,
        cluster_id: str = "",
        controller_id: int = -1,
        brokers: list[DescribeClusterBroker] = UNSET,
        cluster_authorized_operations: int = -2147483648,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.endpoint_type = endpoint_type
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.brokers = [] if brokers is UNSET else brokers
        self.cluster_authorized_operations = cluster_authorized_operations
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeClusterResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_compact_string(item.error_message)
            if version >= 1:
                buf += _pack_b(item.endpoint_type)
            else:
                if item.endpoint_type != 1:
                    raise no_such_field("DescribeClusterResponse", "endpoint_type", version)
            buf += compact_string(item.cluster_id)
            buf += _pack_i(item.controller_id)
            buf += compact_array_count(item.brokers)
            DescribeClusterBroker.write_all(out, item.brokers, version)
            buf += _pack_i(item.cluster_authorized_operations)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeClusterResponse], int]:
        items: list[DescribeClusterResponse] = []
        for _ in range(count):
            item = new(DescribeClusterResponse)
            item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.error_message, pos = read_nullable_compact_string(data, pos)
            if version >= 1:
                (item.endpoint_type,) = _unpack_b(data, pos)
                pos += 1
            else:
                item.endpoint_type = 1
            item.cluster_id, pos = read_compact_string(data, pos)
            (item.controller_id,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 11)
            if size < 0:
                raise null_sent("brokers")
            item.brokers, pos = DescribeClusterBroker.read_all(data, pos, version, size)
            (item.cluster_authorized_operations,) = _unpack_i(data, pos)
            pos += 4
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DescribeClusterResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_compact_string(item.error_message)
            if version >= 1:
                buf += _pack_b(item.endpoint_type)
            else:
                if item.endpoint_type != 1:
                    raise no_such_field("DescribeClusterResponse", "endpoint_type", version)
            buf += compact_string(item.cluster_id)
            buf += _pack_i(item.controller_id)
            buf += compact_array_count(item.brokers)
            yield from written_slices(DescribeClusterBroker.write_all, out, item.brokers, version)
            buf += _pack_i(item.cluster_authorized_operations)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
