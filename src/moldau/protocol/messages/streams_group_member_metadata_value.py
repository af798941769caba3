# Generated from schema/streams_group_records.wire by tools/generate_messages.py: do not edit.
"""StreamsGroupMemberMetadataValue: process, endpoint and tags of a member."""

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
from moldau.protocol.slices import Slices, struct_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_H, _unpack_H = fixed("H")
_pack_ii, _unpack_ii = fixed("ii")


class Endpoint(Struct):
    FIELDS = ("host", "port")
    __slots__ = FIELDS

    host: str
    port: int

    def __init__(self, *, host: str = "", port: int = 0) -> None:
        self.host = host
        self.port = port
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[Endpoint], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.host)
            buf += _pack_H(item.port)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[Endpoint], int]:
        items: list[Endpoint] = []
        for _ in range(count):
            item = new(Endpoint)
            item.host, pos = read_compact_string(data, pos)
            (item.port,) = _unpack_H(data, pos)
            pos += 2
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class KeyValue(Struct):
    FIELDS = ("key", "value")
    __slots__ = FIELDS

    key: str
    value: str

    def __init__(self, *, key: str = "", value: str = "") -> None:
        self.key = key
        self.value = value
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[KeyValue], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.key)
            buf += compact_string(item.value)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[KeyValue], int]:
        items: list[KeyValue] = []
        for _ in range(count):
            item = new(KeyValue)
            item.key, pos = read_compact_string(data, pos)
            item.value, pos = read_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class StreamsGroupMemberMetadataValue(Message):
    FIELDS = (
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "rebalance_timeout_ms",
        "topology_epoch",
        "process_id",
        "user_endpoint",
        "client_tags",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    topology_epoch: int
    process_id: str
    user_endpoint: Endpoint | None
    client_tags: list[KeyValue]

    def __init__(
        self,
        *,
        instance_id: str | None = "",
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout_ms: int = -1,
        topology_epoch: int = 0,
        process_id: str = "",
        user_endpoint: Endpoint | None = None,
        client_tags: list[KeyValue] = UNSET,
    ) -> None:
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.topology_epoch = topology_epoch
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = [] if client_tags is UNSET else client_tags
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[StreamsGroupMemberMetadataValue], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += nullable_compact_string(item.instance_id)
            buf += nullable_compact_string(item.rack_id)
            buf += compact_string(item.client_id)
            buf += compact_string(item.client_host)
            buf += _pack_ii(item.rebalance_timeout_ms, item.topology_epoch)
            buf += compact_string(item.process_id)
            user_endpoint = item.user_endpoint
            if user_endpoint is None:
                buf.append(0xFF)
            else:
                buf.append(1)
                Endpoint.write_all(out, (user_endpoint,), version)
            buf += compact_array_count(item.client_tags)
            KeyValue.write_all(out, item.client_tags, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[StreamsGroupMemberMetadataValue], int]:
        items: list[StreamsGroupMemberMetadataValue] = []
        for _ in range(count):
            item = new(StreamsGroupMemberMetadataValue)
            item.instance_id, pos = read_nullable_compact_string(data, pos)
            item.rack_id, pos = read_nullable_compact_string(data, pos)
            item.client_id, pos = read_compact_string(data, pos)
            item.client_host, pos = read_compact_string(data, pos)
            item.rebalance_timeout_ms, item.topology_epoch = _unpack_ii(data, pos)
            pos += 8
            item.process_id, pos = read_compact_string(data, pos)
            if data[pos] > 0x7F:
                pos += 1
                item.user_endpoint = None
            else:
                pos += 1
                (item.user_endpoint,), pos = Endpoint.read_all(data, pos, version, 1)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("client_tags")
            item.client_tags, pos = KeyValue.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[StreamsGroupMemberMetadataValue], int]]:
        items: list[StreamsGroupMemberMetadataValue] = []
        for _ in range(count):
            item = new(StreamsGroupMemberMetadataValue)
            item.instance_id, pos = read_nullable_compact_string(data, pos)
            item.rack_id, pos = read_nullable_compact_string(data, pos)
            item.client_id, pos = read_compact_string(data, pos)
            item.client_host, pos = read_compact_string(data, pos)
            item.rebalance_timeout_ms, item.topology_epoch = _unpack_ii(data, pos)
            pos += 8
            item.process_id, pos = read_compact_string(data, pos)
            if data[pos] > 0x7F:
                pos += 1
                item.user_endpoint = None
            else:
                pos += 1
                (item.user_endpoint,), pos = Endpoint.read_all(data, pos, version, 1)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("client_tags")
            item.client_tags, pos = yield from struct_slices(KeyValue.read_all, data, pos, version, size, bounded=False)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[StreamsGroupMemberMetadataValue], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += nullable_compact_string(item.instance_id)
            buf += nullable_compact_string(item.rack_id)
            buf += compact_string(item.client_id)
            buf += compact_string(item.client_host)
            buf += _pack_ii(item.rebalance_timeout_ms, item.topology_epoch)
            buf += compact_string(item.process_id)
            user_endpoint = item.user_endpoint
            if user_endpoint is None:
                buf.append(0xFF)
            else:
                buf.append(1)
                yield from written_slices(Endpoint.write_all, out, (user_endpoint,), version)
            buf += compact_array_count(item.client_tags)
            yield from written_slices(KeyValue.write_all, out, item.client_tags, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
