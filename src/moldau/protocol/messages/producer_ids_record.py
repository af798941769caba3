# Generated from schema/metadata_records.wire by tools/generate_messages.py: do not edit.
"""ProducerIdsRecord: where the next block of producer ids begins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.primitives import fixed
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_iqq, _unpack_iqq = fixed("iqq")


class ProducerIdsRecord(Message):
    FIELDS = ("broker_id", "broker_epoch", "next_producer_id")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    broker_id: int
    broker_epoch: int
    next_producer_id: int

    def __init__(self, *, broker_id: int = 0, broker_epoch: int = -1, next_producer_id: int = 0) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.next_producer_id = next_producer_id
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ProducerIdsRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_iqq(item.broker_id, item.broker_epoch, item.next_producer_id)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ProducerIdsRecord], int]:
        items: list[ProducerIdsRecord] = []
        for _ in range(count):
            item = new(ProducerIdsRecord)
            item.broker_id, item.broker_epoch, item.next_producer_id = _unpack_iqq(data, pos)
            pos += 20
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
