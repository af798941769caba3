# Generated from schema/add_raft_voter.wire by tools/generate_messages.py: do not edit.
"""AddRaftVoter: adds a voter to the KRaft quorum.

Since version
   1  the answer may come before the change is committed
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, read_compact_count
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field
from moldau.protocol.primitives import (
    compact_string,
    fixed,
    null_sent,
    nullable_compact_string,
    read_compact_string,
    read_nullable_compact_string,
)
from moldau.protocol.slices import Slices, check_count, struct_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_H, _unpack_H = fixed("H")
_pack_ih, _unpack_ih = fixed("ih")
_pack_iiu, _unpack_iiu = fixed("ii16s")
_pack_o, _unpack_o = fixed("?")


class Listener(Struct):
    FIELDS = ("name", "host", "port")
    __slots__ = FIELDS

    name: str
    host: str
    port: int

    def __init__(self, *, name: str = "", host: str = "", port: int = 0) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[Listener], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += compact_string(item.host)
            buf += _pack_H(item.port)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[Listener], int]:
        items: list[Listener] = []
        for _ in range(count):
            item = new(Listener)
            item.name, pos = read_compact_string(data, pos)
            item.host, pos = read_compact_string(data, pos)
            (item.port,) = _unpack_H(data, pos)
            pos += 2
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class AddRaftVoterRequest(Message):
    FIELDS = ("cluster_id", "timeout_ms", "voter_id", "voter_directory_id", "listeners", "ack_when_committed")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 80
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    cluster_id: str | None
    timeout_ms: int
    voter_id: int
    voter_directory_id: Uuid
    listeners: list[Listener]
    ack_when_committed: bool

    def __init__(
        self,
        *,
        cluster_id: str | None = "",
        timeout_ms: int = 0,
        voter_id: int = 0,
        voter_directory_id: Uuid = ZERO_UUID,
        listeners: list[Listener] = UNSET,
        ack_when_committed: bool = True,
    ) -> None:
        self.cluster_id = cluster_id
        self.timeout_ms = timeout_ms
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.listeners = [] if listeners is UNSET else listeners
        self.ack_when_committed = ack_when_committed
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AddRaftVoterRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += nullable_compact_string(item.cluster_id)
            buf += _pack_iiu(item.timeout_ms, item.voter_id, item.voter_directory_id)
            buf += compact_array_count(item.listeners)
            Listener.write_all(out, item.listeners, version)
            if version >= 1:
                buf += _pack_o(item.ack_when_committed)
            else:
                if not item.ack_when_committed:
                    raise no_such_field("AddRaftVoterRequest", "ack_when_committed", version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AddRaftVoterRequest], int]:
        items: list[AddRaftVoterRequest] = []
        for _ in range(count):
            item = new(AddRaftVoterRequest)
            item.cluster_id, pos = read_nullable_compact_string(data, pos)
            item.timeout_ms, item.voter_id, item.voter_directory_id = _unpack_iiu(data, pos)
            pos += 24
            size, pos = read_compact_count(data, pos, 5)
            if size < 0:
                raise null_sent("listeners")
            item.listeners, pos = Listener.read_all(data, pos, version, size)
            if version >= 1:
                (item.ack_when_committed,) = _unpack_o(data, pos)
                pos += 1
            else:
                item.ack_when_committed = True
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[AddRaftVoterRequest], int]]:
        check_count(count)
        items: list[AddRaftVoterRequest] = []
        for _ in range(count):
            item = new(AddRaftVoterRequest)
            item.cluster_id, pos = read_nullable_compact_string(data, pos)
            item.timeout_ms, item.voter_id, item.voter_directory_id = _unpack_iiu(data, pos)
            pos += 24
            size, pos = read_compact_count(data, pos, 5)
            if size < 0:
                raise null_sent("listeners")
            item.listeners, pos = yield from struct_slices(Listener.read_all, data, pos, version, size)
            if version >= 1:
                (item.ack_when_committed,) = _unpack_o(data, pos)
                pos += 1
            else:
                item.ack_when_committed = True
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class AddRaftVoterResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "error_message")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 80
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    error_code: int
    error_message: str | None

    def __init__(self, *, throttle_time_ms: int = 0, error_code: int = 0, error_message: str | None = "") -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AddRaftVoterResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AddRaftVoterResponse], int]:
        items: list[AddRaftVoterResponse] = []
        for _ in range(count):
            item = new(AddRaftVoterResponse)
            item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.error_message, pos = read_nullable_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
