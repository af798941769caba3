# Generated from schema/control_records.wire by tools/generate_messages.py: do not edit.
"""ControlRecordTypeSchema: the key of every control record: which kind it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new, no_tags
from moldau.protocol.primitives import fixed
from moldau.protocol.wire import Writer

_pack_h, _unpack_h = fixed("h")


class ControlRecordTypeSchema(Message):
    FIELDS = ("type",)
    __slots__ = FIELDS

    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = None

    type: int

    def __init__(self, *, type: int = 0) -> None:
        self.type = type
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ControlRecordTypeSchema], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_h(item.type)
            if item.unknown_tags:
                raise no_tags("ControlRecordTypeSchema", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ControlRecordTypeSchema], int]:
        items: list[ControlRecordTypeSchema] = []
        for _ in range(count):
            item = new(ControlRecordTypeSchema)
            (item.type,) = _unpack_h(data, pos)
            pos += 2
            item.unknown_tags = None
            items.append(item)
        return items, pos
