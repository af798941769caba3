# Generated from schema/metadata_records.wire by tools/generate_messages.py: do not edit.
"""RemoveDelegationTokenRecord: a delegation token is gone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.primitives import compact_string, read_compact_string
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer


class RemoveDelegationTokenRecord(Message):
    FIELDS = ("token_id",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 26
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    token_id: str

    def __init__(self, *, token_id: str = "") -> None:
        self.token_id = token_id
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[RemoveDelegationTokenRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.token_id)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RemoveDelegationTokenRecord], int]:
        items: list[RemoveDelegationTokenRecord] = []
        for _ in range(count):
            item = new(RemoveDelegationTokenRecord)
            item.token_id, pos = read_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
