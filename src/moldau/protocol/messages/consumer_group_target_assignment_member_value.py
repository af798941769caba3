# Generated from schema/consumer_group_records.wire by tools/generate_messages.py: do not edit.
"""ConsumerGroupTargetAssignmentMemberValue: the partitions a member should have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, compact_int32s, read_compact_count, read_compact_int32s
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import fixed, null_sent
from moldau.protocol.slices import Slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_u, _unpack_u = fixed("16s")


class TopicPartition(Struct):
    FIELDS = ("topic_id", "partitions")
    __slots__ = FIELDS

    topic_id: Uuid
    partitions: list[int]

    def __init__(self, *, topic_id: Uuid = ZERO_UUID, partitions: list[int] = UNSET) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TopicPartition], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_int32s(item.partitions)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TopicPartition], int]:
        items: list[TopicPartition] = []
        for _ in range(count):
            item = new(TopicPartition)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            item.partitions, pos = read_compact_int32s(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[TopicPartition], int]]:
        items: list[TopicPartition] = []
        for _ in range(count):
            item = new(TopicPartition)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
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


class ConsumerGroupTargetAssignmentMemberValue(Message):
    FIELDS = ("topic_partitions",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 7
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    topic_partitions: list[TopicPartition]

    def __init__(self, *, topic_partitions: list[TopicPartition] = UNSET) -> None:
        self.topic_partitions = [] if topic_partitions is UNSET else topic_partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ConsumerGroupTargetAssignmentMemberValue], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.topic_partitions)
            TopicPartition.write_all(out, item.topic_partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[ConsumerGroupTargetAssignmentMemberValue], int]:
        items: list[ConsumerGroupTargetAssignmentMemberValue] = []
        for _ in range(count):
            item = new(ConsumerGroupTargetAssignmentMemberValue)
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("topic_partitions")
            item.topic_partitions, pos = TopicPartition.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[ConsumerGroupTargetAssignmentMemberValue], int]]:
        items: list[ConsumerGroupTargetAssignmentMemberValue] = []
        for _ in range(count):
            item = new(ConsumerGroupTargetAssignmentMemberValue)
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("topic_partitions")
            item.topic_partitions, pos = yield from TopicPartition.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(
        out: Writer,
        items: Iterable[ConsumerGroupTargetAssignmentMemberValue],
        version: int,
    ) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.topic_partitions)
            yield from written_slices(TopicPartition.write_all, out, item.topic_partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
