# Generated from schema/streams_group_records.wire by tools/generate_messages.py: do not edit.
"""StreamsGroupTopologyValue: the subtopologies and their topics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import (
    compact_array_count,
    compact_int16s,
    compact_strings,
    read_compact_count,
    read_compact_int16s,
    read_many,
)
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import compact_string, fixed, null_sent, read_compact_string
from moldau.protocol.slices import Slices, struct_slices, value_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")


class TopicConfig(Struct):
    FIELDS = ("key", "value")
    __slots__ = FIELDS

    key: str
    value: str

    def __init__(self, *, key: str = "", value: str = "") -> None:
        self.key = key
        self.value = value
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TopicConfig], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.key)
            buf += compact_string(item.value)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TopicConfig], int]:
        items: list[TopicConfig] = []
        for _ in range(count):
            item = new(TopicConfig)
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
    topic_configs: list[TopicConfig]

    def __init__(
        self,
        *,
        name: str = "",
        partitions: int = 0,
        replication_factor: int = 0,
        topic_configs: list[TopicConfig] = UNSET,
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
            TopicConfig.write_all(out, item.topic_configs, version)
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
            item.topic_configs, pos = TopicConfig.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[TopicInfo], int]]:
        items: list[TopicInfo] = []
        for _ in range(count):
            item = new(TopicInfo)
            item.name, pos = read_compact_string(data, pos)
            item.partitions, item.replication_factor = _unpack_ih(data, pos)
            pos += 6
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topic_configs")
            item.topic_configs, pos = yield from struct_slices(
                TopicConfig.read_all,
                data,
                pos,
                version,
                size,
                bounded=False,
            )
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[TopicInfo], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += _pack_ih(item.partitions, item.replication_factor)
            buf += compact_array_count(item.topic_configs)
            yield from written_slices(TopicConfig.write_all, out, item.topic_configs, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


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
        items: list[Subtopology] = []
        for _ in range(count):
            item = new(Subtopology)
            item.subtopology_id, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("source_topics")
            item.source_topics, pos = yield from value_slices(read_compact_string, data, pos, size, bounded=False)
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("source_topic_regex")
            item.source_topic_regex, pos = yield from value_slices(read_compact_string, data, pos, size, bounded=False)
            size, pos = read_compact_count(data, pos, 9)
            if size < 0:
                raise null_sent("state_changelog_topics")
            item.state_changelog_topics, pos = yield from TopicInfo.read_slices(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("repartition_sink_topics")
            item.repartition_sink_topics, pos = yield from value_slices(
                read_compact_string,
                data,
                pos,
                size,
                bounded=False,
            )
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

    @staticmethod
    def write_slices(out: Writer, items: Iterable[Subtopology], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.subtopology_id)
            buf += compact_strings(item.source_topics)
            yield len(item.source_topics)
            buf += compact_strings(item.source_topic_regex)
            yield len(item.source_topic_regex)
            buf += compact_array_count(item.state_changelog_topics)
            yield from TopicInfo.write_slices(out, item.state_changelog_topics, version)
            buf += compact_strings(item.repartition_sink_topics)
            yield len(item.repartition_sink_topics)
            buf += compact_array_count(item.repartition_source_topics)
            yield from TopicInfo.write_slices(out, item.repartition_source_topics, version)
            buf += compact_array_count(item.copartition_groups)
            yield from written_slices(CopartitionGroup.write_all, out, item.copartition_groups, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class StreamsGroupTopologyValue(Message):
    FIELDS = ("epoch", "subtopologies")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    epoch: int
    subtopologies: list[Subtopology]

    def __init__(self, *, epoch: int = 0, subtopologies: list[Subtopology] = UNSET) -> None:
        self.epoch = epoch
        self.subtopologies = [] if subtopologies is UNSET else subtopologies
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[StreamsGroupTopologyValue], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.epoch)
            buf += compact_array_count(item.subtopologies)
            Subtopology.write_all(out, item.subtopologies, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[StreamsGroupTopologyValue], int]:
        items: list[StreamsGroupTopologyValue] = []
        for _ in range(count):
            item = new(StreamsGroupTopologyValue)
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
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[StreamsGroupTopologyValue], int]]:
        items: list[StreamsGroupTopologyValue] = []
        for _ in range(count):
            item = new(StreamsGroupTopologyValue)
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

    @staticmethod
    def write_slices(out: Writer, items: Iterable[StreamsGroupTopologyValue], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.epoch)
            buf += compact_array_count(item.subtopologies)
            yield from Subtopology.write_slices(out, item.subtopologies, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
