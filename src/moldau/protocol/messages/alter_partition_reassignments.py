# Generated from schema/alter_partition_reassignments.wire by tools/generate_messages.py: do not edit.
"""AlterPartitionReassignments: starts or cancels moving partitions to other replicas.

Since version
   1  the replication factor may be held fixed
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, compact_int32s, read_compact_count, read_nullable_compact_int32s
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field
from moldau.protocol.primitives import (
    COMPACT_NULL,
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

_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")
_pack_io, _unpack_io = fixed("i?")
_pack_ioh, _unpack_ioh = fixed("i?h")


class ReassignablePartition(Struct):
    FIELDS = ("partition_index", "replicas")
    __slots__ = FIELDS

    partition_index: int
    replicas: list[int] | None

    def __init__(self, *, partition_index: int = 0, replicas: list[int] | None = None) -> None:
        self.partition_index = partition_index
        self.replicas = replicas
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ReassignablePartition], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.partition_index)
            replicas = item.replicas
            if replicas is None:
                buf += COMPACT_NULL
            else:
                buf += compact_int32s(replicas)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ReassignablePartition], int]:
        items: list[ReassignablePartition] = []
        for _ in range(count):
            item = new(ReassignablePartition)
            (item.partition_index,) = _unpack_i(data, pos)
            pos += 4
            item.replicas, pos = read_nullable_compact_int32s(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[ReassignablePartition], int]]:
        check_count(count)
        items: list[ReassignablePartition] = []
        for _ in range(count):
            item = new(ReassignablePartition)
            (item.partition_index,) = _unpack_i(data, pos)
            pos += 4
            item.replicas, pos = read_nullable_compact_int32s(data, pos)
            yield len(item.replicas or ())
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class ReassignableTopic(Struct):
    FIELDS = ("name", "partitions")
    __slots__ = FIELDS

    name: str
    partitions: list[ReassignablePartition]

    def __init__(self, *, name: str = "", partitions: list[ReassignablePartition] = UNSET) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ReassignableTopic], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += compact_array_count(item.partitions)
            ReassignablePartition.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ReassignableTopic], int]:
        items: list[ReassignableTopic] = []
        for _ in range(count):
            item = new(ReassignableTopic)
            item.name, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 6)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = ReassignablePartition.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[ReassignableTopic], int]]:
        check_count(count)
        items: list[ReassignableTopic] = []
        for _ in range(count):
            item = new(ReassignableTopic)
            item.name, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 6)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = yield from ReassignablePartition.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ReassignableTopic], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += compact_array_count(item.partitions)
            yield from written_slices(ReassignablePartition.write_all, out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class AlterPartitionReassignmentsRequest(Message):
    FIELDS = ("timeout_ms", "allow_replication_factor_change", "topics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 45
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    timeout_ms: int
    allow_replication_factor_change: bool
    topics: list[ReassignableTopic]

    def __init__(
        self,
        *,
        timeout_ms: int = 60000,
        allow_replication_factor_change: bool = True,
        topics: list[ReassignableTopic] = UNSET,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AlterPartitionReassignmentsRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            if version >= 1:
                buf += _pack_io(item.timeout_ms, item.allow_replication_factor_change)
            else:
                if not item.allow_replication_factor_change:
                    raise no_such_field(
                        "AlterPartitionReassignmentsRequest",
                        "allow_replication_factor_change",
                        version,
                    )
                buf += _pack_i(item.timeout_ms)
            buf += compact_array_count(item.topics)
            ReassignableTopic.write_all(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[AlterPartitionReassignmentsRequest], int]:
        items: list[AlterPartitionReassignmentsRequest] = []
        for _ in range(count):
            item = new(AlterPartitionReassignmentsRequest)
            if version >= 1:
                item.timeout_ms, item.allow_replication_factor_change = _unpack_io(data, pos)
                pos += 5
            else:
                (item.timeout_ms,) = _unpack_i(data, pos)
                pos += 4
                item.allow_replication_factor_change = True
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = ReassignableTopic.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[AlterPartitionReassignmentsRequest], int]]:
        check_count(count)
        items: list[AlterPartitionReassignmentsRequest] = []
        for _ in range(count):
            item = new(AlterPartitionReassignmentsRequest)
            if version >= 1:
                item.timeout_ms, item.allow_replication_factor_change = _unpack_io(data, pos)
                pos += 5
            else:
                (item.timeout_ms,) = _unpack_i(data, pos)
                pos += 4
                item.allow_replication_factor_change = True
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from ReassignableTopic.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[AlterPartitionReassignmentsRequest], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            if version >= 1:
                buf += _pack_io(item.timeout_ms, item.allow_replication_factor_change)
            else:
                if not item.allow_replication_factor_change:
                    raise no_such_field(
                        "AlterPartitionReassignmentsRequest",
                        "allow_replication_factor_change",
                        version,
                    )
                buf += _pack_i(item.timeout_ms)
            buf += compact_array_count(item.topics)
            yield from ReassignableTopic.write_slices(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class ReassignablePartitionResponse(Struct):
    FIELDS = ("partition_index", "error_code", "error_message")
    __slots__ = FIELDS

    partition_index: int
    error_code: int
    error_message: str | None

    def __init__(self, *, partition_index: int = 0, error_code: int = 0, error_message: str | None = "") -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ReassignablePartitionResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.partition_index, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ReassignablePartitionResponse], int]:
        items: list[ReassignablePartitionResponse] = []
        for _ in range(count):
            item = new(ReassignablePartitionResponse)
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


class ReassignableTopicResponse(Struct):
    FIELDS = ("name", "partitions")
    __slots__ = FIELDS

    name: str
    partitions: list[ReassignablePartitionResponse]

    def __init__(self, *, name: str = "", partitions: list[ReassignablePartitionResponse] = UNSET) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ReassignableTopicResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += compact_array_count(item.partitions)
            ReassignablePartitionResponse.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ReassignableTopicResponse], int]:
        items: list[ReassignableTopicResponse] = []
        for _ in range(count):
            item = new(ReassignableTopicResponse)
            item.name, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 8)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = ReassignablePartitionResponse.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[ReassignableTopicResponse], int]]:
        items: list[ReassignableTopicResponse] = []
        for _ in range(count):
            item = new(ReassignableTopicResponse)
            item.name, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 8)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = yield from struct_slices(
                ReassignablePartitionResponse.read_all,
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

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ReassignableTopicResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += compact_array_count(item.partitions)
            yield from written_slices(ReassignablePartitionResponse.write_all, out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class AlterPartitionReassignmentsResponse(Message):
    FIELDS = ("throttle_time_ms", "allow_replication_factor_change", "error_code", "error_message", "responses")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 45
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    allow_replication_factor_change: bool
    error_code: int
    error_message: str | None
    responses: list[ReassignableTopicResponse]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        allow_replication_factor_change: bool = True,
        error_code: int = 0,
        error_message: str | None = "",
        responses: list[ReassignableTopicResponse] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.error_code = error_code
        self.error_message = error_message
        self.responses = [] if responses is UNSET else responses
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AlterPartitionReassignmentsResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            if version >= 1:
                buf += _pack_ioh(item.throttle_time_ms, item.allow_replication_factor_change, item.error_code)
            else:
                buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += compact_array_count(item.responses)
            ReassignableTopicResponse.write_all(out, item.responses, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[AlterPartitionReassignmentsResponse], int]:
        items: list[AlterPartitionReassignmentsResponse] = []
        for _ in range(count):
            item = new(AlterPartitionReassignmentsResponse)
            if version >= 1:
                item.throttle_time_ms, item.allow_replication_factor_change, item.error_code = _unpack_ioh(data, pos)
                pos += 7
            else:
                item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
                pos += 6
                item.allow_replication_factor_change = True
            item.error_message, pos = read_nullable_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("responses")
            item.responses, pos = ReassignableTopicResponse.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[AlterPartitionReassignmentsResponse], int]]:
        items: list[AlterPartitionReassignmentsResponse] = []
        for _ in range(count):
            item = new(AlterPartitionReassignmentsResponse)
            if version >= 1:
                item.throttle_time_ms, item.allow_replication_factor_change, item.error_code = _unpack_ioh(data, pos)
                pos += 7
            else:
                item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
                pos += 6
                item.allow_replication_factor_change = True
            item.error_message, pos = read_nullable_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("responses")
            item.responses, pos = yield from ReassignableTopicResponse.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[AlterPartitionReassignmentsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            if version >= 1:
                buf += _pack_ioh(item.throttle_time_ms, item.allow_replication_factor_change, item.error_code)
            else:
                buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += compact_array_count(item.responses)
            yield from ReassignableTopicResponse.write_slices(out, item.responses, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
