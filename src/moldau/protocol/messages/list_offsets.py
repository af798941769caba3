# Generated from schema/list_offsets.wire by tools/generate_messages.py: do not edit.
"""ListOffsets: finds the offset for a timestamp, or for one of the special timestamps.

Since version
   1  one offset per partition, with its timestamp
   2  isolation level
   4  leader epochs
   6  flexible
   7  -3: the record with the largest timestamp
   8  -4: the earliest offset that is still local
   9  -5: the last tiered offset
  10  timeout for answers that need remote storage
  11  -6: the earliest offset that waits for upload
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import array_count, compact_array_count, read_compact_count, read_count
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field, no_tags
from moldau.protocol.primitives import compact_string, fixed, null_sent, read_compact_string, read_string, string
from moldau.protocol.slices import Slices, check_count, struct_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_i, _unpack_i = fixed("i")
_pack_ib, _unpack_ib = fixed("ib")
_pack_ihqq, _unpack_ihqq = fixed("ihqq")
_pack_ihqqi, _unpack_ihqqi = fixed("ihqqi")
_pack_iiq, _unpack_iiq = fixed("iiq")
_pack_iq, _unpack_iq = fixed("iq")


class ListOffsetsPartition(Struct):
    FIELDS = ("partition_index", "current_leader_epoch", "timestamp")
    __slots__ = FIELDS

    partition_index: int
    current_leader_epoch: int
    timestamp: int

    def __init__(self, *, partition_index: int = 0, current_leader_epoch: int = -1, timestamp: int = 0) -> None:
        self.partition_index = partition_index
        self.current_leader_epoch = current_leader_epoch
        self.timestamp = timestamp
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ListOffsetsPartition], version: int) -> None:
        buf = out.buffer
        if version >= 6:
            for item in items:
                buf += _pack_iiq(item.partition_index, item.current_leader_epoch, item.timestamp)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 4:
                buf += _pack_iiq(item.partition_index, item.current_leader_epoch, item.timestamp)
            else:
                buf += _pack_iq(item.partition_index, item.timestamp)
            if item.unknown_tags:
                raise no_tags("ListOffsetsPartition", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ListOffsetsPartition], int]:
        items: list[ListOffsetsPartition] = []
        if version >= 6:
            for _ in range(count):
                item = new(ListOffsetsPartition)
                item.partition_index, item.current_leader_epoch, item.timestamp = _unpack_iiq(data, pos)
                pos += 16
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(ListOffsetsPartition)
            if version >= 4:
                item.partition_index, item.current_leader_epoch, item.timestamp = _unpack_iiq(data, pos)
                pos += 16
            else:
                item.partition_index, item.timestamp = _unpack_iq(data, pos)
                pos += 12
                item.current_leader_epoch = -1
            item.unknown_tags = None
            items.append(item)
        return items, pos


class ListOffsetsTopic(Struct):
    FIELDS = ("name", "partitions")
    __slots__ = FIELDS

    name: str
    partitions: list[ListOffsetsPartition]

    def __init__(self, *, name: str = "", partitions: list[ListOffsetsPartition] = UNSET) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ListOffsetsTopic], version: int) -> None:
        buf = out.buffer
        if version >= 6:
            for item in items:
                buf += compact_string(item.name)
                buf += compact_array_count(item.partitions)
                ListOffsetsPartition.write_all(out, item.partitions, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.name)
            buf += array_count(item.partitions)
            ListOffsetsPartition.write_all(out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("ListOffsetsTopic", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ListOffsetsTopic], int]:
        items: list[ListOffsetsTopic] = []
        if version >= 6:
            for _ in range(count):
                item = new(ListOffsetsTopic)
                item.name, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 17)
                if size < 0:
                    raise null_sent("partitions")
                item.partitions, pos = ListOffsetsPartition.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(ListOffsetsTopic)
            item.name, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 12)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = ListOffsetsPartition.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[ListOffsetsTopic], int]]:
        check_count(count)
        items: list[ListOffsetsTopic] = []
        if version >= 6:
            for _ in range(count):
                item = new(ListOffsetsTopic)
                item.name, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 17)
                if size < 0:
                    raise null_sent("partitions")
                item.partitions, pos = yield from struct_slices(ListOffsetsPartition.read_all, data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(ListOffsetsTopic)
            item.name, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 12)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = yield from struct_slices(ListOffsetsPartition.read_all, data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class ListOffsetsRequest(Message):
    FIELDS = ("replica_id", "isolation_level", "topics", "timeout_ms")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 11
    FLEXIBLE_SINCE: ClassVar[int | None] = 6

    replica_id: int
    isolation_level: int
    topics: list[ListOffsetsTopic]
    timeout_ms: int

    def __init__(
        self,
        *,
        replica_id: int = 0,
        isolation_level: int = 0,
        topics: list[ListOffsetsTopic] = UNSET,
        timeout_ms: int = 0,
    ) -> None:
        self.replica_id = replica_id
        self.isolation_level = isolation_level
        self.topics = [] if topics is UNSET else topics
        self.timeout_ms = timeout_ms
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ListOffsetsRequest], version: int) -> None:
        buf = out.buffer
        if version >= 6:
            for item in items:
                buf += _pack_ib(item.replica_id, item.isolation_level)
                buf += compact_array_count(item.topics)
                ListOffsetsTopic.write_all(out, item.topics, version)
                if version >= 10:
                    buf += _pack_i(item.timeout_ms)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 2:
                buf += _pack_ib(item.replica_id, item.isolation_level)
            else:
                if item.isolation_level != 0:
                    raise no_such_field("ListOffsetsRequest", "isolation_level", version)
                buf += _pack_i(item.replica_id)
            buf += array_count(item.topics)
            ListOffsetsTopic.write_all(out, item.topics, version)
            if item.unknown_tags:
                raise no_tags("ListOffsetsRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ListOffsetsRequest], int]:
        items: list[ListOffsetsRequest] = []
        if version >= 6:
            for _ in range(count):
                item = new(ListOffsetsRequest)
                item.replica_id, item.isolation_level = _unpack_ib(data, pos)
                pos += 5
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = ListOffsetsTopic.read_all(data, pos, version, size)
                if version >= 10:
                    (item.timeout_ms,) = _unpack_i(data, pos)
                    pos += 4
                else:
                    item.timeout_ms = 0
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(ListOffsetsRequest)
            if version >= 2:
                item.replica_id, item.isolation_level = _unpack_ib(data, pos)
                pos += 5
            else:
                (item.replica_id,) = _unpack_i(data, pos)
                pos += 4
                item.isolation_level = 0
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = ListOffsetsTopic.read_all(data, pos, version, size)
            item.timeout_ms = 0
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[ListOffsetsRequest], int]]:
        check_count(count)
        items: list[ListOffsetsRequest] = []
        if version >= 6:
            for _ in range(count):
                item = new(ListOffsetsRequest)
                item.replica_id, item.isolation_level = _unpack_ib(data, pos)
                pos += 5
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = yield from ListOffsetsTopic.read_slices(data, pos, version, size)
                if version >= 10:
                    (item.timeout_ms,) = _unpack_i(data, pos)
                    pos += 4
                else:
                    item.timeout_ms = 0
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(ListOffsetsRequest)
            if version >= 2:
                item.replica_id, item.isolation_level = _unpack_ib(data, pos)
                pos += 5
            else:
                (item.replica_id,) = _unpack_i(data, pos)
                pos += 4
                item.isolation_level = 0
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from ListOffsetsTopic.read_slices(data, pos, version, size)
            item.timeout_ms = 0
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class ListOffsetsPartitionResponse(Struct):
    FIELDS = ("partition_index", "error_code", "timestamp", "offset", "leader_epoch")
    __slots__ = FIELDS

    partition_index: int
    error_code: int
    timestamp: int
    offset: int
    leader_epoch: int

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        timestamp: int = -1,
        offset: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.timestamp = timestamp
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ListOffsetsPartitionResponse], version: int) -> None:
        buf = out.buffer
        if version >= 6:
            for item in items:
                buf += _pack_ihqqi(
                    item.partition_index,
                    item.error_code,
                    item.timestamp,
                    item.offset,
                    item.leader_epoch,
                )
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 4:
                buf += _pack_ihqqi(
                    item.partition_index,
                    item.error_code,
                    item.timestamp,
                    item.offset,
                    item.leader_epoch,
                )
            else:
                if item.leader_epoch != -1:
                    raise no_such_field("ListOffsetsPartitionResponse", "leader_epoch", version)
                buf += _pack_ihqq(item.partition_index, item.error_code, item.timestamp, item.offset)
            if item.unknown_tags:
                raise no_tags("ListOffsetsPartitionResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ListOffsetsPartitionResponse], int]:
        items: list[ListOffsetsPartitionResponse] = []
        if version >= 6:
            for _ in range(count):
                item = new(ListOffsetsPartitionResponse)
                (
                    item.partition_index,
                    item.error_code,
                    item.timestamp,
                    item.offset,
                    item.leader_epoch,
                ) = _unpack_ihqqi(data, pos)
                pos += 26
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(ListOffsetsPartitionResponse)
            if version >= 4:
                (
                    item.partition_index,
                    item.error_code,
                    item.timestamp,
                    item.offset,
                    item.leader_epoch,
                ) = _unpack_ihqqi(data, pos)
                pos += 26
            else:
                item.partition_index, item.error_code, item.timestamp, item.offset = _unpack_ihqq(data, pos)
                pos += 22
                item.leader_epoch = -1
            item.unknown_tags = None
            items.append(item)
        return items, pos


class ListOffsetsTopicResponse(Struct):
    FIELDS = ("name", "partitions")
    __slots__ = FIELDS

    name: str
    partitions: list[ListOffsetsPartitionResponse]

    def __init__(self, *, name: str = "", partitions: list[ListOffsetsPartitionResponse] = UNSET) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ListOffsetsTopicResponse], version: int) -> None:
        buf = out.buffer
        if version >= 6:
            for item in items:
                buf += compact_string(item.name)
                buf += compact_array_count(item.partitions)
                ListOffsetsPartitionResponse.write_all(out, item.partitions, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.name)
            buf += array_count(item.partitions)
            ListOffsetsPartitionResponse.write_all(out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("ListOffsetsTopicResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ListOffsetsTopicResponse], int]:
        items: list[ListOffsetsTopicResponse] = []
        if version >= 6:
            for _ in range(count):
                item = new(ListOffsetsTopicResponse)
                item.name, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 27)
                if size < 0:
                    raise null_sent("partitions")
                item.partitions, pos = ListOffsetsPartitionResponse.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(ListOffsetsTopicResponse)
            item.name, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 22)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = ListOffsetsPartitionResponse.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ListOffsetsTopicResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 6:
            for item in items:
                buf += compact_string(item.name)
                buf += compact_array_count(item.partitions)
                yield from written_slices(ListOffsetsPartitionResponse.write_all, out, item.partitions, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += string(item.name)
            buf += array_count(item.partitions)
            yield from written_slices(ListOffsetsPartitionResponse.write_all, out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("ListOffsetsTopicResponse", version)
            yield 1


class ListOffsetsResponse(Message):
    FIELDS = ("throttle_time_ms", "topics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 11
    FLEXIBLE_SINCE: ClassVar[int | None] = 6

    throttle_time_ms: int
    topics: list[ListOffsetsTopicResponse]

    def __init__(self, *, throttle_time_ms: int = 0, topics: list[ListOffsetsTopicResponse] = UNSET) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ListOffsetsResponse], version: int) -> None:
        buf = out.buffer
        if version >= 6:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.topics)
                ListOffsetsTopicResponse.write_all(out, item.topics, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 2:
                buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.topics)
            ListOffsetsTopicResponse.write_all(out, item.topics, version)
            if item.unknown_tags:
                raise no_tags("ListOffsetsResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ListOffsetsResponse], int]:
        items: list[ListOffsetsResponse] = []
        if version >= 6:
            for _ in range(count):
                item = new(ListOffsetsResponse)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = ListOffsetsTopicResponse.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(ListOffsetsResponse)
            if version >= 2:
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
            else:
                item.throttle_time_ms = 0
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = ListOffsetsTopicResponse.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ListOffsetsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 6:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.topics)
                yield from ListOffsetsTopicResponse.write_slices(out, item.topics, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            if version >= 2:
                buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.topics)
            yield from ListOffsetsTopicResponse.write_slices(out, item.topics, version)
            if item.unknown_tags:
                raise no_tags("ListOffsetsResponse", version)
            yield 1
