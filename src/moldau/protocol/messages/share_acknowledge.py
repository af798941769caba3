# Generated from schema/share_acknowledge.wire by tools/generate_messages.py: do not edit.
"""ShareAcknowledge: acknowledges records that were acquired.

Since version
   2  renewal of locks
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, compact_int8s, read_compact_count, read_compact_int8s
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field
from moldau.protocol.primitives import (
    compact_string,
    fixed,
    null_sent,
    nullable_compact_string,
    read_compact_string,
    read_nullable_compact_string,
)
from moldau.protocol.slices import Slices, check_count, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")
_pack_ii, _unpack_ii = fixed("ii")
_pack_io, _unpack_io = fixed("i?")
_pack_qq, _unpack_qq = fixed("qq")
_pack_u, _unpack_u = fixed("16s")


class AcknowledgementBatch(Struct):
    FIELDS = ("first_offset", "last_offset", "acknowledge_types")
    __slots__ = FIELDS

    first_offset: int
    last_offset: int
    acknowledge_types: list[int]

    def __init__(self, *, first_offset: int = 0, last_offset: int = 0, acknowledge_types: list[int] = UNSET) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.acknowledge_types = [] if acknowledge_types is UNSET else acknowledge_types
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AcknowledgementBatch], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_qq(item.first_offset, item.last_offset)
            buf += compact_int8s(item.acknowledge_types)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AcknowledgementBatch], int]:
        items: list[AcknowledgementBatch] = []
        for _ in range(count):
            item = new(AcknowledgementBatch)
            item.first_offset, item.last_offset = _unpack_qq(data, pos)
            pos += 16
            item.acknowledge_types, pos = read_compact_int8s(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[AcknowledgementBatch], int]]:
        check_count(count)
        items: list[AcknowledgementBatch] = []
        for _ in range(count):
            item = new(AcknowledgementBatch)
            item.first_offset, item.last_offset = _unpack_qq(data, pos)
            pos += 16
            item.acknowledge_types, pos = read_compact_int8s(data, pos)
            yield len(item.acknowledge_types)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class AcknowledgePartition(Struct):
    FIELDS = ("partition_index", "acknowledgement_batches")
    __slots__ = FIELDS

    partition_index: int
    acknowledgement_batches: list[AcknowledgementBatch]

    def __init__(
        self,
        *,
        partition_index: int = 0,
        acknowledgement_batches: list[AcknowledgementBatch] = UNSET,
    ) -> None:
        self.partition_index = partition_index
        self.acknowledgement_batches = [] if acknowledgement_batches is UNSET else acknowledgement_batches
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AcknowledgePartition], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.partition_index)
            buf += compact_array_count(item.acknowledgement_batches)
            AcknowledgementBatch.write_all(out, item.acknowledgement_batches, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AcknowledgePartition], int]:
        items: list[AcknowledgePartition] = []
        for _ in range(count):
            item = new(AcknowledgePartition)
            (item.partition_index,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("acknowledgement_batches")
            item.acknowledgement_batches, pos = AcknowledgementBatch.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[AcknowledgePartition], int]]:
        check_count(count)
        items: list[AcknowledgePartition] = []
        for _ in range(count):
            item = new(AcknowledgePartition)
            (item.partition_index,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("acknowledgement_batches")
            item.acknowledgement_batches, pos = yield from AcknowledgementBatch.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class AcknowledgeTopic(Struct):
    FIELDS = ("topic_id", "partitions")
    __slots__ = FIELDS

    topic_id: Uuid
    partitions: list[AcknowledgePartition]

    def __init__(self, *, topic_id: Uuid = ZERO_UUID, partitions: list[AcknowledgePartition] = UNSET) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AcknowledgeTopic], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            AcknowledgePartition.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AcknowledgeTopic], int]:
        items: list[AcknowledgeTopic] = []
        for _ in range(count):
            item = new(AcknowledgeTopic)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 6)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = AcknowledgePartition.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[AcknowledgeTopic], int]]:
        check_count(count)
        items: list[AcknowledgeTopic] = []
        for _ in range(count):
            item = new(AcknowledgeTopic)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 6)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = yield from AcknowledgePartition.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class ShareAcknowledgeRequest(Message):
    FIELDS = ("group_id", "member_id", "share_session_epoch", "is_renew_ack", "topics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 79
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 1

    group_id: str | None
    member_id: str | None
    share_session_epoch: int
    is_renew_ack: bool
    topics: list[AcknowledgeTopic]

    def __init__(
        self,
        *,
        group_id: str | None = None,
        member_id: str | None = "",
        share_session_epoch: int = 0,
        is_renew_ack: bool = False,
        topics: list[AcknowledgeTopic] = UNSET,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.share_session_epoch = share_session_epoch
        self.is_renew_ack = is_renew_ack
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ShareAcknowledgeRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += nullable_compact_string(item.group_id)
            buf += nullable_compact_string(item.member_id)
            if version >= 2:
                buf += _pack_io(item.share_session_epoch, item.is_renew_ack)
            else:
                if item.is_renew_ack:
                    raise no_such_field("ShareAcknowledgeRequest", "is_renew_ack", version)
                buf += _pack_i(item.share_session_epoch)
            buf += compact_array_count(item.topics)
            AcknowledgeTopic.write_all(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ShareAcknowledgeRequest], int]:
        items: list[ShareAcknowledgeRequest] = []
        for _ in range(count):
            item = new(ShareAcknowledgeRequest)
            item.group_id, pos = read_nullable_compact_string(data, pos)
            item.member_id, pos = read_nullable_compact_string(data, pos)
            if version >= 2:
                item.share_session_epoch, item.is_renew_ack = _unpack_io(data, pos)
                pos += 5
            else:
                (item.share_session_epoch,) = _unpack_i(data, pos)
                pos += 4
                item.is_renew_ack = False
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = AcknowledgeTopic.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[ShareAcknowledgeRequest], int]]:
        check_count(count)
        items: list[ShareAcknowledgeRequest] = []
        for _ in range(count):
            item = new(ShareAcknowledgeRequest)
            item.group_id, pos = read_nullable_compact_string(data, pos)
            item.member_id, pos = read_nullable_compact_string(data, pos)
            if version >= 2:
                item.share_session_epoch, item.is_renew_ack = _unpack_io(data, pos)
                pos += 5
            else:
                (item.share_session_epoch,) = _unpack_i(data, pos)
                pos += 4
                item.is_renew_ack = False
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from AcknowledgeTopic.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
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
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[LeaderIdAndEpoch], int]:
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


class PartitionData(Struct):
    FIELDS = ("partition_index", "error_code", "error_message", "current_leader")
    __slots__ = FIELDS

    partition_index: int
    error_code: int
    error_message: str | None
    current_leader: LeaderIdAndEpoch

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch = UNSET,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.current_leader = LeaderIdAndEpoch() if current_leader is UNSET else current_leader
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[PartitionData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.partition_index, item.error_code)
            buf += nullable_compact_string(item.error_message)
            LeaderIdAndEpoch.write_all(out, (item.current_leader,), version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[PartitionData], int]:
        items: list[PartitionData] = []
        for _ in range(count):
            item = new(PartitionData)
            item.partition_index, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.error_message, pos = read_nullable_compact_string(data, pos)
            (item.current_leader,), pos = LeaderIdAndEpoch.read_all(data, pos, version, 1)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class ShareAcknowledgeTopicResponse(Struct):
    FIELDS = ("topic_id", "partitions")
    __slots__ = FIELDS

    topic_id: Uuid
    partitions: list[PartitionData]

    def __init__(self, *, topic_id: Uuid = ZERO_UUID, partitions: list[PartitionData] = UNSET) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ShareAcknowledgeTopicResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            PartitionData.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ShareAcknowledgeTopicResponse], int]:
        items: list[ShareAcknowledgeTopicResponse] = []
        for _ in range(count):
            item = new(ShareAcknowledgeTopicResponse)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 17)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = PartitionData.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ShareAcknowledgeTopicResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            yield from written_slices(PartitionData.write_all, out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class NodeEndpoint(Struct):
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
    def write_all(out: Writer, items: Iterable[NodeEndpoint], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.node_id)
            buf += compact_string(item.host)
            buf += _pack_i(item.port)
            buf += nullable_compact_string(item.rack)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[NodeEndpoint], int]:
        items: list[NodeEndpoint] = []
        for _ in range(count):
            item = new(NodeEndpoint)
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


class ShareAcknowledgeResponse(Message):
    FIELDS = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "acquisition_lock_timeout_ms",
        "responses",
        "node_endpoints",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 79
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 1

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    acquisition_lock_timeout_ms: int
    responses: list[ShareAcknowledgeTopicResponse]
    node_endpoints: list[NodeEndpoint]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        acquisition_lock_timeout_ms: int = 0,
        responses: list[ShareAcknowledgeTopicResponse] = UNSET,
        node_endpoints: list[NodeEndpoint] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.acquisition_lock_timeout_ms = acquisition_lock_timeout_ms
        self.responses = [] if responses is UNSET else responses
        self.node_endpoints = [] if node_endpoints is UNSET else node_endpoints
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ShareAcknowledgeResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_compact_string(item.error_message)
            if version >= 2:
                buf += _pack_i(item.acquisition_lock_timeout_ms)
            buf += compact_array_count(item.responses)
            ShareAcknowledgeTopicResponse.write_all(out, item.responses, version)
            buf += compact_array_count(item.node_endpoints)
            NodeEndpoint.write_all(out, item.node_endpoints, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ShareAcknowledgeResponse], int]:
        items: list[ShareAcknowledgeResponse] = []
        for _ in range(count):
            item = new(ShareAcknowledgeResponse)
            item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.error_message, pos = read_nullable_compact_string(data, pos)
            if version >= 2:
                (item.acquisition_lock_timeout_ms,) = _unpack_i(data, pos)
                pos += 4
            else:
                item.acquisition_lock_timeout_ms = 0
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("responses")
            item.responses, pos = ShareAcknowledgeTopicResponse.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 11)
            if size < 0:
                raise null_sent("node_endpoints")
            item.node_endpoints, pos = NodeEndpoint.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ShareAcknowledgeResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_compact_string(item.error_message)
            if version >= 2:
                buf += _pack_i(item.acquisition_lock_timeout_ms)
            buf += compact_array_count(item.responses)
            yield from ShareAcknowledgeTopicResponse.write_slices(out, item.responses, version)
            buf += compact_array_count(item.node_endpoints)
            yield from written_slices(NodeEndpoint.write_all, out, item.node_endpoints, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
