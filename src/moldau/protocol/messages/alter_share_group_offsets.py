# Generated from schema/alter_share_group_offsets.wire by tools/generate_messages.py: do not edit.
"""AlterShareGroupOffsets: moves the start offsets of a share group."""

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
_pack_iq, _unpack_iq = fixed("iq")
_pack_u, _unpack_u = fixed("16s")


class AlterShareGroupOffsetsRequestPartition(Struct):
    FIELDS = ("partition_index", "start_offset")
    __slots__ = FIELDS

    partition_index: int
    start_offset: int

    def __init__(self, *, partition_index: int = 0, start_offset: int = 0) -> None:
        self.partition_index = partition_index
        self.start_offset = start_offset
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AlterShareGroupOffsetsRequestPartition], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_iq(item.partition_index, item.start_offset)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[AlterShareGroupOffsetsRequestPartition], int]:
        items: list[AlterShareGroupOffsetsRequestPartition] = []
        for _ in range(count):
            item = new(AlterShareGroupOffsetsRequestPartition)
            item.partition_index, item.start_offset = _unpack_iq(data, pos)
            pos += 12
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class AlterShareGroupOffsetsRequestTopic(Struct):
    FIELDS = ("topic_name", "partitions")
    __slots__ = FIELDS

    topic_name: str
    partitions: list[AlterShareGroupOffsetsRequestPartition]

    def __init__(
        self,
        *,
        topic_name: str = "",
        partitions: list[AlterShareGroupOffsetsRequestPartition] = UNSET,
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AlterShareGroupOffsetsRequestTopic], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.topic_name)
            buf += compact_array_count(item.partitions)
            AlterShareGroupOffsetsRequestPartition.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[AlterShareGroupOffsetsRequestTopic], int]:
        items: list[AlterShareGroupOffsetsRequestTopic] = []
        for _ in range(count):
            item = new(AlterShareGroupOffsetsRequestTopic)
            item.topic_name, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 13)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = AlterShareGroupOffsetsRequestPartition.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[AlterShareGroupOffsetsRequestTopic], int]]:
        check_count(count)
        items: list[AlterShareGroupOffsetsRequestTopic] = []
        for _ in range(count):
            item = new(AlterShareGroupOffsetsRequestTopic)
            item.topic_name, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 13)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = yield from struct_slices(
                AlterShareGroupOffsetsRequestPartition.read_all,
                data,
                pos,
                version,
                size,
            )
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class AlterShareGroupOffsetsRequest(Message):
    FIELDS = ("group_id", "topics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 91
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    group_id: str
    topics: list[AlterShareGroupOffsetsRequestTopic]

    def __init__(self, *, group_id: str = "", topics: list[AlterShareGroupOffsetsRequestTopic] = UNSET) -> None:
        self.group_id = group_id
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AlterShareGroupOffsetsRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.group_id)
            buf += compact_array_count(item.topics)
            AlterShareGroupOffsetsRequestTopic.write_all(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AlterShareGroupOffsetsRequest], int]:
        items: list[AlterShareGroupOffsetsRequest] = []
        for _ in range(count):
            item = new(AlterShareGroupOffsetsRequest)
            item.group_id, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = AlterShareGroupOffsetsRequestTopic.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[AlterShareGroupOffsetsRequest], int]]:
        check_count(count)
        items: list[AlterShareGroupOffsetsRequest] = []
        for _ in range(count):
            item = new(AlterShareGroupOffsetsRequest)
            item.group_id, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from AlterShareGroupOffsetsRequestTopic.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class AlterShareGroupOffsetsResponsePartition(Struct):
    FIELDS = ("partition_index", "error_code", "error_message")
    __slots__ = FIELDS

    partition_index: int
    error_code: int
    error_message: str | None

    def __init__(self, *, partition_index: int = 0, error_code: int = 0, error_message: str | None = None) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AlterShareGroupOffsetsResponsePartition], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.partition_index, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[AlterShareGroupOffsetsResponsePartition], int]:
        items: list[AlterShareGroupOffsetsResponsePartition] = []
        for _ in range(count):
            item = new(AlterShareGroupOffsetsResponsePartition)
            item.partition_index, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.error_message, pos = read_nullable_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class AlterShareGroupOffsetsResponseTopic(Struct):
    FIELDS = ("topic_name", "topic_id", "partitions")
    __slots__ = FIELDS

    topic_name: str
    topic_id: Uuid
    partitions: list[AlterShareGroupOffsetsResponsePartition]

    def __init__(
        self,
        *,
        topic_name: str = "",
        topic_id: Uuid = ZERO_UUID,
        partitions: list[AlterShareGroupOffsetsResponsePartition] = UNSET,
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AlterShareGroupOffsetsResponseTopic], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.topic_name)
            buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            AlterShareGroupOffsetsResponsePartition.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[AlterShareGroupOffsetsResponseTopic], int]:
        items: list[AlterShareGroupOffsetsResponseTopic] = []
        for _ in range(count):
            item = new(AlterShareGroupOffsetsResponseTopic)
            item.topic_name, pos = read_compact_string(data, pos)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 8)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = AlterShareGroupOffsetsResponsePartition.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[AlterShareGroupOffsetsResponseTopic], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.topic_name)
            buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            yield from written_slices(AlterShareGroupOffsetsResponsePartition.write_all, out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class AlterShareGroupOffsetsResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "error_message", "responses")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 91
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    responses: list[AlterShareGroupOffsetsResponseTopic]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        responses: list[AlterShareGroupOffsetsResponseTopic] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.responses = [] if responses is UNSET else responses
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AlterShareGroupOffsetsResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += compact_array_count(item.responses)
            AlterShareGroupOffsetsResponseTopic.write_all(out, item.responses, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AlterShareGroupOffsetsResponse], int]:
        items: list[AlterShareGroupOffsetsResponse] = []
        for _ in range(count):
            item = new(AlterShareGroupOffsetsResponse)
            item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.error_message, pos = read_nullable_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 19)
            if size < 0:
                raise null_sent("responses")
            item.responses, pos = AlterShareGroupOffsetsResponseTopic.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[AlterShareGroupOffsetsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += compact_array_count(item.responses)
            yield from AlterShareGroupOffsetsResponseTopic.write_slices(out, item.responses, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
