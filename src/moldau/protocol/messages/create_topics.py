# Generated from schema/create_topics.wire by tools/generate_messages.py: do not edit.
"""CreateTopics: creates topics.

Since version
   4  -1 leaves partitions and replication factor to the broker
   5  flexible; the answer describes the topic and its settings
   7  topic ids in the answer
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import (
    array_count,
    compact_array_count,
    compact_int32s,
    int32s,
    read_compact_count,
    read_compact_int32s,
    read_count,
    read_int32s,
)
from moldau.protocol.message import UNSET, Message, Struct, new, no_tags
from moldau.protocol.primitives import (
    COMPACT_NULL,
    compact_string,
    fixed,
    null_sent,
    nullable_compact_string,
    nullable_string,
    read_compact_string,
    read_nullable_compact_string,
    read_nullable_string,
    read_string,
    string,
)
from moldau.protocol.slices import Slices, check_count, struct_slices, written_slices
from moldau.protocol.tagged_fields import check_tag_end, keep_tag, read_tag, read_tag_count, read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_h, _unpack_h = fixed("h")
_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")
_pack_io, _unpack_io = fixed("i?")
_pack_obo, _unpack_obo = fixed("?b?")
_pack_uh, _unpack_uh = fixed("16sh")


class CreatableReplicaAssignment(Struct):
    FIELDS = ("partition_index", "broker_ids")
    __slots__ = FIELDS

    partition_index: int
    broker_ids: list[int]

    def __init__(self, *, partition_index: int = 0, broker_ids: list[int] = UNSET) -> None:
        self.partition_index = partition_index
        self.broker_ids = [] if broker_ids is UNSET else broker_ids
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[CreatableReplicaAssignment], version: int) -> None:
        buf = out.buffer
        if version >= 5:
            for item in items:
                buf += _pack_i(item.partition_index)
                buf += compact_int32s(item.broker_ids)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_i(item.partition_index)
            buf += int32s(item.broker_ids)
            if item.unknown_tags:
                raise no_tags("CreatableReplicaAssignment", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[CreatableReplicaAssignment], int]:
        items: list[CreatableReplicaAssignment] = []
        if version >= 5:
            for _ in range(count):
                item = new(CreatableReplicaAssignment)
                (item.partition_index,) = _unpack_i(data, pos)
                pos += 4
                item.broker_ids, pos = read_compact_int32s(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(CreatableReplicaAssignment)
            (item.partition_index,) = _unpack_i(data, pos)
            pos += 4
            item.broker_ids, pos = read_int32s(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[CreatableReplicaAssignment], int]]:
        check_count(count)
        items: list[CreatableReplicaAssignment] = []
        if version >= 5:
            for _ in range(count):
                item = new(CreatableReplicaAssignment)
                (item.partition_index,) = _unpack_i(data, pos)
                pos += 4
                item.broker_ids, pos = read_compact_int32s(data, pos)
                yield len(item.broker_ids)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(CreatableReplicaAssignment)
            (item.partition_index,) = _unpack_i(data, pos)
            pos += 4
            item.broker_ids, pos = read_int32s(data, pos)
            yield len(item.broker_ids)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class CreatableTopicConfig(Struct):
    FIELDS = ("name", "value")
    __slots__ = FIELDS

    name: str
    value: str | None

    def __init__(self, *, name: str = "", value: str | None = "") -> None:
        self.name = name
        self.value = value
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[CreatableTopicConfig], version: int) -> None:
        buf = out.buffer
        if version >= 5:
            for item in items:
                buf += compact_string(item.name)
                buf += nullable_compact_string(item.value)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.name)
            buf += nullable_string(item.value)
            if item.unknown_tags:
                raise no_tags("CreatableTopicConfig", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[CreatableTopicConfig], int]:
        items: list[CreatableTopicConfig] = []
        if version >= 5:
            for _ in range(count):
                item = new(CreatableTopicConfig)
                item.name, pos = read_compact_string(data, pos)
                item.value, pos = read_nullable_compact_string(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(CreatableTopicConfig)
            item.name, pos = read_string(data, pos)
            item.value, pos = read_nullable_string(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class CreatableTopic(Struct):
    FIELDS = ("name", "num_partitions", "replication_factor", "assignments", "configs")
    __slots__ = FIELDS

    name: str
    num_partitions: int
    replication_factor: int
    assignments: list[CreatableReplicaAssignment]
    configs: list[CreatableTopicConfig]

    def __init__(
        self,
        *,
        name: str = "",
        num_partitions: int = 0,
        replication_factor: int = 0,
        assignments: list[CreatableReplicaAssignment] = UNSET,
        configs: list[CreatableTopicConfig] = UNSET,
    ) -> None:
        self.name = name
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.assignments = [] if assignments is UNSET else assignments
        self.configs = [] if configs is UNSET else configs
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[CreatableTopic], version: int) -> None:
        buf = out.buffer
        if version >= 5:
            for item in items:
                buf += compact_string(item.name)
                buf += _pack_ih(item.num_partitions, item.replication_factor)
                buf += compact_array_count(item.assignments)
                CreatableReplicaAssignment.write_all(out, item.assignments, version)
                buf += compact_array_count(item.configs)
                CreatableTopicConfig.write_all(out, item.configs, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.name)
            buf += _pack_ih(item.num_partitions, item.replication_factor)
            buf += array_count(item.assignments)
            CreatableReplicaAssignment.write_all(out, item.assignments, version)
            buf += array_count(item.configs)
            CreatableTopicConfig.write_all(out, item.configs, version)
            if item.unknown_tags:
                raise no_tags("CreatableTopic", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[CreatableTopic], int]:
        items: list[CreatableTopic] = []
        if version >= 5:
            for _ in range(count):
                item = new(CreatableTopic)
                item.name, pos = read_compact_string(data, pos)
                item.num_partitions, item.replication_factor = _unpack_ih(data, pos)
                pos += 6
                size, pos = read_compact_count(data, pos, 6)
                if size < 0:
                    raise null_sent("assignments")
                item.assignments, pos = CreatableReplicaAssignment.read_all(data, pos, version, size)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("configs")
                item.configs, pos = CreatableTopicConfig.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(CreatableTopic)
            item.name, pos = read_string(data, pos)
            item.num_partitions, item.replication_factor = _unpack_ih(data, pos)
            pos += 6
            size, pos = read_count(data, pos, 8)
            if size < 0:
                raise null_sent("assignments")
            item.assignments, pos = CreatableReplicaAssignment.read_all(data, pos, version, size)
            size, pos = read_count(data, pos, 4)
            if size < 0:
                raise null_sent("configs")
            item.configs, pos = CreatableTopicConfig.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[CreatableTopic], int]]:
        check_count(count)
        items: list[CreatableTopic] = []
        if version >= 5:
            for _ in range(count):
                item = new(CreatableTopic)
                item.name, pos = read_compact_string(data, pos)
                item.num_partitions, item.replication_factor = _unpack_ih(data, pos)
                pos += 6
                size, pos = read_compact_count(data, pos, 6)
                if size < 0:
                    raise null_sent("assignments")
                item.assignments, pos = yield from CreatableReplicaAssignment.read_slices(data, pos, version, size)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("configs")
                item.configs, pos = yield from struct_slices(CreatableTopicConfig.read_all, data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(CreatableTopic)
            item.name, pos = read_string(data, pos)
            item.num_partitions, item.replication_factor = _unpack_ih(data, pos)
            pos += 6
            size, pos = read_count(data, pos, 8)
            if size < 0:
                raise null_sent("assignments")
            item.assignments, pos = yield from CreatableReplicaAssignment.read_slices(data, pos, version, size)
            size, pos = read_count(data, pos, 4)
            if size < 0:
                raise null_sent("configs")
            item.configs, pos = yield from struct_slices(CreatableTopicConfig.read_all, data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[CreatableTopic], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 5:
            for item in items:
                buf += compact_string(item.name)
                buf += _pack_ih(item.num_partitions, item.replication_factor)
                buf += compact_array_count(item.assignments)
                yield from written_slices(CreatableReplicaAssignment.write_all, out, item.assignments, version)
                buf += compact_array_count(item.configs)
                yield from written_slices(CreatableTopicConfig.write_all, out, item.configs, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += string(item.name)
            buf += _pack_ih(item.num_partitions, item.replication_factor)
            buf += array_count(item.assignments)
            yield from written_slices(CreatableReplicaAssignment.write_all, out, item.assignments, version)
            buf += array_count(item.configs)
            yield from written_slices(CreatableTopicConfig.write_all, out, item.configs, version)
            if item.unknown_tags:
                raise no_tags("CreatableTopic", version)
            yield 1


class CreateTopicsRequest(Message):
    FIELDS = ("topics", "timeout_ms", "validate_only")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 7
    FLEXIBLE_SINCE: ClassVar[int | None] = 5

    topics: list[CreatableTopic]
    timeout_ms: int
    validate_only: bool

    def __init__(
        self,
        *,
        topics: list[CreatableTopic] = UNSET,
        timeout_ms: int = 60000,
        validate_only: bool = False,
    ) -> None:
        self.topics = [] if topics is UNSET else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[CreateTopicsRequest], version: int) -> None:
        buf = out.buffer
        if version >= 5:
            for item in items:
                buf += compact_array_count(item.topics)
                CreatableTopic.write_all(out, item.topics, version)
                buf += _pack_io(item.timeout_ms, item.validate_only)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += array_count(item.topics)
            CreatableTopic.write_all(out, item.topics, version)
            buf += _pack_io(item.timeout_ms, item.validate_only)
            if item.unknown_tags:
                raise no_tags("CreateTopicsRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[CreateTopicsRequest], int]:
        items: list[CreateTopicsRequest] = []
        if version >= 5:
            for _ in range(count):
                item = new(CreateTopicsRequest)
                size, pos = read_compact_count(data, pos, 10)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = CreatableTopic.read_all(data, pos, version, size)
                item.timeout_ms, item.validate_only = _unpack_io(data, pos)
                pos += 5
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(CreateTopicsRequest)
            size, pos = read_count(data, pos, 16)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = CreatableTopic.read_all(data, pos, version, size)
            item.timeout_ms, item.validate_only = _unpack_io(data, pos)
            pos += 5
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[CreateTopicsRequest], int]]:
        check_count(count)
        items: list[CreateTopicsRequest] = []
        if version >= 5:
            for _ in range(count):
                item = new(CreateTopicsRequest)
                size, pos = read_compact_count(data, pos, 10)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = yield from CreatableTopic.read_slices(data, pos, version, size)
                item.timeout_ms, item.validate_only = _unpack_io(data, pos)
                pos += 5
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(CreateTopicsRequest)
            size, pos = read_count(data, pos, 16)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from CreatableTopic.read_slices(data, pos, version, size)
            item.timeout_ms, item.validate_only = _unpack_io(data, pos)
            pos += 5
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[CreateTopicsRequest], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 5:
            for item in items:
                buf += compact_array_count(item.topics)
                yield from CreatableTopic.write_slices(out, item.topics, version)
                buf += _pack_io(item.timeout_ms, item.validate_only)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += array_count(item.topics)
            yield from CreatableTopic.write_slices(out, item.topics, version)
            buf += _pack_io(item.timeout_ms, item.validate_only)
            if item.unknown_tags:
                raise no_tags("CreateTopicsRequest", version)
            yield 1


class CreatableTopicConfigs(Struct):
    FIELDS = ("name", "value", "read_only", "config_source", "is_sensitive")
    __slots__ = FIELDS

    name: str
    value: str | None
    read_only: bool
    config_source: int
    is_sensitive: bool

    def __init__(
        self,
        *,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[CreatableTopicConfigs], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += nullable_compact_string(item.value)
            buf += _pack_obo(item.read_only, item.config_source, item.is_sensitive)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[CreatableTopicConfigs], int]:
        items: list[CreatableTopicConfigs] = []
        for _ in range(count):
            item = new(CreatableTopicConfigs)
            item.name, pos = read_compact_string(data, pos)
            item.value, pos = read_nullable_compact_string(data, pos)
            item.read_only, item.config_source, item.is_sensitive = _unpack_obo(data, pos)
            pos += 3
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class CreatableTopicResult(Struct):
    FIELDS = (
        "name",
        "topic_id",
        "error_code",
        "error_message",
        "topic_config_error_code",
        "num_partitions",
        "replication_factor",
        "configs",
    )
    __slots__ = FIELDS

    name: str
    topic_id: Uuid
    error_code: int
    error_message: str | None
    topic_config_error_code: int
    num_partitions: int
    replication_factor: int
    configs: list[CreatableTopicConfigs] | None

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: Uuid = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = "",
        topic_config_error_code: int = 0,
        num_partitions: int = -1,
        replication_factor: int = -1,
        configs: list[CreatableTopicConfigs] | None = UNSET,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message
        self.topic_config_error_code = topic_config_error_code
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.configs = [] if configs is UNSET else configs
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[CreatableTopicResult], version: int) -> None:
        buf = out.buffer
        if version >= 5:
            for item in items:
                buf += compact_string(item.name)
                if version >= 7:
                    buf += _pack_uh(item.topic_id, item.error_code)
                else:
                    buf += _pack_h(item.error_code)
                buf += nullable_compact_string(item.error_message)
                buf += _pack_ih(item.num_partitions, item.replication_factor)
                configs = item.configs
                if configs is None:
                    buf += COMPACT_NULL
                else:
                    buf += compact_array_count(configs)
                    CreatableTopicConfigs.write_all(out, configs, version)
                tags: dict[int, bytes] = {}
                topic_config_error_code = item.topic_config_error_code
                if topic_config_error_code != 0:
                    tags[0] = _pack_h(topic_config_error_code)
                buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.name)
            buf += _pack_h(item.error_code)
            buf += nullable_string(item.error_message)
            if item.unknown_tags:
                raise no_tags("CreatableTopicResult", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[CreatableTopicResult], int]:
        items: list[CreatableTopicResult] = []
        if version >= 5:
            for _ in range(count):
                item = new(CreatableTopicResult)
                item.name, pos = read_compact_string(data, pos)
                if version >= 7:
                    item.topic_id, item.error_code = _unpack_uh(data, pos)
                    pos += 18
                else:
                    (item.error_code,) = _unpack_h(data, pos)
                    pos += 2
                    item.topic_id = ZERO_UUID
                item.error_message, pos = read_nullable_compact_string(data, pos)
                item.num_partitions, item.replication_factor = _unpack_ih(data, pos)
                pos += 6
                size, pos = read_compact_count(data, pos, 6)
                if size < 0:
                    item.configs = None
                else:
                    item.configs, pos = CreatableTopicConfigs.read_all(data, pos, version, size)
                item.topic_config_error_code = 0
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    tags, pos = read_tag_count(data, pos)
                    for _ in range(tags):
                        tag, pos, stop = read_tag(data, pos)
                        if tag == 0:
                            (item.topic_config_error_code,) = _unpack_h(data, pos)
                            pos += 2
                        else:
                            item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                            pos = stop
                        check_tag_end(tag, pos, stop)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(CreatableTopicResult)
            item.name, pos = read_string(data, pos)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.topic_id = ZERO_UUID
            item.error_message, pos = read_nullable_string(data, pos)
            item.num_partitions = -1
            item.replication_factor = -1
            item.configs = []
            item.topic_config_error_code = 0
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[CreatableTopicResult], int]]:
        items: list[CreatableTopicResult] = []
        if version >= 5:
            for _ in range(count):
                item = new(CreatableTopicResult)
                item.name, pos = read_compact_string(data, pos)
                if version >= 7:
                    item.topic_id, item.error_code = _unpack_uh(data, pos)
                    pos += 18
                else:
                    (item.error_code,) = _unpack_h(data, pos)
                    pos += 2
                    item.topic_id = ZERO_UUID
                item.error_message, pos = read_nullable_compact_string(data, pos)
                item.num_partitions, item.replication_factor = _unpack_ih(data, pos)
                pos += 6
                size, pos = read_compact_count(data, pos, 6)
                if size < 0:
                    item.configs = None
                else:
                    item.configs, pos = yield from struct_slices(
                        CreatableTopicConfigs.read_all,
                        data,
                        pos,
                        version,
                        size,
                        bounded=False,
                    )
                item.topic_config_error_code = 0
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    tags, pos = read_tag_count(data, pos)
                    for _ in range(tags):
                        tag, pos, stop = read_tag(data, pos)
                        if tag == 0:
                            (item.topic_config_error_code,) = _unpack_h(data, pos)
                            pos += 2
                        else:
                            item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                            pos = stop
                        check_tag_end(tag, pos, stop)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(CreatableTopicResult)
            item.name, pos = read_string(data, pos)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.topic_id = ZERO_UUID
            item.error_message, pos = read_nullable_string(data, pos)
            item.num_partitions = -1
            item.replication_factor = -1
            item.configs = []
            item.topic_config_error_code = 0
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[CreatableTopicResult], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 5:
            for item in items:
                buf += compact_string(item.name)
                if version >= 7:
                    buf += _pack_uh(item.topic_id, item.error_code)
                else:
                    buf += _pack_h(item.error_code)
                buf += nullable_compact_string(item.error_message)
                buf += _pack_ih(item.num_partitions, item.replication_factor)
                configs = item.configs
                if configs is None:
                    buf += COMPACT_NULL
                else:
                    buf += compact_array_count(configs)
                    yield from written_slices(CreatableTopicConfigs.write_all, out, configs, version)
                tags: dict[int, bytes] = {}
                topic_config_error_code = item.topic_config_error_code
                if topic_config_error_code != 0:
                    tags[0] = _pack_h(topic_config_error_code)
                buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += string(item.name)
            buf += _pack_h(item.error_code)
            buf += nullable_string(item.error_message)
            if item.unknown_tags:
                raise no_tags("CreatableTopicResult", version)
            yield 1


class CreateTopicsResponse(Message):
    FIELDS = ("throttle_time_ms", "topics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 7
    FLEXIBLE_SINCE: ClassVar[int | None] = 5

    throttle_time_ms: int
    topics: list[CreatableTopicResult]

    def __init__(self, *, throttle_time_ms: int = 0, topics: list[CreatableTopicResult] = UNSET) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[CreateTopicsResponse], version: int) -> None:
        buf = out.buffer
        if version >= 5:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.topics)
                CreatableTopicResult.write_all(out, item.topics, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.topics)
            CreatableTopicResult.write_all(out, item.topics, version)
            if item.unknown_tags:
                raise no_tags("CreateTopicsResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[CreateTopicsResponse], int]:
        items: list[CreateTopicsResponse] = []
        if version >= 5:
            for _ in range(count):
                item = new(CreateTopicsResponse)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 12)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = CreatableTopicResult.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(CreateTopicsResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = CreatableTopicResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[CreateTopicsResponse], int]]:
        items: list[CreateTopicsResponse] = []
        if version >= 5:
            for _ in range(count):
                item = new(CreateTopicsResponse)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 12)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = yield from CreatableTopicResult.read_slices(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(CreateTopicsResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from CreatableTopicResult.read_slices(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[CreateTopicsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 5:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.topics)
                yield from CreatableTopicResult.write_slices(out, item.topics, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.topics)
            yield from CreatableTopicResult.write_slices(out, item.topics, version)
            if item.unknown_tags:
                raise no_tags("CreateTopicsResponse", version)
            yield 1
