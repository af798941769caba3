# Generated from schema/delete_records.wire by tools/generate_messages.py: do not edit.
"""DeleteRecords: moves the log start offset of partitions forward.

Since version
   2  flexible
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import array_count, compact_array_count, read_compact_count, read_count
from moldau.protocol.message import UNSET, Message, Struct, new, no_tags
from moldau.protocol.primitives import compact_string, fixed, null_sent, read_compact_string, read_string, string
from moldau.protocol.slices import Slices, check_count, struct_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_i, _unpack_i = fixed("i")
_pack_iq, _unpack_iq = fixed("iq")
_pack_iqh, _unpack_iqh = fixed("iqh")


class DeleteRecordsPartition(Struct):
    FIELDS = ("partition_index", "offset")
    __slots__ = FIELDS

    partition_index: int
    offset: int

    def __init__(self, *, partition_index: int = 0, offset: int = 0) -> None:
        self.partition_index = partition_index
        self.offset = offset
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeleteRecordsPartition], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_iq(item.partition_index, item.offset)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_iq(item.partition_index, item.offset)
            if item.unknown_tags:
                raise no_tags("DeleteRecordsPartition", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DeleteRecordsPartition], int]:
        items: list[DeleteRecordsPartition] = []
        if version >= 2:
            for _ in range(count):
                item = new(DeleteRecordsPartition)
                item.partition_index, item.offset = _unpack_iq(data, pos)
                pos += 12
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DeleteRecordsPartition)
            item.partition_index, item.offset = _unpack_iq(data, pos)
            pos += 12
            item.unknown_tags = None
            items.append(item)
        return items, pos


class DeleteRecordsTopic(Struct):
    FIELDS = ("name", "partitions")
    __slots__ = FIELDS

    name: str
    partitions: list[DeleteRecordsPartition]

    def __init__(self, *, name: str = "", partitions: list[DeleteRecordsPartition] = UNSET) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeleteRecordsTopic], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_string(item.name)
                buf += compact_array_count(item.partitions)
                DeleteRecordsPartition.write_all(out, item.partitions, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.name)
            buf += array_count(item.partitions)
            DeleteRecordsPartition.write_all(out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("DeleteRecordsTopic", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DeleteRecordsTopic], int]:
        items: list[DeleteRecordsTopic] = []
        if version >= 2:
            for _ in range(count):
                item = new(DeleteRecordsTopic)
                item.name, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 13)
                if size < 0:
                    raise null_sent("partitions")
                item.partitions, pos = DeleteRecordsPartition.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DeleteRecordsTopic)
            item.name, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 12)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = DeleteRecordsPartition.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[DeleteRecordsTopic], int]]:
        check_count(count)
        items: list[DeleteRecordsTopic] = []
        if version >= 2:
            for _ in range(count):
                item = new(DeleteRecordsTopic)
                item.name, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 13)
                if size < 0:
                    raise null_sent("partitions")
                item.partitions, pos = yield from struct_slices(
                    DeleteRecordsPartition.read_all,
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
        for _ in range(count):
            item = new(DeleteRecordsTopic)
            item.name, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 12)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = yield from struct_slices(DeleteRecordsPartition.read_all, data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class DeleteRecordsRequest(Message):
    FIELDS = ("topics", "timeout_ms")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    topics: list[DeleteRecordsTopic]
    timeout_ms: int

    def __init__(self, *, topics: list[DeleteRecordsTopic] = UNSET, timeout_ms: int = 0) -> None:
        self.topics = [] if topics is UNSET else topics
        self.timeout_ms = timeout_ms
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeleteRecordsRequest], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_array_count(item.topics)
                DeleteRecordsTopic.write_all(out, item.topics, version)
                buf += _pack_i(item.timeout_ms)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += array_count(item.topics)
            DeleteRecordsTopic.write_all(out, item.topics, version)
            buf += _pack_i(item.timeout_ms)
            if item.unknown_tags:
                raise no_tags("DeleteRecordsRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DeleteRecordsRequest], int]:
        items: list[DeleteRecordsRequest] = []
        if version >= 2:
            for _ in range(count):
                item = new(DeleteRecordsRequest)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = DeleteRecordsTopic.read_all(data, pos, version, size)
                (item.timeout_ms,) = _unpack_i(data, pos)
                pos += 4
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DeleteRecordsRequest)
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = DeleteRecordsTopic.read_all(data, pos, version, size)
            (item.timeout_ms,) = _unpack_i(data, pos)
            pos += 4
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[DeleteRecordsRequest], int]]:
        check_count(count)
        items: list[DeleteRecordsRequest] = []
        if version >= 2:
            for _ in range(count):
                item = new(DeleteRecordsRequest)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = yield from DeleteRecordsTopic.read_slices(data, pos, version, size)
                (item.timeout_ms,) = _unpack_i(data, pos)
                pos += 4
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(DeleteRecordsRequest)
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from DeleteRecordsTopic.read_slices(data, pos, version, size)
            (item.timeout_ms,) = _unpack_i(data, pos)
            pos += 4
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class DeleteRecordsPartitionResult(Struct):
    FIELDS = ("partition_index", "low_watermark", "error_code")
    __slots__ = FIELDS

    partition_index: int
    low_watermark: int
    error_code: int

    def __init__(self, *, partition_index: int = 0, low_watermark: int = 0, error_code: int = 0) -> None:
        self.partition_index = partition_index
        self.low_watermark = low_watermark
        self.error_code = error_code
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeleteRecordsPartitionResult], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_iqh(item.partition_index, item.low_watermark, item.error_code)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_iqh(item.partition_index, item.low_watermark, item.error_code)
            if item.unknown_tags:
                raise no_tags("DeleteRecordsPartitionResult", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DeleteRecordsPartitionResult], int]:
        items: list[DeleteRecordsPartitionResult] = []
        if version >= 2:
            for _ in range(count):
                item = new(DeleteRecordsPartitionResult)
                item.partition_index, item.low_watermark, item.error_code = _unpack_iqh(data, pos)
                pos += 14
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DeleteRecordsPartitionResult)
            item.partition_index, item.low_watermark, item.error_code = _unpack_iqh(data, pos)
            pos += 14
            item.unknown_tags = None
            items.append(item)
        return items, pos


class DeleteRecordsTopicResult(Struct):
    FIELDS = ("name", "partitions")
    __slots__ = FIELDS

    name: str
    partitions: list[DeleteRecordsPartitionResult]

    def __init__(self, *, name: str = "", partitions: list[DeleteRecordsPartitionResult] = UNSET) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeleteRecordsTopicResult], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_string(item.name)
                buf += compact_array_count(item.partitions)
                DeleteRecordsPartitionResult.write_all(out, item.partitions, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.name)
            buf += array_count(item.partitions)
            DeleteRecordsPartitionResult.write_all(out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("DeleteRecordsTopicResult", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DeleteRecordsTopicResult], int]:
        items: list[DeleteRecordsTopicResult] = []
        if version >= 2:
            for _ in range(count):
                item = new(DeleteRecordsTopicResult)
                item.name, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 15)
                if size < 0:
                    raise null_sent("partitions")
                item.partitions, pos = DeleteRecordsPartitionResult.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DeleteRecordsTopicResult)
            item.name, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 14)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = DeleteRecordsPartitionResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DeleteRecordsTopicResult], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_string(item.name)
                buf += compact_array_count(item.partitions)
                yield from written_slices(DeleteRecordsPartitionResult.write_all, out, item.partitions, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += string(item.name)
            buf += array_count(item.partitions)
            yield from written_slices(DeleteRecordsPartitionResult.write_all, out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("DeleteRecordsTopicResult", version)
            yield 1


class DeleteRecordsResponse(Message):
    FIELDS = ("throttle_time_ms", "topics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    throttle_time_ms: int
    topics: list[DeleteRecordsTopicResult]

    def __init__(self, *, throttle_time_ms: int = 0, topics: list[DeleteRecordsTopicResult] = UNSET) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeleteRecordsResponse], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.topics)
                DeleteRecordsTopicResult.write_all(out, item.topics, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.topics)
            DeleteRecordsTopicResult.write_all(out, item.topics, version)
            if item.unknown_tags:
                raise no_tags("DeleteRecordsResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DeleteRecordsResponse], int]:
        items: list[DeleteRecordsResponse] = []
        if version >= 2:
            for _ in range(count):
                item = new(DeleteRecordsResponse)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = DeleteRecordsTopicResult.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DeleteRecordsResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = DeleteRecordsTopicResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DeleteRecordsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.topics)
                yield from DeleteRecordsTopicResult.write_slices(out, item.topics, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.topics)
            yield from DeleteRecordsTopicResult.write_slices(out, item.topics, version)
            if item.unknown_tags:
                raise no_tags("DeleteRecordsResponse", version)
            yield 1
