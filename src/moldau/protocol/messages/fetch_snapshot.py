# Generated from schema/fetch_snapshot.wire by tools/generate_messages.py: do not edit.
"""FetchSnapshot: a piece of a KRaft snapshot.

Since version
   1  directory id of the follower, endpoints
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
    read_compact_records,
    read_compact_string,
    read_nullable_compact_string,
    view_compact_string,
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
from moldau.protocol.wire import Records, Writer
from moldau.types import ZERO_UUID, Uuid

_pack_H, _unpack_H = fixed("H")
_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")
_pack_ii, _unpack_ii = fixed("ii")
_pack_q, _unpack_q = fixed("q")
_pack_qi, _unpack_qi = fixed("qi")
_pack_qq, _unpack_qq = fixed("qq")
_pack_u, _unpack_u = fixed("16s")


class RequestSnapshotId(Struct):
    FIELDS = ("end_offset", "epoch")
    __slots__ = FIELDS

    end_offset: int
    epoch: int

    def __init__(self, *, end_offset: int = 0, epoch: int = 0) -> None:
        self.end_offset = end_offset
        self.epoch = epoch
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[RequestSnapshotId], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_qi(item.end_offset, item.epoch)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RequestSnapshotId], int]:
        items: list[RequestSnapshotId] = []
        for _ in range(count):
            item = new(RequestSnapshotId)
            item.end_offset, item.epoch = _unpack_qi(data, pos)
            pos += 12
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class RequestPartitionSnapshot(Struct):
    FIELDS = ("partition", "current_leader_epoch", "snapshot_id", "position", "replica_directory_id")
    __slots__ = FIELDS

    partition: int
    current_leader_epoch: int
    snapshot_id: RequestSnapshotId
    position: int
    replica_directory_id: Uuid

    def __init__(
        self,
        *,
        partition: int = 0,
        current_leader_epoch: int = 0,
        snapshot_id: RequestSnapshotId = UNSET,
        position: int = 0,
        replica_directory_id: Uuid = ZERO_UUID,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.snapshot_id = RequestSnapshotId() if snapshot_id is UNSET else snapshot_id
        self.position = position
        self.replica_directory_id = replica_directory_id
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[RequestPartitionSnapshot], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ii(item.partition, item.current_leader_epoch)
            RequestSnapshotId.write_all(out, (item.snapshot_id,), version)
            buf += _pack_q(item.position)
            tags: dict[int, bytes] = {}
            if version >= 1:
                replica_directory_id = item.replica_directory_id
                if replica_directory_id != ZERO_UUID:
                    tags[0] = _pack_u(replica_directory_id)
            buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RequestPartitionSnapshot], int]:
        items: list[RequestPartitionSnapshot] = []
        for _ in range(count):
            item = new(RequestPartitionSnapshot)
            item.partition, item.current_leader_epoch = _unpack_ii(data, pos)
            pos += 8
            (item.snapshot_id,), pos = RequestSnapshotId.read_all(data, pos, version, 1)
            (item.position,) = _unpack_q(data, pos)
            pos += 8
            item.replica_directory_id = ZERO_UUID
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
                        (item.replica_directory_id,) = _unpack_u(data, pos)
                        pos += 16
                    else:
                        item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                        pos = stop
                    check_tag_end(tag, pos, stop)
            items.append(item)
        return items, pos


class RequestTopicSnapshot(Struct):
    FIELDS = ("name", "partitions")
    __slots__ = FIELDS

    name: str
    partitions: list[RequestPartitionSnapshot]

    def __init__(self, *, name: str = "", partitions: list[RequestPartitionSnapshot] = UNSET) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[RequestTopicSnapshot], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += compact_array_count(item.partitions)
            RequestPartitionSnapshot.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RequestTopicSnapshot], int]:
        items: list[RequestTopicSnapshot] = []
        for _ in range(count):
            item = new(RequestTopicSnapshot)
            item.name, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 30)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = RequestPartitionSnapshot.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[RequestTopicSnapshot], int]]:
        check_count(count)
        items: list[RequestTopicSnapshot] = []
        for _ in range(count):
            item = new(RequestTopicSnapshot)
            item.name, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 30)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = yield from struct_slices(RequestPartitionSnapshot.read_all, data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class FetchSnapshotRequest(Message):
    FIELDS = ("cluster_id", "replica_id", "max_bytes", "topics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 59
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    cluster_id: str | None
    replica_id: int
    max_bytes: int
    topics: list[RequestTopicSnapshot]

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        replica_id: int = -1,
        max_bytes: int = 2147483647,
        topics: list[RequestTopicSnapshot] = UNSET,
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.max_bytes = max_bytes
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[FetchSnapshotRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ii(item.replica_id, item.max_bytes)
            buf += compact_array_count(item.topics)
            RequestTopicSnapshot.write_all(out, item.topics, version)
            tags: dict[int, bytes] = {}
            cluster_id = item.cluster_id
            if cluster_id is not None:
                tags[0] = compact_string(cluster_id)
            buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[FetchSnapshotRequest], int]:
        items: list[FetchSnapshotRequest] = []
        for _ in range(count):
            item = new(FetchSnapshotRequest)
            item.replica_id, item.max_bytes = _unpack_ii(data, pos)
            pos += 8
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = RequestTopicSnapshot.read_all(data, pos, version, size)
            item.cluster_id = None
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                tags, pos = read_tag_count(data, pos)
                for _ in range(tags):
                    tag, pos, stop = read_tag(data, pos)
                    if tag == 0:
                        item.cluster_id, pos = read_nullable_compact_string(data, pos)
                    else:
                        item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                        pos = stop
                    check_tag_end(tag, pos, stop)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[FetchSnapshotRequest], int]]:
        check_count(count)
        items: list[FetchSnapshotRequest] = []
        for _ in range(count):
            item = new(FetchSnapshotRequest)
            item.replica_id, item.max_bytes = _unpack_ii(data, pos)
            pos += 8
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from RequestTopicSnapshot.read_slices(data, pos, version, size)
            item.cluster_id = None
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                tags, pos = read_tag_count(data, pos)
                for _ in range(tags):
                    tag, pos, stop = read_tag(data, pos)
                    if tag == 0:
                        item.cluster_id, pos = read_nullable_compact_string(data, pos)
                    else:
                        item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                        pos = stop
                    check_tag_end(tag, pos, stop)
            items.append(item)
            yield 1
        return items, pos


class ResponseSnapshotId(Struct):
    FIELDS = ("end_offset", "epoch")
    __slots__ = FIELDS

    end_offset: int
    epoch: int

    def __init__(self, *, end_offset: int = 0, epoch: int = 0) -> None:
        self.end_offset = end_offset
        self.epoch = epoch
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ResponseSnapshotId], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_qi(item.end_offset, item.epoch)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: memoryview, pos: int, version: int, count: int) -> tuple[list[ResponseSnapshotId], int]:
        items: list[ResponseSnapshotId] = []
        for _ in range(count):
            item = new(ResponseSnapshotId)
            item.end_offset, item.epoch = _unpack_qi(data, pos)
            pos += 12
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class LeaderIdAndEpoch(Struct):
    FIELDS = ("leader_id", "leader_epoch")
    __slots__ = FIELDS

    leader_id: int
    leader_epoch: int

    def __init__(self, *, leader_id: int = 0, leader_epoch: int = 0) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[LeaderIdAndEpoch], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ii(item.leader_id, item.leader_epoch)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: memoryview, pos: int, version: int, count: int) -> tuple[list[LeaderIdAndEpoch], int]:
        items: list[LeaderIdAndEpoch] = []
        for _ in range(count):
            item = new(LeaderIdAndEpoch)
            item.leader_id, item.leader_epoch = _unpack_ii(data, pos)
            pos += 8
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class ResponsePartitionSnapshot(Struct):
    FIELDS = ("index", "error_code", "snapshot_id", "current_leader", "size", "position", "unaligned_records")
    __slots__ = FIELDS

    index: int
    error_code: int
    snapshot_id: ResponseSnapshotId
    current_leader: LeaderIdAndEpoch
    size: int
    position: int
    unaligned_records: Records

    def __init__(
        self,
        *,
        index: int = 0,
        error_code: int = 0,
        snapshot_id: ResponseSnapshotId = UNSET,
        current_leader: LeaderIdAndEpoch = UNSET,
        size: int = 0,
        position: int = 0,
        unaligned_records: Records = b"",
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.snapshot_id = ResponseSnapshotId() if snapshot_id is UNSET else snapshot_id
        self.current_leader = LeaderIdAndEpoch() if current_leader is UNSET else current_leader
        self.size = size
        self.position = position
        self.unaligned_records = unaligned_records
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ResponsePartitionSnapshot], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.index, item.error_code)
            ResponseSnapshotId.write_all(out, (item.snapshot_id,), version)
            buf += _pack_qq(item.size, item.position)
            out.compact_records(item.unaligned_records)
            buf = out.buffer
            tags: dict[int, bytes] = {}
            current_leader = item.current_leader
            if current_leader.leader_id != 0 or current_leader.leader_epoch != 0 or current_leader.unknown_tags:
                inner = Writer()
                LeaderIdAndEpoch.write_all(inner, (current_leader,), version)
                tags[0] = inner.bytes()
            buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: memoryview, pos: int, version: int, count: int) -> tuple[list[ResponsePartitionSnapshot], int]:
        items: list[ResponsePartitionSnapshot] = []
        for _ in range(count):
            item = new(ResponsePartitionSnapshot)
            item.index, item.error_code = _unpack_ih(data, pos)
            pos += 6
            (item.snapshot_id,), pos = ResponseSnapshotId.read_all(data, pos, version, 1)
            item.size, item.position = _unpack_qq(data, pos)
            pos += 16
            item.unaligned_records, pos = read_compact_records(data, pos)
            item.current_leader = LeaderIdAndEpoch()
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                tags, pos = read_tag_count(data, pos)
                for _ in range(tags):
                    tag, pos, stop = read_tag(data, pos)
                    if tag == 0:
                        (item.current_leader,), pos = LeaderIdAndEpoch.read_all(data, pos, version, 1)
                    else:
                        item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                        pos = stop
                    check_tag_end(tag, pos, stop)
            items.append(item)
        return items, pos


class ResponseTopicSnapshot(Struct):
    FIELDS = ("name", "partitions")
    __slots__ = FIELDS

    name: str
    partitions: list[ResponsePartitionSnapshot]

    def __init__(self, *, name: str = "", partitions: list[ResponsePartitionSnapshot] = UNSET) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ResponseTopicSnapshot], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += compact_array_count(item.partitions)
            ResponsePartitionSnapshot.write_all(out, item.partitions, version)
            buf = out.buffer
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: memoryview, pos: int, version: int, count: int) -> tuple[list[ResponseTopicSnapshot], int]:
        items: list[ResponseTopicSnapshot] = []
        for _ in range(count):
            item = new(ResponseTopicSnapshot)
            item.name, pos = view_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 37)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = ResponsePartitionSnapshot.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ResponseTopicSnapshot], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += compact_array_count(item.partitions)
            yield from written_slices(ResponsePartitionSnapshot.write_all, out, item.partitions, version)
            buf = out.buffer
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
    def read_all(data: memoryview, pos: int, version: int, count: int) -> tuple[list[NodeEndpoint], int]:
        items: list[NodeEndpoint] = []
        for _ in range(count):
            item = new(NodeEndpoint)
            (item.node_id,) = _unpack_i(data, pos)
            pos += 4
            item.host, pos = view_compact_string(data, pos)
            (item.port,) = _unpack_H(data, pos)
            pos += 2
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class FetchSnapshotResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "topics", "node_endpoints")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 59
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 0
    KEEPS_VIEW: ClassVar[bool] = True

    throttle_time_ms: int
    error_code: int
    topics: list[ResponseTopicSnapshot]
    node_endpoints: list[NodeEndpoint]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: list[ResponseTopicSnapshot] = UNSET,
        node_endpoints: list[NodeEndpoint] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.topics = [] if topics is UNSET else topics
        self.node_endpoints = [] if node_endpoints is UNSET else node_endpoints
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[FetchSnapshotResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += compact_array_count(item.topics)
            ResponseTopicSnapshot.write_all(out, item.topics, version)
            buf = out.buffer
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
                    raise no_such_field("FetchSnapshotResponse", "node_endpoints", version)
            buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: memoryview, pos: int, version: int, count: int) -> tuple[list[FetchSnapshotResponse], int]:
        items: list[FetchSnapshotResponse] = []
        for _ in range(count):
            item = new(FetchSnapshotResponse)
            item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
            pos += 6
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = ResponseTopicSnapshot.read_all(data, pos, version, size)
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
    def write_slices(out: Writer, items: Iterable[FetchSnapshotResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += compact_array_count(item.topics)
            yield from ResponseTopicSnapshot.write_slices(out, item.topics, version)
            buf = out.buffer
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
                    raise no_such_field("FetchSnapshotResponse", "node_endpoints", version)
            buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"
            yield 1
