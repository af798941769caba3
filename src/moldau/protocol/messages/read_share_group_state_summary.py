# Generated from schema/read_share_group_state_summary.wire by tools/generate_messages.py: do not edit.
"""ReadShareGroupStateSummary: reads the start offsets of share partitions.

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
_pack_ii, _unpack_ii = fixed("ii")
_pack_iiq, _unpack_iiq = fixed("iiq")
_pack_iiqi, _unpack_iiqi = fixed("iiqi")
_pack_u, _unpack_u = fixed("16s")


class PartitionData(Struct):
    FIELDS = ("partition", "leader_epoch")
    __slots__ = FIELDS

    partition: int
    leader_epoch: int

    def __init__(self, *, partition: int = 0, leader_epoch: int = 0) -> None:
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[PartitionData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ii(item.partition, item.leader_epoch)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[PartitionData], int]:
        items: list[PartitionData] = []
        for _ in range(count):
            item = new(PartitionData)
            item.partition, item.leader_epoch = _unpack_ii(data, pos)
            pos += 8
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class ReadStateSummaryData(Struct):
    FIELDS = ("topic_id", "partitions")
    __slots__ = FIELDS

    topic_id: Uuid
    partitions: list[PartitionData]

    def __init__(self, *, topic_id: Uuid = ZERO_UUID, partitions: list[PartitionData] = UNSET) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ReadStateSummaryData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            PartitionData.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ReadStateSummaryData], int]:
        items: list[ReadStateSummaryData] = []
        for _ in range(count):
            item = new(ReadStateSummaryData)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 9)
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
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[ReadStateSummaryData], int]]:
        check_count(count)
        items: list[ReadStateSummaryData] = []
        for _ in range(count):
            item = new(ReadStateSummaryData)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 9)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = yield from struct_slices(PartitionData.read_all, data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class ReadShareGroupStateSummaryRequest(Message):
    FIELDS = ("group_id", "topics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 87
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    group_id: str
    topics: list[ReadStateSummaryData]

    def __init__(self, *, group_id: str = "", topics: list[ReadStateSummaryData] = UNSET) -> None:
        self.group_id = group_id
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ReadShareGroupStateSummaryRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.group_id)
            buf += compact_array_count(item.topics)
            ReadStateSummaryData.write_all(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[ReadShareGroupStateSummaryRequest], int]:
        items: list[ReadShareGroupStateSummaryRequest] = []
        for _ in range(count):
            item = new(ReadShareGroupStateSummaryRequest)
            item.group_id, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = ReadStateSummaryData.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[ReadShareGroupStateSummaryRequest], int]]:
        check_count(count)
        items: list[ReadShareGroupStateSummaryRequest] = []
        for _ in range(count):
            item = new(ReadShareGroupStateSummaryRequest)
            item.group_id, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from ReadStateSummaryData.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class PartitionResult(Struct):
    FIELDS = (
        "partition",
        "error_code",
        "error_message",
        "state_epoch",
        "leader_epoch",
        "start_offset",
        "delivery_complete_count",
    )
    __slots__ = FIELDS

    partition: int
    error_code: int
    error_message: str | None
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int

    def __init__(
        self,
        *,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
    ) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[PartitionResult], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.partition, item.error_code)
            buf += nullable_compact_string(item.error_message)
            if version >= 1:
                buf += _pack_iiqi(item.state_epoch, item.leader_epoch, item.start_offset, item.delivery_complete_count)
            else:
                buf += _pack_iiq(item.state_epoch, item.leader_epoch, item.start_offset)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[PartitionResult], int]:
        items: list[PartitionResult] = []
        for _ in range(count):
            item = new(PartitionResult)
            item.partition, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.error_message, pos = read_nullable_compact_string(data, pos)
            if version >= 1:
                (
                    item.state_epoch,
                    item.leader_epoch,
                    item.start_offset,
                    item.delivery_complete_count,
                ) = _unpack_iiqi(data, pos)
                pos += 20
            else:
                item.state_epoch, item.leader_epoch, item.start_offset = _unpack_iiq(data, pos)
                pos += 16
                item.delivery_complete_count = -1
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class ReadStateSummaryResult(Struct):
    FIELDS = ("topic_id", "partitions")
    __slots__ = FIELDS

    topic_id: Uuid
    partitions: list[PartitionResult]

    def __init__(self, *, topic_id: Uuid = ZERO_UUID, partitions: list[PartitionResult] = UNSET) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ReadStateSummaryResult], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            PartitionResult.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ReadStateSummaryResult], int]:
        items: list[ReadStateSummaryResult] = []
        for _ in range(count):
            item = new(ReadStateSummaryResult)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 24)
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
    def write_slices(out: Writer, items: Iterable[ReadStateSummaryResult], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            yield from written_slices(PartitionResult.write_all, out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class ReadShareGroupStateSummaryResponse(Message):
    FIELDS = ("results",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 87
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    results: list[ReadStateSummaryResult]

    def __init__(self, *, results: list[ReadStateSummaryResult] = UNSET) -> None:
        self.results = [] if results is UNSET else results
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ReadShareGroupStateSummaryResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.results)
            ReadStateSummaryResult.write_all(out, item.results, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[ReadShareGroupStateSummaryResponse], int]:
        items: list[ReadShareGroupStateSummaryResponse] = []
        for _ in range(count):
            item = new(ReadShareGroupStateSummaryResponse)
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("results")
            item.results, pos = ReadStateSummaryResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ReadShareGroupStateSummaryResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.results)
            yield from ReadStateSummaryResult.write_slices(out, item.results, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
