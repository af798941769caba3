# Generated from schema/metadata_records.wire by tools/generate_messages.py: do not edit.
"""RemoveAccessControlEntryRecord: an access control entry was removed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.primitives import fixed
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_u, _unpack_u = fixed("16s")


class RemoveAccessControlEntryRecord(Message):
    FIELDS = ("id",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    id: Uuid

    def __init__(self, *, id: Uuid = ZERO_UUID) -> None:
        self.id = id
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[RemoveAccessControlEntryRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.id)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RemoveAccessControlEntryRecord], int]:
        items: list[RemoveAccessControlEntryRecord] = []
        for _ in range(count):
            item = new(RemoveAccessControlEntryRecord)
            (item.id,) = _unpack_u(data, pos)
            pos += 16
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
