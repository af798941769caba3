# Generated from schema/metadata_records.wire by tools/generate_messages.py: do not edit.
"""FeatureLevelRecord: a feature has this level from here on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.primitives import compact_string, fixed, read_compact_string
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_h, _unpack_h = fixed("h")


class FeatureLevelRecord(Message):
    FIELDS = ("name", "feature_level")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    name: str
    feature_level: int

    def __init__(self, *, name: str = "", feature_level: int = 0) -> None:
        self.name = name
        self.feature_level = feature_level
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[FeatureLevelRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += _pack_h(item.feature_level)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[FeatureLevelRecord], int]:
        items: list[FeatureLevelRecord] = []
        for _ in range(count):
            item = new(FeatureLevelRecord)
            item.name, pos = read_compact_string(data, pos)
            (item.feature_level,) = _unpack_h(data, pos)
            pos += 2
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
