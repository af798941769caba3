# Generated from schema/classic_group_records.wire by tools/generate_messages.py: do not edit.
"""GroupMetadataValue: generation and members of a classic group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import array_count, compact_array_count, read_compact_count, read_count
from moldau.protocol.message import UNSET, Message, Struct, new, no_tags
from moldau.protocol.primitives import (
    bytes_,
    compact_bytes,
    compact_string,
    fixed,
    null_sent,
    nullable_compact_string,
    nullable_string,
    read_bytes,
    read_compact_bytes,
    read_compact_string,
    read_nullable_compact_string,
    read_nullable_string,
    read_string,
    string,
)
from moldau.protocol.slices import Slices, struct_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_i, _unpack_i = fixed("i")
_pack_ii, _unpack_ii = fixed("ii")
_pack_q, _unpack_q = fixed("q")


class MemberMetadata(Struct):
    FIELDS = (
        "member_id",
        "group_instance_id",
        "client_id",
        "client_host",
        "rebalance_timeout",
        "session_timeout",
        "subscription",
        "assignment",
    )
    __slots__ = FIELDS

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout: int
    session_timeout: int
    subscription: bytes
    assignment: bytes

    def __init__(
        self,
        *,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout: int = -1,
        session_timeout: int = 0,
        subscription: bytes = b"",
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout = rebalance_timeout
        self.session_timeout = session_timeout
        self.subscription = subscription
        self.assignment = assignment
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[MemberMetadata], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += compact_string(item.member_id)
                buf += nullable_compact_string(item.group_instance_id)
                buf += compact_string(item.client_id)
                buf += compact_string(item.client_host)
                buf += _pack_ii(item.rebalance_timeout, item.session_timeout)
                buf += compact_bytes(item.subscription)
                buf += compact_bytes(item.assignment)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.member_id)
            if version >= 3:
                buf += nullable_string(item.group_instance_id)
            buf += string(item.client_id)
            buf += string(item.client_host)
            if version >= 1:
                buf += _pack_ii(item.rebalance_timeout, item.session_timeout)
            else:
                buf += _pack_i(item.session_timeout)
            buf += bytes_(item.subscription)
            buf += bytes_(item.assignment)
            if item.unknown_tags:
                raise no_tags("MemberMetadata", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[MemberMetadata], int]:
        items: list[MemberMetadata] = []
        if version >= 4:
            for _ in range(count):
                item = new(MemberMetadata)
                item.member_id, pos = read_compact_string(data, pos)
                item.group_instance_id, pos = read_nullable_compact_string(data, pos)
                item.client_id, pos = read_compact_string(data, pos)
                item.client_host, pos = read_compact_string(data, pos)
                item.rebalance_timeout, item.session_timeout = _unpack_ii(data, pos)
                pos += 8
                item.subscription, pos = read_compact_bytes(data, pos)
                item.assignment, pos = read_compact_bytes(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(MemberMetadata)
            item.member_id, pos = read_string(data, pos)
            if version >= 3:
                item.group_instance_id, pos = read_nullable_string(data, pos)
            else:
                item.group_instance_id = None
            item.client_id, pos = read_string(data, pos)
            item.client_host, pos = read_string(data, pos)
            if version >= 1:
                item.rebalance_timeout, item.session_timeout = _unpack_ii(data, pos)
                pos += 8
            else:
                (item.session_timeout,) = _unpack_i(data, pos)
                pos += 4
                item.rebalance_timeout = -1
            item.subscription, pos = read_bytes(data, pos)
            item.assignment, pos = read_bytes(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class GroupMetadataValue(Message):
    FIELDS = ("protocol_type", "generation", "protocol", "leader", "current_state_timestamp", "members")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int | None] = 4

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    current_state_timestamp: int
    members: list[MemberMetadata]

    def __init__(
        self,
        *,
        protocol_type: str = "",
        generation: int = 0,
        protocol: str | None = "",
        leader: str | None = "",
        current_state_timestamp: int = -1,
        members: list[MemberMetadata] = UNSET,
    ) -> None:
        self.protocol_type = protocol_type
        self.generation = generation
        self.protocol = protocol
        self.leader = leader
        self.current_state_timestamp = current_state_timestamp
        self.members = [] if members is UNSET else members
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[GroupMetadataValue], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += compact_string(item.protocol_type)
                buf += _pack_i(item.generation)
                buf += nullable_compact_string(item.protocol)
                buf += nullable_compact_string(item.leader)
                buf += _pack_q(item.current_state_timestamp)
                buf += compact_array_count(item.members)
                MemberMetadata.write_all(out, item.members, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.protocol_type)
            buf += _pack_i(item.generation)
            buf += nullable_string(item.protocol)
            buf += nullable_string(item.leader)
            if version >= 2:
                buf += _pack_q(item.current_state_timestamp)
            buf += array_count(item.members)
            MemberMetadata.write_all(out, item.members, version)
            if item.unknown_tags:
                raise no_tags("GroupMetadataValue", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[GroupMetadataValue], int]:
        items: list[GroupMetadataValue] = []
        if version >= 4:
            for _ in range(count):
                item = new(GroupMetadataValue)
                item.protocol_type, pos = read_compact_string(data, pos)
                (item.generation,) = _unpack_i(data, pos)
                pos += 4
                item.protocol, pos = read_nullable_compact_string(data, pos)
                item.leader, pos = read_nullable_compact_string(data, pos)
                (item.current_state_timestamp,) = _unpack_q(data, pos)
                pos += 8
                size, pos = read_compact_count(data, pos, 15)
                if size < 0:
                    raise null_sent("members")
                item.members, pos = MemberMetadata.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(GroupMetadataValue)
            item.protocol_type, pos = read_string(data, pos)
            (item.generation,) = _unpack_i(data, pos)
            pos += 4
            item.protocol, pos = read_nullable_string(data, pos)
            item.leader, pos = read_nullable_string(data, pos)
            if version >= 2:
                (item.current_state_timestamp,) = _unpack_q(data, pos)
                pos += 8
            else:
                item.current_state_timestamp = -1
            size, pos = read_count(data, pos, 18)
            if size < 0:
                raise null_sent("members")
            item.members, pos = MemberMetadata.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[GroupMetadataValue], int]]:
        items: list[GroupMetadataValue] = []
        if version >= 4:
            for _ in range(count):
                item = new(GroupMetadataValue)
                item.protocol_type, pos = read_compact_string(data, pos)
                (item.generation,) = _unpack_i(data, pos)
                pos += 4
                item.protocol, pos = read_nullable_compact_string(data, pos)
                item.leader, pos = read_nullable_compact_string(data, pos)
                (item.current_state_timestamp,) = _unpack_q(data, pos)
                pos += 8
                size, pos = read_compact_count(data, pos, 15)
                if size < 0:
                    raise null_sent("members")
                item.members, pos = yield from struct_slices(
                    MemberMetadata.read_all,
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
            item = new(GroupMetadataValue)
            item.protocol_type, pos = read_string(data, pos)
            (item.generation,) = _unpack_i(data, pos)
            pos += 4
            item.protocol, pos = read_nullable_string(data, pos)
            item.leader, pos = read_nullable_string(data, pos)
            if version >= 2:
                (item.current_state_timestamp,) = _unpack_q(data, pos)
                pos += 8
            else:
                item.current_state_timestamp = -1
            size, pos = read_count(data, pos, 18)
            if size < 0:
                raise null_sent("members")
            item.members, pos = yield from struct_slices(
                MemberMetadata.read_all,
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
    def write_slices(out: Writer, items: Iterable[GroupMetadataValue], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += compact_string(item.protocol_type)
                buf += _pack_i(item.generation)
                buf += nullable_compact_string(item.protocol)
                buf += nullable_compact_string(item.leader)
                buf += _pack_q(item.current_state_timestamp)
                buf += compact_array_count(item.members)
                yield from written_slices(MemberMetadata.write_all, out, item.members, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += string(item.protocol_type)
            buf += _pack_i(item.generation)
            buf += nullable_string(item.protocol)
            buf += nullable_string(item.leader)
            if version >= 2:
                buf += _pack_q(item.current_state_timestamp)
            buf += array_count(item.members)
            yield from written_slices(MemberMetadata.write_all, out, item.members, version)
            if item.unknown_tags:
                raise no_tags("GroupMetadataValue", version)
            yield 1
