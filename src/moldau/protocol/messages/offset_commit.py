# Generated from schema/offset_commit.wire by tools/generate_messages.py: do not edit.
"""OffsetCommit: stores the offsets a group has consumed.

Since version
   2  retention time of the offsets
   5  retention is a setting of the broker
   6  leader epoch of the offset
   7  static membership
   8  flexible
   9  member epochs of the consumer protocol
  10  topics by id instead of by name
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import array_count, compact_array_count, read_compact_count, read_count
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field, no_tags
from moldau.protocol.primitives import (
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
from moldau.types import ZERO_UUID, Uuid

_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")
_pack_iq, _unpack_iq = fixed("iq")
_pack_iqi, _unpack_iqi = fixed("iqi")
_pack_q, _unpack_q = fixed("q")
_pack_u, _unpack_u = fixed("16s")


class OffsetCommitRequestPartition(Struct):
    FIELDS = ("partition_index", "committed_offset", "committed_leader_epoch", "committed_metadata")
    __slots__ = FIELDS

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    committed_metadata: str | None

    def __init__(
        self,
        *,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        committed_metadata: str | None = "",
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.committed_metadata = committed_metadata
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetCommitRequestPartition], version: int) -> None:
        buf = out.buffer
        if version >= 8:
            for item in items:
                buf += _pack_iqi(item.partition_index, item.committed_offset, item.committed_leader_epoch)
                buf += nullable_compact_string(item.committed_metadata)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 6:
                buf += _pack_iqi(item.partition_index, item.committed_offset, item.committed_leader_epoch)
            else:
                buf += _pack_iq(item.partition_index, item.committed_offset)
            buf += nullable_string(item.committed_metadata)
            if item.unknown_tags:
                raise no_tags("OffsetCommitRequestPartition", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetCommitRequestPartition], int]:
        items: list[OffsetCommitRequestPartition] = []
        if version >= 8:
            for _ in range(count):
                item = new(OffsetCommitRequestPartition)
                item.partition_index, item.committed_offset, item.committed_leader_epoch = _unpack_iqi(data, pos)
                pos += 16
                item.committed_metadata, pos = read_nullable_compact_string(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(OffsetCommitRequestPartition)
            if version >= 6:
                item.partition_index, item.committed_offset, item.committed_leader_epoch = _unpack_iqi(data, pos)
                pos += 16
            else:
                item.partition_index, item.committed_offset = _unpack_iq(data, pos)
                pos += 12
                item.committed_leader_epoch = -1
            item.committed_metadata, pos = read_nullable_string(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class OffsetCommitRequestTopic(Struct):
    FIELDS = ("name", "topic_id", "partitions")
    __slots__ = FIELDS

    name: str
    topic_id: Uuid
    partitions: list[OffsetCommitRequestPartition]

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: Uuid = ZERO_UUID,
        partitions: list[OffsetCommitRequestPartition] = UNSET,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetCommitRequestTopic], version: int) -> None:
        buf = out.buffer
        if version >= 8:
            for item in items:
                if version <= 9:
                    buf += compact_string(item.name)
                if version >= 10:
                    buf += _pack_u(item.topic_id)
                buf += compact_array_count(item.partitions)
                OffsetCommitRequestPartition.write_all(out, item.partitions, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.name)
            buf += array_count(item.partitions)
            OffsetCommitRequestPartition.write_all(out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("OffsetCommitRequestTopic", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetCommitRequestTopic], int]:
        items: list[OffsetCommitRequestTopic] = []
        if version >= 8:
            for _ in range(count):
                item = new(OffsetCommitRequestTopic)
                if version >= 10:
                    item.name = ""
                else:
                    item.name, pos = read_compact_string(data, pos)
                if version >= 10:
                    (item.topic_id,) = _unpack_u(data, pos)
                    pos += 16
                else:
                    item.topic_id = ZERO_UUID
                size, pos = read_compact_count(data, pos, 18)
                if size < 0:
                    raise null_sent("partitions")
                item.partitions, pos = OffsetCommitRequestPartition.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(OffsetCommitRequestTopic)
            item.name, pos = read_string(data, pos)
            item.topic_id = ZERO_UUID
            size, pos = read_count(data, pos, 14)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = OffsetCommitRequestPartition.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[OffsetCommitRequestTopic], int]]:
        check_count(count)
        items: list[OffsetCommitRequestTopic] = []
        if version >= 8:
            for _ in range(count):
                item = new(OffsetCommitRequestTopic)
                if version >= 10:
                    item.name = ""
                else:
                    item.name, pos = read_compact_string(data, pos)
                if version >= 10:
                    (item.topic_id,) = _unpack_u(data, pos)
                    pos += 16
                else:
                    item.topic_id = ZERO_UUID
                size, pos = read_compact_count(data, pos, 18)
                if size < 0:
                    raise null_sent("partitions")
                item.partitions, pos = yield from struct_slices(
                    OffsetCommitRequestPartition.read_all,
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
            item = new(OffsetCommitRequestTopic)
            item.name, pos = read_string(data, pos)
            item.topic_id = ZERO_UUID
            size, pos = read_count(data, pos, 14)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = yield from struct_slices(
                OffsetCommitRequestPartition.read_all,
                data,
                pos,
                version,
                size,
            )
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class OffsetCommitRequest(Message):
    FIELDS = (
        "group_id",
        "generation_id_or_member_epoch",
        "member_id",
        "group_instance_id",
        "retention_time_ms",
        "topics",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 10
    FLEXIBLE_SINCE: ClassVar[int | None] = 8

    group_id: str
    generation_id_or_member_epoch: int
    member_id: str
    group_instance_id: str | None
    retention_time_ms: int
    topics: list[OffsetCommitRequestTopic]

    def __init__(
        self,
        *,
        group_id: str = "",
        generation_id_or_member_epoch: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        retention_time_ms: int = -1,
        topics: list[OffsetCommitRequestTopic] = UNSET,
    ) -> None:
        self.group_id = group_id
        self.generation_id_or_member_epoch = generation_id_or_member_epoch
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.retention_time_ms = retention_time_ms
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetCommitRequest], version: int) -> None:
        buf = out.buffer
        if version >= 8:
            for item in items:
                buf += compact_string(item.group_id)
                buf += _pack_i(item.generation_id_or_member_epoch)
                buf += compact_string(item.member_id)
                buf += nullable_compact_string(item.group_instance_id)
                buf += compact_array_count(item.topics)
                OffsetCommitRequestTopic.write_all(out, item.topics, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.group_id)
            buf += _pack_i(item.generation_id_or_member_epoch)
            buf += string(item.member_id)
            if version >= 7:
                buf += nullable_string(item.group_instance_id)
            else:
                if item.group_instance_id is not None:
                    raise no_such_field("OffsetCommitRequest", "group_instance_id", version)
            if version <= 4:
                buf += _pack_q(item.retention_time_ms)
            buf += array_count(item.topics)
            OffsetCommitRequestTopic.write_all(out, item.topics, version)
            if item.unknown_tags:
                raise no_tags("OffsetCommitRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetCommitRequest], int]:
        items: list[OffsetCommitRequest] = []
        if version >= 8:
            for _ in range(count):
                item = new(OffsetCommitRequest)
                item.group_id, pos = read_compact_string(data, pos)
                (item.generation_id_or_member_epoch,) = _unpack_i(data, pos)
                pos += 4
                item.member_id, pos = read_compact_string(data, pos)
                item.group_instance_id, pos = read_nullable_compact_string(data, pos)
                item.retention_time_ms = -1
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = OffsetCommitRequestTopic.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(OffsetCommitRequest)
            item.group_id, pos = read_string(data, pos)
            (item.generation_id_or_member_epoch,) = _unpack_i(data, pos)
            pos += 4
            item.member_id, pos = read_string(data, pos)
            if version >= 7:
                item.group_instance_id, pos = read_nullable_string(data, pos)
            else:
                item.group_instance_id = None
            if version >= 5:
                item.retention_time_ms = -1
            else:
                (item.retention_time_ms,) = _unpack_q(data, pos)
                pos += 8
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = OffsetCommitRequestTopic.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[OffsetCommitRequest], int]]:
        check_count(count)
        items: list[OffsetCommitRequest] = []
        if version >= 8:
            for _ in range(count):
                item = new(OffsetCommitRequest)
                item.group_id, pos = read_compact_string(data, pos)
                (item.generation_id_or_member_epoch,) = _unpack_i(data, pos)
                pos += 4
                item.member_id, pos = read_compact_string(data, pos)
                item.group_instance_id, pos = read_nullable_compact_string(data, pos)
                item.retention_time_ms = -1
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = yield from OffsetCommitRequestTopic.read_slices(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(OffsetCommitRequest)
            item.group_id, pos = read_string(data, pos)
            (item.generation_id_or_member_epoch,) = _unpack_i(data, pos)
            pos += 4
            item.member_id, pos = read_string(data, pos)
            if version >= 7:
                item.group_instance_id, pos = read_nullable_string(data, pos)
            else:
                item.group_instance_id = None
            if version >= 5:
                item.retention_time_ms = -1
            else:
                (item.retention_time_ms,) = _unpack_q(data, pos)
                pos += 8
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from OffsetCommitRequestTopic.read_slices(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class OffsetCommitResponsePartition(Struct):
    FIELDS = ("partition_index", "error_code")
    __slots__ = FIELDS

    partition_index: int
    error_code: int

    def __init__(self, *, partition_index: int = 0, error_code: int = 0) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetCommitResponsePartition], version: int) -> None:
        buf = out.buffer
        if version >= 8:
            for item in items:
                buf += _pack_ih(item.partition_index, item.error_code)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_ih(item.partition_index, item.error_code)
            if item.unknown_tags:
                raise no_tags("OffsetCommitResponsePartition", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetCommitResponsePartition], int]:
        items: list[OffsetCommitResponsePartition] = []
        if version >= 8:
            for _ in range(count):
                item = new(OffsetCommitResponsePartition)
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
            item = new(OffsetCommitResponsePartition)
            item.partition_index, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.unknown_tags = None
            items.append(item)
        return items, pos


class OffsetCommitResponseTopic(Struct):
    FIELDS = ("name", "topic_id", "partitions")
    __slots__ = FIELDS

    name: str
    topic_id: Uuid
    partitions: list[OffsetCommitResponsePartition]

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: Uuid = ZERO_UUID,
        partitions: list[OffsetCommitResponsePartition] = UNSET,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetCommitResponseTopic], version: int) -> None:
        buf = out.buffer
        if version >= 8:
            for item in items:
                if version <= 9:
                    buf += compact_string(item.name)
                if version >= 10:
                    buf += _pack_u(item.topic_id)
                buf += compact_array_count(item.partitions)
                OffsetCommitResponsePartition.write_all(out, item.partitions, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.name)
            buf += array_count(item.partitions)
            OffsetCommitResponsePartition.write_all(out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("OffsetCommitResponseTopic", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetCommitResponseTopic], int]:
        items: list[OffsetCommitResponseTopic] = []
        if version >= 8:
            for _ in range(count):
                item = new(OffsetCommitResponseTopic)
                if version >= 10:
                    item.name = ""
                else:
                    item.name, pos = read_compact_string(data, pos)
                if version >= 10:
                    (item.topic_id,) = _unpack_u(data, pos)
                    pos += 16
                else:
                    item.topic_id = ZERO_UUID
                size, pos = read_compact_count(data, pos, 7)
                if size < 0:
                    raise null_sent("partitions")
                item.partitions, pos = OffsetCommitResponsePartition.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(OffsetCommitResponseTopic)
            item.name, pos = read_string(data, pos)
            item.topic_id = ZERO_UUID
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = OffsetCommitResponsePartition.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[OffsetCommitResponseTopic], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 8:
            for item in items:
                if version <= 9:
                    buf += compact_string(item.name)
                if version >= 10:
                    buf += _pack_u(item.topic_id)
                buf += compact_array_count(item.partitions)
                yield from written_slices(OffsetCommitResponsePartition.write_all, out, item.partitions, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += string(item.name)
            buf += array_count(item.partitions)
            yield from written_slices(OffsetCommitResponsePartition.write_all, out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("OffsetCommitResponseTopic", version)
            yield 1


class OffsetCommitResponse(Message):
    FIELDS = ("throttle_time_ms", "topics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 10
    FLEXIBLE_SINCE: ClassVar[int | None] = 8

    throttle_time_ms: int
    topics: list[OffsetCommitResponseTopic]

    def __init__(self, *, throttle_time_ms: int = 0, topics: list[OffsetCommitResponseTopic] = UNSET) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetCommitResponse], version: int) -> None:
        buf = out.buffer
        if version >= 8:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.topics)
                OffsetCommitResponseTopic.write_all(out, item.topics, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 3:
                buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.topics)
            OffsetCommitResponseTopic.write_all(out, item.topics, version)
            if item.unknown_tags:
                raise no_tags("OffsetCommitResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetCommitResponse], int]:
        items: list[OffsetCommitResponse] = []
        if version >= 8:
            for _ in range(count):
                item = new(OffsetCommitResponse)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = OffsetCommitResponseTopic.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(OffsetCommitResponse)
            if version >= 3:
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
            else:
                item.throttle_time_ms = 0
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = OffsetCommitResponseTopic.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[OffsetCommitResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 8:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.topics)
                yield from OffsetCommitResponseTopic.write_slices(out, item.topics, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            if version >= 3:
                buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.topics)
            yield from OffsetCommitResponseTopic.write_slices(out, item.topics, version)
            if item.unknown_tags:
                raise no_tags("OffsetCommitResponse", version)
            yield 1
