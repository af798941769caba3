# Generated from schema/control_records.wire by tools/generate_messages.py: do not edit.
"""VotersRecord: the voters of the quorum, with ids and endpoints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, read_compact_count
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import compact_string, fixed, null_sent, read_compact_string
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_H, _unpack_H = fixed("H")
_pack_h, _unpack_h = fixed("h")
_pack_hh, _unpack_hh = fixed("hh")
_pack_iu, _unpack_iu = fixed("i16s")


class Endpoint(Struct):
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
    def write_all(out: Writer, items: Iterable[Endpoint], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += compact_string(item.host)
            buf += _pack_H(item.port)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[Endpoint], int]:
        items: list[Endpoint] = []
        for _ in range(count):
            item = new(Endpoint)
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


class Voter(Struct):
    FIELDS = ("voter_id", "voter_directory_id", "endpoints", "kraft_version_feature")
    __slots__ = FIELDS

    voter_id: int
    voter_directory_id: Uuid
    endpoints: list[Endpoint]
    kraft_version_feature: KRaftVersionFeature

    def __init__(
        self,
        *,
        voter_id: int = 0,
        voter_directory_id: Uuid = ZERO_UUID,
        endpoints: list[Endpoint] = UNSET,
        kraft_version_feature: KRaftVersionFeature = UNSET,
    ) -> None:
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.endpoints = [] if endpoints is UNSET else endpoints
        self.kraft_version_feature = KRaftVersionFeature() if kraft_version_feature is UNSET else kraft_version_feature
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[Voter], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_iu(item.voter_id, item.voter_directory_id)
            buf += compact_array_count(item.endpoints)
            Endpoint.write_all(out, item.endpoints, version)
            KRaftVersionFeature.write_all(out, (item.kraft_version_feature,), version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[Voter], int]:
        items: list[Voter] = []
        for _ in range(count):
            item = new(Voter)
            item.voter_id, item.voter_directory_id = _unpack_iu(data, pos)
            pos += 20
            size, pos = read_compact_count(data, pos, 5)
            if size < 0:
                raise null_sent("endpoints")
            item.endpoints, pos = Endpoint.read_all(data, pos, version, size)
            (item.kraft_version_feature,), pos = KRaftVersionFeature.read_all(data, pos, version, 1)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class VotersRecord(Message):
    FIELDS = ("version", "voters")
    __slots__ = FIELDS

    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    version: int
    voters: list[Voter]

    def __init__(self, *, version: int = 0, voters: list[Voter] = UNSET) -> None:
        self.version = version
        self.voters = [] if voters is UNSET else voters
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[VotersRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_h(item.version)
            buf += compact_array_count(item.voters)
            Voter.write_all(out, item.voters, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[VotersRecord], int]:
        items: list[VotersRecord] = []
        for _ in range(count):
            item = new(VotersRecord)
            (item.version,) = _unpack_h(data, pos)
            pos += 2
            size, pos = read_compact_count(data, pos, 27)
            if size < 0:
                raise null_sent("voters")
            item.voters, pos = Voter.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
