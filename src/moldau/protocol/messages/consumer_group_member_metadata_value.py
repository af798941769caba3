# Generated from schema/consumer_group_records.wire by tools/generate_messages.py: do not edit.
"""ConsumerGroupMemberMetadataValue: the subscription of a member."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, compact_strings, read_compact_count, read_many
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import (
    COMPACT_NULL,
    compact_bytes,
    compact_string,
    fixed,
    null_sent,
    nullable_compact_string,
    read_compact_bytes,
    read_compact_string,
    read_nullable_compact_string,
)
from moldau.protocol.slices import Slices, struct_slices, value_slices, written_slices
from moldau.protocol.tagged_fields import check_tag_end, keep_tag, read_tag, read_tag_count, read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_i, _unpack_i = fixed("i")


class ClassicProtocol(Struct):
    FIELDS = ("name", "metadata")
    __slots__ = FIELDS

    name: str
    metadata: bytes

    def __init__(self, *, name: str = "", metadata: bytes = b"") -> None:
        self.name = name
        self.metadata = metadata
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ClassicProtocol], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += compact_bytes(item.metadata)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ClassicProtocol], int]:
        items: list[ClassicProtocol] = []
        for _ in range(count):
            item = new(ClassicProtocol)
            item.name, pos = read_compact_string(data, pos)
            item.metadata, pos = read_compact_bytes(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class ClassicMemberMetadata(Struct):
    FIELDS = ("session_timeout_ms", "supported_protocols")
    __slots__ = FIELDS

    session_timeout_ms: int
    supported_protocols: list[ClassicProtocol]

    def __init__(self, *, session_timeout_ms: int = 0, supported_protocols: list[ClassicProtocol] = UNSET) -> None:
        self.session_timeout_ms = session_timeout_ms
        self.supported_protocols = [] if supported_protocols is UNSET else supported_protocols
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ClassicMemberMetadata], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.session_timeout_ms)
            buf += compact_array_count(item.supported_protocols)
            ClassicProtocol.write_all(out, item.supported_protocols, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ClassicMemberMetadata], int]:
        items: list[ClassicMemberMetadata] = []
        for _ in range(count):
            item = new(ClassicMemberMetadata)
            (item.session_timeout_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("supported_protocols")
            item.supported_protocols, pos = ClassicProtocol.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[ClassicMemberMetadata], int]]:
        items: list[ClassicMemberMetadata] = []
        for _ in range(count):
            item = new(ClassicMemberMetadata)
            (item.session_timeout_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("supported_protocols")
            item.supported_protocols, pos = yield from struct_slices(
                ClassicProtocol.read_all,
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

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ClassicMemberMetadata], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.session_timeout_ms)
            buf += compact_array_count(item.supported_protocols)
            yield from written_slices(ClassicProtocol.write_all, out, item.supported_protocols, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class ConsumerGroupMemberMetadataValue(Message):
    FIELDS = (
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "rebalance_timeout_ms",
        "server_assignor",
        "classic_member_metadata",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 5
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]
    subscribed_topic_regex: str | None
    rebalance_timeout_ms: int
    server_assignor: str | None
    classic_member_metadata: ClassicMemberMetadata | None

    def __init__(
        self,
        *,
        instance_id: str | None = "",
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = UNSET,
        subscribed_topic_regex: str | None = "",
        rebalance_timeout_ms: int = -1,
        server_assignor: str | None = "",
        classic_member_metadata: ClassicMemberMetadata | None = UNSET,
    ) -> None:
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = [] if subscribed_topic_names is UNSET else subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.server_assignor = server_assignor
        self.classic_member_metadata = (
            ClassicMemberMetadata() if classic_member_metadata is UNSET else classic_member_metadata
        )
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ConsumerGroupMemberMetadataValue], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += nullable_compact_string(item.instance_id)
            buf += nullable_compact_string(item.rack_id)
            buf += compact_string(item.client_id)
            buf += compact_string(item.client_host)
            buf += compact_strings(item.subscribed_topic_names)
            buf += nullable_compact_string(item.subscribed_topic_regex)
            buf += _pack_i(item.rebalance_timeout_ms)
            buf += nullable_compact_string(item.server_assignor)
            tags: dict[int, bytes] = {}
            classic_member_metadata = item.classic_member_metadata
            if classic_member_metadata != ClassicMemberMetadata():
                if classic_member_metadata is None:
                    tags[0] = COMPACT_NULL
                else:
                    inner = Writer()
                    inner.buffer.append(1)
                    ClassicMemberMetadata.write_all(inner, (classic_member_metadata,), version)
                    tags[0] = inner.bytes()
            buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ConsumerGroupMemberMetadataValue], int]:
        items: list[ConsumerGroupMemberMetadataValue] = []
        for _ in range(count):
            item = new(ConsumerGroupMemberMetadataValue)
            item.instance_id, pos = read_nullable_compact_string(data, pos)
            item.rack_id, pos = read_nullable_compact_string(data, pos)
            item.client_id, pos = read_compact_string(data, pos)
            item.client_host, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("subscribed_topic_names")
            item.subscribed_topic_names, pos = read_many(read_compact_string, data, pos, size)
            item.subscribed_topic_regex, pos = read_nullable_compact_string(data, pos)
            (item.rebalance_timeout_ms,) = _unpack_i(data, pos)
            pos += 4
            item.server_assignor, pos = read_nullable_compact_string(data, pos)
            item.classic_member_metadata = ClassicMemberMetadata()
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                tags, pos = read_tag_count(data, pos)
                for _ in range(tags):
                    tag, pos, stop = read_tag(data, pos)
                    if tag == 0:
                        if data[pos] == 0:
                            pos += 1
                            item.classic_member_metadata = None
                        else:
                            pos += 1
                            (item.classic_member_metadata,), pos = ClassicMemberMetadata.read_all(data, pos, version, 1)
                    else:
                        item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                        pos = stop
                    check_tag_end(tag, pos, stop)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[ConsumerGroupMemberMetadataValue], int]]:
        items: list[ConsumerGroupMemberMetadataValue] = []
        for _ in range(count):
            item = new(ConsumerGroupMemberMetadataValue)
            item.instance_id, pos = read_nullable_compact_string(data, pos)
            item.rack_id, pos = read_nullable_compact_string(data, pos)
            item.client_id, pos = read_compact_string(data, pos)
            item.client_host, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("subscribed_topic_names")
            item.subscribed_topic_names, pos = yield from value_slices(
                read_compact_string,
                data,
                pos,
                size,
                bounded=False,
            )
            item.subscribed_topic_regex, pos = read_nullable_compact_string(data, pos)
            (item.rebalance_timeout_ms,) = _unpack_i(data, pos)
            pos += 4
            item.server_assignor, pos = read_nullable_compact_string(data, pos)
            item.classic_member_metadata = ClassicMemberMetadata()
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                tags, pos = read_tag_count(data, pos)
                for _ in range(tags):
                    tag, pos, stop = read_tag(data, pos)
                    if tag == 0:
                        if data[pos] == 0:
                            pos += 1
                            item.classic_member_metadata = None
                        else:
                            pos += 1
                            (item.classic_member_metadata,), pos = yield from ClassicMemberMetadata.read_slices(
                                data,
                                pos,
                                version,
                                1,
                            )
                    else:
                        item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                        pos = stop
                    check_tag_end(tag, pos, stop)
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ConsumerGroupMemberMetadataValue], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += nullable_compact_string(item.instance_id)
            buf += nullable_compact_string(item.rack_id)
            buf += compact_string(item.client_id)
            buf += compact_string(item.client_host)
            buf += compact_strings(item.subscribed_topic_names)
            yield len(item.subscribed_topic_names)
            buf += nullable_compact_string(item.subscribed_topic_regex)
            buf += _pack_i(item.rebalance_timeout_ms)
            buf += nullable_compact_string(item.server_assignor)
            tags: dict[int, bytes] = {}
            classic_member_metadata = item.classic_member_metadata
            if classic_member_metadata != ClassicMemberMetadata():
                if classic_member_metadata is None:
                    tags[0] = COMPACT_NULL
                else:
                    inner = Writer()
                    inner.buffer.append(1)
                    ClassicMemberMetadata.write_all(inner, (classic_member_metadata,), version)
                    tags[0] = inner.bytes()
            buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"
            yield 1
