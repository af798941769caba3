# Generated from schema/update_raft_voter.wire by tools/generate_messages.py: do not edit.
"""UpdateRaftVoter: a voter tells its endpoints and KRaft versions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, read_compact_count
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import (
    compact_string,
    fixed,
    null_sent,
    nullable_compact_string,
    read_compact_string,
    read_nullable_compact_string,
)
from moldau.protocol.slices import Slices, check_count, struct_slices
from moldau.protocol.tagged_fields import check_tag_end, keep_tag, read_tag, read_tag_count, read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_H, _unpack_H = fixed("H")
_pack_hh, _unpack_hh = fixed("hh")
_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")
_pack_ii, _unpack_ii = fixed("ii")
_pack_iiu, _unpack_iiu = fixed("ii16s")


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


class KRaftVersionFeature(Struct):
    FIELDS = ("min_supported_version", "max_supported_version")
    __slots__ = FIELDS

    min_supported_version: int
    max_supported_version: int

    def __init__(self, *, min_supported_version: int = 0, max_supported_version: int = 0) -> None:
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[KRaftVersionFeature], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_hh(item.min_supported_version, item.max_supported_version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[KRaftVersionFeature], int]:
        items: list[KRaftVersionFeature] = []
        for _ in range(count):
            item = new(KRaftVersionFeature)
            item.min_supported_version, item.max_supported_version = _unpack_hh(data, pos)
            pos += 4
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class UpdateRaftVoterRequest(Message):
    FIELDS = (
        "cluster_id",
        "current_leader_epoch",
        "voter_id",
        "voter_directory_id",
        "listeners",
        "kraft_version_feature",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 82
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    cluster_id: str | None
    current_leader_epoch: int
    voter_id: int
    voter_directory_id: Uuid
    listeners: list[Listener]
    kraft_version_feature: KRaftVersionFeature

    def __init__(
        self,
        *,
        cluster_id: str | None = "",
        current_leader_epoch: int = 0,
        voter_id: int = 0,
        voter_directory_id: Uuid = ZERO_UUID,
        listeners: list[Listener] = UNSET,
        kraft_version_feature: KRaftVersionFeature = UNSET,
    ) -> None:
        self.cluster_id = cluster_id
        self.current_leader_epoch = current_leader_epoch
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.listeners = [] if listeners is UNSET else listeners
        self.kraft_version_feature = KRaftVersionFeature() if kraft_version_feature is UNSET else kraft_version_feature
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[UpdateRaftVoterRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += nullable_compact_string(item.cluster_id)
            buf += _pack_iiu(item.current_leader_epoch, item.voter_id, item.voter_directory_id)
            buf += compact_array_count(item.listeners)
            Listener.write_all(out, item.listeners, version)
            KRaftVersionFeature.write_all(out, (item.kraft_version_feature,), version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[UpdateRaftVoterRequest], int]:
        items: list[UpdateRaftVoterRequest] = []
        for _ in range(count):
            item = new(UpdateRaftVoterRequest)
            item.cluster_id, pos = read_nullable_compact_string(data, pos)
            item.current_leader_epoch, item.voter_id, item.voter_directory_id = _unpack_iiu(data, pos)
            pos += 24
            size, pos = read_compact_count(data, pos, 5)
            if size < 0:
                raise null_sent("listeners")
            item.listeners, pos = Listener.read_all(data, pos, version, size)
            (item.kraft_version_feature,), pos = KRaftVersionFeature.read_all(data, pos, version, 1)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[UpdateRaftVoterRequest], int]]:
        check_count(count)
        items: list[UpdateRaftVoterRequest] = []
        for _ in range(count):
            item = new(UpdateRaftVoterRequest)
            item.cluster_id, pos = read_nullable_compact_string(data, pos)
            item.current_leader_epoch, item.voter_id, item.voter_directory_id = _unpack_iiu(data, pos)
            pos += 24
            size, pos = read_compact_count(data, pos, 5)
            if size < 0:
                raise null_sent("listeners")
            item.listeners, pos = yield from struct_slices(Listener.read_all, data, pos, version, size)
            (item.kraft_version_feature,), pos = KRaftVersionFeature.read_all(data, pos, version, 1)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class CurrentLeader(Struct):
    FIELDS = ("leader_id", "leader_epoch", "host", "port")
    __slots__ = FIELDS

    leader_id: int
    leader_epoch: int
    host: str
    port: int

    def __init__(self, *, leader_id: int = -1, leader_epoch: int = -1, host: str = "", port: int = 0) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.host = host
        self.port = port
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[CurrentLeader], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ii(item.leader_id, item.leader_epoch)
            buf += compact_string(item.host)
            buf += _pack_i(item.port)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[CurrentLeader], int]:
        items: list[CurrentLeader] = []
        for _ in range(count):
            item = new(CurrentLeader)
            item.leader_id, item.leader_epoch = _unpack_ii(data, pos)
            pos += 8
            item.host, pos = read_compact_string(data, pos)
            (item.port,) = _unpack_i(data, pos)
            pos += 4
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class UpdateRaftVoterResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "current_leader")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 82
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    error_code: int
    current_leader: CurrentLeader

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        current_leader: CurrentLeader = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.current_leader = CurrentLeader() if current_leader is UNSET else current_leader
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[UpdateRaftVoterResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            tags: dict[int, bytes] = {}
            current_leader = item.current_leader
            if current_leader != CurrentLeader():
                inner = Writer()
                CurrentLeader.write_all(inner, (current_leader,), version)
                tags[0] = inner.bytes()
            buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[UpdateRaftVoterResponse], int]:
        items: list[UpdateRaftVoterResponse] = []
        for _ in range(count):
            item = new(UpdateRaftVoterResponse)
            item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.current_leader = CurrentLeader()
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                tags, pos = read_tag_count(data, pos)
                for _ in range(tags):
                    tag, pos, stop = read_tag(data, pos)
                    if tag == 0:
                        (item.current_leader,), pos = CurrentLeader.read_all(data, pos, version, 1)
                    else:
                        item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                        pos = stop
                    check_tag_end(tag, pos, stop)
            items.append(item)
        return items, pos
