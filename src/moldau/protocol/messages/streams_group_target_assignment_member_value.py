# Generated from schema/streams_group_records.wire by tools/generate_messages.py: do not edit.
"""StreamsGroupTargetAssignmentMemberValue: the tasks a member should run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, compact_int32s, read_compact_count, read_compact_int32s
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import compact_string, null_sent, read_compact_string
from moldau.protocol.slices import Slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer


class TaskIds(Struct):
    FIELDS = ("subtopology_id", "partitions")
    __slots__ = FIELDS

    subtopology_id: str
    partitions: list[int]

    def __init__(self, *, subtopology_id: str = "", partitions: list[int] = UNSET) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TaskIds], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.subtopology_id)
            buf += compact_int32s(item.partitions)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TaskIds], int]:
        items: list[TaskIds] = []
        for _ in range(count):
            item = new(TaskIds)
            item.subtopology_id, pos = read_compact_string(data, pos)
            item.partitions, pos = read_compact_int32s(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
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
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class StreamsGroupTargetAssignmentMemberValue(Message):
    FIELDS = ("active_tasks", "standby_tasks", "warmup_tasks")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    active_tasks: list[TaskIds]
    standby_tasks: list[TaskIds]
    warmup_tasks: list[TaskIds]

    def __init__(
        self,
        *,
        active_tasks: list[TaskIds] = UNSET,
        standby_tasks: list[TaskIds] = UNSET,
        warmup_tasks: list[TaskIds] = UNSET,
    ) -> None:
        self.active_tasks = [] if active_tasks is UNSET else active_tasks
        self.standby_tasks = [] if standby_tasks is UNSET else standby_tasks
        self.warmup_tasks = [] if warmup_tasks is UNSET else warmup_tasks
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[StreamsGroupTargetAssignmentMemberValue], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.active_tasks)
            TaskIds.write_all(out, item.active_tasks, version)
            buf += compact_array_count(item.standby_tasks)
            TaskIds.write_all(out, item.standby_tasks, version)
            buf += compact_array_count(item.warmup_tasks)
            TaskIds.write_all(out, item.warmup_tasks, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[StreamsGroupTargetAssignmentMemberValue], int]:
        items: list[StreamsGroupTargetAssignmentMemberValue] = []
        for _ in range(count):
            item = new(StreamsGroupTargetAssignmentMemberValue)
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
    ) -> Slices[tuple[list[StreamsGroupTargetAssignmentMemberValue], int]]:
        items: list[StreamsGroupTargetAssignmentMemberValue] = []
        for _ in range(count):
            item = new(StreamsGroupTargetAssignmentMemberValue)
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
        items: Iterable[StreamsGroupTargetAssignmentMemberValue],
        version: int,
    ) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.active_tasks)
            yield from written_slices(TaskIds.write_all, out, item.active_tasks, version)
            buf += compact_array_count(item.standby_tasks)
            yield from written_slices(TaskIds.write_all, out, item.standby_tasks, version)
            buf += compact_array_count(item.warmup_tasks)
            yield from written_slices(TaskIds.write_all, out, item.warmup_tasks, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
