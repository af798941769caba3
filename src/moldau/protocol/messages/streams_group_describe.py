# Generated from schema/streams_group_describe.wire by tools/generate_messages.py: do not edit.
"""StreamsGroupDescribe: state, topology, members and tasks of streams groups."""

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

_pack_H, _unpack_H = fixed("H")
_pack_h, _unpack_h = fixed("h")
_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")
_pack_ii, _unpack_ii = fixed("ii")
_pack_iq, _unpack_iq = fixed("iq")
_pack_o, _unpack_o = fixed("?")


class StreamsGroupDescribeRequest(Message):
    FIELDS = ("group_ids", "include_authorized_operations")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 89
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    group_ids: list[str]
    include_authorized_operations: bool

    def __init__(self, *, group_ids: list[str] = UNSET, include_authorized_operations: bool = False) -> None:
        self.group_ids = [] if group_ids is UNSET else group_ids
        self.include_authorized_operations = include_authorized_operations
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[StreamsGroupDescribeRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_strings(item.group_ids)
            buf += _pack_o(item.include_authorized_operations)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[StreamsGroupDescribeRequest], int]:
        items: list[StreamsGroupDescribeRequest] = []
        for _ in range(count):
            item = new(StreamsGroupDescribeRequest)
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
    ) -> Slices[tuple[list[StreamsGroupDescribeRequest], int]]:
        check_count(count)
        items: list[StreamsGroupDescribeRequest] = []
        for _ in range(count):
            item = new(StreamsGroupDescribeRequest)
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


