# Generated from schema/describe_quorum.wire by tools/generate_messages.py: do not edit.
"""DescribeQuorum: leader, voters and observers of the KRaft quorum.

Since version
   1  fetch times
   2  directory ids, error messages, endpoints
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, read_compact_count
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field
from moldau.protocol.primitives import (
    compact_string,
    fixed,
    null_sent,
    nullable_compact_string,
    read_compact_string,
    read_nullable_compact_string,
)
from moldau.protocol.slices import Slices, check_count, struct_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_H, _unpack_H = fixed("H")
_pack_h, _unpack_h = fixed("h")
_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")
_pack_iiq, _unpack_iiq = fixed("iiq")
_pack_iq, _unpack_iq = fixed("iq")
_pack_iqqq, _unpack_iqqq = fixed("iqqq")
_pack_iuqqq, _unpack_iuqqq = fixed("i16sqqq")


class RequestPartitionData(Struct):
    FIELDS = ("partition_index",)
    __slots__ = FIELDS

    partition_index: int

    def __init__(self, *, partition_index: int = 0) -> None:
        self.partition_index = partition_index
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[RequestPartitionData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.partition_index)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RequestPartitionData], int]:
        items: list[RequestPartitionData] = []
        for _ in range(count):
            item = new(RequestPartitionData)
            (item.partition_index,) = _unpack_i(data, pos)
            pos += 4
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class RequestTopicData(Struct):
    FIELDS = ("topic_name", "partitions")
    __slots__ = FIELDS

    topic_name: str
    partitions: list[RequestPartitionData]

    def __init__(self, *, topic_name: str = "", partitions: list[RequestPartitionData] = UNSET) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[RequestTopicData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.topic_name)
            buf += compact_array_count(item.partitions)
            RequestPartitionData.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RequestTopicData], int]:
        items: list[RequestTopicData] = []
        for _ in range(count):
            item = new(RequestTopicData)
            item.topic_name, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 5)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = RequestPartitionData.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[RequestTopicData], int]]:
        check_count(count)
        items: list[RequestTopicData] = []
        for _ in range(count):
            item = new(RequestTopicData)
            item.topic_name, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 5)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = yield from struct_slices(RequestPartitionData.read_all, data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class DescribeQuorumRequest(Message):
    FIELDS = ("topics",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 55
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    topics: list[RequestTopicData]

    def __init__(self, *, topics: list[RequestTopicData] = UNSET) -> None:
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeQuorumRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.topics)
            RequestTopicData.write_all(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeQuorumRequest], int]:
        items: list[DescribeQuorumRequest] = []
        for _ in range(count):
            item = new(DescribeQuorumRequest)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = RequestTopicData.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[DescribeQuorumRequest], int]]:
        check_count(count)
        items: list[DescribeQuorumRequest] = []
        for _ in range(count):
            item = new(DescribeQuorumRequest)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from RequestTopicData.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class ReplicaState(Struct):
    FIELDS = (
        "replica_id",
        "replica_directory_id",
        "log_end_offset",
        "last_fetch_timestamp",
        "last_caught_up_timestamp",
    )
    __slots__ = FIELDS

    replica_id: int
    replica_directory_id: Uuid
    log_end_offset: int
    last_fetch_timestamp: int
    last_caught_up_timestamp: int

    def __init__(
        self,
        *,
        replica_id: int = 0,
        replica_directory_id: Uuid = ZERO_UUID,
        log_end_offset: int = 0,
        last_fetch_timestamp: int = -1,
        last_caught_up_timestamp: int = -1,
    ) -> None:
        self.replica_id = replica_id
        self.replica_directory_id = replica_directory_id
        self.log_end_offset = log_end_offset
        self.last_fetch_timestamp = last_fetch_timestamp
        self.last_caught_up_timestamp = last_caught_up_timestamp
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ReplicaState], version: int) -> None:
        buf = out.buffer
        for item in items:
            if version >= 2:
                buf += _pack_iuqqq(
                    item.replica_id,
                    item.replica_directory_id,
                    item.log_end_offset,
                    item.last_fetch_timestamp,
                    item.last_caught_up_timestamp,
                )
            elif version >= 1:
                if item.replica_directory_id != ZERO_UUID:
                    raise no_such_field("ReplicaState", "replica_directory_id", version)
                buf += _pack_iqqq(
                    item.replica_id,
                    item.log_end_offset,
                    item.last_fetch_timestamp,
                    item.last_caught_up_timestamp,
                )
            else:
                if item.replica_directory_id != ZERO_UUID:
                    raise no_such_field("ReplicaState", "replica_directory_id", version)
                buf += _pack_iq(item.replica_id, item.log_end_offset)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ReplicaState], int]:
        items: list[ReplicaState] = []
        for _ in range(count):
            item = new(ReplicaState)
            if version >= 2:
                (
                    item.replica_id,
                    item.replica_directory_id,
                    item.log_end_offset,
                    item.last_fetch_timestamp,
                    item.last_caught_up_timestamp,
                ) = _unpack_iuqqq(data, pos)
                pos += 44
            elif version >= 1:
                (
                    item.replica_id,
                    item.log_end_offset,
                    item.last_fetch_timestamp,
                    item.last_caught_up_timestamp,
                ) = _unpack_iqqq(data, pos)
                pos += 28
                item.replica_directory_id = ZERO_UUID
            else:
                item.replica_id, item.log_end_offset = _unpack_iq(data, pos)
                pos += 12
                item.replica_directory_id = ZERO_UUID
                item.last_fetch_timestamp = -1
                item.last_caught_up_timestamp = -1
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class ResponsePartitionData(Struct):
    FIELDS = (
        "partition_index",
        "error_code",
        "error_message",
        "leader_id",
        "leader_epoch",
        "high_watermark",
        "current_voters",
        "observers",
    )
    __slots__ = FIELDS

    partition_index: int
    error_code: int
    error_message: str | None
    leader_id: int
    leader_epoch: int
    high_watermark: int
    current_voters: list[ReplicaState]
    observers: list[ReplicaState]

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        leader_id: int = 0,
        leader_epoch: int = 0,
        high_watermark: int = 0,
        current_voters: list[ReplicaState] = UNSET,
        observers: list[ReplicaState] = UNSET,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.high_watermark = high_watermark
        self.current_voters = [] if current_voters is UNSET else current_voters
        self.observers = [] if observers is UNSET else observers
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ResponsePartitionData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.partition_index, item.error_code)
            if version >= 2:
                buf += nullable_compact_string(item.error_message)
            buf += _pack_iiq(item.leader_id, item.leader_epoch, item.high_watermark)
            buf += compact_array_count(item.current_voters)
            ReplicaState.write_all(out, item.current_voters, version)
            buf += compact_array_count(item.observers)
            ReplicaState.write_all(out, item.observers, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ResponsePartitionData], int]:
        items: list[ResponsePartitionData] = []
        for _ in range(count):
            item = new(ResponsePartitionData)
            item.partition_index, item.error_code = _unpack_ih(data, pos)
            pos += 6
            if version >= 2:
                item.error_message, pos = read_nullable_compact_string(data, pos)
            else:
                item.error_message = ""
            item.leader_id, item.leader_epoch, item.high_watermark = _unpack_iiq(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 13)
            if size < 0:
                raise null_sent("current_voters")
            item.current_voters, pos = ReplicaState.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 13)
            if size < 0:
                raise null_sent("observers")
            item.observers, pos = ReplicaState.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ResponsePartitionData], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.partition_index, item.error_code)
            if version >= 2:
                buf += nullable_compact_string(item.error_message)
            buf += _pack_iiq(item.leader_id, item.leader_epoch, item.high_watermark)
            buf += compact_array_count(item.current_voters)
            yield from written_slices(ReplicaState.write_all, out, item.current_voters, version)
            buf += compact_array_count(item.observers)
            yield from written_slices(ReplicaState.write_all, out, item.observers, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class ResponseTopicData(Struct):
    FIELDS = ("topic_name", "partitions")
    __slots__ = FIELDS

    topic_name: str
    partitions: list[ResponsePartitionData]

    def __init__(self, *, topic_name: str = "", partitions: list[ResponsePartitionData] = UNSET) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ResponseTopicData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.topic_name)
            buf += compact_array_count(item.partitions)
            ResponsePartitionData.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ResponseTopicData], int]:
        items: list[ResponseTopicData] = []
        for _ in range(count):
            item = new(ResponseTopicData)
            item.topic_name, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 25)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = ResponsePartitionData.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ResponseTopicData], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.topic_name)
            buf += compact_array_count(item.partitions)
            yield from ResponsePartitionData.write_slices(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class Listener(Struct):
    FIELDS = ("name", "host", "port")
    __slots__ = FIELDS

    name: str
    host: str
    port: int

    def __init__(self, *, name: str = "", host: str = "", port: int = 0) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[Listener], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += compact_string(item.host)
            buf += _pack_H(item.port)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[Listener], int]:
        items: list[Listener] = []
        for _ in range(count):
            item = new(Listener)
            item.name, pos = read_compact_string(data, pos)
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


class Node(Struct):
    FIELDS = ("node_id", "listeners")
    __slots__ = FIELDS

    node_id: int
    listeners: list[Listener]

    def __init__(self, *, node_id: int = 0, listeners: list[Listener] = UNSET) -> None:
        self.node_id = node_id
        self.listeners = [] if listeners is UNSET else listeners
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[Node], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.node_id)
            buf += compact_array_count(item.listeners)
            Listener.write_all(out, item.listeners, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[Node], int]:
        items: list[Node] = []
        for _ in range(count):
            item = new(Node)
            (item.node_id,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 5)
            if size < 0:
                raise null_sent("listeners")
            item.listeners, pos = Listener.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[Node], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.node_id)
            buf += compact_array_count(item.listeners)
            yield from written_slices(Listener.write_all, out, item.listeners, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class DescribeQuorumResponse(Message):
    FIELDS = ("error_code", "error_message", "topics", "nodes")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 55
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    error_code: int
    error_message: str | None
    topics: list[ResponseTopicData]
    nodes: list[Node]

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[ResponseTopicData] = UNSET,
        nodes: list[Node] = UNSET,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.topics = [] if topics is UNSET else topics
        self.nodes = [] if nodes is UNSET else nodes
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeQuorumResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_h(item.error_code)
            if version >= 2:
                buf += nullable_compact_string(item.error_message)
            buf += compact_array_count(item.topics)
            ResponseTopicData.write_all(out, item.topics, version)
            if version >= 2:
                buf += compact_array_count(item.nodes)
                Node.write_all(out, item.nodes, version)
            else:
                if item.nodes:
                    raise no_such_field("DescribeQuorumResponse", "nodes", version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeQuorumResponse], int]:
        items: list[DescribeQuorumResponse] = []
        for _ in range(count):
            item = new(DescribeQuorumResponse)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            if version >= 2:
                item.error_message, pos = read_nullable_compact_string(data, pos)
            else:
                item.error_message = ""
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = ResponseTopicData.read_all(data, pos, version, size)
            if version >= 2:
                size, pos = read_compact_count(data, pos, 6)
                if size < 0:
                    raise null_sent("nodes")
                item.nodes, pos = Node.read_all(data, pos, version, size)
            else:
                item.nodes = []
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DescribeQuorumResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_h(item.error_code)
            if version >= 2:
                buf += nullable_compact_string(item.error_message)
            buf += compact_array_count(item.topics)
            yield from ResponseTopicData.write_slices(out, item.topics, version)
            if version >= 2:
                buf += compact_array_count(item.nodes)
                yield from Node.write_slices(out, item.nodes, version)
            else:
                if item.nodes:
                    raise no_such_field("DescribeQuorumResponse", "nodes", version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
