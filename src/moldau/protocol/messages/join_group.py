# Generated from schema/join_group.wire by tools/generate_messages.py: do not edit.
"""JoinGroup: a member enters a classic group, or starts a new round of it.

Since version
   1  rebalance timeout apart from the session timeout
   4  a new member is told its id and has to join again
   5  static membership
   6  flexible
   7  the protocol type in the answer
   8  the reason for joining
   9  the leader may be told to skip the assignment
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import array_count, compact_array_count, read_compact_count, read_count
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field, no_tags, null_refused
from moldau.protocol.primitives import (
    COMPACT_NULL,
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
from moldau.protocol.slices import Slices, check_count, struct_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_hi, _unpack_hi = fixed("hi")
_pack_i, _unpack_i = fixed("i")
_pack_ihi, _unpack_ihi = fixed("ihi")
_pack_ii, _unpack_ii = fixed("ii")
_pack_o, _unpack_o = fixed("?")


class JoinGroupRequestProtocol(Struct):
    FIELDS = ("name", "metadata")
    __slots__ = FIELDS

    name: str
    metadata: bytes

    def __init__(self, *, name: str = "", metadata: bytes = b"") -> None:
        self.name = name
        self.metadata = metadata
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[JoinGroupRequestProtocol], version: int) -> None:
        buf = out.buffer
        if version >= 6:
            for item in items:
                buf += compact_string(item.name)
                buf += compact_bytes(item.metadata)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.name)
            buf += bytes_(item.metadata)
            if item.unknown_tags:
                raise no_tags("JoinGroupRequestProtocol", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[JoinGroupRequestProtocol], int]:
        items: list[JoinGroupRequestProtocol] = []
        if version >= 6:
            for _ in range(count):
                item = new(JoinGroupRequestProtocol)
                item.name, pos = read_compact_string(data, pos)
                item.metadata, pos = read_compact_bytes(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(JoinGroupRequestProtocol)
            item.name, pos = read_string(data, pos)
            item.metadata, pos = read_bytes(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class JoinGroupRequest(Message):
    FIELDS = (
        "group_id",
        "session_timeout_ms",
        "rebalance_timeout_ms",
        "member_id",
        "group_instance_id",
        "protocol_type",
        "protocols",
        "reason",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 9
    FLEXIBLE_SINCE: ClassVar[int | None] = 6

    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    member_id: str
    group_instance_id: str | None
    protocol_type: str
    protocols: list[JoinGroupRequestProtocol]
    reason: str | None

    def __init__(
        self,
        *,
        group_id: str = "",
        session_timeout_ms: int = 0,
        rebalance_timeout_ms: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str = "",
        protocols: list[JoinGroupRequestProtocol] = UNSET,
        reason: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocols = [] if protocols is UNSET else protocols
        self.reason = reason
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[JoinGroupRequest], version: int) -> None:
        buf = out.buffer
        if version >= 6:
            for item in items:
                buf += compact_string(item.group_id)
                buf += _pack_ii(item.session_timeout_ms, item.rebalance_timeout_ms)
                buf += compact_string(item.member_id)
                buf += nullable_compact_string(item.group_instance_id)
                buf += compact_string(item.protocol_type)
                buf += compact_array_count(item.protocols)
                JoinGroupRequestProtocol.write_all(out, item.protocols, version)
                if version >= 8:
                    buf += nullable_compact_string(item.reason)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.group_id)
            if version >= 1:
                buf += _pack_ii(item.session_timeout_ms, item.rebalance_timeout_ms)
            else:
                buf += _pack_i(item.session_timeout_ms)
            buf += string(item.member_id)
            if version >= 5:
                buf += nullable_string(item.group_instance_id)
            else:
                if item.group_instance_id is not None:
                    raise no_such_field("JoinGroupRequest", "group_instance_id", version)
            buf += string(item.protocol_type)
            buf += array_count(item.protocols)
            JoinGroupRequestProtocol.write_all(out, item.protocols, version)
            if item.unknown_tags:
                raise no_tags("JoinGroupRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[JoinGroupRequest], int]:
        items: list[JoinGroupRequest] = []
        if version >= 6:
            for _ in range(count):
                item = new(JoinGroupRequest)
                item.group_id, pos = read_compact_string(data, pos)
                item.session_timeout_ms, item.rebalance_timeout_ms = _unpack_ii(data, pos)
                pos += 8
                item.member_id, pos = read_compact_string(data, pos)
                item.group_instance_id, pos = read_nullable_compact_string(data, pos)
                item.protocol_type, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("protocols")
                item.protocols, pos = JoinGroupRequestProtocol.read_all(data, pos, version, size)
                if version >= 8:
                    item.reason, pos = read_nullable_compact_string(data, pos)
                else:
                    item.reason = None
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(JoinGroupRequest)
            item.group_id, pos = read_string(data, pos)
            if version >= 1:
                item.session_timeout_ms, item.rebalance_timeout_ms = _unpack_ii(data, pos)
                pos += 8
            else:
                (item.session_timeout_ms,) = _unpack_i(data, pos)
                pos += 4
                item.rebalance_timeout_ms = -1
            item.member_id, pos = read_string(data, pos)
            if version >= 5:
                item.group_instance_id, pos = read_nullable_string(data, pos)
            else:
                item.group_instance_id = None
            item.protocol_type, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("protocols")
            item.protocols, pos = JoinGroupRequestProtocol.read_all(data, pos, version, size)
            item.reason = None
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[JoinGroupRequest], int]]:
        check_count(count)
        items: list[JoinGroupRequest] = []
        if version >= 6:
            for _ in range(count):
                item = new(JoinGroupRequest)
                item.group_id, pos = read_compact_string(data, pos)
                item.session_timeout_ms, item.rebalance_timeout_ms = _unpack_ii(data, pos)
                pos += 8
                item.member_id, pos = read_compact_string(data, pos)
                item.group_instance_id, pos = read_nullable_compact_string(data, pos)
                item.protocol_type, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("protocols")
                item.protocols, pos = yield from struct_slices(
                    JoinGroupRequestProtocol.read_all,
                    data,
                    pos,
                    version,
                    size,
                )
                if version >= 8:
                    item.reason, pos = read_nullable_compact_string(data, pos)
                else:
                    item.reason = None
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(JoinGroupRequest)
            item.group_id, pos = read_string(data, pos)
            if version >= 1:
                item.session_timeout_ms, item.rebalance_timeout_ms = _unpack_ii(data, pos)
                pos += 8
            else:
                (item.session_timeout_ms,) = _unpack_i(data, pos)
                pos += 4
                item.rebalance_timeout_ms = -1
            item.member_id, pos = read_string(data, pos)
            if version >= 5:
                item.group_instance_id, pos = read_nullable_string(data, pos)
            else:
                item.group_instance_id = None
            item.protocol_type, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("protocols")
            item.protocols, pos = yield from struct_slices(JoinGroupRequestProtocol.read_all, data, pos, version, size)
            item.reason = None
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class JoinGroupResponseMember(Struct):
    FIELDS = ("member_id", "group_instance_id", "metadata")
    __slots__ = FIELDS

    member_id: str
    group_instance_id: str | None
    metadata: bytes

    def __init__(self, *, member_id: str = "", group_instance_id: str | None = None, metadata: bytes = b"") -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.metadata = metadata
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[JoinGroupResponseMember], version: int) -> None:
        buf = out.buffer
        if version >= 6:
            for item in items:
                buf += compact_string(item.member_id)
                buf += nullable_compact_string(item.group_instance_id)
                buf += compact_bytes(item.metadata)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.member_id)
            if version >= 5:
                buf += nullable_string(item.group_instance_id)
            buf += bytes_(item.metadata)
            if item.unknown_tags:
                raise no_tags("JoinGroupResponseMember", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[JoinGroupResponseMember], int]:
        items: list[JoinGroupResponseMember] = []
        if version >= 6:
            for _ in range(count):
                item = new(JoinGroupResponseMember)
                item.member_id, pos = read_compact_string(data, pos)
                item.group_instance_id, pos = read_nullable_compact_string(data, pos)
                item.metadata, pos = read_compact_bytes(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(JoinGroupResponseMember)
            item.member_id, pos = read_string(data, pos)
            if version >= 5:
                item.group_instance_id, pos = read_nullable_string(data, pos)
            else:
                item.group_instance_id = None
            item.metadata, pos = read_bytes(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class JoinGroupResponse(Message):
    FIELDS = (
        "throttle_time_ms",
        "error_code",
        "generation_id",
        "protocol_type",
        "protocol_name",
        "leader",
        "skip_assignment",
        "member_id",
        "members",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 9
    FLEXIBLE_SINCE: ClassVar[int | None] = 6

    throttle_time_ms: int
    error_code: int
    generation_id: int
    protocol_type: str | None
    protocol_name: str | None
    leader: str
    skip_assignment: bool
    member_id: str
    members: list[JoinGroupResponseMember]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        generation_id: int = -1,
        protocol_type: str | None = None,
        protocol_name: str | None = "",
        leader: str = "",
        skip_assignment: bool = False,
        member_id: str = "",
        members: list[JoinGroupResponseMember] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.generation_id = generation_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.leader = leader
        self.skip_assignment = skip_assignment
        self.member_id = member_id
        self.members = [] if members is UNSET else members
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[JoinGroupResponse], version: int) -> None:
        buf = out.buffer
        if version >= 6:
            for item in items:
                buf += _pack_ihi(item.throttle_time_ms, item.error_code, item.generation_id)
                if version >= 7:
                    buf += nullable_compact_string(item.protocol_type)
                protocol_name = item.protocol_name
                if protocol_name is None:
                    if version < 7:
                        raise null_refused("JoinGroupResponse", "protocol_name", version)
                    buf += COMPACT_NULL
                else:
                    buf += compact_string(protocol_name)
                buf += compact_string(item.leader)
                if version >= 9:
                    buf += _pack_o(item.skip_assignment)
                else:
                    if item.skip_assignment:
                        raise no_such_field("JoinGroupResponse", "skip_assignment", version)
                buf += compact_string(item.member_id)
                buf += compact_array_count(item.members)
                JoinGroupResponseMember.write_all(out, item.members, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 2:
                buf += _pack_ihi(item.throttle_time_ms, item.error_code, item.generation_id)
            else:
                buf += _pack_hi(item.error_code, item.generation_id)
            protocol_name = item.protocol_name
            if protocol_name is None:
                raise null_refused("JoinGroupResponse", "protocol_name", version)
            buf += string(protocol_name)
            buf += string(item.leader)
            if item.skip_assignment:
                raise no_such_field("JoinGroupResponse", "skip_assignment", version)
            buf += string(item.member_id)
            buf += array_count(item.members)
            JoinGroupResponseMember.write_all(out, item.members, version)
            if item.unknown_tags:
                raise no_tags("JoinGroupResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[JoinGroupResponse], int]:
        items: list[JoinGroupResponse] = []
        if version >= 6:
            for _ in range(count):
                item = new(JoinGroupResponse)
                item.throttle_time_ms, item.error_code, item.generation_id = _unpack_ihi(data, pos)
                pos += 10
                if version >= 7:
                    item.protocol_type, pos = read_nullable_compact_string(data, pos)
                else:
                    item.protocol_type = None
                if version >= 7:
                    item.protocol_name, pos = read_nullable_compact_string(data, pos)
                else:
                    item.protocol_name, pos = read_compact_string(data, pos)
                item.leader, pos = read_compact_string(data, pos)
                if version >= 9:
                    (item.skip_assignment,) = _unpack_o(data, pos)
                    pos += 1
                else:
                    item.skip_assignment = False
                item.member_id, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 4)
                if size < 0:
                    raise null_sent("members")
                item.members, pos = JoinGroupResponseMember.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(JoinGroupResponse)
            if version >= 2:
                item.throttle_time_ms, item.error_code, item.generation_id = _unpack_ihi(data, pos)
                pos += 10
            else:
                item.error_code, item.generation_id = _unpack_hi(data, pos)
                pos += 6
                item.throttle_time_ms = 0
            item.protocol_type = None
            item.protocol_name, pos = read_string(data, pos)
            item.leader, pos = read_string(data, pos)
            item.skip_assignment = False
            item.member_id, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("members")
            item.members, pos = JoinGroupResponseMember.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[JoinGroupResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 6:
            for item in items:
                buf += _pack_ihi(item.throttle_time_ms, item.error_code, item.generation_id)
                if version >= 7:
                    buf += nullable_compact_string(item.protocol_type)
                protocol_name = item.protocol_name
                if protocol_name is None:
                    if version < 7:
                        raise null_refused("JoinGroupResponse", "protocol_name", version)
                    buf += COMPACT_NULL
                else:
                    buf += compact_string(protocol_name)
                buf += compact_string(item.leader)
                if version >= 9:
                    buf += _pack_o(item.skip_assignment)
                else:
                    if item.skip_assignment:
                        raise no_such_field("JoinGroupResponse", "skip_assignment", version)
                buf += compact_string(item.member_id)
                buf += compact_array_count(item.members)
                yield from written_slices(JoinGroupResponseMember.write_all, out, item.members, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            if version >= 2:
                buf += _pack_ihi(item.throttle_time_ms, item.error_code, item.generation_id)
            else:
                buf += _pack_hi(item.error_code, item.generation_id)
            protocol_name = item.protocol_name
            if protocol_name is None:
                raise null_refused("JoinGroupResponse", "protocol_name", version)
            buf += string(protocol_name)
            buf += string(item.leader)
            if item.skip_assignment:
                raise no_such_field("JoinGroupResponse", "skip_assignment", version)
            buf += string(item.member_id)
            buf += array_count(item.members)
            yield from written_slices(JoinGroupResponseMember.write_all, out, item.members, version)
            if item.unknown_tags:
                raise no_tags("JoinGroupResponse", version)
            yield 1
