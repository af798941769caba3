# Generated from schema/txn_offset_commit.wire by tools/generate_messages.py: do not edit.
"""TxnOffsetCommit: stores a group's offsets as part of a transaction.

Since version
   2  leader epochs
   3  flexible; the member is checked as in OffsetCommit
   4  a transaction may be declared abortable by its error
   5  offsets join the transaction by being committed
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

_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")
_pack_iq, _unpack_iq = fixed("iq")
_pack_iqi, _unpack_iqi = fixed("iqi")
_pack_qh, _unpack_qh = fixed("qh")
_pack_qhi, _unpack_qhi = fixed("qhi")


class TxnOffsetCommitRequestPartition(Struct):
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
    def write_all(out: Writer, items: Iterable[TxnOffsetCommitRequestPartition], version: int) -> None:
        buf = out.buffer
        if version >= 3:
            for item in items:
                buf += _pack_iqi(item.partition_index, item.committed_offset, item.committed_leader_epoch)
                buf += nullable_compact_string(item.committed_metadata)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 2:
                buf += _pack_iqi(item.partition_index, item.committed_offset, item.committed_leader_epoch)
            else:
                buf += _pack_iq(item.partition_index, item.committed_offset)
            buf += nullable_string(item.committed_metadata)
            if item.unknown_tags:
                raise no_tags("TxnOffsetCommitRequestPartition", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TxnOffsetCommitRequestPartition], int]:
        items: list[TxnOffsetCommitRequestPartition] = []
        if version >= 3:
            for _ in range(count):
                item = new(TxnOffsetCommitRequestPartition)
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
            item = new(TxnOffsetCommitRequestPartition)
            if version >= 2:
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


class TxnOffsetCommitRequestTopic(Struct):
    FIELDS = ("name", "partitions")
    __slots__ = FIELDS

    name: str
    partitions: list[TxnOffsetCommitRequestPartition]

    def __init__(self, *, name: str = "", partitions: list[TxnOffsetCommitRequestPartition] = UNSET) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TxnOffsetCommitRequestTopic], version: int) -> None:
        buf = out.buffer
        if version >= 3:
            for item in items:
                buf += compact_string(item.name)
                buf += compact_array_count(item.partitions)
                TxnOffsetCommitRequestPartition.write_all(out, item.partitions, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.name)
            buf += array_count(item.partitions)
            TxnOffsetCommitRequestPartition.write_all(out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("TxnOffsetCommitRequestTopic", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TxnOffsetCommitRequestTopic], int]:
        items: list[TxnOffsetCommitRequestTopic] = []
        if version >= 3:
            for _ in range(count):
                item = new(TxnOffsetCommitRequestTopic)
                item.name, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 18)
                if size < 0:
                    raise null_sent("partitions")
                item.partitions, pos = TxnOffsetCommitRequestPartition.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(TxnOffsetCommitRequestTopic)
            item.name, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 14)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = TxnOffsetCommitRequestPartition.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[TxnOffsetCommitRequestTopic], int]]:
        check_count(count)
        items: list[TxnOffsetCommitRequestTopic] = []
        if version >= 3:
            for _ in range(count):
                item = new(TxnOffsetCommitRequestTopic)
                item.name, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 18)
                if size < 0:
                    raise null_sent("partitions")
                item.partitions, pos = yield from struct_slices(
                    TxnOffsetCommitRequestPartition.read_all,
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
            item = new(TxnOffsetCommitRequestTopic)
            item.name, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 14)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = yield from struct_slices(
                TxnOffsetCommitRequestPartition.read_all,
                data,
                pos,
                version,
                size,
            )
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class TxnOffsetCommitRequest(Message):
    FIELDS = (
        "transactional_id",
        "group_id",
        "producer_id",
        "producer_epoch",
        "generation_id",
        "member_id",
        "group_instance_id",
        "topics",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 28
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int | None] = 3

    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    generation_id: int
    member_id: str
    group_instance_id: str | None
    topics: list[TxnOffsetCommitRequestTopic]

    def __init__(
        self,
        *,
        transactional_id: str = "",
        group_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        generation_id: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        topics: list[TxnOffsetCommitRequestTopic] = UNSET,
    ) -> None:
        self.transactional_id = transactional_id
        self.group_id = group_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TxnOffsetCommitRequest], version: int) -> None:
        buf = out.buffer
        if version >= 3:
            for item in items:
                buf += compact_string(item.transactional_id)
                buf += compact_string(item.group_id)
                buf += _pack_qhi(item.producer_id, item.producer_epoch, item.generation_id)
                buf += compact_string(item.member_id)
                buf += nullable_compact_string(item.group_instance_id)
                buf += compact_array_count(item.topics)
                TxnOffsetCommitRequestTopic.write_all(out, item.topics, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.transactional_id)
            buf += string(item.group_id)
            if item.generation_id != -1:
                raise no_such_field("TxnOffsetCommitRequest", "generation_id", version)
            buf += _pack_qh(item.producer_id, item.producer_epoch)
            if item.member_id != "":
                raise no_such_field("TxnOffsetCommitRequest", "member_id", version)
            if item.group_instance_id is not None:
                raise no_such_field("TxnOffsetCommitRequest", "group_instance_id", version)
            buf += array_count(item.topics)
            TxnOffsetCommitRequestTopic.write_all(out, item.topics, version)
            if item.unknown_tags:
                raise no_tags("TxnOffsetCommitRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TxnOffsetCommitRequest], int]:
        items: list[TxnOffsetCommitRequest] = []
        if version >= 3:
            for _ in range(count):
                item = new(TxnOffsetCommitRequest)
                item.transactional_id, pos = read_compact_string(data, pos)
                item.group_id, pos = read_compact_string(data, pos)
                item.producer_id, item.producer_epoch, item.generation_id = _unpack_qhi(data, pos)
                pos += 14
                item.member_id, pos = read_compact_string(data, pos)
                item.group_instance_id, pos = read_nullable_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = TxnOffsetCommitRequestTopic.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(TxnOffsetCommitRequest)
            item.transactional_id, pos = read_string(data, pos)
            item.group_id, pos = read_string(data, pos)
            item.producer_id, item.producer_epoch = _unpack_qh(data, pos)
            pos += 10
            item.generation_id = -1
            item.member_id = ""
            item.group_instance_id = None
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = TxnOffsetCommitRequestTopic.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[TxnOffsetCommitRequest], int]]:
        check_count(count)
        items: list[TxnOffsetCommitRequest] = []
        if version >= 3:
            for _ in range(count):
                item = new(TxnOffsetCommitRequest)
                item.transactional_id, pos = read_compact_string(data, pos)
                item.group_id, pos = read_compact_string(data, pos)
                item.producer_id, item.producer_epoch, item.generation_id = _unpack_qhi(data, pos)
                pos += 14
                item.member_id, pos = read_compact_string(data, pos)
                item.group_instance_id, pos = read_nullable_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = yield from TxnOffsetCommitRequestTopic.read_slices(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(TxnOffsetCommitRequest)
            item.transactional_id, pos = read_string(data, pos)
            item.group_id, pos = read_string(data, pos)
            item.producer_id, item.producer_epoch = _unpack_qh(data, pos)
            pos += 10
            item.generation_id = -1
            item.member_id = ""
            item.group_instance_id = None
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from TxnOffsetCommitRequestTopic.read_slices(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class TxnOffsetCommitResponsePartition(Struct):
    FIELDS = ("partition_index", "error_code")
    __slots__ = FIELDS

    partition_index: int
    error_code: int

    def __init__(self, *, partition_index: int = 0, error_code: int = 0) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TxnOffsetCommitResponsePartition], version: int) -> None:
        buf = out.buffer
        if version >= 3:
            for item in items:
                buf += _pack_ih(item.partition_index, item.error_code)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_ih(item.partition_index, item.error_code)
            if item.unknown_tags:
                raise no_tags("TxnOffsetCommitResponsePartition", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TxnOffsetCommitResponsePartition], int]:
        items: list[TxnOffsetCommitResponsePartition] = []
        if version >= 3:
            for _ in range(count):
                item = new(TxnOffsetCommitResponsePartition)
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
            item = new(TxnOffsetCommitResponsePartition)
            item.partition_index, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.unknown_tags = None
            items.append(item)
        return items, pos


class TxnOffsetCommitResponseTopic(Struct):
    FIELDS = ("name", "partitions")
    __slots__ = FIELDS

    name: str
    partitions: list[TxnOffsetCommitResponsePartition]

    def __init__(self, *, name: str = "", partitions: list[TxnOffsetCommitResponsePartition] = UNSET) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TxnOffsetCommitResponseTopic], version: int) -> None:
        buf = out.buffer
        if version >= 3:
            for item in items:
                buf += compact_string(item.name)
                buf += compact_array_count(item.partitions)
                TxnOffsetCommitResponsePartition.write_all(out, item.partitions, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.name)
            buf += array_count(item.partitions)
            TxnOffsetCommitResponsePartition.write_all(out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("TxnOffsetCommitResponseTopic", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TxnOffsetCommitResponseTopic], int]:
        items: list[TxnOffsetCommitResponseTopic] = []
        if version >= 3:
            for _ in range(count):
                item = new(TxnOffsetCommitResponseTopic)
                item.name, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 7)
                if size < 0:
                    raise null_sent("partitions")
                item.partitions, pos = TxnOffsetCommitResponsePartition.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(TxnOffsetCommitResponseTopic)
            item.name, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = TxnOffsetCommitResponsePartition.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[TxnOffsetCommitResponseTopic], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 3:
            for item in items:
                buf += compact_string(item.name)
                buf += compact_array_count(item.partitions)
                yield from written_slices(TxnOffsetCommitResponsePartition.write_all, out, item.partitions, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += string(item.name)
            buf += array_count(item.partitions)
            yield from written_slices(TxnOffsetCommitResponsePartition.write_all, out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("TxnOffsetCommitResponseTopic", version)
            yield 1


class TxnOffsetCommitResponse(Message):
    FIELDS = ("throttle_time_ms", "topics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 28
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int | None] = 3

    throttle_time_ms: int
    topics: list[TxnOffsetCommitResponseTopic]

    def __init__(self, *, throttle_time_ms: int = 0, topics: list[TxnOffsetCommitResponseTopic] = UNSET) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TxnOffsetCommitResponse], version: int) -> None:
        buf = out.buffer
        if version >= 3:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.topics)
                TxnOffsetCommitResponseTopic.write_all(out, item.topics, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.topics)
            TxnOffsetCommitResponseTopic.write_all(out, item.topics, version)
            if item.unknown_tags:
                raise no_tags("TxnOffsetCommitResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TxnOffsetCommitResponse], int]:
        items: list[TxnOffsetCommitResponse] = []
        if version >= 3:
            for _ in range(count):
                item = new(TxnOffsetCommitResponse)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = TxnOffsetCommitResponseTopic.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(TxnOffsetCommitResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = TxnOffsetCommitResponseTopic.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[TxnOffsetCommitResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 3:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.topics)
                yield from TxnOffsetCommitResponseTopic.write_slices(out, item.topics, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.topics)
            yield from TxnOffsetCommitResponseTopic.write_slices(out, item.topics, version)
            if item.unknown_tags:
                raise no_tags("TxnOffsetCommitResponse", version)
            yield 1
