# Generated from schema/metadata_records.wire by tools/generate_messages.py: do not edit.
"""EndTransactionRecord: the records since the matching begin take effect."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer


class EndTransactionRecord(Message):
    FIELDS = ()
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 24
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    def __init__(self) -> None:
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[EndTransactionRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[EndTransactionRecord], int]:
        items: list[EndTransactionRecord] = []
        for _ in range(count):
            item = new(EndTransactionRecord)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
