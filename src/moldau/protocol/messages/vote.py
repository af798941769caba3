# Generated from schema/vote.wire by tools/generate_messages.py: do not edit.
"""Vote: a candidate asks for votes in a KRaft election.

Since version
   1  voters carry a directory id
   2  pre-vote
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
from moldau.protocol.tagged_fields import (
    check_tag_end,
    keep_tag,
    misplaced_tag,
    read_tag,
    read_tag_count,
    read_unknown_tags,
    tagged,
)
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_H, _unpack_H = fixed("H")
_pack_h, _unpack_h = fixed("h")
_pack_i, _unpack_i = fixed("i")
_pack_ihiio, _unpack_ihiio = fixed("ihii?")
_pack_iiiiq, _unpack_iiiiq = fixed("iiiiq")
_pack_iiiuuiq, _unpack_iiiuuiq = fixed("iii16s16siq")
_pack_iiiuuiqo, _unpack_iiiuuiqo = fixed("iii16s16siq?")


class RequestPartitionData(Struct):
    FIELDS = (
        "partition_index",
        "replica_epoch",
        "replica_id",
        "replica_directory_id",
        "voter_directory_id",
        "last_offset_epoch",
        "last_offset",
        "pre_vote",
    )
    __slots__ = FIELDS

    partition_index: int
    replica_epoch: int
    replica_id: int
    replica_directory_id: Uuid
    voter_directory_id: Uuid
    last_offset_epoch: int
    last_offset: int
    pre_vote: bool

    def __init__(
        self,
        *,
        partition_index: int = 0,
        replica_epoch: int = 0,
        replica_id: int = 0,
        replica_directory_id: Uuid = ZERO_UUID,
        voter_directory_id: Uuid = ZERO_UUID,
        last_offset_epoch: int = 0,
        last_offset: int = 0,
        pre_vote: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.replica_epoch = replica_epoch
        self.replica_id = replica_id
        self.replica_directory_id = replica_directory_id
        self.voter_directory_id = voter_directory_id
        self.last_offset_epoch = last_offset_epoch
        self.last_offset = last_offset
        self.pre_vote = pre_vote
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[RequestPartitionData], version: int) -> None:
        buf = out.buffer
        for item in items:
            if version >= 2:
                buf += _pack_iiiuuiqo(
                    item.partition_index,
                    item.replica_epoch,
                    item.replica_id,
                    item.replica_directory_id,
                    item.voter_directory_id,
                    item.last_offset_epoch,
                    item.last_offset,
                    item.pre_vote,
                )
            elif version >= 1:
                if item.pre_vote:
                    raise no_such_field("RequestPartitionData", "pre_vote", version)
                buf += _pack_iiiuuiq(
                    item.partition_index,
                    item.replica_epoch,
                    item.replica_id,
                    item.replica_directory_id,
                    item.voter_directory_id,
                    item.last_offset_epoch,
                    item.last_offset,
                )
            else:
                if item.pre_vote:
                    raise no_such_field("RequestPartitionData", "pre_vote", version)
                buf += _pack_iiiiq(
                    item.partition_index,
                    item.replica_epoch,
                    item.replica_id,
                    item.last_offset_epoch,
                    item.last_offset,
                )
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RequestPartitionData], int]:
        items: list[RequestPartitionData] = []
        for _ in range(count):
            item = new(RequestPartitionData)
            if version >= 2:
                (
                    item.partition_index,
                    item.replica_epoch,
                    item.replica_id,
                    item.replica_directory_id,
                    item.voter_directory_id,
                    item.last_offset_epoch,
                    item.last_offset,
                    item.pre_vote,
                ) = _unpack_iiiuuiqo(data, pos)
                pos += 57
            elif version >= 1:
                (
                    item.partition_index,
                    item.replica_epoch,
                    item.replica_id,
                    item.replica_directory_id,
                    item.voter_directory_id,
                    item.last_offset_epoch,
                    item.last_offset,
                ) = _unpack_iiiuuiq(data, pos)
                pos += 56
                item.pre_vote = False
            else:
                (
                    item.partition_index,
                    item.replica_epoch,
                    item.replica_id,
                    item.last_offset_epoch,
                    item.last_offset,
                ) = _unpack_iiiiq(data, pos)
                pos += 24
                item.replica_directory_id = ZERO_UUID
                item.voter_directory_id = ZERO_UUID
                item.pre_vote = False
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
            size, pos = read_compact_count(data, pos, 25)
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
            size, pos = read_compact_count(data, pos, 25)
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


class VoteRequest(Message):
    FIELDS = ("cluster_id", "voter_id", "topics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 52
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    cluster_id: str | None
    voter_id: int
    topics: list[RequestTopicData]

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        voter_id: int = -1,
        topics: list[RequestTopicData] = UNSET,
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[VoteRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += nullable_compact_string(item.cluster_id)
            if version >= 1:
                buf += _pack_i(item.voter_id)
            buf += compact_array_count(item.topics)
            RequestTopicData.write_all(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[VoteRequest], int]:
        items: list[VoteRequest] = []
        for _ in range(count):
            item = new(VoteRequest)
            item.cluster_id, pos = read_nullable_compact_string(data, pos)
            if version >= 1:
                (item.voter_id,) = _unpack_i(data, pos)
                pos += 4
            else:
                item.voter_id = -1
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
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[VoteRequest], int]]:
        check_count(count)
        items: list[VoteRequest] = []
        for _ in range(count):
            item = new(VoteRequest)
            item.cluster_id, pos = read_nullable_compact_string(data, pos)
            if version >= 1:
                (item.voter_id,) = _unpack_i(data, pos)
                pos += 4
            else:
                item.voter_id = -1
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


class ResponsePartitionData(Struct):
    FIELDS = ("partition_index", "error_code", "leader_id", "leader_epoch", "vote_granted")
    __slots__ = FIELDS

    partition_index: int
    error_code: int
    leader_id: int
    leader_epoch: int
    vote_granted: bool

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        vote_granted: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.vote_granted = vote_granted
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ResponsePartitionData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ihiio(
                item.partition_index,
                item.error_code,
                item.leader_id,
                item.leader_epoch,
                item.vote_granted,
            )
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ResponsePartitionData], int]:
        items: list[ResponsePartitionData] = []
        for _ in range(count):
            item = new(ResponsePartitionData)
            (
                item.partition_index,
                item.error_code,
                item.leader_id,
                item.leader_epoch,
                item.vote_granted,
            ) = _unpack_ihiio(data, pos)
            pos += 15
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


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
            size, pos = read_compact_count(data, pos, 16)
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
            yield from written_slices(ResponsePartitionData.write_all, out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class NodeEndpoint(Struct):
    FIELDS = ("node_id", "host", "port")
    __slots__ = FIELDS

    node_id: int
    host: str
    port: int

    def __init__(self, *, node_id: int = 0, host: str = "", port: int = 0) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[NodeEndpoint], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.node_id)
            buf += compact_string(item.host)
            buf += _pack_H(item.port)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[NodeEndpoint], int]:
        items: list[NodeEndpoint] = []
        for _ in range(count):
            item = new(NodeEndpoint)
            (item.node_id,) = _unpack_i(data, pos)
            pos += 4
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


class VoteResponse(Message):
    FIELDS = ("error_code", "topics", "node_endpoints")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 52
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    error_code: int
    topics: list[ResponseTopicData]
    node_endpoints: list[NodeEndpoint]

    def __init__(
        self,
        *,
        error_code: int = 0,
        topics: list[ResponseTopicData] = UNSET,
        node_endpoints: list[NodeEndpoint] = UNSET,
    ) -> None:
        self.error_code = error_code
        self.topics = [] if topics is UNSET else topics
        self.node_endpoints = [] if node_endpoints is UNSET else node_endpoints
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[VoteResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_h(item.error_code)
            buf += compact_array_count(item.topics)
            ResponseTopicData.write_all(out, item.topics, version)
            tags: dict[int, bytes] = {}
            if version >= 1:
                node_endpoints = item.node_endpoints
                if node_endpoints:
                    inner = Writer()
                    inner.buffer += compact_array_count(node_endpoints)
                    NodeEndpoint.write_all(inner, node_endpoints, version)
                    tags[0] = inner.bytes()
            else:
                if item.node_endpoints:
                    raise no_such_field("VoteResponse", "node_endpoints", version)
            buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[VoteResponse], int]:
        items: list[VoteResponse] = []
        for _ in range(count):
            item = new(VoteResponse)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = ResponseTopicData.read_all(data, pos, version, size)
            item.node_endpoints = []
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                tags, pos = read_tag_count(data, pos)
                for _ in range(tags):
                    tag, pos, stop = read_tag(data, pos)
                    if tag == 0:
                        if version < 1:
                            raise misplaced_tag(tag, version)
                        size, pos = read_compact_count(data, pos, 8)
                        if size < 0:
                            raise null_sent("node_endpoints")
                        item.node_endpoints, pos = NodeEndpoint.read_all(data, pos, version, size)
                    else:
                        item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                        pos = stop
                    check_tag_end(tag, pos, stop)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[VoteResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_h(item.error_code)
            buf += compact_array_count(item.topics)
            yield from ResponseTopicData.write_slices(out, item.topics, version)
            tags: dict[int, bytes] = {}
            if version >= 1:
                node_endpoints = item.node_endpoints
                if node_endpoints:
                    inner = Writer()
                    inner.buffer += compact_array_count(node_endpoints)
                    NodeEndpoint.write_all(inner, node_endpoints, version)
                    tags[0] = inner.bytes()
            else:
                if item.node_endpoints:
                    raise no_such_field("VoteResponse", "node_endpoints", version)
            buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"
            yield 1
