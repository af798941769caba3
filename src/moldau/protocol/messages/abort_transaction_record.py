# Generated from schema/metadata_records.wire by tools/generate_messages.py: do not edit.
"""AbortTransactionRecord: the records since the matching begin take no effect."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.primitives import compact_string, read_nullable_compact_string
from moldau.protocol.tagged_fields import check_tag_end, keep_tag, read_tag, read_tag_count, tagged
from moldau.protocol.wire import Writer


class AbortTransactionRecord(Message):
    FIELDS = ("reason",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 25
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    reason: str | None

    def __init__(self, *, reason: str | None = None) -> None:
        self.reason = reason
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AbortTransactionRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            tags: dict[int, bytes] = {}
            reason = item.reason
            if reason is not None:
                tags[0] = compact_string(reason)
            buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AbortTransactionRecord], int]:
        items: list[AbortTransactionRecord] = []
        for _ in range(count):
            item = new(AbortTransactionRecord)
            item.reason = None
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                tags, pos = read_tag_count(data, pos)
                for _ in range(tags):
                    tag, pos, stop = read_tag(data, pos)
                    if tag == 0:
                        item.reason, pos = read_nullable_compact_string(data, pos)
                    else:
                        item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                        pos = stop
                    check_tag_end(tag, pos, stop)
            items.append(item)
        return items, pos
