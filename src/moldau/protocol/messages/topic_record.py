# Generated from schema/metadata_records.wire by tools/generate_messages.py: do not edit.
"""TopicRecord: a topic exists under this id."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.primitives import compact_string, fixed, read_compact_string
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_u, _unpack_u = fixed("16s")


class TopicRecord(Message):
    FIELDS = ("name", "topic_id")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    name: str
    topic_id: Uuid

    def __init__(self, *, name: str = "", topic_id: Uuid = ZERO_UUID) -> None:
        self.name = name
        self.topic_id = topic_id
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TopicRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += _pack_u(item.topic_id)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TopicRecord], int]:
        items: list[TopicRecord] = []
        for _ in range(count):
            item = new(TopicRecord)
            item.name, pos = read_compact_string(data, pos)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
