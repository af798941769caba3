# Generated from schema/alter_partition.wire by tools/generate_messages.py: do not edit.
"""AlterPartition: a leader changes the in-sync set of its partitions.

Since version
   2  topics by id
   3  in-sync replicas with their broker epochs
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, compact_int32s, read_compact_count, read_compact_int32s
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field
from moldau.protocol.primitives import fixed, null_sent
from moldau.protocol.slices import Slices, check_count, struct_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_bi, _unpack_bi = fixed("bi")
_pack_ih, _unpack_ih = fixed("ih")
_pack_ihii, _unpack_ihii = fixed("ihii")
_pack_ii, _unpack_ii = fixed("ii")
_pack_iq, _unpack_iq = fixed("iq")
_pack_u, _unpack_u = fixed("16s")


class BrokerState(Struct):
    FIELDS = ("broker_id", "broker_epoch")
    __slots__ = FIELDS

    broker_id: int
    broker_epoch: int

    def __init__(self, *, broker_id: int = 0, broker_epoch: int = -1) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[BrokerState], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_iq(item.broker_id, item.broker_epoch)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[BrokerState], int]:
        items: list[BrokerState] = []
        for _ in range(count):
            item = new(BrokerState)
            item.broker_id, item.broker_epoch = _unpack_iq(data, pos)
            pos += 12
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class RequestPartitionData(Struct):
    FIELDS = (
        "partition_index",
        "leader_epoch",
        "new_isr",
        "new_isr_with_epochs",
        "leader_recovery_state",
        "partition_epoch",
    )
    __slots__ = FIELDS

    partition_index: int
    leader_epoch: int
    new_isr: list[int]
    new_isr_with_epochs: list[BrokerState]
    leader_recovery_state: int
    partition_epoch: int

    def __init__(
        self,
        *,
        partition_index: int = 0,
        leader_epoch: int = 0,
        new_isr: list[int] = UNSET,
        new_isr_with_epochs: list[BrokerState] = UNSET,
        leader_recovery_state: int = 0,
        partition_epoch: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.leader_epoch = leader_epoch
        self.new_isr = [] if new_isr is UNSET else new_isr
        self.new_isr_with_epochs = [] if new_isr_with_epochs is UNSET else new_isr_with_epochs
        self.leader_recovery_state = leader_recovery_state
        self.partition_epoch = partition_epoch
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[RequestPartitionData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ii(item.partition_index, item.leader_epoch)
            if version >= 3:
                if item.new_isr:
                    raise no_such_field("RequestPartitionData", "new_isr", version)
            else:
                buf += compact_int32s(item.new_isr)
            if version >= 3:
                buf += compact_array_count(item.new_isr_with_epochs)
                BrokerState.write_all(out, item.new_isr_with_epochs, version)
            else:
                if item.new_isr_with_epochs:
                    raise no_such_field("RequestPartitionData", "new_isr_with_epochs", version)
            buf += _pack_bi(item.leader_recovery_state, item.partition_epoch)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RequestPartitionData], int]:
        items: list[RequestPartitionData] = []
        for _ in range(count):
            item = new(RequestPartitionData)
            item.partition_index, item.leader_epoch = _unpack_ii(data, pos)
            pos += 8
            if version >= 3:
                item.new_isr = []
            else:
                item.new_isr, pos = read_compact_int32s(data, pos)
            if version >= 3:
                size, pos = read_compact_count(data, pos, 13)
                if size < 0:
                    raise null_sent("new_isr_with_epochs")
                item.new_isr_with_epochs, pos = BrokerState.read_all(data, pos, version, size)
            else:
                item.new_isr_with_epochs = []
            item.leader_recovery_state, item.partition_epoch = _unpack_bi(data, pos)
            pos += 5
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[RequestPartitionData], int]]:
        check_count(count)
        items: list[RequestPartitionData] = []
        for _ in range(count):
            item = new(RequestPartitionData)
            item.partition_index, item.leader_epoch = _unpack_ii(data, pos)
            pos += 8
            if version >= 3:
                item.new_isr = []
            else:
                item.new_isr, pos = read_compact_int32s(data, pos)
                yield len(item.new_isr)
            if version >= 3:
                size, pos = read_compact_count(data, pos, 13)
                if size < 0:
                    raise null_sent("new_isr_with_epochs")
                item.new_isr_with_epochs, pos = yield from struct_slices(BrokerState.read_all, data, pos, version, size)
            else:
                item.new_isr_with_epochs = []
            item.leader_recovery_state, item.partition_epoch = _unpack_bi(data, pos)
            pos += 5
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class RequestTopicData(Struct):
    FIELDS = ("topic_id", "partitions")
    __slots__ = FIELDS

    topic_id: Uuid
    partitions: list[RequestPartitionData]

    def __init__(self, *, topic_id: Uuid = ZERO_UUID, partitions: list[RequestPartitionData] = UNSET) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[RequestTopicData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            RequestPartitionData.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RequestTopicData], int]:
        items: list[RequestTopicData] = []
        for _ in range(count):
            item = new(RequestTopicData)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 15)
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
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 15)
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


class AlterPartitionRequest(Message):
    FIELDS = ("broker_id", "broker_epoch", "topics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 56
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    broker_id: int
    broker_epoch: int
    topics: list[RequestTopicData]

    def __init__(self, *, broker_id: int = 0, broker_epoch: int = -1, topics: list[RequestTopicData] = UNSET) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AlterPartitionRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_iq(item.broker_id, item.broker_epoch)
            buf += compact_array_count(item.topics)
            RequestTopicData.write_all(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AlterPartitionRequest], int]:
        items: list[AlterPartitionRequest] = []
        for _ in range(count):
            item = new(AlterPartitionRequest)
            item.broker_id, item.broker_epoch = _unpack_iq(data, pos)
            pos += 12
            size, pos = read_compact_count(data, pos, 18)
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
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[AlterPartitionRequest], int]]:
        check_count(count)
        items: list[AlterPartitionRequest] = []
        for _ in range(count):
            item = new(AlterPartitionRequest)
            item.broker_id, item.broker_epoch = _unpack_iq(data, pos)
            pos += 12
            size, pos = read_compact_count(data, pos, 18)
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
    FIELDS = (
        "partition_index",
        "error_code",
        "leader_id",
        "leader_epoch",
        "isr",
        "leader_recovery_state",
        "partition_epoch",
    )
    __slots__ = FIELDS

    partition_index: int
    error_code: int
    leader_id: int
    leader_epoch: int
    isr: list[int]
    leader_recovery_state: int
    partition_epoch: int

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        isr: list[int] = UNSET,
        leader_recovery_state: int = 0,
        partition_epoch: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.isr = [] if isr is UNSET else isr
        self.leader_recovery_state = leader_recovery_state
        self.partition_epoch = partition_epoch
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ResponsePartitionData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ihii(item.partition_index, item.error_code, item.leader_id, item.leader_epoch)
            buf += compact_int32s(item.isr)
            buf += _pack_bi(item.leader_recovery_state, item.partition_epoch)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ResponsePartitionData], int]:
        items: list[ResponsePartitionData] = []
        for _ in range(count):
            item = new(ResponsePartitionData)
            item.partition_index, item.error_code, item.leader_id, item.leader_epoch = _unpack_ihii(data, pos)
            pos += 14
            item.isr, pos = read_compact_int32s(data, pos)
            item.leader_recovery_state, item.partition_epoch = _unpack_bi(data, pos)
            pos += 5
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class ResponseTopicData(Struct):
    FIELDS = ("topic_id", "partitions")
    __slots__ = FIELDS

    topic_id: Uuid
    partitions: list[ResponsePartitionData]

    def __init__(self, *, topic_id: Uuid = ZERO_UUID, partitions: list[ResponsePartitionData] = UNSET) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ResponseTopicData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            ResponsePartitionData.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ResponseTopicData], int]:
        items: list[ResponseTopicData] = []
        for _ in range(count):
            item = new(ResponseTopicData)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            size, pos = read_compact_count(data, pos, 21)
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
            buf += _pack_u(item.topic_id)
            buf += compact_array_count(item.partitions)
            yield from written_slices(ResponsePartitionData.write_all, out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class AlterPartitionResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "topics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 56
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    throttle_time_ms: int
    error_code: int
    topics: list[ResponseTopicData]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: list[ResponseTopicData] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AlterPartitionResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += compact_array_count(item.topics)
            ResponseTopicData.write_all(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AlterPartitionResponse], int]:
        items: list[AlterPartitionResponse] = []
        for _ in range(count):
            item = new(AlterPartitionResponse)
            item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
            pos += 6
            size, pos = read_compact_count(data, pos, 18)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = ResponseTopicData.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[AlterPartitionResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += compact_array_count(item.topics)
            yield from ResponseTopicData.write_slices(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
