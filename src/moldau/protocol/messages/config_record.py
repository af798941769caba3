# Generated from schema/metadata_records.wire by tools/generate_messages.py: do not edit.
"""ConfigRecord: a setting was set, or removed if the value is null."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.primitives import (
    compact_string,
    fixed,
    nullable_compact_string,
    read_compact_string,
    read_nullable_compact_string,
)
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_b, _unpack_b = fixed("b")


class ConfigRecord(Message):
    FIELDS = ("resource_type", "resource_name", "name", "value")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 4
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    resource_type: int
    resource_name: str
    name: str
    value: str | None

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        name: str = "",
        value: str | None = "",
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.name = name
        self.value = value
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ConfigRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_b(item.resource_type)
            buf += compact_string(item.resource_name)
            buf += compact_string(item.name)
            buf += nullable_compact_string(item.value)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ConfigRecord], int]:
        items: list[ConfigRecord] = []
        for _ in range(count):
            item = new(ConfigRecord)
            (item.resource_type,) = _unpack_b(data, pos)
            pos += 1
            item.resource_name, pos = read_compact_string(data, pos)
            item.name, pos = read_compact_string(data, pos)
            item.value, pos = read_nullable_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
