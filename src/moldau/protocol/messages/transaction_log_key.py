# Generated from schema/transaction_records.wire by tools/generate_messages.py: do not edit.
"""TransactionLogKey: a transactional id."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new, no_tags
from moldau.protocol.primitives import read_string, string
from moldau.protocol.wire import Writer


class TransactionLogKey(Message):
    FIELDS = ("transactional_id",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = None

    transactional_id: str

    def __init__(self, *, transactional_id: str = "") -> None:
        self.transactional_id = transactional_id
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TransactionLogKey], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += string(item.transactional_id)
            if item.unknown_tags:
                raise no_tags("TransactionLogKey", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TransactionLogKey], int]:
        items: list[TransactionLogKey] = []
        for _ in range(count):
            item = new(TransactionLogKey)
            item.transactional_id, pos = read_string(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos
