# Generated from schema/metadata.wire by tools/generate_messages.py: do not edit.
"""Metadata: brokers, topics, partitions and their leaders.

Since version
   1  null asks for all topics, the empty list for none
   4  automatic creation can be refused
   5  offline replicas
   7  leader epochs
   8  authorized operations on request
   9  flexible
  10  topic ids
  11  authorized operations of the cluster moved to DescribeCluster
  12  topics may be asked for by id
  13  an error code for the whole answer
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
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field, no_tags, null_refused
from moldau.protocol.primitives import (
    COMPACT_NULL,
    NULL,
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
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_h, _unpack_h = fixed("h")
_pack_hii, _unpack_hii = fixed("hii")
_pack_hiii, _unpack_hiii = fixed("hiii")
_pack_i, _unpack_i = fixed("i")
_pack_o, _unpack_o = fixed("?")
_pack_oo, _unpack_oo = fixed("??")
_pack_ooo, _unpack_ooo = fixed("???")
_pack_u, _unpack_u = fixed("16s")
_pack_uo, _unpack_uo = fixed("16s?")


class MetadataRequestTopic(Struct):
    FIELDS = ("topic_id", "name")
    __slots__ = FIELDS

    topic_id: Uuid
    name: str | None

    def __init__(self, *, topic_id: Uuid = ZERO_UUID, name: str | None = "") -> None:
        self.topic_id = topic_id
        self.name = name
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[MetadataRequestTopic], version: int) -> None:
        buf = out.buffer
        if version >= 9:
            for item in items:
                if version >= 10:
                    buf += _pack_u(item.topic_id)
                name = item.name
                if name is None:
                    if version < 10:
                        raise null_refused("MetadataRequestTopic", "name", version)
                    buf += COMPACT_NULL
                else:
                    buf += compact_string(name)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            name = item.name
            if name is None:
                raise null_refused("MetadataRequestTopic", "name", version)
            buf += string(name)
            if item.unknown_tags:
                raise no_tags("MetadataRequestTopic", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[MetadataRequestTopic], int]:
        items: list[MetadataRequestTopic] = []
        if version >= 9:
            for _ in range(count):
                item = new(MetadataRequestTopic)
                if version >= 10:
                    (item.topic_id,) = _unpack_u(data, pos)
                    pos += 16
                else:
                    item.topic_id = ZERO_UUID
                if version >= 10:
                    item.name, pos = read_nullable_compact_string(data, pos)
                else:
                    item.name, pos = read_compact_string(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(MetadataRequestTopic)
            item.topic_id = ZERO_UUID
            item.name, pos = read_string(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class MetadataRequest(Message):
    FIELDS = (
        "topics",
        "allow_auto_topic_creation",
        "include_cluster_authorized_operations",
        "include_topic_authorized_operations",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 13
    FLEXIBLE_SINCE: ClassVar[int | None] = 9

    topics: list[MetadataRequestTopic] | None
    allow_auto_topic_creation: bool
    include_cluster_authorized_operations: bool
    include_topic_authorized_operations: bool

    def __init__(
        self,
        *,
        topics: list[MetadataRequestTopic] | None = UNSET,
        allow_auto_topic_creation: bool = True,
        include_cluster_authorized_operations: bool = False,
        include_topic_authorized_operations: bool = False,
    ) -> None:
        self.topics = [] if topics is UNSET else topics
        self.allow_auto_topic_creation = allow_auto_topic_creation
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.include_topic_authorized_operations = include_topic_authorized_operations
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[MetadataRequest], version: int) -> None:
        buf = out.buffer
        if version >= 9:
            for item in items:
                topics = item.topics
                if topics is None:
                    buf += COMPACT_NULL
                else:
                    buf += compact_array_count(topics)
                    MetadataRequestTopic.write_all(out, topics, version)
                if version >= 11:
                    if item.include_cluster_authorized_operations:
                        raise no_such_field("MetadataRequest", "include_cluster_authorized_operations", version)
                    buf += _pack_oo(item.allow_auto_topic_creation, item.include_topic_authorized_operations)
                else:
                    buf += _pack_ooo(
                        item.allow_auto_topic_creation,
                        item.include_cluster_authorized_operations,
                        item.include_topic_authorized_operations,
                    )
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            topics = item.topics
            if topics is None:
                if version < 1:
                    raise null_refused("MetadataRequest", "topics", version)
                buf += NULL
            else:
                buf += array_count(topics)
                MetadataRequestTopic.write_all(out, topics, version)
            if version >= 8:
                buf += _pack_ooo(
                    item.allow_auto_topic_creation,
                    item.include_cluster_authorized_operations,
                    item.include_topic_authorized_operations,
                )
            elif version >= 4:
                if item.include_cluster_authorized_operations:
                    raise no_such_field("MetadataRequest", "include_cluster_authorized_operations", version)
                if item.include_topic_authorized_operations:
                    raise no_such_field("MetadataRequest", "include_topic_authorized_operations", version)
                buf += _pack_o(item.allow_auto_topic_creation)
            else:
                if not item.allow_auto_topic_creation:
                    raise no_such_field("MetadataRequest", "allow_auto_topic_creation", version)
                if item.include_cluster_authorized_operations:
                    raise no_such_field("MetadataRequest", "include_cluster_authorized_operations", version)
                if item.include_topic_authorized_operations:
                    raise no_such_field("MetadataRequest", "include_topic_authorized_operations", version)
            if item.unknown_tags:
                raise no_tags("MetadataRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[MetadataRequest], int]:
        items: list[MetadataRequest] = []
        if version >= 9:
            for _ in range(count):
                item = new(MetadataRequest)
                size, pos = read_compact_count(data, pos, 2)
                if size < 0:
                    item.topics = None
                else:
                    item.topics, pos = MetadataRequestTopic.read_all(data, pos, version, size)
                if version >= 11:
                    item.allow_auto_topic_creation, item.include_topic_authorized_operations = _unpack_oo(data, pos)
                    pos += 2
                    item.include_cluster_authorized_operations = False
                else:
                    (
                        item.allow_auto_topic_creation,
                        item.include_cluster_authorized_operations,
                        item.include_topic_authorized_operations,
                    ) = _unpack_ooo(data, pos)
                    pos += 3
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(MetadataRequest)
            size, pos = read_count(data, pos, 2)
            if size < 0:
                if version < 1:
                    raise null_sent("topics")
                item.topics = None
            else:
                item.topics, pos = MetadataRequestTopic.read_all(data, pos, version, size)
            if version >= 8:
                (
                    item.allow_auto_topic_creation,
                    item.include_cluster_authorized_operations,
                    item.include_topic_authorized_operations,
                ) = _unpack_ooo(data, pos)
                pos += 3
            elif version >= 4:
                (item.allow_auto_topic_creation,) = _unpack_o(data, pos)
                pos += 1
                item.include_cluster_authorized_operations = False
                item.include_topic_authorized_operations = False
            else:
                item.allow_auto_topic_creation = True
                item.include_cluster_authorized_operations = False
                item.include_topic_authorized_operations = False
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[MetadataRequest], int]]:
        check_count(count)
        items: list[MetadataRequest] = []
        if version >= 9:
            for _ in range(count):
                item = new(MetadataRequest)
                size, pos = read_compact_count(data, pos, 2)
                if size < 0:
                    item.topics = None
                else:
                    item.topics, pos = yield from struct_slices(MetadataRequestTopic.read_all, data, pos, version, size)
                if version >= 11:
                    item.allow_auto_topic_creation, item.include_topic_authorized_operations = _unpack_oo(data, pos)
                    pos += 2
                    item.include_cluster_authorized_operations = False
                else:
                    (
                        item.allow_auto_topic_creation,
                        item.include_cluster_authorized_operations,
                        item.include_topic_authorized_operations,
                    ) = _unpack_ooo(data, pos)
                    pos += 3
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(MetadataRequest)
            size, pos = read_count(data, pos, 2)
            if size < 0:
                if version < 1:
                    raise null_sent("topics")
                item.topics = None
            else:
                item.topics, pos = yield from struct_slices(MetadataRequestTopic.read_all, data, pos, version, size)
            if version >= 8:
                (
                    item.allow_auto_topic_creation,
                    item.include_cluster_authorized_operations,
                    item.include_topic_authorized_operations,
                ) = _unpack_ooo(data, pos)
                pos += 3
            elif version >= 4:
                (item.allow_auto_topic_creation,) = _unpack_o(data, pos)
                pos += 1
                item.include_cluster_authorized_operations = False
                item.include_topic_authorized_operations = False
            else:
                item.allow_auto_topic_creation = True
                item.include_cluster_authorized_operations = False
                item.include_topic_authorized_operations = False
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class MetadataResponseBroker(Struct):
    FIELDS = ("node_id", "host", "port", "rack")
    __slots__ = FIELDS

    node_id: int
    host: str
    port: int
    rack: str | None

    def __init__(self, *, node_id: int = 0, host: str = "", port: int = 0, rack: str | None = None) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[MetadataResponseBroker], version: int) -> None:
        buf = out.buffer
        if version >= 9:
            for item in items:
                buf += _pack_i(item.node_id)
                buf += compact_string(item.host)
                buf += _pack_i(item.port)
                buf += nullable_compact_string(item.rack)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_i(item.node_id)
            buf += string(item.host)
            buf += _pack_i(item.port)
            if version >= 1:
                buf += nullable_string(item.rack)
            if item.unknown_tags:
                raise no_tags("MetadataResponseBroker", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[MetadataResponseBroker], int]:
        items: list[MetadataResponseBroker] = []
        if version >= 9:
            for _ in range(count):
                item = new(MetadataResponseBroker)
                (item.node_id,) = _unpack_i(data, pos)
                pos += 4
                item.host, pos = read_compact_string(data, pos)
                (item.port,) = _unpack_i(data, pos)
                pos += 4
                item.rack, pos = read_nullable_compact_string(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(MetadataResponseBroker)
            (item.node_id,) = _unpack_i(data, pos)
            pos += 4
            item.host, pos = read_string(data, pos)
            (item.port,) = _unpack_i(data, pos)
            pos += 4
            if version >= 1:
                item.rack, pos = read_nullable_string(data, pos)
            else:
                item.rack = None
            item.unknown_tags = None
            items.append(item)
        return items, pos


class MetadataResponsePartition(Struct):
    FIELDS = (
        "error_code",
        "partition_index",
        "leader_id",
        "leader_epoch",
        "replica_nodes",
        "isr_nodes",
        "offline_replicas",
    )
    __slots__ = FIELDS

    error_code: int
    partition_index: int
    leader_id: int
    leader_epoch: int
    replica_nodes: list[int]
    isr_nodes: list[int]
    offline_replicas: list[int]

    def __init__(
        self,
        *,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: list[int] = UNSET,
        isr_nodes: list[int] = UNSET,
        offline_replicas: list[int] = UNSET,
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes = [] if replica_nodes is UNSET else replica_nodes
        self.isr_nodes = [] if isr_nodes is UNSET else isr_nodes
        self.offline_replicas = [] if offline_replicas is UNSET else offline_replicas
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[MetadataResponsePartition], version: int) -> None:
        buf = out.buffer
        if version >= 9:
            for item in items:
                buf += _pack_hiii(item.error_code, item.partition_index, item.leader_id, item.leader_epoch)
                buf += compact_int32s(item.replica_nodes)
                buf += compact_int32s(item.isr_nodes)
                buf += compact_int32s(item.offline_replicas)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 7:
                buf += _pack_hiii(item.error_code, item.partition_index, item.leader_id, item.leader_epoch)
            else:
                buf += _pack_hii(item.error_code, item.partition_index, item.leader_id)
            buf += int32s(item.replica_nodes)
            buf += int32s(item.isr_nodes)
            if version >= 5:
                buf += int32s(item.offline_replicas)
            if item.unknown_tags:
                raise no_tags("MetadataResponsePartition", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[MetadataResponsePartition], int]:
        items: list[MetadataResponsePartition] = []
        if version >= 9:
            for _ in range(count):
                item = new(MetadataResponsePartition)
                item.error_code, item.partition_index, item.leader_id, item.leader_epoch = _unpack_hiii(data, pos)
                pos += 14
                item.replica_nodes, pos = read_compact_int32s(data, pos)
                item.isr_nodes, pos = read_compact_int32s(data, pos)
                item.offline_replicas, pos = read_compact_int32s(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(MetadataResponsePartition)
            if version >= 7:
                item.error_code, item.partition_index, item.leader_id, item.leader_epoch = _unpack_hiii(data, pos)
                pos += 14
            else:
                item.error_code, item.partition_index, item.leader_id = _unpack_hii(data, pos)
                pos += 10
                item.leader_epoch = -1
            item.replica_nodes, pos = read_int32s(data, pos)
            item.isr_nodes, pos = read_int32s(data, pos)
            if version >= 5:
                item.offline_replicas, pos = read_int32s(data, pos)
            else:
                item.offline_replicas = []
            item.unknown_tags = None
            items.append(item)
        return items, pos


class MetadataResponseTopic(Struct):
    FIELDS = ("error_code", "name", "topic_id", "is_internal", "partitions", "topic_authorized_operations")
    __slots__ = FIELDS

    error_code: int
    name: str | None
    topic_id: Uuid
    is_internal: bool
    partitions: list[MetadataResponsePartition]
    topic_authorized_operations: int

    def __init__(
        self,
        *,
        error_code: int = 0,
        name: str | None = "",
        topic_id: Uuid = ZERO_UUID,
        is_internal: bool = False,
        partitions: list[MetadataResponsePartition] = UNSET,
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = [] if partitions is UNSET else partitions
        self.topic_authorized_operations = topic_authorized_operations
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[MetadataResponseTopic], version: int) -> None:
        buf = out.buffer
        if version >= 9:
            for item in items:
                buf += _pack_h(item.error_code)
                name = item.name
                if name is None:
                    if version < 12:
                        raise null_refused("MetadataResponseTopic", "name", version)
                    buf += COMPACT_NULL
                else:
                    buf += compact_string(name)
                if version >= 10:
                    buf += _pack_uo(item.topic_id, item.is_internal)
                else:
                    buf += _pack_o(item.is_internal)
                buf += compact_array_count(item.partitions)
                MetadataResponsePartition.write_all(out, item.partitions, version)
                buf += _pack_i(item.topic_authorized_operations)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_h(item.error_code)
            name = item.name
            if name is None:
                raise null_refused("MetadataResponseTopic", "name", version)
            buf += string(name)
            if version >= 1:
                buf += _pack_o(item.is_internal)
            buf += array_count(item.partitions)
            MetadataResponsePartition.write_all(out, item.partitions, version)
            if version >= 8:
                buf += _pack_i(item.topic_authorized_operations)
            else:
                if item.topic_authorized_operations != -2147483648:
                    raise no_such_field("MetadataResponseTopic", "topic_authorized_operations", version)
            if item.unknown_tags:
                raise no_tags("MetadataResponseTopic", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[MetadataResponseTopic], int]:
        items: list[MetadataResponseTopic] = []
        if version >= 9:
            for _ in range(count):
                item = new(MetadataResponseTopic)
                (item.error_code,) = _unpack_h(data, pos)
                pos += 2
                if version >= 12:
                    item.name, pos = read_nullable_compact_string(data, pos)
                else:
                    item.name, pos = read_compact_string(data, pos)
                if version >= 10:
                    item.topic_id, item.is_internal = _unpack_uo(data, pos)
                    pos += 17
                else:
                    (item.is_internal,) = _unpack_o(data, pos)
                    pos += 1
                    item.topic_id = ZERO_UUID
                size, pos = read_compact_count(data, pos, 18)
                if size < 0:
                    raise null_sent("partitions")
                item.partitions, pos = MetadataResponsePartition.read_all(data, pos, version, size)
                (item.topic_authorized_operations,) = _unpack_i(data, pos)
                pos += 4
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(MetadataResponseTopic)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.name, pos = read_string(data, pos)
            if version >= 1:
                (item.is_internal,) = _unpack_o(data, pos)
                pos += 1
                item.topic_id = ZERO_UUID
            else:
                item.topic_id = ZERO_UUID
                item.is_internal = False
            size, pos = read_count(data, pos, 18)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = MetadataResponsePartition.read_all(data, pos, version, size)
            if version >= 8:
                (item.topic_authorized_operations,) = _unpack_i(data, pos)
                pos += 4
            else:
                item.topic_authorized_operations = -2147483648
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[MetadataResponseTopic], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 9:
            for item in items:
                buf += _pack_h(item.error_code)
                name = item.name
                if name is None:
                    if version < 12:
                        raise null_refused("MetadataResponseTopic", "name", version)
                    buf += COMPACT_NULL
                else:
                    buf += compact_string(name)
                if version >= 10:
                    buf += _pack_uo(item.topic_id, item.is_internal)
                else:
                    buf += _pack_o(item.is_internal)
                buf += compact_array_count(item.partitions)
                yield from written_slices(MetadataResponsePartition.write_all, out, item.partitions, version)
                buf += _pack_i(item.topic_authorized_operations)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_h(item.error_code)
            name = item.name
            if name is None:
                raise null_refused("MetadataResponseTopic", "name", version)
            buf += string(name)
            if version >= 1:
                buf += _pack_o(item.is_internal)
            buf += array_count(item.partitions)
            yield from written_slices(MetadataResponsePartition.write_all, out, item.partitions, version)
            if version >= 8:
                buf += _pack_i(item.topic_authorized_operations)
            else:
                if item.topic_authorized_operations != -2147483648:
                    raise no_such_field("MetadataResponseTopic", "topic_authorized_operations", version)
            if item.unknown_tags:
                raise no_tags("MetadataResponseTopic", version)
            yield 1


class MetadataResponse(Message):
    FIELDS = (
        "throttle_time_ms",
        "brokers",
        "cluster_id",
        "controller_id",
        "topics",
        "cluster_authorized_operations",
        "error_code",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 13
    FLEXIBLE_SINCE: ClassVar[int | None] = 9

    throttle_time_ms: int
    brokers: list[MetadataResponseBroker]
    cluster_id: str | None
    controller_id: int
    topics: list[MetadataResponseTopic]
    cluster_authorized_operations: int
    error_code: int

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        brokers: list[MetadataResponseBroker] = UNSET,
        cluster_id: str | None = None,
        controller_id: int = -1,
        topics: list[MetadataResponseTopic] = UNSET,
        cluster_authorized_operations: int = -2147483648,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.brokers = [] if brokers is UNSET else brokers
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.topics = [] if topics is UNSET else topics
        self.cluster_authorized_operations = cluster_authorized_operations
        self.error_code = error_code
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[MetadataResponse], version: int) -> None:
        buf = out.buffer
        if version >= 9:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.brokers)
                MetadataResponseBroker.write_all(out, item.brokers, version)
                buf += nullable_compact_string(item.cluster_id)
                buf += _pack_i(item.controller_id)
                buf += compact_array_count(item.topics)
                MetadataResponseTopic.write_all(out, item.topics, version)
                if version >= 13:
                    if item.cluster_authorized_operations != -2147483648:
                        raise no_such_field("MetadataResponse", "cluster_authorized_operations", version)
                    buf += _pack_h(item.error_code)
                elif version >= 11:
                    if item.cluster_authorized_operations != -2147483648:
                        raise no_such_field("MetadataResponse", "cluster_authorized_operations", version)
                else:
                    buf += _pack_i(item.cluster_authorized_operations)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 3:
                buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.brokers)
            MetadataResponseBroker.write_all(out, item.brokers, version)
            if version >= 2:
                buf += nullable_string(item.cluster_id)
            if version >= 1:
                buf += _pack_i(item.controller_id)
            buf += array_count(item.topics)
            MetadataResponseTopic.write_all(out, item.topics, version)
            if version >= 8:
                buf += _pack_i(item.cluster_authorized_operations)
            else:
                if item.cluster_authorized_operations != -2147483648:
                    raise no_such_field("MetadataResponse", "cluster_authorized_operations", version)
            if item.unknown_tags:
                raise no_tags("MetadataResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[MetadataResponse], int]:
        items: list[MetadataResponse] = []
        if version >= 9:
            for _ in range(count):
                item = new(MetadataResponse)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 11)
                if size < 0:
                    raise null_sent("brokers")
                item.brokers, pos = MetadataResponseBroker.read_all(data, pos, version, size)
                item.cluster_id, pos = read_nullable_compact_string(data, pos)
                (item.controller_id,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 10)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = MetadataResponseTopic.read_all(data, pos, version, size)
                if version >= 13:
                    (item.error_code,) = _unpack_h(data, pos)
                    pos += 2
                    item.cluster_authorized_operations = -2147483648
                elif version >= 11:
                    item.cluster_authorized_operations = -2147483648
                    item.error_code = 0
                else:
                    (item.cluster_authorized_operations,) = _unpack_i(data, pos)
                    pos += 4
                    item.error_code = 0
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(MetadataResponse)
            if version >= 3:
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
            else:
                item.throttle_time_ms = 0
            size, pos = read_count(data, pos, 10)
            if size < 0:
                raise null_sent("brokers")
            item.brokers, pos = MetadataResponseBroker.read_all(data, pos, version, size)
            if version >= 2:
                item.cluster_id, pos = read_nullable_string(data, pos)
            else:
                item.cluster_id = None
            if version >= 1:
                (item.controller_id,) = _unpack_i(data, pos)
                pos += 4
            else:
                item.controller_id = -1
            size, pos = read_count(data, pos, 8)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = MetadataResponseTopic.read_all(data, pos, version, size)
            if version >= 8:
                (item.cluster_authorized_operations,) = _unpack_i(data, pos)
                pos += 4
                item.error_code = 0
            else:
                item.cluster_authorized_operations = -2147483648
                item.error_code = 0
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[MetadataResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 9:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.brokers)
                yield from written_slices(MetadataResponseBroker.write_all, out, item.brokers, version)
                buf += nullable_compact_string(item.cluster_id)
                buf += _pack_i(item.controller_id)
                buf += compact_array_count(item.topics)
                yield from MetadataResponseTopic.write_slices(out, item.topics, version)
                if version >= 13:
                    if item.cluster_authorized_operations != -2147483648:
                        raise no_such_field("MetadataResponse", "cluster_authorized_operations", version)
                    buf += _pack_h(item.error_code)
                elif version >= 11:
                    if item.cluster_authorized_operations != -2147483648:
                        raise no_such_field("MetadataResponse", "cluster_authorized_operations", version)
                else:
                    buf += _pack_i(item.cluster_authorized_operations)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            if version >= 3:
                buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.brokers)
            yield from written_slices(MetadataResponseBroker.write_all, out, item.brokers, version)
            if version >= 2:
                buf += nullable_string(item.cluster_id)
            if version >= 1:
                buf += _pack_i(item.controller_id)
            buf += array_count(item.topics)
            yield from MetadataResponseTopic.write_slices(out, item.topics, version)
            if version >= 8:
                buf += _pack_i(item.cluster_authorized_operations)
            else:
                if item.cluster_authorized_operations != -2147483648:
                    raise no_such_field("MetadataResponse", "cluster_authorized_operations", version)
            if item.unknown_tags:
                raise no_tags("MetadataResponse", version)
            yield 1
