# Generated from schema/metadata_records.wire by tools/generate_messages.py: do not edit.
"""RemoveUserScramCredentialRecord: a SCRAM credential was removed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.primitives import compact_string, fixed, read_compact_string
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_b, _unpack_b = fixed("b")


class RemoveUserScramCredentialRecord(Message):
    FIELDS = ("name", "mechanism")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    name: str
    mechanism: int

    def __init__(self, *, name: str = "", mechanism: int = 0) -> None:
        self.name = name
        self.mechanism = mechanism
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[RemoveUserScramCredentialRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += _pack_b(item.mechanism)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[RemoveUserScramCredentialRecord], int]:
        items: list[RemoveUserScramCredentialRecord] = []
        for _ in range(count):
            item = new(RemoveUserScramCredentialRecord)
            item.name, pos = read_compact_string(data, pos)
            (item.mechanism,) = _unpack_b(data, pos)
            pos += 1
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
