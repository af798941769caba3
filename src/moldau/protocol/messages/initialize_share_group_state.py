# Generated from schema/initialize_share_group_state.wire by tools/generate_messages.py: do not edit.
"""InitializeShareGroupState: starts the state of share partitions."""

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

_pack_ih, _unpack_ih = fixed("ih")
_pack_iiq, _unpack_iiq = fixed("iiq")
_pack_u, _unpack_u = fixed("16s")


class PartitionData(Struct):
    FIELDS = ("partition", "state_epoch", "start_offset")
    __slots__ = FIELDS

    partition: int
    state_epoch: int
    start_offset: int

    def __init__(self, *, partition: int = 0, state_epoch: int = 0, start_offset: int = 0) -> None:
        self.partition = partition
        self.state_epoch = state_epoch
        self.start_offset = start_offset
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[PartitionData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_iiq(item.partition, item.state_epoch, item.start_offset)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[PartitionData], int]:
        items: list[PartitionData] = []
        for _ in range(count):
            item = new(PartitionData)
            item.partition, item.state_epoch, item.start_offset = _unpack_iiq(data, pos)
            pos += 16
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class InitializeStateData(Struct):
    FIELDS = ("topic_id", "partitions")
    __slots__ = FIELDS

    topic_id: Uuid
    partitions: list[PartitionData]

    def __init__(self, *, topic_id: Uuid = ZERO_UUID, partitions: list[PartitionData] = UNSET) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[InitializeStateData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            PartitionData.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[InitializeStateData], int]:
        items: list[InitializeStateData] = []
        for _ in range(count):
            item = new(InitializeStateData)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 17)
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
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[InitializeStateData], int]]:
        check_count(count)
        items: list[InitializeStateData] = []
        for _ in range(count):
            item = new(InitializeStateData)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 17)
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


class InitializeShareGroupStateRequest(Message):
    FIELDS = ("group_id", "topics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 83
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    group_id: str
    topics: list[InitializeStateData]

    def __init__(self, *, group_id: str = "", topics: list[InitializeStateData] = UNSET) -> None:
        self.group_id = group_id
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[InitializeShareGroupStateRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.group_id)
            buf += compact_array_count(item.topics)
            InitializeStateData.write_all(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[InitializeShareGroupStateRequest], int]:
        items: list[InitializeShareGroupStateRequest] = []
        for _ in range(count):
            item = new(InitializeShareGroupStateRequest)
            item.group_id, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = InitializeStateData.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[InitializeShareGroupStateRequest], int]]:
        check_count(count)
        items: list[InitializeShareGroupStateRequest] = []
        for _ in range(count):
            item = new(InitializeShareGroupStateRequest)
            item.group_id, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from InitializeStateData.read_slices(data, pos, version, size)
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


class InitializeStateResult(Struct):
    FIELDS = ("topic_id", "partitions")
    __slots__ = FIELDS

    topic_id: Uuid
    partitions: list[PartitionResult]

    def __init__(self, *, topic_id: Uuid = ZERO_UUID, partitions: list[PartitionResult] = UNSET) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[InitializeStateResult], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            PartitionResult.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[InitializeStateResult], int]:
        items: list[InitializeStateResult] = []
        for _ in range(count):
            item = new(InitializeStateResult)
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
    def write_slices(out: Writer, items: Iterable[InitializeStateResult], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            yield from written_slices(PartitionResult.write_all, out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class InitializeShareGroupStateResponse(Message):
    FIELDS = ("results",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 83
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    results: list[InitializeStateResult]

    def __init__(self, *, results: list[InitializeStateResult] = UNSET) -> None:
        self.results = [] if results is UNSET else results
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[InitializeShareGroupStateResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.results)
            InitializeStateResult.write_all(out, item.results, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[InitializeShareGroupStateResponse], int]:
        items: list[InitializeShareGroupStateResponse] = []
        for _ in range(count):
            item = new(InitializeShareGroupStateResponse)
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("results")
            item.results, pos = InitializeStateResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[InitializeShareGroupStateResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.results)
            yield from InitializeStateResult.write_slices(out, item.results, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
