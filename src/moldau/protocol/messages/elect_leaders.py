# Generated from schema/elect_leaders.wire by tools/generate_messages.py: do not edit.
"""ElectLeaders: elects leaders of partitions.

Since version
   1  unclean elections
   2  flexible
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
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field, no_tags
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

_pack_b, _unpack_b = fixed("b")
_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")


class TopicPartitions(Struct):
    FIELDS = ("topic", "partitions")
    __slots__ = FIELDS

    topic: str
    partitions: list[int]

    def __init__(self, *, topic: str = "", partitions: list[int] = UNSET) -> None:
        self.topic = topic
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TopicPartitions], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_string(item.topic)
                buf += compact_int32s(item.partitions)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.topic)
            buf += int32s(item.partitions)
            if item.unknown_tags:
                raise no_tags("TopicPartitions", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TopicPartitions], int]:
        items: list[TopicPartitions] = []
        if version >= 2:
            for _ in range(count):
                item = new(TopicPartitions)
                item.topic, pos = read_compact_string(data, pos)
                item.partitions, pos = read_compact_int32s(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(TopicPartitions)
            item.topic, pos = read_string(data, pos)
            item.partitions, pos = read_int32s(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[TopicPartitions], int]]:
        check_count(count)
        items: list[TopicPartitions] = []
        if version >= 2:
            for _ in range(count):
                item = new(TopicPartitions)
                item.topic, pos = read_compact_string(data, pos)
                item.partitions, pos = read_compact_int32s(data, pos)
                yield len(item.partitions)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(TopicPartitions)
            item.topic, pos = read_string(data, pos)
            item.partitions, pos = read_int32s(data, pos)
            yield len(item.partitions)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class ElectLeadersRequest(Message):
    FIELDS = ("election_type", "topic_partitions", "timeout_ms")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 43
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    election_type: int
    topic_partitions: list[TopicPartitions] | None
    timeout_ms: int

    def __init__(
        self,
        *,
        election_type: int = 0,
        topic_partitions: list[TopicPartitions] | None = UNSET,
        timeout_ms: int = 60000,
    ) -> None:
        self.election_type = election_type
        self.topic_partitions = [] if topic_partitions is UNSET else topic_partitions
        self.timeout_ms = timeout_ms
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ElectLeadersRequest], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_b(item.election_type)
                topic_partitions = item.topic_partitions
                if topic_partitions is None:
                    buf += COMPACT_NULL
                else:
                    buf += compact_array_count(topic_partitions)
                    TopicPartitions.write_all(out, topic_partitions, version)
                buf += _pack_i(item.timeout_ms)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 1:
                buf += _pack_b(item.election_type)
            else:
                if item.election_type != 0:
                    raise no_such_field("ElectLeadersRequest", "election_type", version)
            topic_partitions = item.topic_partitions
            if topic_partitions is None:
                buf += NULL
            else:
                buf += array_count(topic_partitions)
                TopicPartitions.write_all(out, topic_partitions, version)
            buf += _pack_i(item.timeout_ms)
            if item.unknown_tags:
                raise no_tags("ElectLeadersRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ElectLeadersRequest], int]:
        items: list[ElectLeadersRequest] = []
        if version >= 2:
            for _ in range(count):
                item = new(ElectLeadersRequest)
                (item.election_type,) = _unpack_b(data, pos)
                pos += 1
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    item.topic_partitions = None
                else:
                    item.topic_partitions, pos = TopicPartitions.read_all(data, pos, version, size)
                (item.timeout_ms,) = _unpack_i(data, pos)
                pos += 4
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(ElectLeadersRequest)
            if version >= 1:
                (item.election_type,) = _unpack_b(data, pos)
                pos += 1
            else:
                item.election_type = 0
            size, pos = read_count(data, pos, 6)
            if size < 0:
                item.topic_partitions = None
            else:
                item.topic_partitions, pos = TopicPartitions.read_all(data, pos, version, size)
            (item.timeout_ms,) = _unpack_i(data, pos)
            pos += 4
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[ElectLeadersRequest], int]]:
        check_count(count)
        items: list[ElectLeadersRequest] = []
        if version >= 2:
            for _ in range(count):
                item = new(ElectLeadersRequest)
                (item.election_type,) = _unpack_b(data, pos)
                pos += 1
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    item.topic_partitions = None
                else:
                    item.topic_partitions, pos = yield from TopicPartitions.read_slices(data, pos, version, size)
                (item.timeout_ms,) = _unpack_i(data, pos)
                pos += 4
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(ElectLeadersRequest)
            if version >= 1:
                (item.election_type,) = _unpack_b(data, pos)
                pos += 1
            else:
                item.election_type = 0
            size, pos = read_count(data, pos, 6)
            if size < 0:
                item.topic_partitions = None
            else:
                item.topic_partitions, pos = yield from TopicPartitions.read_slices(data, pos, version, size)
            (item.timeout_ms,) = _unpack_i(data, pos)
            pos += 4
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ElectLeadersRequest], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_b(item.election_type)
                topic_partitions = item.topic_partitions
                if topic_partitions is None:
                    buf += COMPACT_NULL
                else:
                    buf += compact_array_count(topic_partitions)
                    yield from written_slices(TopicPartitions.write_all, out, topic_partitions, version)
                buf += _pack_i(item.timeout_ms)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            if version >= 1:
                buf += _pack_b(item.election_type)
            else:
                if item.election_type != 0:
                    raise no_such_field("ElectLeadersRequest", "election_type", version)
            topic_partitions = item.topic_partitions
            if topic_partitions is None:
                buf += NULL
            else:
                buf += array_count(topic_partitions)
                yield from written_slices(TopicPartitions.write_all, out, topic_partitions, version)
            buf += _pack_i(item.timeout_ms)
            if item.unknown_tags:
                raise no_tags("ElectLeadersRequest", version)
            yield 1


class PartitionResult(Struct):
    FIELDS = ("partition_id", "error_code", "error_message")
    __slots__ = FIELDS

    partition_id: int
    error_code: int
    error_message: str | None

    def __init__(self, *, partition_id: int = 0, error_code: int = 0, error_message: str | None = "") -> None:
        self.partition_id = partition_id
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[PartitionResult], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_ih(item.partition_id, item.error_code)
                buf += nullable_compact_string(item.error_message)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_ih(item.partition_id, item.error_code)
            buf += nullable_string(item.error_message)
            if item.unknown_tags:
                raise no_tags("PartitionResult", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[PartitionResult], int]:
        items: list[PartitionResult] = []
        if version >= 2:
            for _ in range(count):
                item = new(PartitionResult)
                item.partition_id, item.error_code = _unpack_ih(data, pos)
                pos += 6
                item.error_message, pos = read_nullable_compact_string(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(PartitionResult)
            item.partition_id, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.error_message, pos = read_nullable_string(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class ReplicaElectionResult(Struct):
    FIELDS = ("topic", "partition_result")
    __slots__ = FIELDS

    topic: str
    partition_result: list[PartitionResult]

    def __init__(self, *, topic: str = "", partition_result: list[PartitionResult] = UNSET) -> None:
        self.topic = topic
        self.partition_result = [] if partition_result is UNSET else partition_result
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ReplicaElectionResult], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_string(item.topic)
                buf += compact_array_count(item.partition_result)
                PartitionResult.write_all(out, item.partition_result, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.topic)
            buf += array_count(item.partition_result)
            PartitionResult.write_all(out, item.partition_result, version)
            if item.unknown_tags:
                raise no_tags("ReplicaElectionResult", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ReplicaElectionResult], int]:
        items: list[ReplicaElectionResult] = []
        if version >= 2:
            for _ in range(count):
                item = new(ReplicaElectionResult)
                item.topic, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 8)
                if size < 0:
                    raise null_sent("partition_result")
                item.partition_result, pos = PartitionResult.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(ReplicaElectionResult)
            item.topic, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 8)
            if size < 0:
                raise null_sent("partition_result")
            item.partition_result, pos = PartitionResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[ReplicaElectionResult], int]]:
        items: list[ReplicaElectionResult] = []
        if version >= 2:
            for _ in range(count):
                item = new(ReplicaElectionResult)
                item.topic, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 8)
                if size < 0:
                    raise null_sent("partition_result")
                item.partition_result, pos = yield from struct_slices(
                    PartitionResult.read_all,
                    data,
                    pos,
                    version,
                    size,
                    bounded=False,
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
            item = new(ReplicaElectionResult)
            item.topic, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 8)
            if size < 0:
                raise null_sent("partition_result")
            item.partition_result, pos = yield from struct_slices(
                PartitionResult.read_all,
                data,
                pos,
                version,
                size,
                bounded=False,
            )
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ReplicaElectionResult], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_string(item.topic)
                buf += compact_array_count(item.partition_result)
                yield from written_slices(PartitionResult.write_all, out, item.partition_result, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += string(item.topic)
            buf += array_count(item.partition_result)
            yield from written_slices(PartitionResult.write_all, out, item.partition_result, version)
            if item.unknown_tags:
                raise no_tags("ReplicaElectionResult", version)
            yield 1


class ElectLeadersResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "replica_election_results")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 43
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    throttle_time_ms: int
    error_code: int
    replica_election_results: list[ReplicaElectionResult]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        replica_election_results: list[ReplicaElectionResult] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.replica_election_results = [] if replica_election_results is UNSET else replica_election_results
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ElectLeadersResponse], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_ih(item.throttle_time_ms, item.error_code)
                buf += compact_array_count(item.replica_election_results)
                ReplicaElectionResult.write_all(out, item.replica_election_results, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 1:
                buf += _pack_ih(item.throttle_time_ms, item.error_code)
            else:
                if item.error_code != 0:
                    raise no_such_field("ElectLeadersResponse", "error_code", version)
                buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.replica_election_results)
            ReplicaElectionResult.write_all(out, item.replica_election_results, version)
            if item.unknown_tags:
                raise no_tags("ElectLeadersResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ElectLeadersResponse], int]:
        items: list[ElectLeadersResponse] = []
        if version >= 2:
            for _ in range(count):
                item = new(ElectLeadersResponse)
                item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
                pos += 6
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("replica_election_results")
                item.replica_election_results, pos = ReplicaElectionResult.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(ElectLeadersResponse)
            if version >= 1:
                item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
                pos += 6
            else:
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                item.error_code = 0
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("replica_election_results")
            item.replica_election_results, pos = ReplicaElectionResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[ElectLeadersResponse], int]]:
        items: list[ElectLeadersResponse] = []
        if version >= 2:
            for _ in range(count):
                item = new(ElectLeadersResponse)
                item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
                pos += 6
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("replica_election_results")
                item.replica_election_results, pos = yield from ReplicaElectionResult.read_slices(
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
            item = new(ElectLeadersResponse)
            if version >= 1:
                item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
                pos += 6
            else:
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                item.error_code = 0
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("replica_election_results")
            item.replica_election_results, pos = yield from ReplicaElectionResult.read_slices(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ElectLeadersResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_ih(item.throttle_time_ms, item.error_code)
                buf += compact_array_count(item.replica_election_results)
                yield from ReplicaElectionResult.write_slices(out, item.replica_election_results, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            if version >= 1:
                buf += _pack_ih(item.throttle_time_ms, item.error_code)
            else:
                if item.error_code != 0:
                    raise no_such_field("ElectLeadersResponse", "error_code", version)
                buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.replica_election_results)
            yield from ReplicaElectionResult.write_slices(out, item.replica_election_results, version)
            if item.unknown_tags:
                raise no_tags("ElectLeadersResponse", version)
            yield 1
