# Generated from schema/share_group_records.wire by tools/generate_messages.py: do not edit.
"""ShareGroupStatePartitionMetadataValue: the partitions whose share state is being started, is there, or is being
deleted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, compact_int32s, read_compact_count, read_compact_int32s
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import compact_string, fixed, null_sent, read_compact_string
from moldau.protocol.slices import Slices, struct_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_u, _unpack_u = fixed("16s")


class TopicPartitionsInfo(Struct):
    FIELDS = ("topic_id", "topic_name", "partitions")
    __slots__ = FIELDS

    topic_id: Uuid
    topic_name: str
    partitions: list[int]

    def __init__(self, *, topic_id: Uuid = ZERO_UUID, topic_name: str = "", partitions: list[int] = UNSET) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TopicPartitionsInfo], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_string(item.topic_name)
            buf += compact_int32s(item.partitions)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TopicPartitionsInfo], int]:
        items: list[TopicPartitionsInfo] = []
        for _ in range(count):
            item = new(TopicPartitionsInfo)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
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
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[TopicPartitionsInfo], int]]:
        items: list[TopicPartitionsInfo] = []
        for _ in range(count):
            item = new(TopicPartitionsInfo)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
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


class TopicInfo(Struct):
    FIELDS = ("topic_id", "topic_name")
    __slots__ = FIELDS

    topic_id: Uuid
    topic_name: str

    def __init__(self, *, topic_id: Uuid = ZERO_UUID, topic_name: str = "") -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TopicInfo], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_string(item.topic_name)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TopicInfo], int]:
        items: list[TopicInfo] = []
        for _ in range(count):
            item = new(TopicInfo)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            item.topic_name, pos = read_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class ShareGroupStatePartitionMetadataValue(Message):
    FIELDS = ("initializing_topics", "initialized_topics", "deleting_topics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    initializing_topics: list[TopicPartitionsInfo]
    initialized_topics: list[TopicPartitionsInfo]
    deleting_topics: list[TopicInfo]

    def __init__(
        self,
        *,
        initializing_topics: list[TopicPartitionsInfo] = UNSET,
        initialized_topics: list[TopicPartitionsInfo] = UNSET,
        deleting_topics: list[TopicInfo] = UNSET,
    ) -> None:
        self.initializing_topics = [] if initializing_topics is UNSET else initializing_topics
        self.initialized_topics = [] if initialized_topics is UNSET else initialized_topics
        self.deleting_topics = [] if deleting_topics is UNSET else deleting_topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ShareGroupStatePartitionMetadataValue], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.initializing_topics)
            TopicPartitionsInfo.write_all(out, item.initializing_topics, version)
            buf += compact_array_count(item.initialized_topics)
            TopicPartitionsInfo.write_all(out, item.initialized_topics, version)
            buf += compact_array_count(item.deleting_topics)
            TopicInfo.write_all(out, item.deleting_topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[ShareGroupStatePartitionMetadataValue], int]:
        items: list[ShareGroupStatePartitionMetadataValue] = []
        for _ in range(count):
            item = new(ShareGroupStatePartitionMetadataValue)
            size, pos = read_compact_count(data, pos, 19)
            if size < 0:
                raise null_sent("initializing_topics")
            item.initializing_topics, pos = TopicPartitionsInfo.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 19)
            if size < 0:
                raise null_sent("initialized_topics")
            item.initialized_topics, pos = TopicPartitionsInfo.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("deleting_topics")
            item.deleting_topics, pos = TopicInfo.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[ShareGroupStatePartitionMetadataValue], int]]:
        items: list[ShareGroupStatePartitionMetadataValue] = []
        for _ in range(count):
            item = new(ShareGroupStatePartitionMetadataValue)
            size, pos = read_compact_count(data, pos, 19)
            if size < 0:
                raise null_sent("initializing_topics")
            item.initializing_topics, pos = yield from TopicPartitionsInfo.read_slices(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 19)
            if size < 0:
                raise null_sent("initialized_topics")
            item.initialized_topics, pos = yield from TopicPartitionsInfo.read_slices(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("deleting_topics")
            item.deleting_topics, pos = yield from struct_slices(
                TopicInfo.read_all,
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
    def write_slices(out: Writer, items: Iterable[ShareGroupStatePartitionMetadataValue], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.initializing_topics)
            yield from written_slices(TopicPartitionsInfo.write_all, out, item.initializing_topics, version)
            buf += compact_array_count(item.initialized_topics)
            yield from written_slices(TopicPartitionsInfo.write_all, out, item.initialized_topics, version)
            buf += compact_array_count(item.deleting_topics)
            yield from written_slices(TopicInfo.write_all, out, item.deleting_topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
