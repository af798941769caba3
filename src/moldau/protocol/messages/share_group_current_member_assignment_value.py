# Generated from schema/share_group_records.wire by tools/generate_messages.py: do not edit.
"""ShareGroupCurrentMemberAssignmentValue: the partitions a member has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, compact_int32s, read_compact_count, read_compact_int32s
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import fixed, null_sent
from moldau.protocol.slices import Slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_iib, _unpack_iib = fixed("iib")
_pack_u, _unpack_u = fixed("16s")


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

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[TopicPartitions], int]]:
        items: list[TopicPartitions] = []
        for _ in range(count):
            item = new(TopicPartitions)
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


class ShareGroupCurrentMemberAssignmentValue(Message):
    FIELDS = ("member_epoch", "previous_member_epoch", "state", "assigned_partitions")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    member_epoch: int
    previous_member_epoch: int
    state: int
    assigned_partitions: list[TopicPartitions]

    def __init__(
        self,
        *,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        assigned_partitions: list[TopicPartitions] = UNSET,
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.assigned_partitions = [] if assigned_partitions is UNSET else assigned_partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ShareGroupCurrentMemberAssignmentValue], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_iib(item.member_epoch, item.previous_member_epoch, item.state)
            buf += compact_array_count(item.assigned_partitions)
            TopicPartitions.write_all(out, item.assigned_partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[ShareGroupCurrentMemberAssignmentValue], int]:
        items: list[ShareGroupCurrentMemberAssignmentValue] = []
        for _ in range(count):
            item = new(ShareGroupCurrentMemberAssignmentValue)
            item.member_epoch, item.previous_member_epoch, item.state = _unpack_iib(data, pos)
            pos += 9
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("assigned_partitions")
            item.assigned_partitions, pos = TopicPartitions.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[ShareGroupCurrentMemberAssignmentValue], int]]:
        items: list[ShareGroupCurrentMemberAssignmentValue] = []
        for _ in range(count):
            item = new(ShareGroupCurrentMemberAssignmentValue)
            item.member_epoch, item.previous_member_epoch, item.state = _unpack_iib(data, pos)
            pos += 9
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("assigned_partitions")
            item.assigned_partitions, pos = yield from TopicPartitions.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(
        out: Writer,
        items: Iterable[ShareGroupCurrentMemberAssignmentValue],
        version: int,
    ) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_iib(item.member_epoch, item.previous_member_epoch, item.state)
            buf += compact_array_count(item.assigned_partitions)
            yield from written_slices(TopicPartitions.write_all, out, item.assigned_partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
