# Generated from schema/consumer_group_heartbeat.wire by tools/generate_messages.py: do not edit.
"""ConsumerGroupHeartbeat: a member of a consumer group tells what it has and learns what it should have.

Since version
   1  subscription by regular expression; the member chooses its id
"""

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
from moldau.protocol.slices import Slices, check_count, value_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")
_pack_ii, _unpack_ii = fixed("ii")
_pack_u, _unpack_u = fixed("16s")


class RequestTopicPartitions(Struct):
    FIELDS = ("topic_id", "partitions")
    __slots__ = FIELDS

    topic_id: Uuid
    partitions: list[int]

    def __init__(self, *, topic_id: Uuid = ZERO_UUID, partitions: list[int] = UNSET) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[RequestTopicPartitions], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_int32s(item.partitions)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RequestTopicPartitions], int]:
        items: list[RequestTopicPartitions] = []
        for _ in range(count):
            item = new(RequestTopicPartitions)
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

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[RequestTopicPartitions], int]]:
        check_count(count)
        items: list[RequestTopicPartitions] = []
        for _ in range(count):
            item = new(RequestTopicPartitions)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
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


class ConsumerGroupHeartbeatRequest(Message):
    FIELDS = (
        "group_id",
        "member_id",
        "member_epoch",
        "instance_id",
        "rack_id",
        "rebalance_timeout_ms",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "server_assignor",
        "topic_partitions",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 68
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int
    subscribed_topic_names: list[str] | None
    subscribed_topic_regex: str | None
    server_assignor: str | None
    topic_partitions: list[RequestTopicPartitions] | None

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        subscribed_topic_names: list[str] | None = None,
        subscribed_topic_regex: str | None = None,
        server_assignor: str | None = None,
        topic_partitions: list[RequestTopicPartitions] | None = None,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.subscribed_topic_names = subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.server_assignor = server_assignor
        self.topic_partitions = topic_partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ConsumerGroupHeartbeatRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.group_id)
            buf += compact_string(item.member_id)
            buf += _pack_i(item.member_epoch)
            buf += nullable_compact_string(item.instance_id)
            buf += nullable_compact_string(item.rack_id)
            buf += _pack_i(item.rebalance_timeout_ms)
            subscribed_topic_names = item.subscribed_topic_names
            if subscribed_topic_names is None:
                buf += COMPACT_NULL
            else:
                buf += compact_strings(subscribed_topic_names)
            if version >= 1:
                buf += nullable_compact_string(item.subscribed_topic_regex)
            else:
                if item.subscribed_topic_regex is not None:
                    raise no_such_field("ConsumerGroupHeartbeatRequest", "subscribed_topic_regex", version)
            buf += nullable_compact_string(item.server_assignor)
            topic_partitions = item.topic_partitions
            if topic_partitions is None:
                buf += COMPACT_NULL
            else:
                buf += compact_array_count(topic_partitions)
                RequestTopicPartitions.write_all(out, topic_partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ConsumerGroupHeartbeatRequest], int]:
        items: list[ConsumerGroupHeartbeatRequest] = []
        for _ in range(count):
            item = new(ConsumerGroupHeartbeatRequest)
            item.group_id, pos = read_compact_string(data, pos)
            item.member_id, pos = read_compact_string(data, pos)
            (item.member_epoch,) = _unpack_i(data, pos)
            pos += 4
            item.instance_id, pos = read_nullable_compact_string(data, pos)
            item.rack_id, pos = read_nullable_compact_string(data, pos)
            (item.rebalance_timeout_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                item.subscribed_topic_names = None
            else:
                item.subscribed_topic_names, pos = read_many(read_compact_string, data, pos, size)
            if version >= 1:
                item.subscribed_topic_regex, pos = read_nullable_compact_string(data, pos)
            else:
                item.subscribed_topic_regex = None
            item.server_assignor, pos = read_nullable_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                item.topic_partitions = None
            else:
                item.topic_partitions, pos = RequestTopicPartitions.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[ConsumerGroupHeartbeatRequest], int]]:
        check_count(count)
        items: list[ConsumerGroupHeartbeatRequest] = []
        for _ in range(count):
            item = new(ConsumerGroupHeartbeatRequest)
            item.group_id, pos = read_compact_string(data, pos)
            item.member_id, pos = read_compact_string(data, pos)
            (item.member_epoch,) = _unpack_i(data, pos)
            pos += 4
            item.instance_id, pos = read_nullable_compact_string(data, pos)
            item.rack_id, pos = read_nullable_compact_string(data, pos)
            (item.rebalance_timeout_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                item.subscribed_topic_names = None
            else:
                item.subscribed_topic_names, pos = yield from value_slices(read_compact_string, data, pos, size)
            if version >= 1:
                item.subscribed_topic_regex, pos = read_nullable_compact_string(data, pos)
            else:
                item.subscribed_topic_regex = None
            item.server_assignor, pos = read_nullable_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                item.topic_partitions = None
            else:
                item.topic_partitions, pos = yield from RequestTopicPartitions.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class ResponseTopicPartitions(Struct):
    FIELDS = ("topic_id", "partitions")
    __slots__ = FIELDS

    topic_id: Uuid
    partitions: list[int]

    def __init__(self, *, topic_id: Uuid = ZERO_UUID, partitions: list[int] = UNSET) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ResponseTopicPartitions], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_int32s(item.partitions)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ResponseTopicPartitions], int]:
        items: list[ResponseTopicPartitions] = []
        for _ in range(count):
            item = new(ResponseTopicPartitions)
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

    topic_partitions: list[ResponseTopicPartitions]

    def __init__(self, *, topic_partitions: list[ResponseTopicPartitions] = UNSET) -> None:
        self.topic_partitions = [] if topic_partitions is UNSET else topic_partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[Assignment], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.topic_partitions)
            ResponseTopicPartitions.write_all(out, item.topic_partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[Assignment], int]:
        items: list[Assignment] = []
        for _ in range(count):
            item = new(Assignment)
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("topic_partitions")
            item.topic_partitions, pos = ResponseTopicPartitions.read_all(data, pos, version, size)
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
            yield from written_slices(ResponseTopicPartitions.write_all, out, item.topic_partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class ConsumerGroupHeartbeatResponse(Message):
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

    API_KEY: ClassVar[int] = 68
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

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
    def write_all(out: Writer, items: Iterable[ConsumerGroupHeartbeatResponse], version: int) -> None:
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
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ConsumerGroupHeartbeatResponse], int]:
        items: list[ConsumerGroupHeartbeatResponse] = []
        for _ in range(count):
            item = new(ConsumerGroupHeartbeatResponse)
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
    def write_slices(out: Writer, items: Iterable[ConsumerGroupHeartbeatResponse], version: int) -> Slices[None]:
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
