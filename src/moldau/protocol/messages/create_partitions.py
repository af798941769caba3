# Generated from schema/create_partitions.wire by tools/generate_messages.py: do not edit.
"""CreatePartitions: adds partitions to topics.

Since version
   2  flexible
   3  may be refused for going over a quota
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
    nullable_compact_string,
    nullable_string,
    read_compact_string,
    read_nullable_compact_string,
    read_nullable_string,
    read_string,
    string,
)
from moldau.protocol.slices import Slices, check_count, struct_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_h, _unpack_h = fixed("h")
_pack_i, _unpack_i = fixed("i")
_pack_io, _unpack_io = fixed("i?")


class CreatePartitionsAssignment(Struct):
    FIELDS = ("broker_ids",)
    __slots__ = FIELDS

    broker_ids: list[int]

    def __init__(self, *, broker_ids: list[int] = UNSET) -> None:
        self.broker_ids = [] if broker_ids is UNSET else broker_ids
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[CreatePartitionsAssignment], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_int32s(item.broker_ids)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += int32s(item.broker_ids)
            if item.unknown_tags:
                raise no_tags("CreatePartitionsAssignment", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[CreatePartitionsAssignment], int]:
        items: list[CreatePartitionsAssignment] = []
        if version >= 2:
            for _ in range(count):
                item = new(CreatePartitionsAssignment)
                item.broker_ids, pos = read_compact_int32s(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(CreatePartitionsAssignment)
            item.broker_ids, pos = read_int32s(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[CreatePartitionsAssignment], int]]:
        check_count(count)
        items: list[CreatePartitionsAssignment] = []
        if version >= 2:
            for _ in range(count):
                item = new(CreatePartitionsAssignment)
                item.broker_ids, pos = read_compact_int32s(data, pos)
                yield len(item.broker_ids)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(CreatePartitionsAssignment)
            item.broker_ids, pos = read_int32s(data, pos)
            yield len(item.broker_ids)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class CreatePartitionsTopic(Struct):
    FIELDS = ("name", "count", "assignments")
    __slots__ = FIELDS

    name: str
    count: int
    assignments: list[CreatePartitionsAssignment] | None

    def __init__(
        self,
        *,
        name: str = "",
        count: int = 0,
        assignments: list[CreatePartitionsAssignment] | None = UNSET,
    ) -> None:
        self.name = name
        self.count = count
        self.assignments = [] if assignments is UNSET else assignments
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[CreatePartitionsTopic], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_string(item.name)
                buf += _pack_i(item.count)
                assignments = item.assignments
                if assignments is None:
                    buf += COMPACT_NULL
                else:
                    buf += compact_array_count(assignments)
                    CreatePartitionsAssignment.write_all(out, assignments, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.name)
            buf += _pack_i(item.count)
            assignments = item.assignments
            if assignments is None:
                buf += NULL
            else:
                buf += array_count(assignments)
                CreatePartitionsAssignment.write_all(out, assignments, version)
            if item.unknown_tags:
                raise no_tags("CreatePartitionsTopic", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[CreatePartitionsTopic], int]:
        items: list[CreatePartitionsTopic] = []
        if version >= 2:
            for _ in range(count):
                item = new(CreatePartitionsTopic)
                item.name, pos = read_compact_string(data, pos)
                (item.count,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 2)
                if size < 0:
                    item.assignments = None
                else:
                    item.assignments, pos = CreatePartitionsAssignment.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(CreatePartitionsTopic)
            item.name, pos = read_string(data, pos)
            (item.count,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_count(data, pos, 4)
            if size < 0:
                item.assignments = None
            else:
                item.assignments, pos = CreatePartitionsAssignment.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[CreatePartitionsTopic], int]]:
        check_count(count)
        items: list[CreatePartitionsTopic] = []
        if version >= 2:
            for _ in range(count):
                item = new(CreatePartitionsTopic)
                item.name, pos = read_compact_string(data, pos)
                (item.count,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 2)
                if size < 0:
                    item.assignments = None
                else:
                    item.assignments, pos = yield from CreatePartitionsAssignment.read_slices(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(CreatePartitionsTopic)
            item.name, pos = read_string(data, pos)
            (item.count,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_count(data, pos, 4)
            if size < 0:
                item.assignments = None
            else:
                item.assignments, pos = yield from CreatePartitionsAssignment.read_slices(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[CreatePartitionsTopic], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_string(item.name)
                buf += _pack_i(item.count)
                assignments = item.assignments
                if assignments is None:
                    buf += COMPACT_NULL
                else:
                    buf += compact_array_count(assignments)
                    yield from written_slices(CreatePartitionsAssignment.write_all, out, assignments, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += string(item.name)
            buf += _pack_i(item.count)
            assignments = item.assignments
            if assignments is None:
                buf += NULL
            else:
                buf += array_count(assignments)
                yield from written_slices(CreatePartitionsAssignment.write_all, out, assignments, version)
            if item.unknown_tags:
                raise no_tags("CreatePartitionsTopic", version)
            yield 1


class CreatePartitionsRequest(Message):
    FIELDS = ("topics", "timeout_ms", "validate_only")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 37
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    topics: list[CreatePartitionsTopic]
    timeout_ms: int
    validate_only: bool

    def __init__(
        self,
        *,
        topics: list[CreatePartitionsTopic] = UNSET,
        timeout_ms: int = 0,
        validate_only: bool = False,
    ) -> None:
        self.topics = [] if topics is UNSET else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[CreatePartitionsRequest], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_array_count(item.topics)
                CreatePartitionsTopic.write_all(out, item.topics, version)
                buf += _pack_io(item.timeout_ms, item.validate_only)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += array_count(item.topics)
            CreatePartitionsTopic.write_all(out, item.topics, version)
            buf += _pack_io(item.timeout_ms, item.validate_only)
            if item.unknown_tags:
                raise no_tags("CreatePartitionsRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[CreatePartitionsRequest], int]:
        items: list[CreatePartitionsRequest] = []
        if version >= 2:
            for _ in range(count):
                item = new(CreatePartitionsRequest)
                size, pos = read_compact_count(data, pos, 7)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = CreatePartitionsTopic.read_all(data, pos, version, size)
                item.timeout_ms, item.validate_only = _unpack_io(data, pos)
                pos += 5
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(CreatePartitionsRequest)
            size, pos = read_count(data, pos, 10)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = CreatePartitionsTopic.read_all(data, pos, version, size)
            item.timeout_ms, item.validate_only = _unpack_io(data, pos)
            pos += 5
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[CreatePartitionsRequest], int]]:
        check_count(count)
        items: list[CreatePartitionsRequest] = []
        if version >= 2:
            for _ in range(count):
                item = new(CreatePartitionsRequest)
                size, pos = read_compact_count(data, pos, 7)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = yield from CreatePartitionsTopic.read_slices(data, pos, version, size)
                item.timeout_ms, item.validate_only = _unpack_io(data, pos)
                pos += 5
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(CreatePartitionsRequest)
            size, pos = read_count(data, pos, 10)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from CreatePartitionsTopic.read_slices(data, pos, version, size)
            item.timeout_ms, item.validate_only = _unpack_io(data, pos)
            pos += 5
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[CreatePartitionsRequest], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_array_count(item.topics)
                yield from CreatePartitionsTopic.write_slices(out, item.topics, version)
                buf += _pack_io(item.timeout_ms, item.validate_only)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += array_count(item.topics)
            yield from CreatePartitionsTopic.write_slices(out, item.topics, version)
            buf += _pack_io(item.timeout_ms, item.validate_only)
            if item.unknown_tags:
                raise no_tags("CreatePartitionsRequest", version)
            yield 1


class CreatePartitionsTopicResult(Struct):
    FIELDS = ("name", "error_code", "error_message")
    __slots__ = FIELDS

    name: str
    error_code: int
    error_message: str | None

    def __init__(self, *, name: str = "", error_code: int = 0, error_message: str | None = None) -> None:
        self.name = name
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[CreatePartitionsTopicResult], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_string(item.name)
                buf += _pack_h(item.error_code)
                buf += nullable_compact_string(item.error_message)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.name)
            buf += _pack_h(item.error_code)
            buf += nullable_string(item.error_message)
            if item.unknown_tags:
                raise no_tags("CreatePartitionsTopicResult", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[CreatePartitionsTopicResult], int]:
        items: list[CreatePartitionsTopicResult] = []
        if version >= 2:
            for _ in range(count):
                item = new(CreatePartitionsTopicResult)
                item.name, pos = read_compact_string(data, pos)
                (item.error_code,) = _unpack_h(data, pos)
                pos += 2
                item.error_message, pos = read_nullable_compact_string(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(CreatePartitionsTopicResult)
            item.name, pos = read_string(data, pos)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.error_message, pos = read_nullable_string(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class CreatePartitionsResponse(Message):
    FIELDS = ("throttle_time_ms", "results")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 37
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    throttle_time_ms: int
    results: list[CreatePartitionsTopicResult]

    def __init__(self, *, throttle_time_ms: int = 0, results: list[CreatePartitionsTopicResult] = UNSET) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is UNSET else results
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[CreatePartitionsResponse], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.results)
                CreatePartitionsTopicResult.write_all(out, item.results, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.results)
            CreatePartitionsTopicResult.write_all(out, item.results, version)
            if item.unknown_tags:
                raise no_tags("CreatePartitionsResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[CreatePartitionsResponse], int]:
        items: list[CreatePartitionsResponse] = []
        if version >= 2:
            for _ in range(count):
                item = new(CreatePartitionsResponse)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 5)
                if size < 0:
                    raise null_sent("results")
                item.results, pos = CreatePartitionsTopicResult.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(CreatePartitionsResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("results")
            item.results, pos = CreatePartitionsTopicResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[CreatePartitionsResponse], int]]:
        items: list[CreatePartitionsResponse] = []
        if version >= 2:
            for _ in range(count):
                item = new(CreatePartitionsResponse)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 5)
                if size < 0:
                    raise null_sent("results")
                item.results, pos = yield from struct_slices(
                    CreatePartitionsTopicResult.read_all,
                    data,
                    pos,
                    version,
                    size,
                    bounded=False,
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
            item = new(CreatePartitionsResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("results")
            item.results, pos = yield from struct_slices(
                CreatePartitionsTopicResult.read_all,
                data,
                pos,
                version,
                size,
                bounded=False,
            )
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[CreatePartitionsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.results)
                yield from written_slices(CreatePartitionsTopicResult.write_all, out, item.results, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.results)
            yield from written_slices(CreatePartitionsTopicResult.write_all, out, item.results, version)
            if item.unknown_tags:
                raise no_tags("CreatePartitionsResponse", version)
            yield 1
