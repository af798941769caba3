# Generated from schema/produce.wire by tools/generate_messages.py: do not edit.
"""Produce: appends record batches to the logs of partitions.

Since version
   3  record batches of magic 2; transactional id
   5  the log start offset in the answer
   7  zstd is allowed
   8  per-record errors and a message in the answer
   9  flexible
  10  the current leader in the answer, so a client can move without asking for metadata
  11  a transaction may be declared abortable by its error
  12  partitions join the transaction by being written to
  13  topics by id instead of by name
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import array_count, compact_array_count, read_compact_count, read_count
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field, no_tags
from moldau.protocol.primitives import (
    compact_string,
    fixed,
    null_sent,
    nullable_compact_string,
    nullable_string,
    read_compact_string,
    read_nullable_compact_records,
    read_nullable_compact_string,
    read_nullable_records,
    read_nullable_string,
    read_string,
    string,
    view_compact_string,
    view_nullable_compact_string,
    view_nullable_string,
    view_string,
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

_pack_hi, _unpack_hi = fixed("hi")
_pack_i, _unpack_i = fixed("i")
_pack_ihqq, _unpack_ihqq = fixed("ihqq")
_pack_ihqqq, _unpack_ihqqq = fixed("ihqqq")
_pack_ii, _unpack_ii = fixed("ii")
_pack_u, _unpack_u = fixed("16s")


class PartitionProduceData(Struct):
    FIELDS = ("index", "records")
    __slots__ = FIELDS

    index: int
    records: Records | None

    def __init__(self, *, index: int = 0, records: Records | None = None) -> None:
        self.index = index
        self.records = records
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[PartitionProduceData], version: int) -> None:
        buf = out.buffer
        if version >= 9:
            for item in items:
                buf += _pack_i(item.index)
                out.nullable_compact_records(item.records)
                buf = out.buffer
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_i(item.index)
            out.nullable_records(item.records)
            buf = out.buffer
            if item.unknown_tags:
                raise no_tags("PartitionProduceData", version)

    @staticmethod
    def read_all(data: memoryview, pos: int, version: int, count: int) -> tuple[list[PartitionProduceData], int]:
        items: list[PartitionProduceData] = []
        if version >= 9:
            for _ in range(count):
                item = new(PartitionProduceData)
                (item.index,) = _unpack_i(data, pos)
                pos += 4
                item.records, pos = read_nullable_compact_records(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(PartitionProduceData)
            (item.index,) = _unpack_i(data, pos)
            pos += 4
            item.records, pos = read_nullable_records(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class TopicProduceData(Struct):
    FIELDS = ("name", "topic_id", "partition_data")
    __slots__ = FIELDS

    name: str
    topic_id: Uuid
    partition_data: list[PartitionProduceData]

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: Uuid = ZERO_UUID,
        partition_data: list[PartitionProduceData] = UNSET,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_data = [] if partition_data is UNSET else partition_data
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TopicProduceData], version: int) -> None:
        buf = out.buffer
        if version >= 9:
            for item in items:
                if version <= 12:
                    buf += compact_string(item.name)
                if version >= 13:
                    buf += _pack_u(item.topic_id)
                buf += compact_array_count(item.partition_data)
                PartitionProduceData.write_all(out, item.partition_data, version)
                buf = out.buffer
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.name)
            buf += array_count(item.partition_data)
            PartitionProduceData.write_all(out, item.partition_data, version)
            buf = out.buffer
            if item.unknown_tags:
                raise no_tags("TopicProduceData", version)

    @staticmethod
    def read_all(data: memoryview, pos: int, version: int, count: int) -> tuple[list[TopicProduceData], int]:
        items: list[TopicProduceData] = []
        if version >= 9:
            for _ in range(count):
                item = new(TopicProduceData)
                if version >= 13:
                    item.name = ""
                else:
                    item.name, pos = view_compact_string(data, pos)
                if version >= 13:
                    (item.topic_id,) = _unpack_u(data, pos)
                    pos += 16
                else:
                    item.topic_id = ZERO_UUID
                size, pos = read_compact_count(data, pos, 6)
                if size < 0:
                    raise null_sent("partition_data")
                item.partition_data, pos = PartitionProduceData.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(TopicProduceData)
            item.name, pos = view_string(data, pos)
            item.topic_id = ZERO_UUID
            size, pos = read_count(data, pos, 8)
            if size < 0:
                raise null_sent("partition_data")
            item.partition_data, pos = PartitionProduceData.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: memoryview, pos: int, version: int, count: int) -> Slices[tuple[list[TopicProduceData], int]]:
        check_count(count)
        items: list[TopicProduceData] = []
        if version >= 9:
            for _ in range(count):
                item = new(TopicProduceData)
                if version >= 13:
                    item.name = ""
                else:
                    item.name, pos = view_compact_string(data, pos)
                if version >= 13:
                    (item.topic_id,) = _unpack_u(data, pos)
                    pos += 16
                else:
                    item.topic_id = ZERO_UUID
                size, pos = read_compact_count(data, pos, 6)
                if size < 0:
                    raise null_sent("partition_data")
                item.partition_data, pos = yield from struct_slices(
                    PartitionProduceData.read_all,
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
            item = new(TopicProduceData)
            item.name, pos = view_string(data, pos)
            item.topic_id = ZERO_UUID
            size, pos = read_count(data, pos, 8)
            if size < 0:
                raise null_sent("partition_data")
            item.partition_data, pos = yield from struct_slices(PartitionProduceData.read_all, data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class ProduceRequest(Message):
    FIELDS = ("transactional_id", "acks", "timeout_ms", "topic_data")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 3
    MAX_VERSION: ClassVar[int] = 13
    FLEXIBLE_SINCE: ClassVar[int | None] = 9
    KEEPS_VIEW: ClassVar[bool] = True

    transactional_id: str | None
    acks: int
    timeout_ms: int
    topic_data: list[TopicProduceData]

    def __init__(
        self,
        *,
        transactional_id: str | None = None,
        acks: int = 0,
        timeout_ms: int = 0,
        topic_data: list[TopicProduceData] = UNSET,
    ) -> None:
        self.transactional_id = transactional_id
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.topic_data = [] if topic_data is UNSET else topic_data
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ProduceRequest], version: int) -> None:
        buf = out.buffer
        if version >= 9:
            for item in items:
                buf += nullable_compact_string(item.transactional_id)
                buf += _pack_hi(item.acks, item.timeout_ms)
                buf += compact_array_count(item.topic_data)
                TopicProduceData.write_all(out, item.topic_data, version)
                buf = out.buffer
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += nullable_string(item.transactional_id)
            buf += _pack_hi(item.acks, item.timeout_ms)
            buf += array_count(item.topic_data)
            TopicProduceData.write_all(out, item.topic_data, version)
            buf = out.buffer
            if item.unknown_tags:
                raise no_tags("ProduceRequest", version)

    @staticmethod
    def read_all(data: memoryview, pos: int, version: int, count: int) -> tuple[list[ProduceRequest], int]:
        items: list[ProduceRequest] = []
        if version >= 9:
            for _ in range(count):
                item = new(ProduceRequest)
                item.transactional_id, pos = view_nullable_compact_string(data, pos)
                item.acks, item.timeout_ms = _unpack_hi(data, pos)
                pos += 6
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("topic_data")
                item.topic_data, pos = TopicProduceData.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(ProduceRequest)
            item.transactional_id, pos = view_nullable_string(data, pos)
            item.acks, item.timeout_ms = _unpack_hi(data, pos)
            pos += 6
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topic_data")
            item.topic_data, pos = TopicProduceData.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: memoryview, pos: int, version: int, count: int) -> Slices[tuple[list[ProduceRequest], int]]:
        check_count(count)
        items: list[ProduceRequest] = []
        if version >= 9:
            for _ in range(count):
                item = new(ProduceRequest)
                item.transactional_id, pos = view_nullable_compact_string(data, pos)
                item.acks, item.timeout_ms = _unpack_hi(data, pos)
                pos += 6
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("topic_data")
                item.topic_data, pos = yield from TopicProduceData.read_slices(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(ProduceRequest)
            item.transactional_id, pos = view_nullable_string(data, pos)
            item.acks, item.timeout_ms = _unpack_hi(data, pos)
            pos += 6
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topic_data")
            item.topic_data, pos = yield from TopicProduceData.read_slices(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class BatchIndexAndErrorMessage(Struct):
    FIELDS = ("batch_index", "batch_index_error_message")
    __slots__ = FIELDS

    batch_index: int
    batch_index_error_message: str | None

    def __init__(self, *, batch_index: int = 0, batch_index_error_message: str | None = None) -> None:
        self.batch_index = batch_index
        self.batch_index_error_message = batch_index_error_message
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[BatchIndexAndErrorMessage], version: int) -> None:
        buf = out.buffer
        if version >= 9:
            for item in items:
                buf += _pack_i(item.batch_index)
                buf += nullable_compact_string(item.batch_index_error_message)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_i(item.batch_index)
            buf += nullable_string(item.batch_index_error_message)
            if item.unknown_tags:
                raise no_tags("BatchIndexAndErrorMessage", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[BatchIndexAndErrorMessage], int]:
        items: list[BatchIndexAndErrorMessage] = []
        if version >= 9:
            for _ in range(count):
                item = new(BatchIndexAndErrorMessage)
                (item.batch_index,) = _unpack_i(data, pos)
                pos += 4
                item.batch_index_error_message, pos = read_nullable_compact_string(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(BatchIndexAndErrorMessage)
            (item.batch_index,) = _unpack_i(data, pos)
            pos += 4
            item.batch_index_error_message, pos = read_nullable_string(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class LeaderIdAndEpoch(Struct):
    FIELDS = ("leader_id", "leader_epoch")
    __slots__ = FIELDS

    leader_id: int
    leader_epoch: int

    def __init__(self, *, leader_id: int = -1, leader_epoch: int = -1) -> None:
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


class PartitionProduceResponse(Struct):
    FIELDS = (
        "index",
        "error_code",
        "base_offset",
        "log_append_time_ms",
        "log_start_offset",
        "record_errors",
        "error_message",
        "current_leader",
    )
    __slots__ = FIELDS

    index: int
    error_code: int
    base_offset: int
    log_append_time_ms: int
    log_start_offset: int
    record_errors: list[BatchIndexAndErrorMessage]
    error_message: str | None
    current_leader: LeaderIdAndEpoch

    def __init__(
        self,
        *,
        index: int = 0,
        error_code: int = 0,
        base_offset: int = 0,
        log_append_time_ms: int = -1,
        log_start_offset: int = -1,
        record_errors: list[BatchIndexAndErrorMessage] = UNSET,
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch = UNSET,
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.base_offset = base_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.record_errors = [] if record_errors is UNSET else record_errors
        self.error_message = error_message
        self.current_leader = LeaderIdAndEpoch() if current_leader is UNSET else current_leader
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[PartitionProduceResponse], version: int) -> None:
        buf = out.buffer
        if version >= 9:
            for item in items:
                buf += _pack_ihqqq(
                    item.index,
                    item.error_code,
                    item.base_offset,
                    item.log_append_time_ms,
                    item.log_start_offset,
                )
                buf += compact_array_count(item.record_errors)
                BatchIndexAndErrorMessage.write_all(out, item.record_errors, version)
                buf += nullable_compact_string(item.error_message)
                tags: dict[int, bytes] = {}
                if version >= 10:
                    current_leader = item.current_leader
                    if (
                        current_leader.leader_id != -1
                        or current_leader.leader_epoch != -1
                        or current_leader.unknown_tags
                    ):
                        inner = Writer()
                        LeaderIdAndEpoch.write_all(inner, (current_leader,), version)
                        tags[0] = inner.bytes()
                else:
                    if (
                        item.current_leader.leader_id != -1
                        or item.current_leader.leader_epoch != -1
                        or item.current_leader.unknown_tags
                    ):
                        raise no_such_field("PartitionProduceResponse", "current_leader", version)
                buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 5:
                buf += _pack_ihqqq(
                    item.index,
                    item.error_code,
                    item.base_offset,
                    item.log_append_time_ms,
                    item.log_start_offset,
                )
            else:
                buf += _pack_ihqq(item.index, item.error_code, item.base_offset, item.log_append_time_ms)
            if version >= 8:
                buf += array_count(item.record_errors)
                BatchIndexAndErrorMessage.write_all(out, item.record_errors, version)
                buf += nullable_string(item.error_message)
            if (
                item.current_leader.leader_id != -1
                or item.current_leader.leader_epoch != -1
                or item.current_leader.unknown_tags
            ):
                raise no_such_field("PartitionProduceResponse", "current_leader", version)
            if item.unknown_tags:
                raise no_tags("PartitionProduceResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[PartitionProduceResponse], int]:
        items: list[PartitionProduceResponse] = []
        if version >= 9:
            for _ in range(count):
                item = new(PartitionProduceResponse)
                (
                    item.index,
                    item.error_code,
                    item.base_offset,
                    item.log_append_time_ms,
                    item.log_start_offset,
                ) = _unpack_ihqqq(data, pos)
                pos += 30
                size, pos = read_compact_count(data, pos, 6)
                if size < 0:
                    raise null_sent("record_errors")
                item.record_errors, pos = BatchIndexAndErrorMessage.read_all(data, pos, version, size)
                item.error_message, pos = read_nullable_compact_string(data, pos)
                item.current_leader = LeaderIdAndEpoch()
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    tags, pos = read_tag_count(data, pos)
                    for _ in range(tags):
                        tag, pos, stop = read_tag(data, pos)
                        if tag == 0:
                            if version < 10:
                                raise misplaced_tag(tag, version)
                            (item.current_leader,), pos = LeaderIdAndEpoch.read_all(data, pos, version, 1)
                        else:
                            item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                            pos = stop
                        check_tag_end(tag, pos, stop)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(PartitionProduceResponse)
            if version >= 5:
                (
                    item.index,
                    item.error_code,
                    item.base_offset,
                    item.log_append_time_ms,
                    item.log_start_offset,
                ) = _unpack_ihqqq(data, pos)
                pos += 30
            else:
                item.index, item.error_code, item.base_offset, item.log_append_time_ms = _unpack_ihqq(data, pos)
                pos += 22
                item.log_start_offset = -1
            if version >= 8:
                size, pos = read_count(data, pos, 6)
                if size < 0:
                    raise null_sent("record_errors")
                item.record_errors, pos = BatchIndexAndErrorMessage.read_all(data, pos, version, size)
                item.error_message, pos = read_nullable_string(data, pos)
            else:
                item.record_errors = []
                item.error_message = None
            item.current_leader = LeaderIdAndEpoch()
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[PartitionProduceResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 9:
            for item in items:
                buf += _pack_ihqqq(
                    item.index,
                    item.error_code,
                    item.base_offset,
                    item.log_append_time_ms,
                    item.log_start_offset,
                )
                buf += compact_array_count(item.record_errors)
                yield from written_slices(BatchIndexAndErrorMessage.write_all, out, item.record_errors, version)
                buf += nullable_compact_string(item.error_message)
                tags: dict[int, bytes] = {}
                if version >= 10:
                    current_leader = item.current_leader
                    if (
                        current_leader.leader_id != -1
                        or current_leader.leader_epoch != -1
                        or current_leader.unknown_tags
                    ):
                        inner = Writer()
                        LeaderIdAndEpoch.write_all(inner, (current_leader,), version)
                        tags[0] = inner.bytes()
                else:
                    if (
                        item.current_leader.leader_id != -1
                        or item.current_leader.leader_epoch != -1
                        or item.current_leader.unknown_tags
                    ):
                        raise no_such_field("PartitionProduceResponse", "current_leader", version)
                buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            if version >= 5:
                buf += _pack_ihqqq(
                    item.index,
                    item.error_code,
                    item.base_offset,
                    item.log_append_time_ms,
                    item.log_start_offset,
                )
            else:
                buf += _pack_ihqq(item.index, item.error_code, item.base_offset, item.log_append_time_ms)
            if version >= 8:
                buf += array_count(item.record_errors)
                yield from written_slices(BatchIndexAndErrorMessage.write_all, out, item.record_errors, version)
                buf += nullable_string(item.error_message)
            if (
                item.current_leader.leader_id != -1
                or item.current_leader.leader_epoch != -1
                or item.current_leader.unknown_tags
            ):
                raise no_such_field("PartitionProduceResponse", "current_leader", version)
            if item.unknown_tags:
                raise no_tags("PartitionProduceResponse", version)
            yield 1


class TopicProduceResponse(Struct):
    FIELDS = ("name", "topic_id", "partition_responses")
    __slots__ = FIELDS

    name: str
    topic_id: Uuid
    partition_responses: list[PartitionProduceResponse]

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: Uuid = ZERO_UUID,
        partition_responses: list[PartitionProduceResponse] = UNSET,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_responses = [] if partition_responses is UNSET else partition_responses
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TopicProduceResponse], version: int) -> None:
        buf = out.buffer
        if version >= 9:
            for item in items:
                if version <= 12:
                    buf += compact_string(item.name)
                if version >= 13:
                    buf += _pack_u(item.topic_id)
                buf += compact_array_count(item.partition_responses)
                PartitionProduceResponse.write_all(out, item.partition_responses, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.name)
            buf += array_count(item.partition_responses)
            PartitionProduceResponse.write_all(out, item.partition_responses, version)
            if item.unknown_tags:
                raise no_tags("TopicProduceResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TopicProduceResponse], int]:
        items: list[TopicProduceResponse] = []
        if version >= 9:
            for _ in range(count):
                item = new(TopicProduceResponse)
                if version >= 13:
                    item.name = ""
                else:
                    item.name, pos = read_compact_string(data, pos)
                if version >= 13:
                    (item.topic_id,) = _unpack_u(data, pos)
                    pos += 16
                else:
                    item.topic_id = ZERO_UUID
                size, pos = read_compact_count(data, pos, 33)
                if size < 0:
                    raise null_sent("partition_responses")
                item.partition_responses, pos = PartitionProduceResponse.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(TopicProduceResponse)
            item.name, pos = read_string(data, pos)
            item.topic_id = ZERO_UUID
            size, pos = read_count(data, pos, 22)
            if size < 0:
                raise null_sent("partition_responses")
            item.partition_responses, pos = PartitionProduceResponse.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[TopicProduceResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 9:
            for item in items:
                if version <= 12:
                    buf += compact_string(item.name)
                if version >= 13:
                    buf += _pack_u(item.topic_id)
                buf += compact_array_count(item.partition_responses)
                yield from PartitionProduceResponse.write_slices(out, item.partition_responses, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += string(item.name)
            buf += array_count(item.partition_responses)
            yield from PartitionProduceResponse.write_slices(out, item.partition_responses, version)
            if item.unknown_tags:
                raise no_tags("TopicProduceResponse", version)
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


class ProduceResponse(Message):
    FIELDS = ("responses", "throttle_time_ms", "node_endpoints")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 3
    MAX_VERSION: ClassVar[int] = 13
    FLEXIBLE_SINCE: ClassVar[int | None] = 9

    responses: list[TopicProduceResponse]
    throttle_time_ms: int
    node_endpoints: list[NodeEndpoint]

    def __init__(
        self,
        *,
        responses: list[TopicProduceResponse] = UNSET,
        throttle_time_ms: int = 0,
        node_endpoints: list[NodeEndpoint] = UNSET,
    ) -> None:
        self.responses = [] if responses is UNSET else responses
        self.throttle_time_ms = throttle_time_ms
        self.node_endpoints = [] if node_endpoints is UNSET else node_endpoints
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ProduceResponse], version: int) -> None:
        buf = out.buffer
        if version >= 9:
            for item in items:
                buf += compact_array_count(item.responses)
                TopicProduceResponse.write_all(out, item.responses, version)
                buf += _pack_i(item.throttle_time_ms)
                tags: dict[int, bytes] = {}
                if version >= 10:
                    node_endpoints = item.node_endpoints
                    if node_endpoints:
                        inner = Writer()
                        inner.buffer += compact_array_count(node_endpoints)
                        NodeEndpoint.write_all(inner, node_endpoints, version)
                        tags[0] = inner.bytes()
                else:
                    if item.node_endpoints:
                        raise no_such_field("ProduceResponse", "node_endpoints", version)
                buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += array_count(item.responses)
            TopicProduceResponse.write_all(out, item.responses, version)
            buf += _pack_i(item.throttle_time_ms)
            if item.node_endpoints:
                raise no_such_field("ProduceResponse", "node_endpoints", version)
            if item.unknown_tags:
                raise no_tags("ProduceResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ProduceResponse], int]:
        items: list[ProduceResponse] = []
        if version >= 9:
            for _ in range(count):
                item = new(ProduceResponse)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("responses")
                item.responses, pos = TopicProduceResponse.read_all(data, pos, version, size)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                item.node_endpoints = []
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    tags, pos = read_tag_count(data, pos)
                    for _ in range(tags):
                        tag, pos, stop = read_tag(data, pos)
                        if tag == 0:
                            if version < 10:
                                raise misplaced_tag(tag, version)
                            size, pos = read_compact_count(data, pos, 11)
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
            item = new(ProduceResponse)
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("responses")
            item.responses, pos = TopicProduceResponse.read_all(data, pos, version, size)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            item.node_endpoints = []
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ProduceResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 9:
            for item in items:
                buf += compact_array_count(item.responses)
                yield from TopicProduceResponse.write_slices(out, item.responses, version)
                buf += _pack_i(item.throttle_time_ms)
                tags: dict[int, bytes] = {}
                if version >= 10:
                    node_endpoints = item.node_endpoints
                    if node_endpoints:
                        inner = Writer()
                        inner.buffer += compact_array_count(node_endpoints)
                        NodeEndpoint.write_all(inner, node_endpoints, version)
                        tags[0] = inner.bytes()
                else:
                    if item.node_endpoints:
                        raise no_such_field("ProduceResponse", "node_endpoints", version)
                buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += array_count(item.responses)
            yield from TopicProduceResponse.write_slices(out, item.responses, version)
            buf += _pack_i(item.throttle_time_ms)
            if item.node_endpoints:
                raise no_such_field("ProduceResponse", "node_endpoints", version)
            if item.unknown_tags:
                raise no_tags("ProduceResponse", version)
            yield 1
