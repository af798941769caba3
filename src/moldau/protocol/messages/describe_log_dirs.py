# Generated from schema/describe_log_dirs.wire by tools/generate_messages.py: do not edit.
"""DescribeLogDirs: log directories and the partitions in them.

Since version
   2  flexible
   3  an error code for the whole answer
   4  size of the volumes
   5  whether a directory is cordoned
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
from moldau.protocol.primitives import (
    COMPACT_NULL,
    NULL,
    compact_string,
    fixed,
    null_sent,
    read_compact_string,
    read_string,
    string,
)
from moldau.protocol.slices import Slices, check_count, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_h, _unpack_h = fixed("h")
_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")
_pack_iqqo, _unpack_iqqo = fixed("iqq?")
_pack_qq, _unpack_qq = fixed("qq")
_pack_qqo, _unpack_qqo = fixed("qq?")


class DescribableLogDirTopic(Struct):
    FIELDS = ("topic", "partitions")
    __slots__ = FIELDS

    topic: str
    partitions: list[int]

    def __init__(self, *, topic: str = "", partitions: list[int] = UNSET) -> None:
        self.topic = topic
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribableLogDirTopic], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_string(item.topic)
                buf += compact_int32s(item.partitions)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.topic)
            buf += int32s(item.partitions)
            if item.unknown_tags:
                raise no_tags("DescribableLogDirTopic", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribableLogDirTopic], int]:
        items: list[DescribableLogDirTopic] = []
        if version >= 2:
            for _ in range(count):
                item = new(DescribableLogDirTopic)
                item.topic, pos = read_compact_string(data, pos)
                item.partitions, pos = read_compact_int32s(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DescribableLogDirTopic)
            item.topic, pos = read_string(data, pos)
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
    ) -> Slices[tuple[list[DescribableLogDirTopic], int]]:
        check_count(count)
        items: list[DescribableLogDirTopic] = []
        if version >= 2:
            for _ in range(count):
                item = new(DescribableLogDirTopic)
                item.topic, pos = read_compact_string(data, pos)
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
            item = new(DescribableLogDirTopic)
            item.topic, pos = read_string(data, pos)
            item.partitions, pos = read_int32s(data, pos)
            yield len(item.partitions)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class DescribeLogDirsRequest(Message):
    FIELDS = ("topics",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 35
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    topics: list[DescribableLogDirTopic] | None

    def __init__(self, *, topics: list[DescribableLogDirTopic] | None = UNSET) -> None:
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeLogDirsRequest], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                topics = item.topics
                if topics is None:
                    buf += COMPACT_NULL
                else:
                    buf += compact_array_count(topics)
                    DescribableLogDirTopic.write_all(out, topics, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            topics = item.topics
            if topics is None:
                buf += NULL
            else:
                buf += array_count(topics)
                DescribableLogDirTopic.write_all(out, topics, version)
            if item.unknown_tags:
                raise no_tags("DescribeLogDirsRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeLogDirsRequest], int]:
        items: list[DescribeLogDirsRequest] = []
        if version >= 2:
            for _ in range(count):
                item = new(DescribeLogDirsRequest)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    item.topics = None
                else:
                    item.topics, pos = DescribableLogDirTopic.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DescribeLogDirsRequest)
            size, pos = read_count(data, pos, 6)
            if size < 0:
                item.topics = None
            else:
                item.topics, pos = DescribableLogDirTopic.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[DescribeLogDirsRequest], int]]:
        check_count(count)
        items: list[DescribeLogDirsRequest] = []
        if version >= 2:
            for _ in range(count):
                item = new(DescribeLogDirsRequest)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    item.topics = None
                else:
                    item.topics, pos = yield from DescribableLogDirTopic.read_slices(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(DescribeLogDirsRequest)
            size, pos = read_count(data, pos, 6)
            if size < 0:
                item.topics = None
            else:
                item.topics, pos = yield from DescribableLogDirTopic.read_slices(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class DescribeLogDirsPartition(Struct):
    FIELDS = ("partition_index", "partition_size", "offset_lag", "is_future_key")
    __slots__ = FIELDS

    partition_index: int
    partition_size: int
    offset_lag: int
    is_future_key: bool

    def __init__(
        self,
        *,
        partition_index: int = 0,
        partition_size: int = 0,
        offset_lag: int = 0,
        is_future_key: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.partition_size = partition_size
        self.offset_lag = offset_lag
        self.is_future_key = is_future_key
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeLogDirsPartition], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_iqqo(item.partition_index, item.partition_size, item.offset_lag, item.is_future_key)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_iqqo(item.partition_index, item.partition_size, item.offset_lag, item.is_future_key)
            if item.unknown_tags:
                raise no_tags("DescribeLogDirsPartition", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeLogDirsPartition], int]:
        items: list[DescribeLogDirsPartition] = []
        if version >= 2:
            for _ in range(count):
                item = new(DescribeLogDirsPartition)
                item.partition_index, item.partition_size, item.offset_lag, item.is_future_key = _unpack_iqqo(data, pos)
                pos += 21
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DescribeLogDirsPartition)
            item.partition_index, item.partition_size, item.offset_lag, item.is_future_key = _unpack_iqqo(data, pos)
            pos += 21
            item.unknown_tags = None
            items.append(item)
        return items, pos


class DescribeLogDirsTopic(Struct):
    FIELDS = ("name", "partitions")
    __slots__ = FIELDS

    name: str
    partitions: list[DescribeLogDirsPartition]

    def __init__(self, *, name: str = "", partitions: list[DescribeLogDirsPartition] = UNSET) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeLogDirsTopic], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_string(item.name)
                buf += compact_array_count(item.partitions)
                DescribeLogDirsPartition.write_all(out, item.partitions, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.name)
            buf += array_count(item.partitions)
            DescribeLogDirsPartition.write_all(out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("DescribeLogDirsTopic", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeLogDirsTopic], int]:
        items: list[DescribeLogDirsTopic] = []
        if version >= 2:
            for _ in range(count):
                item = new(DescribeLogDirsTopic)
                item.name, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 22)
                if size < 0:
                    raise null_sent("partitions")
                item.partitions, pos = DescribeLogDirsPartition.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DescribeLogDirsTopic)
            item.name, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 21)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = DescribeLogDirsPartition.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DescribeLogDirsTopic], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_string(item.name)
                buf += compact_array_count(item.partitions)
                yield from written_slices(DescribeLogDirsPartition.write_all, out, item.partitions, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += string(item.name)
            buf += array_count(item.partitions)
            yield from written_slices(DescribeLogDirsPartition.write_all, out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("DescribeLogDirsTopic", version)
            yield 1


class DescribeLogDirsResult(Struct):
    FIELDS = ("error_code", "log_dir", "topics", "total_bytes", "usable_bytes", "is_cordoned")
    __slots__ = FIELDS

    error_code: int
    log_dir: str
    topics: list[DescribeLogDirsTopic]
    total_bytes: int
    usable_bytes: int
    is_cordoned: bool

    def __init__(
        self,
        *,
        error_code: int = 0,
        log_dir: str = "",
        topics: list[DescribeLogDirsTopic] = UNSET,
        total_bytes: int = -1,
        usable_bytes: int = -1,
        is_cordoned: bool = False,
    ) -> None:
        self.error_code = error_code
        self.log_dir = log_dir
        self.topics = [] if topics is UNSET else topics
        self.total_bytes = total_bytes
        self.usable_bytes = usable_bytes
        self.is_cordoned = is_cordoned
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeLogDirsResult], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_h(item.error_code)
                buf += compact_string(item.log_dir)
                buf += compact_array_count(item.topics)
                DescribeLogDirsTopic.write_all(out, item.topics, version)
                if version >= 5:
                    buf += _pack_qqo(item.total_bytes, item.usable_bytes, item.is_cordoned)
                elif version >= 4:
                    buf += _pack_qq(item.total_bytes, item.usable_bytes)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_h(item.error_code)
            buf += string(item.log_dir)
            buf += array_count(item.topics)
            DescribeLogDirsTopic.write_all(out, item.topics, version)
            if item.unknown_tags:
                raise no_tags("DescribeLogDirsResult", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeLogDirsResult], int]:
        items: list[DescribeLogDirsResult] = []
        if version >= 2:
            for _ in range(count):
                item = new(DescribeLogDirsResult)
                (item.error_code,) = _unpack_h(data, pos)
                pos += 2
                item.log_dir, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = DescribeLogDirsTopic.read_all(data, pos, version, size)
                if version >= 5:
                    item.total_bytes, item.usable_bytes, item.is_cordoned = _unpack_qqo(data, pos)
                    pos += 17
                elif version >= 4:
                    item.total_bytes, item.usable_bytes = _unpack_qq(data, pos)
                    pos += 16
                    item.is_cordoned = False
                else:
                    item.total_bytes = -1
                    item.usable_bytes = -1
                    item.is_cordoned = False
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DescribeLogDirsResult)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.log_dir, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = DescribeLogDirsTopic.read_all(data, pos, version, size)
            item.total_bytes = -1
            item.usable_bytes = -1
            item.is_cordoned = False
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DescribeLogDirsResult], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_h(item.error_code)
                buf += compact_string(item.log_dir)
                buf += compact_array_count(item.topics)
                yield from DescribeLogDirsTopic.write_slices(out, item.topics, version)
                if version >= 5:
                    buf += _pack_qqo(item.total_bytes, item.usable_bytes, item.is_cordoned)
                elif version >= 4:
                    buf += _pack_qq(item.total_bytes, item.usable_bytes)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_h(item.error_code)
            buf += string(item.log_dir)
            buf += array_count(item.topics)
            yield from DescribeLogDirsTopic.write_slices(out, item.topics, version)
            if item.unknown_tags:
                raise no_tags("DescribeLogDirsResult", version)
            yield 1


class DescribeLogDirsResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "results")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 35
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    throttle_time_ms: int
    error_code: int
    results: list[DescribeLogDirsResult]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results: list[DescribeLogDirsResult] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results = [] if results is UNSET else results
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeLogDirsResponse], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                if version >= 3:
                    buf += _pack_ih(item.throttle_time_ms, item.error_code)
                else:
                    buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.results)
                DescribeLogDirsResult.write_all(out, item.results, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.results)
            DescribeLogDirsResult.write_all(out, item.results, version)
            if item.unknown_tags:
                raise no_tags("DescribeLogDirsResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeLogDirsResponse], int]:
        items: list[DescribeLogDirsResponse] = []
        if version >= 2:
            for _ in range(count):
                item = new(DescribeLogDirsResponse)
                if version >= 3:
                    item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
                    pos += 6
                else:
                    (item.throttle_time_ms,) = _unpack_i(data, pos)
                    pos += 4
                    item.error_code = 0
                size, pos = read_compact_count(data, pos, 5)
                if size < 0:
                    raise null_sent("results")
                item.results, pos = DescribeLogDirsResult.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DescribeLogDirsResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            item.error_code = 0
            size, pos = read_count(data, pos, 8)
            if size < 0:
                raise null_sent("results")
            item.results, pos = DescribeLogDirsResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DescribeLogDirsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 2:
            for item in items:
                if version >= 3:
                    buf += _pack_ih(item.throttle_time_ms, item.error_code)
                else:
                    buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.results)
                yield from DescribeLogDirsResult.write_slices(out, item.results, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.results)
            yield from DescribeLogDirsResult.write_slices(out, item.results, version)
            if item.unknown_tags:
                raise no_tags("DescribeLogDirsResponse", version)
            yield 1
