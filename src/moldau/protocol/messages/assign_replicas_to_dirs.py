# Generated from schema/assign_replicas_to_dirs.wire by tools/generate_messages.py: do not edit.
"""AssignReplicasToDirs: a broker tells in which log directory each replica lies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, read_compact_count
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import fixed, null_sent
from moldau.protocol.slices import Slices, check_count, struct_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")
_pack_iq, _unpack_iq = fixed("iq")
_pack_u, _unpack_u = fixed("16s")


class RequestPartitionData(Struct):
    FIELDS = ("partition_index",)
    __slots__ = FIELDS

    partition_index: int

    def __init__(self, *, partition_index: int = 0) -> None:
        self.partition_index = partition_index
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[RequestPartitionData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.partition_index)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RequestPartitionData], int]:
        items: list[RequestPartitionData] = []
        for _ in range(count):
            item = new(RequestPartitionData)
            (item.partition_index,) = _unpack_i(data, pos)
            pos += 4
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class RequestTopicData(Struct):
    FIELDS = ("topic_id", "partitions")
    __slots__ = FIELDS

    topic_id: Uuid
    partitions: list[RequestPartitionData]

    def __init__(self, *, topic_id: Uuid = ZERO_UUID, partitions: list[RequestPartitionData] = UNSET) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[RequestTopicData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            RequestPartitionData.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RequestTopicData], int]:
        items: list[RequestTopicData] = []
        for _ in range(count):
            item = new(RequestTopicData)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 5)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = RequestPartitionData.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[RequestTopicData], int]]:
        check_count(count)
        items: list[RequestTopicData] = []
        for _ in range(count):
            item = new(RequestTopicData)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 5)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = yield from struct_slices(RequestPartitionData.read_all, data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class RequestDirectoryData(Struct):
    FIELDS = ("id", "topics")
    __slots__ = FIELDS

    id: Uuid
    topics: list[RequestTopicData]

    def __init__(self, *, id: Uuid = ZERO_UUID, topics: list[RequestTopicData] = UNSET) -> None:
        self.id = id
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[RequestDirectoryData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.id)
            buf += compact_array_count(item.topics)
            RequestTopicData.write_all(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RequestDirectoryData], int]:
        items: list[RequestDirectoryData] = []
        for _ in range(count):
            item = new(RequestDirectoryData)
            (item.id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = RequestTopicData.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[RequestDirectoryData], int]]:
        check_count(count)
        items: list[RequestDirectoryData] = []
        for _ in range(count):
            item = new(RequestDirectoryData)
            (item.id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from RequestTopicData.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class AssignReplicasToDirsRequest(Message):
    FIELDS = ("broker_id", "broker_epoch", "directories")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 73
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    broker_id: int
    broker_epoch: int
    directories: list[RequestDirectoryData]

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = -1,
        directories: list[RequestDirectoryData] = UNSET,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.directories = [] if directories is UNSET else directories
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AssignReplicasToDirsRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_iq(item.broker_id, item.broker_epoch)
            buf += compact_array_count(item.directories)
            RequestDirectoryData.write_all(out, item.directories, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AssignReplicasToDirsRequest], int]:
        items: list[AssignReplicasToDirsRequest] = []
        for _ in range(count):
            item = new(AssignReplicasToDirsRequest)
            item.broker_id, item.broker_epoch = _unpack_iq(data, pos)
            pos += 12
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("directories")
            item.directories, pos = RequestDirectoryData.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[AssignReplicasToDirsRequest], int]]:
        check_count(count)
        items: list[AssignReplicasToDirsRequest] = []
        for _ in range(count):
            item = new(AssignReplicasToDirsRequest)
            item.broker_id, item.broker_epoch = _unpack_iq(data, pos)
            pos += 12
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("directories")
            item.directories, pos = yield from RequestDirectoryData.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class ResponsePartitionData(Struct):
    FIELDS = ("partition_index", "error_code")
    __slots__ = FIELDS

    partition_index: int
    error_code: int

    def __init__(self, *, partition_index: int = 0, error_code: int = 0) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ResponsePartitionData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.partition_index, item.error_code)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ResponsePartitionData], int]:
        items: list[ResponsePartitionData] = []
        for _ in range(count):
            item = new(ResponsePartitionData)
            item.partition_index, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class ResponseTopicData(Struct):
    FIELDS = ("topic_id", "partitions")
    __slots__ = FIELDS

    topic_id: Uuid
    partitions: list[ResponsePartitionData]

    def __init__(self, *, topic_id: Uuid = ZERO_UUID, partitions: list[ResponsePartitionData] = UNSET) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ResponseTopicData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            ResponsePartitionData.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ResponseTopicData], int]:
        items: list[ResponseTopicData] = []
        for _ in range(count):
            item = new(ResponseTopicData)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 7)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = ResponsePartitionData.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ResponseTopicData], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            yield from written_slices(ResponsePartitionData.write_all, out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class ResponseDirectoryData(Struct):
    FIELDS = ("id", "topics")
    __slots__ = FIELDS

    id: Uuid
    topics: list[ResponseTopicData]

    def __init__(self, *, id: Uuid = ZERO_UUID, topics: list[ResponseTopicData] = UNSET) -> None:
        self.id = id
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ResponseDirectoryData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.id)
            buf += compact_array_count(item.topics)
            ResponseTopicData.write_all(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ResponseDirectoryData], int]:
        items: list[ResponseDirectoryData] = []
        for _ in range(count):
            item = new(ResponseDirectoryData)
            (item.id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = ResponseTopicData.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ResponseDirectoryData], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.id)
            buf += compact_array_count(item.topics)
            yield from ResponseTopicData.write_slices(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class AssignReplicasToDirsResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "directories")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 73
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    error_code: int
    directories: list[ResponseDirectoryData]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        directories: list[ResponseDirectoryData] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.directories = [] if directories is UNSET else directories
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AssignReplicasToDirsResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += compact_array_count(item.directories)
            ResponseDirectoryData.write_all(out, item.directories, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AssignReplicasToDirsResponse], int]:
        items: list[AssignReplicasToDirsResponse] = []
        for _ in range(count):
            item = new(AssignReplicasToDirsResponse)
            item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
            pos += 6
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("directories")
            item.directories, pos = ResponseDirectoryData.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[AssignReplicasToDirsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += compact_array_count(item.directories)
            yield from ResponseDirectoryData.write_slices(out, item.directories, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
