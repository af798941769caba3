# Generated from schema/write_share_group_state.wire by tools/generate_messages.py: do not edit.
"""WriteShareGroupState: writes the state of share partitions.

Since version
   1  how many records are done with
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, read_compact_count
from moldau.protocol.message import UNSET, Message, Struct, new
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

_pack_ih, _unpack_ih = fixed("ih")
_pack_iiiq, _unpack_iiiq = fixed("iiiq")
_pack_iiiqi, _unpack_iiiqi = fixed("iiiqi")
_pack_qqbh, _unpack_qqbh = fixed("qqbh")
_pack_u, _unpack_u = fixed("16s")


class StateBatch(Struct):
    FIELDS = ("first_offset", "last_offset", "delivery_state", "delivery_count")
    __slots__ = FIELDS

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int

    def __init__(
        self,
        *,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_state: int = 0,
        delivery_count: int = 0,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_state = delivery_state
        self.delivery_count = delivery_count
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[StateBatch], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_qqbh(item.first_offset, item.last_offset, item.delivery_state, item.delivery_count)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[StateBatch], int]:
        items: list[StateBatch] = []
        for _ in range(count):
            item = new(StateBatch)
            item.first_offset, item.last_offset, item.delivery_state, item.delivery_count = _unpack_qqbh(data, pos)
            pos += 19
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class PartitionData(Struct):
    FIELDS = ("partition", "state_epoch", "leader_epoch", "start_offset", "delivery_complete_count", "state_batches")
    __slots__ = FIELDS

    partition: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    state_batches: list[StateBatch]

    def __init__(
        self,
        *,
        partition: int = 0,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        state_batches: list[StateBatch] = UNSET,
    ) -> None:
        self.partition = partition
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.state_batches = [] if state_batches is UNSET else state_batches
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[PartitionData], version: int) -> None:
        buf = out.buffer
        for item in items:
            if version >= 1:
                buf += _pack_iiiqi(
                    item.partition,
                    item.state_epoch,
                    item.leader_epoch,
                    item.start_offset,
                    item.delivery_complete_count,
                )
            else:
                buf += _pack_iiiq(item.partition, item.state_epoch, item.leader_epoch, item.start_offset)
            buf += compact_array_count(item.state_batches)
            StateBatch.write_all(out, item.state_batches, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[PartitionData], int]:
        items: list[PartitionData] = []
        for _ in range(count):
            item = new(PartitionData)
            if version >= 1:
                (
                    item.partition,
                    item.state_epoch,
                    item.leader_epoch,
                    item.start_offset,
                    item.delivery_complete_count,
                ) = _unpack_iiiqi(data, pos)
                pos += 24
            else:
                item.partition, item.state_epoch, item.leader_epoch, item.start_offset = _unpack_iiiq(data, pos)
                pos += 20
                item.delivery_complete_count = -1
            size, pos = read_compact_count(data, pos, 20)
            if size < 0:
                raise null_sent("state_batches")
            item.state_batches, pos = StateBatch.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[PartitionData], int]]:
        check_count(count)
        items: list[PartitionData] = []
        for _ in range(count):
            item = new(PartitionData)
            if version >= 1:
                (
                    item.partition,
                    item.state_epoch,
                    item.leader_epoch,
                    item.start_offset,
                    item.delivery_complete_count,
                ) = _unpack_iiiqi(data, pos)
                pos += 24
            else:
                item.partition, item.state_epoch, item.leader_epoch, item.start_offset = _unpack_iiiq(data, pos)
                pos += 20
                item.delivery_complete_count = -1
            size, pos = read_compact_count(data, pos, 20)
            if size < 0:
                raise null_sent("state_batches")
            item.state_batches, pos = yield from struct_slices(StateBatch.read_all, data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class WriteStateData(Struct):
    FIELDS = ("topic_id", "partitions")
    __slots__ = FIELDS

    topic_id: Uuid
    partitions: list[PartitionData]

    def __init__(self, *, topic_id: Uuid = ZERO_UUID, partitions: list[PartitionData] = UNSET) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[WriteStateData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            PartitionData.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[WriteStateData], int]:
        items: list[WriteStateData] = []
        for _ in range(count):
            item = new(WriteStateData)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 22)
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
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[WriteStateData], int]]:
        check_count(count)
        items: list[WriteStateData] = []
        for _ in range(count):
            item = new(WriteStateData)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 22)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = yield from PartitionData.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class WriteShareGroupStateRequest(Message):
    FIELDS = ("group_id", "topics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 85
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    group_id: str
    topics: list[WriteStateData]

    def __init__(self, *, group_id: str = "", topics: list[WriteStateData] = UNSET) -> None:
        self.group_id = group_id
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[WriteShareGroupStateRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.group_id)
            buf += compact_array_count(item.topics)
            WriteStateData.write_all(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[WriteShareGroupStateRequest], int]:
        items: list[WriteShareGroupStateRequest] = []
        for _ in range(count):
            item = new(WriteShareGroupStateRequest)
            item.group_id, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = WriteStateData.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[WriteShareGroupStateRequest], int]]:
        check_count(count)
        items: list[WriteShareGroupStateRequest] = []
        for _ in range(count):
            item = new(WriteShareGroupStateRequest)
            item.group_id, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from WriteStateData.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class PartitionResult(Struct):
    FIELDS = ("partition", "error_code", "error_message")
    __slots__ = FIELDS

    partition: int
    error_code: int
    error_message: str | None

    def __init__(self, *, partition: int = 0, error_code: int = 0, error_message: str | None = None) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[PartitionResult], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.partition, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[PartitionResult], int]:
        items: list[PartitionResult] = []
        for _ in range(count):
            item = new(PartitionResult)
            item.partition, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.error_message, pos = read_nullable_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class WriteStateResult(Struct):
    FIELDS = ("topic_id", "partitions")
    __slots__ = FIELDS

    topic_id: Uuid
    partitions: list[PartitionResult]

    def __init__(self, *, topic_id: Uuid = ZERO_UUID, partitions: list[PartitionResult] = UNSET) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[WriteStateResult], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            PartitionResult.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[WriteStateResult], int]:
        items: list[WriteStateResult] = []
        for _ in range(count):
            item = new(WriteStateResult)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 8)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = PartitionResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[WriteStateResult], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            yield from written_slices(PartitionResult.write_all, out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class WriteShareGroupStateResponse(Message):
    FIELDS = ("results",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 85
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    results: list[WriteStateResult]

    def __init__(self, *, results: list[WriteStateResult] = UNSET) -> None:
        self.results = [] if results is UNSET else results
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[WriteShareGroupStateResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.results)
            WriteStateResult.write_all(out, item.results, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[WriteShareGroupStateResponse], int]:
        items: list[WriteShareGroupStateResponse] = []
        for _ in range(count):
            item = new(WriteShareGroupStateResponse)
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("results")
            item.results, pos = WriteStateResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[WriteShareGroupStateResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.results)
            yield from WriteStateResult.write_slices(out, item.results, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
