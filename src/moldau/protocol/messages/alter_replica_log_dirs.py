# Generated from schema/alter_replica_log_dirs.wire by tools/generate_messages.py: do not edit.
"""AlterReplicaLogDirs: moves replicas between the log directories of a broker.

Since version
   2  flexible
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import (
    array_count,
    compact_array_count,
    compact_int32s,
    int32s,
    read_compact_count,
    read_compact_int32s,
    read_count,
    read_int32s,
)
from moldau.protocol.message import UNSET, Message, Struct, new, no_tags
from moldau.protocol.primitives import compact_string, fixed, null_sent, read_compact_string, read_string, string
from moldau.protocol.slices import Slices, check_count, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")


class AlterReplicaLogDirTopic(Struct):
    FIELDS = ("name", "partitions")
    __slots__ = FIELDS

    name: str
    partitions: list[int]

    def __init__(self, *, name: str = "", partitions: list[int] = UNSET) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AlterReplicaLogDirTopic], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_string(item.name)
                buf += compact_int32s(item.partitions)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.name)
            buf += int32s(item.partitions)
            if item.unknown_tags:
                raise no_tags("AlterReplicaLogDirTopic", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AlterReplicaLogDirTopic], int]:
        items: list[AlterReplicaLogDirTopic] = []
        if version >= 2:
            for _ in range(count):
                item = new(AlterReplicaLogDirTopic)
                item.name, pos = read_compact_string(data, pos)
                item.partitions, pos = read_compact_int32s(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(AlterReplicaLogDirTopic)
            item.name, pos = read_string(data, pos)
            item.partitions, pos = read_int32s(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[AlterReplicaLogDirTopic], int]]:
        check_count(count)
        items: list[AlterReplicaLogDirTopic] = []
        if version >= 2:
            for _ in range(count):
                item = new(AlterReplicaLogDirTopic)
                item.name, pos = read_compact_string(data, pos)
                item.partitions, pos = read_compact_int32s(data, pos)
                yield len(item.partitions)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(AlterReplicaLogDirTopic)
            item.name, pos = read_string(data, pos)
            item.partitions, pos = read_int32s(data, pos)
            yield len(item.partitions)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class AlterReplicaLogDir(Struct):
    FIELDS = ("path", "topics")
    __slots__ = FIELDS

    path: str
    topics: list[AlterReplicaLogDirTopic]

    def __init__(self, *, path: str = "", topics: list[AlterReplicaLogDirTopic] = UNSET) -> None:
        self.path = path
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AlterReplicaLogDir], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_string(item.path)
                buf += compact_array_count(item.topics)
                AlterReplicaLogDirTopic.write_all(out, item.topics, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.path)
            buf += array_count(item.topics)
            AlterReplicaLogDirTopic.write_all(out, item.topics, version)
            if item.unknown_tags:
                raise no_tags("AlterReplicaLogDir", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AlterReplicaLogDir], int]:
        items: list[AlterReplicaLogDir] = []
        if version >= 2:
            for _ in range(count):
                item = new(AlterReplicaLogDir)
                item.path, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = AlterReplicaLogDirTopic.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(AlterReplicaLogDir)
            item.path, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = AlterReplicaLogDirTopic.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[AlterReplicaLogDir], int]]:
        check_count(count)
        items: list[AlterReplicaLogDir] = []
        if version >= 2:
            for _ in range(count):
                item = new(AlterReplicaLogDir)
                item.path, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = yield from AlterReplicaLogDirTopic.read_slices(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(AlterReplicaLogDir)
            item.path, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from AlterReplicaLogDirTopic.read_slices(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class AlterReplicaLogDirsRequest(Message):
    FIELDS = ("dirs",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 34
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    dirs: list[AlterReplicaLogDir]

    def __init__(self, *, dirs: list[AlterReplicaLogDir] = UNSET) -> None:
        self.dirs = [] if dirs is UNSET else dirs
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AlterReplicaLogDirsRequest], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_array_count(item.dirs)
                AlterReplicaLogDir.write_all(out, item.dirs, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += array_count(item.dirs)
            AlterReplicaLogDir.write_all(out, item.dirs, version)
            if item.unknown_tags:
                raise no_tags("AlterReplicaLogDirsRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AlterReplicaLogDirsRequest], int]:
        items: list[AlterReplicaLogDirsRequest] = []
        if version >= 2:
            for _ in range(count):
                item = new(AlterReplicaLogDirsRequest)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("dirs")
                item.dirs, pos = AlterReplicaLogDir.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(AlterReplicaLogDirsRequest)
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("dirs")
            item.dirs, pos = AlterReplicaLogDir.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[AlterReplicaLogDirsRequest], int]]:
        check_count(count)
        items: list[AlterReplicaLogDirsRequest] = []
        if version >= 2:
            for _ in range(count):
                item = new(AlterReplicaLogDirsRequest)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("dirs")
                item.dirs, pos = yield from AlterReplicaLogDir.read_slices(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(AlterReplicaLogDirsRequest)
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("dirs")
            item.dirs, pos = yield from AlterReplicaLogDir.read_slices(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class AlterReplicaLogDirPartitionResult(Struct):
    FIELDS = ("partition_index", "error_code")
    __slots__ = FIELDS

    partition_index: int
    error_code: int

    def __init__(self, *, partition_index: int = 0, error_code: int = 0) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AlterReplicaLogDirPartitionResult], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_ih(item.partition_index, item.error_code)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_ih(item.partition_index, item.error_code)
            if item.unknown_tags:
                raise no_tags("AlterReplicaLogDirPartitionResult", version)

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[AlterReplicaLogDirPartitionResult], int]:
        items: list[AlterReplicaLogDirPartitionResult] = []
        if version >= 2:
            for _ in range(count):
                item = new(AlterReplicaLogDirPartitionResult)
                item.partition_index, item.error_code = _unpack_ih(data, pos)
                pos += 6
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(AlterReplicaLogDirPartitionResult)
            item.partition_index, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.unknown_tags = None
            items.append(item)
        return items, pos


class AlterReplicaLogDirTopicResult(Struct):
    FIELDS = ("topic_name", "partitions")
    __slots__ = FIELDS

    topic_name: str
    partitions: list[AlterReplicaLogDirPartitionResult]

    def __init__(self, *, topic_name: str = "", partitions: list[AlterReplicaLogDirPartitionResult] = UNSET) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AlterReplicaLogDirTopicResult], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_string(item.topic_name)
                buf += compact_array_count(item.partitions)
                AlterReplicaLogDirPartitionResult.write_all(out, item.partitions, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.topic_name)
            buf += array_count(item.partitions)
            AlterReplicaLogDirPartitionResult.write_all(out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("AlterReplicaLogDirTopicResult", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AlterReplicaLogDirTopicResult], int]:
        items: list[AlterReplicaLogDirTopicResult] = []
        if version >= 2:
            for _ in range(count):
                item = new(AlterReplicaLogDirTopicResult)
                item.topic_name, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 7)
                if size < 0:
                    raise null_sent("partitions")
                item.partitions, pos = AlterReplicaLogDirPartitionResult.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(AlterReplicaLogDirTopicResult)
            item.topic_name, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = AlterReplicaLogDirPartitionResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[AlterReplicaLogDirTopicResult], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_string(item.topic_name)
                buf += compact_array_count(item.partitions)
                yield from written_slices(AlterReplicaLogDirPartitionResult.write_all, out, item.partitions, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += string(item.topic_name)
            buf += array_count(item.partitions)
            yield from written_slices(AlterReplicaLogDirPartitionResult.write_all, out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("AlterReplicaLogDirTopicResult", version)
            yield 1


class AlterReplicaLogDirsResponse(Message):
    FIELDS = ("throttle_time_ms", "results")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 34
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    throttle_time_ms: int
    results: list[AlterReplicaLogDirTopicResult]

    def __init__(self, *, throttle_time_ms: int = 0, results: list[AlterReplicaLogDirTopicResult] = UNSET) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is UNSET else results
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AlterReplicaLogDirsResponse], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.results)
                AlterReplicaLogDirTopicResult.write_all(out, item.results, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.results)
            AlterReplicaLogDirTopicResult.write_all(out, item.results, version)
            if item.unknown_tags:
                raise no_tags("AlterReplicaLogDirsResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AlterReplicaLogDirsResponse], int]:
        items: list[AlterReplicaLogDirsResponse] = []
        if version >= 2:
            for _ in range(count):
                item = new(AlterReplicaLogDirsResponse)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("results")
                item.results, pos = AlterReplicaLogDirTopicResult.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(AlterReplicaLogDirsResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("results")
            item.results, pos = AlterReplicaLogDirTopicResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[AlterReplicaLogDirsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.results)
                yield from AlterReplicaLogDirTopicResult.write_slices(out, item.results, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.results)
            yield from AlterReplicaLogDirTopicResult.write_slices(out, item.results, version)
            if item.unknown_tags:
                raise no_tags("AlterReplicaLogDirsResponse", version)
            yield 1
