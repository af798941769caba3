# Generated from schema/consumer_protocol.wire by tools/generate_messages.py: do not edit.
"""ConsumerProtocolAssignment: what a classic consumer is assigned; the assignment in its SyncGroup."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import array_count, int32s, read_count, read_int32s
from moldau.protocol.message import UNSET, Message, Struct, new, no_tags
from moldau.protocol.primitives import null_sent, nullable_bytes, read_nullable_bytes, read_string, string
from moldau.protocol.wire import Writer


class TopicPartition(Struct):
    FIELDS = ("topic", "partitions")
    __slots__ = FIELDS

    topic: str
    partitions: list[int]

    def __init__(self, *, topic: str = "", partitions: list[int] = UNSET) -> None:
        self.topic = topic
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TopicPartition], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += string(item.topic)
            buf += int32s(item.partitions)
            if item.unknown_tags:
                raise no_tags("TopicPartition", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TopicPartition], int]:
        items: list[TopicPartition] = []
        for _ in range(count):
            item = new(TopicPartition)
            item.topic, pos = read_string(data, pos)
            item.partitions, pos = read_int32s(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class ConsumerProtocolAssignment(Message):
    FIELDS = ("assigned_partitions", "user_data")
    __slots__ = FIELDS

    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int | None] = None

    assigned_partitions: list[TopicPartition]
    user_data: bytes | None

    def __init__(self, *, assigned_partitions: list[TopicPartition] = UNSET, user_data: bytes | None = None) -> None:
        self.assigned_partitions = [] if assigned_partitions is UNSET else assigned_partitions
        self.user_data = user_data
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ConsumerProtocolAssignment], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += array_count(item.assigned_partitions)
            TopicPartition.write_all(out, item.assigned_partitions, version)
            buf += nullable_bytes(item.user_data)
            if item.unknown_tags:
                raise no_tags("ConsumerProtocolAssignment", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ConsumerProtocolAssignment], int]:
        items: list[ConsumerProtocolAssignment] = []
        for _ in range(count):
            item = new(ConsumerProtocolAssignment)
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("assigned_partitions")
            item.assigned_partitions, pos = TopicPartition.read_all(data, pos, version, size)
            item.user_data, pos = read_nullable_bytes(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos
