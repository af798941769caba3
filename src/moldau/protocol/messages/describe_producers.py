# Generated from schema/describe_producers.wire by tools/generate_messages.py: do not edit.
"""DescribeProducers: the producers that are active on partitions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, compact_int32s, read_compact_count, read_compact_int32s
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import (
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

_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")
_pack_qiiqiq, _unpack_qiiqiq = fixed("qiiqiq")


class TopicRequest(Struct):
    FIELDS = ("name", "partition_indexes")
    __slots__ = FIELDS

    name: str
    partition_indexes: list[int]

    def __init__(self, *, name: str = "", partition_indexes: list[int] = UNSET) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is UNSET else partition_indexes
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TopicRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += compact_int32s(item.partition_indexes)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TopicRequest], int]:
        items: list[TopicRequest] = []
        for _ in range(count):
            item = new(TopicRequest)
            item.name, pos = read_compact_string(data, pos)
            item.partition_indexes, pos = read_compact_int32s(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[TopicRequest], int]]:
        check_count(count)
        items: list[TopicRequest] = []
        for _ in range(count):
            item = new(TopicRequest)
            item.name, pos = read_compact_string(data, pos)
            item.partition_indexes, pos = read_compact_int32s(data, pos)
            yield len(item.partition_indexes)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class DescribeProducersRequest(Message):
    FIELDS = ("topics",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 61
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    topics: list[TopicRequest]

    def __init__(self, *, topics: list[TopicRequest] = UNSET) -> None:
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeProducersRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.topics)
            TopicRequest.write_all(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeProducersRequest], int]:
        items: list[DescribeProducersRequest] = []
        for _ in range(count):
            item = new(DescribeProducersRequest)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = TopicRequest.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[DescribeProducersRequest], int]]:
        check_count(count)
        items: list[DescribeProducersRequest] = []
        for _ in range(count):
            item = new(DescribeProducersRequest)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from TopicRequest.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class ProducerState(Struct):
    FIELDS = (
        "producer_id",
        "producer_epoch",
        "last_sequence",
        "last_timestamp",
        "coordinator_epoch",
        "current_txn_start_offset",
    )
    __slots__ = FIELDS

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    current_txn_start_offset: int

    def __init__(
        self,
        *,
        producer_id: int = 0,
        producer_epoch: int = 0,
        last_sequence: int = -1,
        last_timestamp: int = -1,
        coordinator_epoch: int = 0,
        current_txn_start_offset: int = -1,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.last_sequence = last_sequence
        self.last_timestamp = last_timestamp
        self.coordinator_epoch = coordinator_epoch
        self.current_txn_start_offset = current_txn_start_offset
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ProducerState], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_qiiqiq(
                item.producer_id,
                item.producer_epoch,
                item.last_sequence,
                item.last_timestamp,
                item.coordinator_epoch,
                item.current_txn_start_offset,
            )
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ProducerState], int]:
        items: list[ProducerState] = []
        for _ in range(count):
            item = new(ProducerState)
            (
                item.producer_id,
                item.producer_epoch,
                item.last_sequence,
                item.last_timestamp,
                item.coordinator_epoch,
                item.current_txn_start_offset,
            ) = _unpack_qiiqiq(data, pos)
            pos += 36
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class PartitionResponse(Struct):
    FIELDS = ("partition_index", "error_code", "error_message", "active_producers")
    __slots__ = FIELDS

    partition_index: int
    error_code: int
    error_message: str | None
    active_producers: list[ProducerState]

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        active_producers: list[ProducerState] = UNSET,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.active_producers = [] if active_producers is UNSET else active_producers
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[PartitionResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.partition_index, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += compact_array_count(item.active_producers)
            ProducerState.write_all(out, item.active_producers, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[PartitionResponse], int]:
        items: list[PartitionResponse] = []
        for _ in range(count):
            item = new(PartitionResponse)
            item.partition_index, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.error_message, pos = read_nullable_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 37)
            if size < 0:
                raise null_sent("active_producers")
            item.active_producers, pos = ProducerState.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[PartitionResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.partition_index, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += compact_array_count(item.active_producers)
            yield from written_slices(ProducerState.write_all, out, item.active_producers, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class TopicResponse(Struct):
    FIELDS = ("name", "partitions")
    __slots__ = FIELDS

    name: str
    partitions: list[PartitionResponse]

    def __init__(self, *, name: str = "", partitions: list[PartitionResponse] = UNSET) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TopicResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += compact_array_count(item.partitions)
            PartitionResponse.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TopicResponse], int]:
        items: list[TopicResponse] = []
        for _ in range(count):
            item = new(TopicResponse)
            item.name, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 9)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = PartitionResponse.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[TopicResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += compact_array_count(item.partitions)
            yield from PartitionResponse.write_slices(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class DescribeProducersResponse(Message):
    FIELDS = ("throttle_time_ms", "topics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 61
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    topics: list[TopicResponse]

    def __init__(self, *, throttle_time_ms: int = 0, topics: list[TopicResponse] = UNSET) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeProducersResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += compact_array_count(item.topics)
            TopicResponse.write_all(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeProducersResponse], int]:
        items: list[DescribeProducersResponse] = []
        for _ in range(count):
            item = new(DescribeProducersResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = TopicResponse.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DescribeProducersResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += compact_array_count(item.topics)
            yield from TopicResponse.write_slices(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
