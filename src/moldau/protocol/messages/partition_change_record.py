# Generated from schema/metadata_records.wire by tools/generate_messages.py: do not edit.
"""PartitionChangeRecord: what changed in a partition; what did not is left out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import (
    compact_int32s,
    compact_uuids,
    read_compact_count,
    read_nullable_compact_int32s,
    read_uuids,
)
from moldau.protocol.message import Message, new, no_such_field
from moldau.protocol.primitives import fixed
from moldau.protocol.tagged_fields import check_tag_end, keep_tag, misplaced_tag, read_tag, read_tag_count, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_b, _unpack_b = fixed("b")
_pack_i, _unpack_i = fixed("i")
_pack_iu, _unpack_iu = fixed("i16s")


class PartitionChangeRecord(Message):
    FIELDS = (
        "partition_id",
        "topic_id",
        "isr",
        "leader",
        "replicas",
        "removing_replicas",
        "adding_replicas",
        "leader_recovery_state",
        "directories",
        "eligible_leader_replicas",
        "last_known_elr",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 5
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    partition_id: int
    topic_id: Uuid
    isr: list[int] | None
    leader: int
    replicas: list[int] | None
    removing_replicas: list[int] | None
    adding_replicas: list[int] | None
    leader_recovery_state: int
    directories: list[Uuid] | None
    eligible_leader_replicas: list[int] | None
    last_known_elr: list[int] | None

    def __init__(
        self,
        *,
        partition_id: int = -1,
        topic_id: Uuid = ZERO_UUID,
        isr: list[int] | None = None,
        leader: int = -2,
        replicas: list[int] | None = None,
        removing_replicas: list[int] | None = None,
        adding_replicas: list[int] | None = None,
        leader_recovery_state: int = -1,
        directories: list[Uuid] | None = None,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
    ) -> None:
        self.partition_id = partition_id
        self.topic_id = topic_id
        self.isr = isr
        self.leader = leader
        self.replicas = replicas
        self.removing_replicas = removing_replicas
        self.adding_replicas = adding_replicas
        self.leader_recovery_state = leader_recovery_state
        self.directories = directories
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[PartitionChangeRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_iu(item.partition_id, item.topic_id)
            tags: dict[int, bytes] = {}
            isr = item.isr
            if isr is not None:
                tags[0] = compact_int32s(isr)
            leader = item.leader
            if leader != -2:
                tags[1] = _pack_i(leader)
            replicas = item.replicas
            if replicas is not None:
                tags[2] = compact_int32s(replicas)
            removing_replicas = item.removing_replicas
            if removing_replicas is not None:
                tags[3] = compact_int32s(removing_replicas)
            adding_replicas = item.adding_replicas
            if adding_replicas is not None:
                tags[4] = compact_int32s(adding_replicas)
            leader_recovery_state = item.leader_recovery_state
            if leader_recovery_state != -1:
                tags[5] = _pack_b(leader_recovery_state)
            if version >= 2:
                eligible_leader_replicas = item.eligible_leader_replicas
                if eligible_leader_replicas is not None:
                    tags[6] = compact_int32s(eligible_leader_replicas)
            else:
                if item.eligible_leader_replicas is not None:
                    raise no_such_field("PartitionChangeRecord", "eligible_leader_replicas", version)
            if version >= 2:
                last_known_elr = item.last_known_elr
                if last_known_elr is not None:
                    tags[7] = compact_int32s(last_known_elr)
            else:
                if item.last_known_elr is not None:
                    raise no_such_field("PartitionChangeRecord", "last_known_elr", version)
            if version >= 1:
                directories = item.directories
                if directories is not None:
                    tags[8] = compact_uuids(directories)
            else:
                if item.directories is not None:
                    raise no_such_field("PartitionChangeRecord", "directories", version)
            buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[PartitionChangeRecord], int]:
        items: list[PartitionChangeRecord] = []
        for _ in range(count):
            item = new(PartitionChangeRecord)
            item.partition_id, item.topic_id = _unpack_iu(data, pos)
            pos += 20
            item.isr = None
            item.leader = -2
            item.replicas = None
            item.removing_replicas = None
            item.adding_replicas = None
            item.leader_recovery_state = -1
            item.directories = None
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
                        item.isr, pos = read_nullable_compact_int32s(data, pos)
                    elif tag == 1:
                        (item.leader,) = _unpack_i(data, pos)
                        pos += 4
                    elif tag == 2:
                        item.replicas, pos = read_nullable_compact_int32s(data, pos)
                    elif tag == 3:
                        item.removing_replicas, pos = read_nullable_compact_int32s(data, pos)
                    elif tag == 4:
                        item.adding_replicas, pos = read_nullable_compact_int32s(data, pos)
                    elif tag == 5:
                        (item.leader_recovery_state,) = _unpack_b(data, pos)
                        pos += 1
                    elif tag == 6:
                        if version < 2:
                            raise misplaced_tag(tag, version)
                        item.eligible_leader_replicas, pos = read_nullable_compact_int32s(data, pos)
                    elif tag == 7:
                        if version < 2:
                            raise misplaced_tag(tag, version)
                        item.last_known_elr, pos = read_nullable_compact_int32s(data, pos)
                    elif tag == 8:
                        if version < 1:
                            raise misplaced_tag(tag, version)
                        size, pos = read_compact_count(data, pos, 16)
                        if size < 0:
                            item.directories = None
                        else:
                            item.directories, pos = read_uuids(data, pos, size)
                    else:
                        item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                        pos = stop
                    check_tag_end(tag, pos, stop)
            items.append(item)
        return items, pos
