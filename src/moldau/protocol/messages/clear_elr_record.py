# Generated from schema/metadata_records.wire by tools/generate_messages.py: do not edit.
"""ClearElrRecord: a topic, or every topic, forgets its eligible leader replicas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.primitives import compact_string, read_compact_string
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer


class ClearElrRecord(Message):
    FIELDS = ("topic_name",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 28
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    topic_name: str

    def __init__(self, *, topic_name: str = "") -> None:
        self.topic_name = topic_name
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ClearElrRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.topic_name)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ClearElrRecord], int]:
        items: list[ClearElrRecord] = []
        for _ in range(count):
            item = new(ClearElrRecord)
            item.topic_name, pos = read_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
