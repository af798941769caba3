# Generated from schema/streams_group_records.wire by tools/generate_messages.py: do not edit.
"""StreamsGroupCurrentMemberAssignmentValue: the tasks a member runs, and those it must give back first."""

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
from moldau.protocol.primitives import COMPACT_NULL, compact_string, fixed, null_sent, read_compact_string
from moldau.protocol.slices import Slices, written_slices
from moldau.protocol.tagged_fields import check_tag_end, keep_tag, read_tag, read_tag_count, read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_iib, _unpack_iib = fixed("iib")


class TaskIds(Struct):
    FIELDS = ("subtopology_id", "partitions", "assignment_epochs")
    __slots__ = FIELDS

    subtopology_id: str
    partitions: list[int]
    assignment_epochs: list[int] | None

    def __init__(
        self,
        *,
        subtopology_id: str = "",
        partitions: list[int] = UNSET,
        assignment_epochs: list[int] | None = UNSET,
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = [] if partitions is UNSET else partitions
        self.assignment_epochs = [] if assignment_epochs is UNSET else assignment_epochs
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TaskIds], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.subtopology_id)
            buf += compact_int32s(item.partitions)
            tags: dict[int, bytes] = {}
            assignment_epochs = item.assignment_epochs
            if assignment_epochs != []:
                tags[0] = COMPACT_NULL if assignment_epochs is None else compact_int32s(assignment_epochs)
            buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TaskIds], int]:
        items: list[TaskIds] = []
        for _ in range(count):
            item = new(TaskIds)
            item.subtopology_id, pos = read_compact_string(data, pos)
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
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[TaskIds], int]]:
        items: list[TaskIds] = []
        for _ in range(count):
            item = new(TaskIds)
            item.subtopology_id, pos = read_compact_string(data, pos)
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


class StreamsGroupCurrentMemberAssignmentValue(Message):
    FIELDS = (
        "member_epoch",
        "previous_member_epoch",
        "state",
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
        "active_tasks_pending_revocation",
        "standby_tasks_pending_revocation",
        "warmup_tasks_pending_revocation",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    member_epoch: int
    previous_member_epoch: int
    state: int
    active_tasks: list[TaskIds]
    standby_tasks: list[TaskIds]
    warmup_tasks: list[TaskIds]
    active_tasks_pending_revocation: list[TaskIds]
    standby_tasks_pending_revocation: list[TaskIds]
    warmup_tasks_pending_revocation: list[TaskIds]

    def __init__(
        self,
        *,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        active_tasks: list[TaskIds] = UNSET,
        standby_tasks: list[TaskIds] = UNSET,
        warmup_tasks: list[TaskIds] = UNSET,
        active_tasks_pending_revocation: list[TaskIds] = UNSET,
        standby_tasks_pending_revocation: list[TaskIds] = UNSET,
        warmup_tasks_pending_revocation: list[TaskIds] = UNSET,
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.active_tasks = [] if active_tasks is UNSET else active_tasks
        self.standby_tasks = [] if standby_tasks is UNSET else standby_tasks
        self.warmup_tasks = [] if warmup_tasks is UNSET else warmup_tasks
        self.active_tasks_pending_revocation = (
            [] if active_tasks_pending_revocation is UNSET else active_tasks_pending_revocation
        )
        self.standby_tasks_pending_revocation = (
            [] if standby_tasks_pending_revocation is UNSET else standby_tasks_pending_revocation
        )
        self.warmup_tasks_pending_revocation = (
            [] if warmup_tasks_pending_revocation is UNSET else warmup_tasks_pending_revocation
        )
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[StreamsGroupCurrentMemberAssignmentValue], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_iib(item.member_epoch, item.previous_member_epoch, item.state)
            buf += compact_array_count(item.active_tasks)
            TaskIds.write_all(out, item.active_tasks, version)
            buf += compact_array_count(item.standby_tasks)
            TaskIds.write_all(out, item.standby_tasks, version)
            buf += compact_array_count(item.warmup_tasks)
            TaskIds.write_all(out, item.warmup_tasks, version)
            buf += compact_array_count(item.active_tasks_pending_revocation)
            TaskIds.write_all(out, item.active_tasks_pending_revocation, version)
            buf += compact_array_count(item.standby_tasks_pending_revocation)
            TaskIds.write_all(out, item.standby_tasks_pending_revocation, version)
            buf += compact_array_count(item.warmup_tasks_pending_revocation)
            TaskIds.write_all(out, item.warmup_tasks_pending_revocation, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[StreamsGroupCurrentMemberAssignmentValue], int]:
        items: list[StreamsGroupCurrentMemberAssignmentValue] = []
        for _ in range(count):
            item = new(StreamsGroupCurrentMemberAssignmentValue)
            item.member_epoch, item.previous_member_epoch, item.state = _unpack_iib(data, pos)
            pos += 9
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("active_tasks")
            item.active_tasks, pos = TaskIds.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("standby_tasks")
            item.standby_tasks, pos = TaskIds.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("warmup_tasks")
            item.warmup_tasks, pos = TaskIds.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("active_tasks_pending_revocation")
            item.active_tasks_pending_revocation, pos = TaskIds.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("standby_tasks_pending_revocation")
            item.standby_tasks_pending_revocation, pos = TaskIds.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("warmup_tasks_pending_revocation")
            item.warmup_tasks_pending_revocation, pos = TaskIds.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[StreamsGroupCurrentMemberAssignmentValue], int]]:
        items: list[StreamsGroupCurrentMemberAssignmentValue] = []
        for _ in range(count):
            item = new(StreamsGroupCurrentMemberAssignmentValue)
            item.member_epoch, item.previous_member_epoch, item.state = _unpack_iib(data, pos)
            pos += 9
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("active_tasks")
            item.active_tasks, pos = yield from TaskIds.read_slices(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("standby_tasks")
            item.standby_tasks, pos = yield from TaskIds.read_slices(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("warmup_tasks")
            item.warmup_tasks, pos = yield from TaskIds.read_slices(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("active_tasks_pending_revocation")
            item.active_tasks_pending_revocation, pos = yield from TaskIds.read_slices(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("standby_tasks_pending_revocation")
            item.standby_tasks_pending_revocation, pos = yield from TaskIds.read_slices(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("warmup_tasks_pending_revocation")
            item.warmup_tasks_pending_revocation, pos = yield from TaskIds.read_slices(data, pos, version, size)
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
        items: Iterable[StreamsGroupCurrentMemberAssignmentValue],
        version: int,
    ) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_iib(item.member_epoch, item.previous_member_epoch, item.state)
            buf += compact_array_count(item.active_tasks)
            yield from written_slices(TaskIds.write_all, out, item.active_tasks, version)
            buf += compact_array_count(item.standby_tasks)
            yield from written_slices(TaskIds.write_all, out, item.standby_tasks, version)
            buf += compact_array_count(item.warmup_tasks)
            yield from written_slices(TaskIds.write_all, out, item.warmup_tasks, version)
            buf += compact_array_count(item.active_tasks_pending_revocation)
            yield from written_slices(TaskIds.write_all, out, item.active_tasks_pending_revocation, version)
            buf += compact_array_count(item.standby_tasks_pending_revocation)
            yield from written_slices(TaskIds.write_all, out, item.standby_tasks_pending_revocation, version)
            buf += compact_array_count(item.warmup_tasks_pending_revocation)
            yield from written_slices(TaskIds.write_all, out, item.warmup_tasks_pending_revocation, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
