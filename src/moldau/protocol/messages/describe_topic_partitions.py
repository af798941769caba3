# Generated from schema/describe_topic_partitions.wire by tools/generate_messages.py: do not edit.
"""DescribeTopicPartitions: partitions of topics, page by page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import (
    compact_array_count,
    compact_int32s,
    read_compact_count,
    read_compact_int32s,
    read_nullable_compact_int32s,
)
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
from moldau.protocol.slices import Slices, check_count, struct_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_h, _unpack_h = fixed("h")
_pack_hiii, _unpack_hiii = fixed("hiii")
_pack_i, _unpack_i = fixed("i")
_pack_uo, _unpack_uo = fixed("16s?")


class TopicRequest(Struct):
    FIELDS = ("name",)
    __slots__ = FIELDS

    name: str

    def __init__(self, *, name: str = "") -> None:
        self.name = name
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TopicRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TopicRequest], int]:
        items: list[TopicRequest] = []
        for _ in range(count):
            item = new(TopicRequest)
            item.name, pos = read_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class RequestCursor(Struct):
    FIELDS = ("topic_name", "partition_index")
    __slots__ = FIELDS

    topic_name: str
    partition_index: int

    def __init__(self, *, topic_name: str = "", partition_index: int = 0) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[RequestCursor], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.topic_name)
            buf += _pack_i(item.partition_index)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RequestCursor], int]:
        items: list[RequestCursor] = []
        for _ in range(count):
            item = new(RequestCursor)
            item.topic_name, pos = read_compact_string(data, pos)
            (item.partition_index,) = _unpack_i(data, pos)
            pos += 4
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class DescribeTopicPartitionsRequest(Message):
    FIELDS = ("topics", "response_partition_limit", "cursor")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 75
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    topics: list[TopicRequest]
    response_partition_limit: int
    cursor: RequestCursor | None

    def __init__(
        self,
        *,
        topics: list[TopicRequest] = UNSET,
        response_partition_limit: int = 2000,
        cursor: RequestCursor | None = None,
    ) -> None:
        self.topics = [] if topics is UNSET else topics
        self.response_partition_limit = response_partition_limit
        self.cursor = cursor
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeTopicPartitionsRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.topics)
            TopicRequest.write_all(out, item.topics, version)
            buf += _pack_i(item.response_partition_limit)
            cursor = item.cursor
            if cursor is None:
                buf.append(0xFF)
            else:
                buf.append(1)
                RequestCursor.write_all(out, (cursor,), version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeTopicPartitionsRequest], int]:
        items: list[DescribeTopicPartitionsRequest] = []
        for _ in range(count):
            item = new(DescribeTopicPartitionsRequest)
            size, pos = read_compact_count(data, pos, 2)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = TopicRequest.read_all(data, pos, version, size)
            (item.response_partition_limit,) = _unpack_i(data, pos)
            pos += 4
            if data[pos] > 0x7F:
                pos += 1
                item.cursor = None
            else:
                pos += 1
                (item.cursor,), pos = RequestCursor.read_all(data, pos, version, 1)
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
    ) -> Slices[tuple[list[DescribeTopicPartitionsRequest], int]]:
        check_count(count)
        items: list[DescribeTopicPartitionsRequest] = []
        for _ in range(count):
            item = new(DescribeTopicPartitionsRequest)
            size, pos = read_compact_count(data, pos, 2)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from struct_slices(TopicRequest.read_all, data, pos, version, size)
            (item.response_partition_limit,) = _unpack_i(data, pos)
            pos += 4
            if data[pos] > 0x7F:
                pos += 1
                item.cursor = None
            else:
                pos += 1
                (item.cursor,), pos = RequestCursor.read_all(data, pos, version, 1)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class DescribeTopicPartitionsResponsePartition(Struct):
    FIELDS = (
        "error_code",
        "partition_index",
        "leader_id",
        "leader_epoch",
        "replica_nodes",
        "isr_nodes",
        "eligible_leader_replicas",
        "last_known_elr",
        "offline_replicas",
    )
    __slots__ = FIELDS

    error_code: int
    partition_index: int
    leader_id: int
    leader_epoch: int
    replica_nodes: list[int]
    isr_nodes: list[int]
    eligible_leader_replicas: list[int] | None
    last_known_elr: list[int] | None
    offline_replicas: list[int]

    def __init__(
        self,
        *,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: list[int] = UNSET,
        isr_nodes: list[int] = UNSET,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
        offline_replicas: list[int] = UNSET,
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes = [] if replica_nodes is UNSET else replica_nodes
        self.isr_nodes = [] if isr_nodes is UNSET else isr_nodes
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
        self.offline_replicas = [] if offline_replicas is UNSET else offline_replicas
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeTopicPartitionsResponsePartition], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_hiii(item.error_code, item.partition_index, item.leader_id, item.leader_epoch)
            buf += compact_int32s(item.replica_nodes)
            buf += compact_int32s(item.isr_nodes)
            eligible_leader_replicas = item.eligible_leader_replicas
            if eligible_leader_replicas is None:
                buf += COMPACT_NULL
            else:
                buf += compact_int32s(eligible_leader_replicas)
            last_known_elr = item.last_known_elr
            if last_known_elr is None:
                buf += COMPACT_NULL
            else:
                buf += compact_int32s(last_known_elr)
            buf += compact_int32s(item.offline_replicas)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[DescribeTopicPartitionsResponsePartition], int]:
        items: list[DescribeTopicPartitionsResponsePartition] = []
        for _ in range(count):
            item = new(DescribeTopicPartitionsResponsePartition)
            item.error_code, item.partition_index, item.leader_id, item.leader_epoch = _unpack_hiii(data, pos)
            pos += 14
            item.replica_nodes, pos = read_compact_int32s(data, pos)
            item.isr_nodes, pos = read_compact_int32s(data, pos)
            item.eligible_leader_replicas, pos = read_nullable_compact_int32s(data, pos)
            item.last_known_elr, pos = read_nullable_compact_int32s(data, pos)
            item.offline_replicas, pos = read_compact_int32s(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class DescribeTopicPartitionsResponseTopic(Struct):
    FIELDS = ("error_code", "name", "topic_id", "is_internal", "partitions", "topic_authorized_operations")
    __slots__ = FIELDS

    error_code: int
    name: str | None
    topic_id: Uuid
    is_internal: bool
    partitions: list[DescribeTopicPartitionsResponsePartition]
    topic_authorized_operations: int

    def __init__(
        self,
        *,
        error_code: int = 0,
        name: str | None = "",
        topic_id: Uuid = ZERO_UUID,
        is_internal: bool = False,
        partitions: list[DescribeTopicPartitionsResponsePartition] = UNSET,
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = [] if partitions is UNSET else partitions
        self.topic_authorized_operations = topic_authorized_operations
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeTopicPartitionsResponseTopic], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_h(item.error_code)
            buf += nullable_compact_string(item.name)
            buf += _pack_uo(item.topic_id, item.is_internal)
            buf += compact_array_count(item.partitions)
            DescribeTopicPartitionsResponsePartition.write_all(out, item.partitions, version)
            buf += _pack_i(item.topic_authorized_operations)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[DescribeTopicPartitionsResponseTopic], int]:
        items: list[DescribeTopicPartitionsResponseTopic] = []
        for _ in range(count):
            item = new(DescribeTopicPartitionsResponseTopic)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.name, pos = read_nullable_compact_string(data, pos)
            item.topic_id, item.is_internal = _unpack_uo(data, pos)
            pos += 17
            size, pos = read_compact_count(data, pos, 20)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = DescribeTopicPartitionsResponsePartition.read_all(data, pos, version, size)
            (item.topic_authorized_operations,) = _unpack_i(data, pos)
            pos += 4
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DescribeTopicPartitionsResponseTopic], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_h(item.error_code)
            buf += nullable_compact_string(item.name)
            buf += _pack_uo(item.topic_id, item.is_internal)
            buf += compact_array_count(item.partitions)
            yield from written_slices(DescribeTopicPartitionsResponsePartition.write_all, out, item.partitions, version)
            buf += _pack_i(item.topic_authorized_operations)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class ResponseCursor(Struct):
    FIELDS = ("topic_name", "partition_index")
    __slots__ = FIELDS

    topic_name: str
    partition_index: int

    def __init__(self, *, topic_name: str = "", partition_index: int = 0) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ResponseCursor], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.topic_name)
            buf += _pack_i(item.partition_index)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ResponseCursor], int]:
        items: list[ResponseCursor] = []
        for _ in range(count):
            item = new(ResponseCursor)
            item.topic_name, pos = read_compact_string(data, pos)
            (item.partition_index,) = _unpack_i(data, pos)
            pos += 4
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class DescribeTopicPartitionsResponse(Message):
    FIELDS = ("throttle_time_ms", "topics", "next_cursor")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 75
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    topics: list[DescribeTopicPartitionsResponseTopic]
    next_cursor: ResponseCursor | None

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[DescribeTopicPartitionsResponseTopic] = UNSET,
        next_cursor: ResponseCursor | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is UNSET else topics
        self.next_cursor = next_cursor
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeTopicPartitionsResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += compact_array_count(item.topics)
            DescribeTopicPartitionsResponseTopic.write_all(out, item.topics, version)
            next_cursor = item.next_cursor
            if next_cursor is None:
                buf.append(0xFF)
            else:
                buf.append(1)
                ResponseCursor.write_all(out, (next_cursor,), version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeTopicPartitionsResponse], int]:
        items: list[DescribeTopicPartitionsResponse] = []
        for _ in range(count):
            item = new(DescribeTopicPartitionsResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 26)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = DescribeTopicPartitionsResponseTopic.read_all(data, pos, version, size)
            if data[pos] > 0x7F:
                pos += 1
                item.next_cursor = None
            else:
                pos += 1
                (item.next_cursor,), pos = ResponseCursor.read_all(data, pos, version, 1)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DescribeTopicPartitionsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += compact_array_count(item.topics)
            yield from DescribeTopicPartitionsResponseTopic.write_slices(out, item.topics, version)
            next_cursor = item.next_cursor
            if next_cursor is None:
                buf.append(0xFF)
            else:
                buf.append(1)
                yield from written_slices(ResponseCursor.write_all, out, (next_cursor,), version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
