# Generated from schema/classic_group_records.wire by tools/generate_messages.py: do not edit.
"""GroupMetadataKey: a classic group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new, no_tags
from moldau.protocol.primitives import read_string, string
from moldau.protocol.wire import Writer


class GroupMetadataKey(Message):
    FIELDS = ("group",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = None

    group: str

    def __init__(self, *, group: str = "") -> None:
        self.group = group
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[GroupMetadataKey], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += string(item.group)
            if item.unknown_tags:
                raise no_tags("GroupMetadataKey", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[GroupMetadataKey], int]:
        items: list[GroupMetadataKey] = []
        for _ in range(count):
            item = new(GroupMetadataKey)
            item.group, pos = read_string(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos
