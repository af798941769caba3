# Generated from schema/control_records.wire by tools/generate_messages.py: do not edit.
"""SnapshotFooterRecord: the last record of a snapshot; without it the snapshot is not whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.primitives import fixed
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_h, _unpack_h = fixed("h")


class SnapshotFooterRecord(Message):
    FIELDS = ("version",)
    __slots__ = FIELDS

    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    version: int

    def __init__(self, *, version: int = 0) -> None:
        self.version = version
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[SnapshotFooterRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_h(item.version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[SnapshotFooterRecord], int]:
        items: list[SnapshotFooterRecord] = []
        for _ in range(count):
            item = new(SnapshotFooterRecord)
            (item.version,) = _unpack_h(data, pos)
            pos += 2
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
