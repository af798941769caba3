# Generated from schema/principal.wire by tools/generate_messages.py: do not edit.
"""DefaultPrincipalData: the principal inside an Envelope."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.primitives import compact_string, fixed, read_compact_string
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_o, _unpack_o = fixed("?")


class DefaultPrincipalData(Message):
    FIELDS = ("type", "name", "token_authenticated")
    __slots__ = FIELDS

    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    type: str
    name: str
    token_authenticated: bool

    def __init__(self, *, type: str = "", name: str = "", token_authenticated: bool = False) -> None:
        self.type = type
        self.name = name
        self.token_authenticated = token_authenticated
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DefaultPrincipalData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.type)
            buf += compact_string(item.name)
            buf += _pack_o(item.token_authenticated)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DefaultPrincipalData], int]:
        items: list[DefaultPrincipalData] = []
        for _ in range(count):
            item = new(DefaultPrincipalData)
            item.type, pos = read_compact_string(data, pos)
            item.name, pos = read_compact_string(data, pos)
            (item.token_authenticated,) = _unpack_o(data, pos)
            pos += 1
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
