# Generated from schema/consumer_protocol.wire by tools/generate_messages.py: do not edit.
"""ConsumerProtocolSubscription: what a classic consumer subscribes to; the metadata in its JoinGroup."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import array_count, int32s, read_count, read_int32s, read_many, strings
from moldau.protocol.message import UNSET, Message, Struct, new, no_tags
from moldau.protocol.primitives import (
    fixed,
    null_sent,
    nullable_bytes,
    nullable_string,
    read_nullable_bytes,
    read_nullable_string,
    read_string,
    string,
)
from moldau.protocol.wire import Writer

_pack_i, _unpack_i = fixed("i")


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


class ConsumerProtocolSubscription(Message):
    FIELDS = ("topics", "user_data", "owned_partitions", "generation_id", "rack_id")
    __slots__ = FIELDS

    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int | None] = None

    topics: list[str]
    user_data: bytes | None
    owned_partitions: list[TopicPartition]
    generation_id: int
    rack_id: str | None

    def __init__(
        self,
        *,
        topics: list[str] = UNSET,
        user_data: bytes | None = None,
        owned_partitions: list[TopicPartition] = UNSET,
        generation_id: int = -1,
        rack_id: str | None = None,
    ) -> None:
        self.topics = [] if topics is UNSET else topics
        self.user_data = user_data
        self.owned_partitions = [] if owned_partitions is UNSET else owned_partitions
        self.generation_id = generation_id
        self.rack_id = rack_id
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ConsumerProtocolSubscription], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += strings(item.topics)
            buf += nullable_bytes(item.user_data)
            if version >= 1:
                buf += array_count(item.owned_partitions)
                TopicPartition.write_all(out, item.owned_partitions, version)
            if version >= 2:
                buf += _pack_i(item.generation_id)
            if version >= 3:
                buf += nullable_string(item.rack_id)
            if item.unknown_tags:
                raise no_tags("ConsumerProtocolSubscription", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ConsumerProtocolSubscription], int]:
        items: list[ConsumerProtocolSubscription] = []
        for _ in range(count):
            item = new(ConsumerProtocolSubscription)
            size, pos = read_count(data, pos, 2)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = read_many(read_string, data, pos, size)
            item.user_data, pos = read_nullable_bytes(data, pos)
            if version >= 1:
                size, pos = read_count(data, pos, 6)
                if size < 0:
                    raise null_sent("owned_partitions")
                item.owned_partitions, pos = TopicPartition.read_all(data, pos, version, size)
            else:
                item.owned_partitions = []
            if version >= 2:
                (item.generation_id,) = _unpack_i(data, pos)
                pos += 4
            else:
                item.generation_id = -1
            if version >= 3:
                item.rack_id, pos = read_nullable_string(data, pos)
            else:
                item.rack_id = None
            item.unknown_tags = None
            items.append(item)
        return items, pos
