# Generated from schema/offset_delete.wire by tools/generate_messages.py: do not edit.
"""OffsetDelete: deletes stored offsets of a group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import array_count, read_count
from moldau.protocol.message import UNSET, Message, Struct, new, no_tags
from moldau.protocol.primitives import fixed, null_sent, read_string, string
from moldau.protocol.slices import Slices, check_count, struct_slices, written_slices
from moldau.protocol.wire import Writer

_pack_hi, _unpack_hi = fixed("hi")
_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")


class OffsetDeleteRequestPartition(Struct):
    FIELDS = ("partition_index",)
    __slots__ = FIELDS

    partition_index: int

    def __init__(self, *, partition_index: int = 0) -> None:
        self.partition_index = partition_index
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetDeleteRequestPartition], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.partition_index)
            if item.unknown_tags:
                raise no_tags("OffsetDeleteRequestPartition", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetDeleteRequestPartition], int]:
        items: list[OffsetDeleteRequestPartition] = []
        for _ in range(count):
            item = new(OffsetDeleteRequestPartition)
            (item.partition_index,) = _unpack_i(data, pos)
            pos += 4
            item.unknown_tags = None
            items.append(item)
        return items, pos


class OffsetDeleteRequestTopic(Struct):
    FIELDS = ("name", "partitions")
    __slots__ = FIELDS

    name: str
    partitions: list[OffsetDeleteRequestPartition]

    def __init__(self, *, name: str = "", partitions: list[OffsetDeleteRequestPartition] = UNSET) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetDeleteRequestTopic], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += string(item.name)
            buf += array_count(item.partitions)
            OffsetDeleteRequestPartition.write_all(out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("OffsetDeleteRequestTopic", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetDeleteRequestTopic], int]:
        items: list[OffsetDeleteRequestTopic] = []
        for _ in range(count):
            item = new(OffsetDeleteRequestTopic)
            item.name, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 4)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = OffsetDeleteRequestPartition.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[OffsetDeleteRequestTopic], int]]:
        check_count(count)
        items: list[OffsetDeleteRequestTopic] = []
        for _ in range(count):
            item = new(OffsetDeleteRequestTopic)
            item.name, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 4)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = yield from struct_slices(
                OffsetDeleteRequestPartition.read_all,
                data,
                pos,
                version,
                size,
            )
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class OffsetDeleteRequest(Message):
    FIELDS = ("group_id", "topics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 47
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = None

    group_id: str
    topics: list[OffsetDeleteRequestTopic]

    def __init__(self, *, group_id: str = "", topics: list[OffsetDeleteRequestTopic] = UNSET) -> None:
        self.group_id = group_id
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetDeleteRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += string(item.group_id)
            buf += array_count(item.topics)
            OffsetDeleteRequestTopic.write_all(out, item.topics, version)
            if item.unknown_tags:
                raise no_tags("OffsetDeleteRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetDeleteRequest], int]:
        items: list[OffsetDeleteRequest] = []
        for _ in range(count):
            item = new(OffsetDeleteRequest)
            item.group_id, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = OffsetDeleteRequestTopic.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[OffsetDeleteRequest], int]]:
        check_count(count)
        items: list[OffsetDeleteRequest] = []
        for _ in range(count):
            item = new(OffsetDeleteRequest)
            item.group_id, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from OffsetDeleteRequestTopic.read_slices(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class OffsetDeleteResponsePartition(Struct):
    FIELDS = ("partition_index", "error_code")
    __slots__ = FIELDS

    partition_index: int
    error_code: int

    def __init__(self, *, partition_index: int = 0, error_code: int = 0) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetDeleteResponsePartition], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.partition_index, item.error_code)
            if item.unknown_tags:
                raise no_tags("OffsetDeleteResponsePartition", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetDeleteResponsePartition], int]:
        items: list[OffsetDeleteResponsePartition] = []
        for _ in range(count):
            item = new(OffsetDeleteResponsePartition)
            item.partition_index, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.unknown_tags = None
            items.append(item)
        return items, pos


class OffsetDeleteResponseTopic(Struct):
    FIELDS = ("name", "partitions")
    __slots__ = FIELDS

    name: str
    partitions: list[OffsetDeleteResponsePartition]

    def __init__(self, *, name: str = "", partitions: list[OffsetDeleteResponsePartition] = UNSET) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetDeleteResponseTopic], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += string(item.name)
            buf += array_count(item.partitions)
            OffsetDeleteResponsePartition.write_all(out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("OffsetDeleteResponseTopic", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetDeleteResponseTopic], int]:
        items: list[OffsetDeleteResponseTopic] = []
        for _ in range(count):
            item = new(OffsetDeleteResponseTopic)
            item.name, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = OffsetDeleteResponsePartition.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[OffsetDeleteResponseTopic], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += string(item.name)
            buf += array_count(item.partitions)
            yield from written_slices(OffsetDeleteResponsePartition.write_all, out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("OffsetDeleteResponseTopic", version)
            yield 1


class OffsetDeleteResponse(Message):
    FIELDS = ("error_code", "throttle_time_ms", "topics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 47
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = None

    error_code: int
    throttle_time_ms: int
    topics: list[OffsetDeleteResponseTopic]

    def __init__(
        self,
        *,
        error_code: int = 0,
        throttle_time_ms: int = 0,
        topics: list[OffsetDeleteResponseTopic] = UNSET,
    ) -> None:
        self.error_code = error_code
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetDeleteResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_hi(item.error_code, item.throttle_time_ms)
            buf += array_count(item.topics)
            OffsetDeleteResponseTopic.write_all(out, item.topics, version)
            if item.unknown_tags:
                raise no_tags("OffsetDeleteResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetDeleteResponse], int]:
        items: list[OffsetDeleteResponse] = []
        for _ in range(count):
            item = new(OffsetDeleteResponse)
            item.error_code, item.throttle_time_ms = _unpack_hi(data, pos)
            pos += 6
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = OffsetDeleteResponseTopic.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[OffsetDeleteResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_hi(item.error_code, item.throttle_time_ms)
            buf += array_count(item.topics)
            yield from OffsetDeleteResponseTopic.write_slices(out, item.topics, version)
            if item.unknown_tags:
                raise no_tags("OffsetDeleteResponse", version)
            yield 1