class KeyValue(Struct):
    FIELDS = ("key", "value")
    __slots__ = FIELDS

    key: str
    value: str

    def __init__(self, *, key: str = "", value: str = "") -> None:
        self.key = key
        self.value = value
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[KeyValue], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.key)
            buf += compact_string(item.value)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[KeyValue], int]:
        items: list[KeyValue] = []
        for _ in range(count):
            item = new(KeyValue)
            item.key, pos = read_compact_string(data, pos)
            item.value, pos = read_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class TopicInfo(Struct):
    FIELDS = ("name", "partitions", "replication_factor", "topic_configs")
    __slots__ = FIELDS

    name: str
    partitions: int
    replication_factor: int
    topic_configs: list[KeyValue]

    def __init__(
        self,
        *,
        name: str = "",
        partitions: int = 0,
        replication_factor: int = 0,
        topic_configs: list[KeyValue] = UNSET,
    ) -> None:
        self.name = name
        self.partitions = partitions
        self.replication_factor = replication_factor
        self.topic_configs = [] if topic_configs is UNSET else topic_configs
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TopicInfo], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += _pack_ih(item.partitions, item.replication_factor)
            buf += compact_array_count(item.topic_configs)
            KeyValue.write_all(out, item.topic_configs, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TopicInfo], int]:
        items: list[TopicInfo] = []
        for _ in range(count):
            item = new(TopicInfo)
            item.name, pos = read_compact_string(data, pos)
            item.partitions, item.replication_factor = _unpack_ih(data, pos)
            pos += 6
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topic_configs")
            item.topic_configs, pos = KeyValue.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[TopicInfo], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += _pack_ih(item.partitions, item.replication_factor)
            buf += compact_array_count(item.topic_configs)
            yield from written_slices(KeyValue.write_all, out, item.topic_configs, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class Subtopology(Struct):
    FIELDS = (
        "subtopology_id",
        "source_topics",
        "repartition_sink_topics",
        "state_changelog_topics",
        "repartition_source_topics",
    )
    __slots__ = FIELDS

    subtopology_id: str
    source_topics: list[str]
    repartition_sink_topics: list[str]
    state_changelog_topics: list[TopicInfo]
    repartition_source_topics: list[TopicInfo]

    def __init__(
        self,
        *,
        subtopology_id: str = "",
        source_topics: list[str] = UNSET,
        repartition_sink_topics: list[str] = UNSET,
        state_changelog_topics: list[TopicInfo] = UNSET,
        repartition_source_topics: list[TopicInfo] = UNSET,
    ) -> None:
        self.subtopology_id = subtopology_id
        self.source_topics = [] if source_topics is UNSET else source_topics
        self.repartition_sink_topics = [] if repartition_sink_topics is UNSET else repartition_sink_topics
        self.state_changelog_topics = [] if state_changelog_topics is UNSET else state_changelog_topics
        self.repartition_source_topics = [] if repartition_source_topics is UNSET else repartition_source_topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[Subtopology], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.subtopology_id)
            buf += compact_strings(item.source_topics)
            buf += compact_strings(item.repartition_sink_topics)
            buf += compact_array_count(item.state_changelog_topics)
            TopicInfo.write_all(out, item.state_changelog_topics, version)
            buf += compact_array_count(item.repartition_source_topics)
            TopicInfo.write_all(out, item.repartition_source_topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[Subtopology], int]:
        items: list[Subtopology] = []
        for _ in range(count):
            item = new(Subtopology)
            item.subtopology_id, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("source_topics")
            item.source_topics, pos = read_many(read_compact_string, data, pos, size)
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("repartition_sink_topics")
            item.repartition_sink_topics, pos = read_many(read_compact_string, data, pos, size)
            size, pos = read_compact_count(data, pos, 9)
            if size < 0:
                raise null_sent("state_changelog_topics")
            item.state_changelog_topics, pos = TopicInfo.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 9)
            if size < 0:
                raise null_sent("repartition_source_topics")
            item.repartition_source_topics, pos = TopicInfo.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[Subtopology], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.subtopology_id)
            buf += compact_strings(item.source_topics)
            yield len(item.source_topics)
            buf += compact_strings(item.repartition_sink_topics)
            yield len(item.repartition_sink_topics)
            buf += compact_array_count(item.state_changelog_topics)
            yield from TopicInfo.write_slices(out, item.state_changelog_topics, version)
            buf += compact_array_count(item.repartition_source_topics)
            yield from TopicInfo.write_slices(out, item.repartition_source_topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class Topology(Struct):
    FIELDS = ("epoch", "subtopologies")
    __slots__ = FIELDS

    epoch: int
    subtopologies: list[Subtopology] | None

    def __init__(self, *, epoch: int = 0, subtopologies: list[Subtopology] | None = None) -> None:
        self.epoch = epoch
        self.subtopologies = subtopologies
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[Topology], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.epoch)
            subtopologies = item.subtopologies
            if subtopologies is None:
                buf += COMPACT_NULL
            else:
                buf += compact_array_count(subtopologies)
                Subtopology.write_all(out, subtopologies, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[Topology], int]:
        items: list[Topology] = []
        for _ in range(count):
            item = new(Topology)
            (item.epoch,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 6)
            if size < 0:
                item.subtopologies = None
            else:
                item.subtopologies, pos = Subtopology.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[Topology], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.epoch)
            subtopologies = item.subtopologies
            if subtopologies is None:
                buf += COMPACT_NULL
            else:
                buf += compact_array_count(subtopologies)
                yield from Subtopology.write_slices(out, subtopologies, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class Endpoint(Struct):
    FIELDS = ("host", "port")
    __slots__ = FIELDS

    host: str
    port: int

    def __init__(self, *, host: str = "", port: int = 0) -> None:
        self.host = host
        self.port = port
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[Endpoint], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.host)
            buf += _pack_H(item.port)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[Endpoint], int]:
        items: list[Endpoint] = []
        for _ in range(count):
            item = new(Endpoint)
            item.host, pos = read_compact_string(data, pos)
            (item.port,) = _unpack_H(data, pos)
            pos += 2
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class TaskOffset(Struct):
    FIELDS = ("subtopology_id", "partition", "offset")
    __slots__ = FIELDS

    subtopology_id: str
    partition: int
    offset: int

    def __init__(self, *, subtopology_id: str = "", partition: int = 0, offset: int = 0) -> None:
        self.subtopology_id = subtopology_id
        self.partition = partition
        self.offset = offset
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TaskOffset], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.subtopology_id)
            buf += _pack_iq(item.partition, item.offset)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TaskOffset], int]:
        items: list[TaskOffset] = []
        for _ in range(count):
            item = new(TaskOffset)
            item.subtopology_id, pos = read_compact_string(data, pos)
            item.partition, item.offset = _unpack_iq(data, pos)
            pos += 12
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


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


