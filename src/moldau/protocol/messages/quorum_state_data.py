# Generated from schema/quorum_state.wire by tools/generate_messages.py: do not edit.
"""QuorumStateData: the content of the quorum-state file: what a KRaft node must not forget about the election."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, read_compact_count
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field
from moldau.protocol.primitives import COMPACT_NULL, compact_string, fixed, read_compact_string
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_i, _unpack_i = fixed("i")
_pack_iiiq, _unpack_iiiq = fixed("iiiq")
_pack_iiiu, _unpack_iiiu = fixed("iii16s")


class Voter(Struct):
    FIELDS = ("voter_id",)
    __slots__ = FIELDS

    voter_id: int

    def __init__(self, *, voter_id: int = 0) -> None:
        self.voter_id = voter_id
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[Voter], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.voter_id)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[Voter], int]:
        items: list[Voter] = []
        for _ in range(count):
            item = new(Voter)
            (item.voter_id,) = _unpack_i(data, pos)
            pos += 4
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class QuorumStateData(Message):
    FIELDS = (
        "cluster_id",
        "leader_id",
        "leader_epoch",
        "voted_id",
        "voted_directory_id",
        "applied_offset",
        "current_voters",
    )
    __slots__ = FIELDS

    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    cluster_id: str
    leader_id: int
    leader_epoch: int
    voted_id: int
    voted_directory_id: Uuid
    applied_offset: int
    current_voters: list[Voter] | None

    def __init__(
        self,
        *,
        cluster_id: str = "",
        leader_id: int = -1,
        leader_epoch: int = -1,
        voted_id: int = -1,
        voted_directory_id: Uuid = ZERO_UUID,
        applied_offset: int = 0,
        current_voters: list[Voter] | None = UNSET,
    ) -> None:
        self.cluster_id = cluster_id
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.voted_id = voted_id
        self.voted_directory_id = voted_directory_id
        self.applied_offset = applied_offset
        self.current_voters = [] if current_voters is UNSET else current_voters
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[QuorumStateData], version: int) -> None:
        buf = out.buffer
        for item in items:
            if version >= 1:
                if item.cluster_id != "":
                    raise no_such_field("QuorumStateData", "cluster_id", version)
            else:
                buf += compact_string(item.cluster_id)
            if version >= 1:
                if item.applied_offset != 0:
                    raise no_such_field("QuorumStateData", "applied_offset", version)
                buf += _pack_iiiu(item.leader_id, item.leader_epoch, item.voted_id, item.voted_directory_id)
            else:
                if item.voted_directory_id != ZERO_UUID:
                    raise no_such_field("QuorumStateData", "voted_directory_id", version)
                buf += _pack_iiiq(item.leader_id, item.leader_epoch, item.voted_id, item.applied_offset)
            if version >= 1:
                if item.current_voters != []:
                    raise no_such_field("QuorumStateData", "current_voters", version)
            else:
                current_voters = item.current_voters
                if current_voters is None:
                    buf += COMPACT_NULL
                else:
                    buf += compact_array_count(current_voters)
                    Voter.write_all(out, current_voters, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[QuorumStateData], int]:
        items: list[QuorumStateData] = []
        for _ in range(count):
            item = new(QuorumStateData)
            if version >= 1:
                item.cluster_id = ""
            else:
                item.cluster_id, pos = read_compact_string(data, pos)
            if version >= 1:
                item.leader_id, item.leader_epoch, item.voted_id, item.voted_directory_id = _unpack_iiiu(data, pos)
                pos += 28
                item.applied_offset = 0
            else:
                item.leader_id, item.leader_epoch, item.voted_id, item.applied_offset = _unpack_iiiq(data, pos)
                pos += 20
                item.voted_directory_id = ZERO_UUID
            if version >= 1:
                item.current_voters = []
            else:
                size, pos = read_compact_count(data, pos, 5)
                if size < 0:
                    item.current_voters = None
                else:
                    item.current_voters, pos = Voter.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
