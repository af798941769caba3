# Generated from schema/metadata_records.wire by tools/generate_messages.py: do not edit.
"""BeginTransactionRecord: the records up to the matching end take effect together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.primitives import compact_string, read_nullable_compact_string
from moldau.protocol.tagged_fields import check_tag_end, keep_tag, read_tag, read_tag_count, tagged
from moldau.protocol.wire import Writer


class BeginTransactionRecord(Message):
    FIELDS = ("name",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    name: str | None

    def __init__(self, *, name: str | None = None) -> None:
        self.name = name
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[BeginTransactionRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            tags: dict[int, bytes] = {}
            name = item.name
            if name is not None:
                tags[0] = compact_string(name)
            buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[BeginTransactionRecord], int]:
        items: list[BeginTransactionRecord] = []
        for _ in range(count):
            item = new(BeginTransactionRecord)
            item.name = None
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                tags, pos = read_tag_count(data, pos)
                for _ in range(tags):
                    tag, pos, stop = read_tag(data, pos)
                    if tag == 0:
                        item.name, pos = read_nullable_compact_string(data, pos)
                    else:
                        item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                        pos = stop
                    check_tag_end(tag, pos, stop)
            items.append(item)
        return items, pos
