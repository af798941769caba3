# Generated from schema/control_records.wire by tools/generate_messages.py: do not edit.
"""SnapshotHeaderRecord: the first record of a snapshot."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.primitives import fixed
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_hq, _unpack_hq = fixed("hq")


class SnapshotHeaderRecord(Message):
    FIELDS = ("version", "last_contained_log_timestamp")
    __slots__ = FIELDS

    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    version: int
    last_contained_log_timestamp: int

    def __init__(self, *, version: int = 0, last_contained_log_timestamp: int = 0) -> None:
        self.version = version
        self.last_contained_log_timestamp = last_contained_log_timestamp
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[SnapshotHeaderRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_hq(item.version, item.last_contained_log_timestamp)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[SnapshotHeaderRecord], int]:
        items: list[SnapshotHeaderRecord] = []
        for _ in range(count):
            item = new(SnapshotHeaderRecord)
            item.version, item.last_contained_log_timestamp = _unpack_hq(data, pos)
            pos += 10
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
