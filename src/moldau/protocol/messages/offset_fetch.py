# Generated from schema/offset_fetch.wire by tools/generate_messages.py: do not edit.
"""OffsetFetch: the offsets a group has stored.

Since version
   2  null asks for all topics
   5  leader epochs
   6  flexible
   7  waits for pending transactions on request
   8  several groups in one request
   9  member epochs of the consumer protocol
  10  topics by id instead of by name
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
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field, no_tags, null_refused
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
from moldau.protocol.slices import Slices, check_count, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_h, _unpack_h = fixed("h")
_pack_i, _unpack_i = fixed("i")
_pack_iq, _unpack_iq = fixed("iq")
_pack_iqi, _unpack_iqi = fixed("iqi")
_pack_o, _unpack_o = fixed("?")
_pack_u, _unpack_u = fixed("16s")


class OffsetFetchRequestTopic(Struct):
    FIELDS = ("name", "partition_indexes")
    __slots__ = FIELDS

    name: str
    partition_indexes: list[int]

    def __init__(self, *, name: str = "", partition_indexes: list[int] = UNSET) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is UNSET else partition_indexes
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetFetchRequestTopic], version: int) -> None:
        buf = out.buffer
        if version >= 6:
            for item in items:
                buf += compact_string(item.name)
                buf += compact_int32s(item.partition_indexes)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.name)
            buf += int32s(item.partition_indexes)
            if item.unknown_tags:
                raise no_tags("OffsetFetchRequestTopic", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetFetchRequestTopic], int]:
        items: list[OffsetFetchRequestTopic] = []
        if version >= 6:
            for _ in range(count):
                item = new(OffsetFetchRequestTopic)
                item.name, pos = read_compact_string(data, pos)
                item.partition_indexes, pos = read_compact_int32s(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(OffsetFetchRequestTopic)
            item.name, pos = read_string(data, pos)
            item.partition_indexes, pos = read_int32s(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[OffsetFetchRequestTopic], int]]:
        check_count(count)
        items: list[OffsetFetchRequestTopic] = []
        if version >= 6:
            for _ in range(count):
                item = new(OffsetFetchRequestTopic)
                item.name, pos = read_compact_string(data, pos)
                item.partition_indexes, pos = read_compact_int32s(data, pos)
                yield len(item.partition_indexes)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(OffsetFetchRequestTopic)
            item.name, pos = read_string(data, pos)
            item.partition_indexes, pos = read_int32s(data, pos)
            yield len(item.partition_indexes)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class OffsetFetchRequestTopics(Struct):
    FIELDS = ("name", "topic_id", "partition_indexes")
    __slots__ = FIELDS

    name: str
    topic_id: Uuid
    partition_indexes: list[int]

    def __init__(self, *, name: str = "", topic_id: Uuid = ZERO_UUID, partition_indexes: list[int] = UNSET) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_indexes = [] if partition_indexes is UNSET else partition_indexes
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetFetchRequestTopics], version: int) -> None:
        buf = out.buffer
        for item in items:
            if version <= 9:
                buf += compact_string(item.name)
            if version >= 10:
                buf += _pack_u(item.topic_id)
            buf += compact_int32s(item.partition_indexes)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetFetchRequestTopics], int]:
        items: list[OffsetFetchRequestTopics] = []
        for _ in range(count):
            item = new(OffsetFetchRequestTopics)
            if version >= 10:
                item.name = ""
            else:
                item.name, pos = read_compact_string(data, pos)
            if version >= 10:
                (item.topic_id,) = _unpack_u(data, pos)
                pos += 16
            else:
                item.topic_id = ZERO_UUID
            item.partition_indexes, pos = read_compact_int32s(data, pos)
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
    ) -> Slices[tuple[list[OffsetFetchRequestTopics], int]]:
        check_count(count)
        items: list[OffsetFetchRequestTopics] = []
        for _ in range(count):
            item = new(OffsetFetchRequestTopics)
            if version >= 10:
                item.name = ""
            else:
                item.name, pos = read_compact_string(data, pos)
            if version >= 10:
                (item.topic_id,) = _unpack_u(data, pos)
                pos += 16
            else:
                item.topic_id = ZERO_UUID
            item.partition_indexes, pos = read_compact_int32s(data, pos)
            yield len(item.partition_indexes)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class OffsetFetchRequestGroup(Struct):
    FIELDS = ("group_id", "member_id", "member_epoch", "topics")
    __slots__ = FIELDS

    group_id: str
    member_id: str | None
    member_epoch: int
    topics: list[OffsetFetchRequestTopics] | None

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str | None = None,
        member_epoch: int = -1,
        topics: list[OffsetFetchRequestTopics] | None = UNSET,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetFetchRequestGroup], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.group_id)
            if version >= 9:
                buf += nullable_compact_string(item.member_id)
                buf += _pack_i(item.member_epoch)
            topics = item.topics
            if topics is None:
                buf += COMPACT_NULL
            else:
                buf += compact_array_count(topics)
                OffsetFetchRequestTopics.write_all(out, topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetFetchRequestGroup], int]:
        items: list[OffsetFetchRequestGroup] = []
        for _ in range(count):
            item = new(OffsetFetchRequestGroup)
            item.group_id, pos = read_compact_string(data, pos)
            if version >= 9:
                item.member_id, pos = read_nullable_compact_string(data, pos)
                (item.member_epoch,) = _unpack_i(data, pos)
                pos += 4
            else:
                item.member_id = None
                item.member_epoch = -1
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                item.topics = None
            else:
                item.topics, pos = OffsetFetchRequestTopics.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[OffsetFetchRequestGroup], int]]:
        check_count(count)
        items: list[OffsetFetchRequestGroup] = []
        for _ in range(count):
            item = new(OffsetFetchRequestGroup)
            item.group_id, pos = read_compact_string(data, pos)
            if version >= 9:
                item.member_id, pos = read_nullable_compact_string(data, pos)
                (item.member_epoch,) = _unpack_i(data, pos)
                pos += 4
            else:
                item.member_id = None
                item.member_epoch = -1
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                item.topics = None
            else:
                item.topics, pos = yield from OffsetFetchRequestTopics.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class OffsetFetchRequest(Message):
    FIELDS = ("group_id", "topics", "groups", "require_stable")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 9
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 10
    FLEXIBLE_SINCE: ClassVar[int | None] = 6

    group_id: str
    topics: list[OffsetFetchRequestTopic] | None
    groups: list[OffsetFetchRequestGroup]
    require_stable: bool

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: list[OffsetFetchRequestTopic] | None = UNSET,
        groups: list[OffsetFetchRequestGroup] = UNSET,
        require_stable: bool = False,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is UNSET else topics
        self.groups = [] if groups is UNSET else groups
        self.require_stable = require_stable
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetFetchRequest], version: int) -> None:
        buf = out.buffer
        if version >= 6:
            for item in items:
                if version >= 8:
                    if item.group_id != "":
                        raise no_such_field("OffsetFetchRequest", "group_id", version)
                    if item.topics != []:
                        raise no_such_field("OffsetFetchRequest", "topics", version)
                else:
                    buf += compact_string(item.group_id)
                    topics = item.topics
                    if topics is None:
                        buf += COMPACT_NULL
                    else:
                        buf += compact_array_count(topics)
                        OffsetFetchRequestTopic.write_all(out, topics, version)
                if version >= 8:
                    buf += compact_array_count(item.groups)
                    OffsetFetchRequestGroup.write_all(out, item.groups, version)
                else:
                    if item.groups:
                        raise no_such_field("OffsetFetchRequest", "groups", version)
                if version >= 7:
                    buf += _pack_o(item.require_stable)
                else:
                    if item.require_stable:
                        raise no_such_field("OffsetFetchRequest", "require_stable", version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.group_id)
            topics = item.topics
            if topics is None:
                if version < 2:
                    raise null_refused("OffsetFetchRequest", "topics", version)
                buf += NULL
            else:
                buf += array_count(topics)
                OffsetFetchRequestTopic.write_all(out, topics, version)
            if item.groups:
                raise no_such_field("OffsetFetchRequest", "groups", version)
            if item.require_stable:
                raise no_such_field("OffsetFetchRequest", "require_stable", version)
            if item.unknown_tags:
                raise no_tags("OffsetFetchRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetFetchRequest], int]:
        items: list[OffsetFetchRequest] = []
        if version >= 6:
            for _ in range(count):
                item = new(OffsetFetchRequest)
                if version >= 8:
                    item.group_id = ""
                    item.topics = []
                else:
                    item.group_id, pos = read_compact_string(data, pos)
                    size, pos = read_compact_count(data, pos, 3)
                    if size < 0:
                        item.topics = None
                    else:
                        item.topics, pos = OffsetFetchRequestTopic.read_all(data, pos, version, size)
                if version >= 8:
                    size, pos = read_compact_count(data, pos, 3)
                    if size < 0:
                        raise null_sent("groups")
                    item.groups, pos = OffsetFetchRequestGroup.read_all(data, pos, version, size)
                else:
                    item.groups = []
                if version >= 7:
                    (item.require_stable,) = _unpack_o(data, pos)
                    pos += 1
                else:
                    item.require_stable = False
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(OffsetFetchRequest)
            item.group_id, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 6)
            if size < 0:
                if version < 2:
                    raise null_sent("topics")
                item.topics = None
            else:
                item.topics, pos = OffsetFetchRequestTopic.read_all(data, pos, version, size)
            item.groups = []
            item.require_stable = False
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[OffsetFetchRequest], int]]:
        check_count(count)
        items: list[OffsetFetchRequest] = []
        if version >= 6:
            for _ in range(count):
                item = new(OffsetFetchRequest)
                if version >= 8:
                    item.group_id = ""
                    item.topics = []
                else:
                    item.group_id, pos = read_compact_string(data, pos)
                    size, pos = read_compact_count(data, pos, 3)
                    if size < 0:
                        item.topics = None
                    else:
                        item.topics, pos = yield from OffsetFetchRequestTopic.read_slices(data, pos, version, size)
                if version >= 8:
                    size, pos = read_compact_count(data, pos, 3)
                    if size < 0:
                        raise null_sent("groups")
                    item.groups, pos = yield from OffsetFetchRequestGroup.read_slices(data, pos, version, size)
                else:
                    item.groups = []
                if version >= 7:
                    (item.require_stable,) = _unpack_o(data, pos)
                    pos += 1
                else:
                    item.require_stable = False
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(OffsetFetchRequest)
            item.group_id, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 6)
            if size < 0:
                if version < 2:
                    raise null_sent("topics")
                item.topics = None
            else:
                item.topics, pos = yield from OffsetFetchRequestTopic.read_slices(data, pos, version, size)
            item.groups = []
            item.require_stable = False
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class OffsetFetchResponsePartition(Struct):
    FIELDS = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code")
    __slots__ = FIELDS

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    metadata: str | None
    error_code: int

    def __init__(
        self,
        *,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetFetchResponsePartition], version: int) -> None:
        buf = out.buffer
        if version >= 6:
            for item in items:
                buf += _pack_iqi(item.partition_index, item.committed_offset, item.committed_leader_epoch)
                buf += nullable_compact_string(item.metadata)
                buf += _pack_h(item.error_code)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 5:
                buf += _pack_iqi(item.partition_index, item.committed_offset, item.committed_leader_epoch)
            else:
                buf += _pack_iq(item.partition_index, item.committed_offset)
            buf += nullable_string(item.metadata)
            buf += _pack_h(item.error_code)
            if item.unknown_tags:
                raise no_tags("OffsetFetchResponsePartition", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetFetchResponsePartition], int]:
        items: list[OffsetFetchResponsePartition] = []
        if version >= 6:
            for _ in range(count):
                item = new(OffsetFetchResponsePartition)
                item.partition_index, item.committed_offset, item.committed_leader_epoch = _unpack_iqi(data, pos)
                pos += 16
                item.metadata, pos = read_nullable_compact_string(data, pos)
                (item.error_code,) = _unpack_h(data, pos)
                pos += 2
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(OffsetFetchResponsePartition)
            if version >= 5:
                item.partition_index, item.committed_offset, item.committed_leader_epoch = _unpack_iqi(data, pos)
                pos += 16
            else:
                item.partition_index, item.committed_offset = _unpack_iq(data, pos)
                pos += 12
                item.committed_leader_epoch = -1
            item.metadata, pos = read_nullable_string(data, pos)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.unknown_tags = None
            items.append(item)
        return items, pos


class OffsetFetchResponseTopic(Struct):
    FIELDS = ("name", "partitions")
    __slots__ = FIELDS

    name: str
    partitions: list[OffsetFetchResponsePartition]

    def __init__(self, *, name: str = "", partitions: list[OffsetFetchResponsePartition] = UNSET) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetFetchResponseTopic], version: int) -> None:
        buf = out.buffer
        if version >= 6:
            for item in items:
                buf += compact_string(item.name)
                buf += compact_array_count(item.partitions)
                OffsetFetchResponsePartition.write_all(out, item.partitions, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.name)
            buf += array_count(item.partitions)
            OffsetFetchResponsePartition.write_all(out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("OffsetFetchResponseTopic", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetFetchResponseTopic], int]:
        items: list[OffsetFetchResponseTopic] = []
        if version >= 6:
            for _ in range(count):
                item = new(OffsetFetchResponseTopic)
                item.name, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 20)
                if size < 0:
                    raise null_sent("partitions")
                item.partitions, pos = OffsetFetchResponsePartition.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(OffsetFetchResponseTopic)
            item.name, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 16)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = OffsetFetchResponsePartition.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[OffsetFetchResponseTopic], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 6:
            for item in items:
                buf += compact_string(item.name)
                buf += compact_array_count(item.partitions)
                yield from written_slices(OffsetFetchResponsePartition.write_all, out, item.partitions, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += string(item.name)
            buf += array_count(item.partitions)
            yield from written_slices(OffsetFetchResponsePartition.write_all, out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("OffsetFetchResponseTopic", version)
            yield 1


class OffsetFetchResponsePartitions(Struct):
    FIELDS = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code")
    __slots__ = FIELDS

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    metadata: str | None
    error_code: int

    def __init__(
        self,
        *,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetFetchResponsePartitions], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_iqi(item.partition_index, item.committed_offset, item.committed_leader_epoch)
            buf += nullable_compact_string(item.metadata)
            buf += _pack_h(item.error_code)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetFetchResponsePartitions], int]:
        items: list[OffsetFetchResponsePartitions] = []
        for _ in range(count):
            item = new(OffsetFetchResponsePartitions)
            item.partition_index, item.committed_offset, item.committed_leader_epoch = _unpack_iqi(data, pos)
            pos += 16
            item.metadata, pos = read_nullable_compact_string(data, pos)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class OffsetFetchResponseTopics(Struct):
    FIELDS = ("name", "topic_id", "partitions")
    __slots__ = FIELDS

    name: str
    topic_id: Uuid
    partitions: list[OffsetFetchResponsePartitions]

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: Uuid = ZERO_UUID,
        partitions: list[OffsetFetchResponsePartitions] = UNSET,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetFetchResponseTopics], version: int) -> None:
        buf = out.buffer
        for item in items:
            if version <= 9:
                buf += compact_string(item.name)
            if version >= 10:
                buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            OffsetFetchResponsePartitions.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetFetchResponseTopics], int]:
        items: list[OffsetFetchResponseTopics] = []
        for _ in range(count):
            item = new(OffsetFetchResponseTopics)
            if version >= 10:
                item.name = ""
            else:
                item.name, pos = read_compact_string(data, pos)
            if version >= 10:
                (item.topic_id,) = _unpack_u(data, pos)
                pos += 16
            else:
                item.topic_id = ZERO_UUID
            size, pos = read_compact_count(data, pos, 20)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = OffsetFetchResponsePartitions.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[OffsetFetchResponseTopics], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            if version <= 9:
                buf += compact_string(item.name)
            if version >= 10:
                buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            yield from written_slices(OffsetFetchResponsePartitions.write_all, out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class OffsetFetchResponseGroup(Struct):
    FIELDS = ("group_id", "topics", "error_code")
    __slots__ = FIELDS

    group_id: str
    topics: list[OffsetFetchResponseTopics]
    error_code: int

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: list[OffsetFetchResponseTopics] = UNSET,
        error_code: int = 0,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is UNSET else topics
        self.error_code = error_code
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetFetchResponseGroup], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.group_id)
            buf += compact_array_count(item.topics)
            OffsetFetchResponseTopics.write_all(out, item.topics, version)
            buf += _pack_h(item.error_code)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetFetchResponseGroup], int]:
        items: list[OffsetFetchResponseGroup] = []
        for _ in range(count):
            item = new(OffsetFetchResponseGroup)
            item.group_id, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = OffsetFetchResponseTopics.read_all(data, pos, version, size)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[OffsetFetchResponseGroup], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.group_id)
            buf += compact_array_count(item.topics)
            yield from OffsetFetchResponseTopics.write_slices(out, item.topics, version)
            buf += _pack_h(item.error_code)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class OffsetFetchResponse(Message):
    FIELDS = ("throttle_time_ms", "topics", "error_code", "groups")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 9
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 10
    FLEXIBLE_SINCE: ClassVar[int | None] = 6

    throttle_time_ms: int
    topics: list[OffsetFetchResponseTopic]
    error_code: int
    groups: list[OffsetFetchResponseGroup]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[OffsetFetchResponseTopic] = UNSET,
        error_code: int = 0,
        groups: list[OffsetFetchResponseGroup] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is UNSET else topics
        self.error_code = error_code
        self.groups = [] if groups is UNSET else groups
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetFetchResponse], version: int) -> None:
        buf = out.buffer
        if version >= 6:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                if version >= 8:
                    if item.topics:
                        raise no_such_field("OffsetFetchResponse", "topics", version)
                else:
                    buf += compact_array_count(item.topics)
                    OffsetFetchResponseTopic.write_all(out, item.topics, version)
                    buf += _pack_h(item.error_code)
                if version >= 8:
                    buf += compact_array_count(item.groups)
                    OffsetFetchResponseGroup.write_all(out, item.groups, version)
                else:
                    if item.groups:
                        raise no_such_field("OffsetFetchResponse", "groups", version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 3:
                buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.topics)
            OffsetFetchResponseTopic.write_all(out, item.topics, version)
            if version >= 2:
                buf += _pack_h(item.error_code)
            if item.groups:
                raise no_such_field("OffsetFetchResponse", "groups", version)
            if item.unknown_tags:
                raise no_tags("OffsetFetchResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetFetchResponse], int]:
        items: list[OffsetFetchResponse] = []
        if version >= 6:
            for _ in range(count):
                item = new(OffsetFetchResponse)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                if version >= 8:
                    item.topics = []
                    item.error_code = 0
                else:
                    size, pos = read_compact_count(data, pos, 3)
                    if size < 0:
                        raise null_sent("topics")
                    item.topics, pos = OffsetFetchResponseTopic.read_all(data, pos, version, size)
                    (item.error_code,) = _unpack_h(data, pos)
                    pos += 2
                if version >= 8:
                    size, pos = read_compact_count(data, pos, 5)
                    if size < 0:
                        raise null_sent("groups")
                    item.groups, pos = OffsetFetchResponseGroup.read_all(data, pos, version, size)
                else:
                    item.groups = []
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(OffsetFetchResponse)
            if version >= 3:
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
            else:
                item.throttle_time_ms = 0
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = OffsetFetchResponseTopic.read_all(data, pos, version, size)
            if version >= 2:
                (item.error_code,) = _unpack_h(data, pos)
                pos += 2
            else:
                item.error_code = 0
            item.groups = []
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[OffsetFetchResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 6:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                if version >= 8:
                    if item.topics:
                        raise no_such_field("OffsetFetchResponse", "topics", version)
                else:
                    buf += compact_array_count(item.topics)
                    yield from OffsetFetchResponseTopic.write_slices(out, item.topics, version)
                    buf += _pack_h(item.error_code)
                if version >= 8:
                    buf += compact_array_count(item.groups)
                    yield from OffsetFetchResponseGroup.write_slices(out, item.groups, version)
                else:
                    if item.groups:
                        raise no_such_field("OffsetFetchResponse", "groups", version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            if version >= 3:
                buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.topics)
            yield from OffsetFetchResponseTopic.write_slices(out, item.topics, version)
            if version >= 2:
                buf += _pack_h(item.error_code)
            if item.groups:
                raise no_such_field("OffsetFetchResponse", "groups", version)
            if item.unknown_tags:
                raise no_tags("OffsetFetchResponse", version)
            yield 1
