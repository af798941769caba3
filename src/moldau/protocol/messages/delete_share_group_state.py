# Generated from schema/delete_share_group_state.wire by tools/generate_messages.py: do not edit.
"""DeleteShareGroupState: deletes the state of share partitions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, read_compact_count
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import (
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

_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")
_pack_u, _unpack_u = fixed("16s")


class PartitionData(Struct):
    FIELDS = ("partition",)
    __slots__ = FIELDS

    partition: int

    def __init__(self, *, partition: int = 0) -> None:
        self.partition = partition
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[PartitionData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.partition)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[PartitionData], int]:
        items: list[PartitionData] = []
        for _ in range(count):
            item = new(PartitionData)
            (item.partition,) = _unpack_i(data, pos)
            pos += 4
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class DeleteStateData(Struct):
    FIELDS = ("topic_id", "partitions")
    __slots__ = FIELDS

    topic_id: Uuid
    partitions: list[PartitionData]

    def __init__(self, *, topic_id: Uuid = ZERO_UUID, partitions: list[PartitionData] = UNSET) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeleteStateData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            PartitionData.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DeleteStateData], int]:
        items: list[DeleteStateData] = []
        for _ in range(count):
            item = new(DeleteStateData)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 5)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = PartitionData.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[DeleteStateData], int]]:
        check_count(count)
        items: list[DeleteStateData] = []
        for _ in range(count):
            item = new(DeleteStateData)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 5)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = yield from struct_slices(PartitionData.read_all, data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class DeleteShareGroupStateRequest(Message):
    FIELDS = ("group_id", "topics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 86
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    group_id: str
    topics: list[DeleteStateData]

    def __init__(self, *, group_id: str = "", topics: list[DeleteStateData] = UNSET) -> None:
        self.group_id = group_id
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeleteShareGroupStateRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.group_id)
            buf += compact_array_count(item.topics)
            DeleteStateData.write_all(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DeleteShareGroupStateRequest], int]:
        items: list[DeleteShareGroupStateRequest] = []
        for _ in range(count):
            item = new(DeleteShareGroupStateRequest)
            item.group_id, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = DeleteStateData.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[DeleteShareGroupStateRequest], int]]:
        check_count(count)
        items: list[DeleteShareGroupStateRequest] = []
        for _ in range(count):
            item = new(DeleteShareGroupStateRequest)
            item.group_id, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from DeleteStateData.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class PartitionResult(Struct):
    FIELDS = ("partition", "error_code", "error_message")
    __slots__ = FIELDS

    partition: int
    error_code: int
    error_message: str | None

    def __init__(self, *, partition: int = 0, error_code: int = 0, error_message: str | None = None) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[PartitionResult], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.partition, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[PartitionResult], int]:
        items: list[PartitionResult] = []
        for _ in range(count):
            item = new(PartitionResult)
            item.partition, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.error_message, pos = read_nullable_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class DeleteStateResult(Struct):
    FIELDS = ("topic_id", "partitions")
    __slots__ = FIELDS

    topic_id: Uuid
    partitions: list[PartitionResult]

    def __init__(self, *, topic_id: Uuid = ZERO_UUID, partitions: list[PartitionResult] = UNSET) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeleteStateResult], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            PartitionResult.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DeleteStateResult], int]:
        items: list[DeleteStateResult] = []
        for _ in range(count):
            item = new(DeleteStateResult)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 8)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = PartitionResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DeleteStateResult], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            yield from written_slices(PartitionResult.write_all, out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class DeleteShareGroupStateResponse(Message):
    FIELDS = ("results",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 86
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    results: list[DeleteStateResult]

    def __init__(self, *, results: list[DeleteStateResult] = UNSET) -> None:
        self.results = [] if results is UNSET else results
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeleteShareGroupStateResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.results)
            DeleteStateResult.write_all(out, item.results, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DeleteShareGroupStateResponse], int]:
        items: list[DeleteShareGroupStateResponse] = []
        for _ in range(count):
            item = new(DeleteShareGroupStateResponse)
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("results")
            item.results, pos = DeleteStateResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DeleteShareGroupStateResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.results)
            yield from DeleteStateResult.write_slices(out, item.results, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
