# Generated from schema/fetch.wire by tools/generate_messages.py: do not edit.
"""Fetch: record batches from the leader of a partition, for consumers and for followers.

Since version
   4  isolation level, aborted transactions
   5  log start offset
   7  fetch sessions: only what changed is asked for and answered
   9  current leader epoch, so that a stale leader or client is noticed
  10  zstd may be answered
  11  rack of the consumer, preferred read replica
  12  flexible; last fetched epoch and diverging epoch
  13  topics by id instead of by name
  14  tiered storage error
  15  replica id moves into the tagged replica state
  16  endpoints of new leaders in the answer
  17  directory id of the follower
  18  high watermark known to the follower
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
    read_compact_string,
    read_nullable_compact_records,
    read_nullable_compact_string,
    read_nullable_records,
    read_string,
    string,
    view_compact_string,
    view_nullable_compact_string,
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

_pack_i, _unpack_i = fixed("i")
_pack_ihi, _unpack_ihi = fixed("ihi")
_pack_ihqq, _unpack_ihqq = fixed("ihqq")
_pack_ihqqq, _unpack_ihqqq = fixed("ihqqq")
_pack_ii, _unpack_ii = fixed("ii")
_pack_iiibii, _unpack_iiibii = fixed("iiibii")
_pack_iiiib, _unpack_iiiib = fixed("iiiib")
_pack_iiiibii, _unpack_iiiibii = fixed("iiiibii")
_pack_iiqiqi, _unpack_iiqiqi = fixed("iiqiqi")
_pack_iiqqi, _unpack_iiqqi = fixed("iiqqi")
_pack_iq, _unpack_iq = fixed("iq")
_pack_iqi, _unpack_iqi = fixed("iqi")
_pack_iqqi, _unpack_iqqi = fixed("iqqi")
_pack_q, _unpack_q = fixed("q")
_pack_qi, _unpack_qi = fixed("qi")
_pack_qq, _unpack_qq = fixed("qq")
_pack_u, _unpack_u = fixed("16s")


class ReplicaState(Struct):
    FIELDS = ("replica_id", "replica_epoch")
    __slots__ = FIELDS

    replica_id: int
    replica_epoch: int

    def __init__(self, *, replica_id: int = -1, replica_epoch: int = -1) -> None:
        self.replica_id = replica_id
        self.replica_epoch = replica_epoch
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ReplicaState], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_iq(item.replica_id, item.replica_epoch)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ReplicaState], int]:
        items: list[ReplicaState] = []
        for _ in range(count):
            item = new(ReplicaState)
            item.replica_id, item.replica_epoch = _unpack_iq(data, pos)
            pos += 12
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class FetchPartition(Struct):
    FIELDS = (
        "partition",
        "current_leader_epoch",
        "fetch_offset",
        "last_fetched_epoch",
        "log_start_offset",
        "partition_max_bytes",
        "replica_directory_id",
        "high_watermark",
    )
    __slots__ = FIELDS

    partition: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int
    partition_max_bytes: int
    replica_directory_id: Uuid
    high_watermark: int

    def __init__(
        self,
        *,
        partition: int = 0,
        current_leader_epoch: int = -1,
        fetch_offset: int = 0,
        last_fetched_epoch: int = -1,
        log_start_offset: int = -1,
        partition_max_bytes: int = 0,
        replica_directory_id: Uuid = ZERO_UUID,
        high_watermark: int = 9223372036854775807,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.fetch_offset = fetch_offset
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset
        self.partition_max_bytes = partition_max_bytes
        self.replica_directory_id = replica_directory_id
        self.high_watermark = high_watermark
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[FetchPartition], version: int) -> None:
        buf = out.buffer
        if version >= 12:
            for item in items:
                buf += _pack_iiqiqi(
                    item.partition,
                    item.current_leader_epoch,
                    item.fetch_offset,
                    item.last_fetched_epoch,
                    item.log_start_offset,
                    item.partition_max_bytes,
                )
                tags: dict[int, bytes] = {}
                if version >= 17:
                    replica_directory_id = item.replica_directory_id
                    if replica_directory_id != ZERO_UUID:
                        tags[0] = _pack_u(replica_directory_id)
                if version >= 18:
                    high_watermark = item.high_watermark
                    if high_watermark != 9223372036854775807:
                        tags[1] = _pack_q(high_watermark)
                buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 9:
                if item.last_fetched_epoch != -1:
                    raise no_such_field("FetchPartition", "last_fetched_epoch", version)
                buf += _pack_iiqqi(
                    item.partition,
                    item.current_leader_epoch,
                    item.fetch_offset,
                    item.log_start_offset,
                    item.partition_max_bytes,
                )
            elif version >= 5:
                if item.last_fetched_epoch != -1:
                    raise no_such_field("FetchPartition", "last_fetched_epoch", version)
                buf += _pack_iqqi(item.partition, item.fetch_offset, item.log_start_offset, item.partition_max_bytes)
            else:
                if item.last_fetched_epoch != -1:
                    raise no_such_field("FetchPartition", "last_fetched_epoch", version)
                buf += _pack_iqi(item.partition, item.fetch_offset, item.partition_max_bytes)
            if item.unknown_tags:
                raise no_tags("FetchPartition", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[FetchPartition], int]:
        items: list[FetchPartition] = []
        if version >= 12:
            for _ in range(count):
                item = new(FetchPartition)
                (
                    item.partition,
                    item.current_leader_epoch,
                    item.fetch_offset,
                    item.last_fetched_epoch,
                    item.log_start_offset,
                    item.partition_max_bytes,
                ) = _unpack_iiqiqi(data, pos)
                pos += 32
                item.replica_directory_id = ZERO_UUID
                item.high_watermark = 9223372036854775807
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    tags, pos = read_tag_count(data, pos)
                    for _ in range(tags):
                        tag, pos, stop = read_tag(data, pos)
                        if tag == 0:
                            if version < 17:
                                raise misplaced_tag(tag, version)
                            (item.replica_directory_id,) = _unpack_u(data, pos)
                            pos += 16
                        elif tag == 1:
                            if version < 18:
                                raise misplaced_tag(tag, version)
                            (item.high_watermark,) = _unpack_q(data, pos)
                            pos += 8
                        else:
                            item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                            pos = stop
                        check_tag_end(tag, pos, stop)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(FetchPartition)
            if version >= 9:
                (
                    item.partition,
                    item.current_leader_epoch,
                    item.fetch_offset,
                    item.log_start_offset,
                    item.partition_max_bytes,
                ) = _unpack_iiqqi(data, pos)
                pos += 28
                item.last_fetched_epoch = -1
            elif version >= 5:
                (
                    item.partition,
                    item.fetch_offset,
                    item.log_start_offset,
                    item.partition_max_bytes,
                ) = _unpack_iqqi(data, pos)
                pos += 24
                item.current_leader_epoch = -1
                item.last_fetched_epoch = -1
            else:
                item.partition, item.fetch_offset, item.partition_max_bytes = _unpack_iqi(data, pos)
                pos += 16
                item.current_leader_epoch = -1
                item.last_fetched_epoch = -1
                item.log_start_offset = -1
            item.replica_directory_id = ZERO_UUID
            item.high_watermark = 9223372036854775807
            item.unknown_tags = None
            items.append(item)
        return items, pos


class FetchTopic(Struct):
    FIELDS = ("topic", "topic_id", "partitions")
    __slots__ = FIELDS

    topic: str
    topic_id: Uuid
    partitions: list[FetchPartition]

    def __init__(
        self,
        *,
        topic: str = "",
        topic_id: Uuid = ZERO_UUID,
        partitions: list[FetchPartition] = UNSET,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[FetchTopic], version: int) -> None:
        buf = out.buffer
        if version >= 12:
            for item in items:
                if version <= 12:
                    buf += compact_string(item.topic)
                if version >= 13:
                    buf += _pack_u(item.topic_id)
                buf += compact_array_count(item.partitions)
                FetchPartition.write_all(out, item.partitions, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.topic)
            buf += array_count(item.partitions)
            FetchPartition.write_all(out, item.partitions, version)
            if item.unknown_tags:
                raise no_tags("FetchTopic", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[FetchTopic], int]:
        items: list[FetchTopic] = []
        if version >= 12:
            for _ in range(count):
                item = new(FetchTopic)
                if version >= 13:
                    item.topic = ""
                else:
                    item.topic, pos = read_compact_string(data, pos)
                if version >= 13:
                    (item.topic_id,) = _unpack_u(data, pos)
                    pos += 16
                else:
                    item.topic_id = ZERO_UUID
                size, pos = read_compact_count(data, pos, 33)
                if size < 0:
                    raise null_sent("partitions")
                item.partitions, pos = FetchPartition.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(FetchTopic)
            item.topic, pos = read_string(data, pos)
            item.topic_id = ZERO_UUID
            size, pos = read_count(data, pos, 16)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = FetchPartition.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[FetchTopic], int]]:
        check_count(count)
        items: list[FetchTopic] = []
        if version >= 12:
            for _ in range(count):
                item = new(FetchTopic)
                if version >= 13:
                    item.topic = ""
                else:
                    item.topic, pos = read_compact_string(data, pos)
                if version >= 13:
                    (item.topic_id,) = _unpack_u(data, pos)
                    pos += 16
                else:
                    item.topic_id = ZERO_UUID
                size, pos = read_compact_count(data, pos, 33)
                if size < 0:
                    raise null_sent("partitions")
                item.partitions, pos = yield from struct_slices(FetchPartition.read_all, data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(FetchTopic)
            item.topic, pos = read_string(data, pos)
            item.topic_id = ZERO_UUID
            size, pos = read_count(data, pos, 16)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = yield from struct_slices(FetchPartition.read_all, data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class ForgottenTopic(Struct):
    FIELDS = ("topic", "topic_id", "partitions")
    __slots__ = FIELDS

    topic: str
    topic_id: Uuid
    partitions: list[int]

    def __init__(self, *, topic: str = "", topic_id: Uuid = ZERO_UUID, partitions: list[int] = UNSET) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ForgottenTopic], version: int) -> None:
        buf = out.buffer
        if version >= 12:
            for item in items:
                if version <= 12:
                    buf += compact_string(item.topic)
                if version >= 13:
                    buf += _pack_u(item.topic_id)
                buf += compact_int32s(item.partitions)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.topic)
            buf += int32s(item.partitions)
            if item.unknown_tags:
                raise no_tags("ForgottenTopic", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ForgottenTopic], int]:
        items: list[ForgottenTopic] = []
        if version >= 12:
            for _ in range(count):
                item = new(ForgottenTopic)
                if version >= 13:
                    item.topic = ""
                else:
                    item.topic, pos = read_compact_string(data, pos)
                if version >= 13:
                    (item.topic_id,) = _unpack_u(data, pos)
                    pos += 16
                else:
                    item.topic_id = ZERO_UUID
                item.partitions, pos = read_compact_int32s(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(ForgottenTopic)
            item.topic, pos = read_string(data, pos)
            item.topic_id = ZERO_UUID
            item.partitions, pos = read_int32s(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[ForgottenTopic], int]]:
        check_count(count)
        items: list[ForgottenTopic] = []
        if version >= 12:
            for _ in range(count):
                item = new(ForgottenTopic)
                if version >= 13:
                    item.topic = ""
                else:
                    item.topic, pos = read_compact_string(data, pos)
                if version >= 13:
                    (item.topic_id,) = _unpack_u(data, pos)
                    pos += 16
                else:
                    item.topic_id = ZERO_UUID
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
            item = new(ForgottenTopic)
            item.topic, pos = read_string(data, pos)
            item.topic_id = ZERO_UUID
            item.partitions, pos = read_int32s(data, pos)
            yield len(item.partitions)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class FetchRequest(Message):
    FIELDS = (
        "cluster_id",
        "replica_id",
        "replica_state",
        "max_wait_ms",
        "min_bytes",
        "max_bytes",
        "isolation_level",
        "session_id",
        "session_epoch",
        "topics",
        "forgotten_topics_data",
        "rack_id",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 4
    MAX_VERSION: ClassVar[int] = 18
    FLEXIBLE_SINCE: ClassVar[int | None] = 12

    cluster_id: str | None
    replica_id: int
    replica_state: ReplicaState
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int
    session_epoch: int
    topics: list[FetchTopic]
    forgotten_topics_data: list[ForgottenTopic]
    rack_id: str

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        replica_id: int = -1,
        replica_state: ReplicaState = UNSET,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        isolation_level: int = 0,
        session_id: int = 0,
        session_epoch: int = -1,
        topics: list[FetchTopic] = UNSET,
        forgotten_topics_data: list[ForgottenTopic] = UNSET,
        rack_id: str = "",
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.replica_state = ReplicaState() if replica_state is UNSET else replica_state
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.isolation_level = isolation_level
        self.session_id = session_id
        self.session_epoch = session_epoch
        self.topics = [] if topics is UNSET else topics
        self.forgotten_topics_data = [] if forgotten_topics_data is UNSET else forgotten_topics_data
        self.rack_id = rack_id
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[FetchRequest], version: int) -> None:
        buf = out.buffer
        if version >= 12:
            for item in items:
                if version >= 15:
                    if item.replica_id != -1:
                        raise no_such_field("FetchRequest", "replica_id", version)
                    buf += _pack_iiibii(
                        item.max_wait_ms,
                        item.min_bytes,
                        item.max_bytes,
                        item.isolation_level,
                        item.session_id,
                        item.session_epoch,
                    )
                else:
                    buf += _pack_iiiibii(
                        item.replica_id,
                        item.max_wait_ms,
                        item.min_bytes,
                        item.max_bytes,
                        item.isolation_level,
                        item.session_id,
                        item.session_epoch,
                    )
                buf += compact_array_count(item.topics)
                FetchTopic.write_all(out, item.topics, version)
                buf += compact_array_count(item.forgotten_topics_data)
                ForgottenTopic.write_all(out, item.forgotten_topics_data, version)
                buf += compact_string(item.rack_id)
                tags: dict[int, bytes] = {}
                cluster_id = item.cluster_id
                if cluster_id is not None:
                    tags[0] = compact_string(cluster_id)
                if version >= 15:
                    replica_state = item.replica_state
                    if (
                        replica_state.replica_id != -1
                        or replica_state.replica_epoch != -1
                        or replica_state.unknown_tags
                    ):
                        inner = Writer()
                        ReplicaState.write_all(inner, (replica_state,), version)
                        tags[1] = inner.bytes()
                else:
                    if (
                        item.replica_state.replica_id != -1
                        or item.replica_state.replica_epoch != -1
                        or item.replica_state.unknown_tags
                    ):
                        raise no_such_field("FetchRequest", "replica_state", version)
                buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 7:
                buf += _pack_iiiibii(
                    item.replica_id,
                    item.max_wait_ms,
                    item.min_bytes,
                    item.max_bytes,
                    item.isolation_level,
                    item.session_id,
                    item.session_epoch,
                )
            else:
                buf += _pack_iiiib(
                    item.replica_id,
                    item.max_wait_ms,
                    item.min_bytes,
                    item.max_bytes,
                    item.isolation_level,
                )
            buf += array_count(item.topics)
            FetchTopic.write_all(out, item.topics, version)
            if version >= 7:
                buf += array_count(item.forgotten_topics_data)
                ForgottenTopic.write_all(out, item.forgotten_topics_data, version)
            else:
                if item.forgotten_topics_data:
                    raise no_such_field("FetchRequest", "forgotten_topics_data", version)
            if version >= 11:
                buf += string(item.rack_id)
            if (
                item.replica_state.replica_id != -1
                or item.replica_state.replica_epoch != -1
                or item.replica_state.unknown_tags
            ):
                raise no_such_field("FetchRequest", "replica_state", version)
            if item.unknown_tags:
                raise no_tags("FetchRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[FetchRequest], int]:
        items: list[FetchRequest] = []
        if version >= 12:
            for _ in range(count):
                item = new(FetchRequest)
                if version >= 15:
                    (
                        item.max_wait_ms,
                        item.min_bytes,
                        item.max_bytes,
                        item.isolation_level,
                        item.session_id,
                        item.session_epoch,
                    ) = _unpack_iiibii(data, pos)
                    pos += 21
                    item.replica_id = -1
                else:
                    (
                        item.replica_id,
                        item.max_wait_ms,
                        item.min_bytes,
                        item.max_bytes,
                        item.isolation_level,
                        item.session_id,
                        item.session_epoch,
                    ) = _unpack_iiiibii(data, pos)
                    pos += 25
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = FetchTopic.read_all(data, pos, version, size)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("forgotten_topics_data")
                item.forgotten_topics_data, pos = ForgottenTopic.read_all(data, pos, version, size)
                item.rack_id, pos = read_compact_string(data, pos)
                item.cluster_id = None
                item.replica_state = ReplicaState()
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    tags, pos = read_tag_count(data, pos)
                    for _ in range(tags):
                        tag, pos, stop = read_tag(data, pos)
                        if tag == 0:
                            item.cluster_id, pos = read_nullable_compact_string(data, pos)
                        elif tag == 1:
                            if version < 15:
                                raise misplaced_tag(tag, version)
                            (item.replica_state,), pos = ReplicaState.read_all(data, pos, version, 1)
                        else:
                            item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                            pos = stop
                        check_tag_end(tag, pos, stop)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(FetchRequest)
            if version >= 7:
                (
                    item.replica_id,
                    item.max_wait_ms,
                    item.min_bytes,
                    item.max_bytes,
                    item.isolation_level,
                    item.session_id,
                    item.session_epoch,
                ) = _unpack_iiiibii(data, pos)
                pos += 25
            else:
                (
                    item.replica_id,
                    item.max_wait_ms,
                    item.min_bytes,
                    item.max_bytes,
                    item.isolation_level,
                ) = _unpack_iiiib(data, pos)
                pos += 17
                item.session_id = 0
                item.session_epoch = -1
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = FetchTopic.read_all(data, pos, version, size)
            if version >= 7:
                size, pos = read_count(data, pos, 6)
                if size < 0:
                    raise null_sent("forgotten_topics_data")
                item.forgotten_topics_data, pos = ForgottenTopic.read_all(data, pos, version, size)
            else:
                item.forgotten_topics_data = []
            if version >= 11:
                item.rack_id, pos = read_string(data, pos)
            else:
                item.rack_id = ""
            item.cluster_id = None
            item.replica_state = ReplicaState()
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[FetchRequest], int]]:
        check_count(count)
        items: list[FetchRequest] = []
        if version >= 12:
            for _ in range(count):
                item = new(FetchRequest)
                if version >= 15:
                    (
                        item.max_wait_ms,
                        item.min_bytes,
                        item.max_bytes,
                        item.isolation_level,
                        item.session_id,
                        item.session_epoch,
                    ) = _unpack_iiibii(data, pos)
                    pos += 21
                    item.replica_id = -1
                else:
                    (
                        item.replica_id,
                        item.max_wait_ms,
                        item.min_bytes,
                        item.max_bytes,
                        item.isolation_level,
                        item.session_id,
                        item.session_epoch,
                    ) = _unpack_iiiibii(data, pos)
                    pos += 25
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("topics")
                item.topics, pos = yield from FetchTopic.read_slices(data, pos, version, size)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("forgotten_topics_data")
                item.forgotten_topics_data, pos = yield from ForgottenTopic.read_slices(data, pos, version, size)
                item.rack_id, pos = read_compact_string(data, pos)
                item.cluster_id = None
                item.replica_state = ReplicaState()
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    tags, pos = read_tag_count(data, pos)
                    for _ in range(tags):
                        tag, pos, stop = read_tag(data, pos)
                        if tag == 0:
                            item.cluster_id, pos = read_nullable_compact_string(data, pos)
                        elif tag == 1:
                            if version < 15:
                                raise misplaced_tag(tag, version)
                            (item.replica_state,), pos = ReplicaState.read_all(data, pos, version, 1)
                        else:
                            item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                            pos = stop
                        check_tag_end(tag, pos, stop)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(FetchRequest)
            if version >= 7:
                (
                    item.replica_id,
                    item.max_wait_ms,
                    item.min_bytes,
                    item.max_bytes,
                    item.isolation_level,
                    item.session_id,
                    item.session_epoch,
                ) = _unpack_iiiibii(data, pos)
                pos += 25
            else:
                (
                    item.replica_id,
                    item.max_wait_ms,
                    item.min_bytes,
                    item.max_bytes,
                    item.isolation_level,
                ) = _unpack_iiiib(data, pos)
                pos += 17
                item.session_id = 0
                item.session_epoch = -1
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from FetchTopic.read_slices(data, pos, version, size)
            if version >= 7:
                size, pos = read_count(data, pos, 6)
                if size < 0:
                    raise null_sent("forgotten_topics_data")
                item.forgotten_topics_data, pos = yield from ForgottenTopic.read_slices(data, pos, version, size)
            else:
                item.forgotten_topics_data = []
            if version >= 11:
                item.rack_id, pos = read_string(data, pos)
            else:
                item.rack_id = ""
            item.cluster_id = None
            item.replica_state = ReplicaState()
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class EpochEndOffset(Struct):
    FIELDS = ("epoch", "end_offset")
    __slots__ = FIELDS

    epoch: int
    end_offset: int

    def __init__(self, *, epoch: int = -1, end_offset: int = -1) -> None:
        self.epoch = epoch
        self.end_offset = end_offset
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[EpochEndOffset], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_iq(item.epoch, item.end_offset)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: memoryview, pos: int, version: int, count: int) -> tuple[list[EpochEndOffset], int]:
        items: list[EpochEndOffset] = []
        for _ in range(count):
            item = new(EpochEndOffset)
            item.epoch, item.end_offset = _unpack_iq(data, pos)
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


class SnapshotId(Struct):
    FIELDS = ("end_offset", "epoch")
    __slots__ = FIELDS

    end_offset: int
    epoch: int

    def __init__(self, *, end_offset: int = -1, epoch: int = -1) -> None:
        self.end_offset = end_offset
        self.epoch = epoch
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[SnapshotId], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_qi(item.end_offset, item.epoch)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: memoryview, pos: int, version: int, count: int) -> tuple[list[SnapshotId], int]:
        items: list[SnapshotId] = []
        for _ in range(count):
            item = new(SnapshotId)
            item.end_offset, item.epoch = _unpack_qi(data, pos)
            pos += 12
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class AbortedTransaction(Struct):
    FIELDS = ("producer_id", "first_offset")
    __slots__ = FIELDS

    producer_id: int
    first_offset: int

    def __init__(self, *, producer_id: int = 0, first_offset: int = 0) -> None:
        self.producer_id = producer_id
        self.first_offset = first_offset
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AbortedTransaction], version: int) -> None:
        buf = out.buffer
        if version >= 12:
            for item in items:
                buf += _pack_qq(item.producer_id, item.first_offset)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_qq(item.producer_id, item.first_offset)
            if item.unknown_tags:
                raise no_tags("AbortedTransaction", version)

    @staticmethod
    def read_all(data: memoryview, pos: int, version: int, count: int) -> tuple[list[AbortedTransaction], int]:
        items: list[AbortedTransaction] = []
        if version >= 12:
            for _ in range(count):
                item = new(AbortedTransaction)
                item.producer_id, item.first_offset = _unpack_qq(data, pos)
                pos += 16
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(AbortedTransaction)
            item.producer_id, item.first_offset = _unpack_qq(data, pos)
            pos += 16
            item.unknown_tags = None
            items.append(item)
        return items, pos


class PartitionData(Struct):
    FIELDS = (
        "partition_index",
        "error_code",
        "high_watermark",
        "last_stable_offset",
        "log_start_offset",
        "diverging_epoch",
        "current_leader",
        "snapshot_id",
        "aborted_transactions",
        "preferred_read_replica",
        "records",
    )
    __slots__ = FIELDS

    partition_index: int
    error_code: int
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    diverging_epoch: EpochEndOffset
    current_leader: LeaderIdAndEpoch
    snapshot_id: SnapshotId
    aborted_transactions: list[AbortedTransaction] | None
    preferred_read_replica: int
    records: Records | None

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        high_watermark: int = 0,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        diverging_epoch: EpochEndOffset = UNSET,
        current_leader: LeaderIdAndEpoch = UNSET,
        snapshot_id: SnapshotId = UNSET,
        aborted_transactions: list[AbortedTransaction] | None = UNSET,
        preferred_read_replica: int = -1,
        records: Records | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.diverging_epoch = EpochEndOffset() if diverging_epoch is UNSET else diverging_epoch
        self.current_leader = LeaderIdAndEpoch() if current_leader is UNSET else current_leader
        self.snapshot_id = SnapshotId() if snapshot_id is UNSET else snapshot_id
        self.aborted_transactions = [] if aborted_transactions is UNSET else aborted_transactions
        self.preferred_read_replica = preferred_read_replica
        self.records = records
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[PartitionData], version: int) -> None:
        buf = out.buffer
        if version >= 12:
            for item in items:
                buf += _pack_ihqqq(
                    item.partition_index,
                    item.error_code,
                    item.high_watermark,
                    item.last_stable_offset,
                    item.log_start_offset,
                )
                aborted_transactions = item.aborted_transactions
                if aborted_transactions is None:
                    buf += COMPACT_NULL
                else:
                    buf += compact_array_count(aborted_transactions)
                    AbortedTransaction.write_all(out, aborted_transactions, version)
                buf += _pack_i(item.preferred_read_replica)
                out.nullable_compact_records(item.records)
                buf = out.buffer
                tags: dict[int, bytes] = {}
                diverging_epoch = item.diverging_epoch
                if diverging_epoch.epoch != -1 or diverging_epoch.end_offset != -1 or diverging_epoch.unknown_tags:
                    inner = Writer()
                    EpochEndOffset.write_all(inner, (diverging_epoch,), version)
                    tags[0] = inner.bytes()
                current_leader = item.current_leader
                if current_leader.leader_id != -1 or current_leader.leader_epoch != -1 or current_leader.unknown_tags:
                    inner = Writer()
                    LeaderIdAndEpoch.write_all(inner, (current_leader,), version)
                    tags[1] = inner.bytes()
                snapshot_id = item.snapshot_id
                if snapshot_id.end_offset != -1 or snapshot_id.epoch != -1 or snapshot_id.unknown_tags:
                    inner = Writer()
                    SnapshotId.write_all(inner, (snapshot_id,), version)
                    tags[2] = inner.bytes()
                buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 5:
                buf += _pack_ihqqq(
                    item.partition_index,
                    item.error_code,
                    item.high_watermark,
                    item.last_stable_offset,
                    item.log_start_offset,
                )
            else:
                buf += _pack_ihqq(item.partition_index, item.error_code, item.high_watermark, item.last_stable_offset)
            aborted_transactions = item.aborted_transactions
            if aborted_transactions is None:
                buf += NULL
            else:
                buf += array_count(aborted_transactions)
                AbortedTransaction.write_all(out, aborted_transactions, version)
            if version >= 11:
                buf += _pack_i(item.preferred_read_replica)
            else:
                if item.preferred_read_replica != -1:
                    raise no_such_field("PartitionData", "preferred_read_replica", version)
            out.nullable_records(item.records)
            buf = out.buffer
            if (
                item.diverging_epoch.epoch != -1
                or item.diverging_epoch.end_offset != -1
                or item.diverging_epoch.unknown_tags
            ):
                raise no_such_field("PartitionData", "diverging_epoch", version)
            if (
                item.current_leader.leader_id != -1
                or item.current_leader.leader_epoch != -1
                or item.current_leader.unknown_tags
            ):
                raise no_such_field("PartitionData", "current_leader", version)
            if item.snapshot_id.end_offset != -1 or item.snapshot_id.epoch != -1 or item.snapshot_id.unknown_tags:
                raise no_such_field("PartitionData", "snapshot_id", version)
            if item.unknown_tags:
                raise no_tags("PartitionData", version)

    @staticmethod
    def read_all(data: memoryview, pos: int, version: int, count: int) -> tuple[list[PartitionData], int]:
        items: list[PartitionData] = []
        if version >= 12:
            for _ in range(count):
                item = new(PartitionData)
                (
                    item.partition_index,
                    item.error_code,
                    item.high_watermark,
                    item.last_stable_offset,
                    item.log_start_offset,
                ) = _unpack_ihqqq(data, pos)
                pos += 30
                size, pos = read_compact_count(data, pos, 17)
                if size < 0:
                    item.aborted_transactions = None
                else:
                    item.aborted_transactions, pos = AbortedTransaction.read_all(data, pos, version, size)
                (item.preferred_read_replica,) = _unpack_i(data, pos)
                pos += 4
                item.records, pos = read_nullable_compact_records(data, pos)
                item.diverging_epoch = EpochEndOffset()
                item.current_leader = LeaderIdAndEpoch()
                item.snapshot_id = SnapshotId()
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    tags, pos = read_tag_count(data, pos)
                    for _ in range(tags):
                        tag, pos, stop = read_tag(data, pos)
                        if tag == 0:
                            (item.diverging_epoch,), pos = EpochEndOffset.read_all(data, pos, version, 1)
                        elif tag == 1:
                            (item.current_leader,), pos = LeaderIdAndEpoch.read_all(data, pos, version, 1)
                        elif tag == 2:
                            (item.snapshot_id,), pos = SnapshotId.read_all(data, pos, version, 1)
                        else:
                            item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                            pos = stop
                        check_tag_end(tag, pos, stop)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(PartitionData)
            if version >= 5:
                (
                    item.partition_index,
                    item.error_code,
                    item.high_watermark,
                    item.last_stable_offset,
                    item.log_start_offset,
                ) = _unpack_ihqqq(data, pos)
                pos += 30
            else:
                (
                    item.partition_index,
                    item.error_code,
                    item.high_watermark,
                    item.last_stable_offset,
                ) = _unpack_ihqq(data, pos)
                pos += 22
                item.log_start_offset = -1
            size, pos = read_count(data, pos, 16)
            if size < 0:
                item.aborted_transactions = None
            else:
                item.aborted_transactions, pos = AbortedTransaction.read_all(data, pos, version, size)
            if version >= 11:
                (item.preferred_read_replica,) = _unpack_i(data, pos)
                pos += 4
            else:
                item.preferred_read_replica = -1
            item.records, pos = read_nullable_records(data, pos)
            item.diverging_epoch = EpochEndOffset()
            item.current_leader = LeaderIdAndEpoch()
            item.snapshot_id = SnapshotId()
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[PartitionData], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 12:
            for item in items:
                buf += _pack_ihqqq(
                    item.partition_index,
                    item.error_code,
                    item.high_watermark,
                    item.last_stable_offset,
                    item.log_start_offset,
                )
                aborted_transactions = item.aborted_transactions
                if aborted_transactions is None:
                    buf += COMPACT_NULL
                else:
                    buf += compact_array_count(aborted_transactions)
                    yield from written_slices(AbortedTransaction.write_all, out, aborted_transactions, version)
                buf += _pack_i(item.preferred_read_replica)
                out.nullable_compact_records(item.records)
                buf = out.buffer
                tags: dict[int, bytes] = {}
                diverging_epoch = item.diverging_epoch
                if diverging_epoch.epoch != -1 or diverging_epoch.end_offset != -1 or diverging_epoch.unknown_tags:
                    inner = Writer()
                    EpochEndOffset.write_all(inner, (diverging_epoch,), version)
                    tags[0] = inner.bytes()
                current_leader = item.current_leader
                if current_leader.leader_id != -1 or current_leader.leader_epoch != -1 or current_leader.unknown_tags:
                    inner = Writer()
                    LeaderIdAndEpoch.write_all(inner, (current_leader,), version)
                    tags[1] = inner.bytes()
                snapshot_id = item.snapshot_id
                if snapshot_id.end_offset != -1 or snapshot_id.epoch != -1 or snapshot_id.unknown_tags:
                    inner = Writer()
                    SnapshotId.write_all(inner, (snapshot_id,), version)
                    tags[2] = inner.bytes()
                buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            if version >= 5:
                buf += _pack_ihqqq(
                    item.partition_index,
                    item.error_code,
                    item.high_watermark,
                    item.last_stable_offset,
                    item.log_start_offset,
                )
            else:
                buf += _pack_ihqq(item.partition_index, item.error_code, item.high_watermark, item.last_stable_offset)
            aborted_transactions = item.aborted_transactions
            if aborted_transactions is None:
                buf += NULL
            else:
                buf += array_count(aborted_transactions)
                yield from written_slices(AbortedTransaction.write_all, out, aborted_transactions, version)
            if version >= 11:
                buf += _pack_i(item.preferred_read_replica)
            else:
                if item.preferred_read_replica != -1:
                    raise no_such_field("PartitionData", "preferred_read_replica", version)
            out.nullable_records(item.records)
            buf = out.buffer
            if (
                item.diverging_epoch.epoch != -1
                or item.diverging_epoch.end_offset != -1
                or item.diverging_epoch.unknown_tags
            ):
                raise no_such_field("PartitionData", "diverging_epoch", version)
            if (
                item.current_leader.leader_id != -1
                or item.current_leader.leader_epoch != -1
                or item.current_leader.unknown_tags
            ):
                raise no_such_field("PartitionData", "current_leader", version)
            if item.snapshot_id.end_offset != -1 or item.snapshot_id.epoch != -1 or item.snapshot_id.unknown_tags:
                raise no_such_field("PartitionData", "snapshot_id", version)
            if item.unknown_tags:
                raise no_tags("PartitionData", version)
            yield 1


class FetchableTopicResponse(Struct):
    FIELDS = ("topic", "topic_id", "partitions")
    __slots__ = FIELDS

    topic: str
    topic_id: Uuid
    partitions: list[PartitionData]

    def __init__(self, *, topic: str = "", topic_id: Uuid = ZERO_UUID, partitions: list[PartitionData] = UNSET) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[FetchableTopicResponse], version: int) -> None:
        buf = out.buffer
        if version >= 12:
            for item in items:
                if version <= 12:
                    buf += compact_string(item.topic)
                if version >= 13:
                    buf += _pack_u(item.topic_id)
                buf += compact_array_count(item.partitions)
                PartitionData.write_all(out, item.partitions, version)
                buf = out.buffer
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.topic)
            buf += array_count(item.partitions)
            PartitionData.write_all(out, item.partitions, version)
            buf = out.buffer
            if item.unknown_tags:
                raise no_tags("FetchableTopicResponse", version)

    @staticmethod
    def read_all(data: memoryview, pos: int, version: int, count: int) -> tuple[list[FetchableTopicResponse], int]:
        items: list[FetchableTopicResponse] = []
        if version >= 12:
            for _ in range(count):
                item = new(FetchableTopicResponse)
                if version >= 13:
                    item.topic = ""
                else:
                    item.topic, pos = view_compact_string(data, pos)
                if version >= 13:
                    (item.topic_id,) = _unpack_u(data, pos)
                    pos += 16
                else:
                    item.topic_id = ZERO_UUID
                size, pos = read_compact_count(data, pos, 37)
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
        for _ in range(count):
            item = new(FetchableTopicResponse)
            item.topic, pos = view_string(data, pos)
            item.topic_id = ZERO_UUID
            size, pos = read_count(data, pos, 30)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = PartitionData.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[FetchableTopicResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 12:
            for item in items:
                if version <= 12:
                    buf += compact_string(item.topic)
                if version >= 13:
                    buf += _pack_u(item.topic_id)
                buf += compact_array_count(item.partitions)
                yield from PartitionData.write_slices(out, item.partitions, version)
                buf = out.buffer
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += string(item.topic)
            buf += array_count(item.partitions)
            yield from PartitionData.write_slices(out, item.partitions, version)
            buf = out.buffer
            if item.unknown_tags:
                raise no_tags("FetchableTopicResponse", version)
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
    def read_all(data: memoryview, pos: int, version: int, count: int) -> tuple[list[NodeEndpoint], int]:
        items: list[NodeEndpoint] = []
        for _ in range(count):
            item = new(NodeEndpoint)
            (item.node_id,) = _unpack_i(data, pos)
            pos += 4
            item.host, pos = view_compact_string(data, pos)
            (item.port,) = _unpack_i(data, pos)
            pos += 4
            item.rack, pos = view_nullable_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class FetchResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "session_id", "responses", "node_endpoints")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 4
    MAX_VERSION: ClassVar[int] = 18
    FLEXIBLE_SINCE: ClassVar[int | None] = 12
    KEEPS_VIEW: ClassVar[bool] = True

    throttle_time_ms: int
    error_code: int
    session_id: int
    responses: list[FetchableTopicResponse]
    node_endpoints: list[NodeEndpoint]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        session_id: int = 0,
        responses: list[FetchableTopicResponse] = UNSET,
        node_endpoints: list[NodeEndpoint] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.session_id = session_id
        self.responses = [] if responses is UNSET else responses
        self.node_endpoints = [] if node_endpoints is UNSET else node_endpoints
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[FetchResponse], version: int) -> None:
        buf = out.buffer
        if version >= 12:
            for item in items:
                buf += _pack_ihi(item.throttle_time_ms, item.error_code, item.session_id)
                buf += compact_array_count(item.responses)
                FetchableTopicResponse.write_all(out, item.responses, version)
                buf = out.buffer
                tags: dict[int, bytes] = {}
                if version >= 16:
                    node_endpoints = item.node_endpoints
                    if node_endpoints:
                        inner = Writer()
                        inner.buffer += compact_array_count(node_endpoints)
                        NodeEndpoint.write_all(inner, node_endpoints, version)
                        tags[0] = inner.bytes()
                else:
                    if item.node_endpoints:
                        raise no_such_field("FetchResponse", "node_endpoints", version)
                buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 7:
                buf += _pack_ihi(item.throttle_time_ms, item.error_code, item.session_id)
            else:
                if item.session_id != 0:
                    raise no_such_field("FetchResponse", "session_id", version)
                buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.responses)
            FetchableTopicResponse.write_all(out, item.responses, version)
            buf = out.buffer
            if item.node_endpoints:
                raise no_such_field("FetchResponse", "node_endpoints", version)
            if item.unknown_tags:
                raise no_tags("FetchResponse", version)

    @staticmethod
    def read_all(data: memoryview, pos: int, version: int, count: int) -> tuple[list[FetchResponse], int]:
        items: list[FetchResponse] = []
        if version >= 12:
            for _ in range(count):
                item = new(FetchResponse)
                item.throttle_time_ms, item.error_code, item.session_id = _unpack_ihi(data, pos)
                pos += 10
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("responses")
                item.responses, pos = FetchableTopicResponse.read_all(data, pos, version, size)
                item.node_endpoints = []
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    tags, pos = read_tag_count(data, pos)
                    for _ in range(tags):
                        tag, pos, stop = read_tag(data, pos)
                        if tag == 0:
                            if version < 16:
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
            item = new(FetchResponse)
            if version >= 7:
                item.throttle_time_ms, item.error_code, item.session_id = _unpack_ihi(data, pos)
                pos += 10
            else:
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                item.error_code = 0
                item.session_id = 0
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("responses")
            item.responses, pos = FetchableTopicResponse.read_all(data, pos, version, size)
            item.node_endpoints = []
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[FetchResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 12:
            for item in items:
                buf += _pack_ihi(item.throttle_time_ms, item.error_code, item.session_id)
                buf += compact_array_count(item.responses)
                yield from FetchableTopicResponse.write_slices(out, item.responses, version)
                buf = out.buffer
                tags: dict[int, bytes] = {}
                if version >= 16:
                    node_endpoints = item.node_endpoints
                    if node_endpoints:
                        inner = Writer()
                        inner.buffer += compact_array_count(node_endpoints)
                        NodeEndpoint.write_all(inner, node_endpoints, version)
                        tags[0] = inner.bytes()
                else:
                    if item.node_endpoints:
                        raise no_such_field("FetchResponse", "node_endpoints", version)
                buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            if version >= 7:
                buf += _pack_ihi(item.throttle_time_ms, item.error_code, item.session_id)
            else:
                if item.session_id != 0:
                    raise no_such_field("FetchResponse", "session_id", version)
                buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.responses)
            yield from FetchableTopicResponse.write_slices(out, item.responses, version)
            buf = out.buffer
            if item.node_endpoints:
                raise no_such_field("FetchResponse", "node_endpoints", version)
            if item.unknown_tags:
                raise no_tags("FetchResponse", version)
            yield 1
