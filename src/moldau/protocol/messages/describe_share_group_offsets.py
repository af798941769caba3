# Generated from schema/describe_share_group_offsets.wire by tools/generate_messages.py: do not edit.
"""DescribeShareGroupOffsets: the start offsets of share groups.

Since version
   1  lag
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, compact_int32s, read_compact_count, read_compact_int32s
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import (
    COMPACT_NULL,
    compact_string,
    fixed,
    null_sent,
    nullable_compact_string,
    read_compact_string,
    read_nullable_compact_string,
)
from moldau.protocol.slices import Slices, check_count, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_h, _unpack_h = fixed("h")
_pack_i, _unpack_i = fixed("i")
_pack_iqih, _unpack_iqih = fixed("iqih")
_pack_iqiqh, _unpack_iqiqh = fixed("iqiqh")
_pack_u, _unpack_u = fixed("16s")


class DescribeShareGroupOffsetsRequestTopic(Struct):
    FIELDS = ("topic_name", "partitions")
    __slots__ = FIELDS

    topic_name: str
    partitions: list[int]

    def __init__(self, *, topic_name: str = "", partitions: list[int] = UNSET) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeShareGroupOffsetsRequestTopic], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.topic_name)
            buf += compact_int32s(item.partitions)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[DescribeShareGroupOffsetsRequestTopic], int]:
        items: list[DescribeShareGroupOffsetsRequestTopic] = []
        for _ in range(count):
            item = new(DescribeShareGroupOffsetsRequestTopic)
            item.topic_name, pos = read_compact_string(data, pos)
            item.partitions, pos = read_compact_int32s(data, pos)
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
    ) -> Slices[tuple[list[DescribeShareGroupOffsetsRequestTopic], int]]:
        check_count(count)
        items: list[DescribeShareGroupOffsetsRequestTopic] = []
        for _ in range(count):
            item = new(DescribeShareGroupOffsetsRequestTopic)
            item.topic_name, pos = read_compact_string(data, pos)
            item.partitions, pos = read_compact_int32s(data, pos)
            yield len(item.partitions)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class DescribeShareGroupOffsetsRequestGroup(Struct):
    FIELDS = ("group_id", "topics")
    __slots__ = FIELDS

    group_id: str
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: list[DescribeShareGroupOffsetsRequestTopic] | None = UNSET,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeShareGroupOffsetsRequestGroup], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.group_id)
            topics = item.topics
            if topics is None:
                buf += COMPACT_NULL
            else:
                buf += compact_array_count(topics)
                DescribeShareGroupOffsetsRequestTopic.write_all(out, topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[DescribeShareGroupOffsetsRequestGroup], int]:
        items: list[DescribeShareGroupOffsetsRequestGroup] = []
        for _ in range(count):
            item = new(DescribeShareGroupOffsetsRequestGroup)
            item.group_id, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                item.topics = None
            else:
                item.topics, pos = DescribeShareGroupOffsetsRequestTopic.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[DescribeShareGroupOffsetsRequestGroup], int]]:
        check_count(count)
        items: list[DescribeShareGroupOffsetsRequestGroup] = []
        for _ in range(count):
            item = new(DescribeShareGroupOffsetsRequestGroup)
            item.group_id, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                item.topics = None
            else:
                item.topics, pos = yield from DescribeShareGroupOffsetsRequestTopic.read_slices(
                    data,
                    pos,
                    version,
                    size,
                )
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class DescribeShareGroupOffsetsRequest(Message):
    FIELDS = ("groups",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 90
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    groups: list[DescribeShareGroupOffsetsRequestGroup]

    def __init__(self, *, groups: list[DescribeShareGroupOffsetsRequestGroup] = UNSET) -> None:
        self.groups = [] if groups is UNSET else groups
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeShareGroupOffsetsRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.groups)
            DescribeShareGroupOffsetsRequestGroup.write_all(out, item.groups, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeShareGroupOffsetsRequest], int]:
        items: list[DescribeShareGroupOffsetsRequest] = []
        for _ in range(count):
            item = new(DescribeShareGroupOffsetsRequest)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("groups")
            item.groups, pos = DescribeShareGroupOffsetsRequestGroup.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[DescribeShareGroupOffsetsRequest], int]]:
        check_count(count)
        items: list[DescribeShareGroupOffsetsRequest] = []
        for _ in range(count):
            item = new(DescribeShareGroupOffsetsRequest)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("groups")
            item.groups, pos = yield from DescribeShareGroupOffsetsRequestGroup.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class DescribeShareGroupOffsetsResponsePartition(Struct):
    FIELDS = ("partition_index", "start_offset", "leader_epoch", "lag", "error_code", "error_message")
    __slots__ = FIELDS

    partition_index: int
    start_offset: int
    leader_epoch: int
    lag: int
    error_code: int
    error_message: str | None

    def __init__(
        self,
        *,
        partition_index: int = 0,
        start_offset: int = 0,
        leader_epoch: int = 0,
        lag: int = -1,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.start_offset = start_offset
        self.leader_epoch = leader_epoch
        self.lag = lag
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeShareGroupOffsetsResponsePartition], version: int) -> None:
        buf = out.buffer
        for item in items:
            if version >= 1:
                buf += _pack_iqiqh(
                    item.partition_index,
                    item.start_offset,
                    item.leader_epoch,
                    item.lag,
                    item.error_code,
                )
            else:
                buf += _pack_iqih(item.partition_index, item.start_offset, item.leader_epoch, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[DescribeShareGroupOffsetsResponsePartition], int]:
        items: list[DescribeShareGroupOffsetsResponsePartition] = []
        for _ in range(count):
            item = new(DescribeShareGroupOffsetsResponsePartition)
            if version >= 1:
                (
                    item.partition_index,
                    item.start_offset,
                    item.leader_epoch,
                    item.lag,
                    item.error_code,
                ) = _unpack_iqiqh(data, pos)
                pos += 26
            else:
                item.partition_index, item.start_offset, item.leader_epoch, item.error_code = _unpack_iqih(data, pos)
                pos += 18
                item.lag = -1
            item.error_message, pos = read_nullable_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class DescribeShareGroupOffsetsResponseTopic(Struct):
    FIELDS = ("topic_name", "topic_id", "partitions")
    __slots__ = FIELDS

    topic_name: str
    topic_id: Uuid
    partitions: list[DescribeShareGroupOffsetsResponsePartition]

    def __init__(
        self,
        *,
        topic_name: str = "",
        topic_id: Uuid = ZERO_UUID,
        partitions: list[DescribeShareGroupOffsetsResponsePartition] = UNSET,
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeShareGroupOffsetsResponseTopic], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.topic_name)
            buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            DescribeShareGroupOffsetsResponsePartition.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[DescribeShareGroupOffsetsResponseTopic], int]:
        items: list[DescribeShareGroupOffsetsResponseTopic] = []
        for _ in range(count):
            item = new(DescribeShareGroupOffsetsResponseTopic)
            item.topic_name, pos = read_compact_string(data, pos)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 20)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = DescribeShareGroupOffsetsResponsePartition.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(
        out: Writer,
        items: Iterable[DescribeShareGroupOffsetsResponseTopic],
        version: int,
    ) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.topic_name)
            buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            yield from written_slices(
                DescribeShareGroupOffsetsResponsePartition.write_all,
                out,
                item.partitions,
                version,
            )
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class DescribeShareGroupOffsetsResponseGroup(Struct):
    FIELDS = ("group_id", "topics", "error_code", "error_message")
    __slots__ = FIELDS

    group_id: str
    topics: list[DescribeShareGroupOffsetsResponseTopic]
    error_code: int
    error_message: str | None

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: list[DescribeShareGroupOffsetsResponseTopic] = UNSET,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is UNSET else topics
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeShareGroupOffsetsResponseGroup], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.group_id)
            buf += compact_array_count(item.topics)
            DescribeShareGroupOffsetsResponseTopic.write_all(out, item.topics, version)
            buf += _pack_h(item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[DescribeShareGroupOffsetsResponseGroup], int]:
        items: list[DescribeShareGroupOffsetsResponseGroup] = []
        for _ in range(count):
            item = new(DescribeShareGroupOffsetsResponseGroup)
            item.group_id, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 19)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = DescribeShareGroupOffsetsResponseTopic.read_all(data, pos, version, size)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.error_message, pos = read_nullable_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(
        out: Writer,
        items: Iterable[DescribeShareGroupOffsetsResponseGroup],
        version: int,
    ) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.group_id)
            buf += compact_array_count(item.topics)
            yield from DescribeShareGroupOffsetsResponseTopic.write_slices(out, item.topics, version)
            buf += _pack_h(item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class DescribeShareGroupOffsetsResponse(Message):
    FIELDS = ("throttle_time_ms", "groups")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 90
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    groups: list[DescribeShareGroupOffsetsResponseGroup]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        groups: list[DescribeShareGroupOffsetsResponseGroup] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is UNSET else groups
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeShareGroupOffsetsResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += compact_array_count(item.groups)
            DescribeShareGroupOffsetsResponseGroup.write_all(out, item.groups, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[DescribeShareGroupOffsetsResponse], int]:
        items: list[DescribeShareGroupOffsetsResponse] = []
        for _ in range(count):
            item = new(DescribeShareGroupOffsetsResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 6)
            if size < 0:
                raise null_sent("groups")
            item.groups, pos = DescribeShareGroupOffsetsResponseGroup.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DescribeShareGroupOffsetsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += compact_array_count(item.groups)
            yield from DescribeShareGroupOffsetsResponseGroup.write_slices(out, item.groups, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
