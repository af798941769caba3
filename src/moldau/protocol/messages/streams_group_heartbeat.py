# Generated from schema/streams_group_heartbeat.wire by tools/generate_messages.py: do not edit.
"""StreamsGroupHeartbeat: a member of a streams group tells its topology and tasks and learns which tasks to run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import (
    compact_array_count,
    compact_int16s,
    compact_int32s,
    compact_strings,
    read_compact_count,
    read_compact_int16s,
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
from moldau.protocol.slices import Slices, check_count, struct_slices, value_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_H, _unpack_H = fixed("H")
_pack_b, _unpack_b = fixed("b")
_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")
_pack_ii, _unpack_ii = fixed("ii")
_pack_iiii, _unpack_iiii = fixed("iiii")
_pack_iq, _unpack_iq = fixed("iq")
_pack_o, _unpack_o = fixed("?")


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
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[TopicInfo], int]]:
        check_count(count)
        items: list[TopicInfo] = []
        for _ in range(count):
            item = new(TopicInfo)
            item.name, pos = read_compact_string(data, pos)
            item.partitions, item.replication_factor = _unpack_ih(data, pos)
            pos += 6
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topic_configs")
            item.topic_configs, pos = yield from struct_slices(KeyValue.read_all, data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class CopartitionGroup(Struct):
    FIELDS = ("source_topics", "source_topic_regex", "repartition_source_topics")
    __slots__ = FIELDS

    source_topics: list[int]
    source_topic_regex: list[int]
    repartition_source_topics: list[int]

    def __init__(
        self,
        *,
        source_topics: list[int] = UNSET,
        source_topic_regex: list[int] = UNSET,
        repartition_source_topics: list[int] = UNSET,
    ) -> None:
        self.source_topics = [] if source_topics is UNSET else source_topics
        self.source_topic_regex = [] if source_topic_regex is UNSET else source_topic_regex
        self.repartition_source_topics = [] if repartition_source_topics is UNSET else repartition_source_topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[CopartitionGroup], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_int16s(item.source_topics)
            buf += compact_int16s(item.source_topic_regex)
            buf += compact_int16s(item.repartition_source_topics)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[CopartitionGroup], int]:
        items: list[CopartitionGroup] = []
        for _ in range(count):
            item = new(CopartitionGroup)
            item.source_topics, pos = read_compact_int16s(data, pos)
            item.source_topic_regex, pos = read_compact_int16s(data, pos)
            item.repartition_source_topics, pos = read_compact_int16s(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[CopartitionGroup], int]]:
        check_count(count)
        items: list[CopartitionGroup] = []
        for _ in range(count):
            item = new(CopartitionGroup)
            item.source_topics, pos = read_compact_int16s(data, pos)
            yield len(item.source_topics)
            item.source_topic_regex, pos = read_compact_int16s(data, pos)
            yield len(item.source_topic_regex)
            item.repartition_source_topics, pos = read_compact_int16s(data, pos)
            yield len(item.repartition_source_topics)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class Subtopology(Struct):
    FIELDS = (
        "subtopology_id",
        "source_topics",
        "source_topic_regex",
        "state_changelog_topics",
        "repartition_sink_topics",
        "repartition_source_topics",
        "copartition_groups",
    )
    __slots__ = FIELDS

    subtopology_id: str
    source_topics: list[str]
    source_topic_regex: list[str]
    state_changelog_topics: list[TopicInfo]
    repartition_sink_topics: list[str]
    repartition_source_topics: list[TopicInfo]
    copartition_groups: list[CopartitionGroup]

    def __init__(
        self,
        *,
        subtopology_id: str = "",
        source_topics: list[str] = UNSET,
        source_topic_regex: list[str] = UNSET,
        state_changelog_topics: list[TopicInfo] = UNSET,
        repartition_sink_topics: list[str] = UNSET,
        repartition_source_topics: list[TopicInfo] = UNSET,
        copartition_groups: list[CopartitionGroup] = UNSET,
    ) -> None:
        self.subtopology_id = subtopology_id
        self.source_topics = [] if source_topics is UNSET else source_topics
        self.source_topic_regex = [] if source_topic_regex is UNSET else source_topic_regex
        self.state_changelog_topics = [] if state_changelog_topics is UNSET else state_changelog_topics
        self.repartition_sink_topics = [] if repartition_sink_topics is UNSET else repartition_sink_topics
        self.repartition_source_topics = [] if repartition_source_topics is UNSET else repartition_source_topics
        self.copartition_groups = [] if copartition_groups is UNSET else copartition_groups
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[Subtopology], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.subtopology_id)
            buf += compact_strings(item.source_topics)
            buf += compact_strings(item.source_topic_regex)
            buf += compact_array_count(item.state_changelog_topics)
            TopicInfo.write_all(out, item.state_changelog_topics, version)
            buf += compact_strings(item.repartition_sink_topics)
            buf += compact_array_count(item.repartition_source_topics)
            TopicInfo.write_all(out, item.repartition_source_topics, version)
            buf += compact_array_count(item.copartition_groups)
            CopartitionGroup.write_all(out, item.copartition_groups, version)
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
                raise null_sent("source_topic_regex")
            item.source_topic_regex, pos = read_many(read_compact_string, data, pos, size)
            size, pos = read_compact_count(data, pos, 9)
            if size < 0:
                raise null_sent("state_changelog_topics")
            item.state_changelog_topics, pos = TopicInfo.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("repartition_sink_topics")
            item.repartition_sink_topics, pos = read_many(read_compact_string, data, pos, size)
            size, pos = read_compact_count(data, pos, 9)
            if size < 0:
                raise null_sent("repartition_source_topics")
            item.repartition_source_topics, pos = TopicInfo.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 4)
            if size < 0:
                raise null_sent("copartition_groups")
            item.copartition_groups, pos = CopartitionGroup.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[Subtopology], int]]:
        check_count(count)
        items: list[Subtopology] = []
        for _ in range(count):
            item = new(Subtopology)
            item.subtopology_id, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("source_topics")
            item.source_topics, pos = yield from value_slices(read_compact_string, data, pos, size)
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("source_topic_regex")
            item.source_topic_regex, pos = yield from value_slices(read_compact_string, data, pos, size)
            size, pos = read_compact_count(data, pos, 9)
            if size < 0:
                raise null_sent("state_changelog_topics")
            item.state_changelog_topics, pos = yield from TopicInfo.read_slices(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("repartition_sink_topics")
            item.repartition_sink_topics, pos = yield from value_slices(read_compact_string, data, pos, size)
            size, pos = read_compact_count(data, pos, 9)
            if size < 0:
                raise null_sent("repartition_source_topics")
            item.repartition_source_topics, pos = yield from TopicInfo.read_slices(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 4)
            if size < 0:
                raise null_sent("copartition_groups")
            item.copartition_groups, pos = yield from CopartitionGroup.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class Topology(Struct):
    FIELDS = ("epoch", "subtopologies")
    __slots__ = FIELDS

    epoch: int
    subtopologies: list[Subtopology]

    def __init__(self, *, epoch: int = 0, subtopologies: list[Subtopology] = UNSET) -> None:
        self.epoch = epoch
        self.subtopologies = [] if subtopologies is UNSET else subtopologies
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[Topology], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.epoch)
            buf += compact_array_count(item.subtopologies)
            Subtopology.write_all(out, item.subtopologies, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[Topology], int]:
        items: list[Topology] = []
        for _ in range(count):
            item = new(Topology)
            (item.epoch,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 8)
            if size < 0:
                raise null_sent("subtopologies")
            item.subtopologies, pos = Subtopology.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[Topology], int]]:
        check_count(count)
        items: list[Topology] = []
        for _ in range(count):
            item = new(Topology)
            (item.epoch,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 8)
            if size < 0:
                raise null_sent("subtopologies")
            item.subtopologies, pos = yield from Subtopology.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class RequestTaskIds(Struct):
    FIELDS = ("subtopology_id", "partitions")
    __slots__ = FIELDS

    subtopology_id: str
    partitions: list[int]

    def __init__(self, *, subtopology_id: str = "", partitions: list[int] = UNSET) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[RequestTaskIds], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.subtopology_id)
            buf += compact_int32s(item.partitions)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RequestTaskIds], int]:
        items: list[RequestTaskIds] = []
        for _ in range(count):
            item = new(RequestTaskIds)
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
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[RequestTaskIds], int]]:
        check_count(count)
        items: list[RequestTaskIds] = []
        for _ in range(count):
            item = new(RequestTaskIds)
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


class RequestEndpoint(Struct):
    FIELDS = ("host", "port")
    __slots__ = FIELDS

    host: str
    port: int

    def __init__(self, *, host: str = "", port: int = 0) -> None:
        self.host = host
        self.port = port
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[RequestEndpoint], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.host)
            buf += _pack_H(item.port)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RequestEndpoint], int]:
        items: list[RequestEndpoint] = []
        for _ in range(count):
            item = new(RequestEndpoint)
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


class StreamsGroupHeartbeatRequest(Message):
    FIELDS = (
        "group_id",
        "member_id",
        "member_epoch",
        "endpoint_information_epoch",
        "instance_id",
        "rack_id",
        "rebalance_timeout_ms",
        "topology",
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
        "process_id",
        "user_endpoint",
        "client_tags",
        "task_offsets",
        "task_end_offsets",
        "shutdown_application",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 88
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    group_id: str
    member_id: str
    member_epoch: int
    endpoint_information_epoch: int
    instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int
    topology: Topology | None
    active_tasks: list[RequestTaskIds] | None
    standby_tasks: list[RequestTaskIds] | None
    warmup_tasks: list[RequestTaskIds] | None
    process_id: str | None
    user_endpoint: RequestEndpoint | None
    client_tags: list[KeyValue] | None
    task_offsets: list[TaskOffset] | None
    task_end_offsets: list[TaskOffset] | None
    shutdown_application: bool

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        endpoint_information_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        topology: Topology | None = None,
        active_tasks: list[RequestTaskIds] | None = None,
        standby_tasks: list[RequestTaskIds] | None = None,
        warmup_tasks: list[RequestTaskIds] | None = None,
        process_id: str | None = None,
        user_endpoint: RequestEndpoint | None = None,
        client_tags: list[KeyValue] | None = None,
        task_offsets: list[TaskOffset] | None = None,
        task_end_offsets: list[TaskOffset] | None = None,
        shutdown_application: bool = False,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.endpoint_information_epoch = endpoint_information_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.topology = topology
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = client_tags
        self.task_offsets = task_offsets
        self.task_end_offsets = task_end_offsets
        self.shutdown_application = shutdown_application
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[StreamsGroupHeartbeatRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.group_id)
            buf += compact_string(item.member_id)
            buf += _pack_ii(item.member_epoch, item.endpoint_information_epoch)
            buf += nullable_compact_string(item.instance_id)
            buf += nullable_compact_string(item.rack_id)
            buf += _pack_i(item.rebalance_timeout_ms)
            topology = item.topology
            if topology is None:
                buf.append(0xFF)
            else:
                buf.append(1)
                Topology.write_all(out, (topology,), version)
            active_tasks = item.active_tasks
            if active_tasks is None:
                buf += COMPACT_NULL
            else:
                buf += compact_array_count(active_tasks)
                RequestTaskIds.write_all(out, active_tasks, version)
            standby_tasks = item.standby_tasks
            if standby_tasks is None:
                buf += COMPACT_NULL
            else:
                buf += compact_array_count(standby_tasks)
                RequestTaskIds.write_all(out, standby_tasks, version)
            warmup_tasks = item.warmup_tasks
            if warmup_tasks is None:
                buf += COMPACT_NULL
            else:
                buf += compact_array_count(warmup_tasks)
                RequestTaskIds.write_all(out, warmup_tasks, version)
            buf += nullable_compact_string(item.process_id)
            user_endpoint = item.user_endpoint
            if user_endpoint is None:
                buf.append(0xFF)
            else:
                buf.append(1)
                RequestEndpoint.write_all(out, (user_endpoint,), version)
            client_tags = item.client_tags
            if client_tags is None:
                buf += COMPACT_NULL
            else:
                buf += compact_array_count(client_tags)
                KeyValue.write_all(out, client_tags, version)
            task_offsets = item.task_offsets
            if task_offsets is None:
                buf += COMPACT_NULL
            else:
                buf += compact_array_count(task_offsets)
                TaskOffset.write_all(out, task_offsets, version)
            task_end_offsets = item.task_end_offsets
            if task_end_offsets is None:
                buf += COMPACT_NULL
            else:
                buf += compact_array_count(task_end_offsets)
                TaskOffset.write_all(out, task_end_offsets, version)
            buf += _pack_o(item.shutdown_application)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[StreamsGroupHeartbeatRequest], int]:
        items: list[StreamsGroupHeartbeatRequest] = []
        for _ in range(count):
            item = new(StreamsGroupHeartbeatRequest)
            item.group_id, pos = read_compact_string(data, pos)
            item.member_id, pos = read_compact_string(data, pos)
            item.member_epoch, item.endpoint_information_epoch = _unpack_ii(data, pos)
            pos += 8
            item.instance_id, pos = read_nullable_compact_string(data, pos)
            item.rack_id, pos = read_nullable_compact_string(data, pos)
            (item.rebalance_timeout_ms,) = _unpack_i(data, pos)
            pos += 4
            if data[pos] > 0x7F:
                pos += 1
                item.topology = None
            else:
                pos += 1
                (item.topology,), pos = Topology.read_all(data, pos, version, 1)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                item.active_tasks = None
            else:
                item.active_tasks, pos = RequestTaskIds.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                item.standby_tasks = None
            else:
                item.standby_tasks, pos = RequestTaskIds.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                item.warmup_tasks = None
            else:
                item.warmup_tasks, pos = RequestTaskIds.read_all(data, pos, version, size)
            item.process_id, pos = read_nullable_compact_string(data, pos)
            if data[pos] > 0x7F:
                pos += 1
                item.user_endpoint = None
            else:
                pos += 1
                (item.user_endpoint,), pos = RequestEndpoint.read_all(data, pos, version, 1)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                item.client_tags = None
            else:
                item.client_tags, pos = KeyValue.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 14)
            if size < 0:
                item.task_offsets = None
            else:
                item.task_offsets, pos = TaskOffset.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 14)
            if size < 0:
                item.task_end_offsets = None
            else:
                item.task_end_offsets, pos = TaskOffset.read_all(data, pos, version, size)
            (item.shutdown_application,) = _unpack_o(data, pos)
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
    ) -> Slices[tuple[list[StreamsGroupHeartbeatRequest], int]]:
        check_count(count)
        items: list[StreamsGroupHeartbeatRequest] = []
        for _ in range(count):
            item = new(StreamsGroupHeartbeatRequest)
            item.group_id, pos = read_compact_string(data, pos)
            item.member_id, pos = read_compact_string(data, pos)
            item.member_epoch, item.endpoint_information_epoch = _unpack_ii(data, pos)
            pos += 8
            item.instance_id, pos = read_nullable_compact_string(data, pos)
            item.rack_id, pos = read_nullable_compact_string(data, pos)
            (item.rebalance_timeout_ms,) = _unpack_i(data, pos)
            pos += 4
            if data[pos] > 0x7F:
                pos += 1
                item.topology = None
            else:
                pos += 1
                (item.topology,), pos = yield from Topology.read_slices(data, pos, version, 1)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                item.active_tasks = None
            else:
                item.active_tasks, pos = yield from RequestTaskIds.read_slices(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                item.standby_tasks = None
            else:
                item.standby_tasks, pos = yield from RequestTaskIds.read_slices(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                item.warmup_tasks = None
            else:
                item.warmup_tasks, pos = yield from RequestTaskIds.read_slices(data, pos, version, size)
            item.process_id, pos = read_nullable_compact_string(data, pos)
            if data[pos] > 0x7F:
                pos += 1
                item.user_endpoint = None
            else:
                pos += 1
                (item.user_endpoint,), pos = RequestEndpoint.read_all(data, pos, version, 1)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                item.client_tags = None
            else:
                item.client_tags, pos = yield from struct_slices(KeyValue.read_all, data, pos, version, size)
            size, pos = read_compact_count(data, pos, 14)
            if size < 0:
                item.task_offsets = None
            else:
                item.task_offsets, pos = yield from struct_slices(TaskOffset.read_all, data, pos, version, size)
            size, pos = read_compact_count(data, pos, 14)
            if size < 0:
                item.task_end_offsets = None
            else:
                item.task_end_offsets, pos = yield from struct_slices(TaskOffset.read_all, data, pos, version, size)
            (item.shutdown_application,) = _unpack_o(data, pos)
            pos += 1
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class Status(Struct):
    FIELDS = ("status_code", "status_detail")
    __slots__ = FIELDS

    status_code: int
    status_detail: str

    def __init__(self, *, status_code: int = 0, status_detail: str = "") -> None:
        self.status_code = status_code
        self.status_detail = status_detail
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[Status], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_b(item.status_code)
            buf += compact_string(item.status_detail)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[Status], int]:
        items: list[Status] = []
        for _ in range(count):
            item = new(Status)
            (item.status_code,) = _unpack_b(data, pos)
            pos += 1
            item.status_detail, pos = read_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class ResponseTaskIds(Struct):
    FIELDS = ("subtopology_id", "partitions")
    __slots__ = FIELDS

    subtopology_id: str
    partitions: list[int]

    def __init__(self, *, subtopology_id: str = "", partitions: list[int] = UNSET) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ResponseTaskIds], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.subtopology_id)
            buf += compact_int32s(item.partitions)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ResponseTaskIds], int]:
        items: list[ResponseTaskIds] = []
        for _ in range(count):
            item = new(ResponseTaskIds)
            item.subtopology_id, pos = read_compact_string(data, pos)
            item.partitions, pos = read_compact_int32s(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class ResponseEndpoint(Struct):
    FIELDS = ("host", "port")
    __slots__ = FIELDS

    host: str
    port: int

    def __init__(self, *, host: str = "", port: int = 0) -> None:
        self.host = host
        self.port = port
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ResponseEndpoint], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.host)
            buf += _pack_H(item.port)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ResponseEndpoint], int]:
        items: list[ResponseEndpoint] = []
        for _ in range(count):
            item = new(ResponseEndpoint)
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


class TopicPartition(Struct):
    FIELDS = ("topic", "partitions")
    __slots__ = FIELDS

    topic: str
    partitions: list[int]

    def __init__(self, *, topic: str = "", partitions: list[int] = UNSET) -> None:
        self.topic = topic
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TopicPartition], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.topic)
            buf += compact_int32s(item.partitions)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TopicPartition], int]:
        items: list[TopicPartition] = []
        for _ in range(count):
            item = new(TopicPartition)
            item.topic, pos = read_compact_string(data, pos)
            item.partitions, pos = read_compact_int32s(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class EndpointToPartitions(Struct):
    FIELDS = ("user_endpoint", "active_partitions", "standby_partitions")
    __slots__ = FIELDS

    user_endpoint: ResponseEndpoint
    active_partitions: list[TopicPartition]
    standby_partitions: list[TopicPartition]

    def __init__(
        self,
        *,
        user_endpoint: ResponseEndpoint = UNSET,
        active_partitions: list[TopicPartition] = UNSET,
        standby_partitions: list[TopicPartition] = UNSET,
    ) -> None:
        self.user_endpoint = ResponseEndpoint() if user_endpoint is UNSET else user_endpoint
        self.active_partitions = [] if active_partitions is UNSET else active_partitions
        self.standby_partitions = [] if standby_partitions is UNSET else standby_partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[EndpointToPartitions], version: int) -> None:
        buf = out.buffer
        for item in items:
            ResponseEndpoint.write_all(out, (item.user_endpoint,), version)
            buf += compact_array_count(item.active_partitions)
            TopicPartition.write_all(out, item.active_partitions, version)
            buf += compact_array_count(item.standby_partitions)
            TopicPartition.write_all(out, item.standby_partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[EndpointToPartitions], int]:
        items: list[EndpointToPartitions] = []
        for _ in range(count):
            item = new(EndpointToPartitions)
            (item.user_endpoint,), pos = ResponseEndpoint.read_all(data, pos, version, 1)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("active_partitions")
            item.active_partitions, pos = TopicPartition.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("standby_partitions")
            item.standby_partitions, pos = TopicPartition.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[EndpointToPartitions], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            yield from written_slices(ResponseEndpoint.write_all, out, (item.user_endpoint,), version)
            buf += compact_array_count(item.active_partitions)
            yield from written_slices(TopicPartition.write_all, out, item.active_partitions, version)
            buf += compact_array_count(item.standby_partitions)
            yield from written_slices(TopicPartition.write_all, out, item.standby_partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class StreamsGroupHeartbeatResponse(Message):
    FIELDS = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "member_id",
        "member_epoch",
        "heartbeat_interval_ms",
        "acceptable_recovery_lag",
        "task_offset_interval_ms",
        "status",
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
        "endpoint_information_epoch",
        "partitions_by_user_endpoint",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 88
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int
    acceptable_recovery_lag: int
    task_offset_interval_ms: int
    status: list[Status] | None
    active_tasks: list[ResponseTaskIds] | None
    standby_tasks: list[ResponseTaskIds] | None
    warmup_tasks: list[ResponseTaskIds] | None
    endpoint_information_epoch: int
    partitions_by_user_endpoint: list[EndpointToPartitions] | None

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str = "",
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        acceptable_recovery_lag: int = 0,
        task_offset_interval_ms: int = 0,
        status: list[Status] | None = UNSET,
        active_tasks: list[ResponseTaskIds] | None = None,
        standby_tasks: list[ResponseTaskIds] | None = None,
        warmup_tasks: list[ResponseTaskIds] | None = None,
        endpoint_information_epoch: int = 0,
        partitions_by_user_endpoint: list[EndpointToPartitions] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.acceptable_recovery_lag = acceptable_recovery_lag
        self.task_offset_interval_ms = task_offset_interval_ms
        self.status = [] if status is UNSET else status
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.endpoint_information_epoch = endpoint_information_epoch
        self.partitions_by_user_endpoint = partitions_by_user_endpoint
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[StreamsGroupHeartbeatResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += compact_string(item.member_id)
            buf += _pack_iiii(
                item.member_epoch,
                item.heartbeat_interval_ms,
                item.acceptable_recovery_lag,
                item.task_offset_interval_ms,
            )
            status = item.status
            if status is None:
                buf += COMPACT_NULL
            else:
                buf += compact_array_count(status)
                Status.write_all(out, status, version)
            active_tasks = item.active_tasks
            if active_tasks is None:
                buf += COMPACT_NULL
            else:
                buf += compact_array_count(active_tasks)
                ResponseTaskIds.write_all(out, active_tasks, version)
            standby_tasks = item.standby_tasks
            if standby_tasks is None:
                buf += COMPACT_NULL
            else:
                buf += compact_array_count(standby_tasks)
                ResponseTaskIds.write_all(out, standby_tasks, version)
            warmup_tasks = item.warmup_tasks
            if warmup_tasks is None:
                buf += COMPACT_NULL
            else:
                buf += compact_array_count(warmup_tasks)
                ResponseTaskIds.write_all(out, warmup_tasks, version)
            buf += _pack_i(item.endpoint_information_epoch)
            partitions_by_user_endpoint = item.partitions_by_user_endpoint
            if partitions_by_user_endpoint is None:
                buf += COMPACT_NULL
            else:
                buf += compact_array_count(partitions_by_user_endpoint)
                EndpointToPartitions.write_all(out, partitions_by_user_endpoint, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[StreamsGroupHeartbeatResponse], int]:
        items: list[StreamsGroupHeartbeatResponse] = []
        for _ in range(count):
            item = new(StreamsGroupHeartbeatResponse)
            item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.error_message, pos = read_nullable_compact_string(data, pos)
            item.member_id, pos = read_compact_string(data, pos)
            (
                item.member_epoch,
                item.heartbeat_interval_ms,
                item.acceptable_recovery_lag,
                item.task_offset_interval_ms,
            ) = _unpack_iiii(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                item.status = None
            else:
                item.status, pos = Status.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                item.active_tasks = None
            else:
                item.active_tasks, pos = ResponseTaskIds.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                item.standby_tasks = None
            else:
                item.standby_tasks, pos = ResponseTaskIds.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                item.warmup_tasks = None
            else:
                item.warmup_tasks, pos = ResponseTaskIds.read_all(data, pos, version, size)
            (item.endpoint_information_epoch,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 7)
            if size < 0:
                item.partitions_by_user_endpoint = None
            else:
                item.partitions_by_user_endpoint, pos = EndpointToPartitions.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[StreamsGroupHeartbeatResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += compact_string(item.member_id)
            buf += _pack_iiii(
                item.member_epoch,
                item.heartbeat_interval_ms,
                item.acceptable_recovery_lag,
                item.task_offset_interval_ms,
            )
            status = item.status
            if status is None:
                buf += COMPACT_NULL
            else:
                buf += compact_array_count(status)
                yield from written_slices(Status.write_all, out, status, version)
            active_tasks = item.active_tasks
            if active_tasks is None:
                buf += COMPACT_NULL
            else:
                buf += compact_array_count(active_tasks)
                yield from written_slices(ResponseTaskIds.write_all, out, active_tasks, version)
            standby_tasks = item.standby_tasks
            if standby_tasks is None:
                buf += COMPACT_NULL
            else:
                buf += compact_array_count(standby_tasks)
                yield from written_slices(ResponseTaskIds.write_all, out, standby_tasks, version)
            warmup_tasks = item.warmup_tasks
            if warmup_tasks is None:
                buf += COMPACT_NULL
            else:
                buf += compact_array_count(warmup_tasks)
                yield from written_slices(ResponseTaskIds.write_all, out, warmup_tasks, version)
            buf += _pack_i(item.endpoint_information_epoch)
            partitions_by_user_endpoint = item.partitions_by_user_endpoint
            if partitions_by_user_endpoint is None:
                buf += COMPACT_NULL
            else:
                buf += compact_array_count(partitions_by_user_endpoint)
                yield from EndpointToPartitions.write_slices(out, partitions_by_user_endpoint, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
