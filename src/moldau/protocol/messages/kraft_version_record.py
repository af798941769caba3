# Generated from schema/control_records.wire by tools/generate_messages.py: do not edit.
"""KRaftVersionRecord: the version of KRaft the quorum runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.primitives import fixed
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_hh, _unpack_hh = fixed("hh")


class KRaftVersionRecord(Message):
    FIELDS = ("version", "kraft_version")
    __slots__ = FIELDS

    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    version: int
    kraft_version: int

    def __init__(self, *, version: int = 0, kraft_version: int = 0) -> None:
        self.version = version
        self.kraft_version = kraft_version
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[KRaftVersionRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_hh(item.version, item.kraft_version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[KRaftVersionRecord], int]:
        items: list[KRaftVersionRecord] = []
        for _ in range(count):
            item = new(KRaftVersionRecord)
            item.version, item.kraft_version = _unpack_hh(data, pos)
            pos += 4
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
