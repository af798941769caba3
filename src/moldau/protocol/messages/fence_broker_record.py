# Generated from schema/metadata_records.wire by tools/generate_messages.py: do not edit.
"""FenceBrokerRecord: a broker was fenced; replaced by BrokerRegistrationChangeRecord."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.primitives import fixed
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_iq, _unpack_iq = fixed("iq")


class FenceBrokerRecord(Message):
    FIELDS = ("id", "epoch")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 7
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    id: int
    epoch: int

    def __init__(self, *, id: int = 0, epoch: int = 0) -> None:
        self.id = id
        self.epoch = epoch
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[FenceBrokerRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_iq(item.id, item.epoch)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[FenceBrokerRecord], int]:
        items: list[FenceBrokerRecord] = []
        for _ in range(count):
            item = new(FenceBrokerRecord)
            item.id, item.epoch = _unpack_iq(data, pos)
            pos += 12
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
