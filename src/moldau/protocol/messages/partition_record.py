# Generated from schema/metadata_records.wire by tools/generate_messages.py: do not edit.
"""PartitionRecord: a partition, complete."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import (
    compact_int32s,
    compact_uuids,
    read_compact_count,
    read_compact_int32s,
    read_nullable_compact_int32s,
    read_uuids,
)
from moldau.protocol.message import UNSET, Message, new, no_such_field
from moldau.protocol.primitives import fixed, null_sent
from moldau.protocol.tagged_fields import check_tag_end, keep_tag, misplaced_tag, read_tag, read_tag_count, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_b, _unpack_b = fixed("b")
_pack_iii, _unpack_iii = fixed("iii")
_pack_iu, _unpack_iu = fixed("i16s")


class PartitionRecord(Message):
    FIELDS = (
        "partition_id",
        "topic_id",
        "replicas",
        "isr",
        "removing_replicas",
        "adding_replicas",
        "leader",
        "leader_recovery_state",
        "leader_epoch",
        "partition_epoch",
        "directories",
        "eligible_leader_replicas",
        "last_known_elr",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    partition_id: int
    topic_id: Uuid
    replicas: list[int]
    isr: list[int]
    removing_replicas: list[int]
    adding_replicas: list[int]
    leader: int
    leader_recovery_state: int
    leader_epoch: int
    partition_epoch: int
    directories: list[Uuid]
    eligible_leader_replicas: list[int] | None
    last_known_elr: list[int] | None

    def __init__(
        self,
        *,
        partition_id: int = -1,
        topic_id: Uuid = ZERO_UUID,
        replicas: list[int] = UNSET,
        isr: list[int] = UNSET,
        removing_replicas: list[int] = UNSET,
        adding_replicas: list[int] = UNSET,
        leader: int = -1,
        leader_recovery_state: int = 0,
        leader_epoch: int = -1,
        partition_epoch: int = -1,
        directories: list[Uuid] = UNSET,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
    ) -> None:
        self.partition_id = partition_id
        self.topic_id = topic_id
        self.replicas = [] if replicas is UNSET else replicas
        self.isr = [] if isr is UNSET else isr
        self.removing_replicas = [] if removing_replicas is UNSET else removing_replicas
        self.adding_replicas = [] if adding_replicas is UNSET else adding_replicas
        self.leader = leader
        self.leader_recovery_state = leader_recovery_state
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.directories = [] if directories is UNSET else directories
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[PartitionRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_iu(item.partition_id, item.topic_id)
            buf += compact_int32s(item.replicas)
            buf += compact_int32s(item.isr)
            buf += compact_int32s(item.removing_replicas)
            buf += compact_int32s(item.adding_replicas)
            buf += _pack_iii(item.leader, item.leader_epoch, item.partition_epoch)
            if version >= 1:
                buf += compact_uuids(item.directories)
            else:
                if item.directories:
                    raise no_such_field("PartitionRecord", "directories", version)
            tags: dict[int, bytes] = {}
            leader_recovery_state = item.leader_recovery_state
            if leader_recovery_state != 0:
                tags[0] = _pack_b(leader_recovery_state)
            if version >= 2:
                eligible_leader_replicas = item.eligible_leader_replicas
                if eligible_leader_replicas is not None:
                    tags[1] = compact_int32s(eligible_leader_replicas)
            else:
                if item.eligible_leader_replicas is not None:
                    raise no_such_field("PartitionRecord", "eligible_leader_replicas", version)
            if version >= 2:
                last_known_elr = item.last_known_elr
                if last_known_elr is not None:
                    tags[2] = compact_int32s(last_known_elr)
            else:
                if item.last_known_elr is not None:
                    raise no_such_field("PartitionRecord", "last_known_elr", version)
            buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[PartitionRecord], int]:
        items: list[PartitionRecord] = []
        for _ in range(count):
            item = new(PartitionRecord)
            item.partition_id, item.topic_id = _unpack_iu(data, pos)
            pos += 20
            item.replicas, pos = read_compact_int32s(data, pos)
            item.isr, pos = read_compact_int32s(data, pos)
            item.removing_replicas, pos = read_compact_int32s(data, pos)
            item.adding_replicas, pos = read_compact_int32s(data, pos)
            item.leader, item.leader_epoch, item.partition_epoch = _unpack_iii(data, pos)
            pos += 12
            if version >= 1:
                size, pos = read_compact_count(data, pos, 16)
                if size < 0:
                    raise null_sent("directories")
                item.directories, pos = read_uuids(data, pos, size)
            else:
                item.directories = []
            item.leader_recovery_state = 0
            item.eligible_leader_replicas = None
            item.last_known_elr = None
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                tags, pos = read_tag_count(data, pos)
                for _ in range(tags):
                    tag, pos, stop = read_tag(data, pos)
                    if tag == 0:
                        (item.leader_recovery_state,) = _unpack_b(data, pos)
                        pos += 1
                    elif tag == 1:
                        if version < 2:
                            raise misplaced_tag(tag, version)
                        item.eligible_leader_replicas, pos = read_nullable_compact_int32s(data, pos)
                    elif tag == 2:
                        if version < 2:
                            raise misplaced_tag(tag, version)
                        item.last_known_elr, pos = read_nullable_compact_int32s(data, pos)
                    else:
                        item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                        pos = stop
                    check_tag_end(tag, pos, stop)
            items.append(item)
        return items, pos
