# Generated from schema/share_group_heartbeat.wire by tools/generate_messages.py: do not edit.
"""ShareGroupHeartbeat: a member of a share group tells its subscription and learns its assignment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import (
    compact_array_count,
    compact_int32s,
    compact_strings,
    read_compact_count,
    read_compact_int32s,
    read_many,
)
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import (
    COMPACT_NULL,
    compact_string,
    fixed,
    null_sent,
    nullable_compact_string,
    read_compact_string,
    read_nullable_compact_string,
)
from moldau.protocol.slices import Slices, check_count, value_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")
_pack_ii, _unpack_ii = fixed("ii")
_pack_u, _unpack_u = fixed("16s")


class ShareGroupHeartbeatRequest(Message):
    FIELDS = ("group_id", "member_id", "member_epoch", "rack_id", "subscribed_topic_names")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 76
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 1

    group_id: str
    member_id: str
    member_epoch: int
    rack_id: str | None
    subscribed_topic_names: list[str] | None

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        rack_id: str | None = None,
        subscribed_topic_names: list[str] | None = None,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.rack_id = rack_id
        self.subscribed_topic_names = subscribed_topic_names
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ShareGroupHeartbeatRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.group_id)
            buf += compact_string(item.member_id)
            buf += _pack_i(item.member_epoch)
            buf += nullable_compact_string(item.rack_id)
            subscribed_topic_names = item.subscribed_topic_names
            if subscribed_topic_names is None:
                buf += COMPACT_NULL
            else:
                buf += compact_strings(subscribed_topic_names)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ShareGroupHeartbeatRequest], int]:
        items: list[ShareGroupHeartbeatRequest] = []
        for _ in range(count):
            item = new(ShareGroupHeartbeatRequest)
            item.group_id, pos = read_compact_string(data, pos)
            item.member_id, pos = read_compact_string(data, pos)
            (item.member_epoch,) = _unpack_i(data, pos)
            pos += 4
            item.rack_id, pos = read_nullable_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                item.subscribed_topic_names = None
            else:
                item.subscribed_topic_names, pos = read_many(read_compact_string, data, pos, size)
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
    ) -> Slices[tuple[list[ShareGroupHeartbeatRequest], int]]:
        check_count(count)
        items: list[ShareGroupHeartbeatRequest] = []
        for _ in range(count):
            item = new(ShareGroupHeartbeatRequest)
            item.group_id, pos = read_compact_string(data, pos)
            item.member_id, pos = read_compact_string(data, pos)
            (item.member_epoch,) = _unpack_i(data, pos)
            pos += 4
            item.rack_id, pos = read_nullable_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                item.subscribed_topic_names = None
            else:
                item.subscribed_topic_names, pos = yield from value_slices(read_compact_string, data, pos, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class TopicPartitions(Struct):
    FIELDS = ("topic_id", "partitions")
    __slots__ = FIELDS

    topic_id: Uuid
    partitions: list[int]

    def __init__(self, *, topic_id: Uuid = ZERO_UUID, partitions: list[int] = UNSET) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TopicPartitions], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_int32s(item.partitions)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TopicPartitions], int]:
        items: list[TopicPartitions] = []
        for _ in range(count):
            item = new(TopicPartitions)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            item.partitions, pos = read_compact_int32s(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class Assignment(Struct):
    FIELDS = ("topic_partitions",)
    __slots__ = FIELDS

    topic_partitions: list[TopicPartitions]

    def __init__(self, *, topic_partitions: list[TopicPartitions] = UNSET) -> None:
        self.topic_partitions = [] if topic_partitions is UNSET else topic_partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[Assignment], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.topic_partitions)
            TopicPartitions.write_all(out, item.topic_partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[Assignment], int]:
        items: list[Assignment] = []
        for _ in range(count):
            item = new(Assignment)
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("topic_partitions")
            item.topic_partitions, pos = TopicPartitions.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[Assignment], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.topic_partitions)
            yield from written_slices(TopicPartitions.write_all, out, item.topic_partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class ShareGroupHeartbeatResponse(Message):
    FIELDS = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "member_id",
        "member_epoch",
        "heartbeat_interval_ms",
        "assignment",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 76
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 1

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    member_id: str | None
    member_epoch: int
    heartbeat_interval_ms: int
    assignment: Assignment | None

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str | None = None,
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        assignment: Assignment | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.assignment = assignment
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ShareGroupHeartbeatResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += nullable_compact_string(item.member_id)
            buf += _pack_ii(item.member_epoch, item.heartbeat_interval_ms)
            assignment = item.assignment
            if assignment is None:
                buf.append(0xFF)
            else:
                buf.append(1)
                Assignment.write_all(out, (assignment,), version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ShareGroupHeartbeatResponse], int]:
        items: list[ShareGroupHeartbeatResponse] = []
        for _ in range(count):
            item = new(ShareGroupHeartbeatResponse)
            item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.error_message, pos = read_nullable_compact_string(data, pos)
            item.member_id, pos = read_nullable_compact_string(data, pos)
            item.member_epoch, item.heartbeat_interval_ms = _unpack_ii(data, pos)
            pos += 8
            if data[pos] > 0x7F:
                pos += 1
                item.assignment = None
            else:
                pos += 1
                (item.assignment,), pos = Assignment.read_all(data, pos, version, 1)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ShareGroupHeartbeatResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += nullable_compact_string(item.member_id)
            buf += _pack_ii(item.member_epoch, item.heartbeat_interval_ms)
            assignment = item.assignment
            if assignment is None:
                buf.append(0xFF)
            else:
                buf.append(1)
                yield from Assignment.write_slices(out, (assignment,), version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
