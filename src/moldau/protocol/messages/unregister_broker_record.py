# Generated from schema/metadata_records.wire by tools/generate_messages.py: do not edit.
"""UnregisterBrokerRecord: a broker was removed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.primitives import fixed
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_iq, _unpack_iq = fixed("iq")


class UnregisterBrokerRecord(Message):
    FIELDS = ("broker_id", "broker_epoch")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    broker_id: int
    broker_epoch: int

    def __init__(self, *, broker_id: int = 0, broker_epoch: int = 0) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[UnregisterBrokerRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_iq(item.broker_id, item.broker_epoch)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[UnregisterBrokerRecord], int]:
        items: list[UnregisterBrokerRecord] = []
        for _ in range(count):
            item = new(UnregisterBrokerRecord)
            item.broker_id, item.broker_epoch = _unpack_iq(data, pos)
            pos += 12
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
