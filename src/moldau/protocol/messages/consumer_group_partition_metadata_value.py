# Generated from schema/consumer_group_records.wire by tools/generate_messages.py: do not edit.
"""ConsumerGroupPartitionMetadataValue: the partitions of subscribed topics; no longer written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, compact_strings, read_compact_count, read_many
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import compact_string, fixed, null_sent, read_compact_string
from moldau.protocol.slices import Slices, value_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_i, _unpack_i = fixed("i")
_pack_u, _unpack_u = fixed("16s")


class PartitionMetadata(Struct):
    FIELDS = ("partition", "racks")
    __slots__ = FIELDS

    partition: int
    racks: list[str]

    def __init__(self, *, partition: int = 0, racks: list[str] = UNSET) -> None:
        self.partition = partition
        self.racks = [] if racks is UNSET else racks
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[PartitionMetadata], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.partition)
            buf += compact_strings(item.racks)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[PartitionMetadata], int]:
        items: list[PartitionMetadata] = []
        for _ in range(count):
            item = new(PartitionMetadata)
            (item.partition,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("racks")
            item.racks, pos = read_many(read_compact_string, data, pos, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[PartitionMetadata], int]]:
        items: list[PartitionMetadata] = []
        for _ in range(count):
            item = new(PartitionMetadata)
            (item.partition,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("racks")
            item.racks, pos = yield from value_slices(read_compact_string, data, pos, size, bounded=False)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[PartitionMetadata], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.partition)
            buf += compact_strings(item.racks)
            yield len(item.racks)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class TopicMetadata(Struct):
    FIELDS = ("topic_id", "topic_name", "num_partitions", "partition_metadata")
    __slots__ = FIELDS

    topic_id: Uuid
    topic_name: str
    num_partitions: int
    partition_metadata: list[PartitionMetadata]

    def __init__(
        self,
        *,
        topic_id: Uuid = ZERO_UUID,
        topic_name: str = "",
        num_partitions: int = 0,
        partition_metadata: list[PartitionMetadata] = UNSET,
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.num_partitions = num_partitions
        self.partition_metadata = [] if partition_metadata is UNSET else partition_metadata
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TopicMetadata], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_string(item.topic_name)
            buf += _pack_i(item.num_partitions)
            buf += compact_array_count(item.partition_metadata)
            PartitionMetadata.write_all(out, item.partition_metadata, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TopicMetadata], int]:
        items: list[TopicMetadata] = []
        for _ in range(count):
            item = new(TopicMetadata)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            item.topic_name, pos = read_compact_string(data, pos)
            (item.num_partitions,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 6)
            if size < 0:
                raise null_sent("partition_metadata")
            item.partition_metadata, pos = PartitionMetadata.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[TopicMetadata], int]]:
        items: list[TopicMetadata] = []
        for _ in range(count):
            item = new(TopicMetadata)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            item.topic_name, pos = read_compact_string(data, pos)
            (item.num_partitions,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 6)
            if size < 0:
                raise null_sent("partition_metadata")
            item.partition_metadata, pos = yield from PartitionMetadata.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[TopicMetadata], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_string(item.topic_name)
            buf += _pack_i(item.num_partitions)
            buf += compact_array_count(item.partition_metadata)
            yield from PartitionMetadata.write_slices(out, item.partition_metadata, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class ConsumerGroupPartitionMetadataValue(Message):
    FIELDS = ("topics",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 4
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    topics: list[TopicMetadata]

    def __init__(self, *, topics: list[TopicMetadata] = UNSET) -> None:
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ConsumerGroupPartitionMetadataValue], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.topics)
            TopicMetadata.write_all(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[ConsumerGroupPartitionMetadataValue], int]:
        items: list[ConsumerGroupPartitionMetadataValue] = []
        for _ in range(count):
            item = new(ConsumerGroupPartitionMetadataValue)
            size, pos = read_compact_count(data, pos, 23)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = TopicMetadata.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[ConsumerGroupPartitionMetadataValue], int]]:
        items: list[ConsumerGroupPartitionMetadataValue] = []
        for _ in range(count):
            item = new(ConsumerGroupPartitionMetadataValue)
            size, pos = read_compact_count(data, pos, 23)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from TopicMetadata.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ConsumerGroupPartitionMetadataValue], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.topics)
            yield from TopicMetadata.write_slices(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
