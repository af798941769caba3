# Generated from schema/control_records.wire by tools/generate_messages.py: do not edit.
"""EndTxnMarker: commit or abort marker at the end of a transaction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new, no_tags
from moldau.protocol.primitives import fixed
from moldau.protocol.wire import Writer

_pack_i, _unpack_i = fixed("i")


class EndTxnMarker(Message):
    FIELDS = ("coordinator_epoch",)
    __slots__ = FIELDS

    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = None

    coordinator_epoch: int

    def __init__(self, *, coordinator_epoch: int = 0) -> None:
        self.coordinator_epoch = coordinator_epoch
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[EndTxnMarker], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.coordinator_epoch)
            if item.unknown_tags:
                raise no_tags("EndTxnMarker", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[EndTxnMarker], int]:
        items: list[EndTxnMarker] = []
        for _ in range(count):
            item = new(EndTxnMarker)
            (item.coordinator_epoch,) = _unpack_i(data, pos)
            pos += 4
            item.unknown_tags = None
            items.append(item)
        return items, pos
