# Generated from schema/remove_raft_voter.wire by tools/generate_messages.py: do not edit.
"""RemoveRaftVoter: removes a voter from the KRaft quorum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.primitives import fixed, nullable_compact_string, read_nullable_compact_string
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_ih, _unpack_ih = fixed("ih")
_pack_iu, _unpack_iu = fixed("i16s")


class RemoveRaftVoterRequest(Message):
    FIELDS = ("cluster_id", "voter_id", "voter_directory_id")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 81
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    cluster_id: str | None
    voter_id: int
    voter_directory_id: Uuid

    def __init__(self, *, cluster_id: str | None = "", voter_id: int = 0, voter_directory_id: Uuid = ZERO_UUID) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[RemoveRaftVoterRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += nullable_compact_string(item.cluster_id)
            buf += _pack_iu(item.voter_id, item.voter_directory_id)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RemoveRaftVoterRequest], int]:
        items: list[RemoveRaftVoterRequest] = []
        for _ in range(count):
            item = new(RemoveRaftVoterRequest)
            item.cluster_id, pos = read_nullable_compact_string(data, pos)
            item.voter_id, item.voter_directory_id = _unpack_iu(data, pos)
            pos += 20
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class RemoveRaftVoterResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "error_message")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 81
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
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
    def write_all(out: Writer, items: Iterable[RemoveRaftVoterResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RemoveRaftVoterResponse], int]:
        items: list[RemoveRaftVoterResponse] = []
        for _ in range(count):
            item = new(RemoveRaftVoterResponse)
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
