# Generated from schema/list_partition_reassignments.wire by tools/generate_messages.py: do not edit.
"""ListPartitionReassignments: the moves under way."""

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

_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")


class ListPartitionReassignmentsTopics(Struct):
    FIELDS = ("name", "partition_indexes")
    __slots__ = FIELDS

    name: str
    partition_indexes: list[int]

    def __init__(self, *, name: str = "", partition_indexes: list[int] = UNSET) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is UNSET else partition_indexes
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ListPartitionReassignmentsTopics], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += compact_int32s(item.partition_indexes)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ListPartitionReassignmentsTopics], int]:
        items: list[ListPartitionReassignmentsTopics] = []
        for _ in range(count):
            item = new(ListPartitionReassignmentsTopics)
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
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[ListPartitionReassignmentsTopics], int]]:
        check_count(count)
        items: list[ListPartitionReassignmentsTopics] = []
        for _ in range(count):
            item = new(ListPartitionReassignmentsTopics)
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


class ListPartitionReassignmentsRequest(Message):
    FIELDS = ("timeout_ms", "topics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 46
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    timeout_ms: int
    topics: list[ListPartitionReassignmentsTopics] | None

    def __init__(
        self,
        *,
        timeout_ms: int = 60000,
        topics: list[ListPartitionReassignmentsTopics] | None = None,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.topics = topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ListPartitionReassignmentsRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.timeout_ms)
            topics = item.topics
            if topics is None:
                buf += COMPACT_NULL
            else:
                buf += compact_array_count(topics)
                ListPartitionReassignmentsTopics.write_all(out, topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[ListPartitionReassignmentsRequest], int]:
        items: list[ListPartitionReassignmentsRequest] = []
        for _ in range(count):
            item = new(ListPartitionReassignmentsRequest)
            (item.timeout_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                item.topics = None
            else:
                item.topics, pos = ListPartitionReassignmentsTopics.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[ListPartitionReassignmentsRequest], int]]:
        check_count(count)
        items: list[ListPartitionReassignmentsRequest] = []
        for _ in range(count):
            item = new(ListPartitionReassignmentsRequest)
            (item.timeout_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                item.topics = None
            else:
                item.topics, pos = yield from ListPartitionReassignmentsTopics.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ListPartitionReassignmentsRequest], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.timeout_ms)
            topics = item.topics
            if topics is None:
                buf += COMPACT_NULL
            else:
                buf += compact_array_count(topics)
                yield from written_slices(ListPartitionReassignmentsTopics.write_all, out, topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class OngoingPartitionReassignment(Struct):
    FIELDS = ("partition_index", "replicas", "adding_replicas", "removing_replicas")
    __slots__ = FIELDS

    partition_index: int
    replicas: list[int]
    adding_replicas: list[int]
    removing_replicas: list[int]

    def __init__(
        self,
        *,
        partition_index: int = 0,
        replicas: list[int] = UNSET,
        adding_replicas: list[int] = UNSET,
        removing_replicas: list[int] = UNSET,
    ) -> None:
        self.partition_index = partition_index
        self.replicas = [] if replicas is UNSET else replicas
        self.adding_replicas = [] if adding_replicas is UNSET else adding_replicas
        self.removing_replicas = [] if removing_replicas is UNSET else removing_replicas
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OngoingPartitionReassignment], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.partition_index)
            buf += compact_int32s(item.replicas)
            buf += compact_int32s(item.adding_replicas)
            buf += compact_int32s(item.removing_replicas)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OngoingPartitionReassignment], int]:
        items: list[OngoingPartitionReassignment] = []
        for _ in range(count):
            item = new(OngoingPartitionReassignment)
            (item.partition_index,) = _unpack_i(data, pos)
            pos += 4
            item.replicas, pos = read_compact_int32s(data, pos)
            item.adding_replicas, pos = read_compact_int32s(data, pos)
            item.removing_replicas, pos = read_compact_int32s(data, pos)
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
    ) -> Slices[tuple[list[OngoingPartitionReassignment], int]]:
        items: list[OngoingPartitionReassignment] = []
        for _ in range(count):
            item = new(OngoingPartitionReassignment)
            (item.partition_index,) = _unpack_i(data, pos)
            pos += 4
            item.replicas, pos = read_compact_int32s(data, pos)
            yield len(item.replicas)
            item.adding_replicas, pos = read_compact_int32s(data, pos)
            yield len(item.adding_replicas)
            item.removing_replicas, pos = read_compact_int32s(data, pos)
            yield len(item.removing_replicas)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class OngoingTopicReassignment(Struct):
    FIELDS = ("name", "partitions")
    __slots__ = FIELDS

    name: str
    partitions: list[OngoingPartitionReassignment]

    def __init__(self, *, name: str = "", partitions: list[OngoingPartitionReassignment] = UNSET) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OngoingTopicReassignment], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += compact_array_count(item.partitions)
            OngoingPartitionReassignment.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OngoingTopicReassignment], int]:
        items: list[OngoingTopicReassignment] = []
        for _ in range(count):
            item = new(OngoingTopicReassignment)
            item.name, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 8)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = OngoingPartitionReassignment.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[OngoingTopicReassignment], int]]:
        items: list[OngoingTopicReassignment] = []
        for _ in range(count):
            item = new(OngoingTopicReassignment)
            item.name, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 8)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = yield from OngoingPartitionReassignment.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[OngoingTopicReassignment], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += compact_array_count(item.partitions)
            yield from written_slices(OngoingPartitionReassignment.write_all, out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class ListPartitionReassignmentsResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "error_message", "topics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 46
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    topics: list[OngoingTopicReassignment]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[OngoingTopicReassignment] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ListPartitionReassignmentsResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += compact_array_count(item.topics)
            OngoingTopicReassignment.write_all(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[ListPartitionReassignmentsResponse], int]:
        items: list[ListPartitionReassignmentsResponse] = []
        for _ in range(count):
            item = new(ListPartitionReassignmentsResponse)
            item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.error_message, pos = read_nullable_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = OngoingTopicReassignment.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[ListPartitionReassignmentsResponse], int]]:
        items: list[ListPartitionReassignmentsResponse] = []
        for _ in range(count):
            item = new(ListPartitionReassignmentsResponse)
            item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.error_message, pos = read_nullable_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from OngoingTopicReassignment.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ListPartitionReassignmentsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += compact_array_count(item.topics)
            yield from OngoingTopicReassignment.write_slices(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
