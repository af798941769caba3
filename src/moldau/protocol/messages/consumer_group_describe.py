# Generated from schema/consumer_group_describe.wire by tools/generate_messages.py: do not edit.
"""ConsumerGroupDescribe: state, members and assignments of consumer groups.

Since version
   1  the type of a member
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
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import (
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

_pack_b, _unpack_b = fixed("b")
_pack_h, _unpack_h = fixed("h")
_pack_i, _unpack_i = fixed("i")
_pack_ii, _unpack_ii = fixed("ii")
_pack_o, _unpack_o = fixed("?")
_pack_u, _unpack_u = fixed("16s")


class ConsumerGroupDescribeRequest(Message):
    FIELDS = ("group_ids", "include_authorized_operations")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 69
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    group_ids: list[str]
    include_authorized_operations: bool

    def __init__(self, *, group_ids: list[str] = UNSET, include_authorized_operations: bool = False) -> None:
        self.group_ids = [] if group_ids is UNSET else group_ids
        self.include_authorized_operations = include_authorized_operations
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ConsumerGroupDescribeRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_strings(item.group_ids)
            buf += _pack_o(item.include_authorized_operations)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ConsumerGroupDescribeRequest], int]:
        items: list[ConsumerGroupDescribeRequest] = []
        for _ in range(count):
            item = new(ConsumerGroupDescribeRequest)
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("group_ids")
            item.group_ids, pos = read_many(read_compact_string, data, pos, size)
            (item.include_authorized_operations,) = _unpack_o(data, pos)
            pos += 1
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
    ) -> Slices[tuple[list[ConsumerGroupDescribeRequest], int]]:
        check_count(count)
        items: list[ConsumerGroupDescribeRequest] = []
        for _ in range(count):
            item = new(ConsumerGroupDescribeRequest)
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("group_ids")
            item.group_ids, pos = yield from value_slices(read_compact_string, data, pos, size)
            (item.include_authorized_operations,) = _unpack_o(data, pos)
            pos += 1
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class TopicPartitions(Struct):
    FIELDS = ("topic_id", "topic_name", "partitions")
    __slots__ = FIELDS

    topic_id: Uuid
    topic_name: str
    partitions: list[int]

    def __init__(self, *, topic_id: Uuid = ZERO_UUID, topic_name: str = "", partitions: list[int] = UNSET) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TopicPartitions], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_string(item.topic_name)
            buf += compact_int32s(item.partitions)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TopicPartitions], int]:
        items: list[TopicPartitions] = []
        for _ in range(count):
            item = new(TopicPartitions)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            item.topic_name, pos = read_compact_string(data, pos)
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
            size, pos = read_compact_count(data, pos, 19)
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


class Member(Struct):
    FIELDS = (
        "member_id",
        "instance_id",
        "rack_id",
        "member_epoch",
        "client_id",
        "client_host",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "assignment",
        "target_assignment",
        "member_type",
    )
    __slots__ = FIELDS

    member_id: str
    instance_id: str | None
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]
    subscribed_topic_regex: str | None
    assignment: Assignment
    target_assignment: Assignment
    member_type: int

    def __init__(
        self,
        *,
        member_id: str = "",
        instance_id: str | None = None,
        rack_id: str | None = None,
        member_epoch: int = 0,
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = UNSET,
        subscribed_topic_regex: str | None = None,
        assignment: Assignment = UNSET,
        target_assignment: Assignment = UNSET,
        member_type: int = -1,
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.member_epoch = member_epoch
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = [] if subscribed_topic_names is UNSET else subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.assignment = Assignment() if assignment is UNSET else assignment
        self.target_assignment = Assignment() if target_assignment is UNSET else target_assignment
        self.member_type = member_type
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[Member], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.member_id)
            buf += nullable_compact_string(item.instance_id)
            buf += nullable_compact_string(item.rack_id)
            buf += _pack_i(item.member_epoch)
            buf += compact_string(item.client_id)
            buf += compact_string(item.client_host)
            buf += compact_strings(item.subscribed_topic_names)
            buf += nullable_compact_string(item.subscribed_topic_regex)
            Assignment.write_all(out, (item.assignment,), version)
            Assignment.write_all(out, (item.target_assignment,), version)
            if version >= 1:
                buf += _pack_b(item.member_type)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[Member], int]:
        items: list[Member] = []
        for _ in range(count):
            item = new(Member)
            item.member_id, pos = read_compact_string(data, pos)
            item.instance_id, pos = read_nullable_compact_string(data, pos)
            item.rack_id, pos = read_nullable_compact_string(data, pos)
            (item.member_epoch,) = _unpack_i(data, pos)
            pos += 4
            item.client_id, pos = read_compact_string(data, pos)
            item.client_host, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("subscribed_topic_names")
            item.subscribed_topic_names, pos = read_many(read_compact_string, data, pos, size)
            item.subscribed_topic_regex, pos = read_nullable_compact_string(data, pos)
            (item.assignment,), pos = Assignment.read_all(data, pos, version, 1)
            (item.target_assignment,), pos = Assignment.read_all(data, pos, version, 1)
            if version >= 1:
                (item.member_type,) = _unpack_b(data, pos)
                pos += 1
            else:
                item.member_type = -1
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[Member], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.member_id)
            buf += nullable_compact_string(item.instance_id)
            buf += nullable_compact_string(item.rack_id)
            buf += _pack_i(item.member_epoch)
            buf += compact_string(item.client_id)
            buf += compact_string(item.client_host)
            buf += compact_strings(item.subscribed_topic_names)
            yield len(item.subscribed_topic_names)
            buf += nullable_compact_string(item.subscribed_topic_regex)
            yield from Assignment.write_slices(out, (item.assignment,), version)
            yield from Assignment.write_slices(out, (item.target_assignment,), version)
            if version >= 1:
                buf += _pack_b(item.member_type)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class DescribedGroup(Struct):
    FIELDS = (
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "group_epoch",
        "assignment_epoch",
        "assignor_name",
        "members",
        "authorized_operations",
    )
    __slots__ = FIELDS

    error_code: int
    error_message: str | None
    group_id: str
    group_state: str
    group_epoch: int
    assignment_epoch: int
    assignor_name: str
    members: list[Member]
    authorized_operations: int

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        group_epoch: int = 0,
        assignment_epoch: int = 0,
        assignor_name: str = "",
        members: list[Member] = UNSET,
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.group_epoch = group_epoch
        self.assignment_epoch = assignment_epoch
        self.assignor_name = assignor_name
        self.members = [] if members is UNSET else members
        self.authorized_operations = authorized_operations
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribedGroup], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_h(item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += compact_string(item.group_id)
            buf += compact_string(item.group_state)
            buf += _pack_ii(item.group_epoch, item.assignment_epoch)
            buf += compact_string(item.assignor_name)
            buf += compact_array_count(item.members)
            Member.write_all(out, item.members, version)
            buf += _pack_i(item.authorized_operations)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribedGroup], int]:
        items: list[DescribedGroup] = []
        for _ in range(count):
            item = new(DescribedGroup)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.error_message, pos = read_nullable_compact_string(data, pos)
            item.group_id, pos = read_compact_string(data, pos)
            item.group_state, pos = read_compact_string(data, pos)
            item.group_epoch, item.assignment_epoch = _unpack_ii(data, pos)
            pos += 8
            item.assignor_name, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 16)
            if size < 0:
                raise null_sent("members")
            item.members, pos = Member.read_all(data, pos, version, size)
            (item.authorized_operations,) = _unpack_i(data, pos)
            pos += 4
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DescribedGroup], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_h(item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += compact_string(item.group_id)
            buf += compact_string(item.group_state)
            buf += _pack_ii(item.group_epoch, item.assignment_epoch)
            buf += compact_string(item.assignor_name)
            buf += compact_array_count(item.members)
            yield from Member.write_slices(out, item.members, version)
            buf += _pack_i(item.authorized_operations)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class ConsumerGroupDescribeResponse(Message):
    FIELDS = ("throttle_time_ms", "groups")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 69
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    groups: list[DescribedGroup]

    def __init__(self, *, throttle_time_ms: int = 0, groups: list[DescribedGroup] = UNSET) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is UNSET else groups
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ConsumerGroupDescribeResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += compact_array_count(item.groups)
            DescribedGroup.write_all(out, item.groups, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ConsumerGroupDescribeResponse], int]:
        items: list[ConsumerGroupDescribeResponse] = []
        for _ in range(count):
            item = new(ConsumerGroupDescribeResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 20)
            if size < 0:
                raise null_sent("groups")
            item.groups, pos = DescribedGroup.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ConsumerGroupDescribeResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += compact_array_count(item.groups)
            yield from DescribedGroup.write_slices(out, item.groups, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
