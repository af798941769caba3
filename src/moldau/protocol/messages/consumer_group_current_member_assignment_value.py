# Generated from schema/consumer_group_records.wire by tools/generate_messages.py: do not edit.
"""ConsumerGroupCurrentMemberAssignmentValue: the partitions a member has, and those it must give back first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import (
    compact_array_count,
    compact_int32s,
    read_compact_count,
    read_compact_int32s,
    read_nullable_compact_int32s,
)
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import COMPACT_NULL, fixed, null_sent
from moldau.protocol.slices import Slices, written_slices
from moldau.protocol.tagged_fields import check_tag_end, keep_tag, read_tag, read_tag_count, read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_iib, _unpack_iib = fixed("iib")
_pack_u, _unpack_u = fixed("16s")


class TopicPartitions(Struct):
    FIELDS = ("topic_id", "partitions", "assignment_epochs")
    __slots__ = FIELDS

    topic_id: Uuid
    partitions: list[int]
    assignment_epochs: list[int] | None

    def __init__(
        self,
        *,
        topic_id: Uuid = ZERO_UUID,
        partitions: list[int] = UNSET,
        assignment_epochs: list[int] | None = UNSET,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.assignment_epochs = [] if assignment_epochs is UNSET else assignment_epochs
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TopicPartitions], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_int32s(item.partitions)
            tags: dict[int, bytes] = {}
            assignment_epochs = item.assignment_epochs
            if assignment_epochs != []:
                tags[0] = COMPACT_NULL if assignment_epochs is None else compact_int32s(assignment_epochs)
            buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TopicPartitions], int]:
        items: list[TopicPartitions] = []
        for _ in range(count):
            item = new(TopicPartitions)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            item.partitions, pos = read_compact_int32s(data, pos)
            item.assignment_epochs = []
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                tags, pos = read_tag_count(data, pos)
                for _ in range(tags):
                    tag, pos, stop = read_tag(data, pos)
                    if tag == 0:
                        item.assignment_epochs, pos = read_nullable_compact_int32s(data, pos)
                    else:
                        item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                        pos = stop
                    check_tag_end(tag, pos, stop)
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
            item.assignment_epochs = []
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                tags, pos = read_tag_count(data, pos)
                for _ in range(tags):
                    tag, pos, stop = read_tag(data, pos)
                    if tag == 0:
                        item.assignment_epochs, pos = read_nullable_compact_int32s(data, pos)
                        yield len(item.assignment_epochs or ())
                    else:
                        item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                        pos = stop
                    check_tag_end(tag, pos, stop)
            items.append(item)
            yield 1
        return items, pos


class ConsumerGroupCurrentMemberAssignmentValue(Message):
    FIELDS = ("member_epoch", "previous_member_epoch", "state", "assigned_partitions", "partitions_pending_revocation")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    member_epoch: int
    previous_member_epoch: int
    state: int
    assigned_partitions: list[TopicPartitions]
    partitions_pending_revocation: list[TopicPartitions]

    def __init__(
        self,
        *,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        assigned_partitions: list[TopicPartitions] = UNSET,
        partitions_pending_revocation: list[TopicPartitions] = UNSET,
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.assigned_partitions = [] if assigned_partitions is UNSET else assigned_partitions
        self.partitions_pending_revocation = (
            [] if partitions_pending_revocation is UNSET else partitions_pending_revocation
        )
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ConsumerGroupCurrentMemberAssignmentValue], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_iib(item.member_epoch, item.previous_member_epoch, item.state)
            buf += compact_array_count(item.assigned_partitions)
            TopicPartitions.write_all(out, item.assigned_partitions, version)
            buf += compact_array_count(item.partitions_pending_revocation)
            TopicPartitions.write_all(out, item.partitions_pending_revocation, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[ConsumerGroupCurrentMemberAssignmentValue], int]:
        items: list[ConsumerGroupCurrentMemberAssignmentValue] = []
        for _ in range(count):
            item = new(ConsumerGroupCurrentMemberAssignmentValue)
            item.member_epoch, item.previous_member_epoch, item.state = _unpack_iib(data, pos)
            pos += 9
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("assigned_partitions")
            item.assigned_partitions, pos = TopicPartitions.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("partitions_pending_revocation")
            item.partitions_pending_revocation, pos = TopicPartitions.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[ConsumerGroupCurrentMemberAssignmentValue], int]]:
        items: list[ConsumerGroupCurrentMemberAssignmentValue] = []
        for _ in range(count):
            item = new(ConsumerGroupCurrentMemberAssignmentValue)
            item.member_epoch, item.previous_member_epoch, item.state = _unpack_iib(data, pos)
            pos += 9
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("assigned_partitions")
            item.assigned_partitions, pos = yield from TopicPartitions.read_slices(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("partitions_pending_revocation")
            item.partitions_pending_revocation, pos = yield from TopicPartitions.read_slices(data, pos, version, size)
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
        items: Iterable[ConsumerGroupCurrentMemberAssignmentValue],
        version: int,
    ) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_iib(item.member_epoch, item.previous_member_epoch, item.state)
            buf += compact_array_count(item.assigned_partitions)
            yield from written_slices(TopicPartitions.write_all, out, item.assigned_partitions, version)
            buf += compact_array_count(item.partitions_pending_revocation)
            yield from written_slices(TopicPartitions.write_all, out, item.partitions_pending_revocation, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
