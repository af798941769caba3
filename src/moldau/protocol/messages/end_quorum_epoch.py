# Generated from schema/end_quorum_epoch.wire by tools/generate_messages.py: do not edit.
"""EndQuorumEpoch: a resigning KRaft leader tells the voters.

Since version
   1  flexible; voters carry a directory id, endpoints
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import array_count, compact_array_count, int32s, read_compact_count, read_count, read_int32s
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field, no_tags
from moldau.protocol.primitives import (
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

_pack_H, _unpack_H = fixed("H")
_pack_h, _unpack_h = fixed("h")
_pack_i, _unpack_i = fixed("i")
_pack_ihii, _unpack_ihii = fixed("ihii")
_pack_iii, _unpack_iii = fixed("iii")
_pack_iu, _unpack_iu = fixed("i16s")


class ReplicaInfo(Struct):
    FIELDS = ("candidate_id", "candidate_directory_id")
    __slots__ = FIELDS

    candidate_id: int
    candidate_directory_id: Uuid

    def __init__(self, *, candidate_id: int = 0, candidate_directory_id: Uuid = ZERO_UUID) -> None:
        self.candidate_id = candidate_id
        self.candidate_directory_id = candidate_directory_id
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ReplicaInfo], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_iu(item.candidate_id, item.candidate_directory_id)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ReplicaInfo], int]:
        items: list[ReplicaInfo] = []
        for _ in range(count):
            item = new(ReplicaInfo)
            item.candidate_id, item.candidate_directory_id = _unpack_iu(data, pos)
            pos += 20
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class RequestPartitionData(Struct):
    FIELDS = ("partition_index", "leader_id", "leader_epoch", "preferred_successors", "preferred_candidates")
    __slots__ = FIELDS

    partition_index: int
    leader_id: int
    leader_epoch: int
    preferred_successors: list[int]
    preferred_candidates: list[ReplicaInfo]

    def __init__(
        self,
        *,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        preferred_successors: list[int] = UNSET,
        preferred_candidates: list[ReplicaInfo] = UNSET,
    ) -> None:
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.preferred_successors = [] if preferred_successors is UNSET else preferred_successors
        self.preferred_candidates = [] if preferred_candidates is UNSET else preferred_candidates
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[RequestPartitionData], version: int) -> None:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += _pack_iii(item.partition_index, item.leader_id, item.leader_epoch)
                buf += compact_array_count(item.preferred_candidates)
                ReplicaInfo.write_all(out, item.preferred_candidates, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_iii(item.partition_index, item.leader_id, item.leader_epoch)
            buf += int32s(item.preferred_successors)
            if item.unknown_tags:
                raise no_tags("RequestPartitionData", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RequestPartitionData], int]:
        items: list[RequestPartitionData] = []
        if version >= 1:
            for _ in range(count):
                item = new(RequestPartitionData)
                item.partition_index, item.leader_id, item.leader_epoch = _unpack_iii(data, pos)
                pos += 12
                item.preferred_successors = []
                size, pos = read_compact_count(data, pos, 21)
                if size < 0:
                    raise null_sent("preferred_candidates")
                item.preferred_candidates, pos = ReplicaInfo.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(RequestPartitionData)
            item.partition_index, item.leader_id, item.leader_epoch = _unpack_iii(data, pos)
            pos += 12
            item.preferred_successors, pos = read_int32s(data, pos)
            item.preferred_candidates = []
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[RequestPartitionData], int]]:
        check_count(count)
        items: list[RequestPartitionData] = []
        if version >= 1:
            for _ in range(count):
                item = new(RequestPartitionData)
                item.partition_index, item.leader_id, item.leader_epoch = _unpack_iii(data, pos)
                pos += 12
                item.preferred_successors = []
                size, pos = read_compact_count(data, pos, 21)
                if size < 0:
                    raise null_sent("preferred_candidates")
                item.preferred_candidates, pos = yield from struct_slices(
                    ReplicaInfo.read_all,
                    data,
                    pos,
                    version,
                    size,
                )
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(RequestPartitionData)
            item.partition_index, item.leader_id, item.leader_epoch = _unpack_iii(data, pos)
            pos += 12
            item.preferred_successors, pos = read_int32s(data, pos)
            yield len(item.preferred_successors)
            item.preferred_candidates = []
            item.unknown_tags = None
            items.append(item)
            yield 1
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
        if version >= 1:
            for item in items:
                buf += compact_string(item.topic_name)
                buf += compact_array_count(item.partitions)
                RequestPartitionData.write_all(out, item.partitions, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.topic_name)
            buf += array_count(item.partitions)
            RequestPartitionData.write_all(out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("RequestTopicData", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RequestTopicData], int]:
        items: list[RequestTopicData] = []
        if version >= 1:
            for _ in range(count):
                item = new(RequestTopicData)
                item.topic_name, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 14)
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
        for _ in range(count):
            item = new(RequestTopicData)
            item.topic_name, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 16)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = RequestPartitionData.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[RequestTopicData], int]]:
        check_count(count)
        items: list[RequestTopicData] = []
        if version >= 1:
            for _ in range(count):
                item = new(RequestTopicData)
                item.topic_name, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 14)
                if size < 0:
                    raise null_sent("partitions")
                item.partitions, pos = yield from RequestPartitionData.read_slices(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(RequestTopicData)
            item.topic_name, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 16)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = yield from RequestPartitionData.read_slices(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class LeaderEndpoint(Struct):
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
    def write_all(out: Writer, items: Iterable[LeaderEndpoint], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += compact_string(item.host)
            buf += _pack_H(item.port)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[LeaderEndpoint], int]:
        items: list[LeaderEndpoint] = []
        for _ in range(count):
            item = new(LeaderEndpoint)
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


class EndQuorumEpochRequest(Message):
    FIELDS = ("cluster_id", "topics", "leader_endpoints")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 54
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 1

    cluster_id: str | None
    topics: list[RequestTopicData]
    leader_endpoints: list[LeaderEndpoint]

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        topics: list[RequestTopicData] = UNSET,
        leader_endpoints: list[LeaderEndpoint] = UNSET,
    ) -> None:
        self.cluster_id = cluster_id
        self.topics = [] if topics is UNSET else topics
        self.leader_endpoints = [] if leader_endpoints is UNSET else leader_endpoints
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[EndQuorumEpochRequest], version: int) -> None:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += nullable_compact_string(item.cluster_id)
                buf += compact_array_count(item.topics)
                RequestTopicData.write_all(out, item.topics, version)
                buf += compact_array_count(item.leader_endpoints)
                LeaderEndpoint.write_all(out, item.leader_endpoints, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += nullable_string(item.cluster_id)
            buf += array_count(item.topics)
            RequestTopicData.write_all(out, item.topics, version)
            if item.unknown_tags:
                raise no_tags("EndQuorumEpochRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[EndQuorumEpochRequest], int]:
        items: list[EndQuorumEpochRequest] = []
        if version >= 1:
            for _ in range(count):
                item = new(EndQuorumEpochRequest)
                item.cluster_id, pos = read_nullable_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = RequestTopicData.read_all(data, pos, version, size)
                size, pos = read_compact_count(data, pos, 5)
                if size < 0:
                    raise null_sent("leader_endpoints")
                item.leader_endpoints, pos = LeaderEndpoint.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(EndQuorumEpochRequest)
            item.cluster_id, pos = read_nullable_string(data, pos)
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = RequestTopicData.read_all(data, pos, version, size)
            item.leader_endpoints = []
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[EndQuorumEpochRequest], int]]:
        check_count(count)
        items: list[EndQuorumEpochRequest] = []
        if version >= 1:
            for _ in range(count):
                item = new(EndQuorumEpochRequest)
                item.cluster_id, pos = read_nullable_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = yield from RequestTopicData.read_slices(data, pos, version, size)
                size, pos = read_compact_count(data, pos, 5)
                if size < 0:
                    raise null_sent("leader_endpoints")
                item.leader_endpoints, pos = yield from struct_slices(LeaderEndpoint.read_all, data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(EndQuorumEpochRequest)
            item.cluster_id, pos = read_nullable_string(data, pos)
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from RequestTopicData.read_slices(data, pos, version, size)
            item.leader_endpoints = []
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class ResponsePartitionData(Struct):
    FIELDS = ("partition_index", "error_code", "leader_id", "leader_epoch")
    __slots__ = FIELDS

    partition_index: int
    error_code: int
    leader_id: int
    leader_epoch: int

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ResponsePartitionData], version: int) -> None:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += _pack_ihii(item.partition_index, item.error_code, item.leader_id, item.leader_epoch)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_ihii(item.partition_index, item.error_code, item.leader_id, item.leader_epoch)
            if item.unknown_tags:
                raise no_tags("ResponsePartitionData", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ResponsePartitionData], int]:
        items: list[ResponsePartitionData] = []
        if version >= 1:
            for _ in range(count):
                item = new(ResponsePartitionData)
                item.partition_index, item.error_code, item.leader_id, item.leader_epoch = _unpack_ihii(data, pos)
                pos += 14
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(ResponsePartitionData)
            item.partition_index, item.error_code, item.leader_id, item.leader_epoch = _unpack_ihii(data, pos)
            pos += 14
            item.unknown_tags = None
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
        if version >= 1:
            for item in items:
                buf += compact_string(item.topic_name)
                buf += compact_array_count(item.partitions)
                ResponsePartitionData.write_all(out, item.partitions, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.topic_name)
            buf += array_count(item.partitions)
            ResponsePartitionData.write_all(out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("ResponseTopicData", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ResponseTopicData], int]:
        items: list[ResponseTopicData] = []
        if version >= 1:
            for _ in range(count):
                item = new(ResponseTopicData)
                item.topic_name, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 15)
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
        for _ in range(count):
            item = new(ResponseTopicData)
            item.topic_name, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 14)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = ResponsePartitionData.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ResponseTopicData], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += compact_string(item.topic_name)
                buf += compact_array_count(item.partitions)
                yield from written_slices(ResponsePartitionData.write_all, out, item.partitions, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += string(item.topic_name)
            buf += array_count(item.partitions)
            yield from written_slices(ResponsePartitionData.write_all, out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("ResponseTopicData", version)
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


class EndQuorumEpochResponse(Message):
    FIELDS = ("error_code", "topics", "node_endpoints")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 54
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 1

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
    def write_all(out: Writer, items: Iterable[EndQuorumEpochResponse], version: int) -> None:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += _pack_h(item.error_code)
                buf += compact_array_count(item.topics)
                ResponseTopicData.write_all(out, item.topics, version)
                tags: dict[int, bytes] = {}
                node_endpoints = item.node_endpoints
                if node_endpoints:
                    inner = Writer()
                    inner.buffer += compact_array_count(node_endpoints)
                    NodeEndpoint.write_all(inner, node_endpoints, version)
                    tags[0] = inner.bytes()
                buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_h(item.error_code)
            buf += array_count(item.topics)
            ResponseTopicData.write_all(out, item.topics, version)
            if item.node_endpoints:
                raise no_such_field("EndQuorumEpochResponse", "node_endpoints", version)
            if item.unknown_tags:
                raise no_tags("EndQuorumEpochResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[EndQuorumEpochResponse], int]:
        items: list[EndQuorumEpochResponse] = []
        if version >= 1:
            for _ in range(count):
                item = new(EndQuorumEpochResponse)
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
        for _ in range(count):
            item = new(EndQuorumEpochResponse)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = ResponseTopicData.read_all(data, pos, version, size)
            item.node_endpoints = []
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[EndQuorumEpochResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += _pack_h(item.error_code)
                buf += compact_array_count(item.topics)
                yield from ResponseTopicData.write_slices(out, item.topics, version)
                tags: dict[int, bytes] = {}
                node_endpoints = item.node_endpoints
                if node_endpoints:
                    inner = Writer()
                    inner.buffer += compact_array_count(node_endpoints)
                    NodeEndpoint.write_all(inner, node_endpoints, version)
                    tags[0] = inner.bytes()
                buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_h(item.error_code)
            buf += array_count(item.topics)
            yield from ResponseTopicData.write_slices(out, item.topics, version)
            if item.node_endpoints:
                raise no_such_field("EndQuorumEpochResponse", "node_endpoints", version)
            if item.unknown_tags:
                raise no_tags("EndQuorumEpochResponse", version)
            yield 1