class Assignment(Struct):
    FIELDS = ("active_tasks", "standby_tasks", "warmup_tasks")
    __slots__ = FIELDS

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
    def write_all(out: Writer, items: Iterable[Assignment], version: int) -> None:
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
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[Assignment], int]:
        items: list[Assignment] = []
        for _ in range(count):
            item = new(Assignment)
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
    def write_slices(out: Writer, items: Iterable[Assignment], version: int) -> Slices[None]:
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


class Member(Struct):
    FIELDS = (
        "member_id",
        "member_epoch",
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "topology_epoch",
        "process_id",
        "user_endpoint",
        "client_tags",
        "task_offsets",
        "task_end_offsets",
        "assignment",
        "target_assignment",
        "is_classic",
    )
    __slots__ = FIELDS

    member_id: str
    member_epoch: int
    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    topology_epoch: int
    process_id: str
    user_endpoint: Endpoint | None
    client_tags: list[KeyValue]
    task_offsets: list[TaskOffset]
    task_end_offsets: list[TaskOffset]
    assignment: Assignment
    target_assignment: Assignment
    is_classic: bool

    def __init__(
        self,
        *,
        member_id: str = "",
        member_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        topology_epoch: int = 0,
        process_id: str = "",
        user_endpoint: Endpoint | None = None,
        client_tags: list[KeyValue] = UNSET,
        task_offsets: list[TaskOffset] = UNSET,
        task_end_offsets: list[TaskOffset] = UNSET,
        assignment: Assignment = UNSET,
        target_assignment: Assignment = UNSET,
        is_classic: bool = False,
    ) -> None:
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.topology_epoch = topology_epoch
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = [] if client_tags is UNSET else client_tags
        self.task_offsets = [] if task_offsets is UNSET else task_offsets
        self.task_end_offsets = [] if task_end_offsets is UNSET else task_end_offsets
        self.assignment = Assignment() if assignment is UNSET else assignment
        self.target_assignment = Assignment() if target_assignment is UNSET else target_assignment
        self.is_classic = is_classic
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[Member], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.member_id)
            buf += _pack_i(item.member_epoch)
            buf += nullable_compact_string(item.instance_id)
            buf += nullable_compact_string(item.rack_id)
            buf += compact_string(item.client_id)
            buf += compact_string(item.client_host)
            buf += _pack_i(item.topology_epoch)
            buf += compact_string(item.process_id)
            user_endpoint = item.user_endpoint
            if user_endpoint is None:
                buf.append(0xFF)
            else:
                buf.append(1)
                Endpoint.write_all(out, (user_endpoint,), version)
            buf += compact_array_count(item.client_tags)
            KeyValue.write_all(out, item.client_tags, version)
            buf += compact_array_count(item.task_offsets)
            TaskOffset.write_all(out, item.task_offsets, version)
            buf += compact_array_count(item.task_end_offsets)
            TaskOffset.write_all(out, item.task_end_offsets, version)
            Assignment.write_all(out, (item.assignment,), version)
            Assignment.write_all(out, (item.target_assignment,), version)
            buf += _pack_o(item.is_classic)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[Member], int]:
        items: list[Member] = []
        for _ in range(count):
            item = new(Member)
            item.member_id, pos = read_compact_string(data, pos)
            (item.member_epoch,) = _unpack_i(data, pos)
            pos += 4
            item.instance_id, pos = read_nullable_compact_string(data, pos)
            item.rack_id, pos = read_nullable_compact_string(data, pos)
            item.client_id, pos = read_compact_string(data, pos)
            item.client_host, pos = read_compact_string(data, pos)
            (item.topology_epoch,) = _unpack_i(data, pos)
            pos += 4
            item.process_id, pos = read_compact_string(data, pos)
            if data[pos] > 0x7F:
                pos += 1
                item.user_endpoint = None
            else:
                pos += 1
                (item.user_endpoint,), pos = Endpoint.read_all(data, pos, version, 1)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("client_tags")
            item.client_tags, pos = KeyValue.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 14)
            if size < 0:
                raise null_sent("task_offsets")
            item.task_offsets, pos = TaskOffset.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 14)
            if size < 0:
                raise null_sent("task_end_offsets")
            item.task_end_offsets, pos = TaskOffset.read_all(data, pos, version, size)
            (item.assignment,), pos = Assignment.read_all(data, pos, version, 1)
            (item.target_assignment,), pos = Assignment.read_all(data, pos, version, 1)
            (item.is_classic,) = _unpack_o(data, pos)
            pos += 1
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
            buf += _pack_i(item.member_epoch)
            buf += nullable_compact_string(item.instance_id)
            buf += nullable_compact_string(item.rack_id)
            buf += compact_string(item.client_id)
            buf += compact_string(item.client_host)
            buf += _pack_i(item.topology_epoch)
            buf += compact_string(item.process_id)
            user_endpoint = item.user_endpoint
            if user_endpoint is None:
                buf.append(0xFF)
            else:
                buf.append(1)
                yield from written_slices(Endpoint.write_all, out, (user_endpoint,), version)
            buf += compact_array_count(item.client_tags)
            yield from written_slices(KeyValue.write_all, out, item.client_tags, version)
            buf += compact_array_count(item.task_offsets)
            yield from written_slices(TaskOffset.write_all, out, item.task_offsets, version)
            buf += compact_array_count(item.task_end_offsets)
            yield from written_slices(TaskOffset.write_all, out, item.task_end_offsets, version)
            yield from Assignment.write_slices(out, (item.assignment,), version)
            yield from Assignment.write_slices(out, (item.target_assignment,), version)
            buf += _pack_o(item.is_classic)
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
        "topology",
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
    topology: Topology | None
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
        topology: Topology | None = None,
        members: list[Member] = UNSET,
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.group_epoch = group_epoch
        self.assignment_epoch = assignment_epoch
        self.topology = topology
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
            topology = item.topology
            if topology is None:
                buf.append(0xFF)
            else:
                buf.append(1)
                Topology.write_all(out, (topology,), version)
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
            if data[pos] > 0x7F:
                pos += 1
                item.topology = None
            else:
                pos += 1
                (item.topology,), pos = Topology.read_all(data, pos, version, 1)
            size, pos = read_compact_count(data, pos, 28)
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
            topology = item.topology
            if topology is None:
                buf.append(0xFF)
            else:
                buf.append(1)
                yield from Topology.write_slices(out, (topology,), version)
            buf += compact_array_count(item.members)
            yield from Member.write_slices(out, item.members, version)
            buf += _pack_i(item.authorized_operations)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class StreamsGroupDescribeResponse(Message):
    FIELDS = ("throttle_time_ms", "groups")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 89
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    groups: list[DescribedGroup]

    def __init__(self, *, throttle_time_ms: int = 0, groups: list[DescribedGroup] = UNSET) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is UNSET else groups
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[StreamsGroupDescribeResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += compact_array_count(item.groups)
            DescribedGroup.write_all(out, item.groups, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[StreamsGroupDescribeResponse], int]:
        items: list[StreamsGroupDescribeResponse] = []
        for _ in range(count):
            item = new(StreamsGroupDescribeResponse)
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
    def write_slices(out: Writer, items: Iterable[StreamsGroupDescribeResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += compact_array_count(item.groups)
            yield from DescribedGroup.write_slices(out, item.groups, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
