# Generated from schema/control_records.wire by tools/generate_messages.py: do not edit.
"""LeaderChangeMessage: the first record of a KRaft leader's epoch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, read_compact_count
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field
from moldau.protocol.primitives import fixed, null_sent
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_hi, _unpack_hi = fixed("hi")
_pack_i, _unpack_i = fixed("i")
_pack_iu, _unpack_iu = fixed("i16s")


class Voter(Struct):
    FIELDS = ("voter_id", "voter_directory_id")
    __slots__ = FIELDS

    voter_id: int
    voter_directory_id: Uuid

    def __init__(self, *, voter_id: int = 0, voter_directory_id: Uuid = ZERO_UUID) -> None:
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[Voter], version: int) -> None:
        buf = out.buffer
        for item in items:
            if version >= 1:
                buf += _pack_iu(item.voter_id, item.voter_directory_id)
            else:
                if item.voter_directory_id != ZERO_UUID:
                    raise no_such_field("Voter", "voter_directory_id", version)
                buf += _pack_i(item.voter_id)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[Voter], int]:
        items: list[Voter] = []
        for _ in range(count):
            item = new(Voter)
            if version >= 1:
                item.voter_id, item.voter_directory_id = _unpack_iu(data, pos)
                pos += 20
            else:
                (item.voter_id,) = _unpack_i(data, pos)
                pos += 4
                item.voter_directory_id = ZERO_UUID
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class LeaderChangeMessage(Message):
    FIELDS = ("version", "leader_id", "voters", "granting_voters")
    __slots__ = FIELDS

    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    version: int
    leader_id: int
    voters: list[Voter]
    granting_voters: list[Voter]

    def __init__(
        self,
        *,
        version: int = 0,
        leader_id: int = 0,
        voters: list[Voter] = UNSET,
        granting_voters: list[Voter] = UNSET,
    ) -> None:
        self.version = version
        self.leader_id = leader_id
        self.voters = [] if voters is UNSET else voters
        self.granting_voters = [] if granting_voters is UNSET else granting_voters
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[LeaderChangeMessage], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_hi(item.version, item.leader_id)
            buf += compact_array_count(item.voters)
            Voter.write_all(out, item.voters, version)
            buf += compact_array_count(item.granting_voters)
            Voter.write_all(out, item.granting_voters, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[LeaderChangeMessage], int]:
        items: list[LeaderChangeMessage] = []
        for _ in range(count):
            item = new(LeaderChangeMessage)
            item.version, item.leader_id = _unpack_hi(data, pos)
            pos += 6
            size, pos = read_compact_count(data, pos, 5)
            if size < 0:
                raise null_sent("voters")
            item.voters, pos = Voter.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 5)
            if size < 0:
                raise null_sent("granting_voters")
            item.granting_voters, pos = Voter.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
