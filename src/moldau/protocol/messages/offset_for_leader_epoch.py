# Generated from schema/offset_for_leader_epoch.wire by tools/generate_messages.py: do not edit.
"""OffsetForLeaderEpoch: where a leader epoch ended, so that a follower or consumer can find where its log
diverged.

Since version
   3  replica id
   4  flexible
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

_pack_hiiq, _unpack_hiiq = fixed("hiiq")
_pack_i, _unpack_i = fixed("i")
_pack_iii, _unpack_iii = fixed("iii")


class OffsetForLeaderPartition(Struct):
    FIELDS = ("partition", "current_leader_epoch", "leader_epoch")
    __slots__ = FIELDS

    partition: int
    current_leader_epoch: int
    leader_epoch: int

    def __init__(self, *, partition: int = 0, current_leader_epoch: int = -1, leader_epoch: int = 0) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.leader_epoch = leader_epoch
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetForLeaderPartition], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += _pack_iii(item.partition, item.current_leader_epoch, item.leader_epoch)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_iii(item.partition, item.current_leader_epoch, item.leader_epoch)
            if item.unknown_tags:
                raise no_tags("OffsetForLeaderPartition", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetForLeaderPartition], int]:
        items: list[OffsetForLeaderPartition] = []
        if version >= 4:
            for _ in range(count):
                item = new(OffsetForLeaderPartition)
                item.partition, item.current_leader_epoch, item.leader_epoch = _unpack_iii(data, pos)
                pos += 12
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(OffsetForLeaderPartition)
            item.partition, item.current_leader_epoch, item.leader_epoch = _unpack_iii(data, pos)
            pos += 12
            item.unknown_tags = None
            items.append(item)
        return items, pos


class OffsetForLeaderTopic(Struct):
    FIELDS = ("topic", "partitions")
    __slots__ = FIELDS

    topic: str
    partitions: list[OffsetForLeaderPartition]

    def __init__(self, *, topic: str = "", partitions: list[OffsetForLeaderPartition] = UNSET) -> None:
        self.topic = topic
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetForLeaderTopic], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += compact_string(item.topic)
                buf += compact_array_count(item.partitions)
                OffsetForLeaderPartition.write_all(out, item.partitions, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.topic)
            buf += array_count(item.partitions)
            OffsetForLeaderPartition.write_all(out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("OffsetForLeaderTopic", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetForLeaderTopic], int]:
        items: list[OffsetForLeaderTopic] = []
        if version >= 4:
            for _ in range(count):
                item = new(OffsetForLeaderTopic)
                item.topic, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 13)
                if size < 0:
                    raise null_sent("partitions")
                item.partitions, pos = OffsetForLeaderPartition.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(OffsetForLeaderTopic)
            item.topic, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 12)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = OffsetForLeaderPartition.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[OffsetForLeaderTopic], int]]:
        check_count(count)
        items: list[OffsetForLeaderTopic] = []
        if version >= 4:
            for _ in range(count):
                item = new(OffsetForLeaderTopic)
                item.topic, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 13)
                if size < 0:
                    raise null_sent("partitions")
                item.partitions, pos = yield from struct_slices(
                    OffsetForLeaderPartition.read_all,
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
            item = new(OffsetForLeaderTopic)
            item.topic, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 12)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = yield from struct_slices(OffsetForLeaderPartition.read_all, data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class OffsetForLeaderEpochRequest(Message):
    FIELDS = ("replica_id", "topics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int | None] = 4

    replica_id: int
    topics: list[OffsetForLeaderTopic]

    def __init__(self, *, replica_id: int = -2, topics: list[OffsetForLeaderTopic] = UNSET) -> None:
        self.replica_id = replica_id
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetForLeaderEpochRequest], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += _pack_i(item.replica_id)
                buf += compact_array_count(item.topics)
                OffsetForLeaderTopic.write_all(out, item.topics, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 3:
                buf += _pack_i(item.replica_id)
            buf += array_count(item.topics)
            OffsetForLeaderTopic.write_all(out, item.topics, version)
            if item.unknown_tags:
                raise no_tags("OffsetForLeaderEpochRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetForLeaderEpochRequest], int]:
        items: list[OffsetForLeaderEpochRequest] = []
        if version >= 4:
            for _ in range(count):
                item = new(OffsetForLeaderEpochRequest)
                (item.replica_id,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = OffsetForLeaderTopic.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(OffsetForLeaderEpochRequest)
            if version >= 3:
                (item.replica_id,) = _unpack_i(data, pos)
                pos += 4
            else:
                item.replica_id = -2
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = OffsetForLeaderTopic.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[OffsetForLeaderEpochRequest], int]]:
        check_count(count)
        items: list[OffsetForLeaderEpochRequest] = []
        if version >= 4:
            for _ in range(count):
                item = new(OffsetForLeaderEpochRequest)
                (item.replica_id,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = yield from OffsetForLeaderTopic.read_slices(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(OffsetForLeaderEpochRequest)
            if version >= 3:
                (item.replica_id,) = _unpack_i(data, pos)
                pos += 4
            else:
                item.replica_id = -2
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from OffsetForLeaderTopic.read_slices(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class EpochEndOffset(Struct):
    FIELDS = ("error_code", "partition", "leader_epoch", "end_offset")
    __slots__ = FIELDS

    error_code: int
    partition: int
    leader_epoch: int
    end_offset: int

    def __init__(
        self,
        *,
        error_code: int = 0,
        partition: int = 0,
        leader_epoch: int = -1,
        end_offset: int = -1,
    ) -> None:
        self.error_code = error_code
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.end_offset = end_offset
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[EpochEndOffset], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += _pack_hiiq(item.error_code, item.partition, item.leader_epoch, item.end_offset)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_hiiq(item.error_code, item.partition, item.leader_epoch, item.end_offset)
            if item.unknown_tags:
                raise no_tags("EpochEndOffset", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[EpochEndOffset], int]:
        items: list[EpochEndOffset] = []
        if version >= 4:
            for _ in range(count):
                item = new(EpochEndOffset)
                item.error_code, item.partition, item.leader_epoch, item.end_offset = _unpack_hiiq(data, pos)
                pos += 18
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(EpochEndOffset)
            item.error_code, item.partition, item.leader_epoch, item.end_offset = _unpack_hiiq(data, pos)
            pos += 18
            item.unknown_tags = None
            items.append(item)
        return items, pos


class OffsetForLeaderTopicResult(Struct):
    FIELDS = ("topic", "partitions")
    __slots__ = FIELDS

    topic: str
    partitions: list[EpochEndOffset]

    def __init__(self, *, topic: str = "", partitions: list[EpochEndOffset] = UNSET) -> None:
        self.topic = topic
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetForLeaderTopicResult], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += compact_string(item.topic)
                buf += compact_array_count(item.partitions)
                EpochEndOffset.write_all(out, item.partitions, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.topic)
            buf += array_count(item.partitions)
            EpochEndOffset.write_all(out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("OffsetForLeaderTopicResult", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetForLeaderTopicResult], int]:
        items: list[OffsetForLeaderTopicResult] = []
        if version >= 4:
            for _ in range(count):
                item = new(OffsetForLeaderTopicResult)
                item.topic, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 19)
                if size < 0:
                    raise null_sent("partitions")
                item.partitions, pos = EpochEndOffset.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(OffsetForLeaderTopicResult)
            item.topic, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 18)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = EpochEndOffset.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[OffsetForLeaderTopicResult], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += compact_string(item.topic)
                buf += compact_array_count(item.partitions)
                yield from written_slices(EpochEndOffset.write_all, out, item.partitions, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += string(item.topic)
            buf += array_count(item.partitions)
            yield from written_slices(EpochEndOffset.write_all, out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("OffsetForLeaderTopicResult", version)
            yield 1


class OffsetForLeaderEpochResponse(Message):
    FIELDS = ("throttle_time_ms", "topics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int | None] = 4

    throttle_time_ms: int
    topics: list[OffsetForLeaderTopicResult]

    def __init__(self, *, throttle_time_ms: int = 0, topics: list[OffsetForLeaderTopicResult] = UNSET) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetForLeaderEpochResponse], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.topics)
                OffsetForLeaderTopicResult.write_all(out, item.topics, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.topics)
            OffsetForLeaderTopicResult.write_all(out, item.topics, version)
            if item.unknown_tags:
                raise no_tags("OffsetForLeaderEpochResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetForLeaderEpochResponse], int]:
        items: list[OffsetForLeaderEpochResponse] = []
        if version >= 4:
            for _ in range(count):
                item = new(OffsetForLeaderEpochResponse)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = OffsetForLeaderTopicResult.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(OffsetForLeaderEpochResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = OffsetForLeaderTopicResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[OffsetForLeaderEpochResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.topics)
                yield from OffsetForLeaderTopicResult.write_slices(out, item.topics, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.topics)
            yield from OffsetForLeaderTopicResult.write_slices(out, item.topics, version)
            if item.unknown_tags:
                raise no_tags("OffsetForLeaderEpochResponse", version)
            yield 1
