# Generated from schema/consumer_group_records.wire by tools/generate_messages.py: do not edit.
"""ConsumerGroupTargetAssignmentMetadataKey: a consumer group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new, no_tags
from moldau.protocol.primitives import read_string, string
from moldau.protocol.wire import Writer


class ConsumerGroupTargetAssignmentMetadataKey(Message):
    FIELDS = ("group_id",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 6
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = None

    group_id: str

    def __init__(self, *, group_id: str = "") -> None:
        self.group_id = group_id
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ConsumerGroupTargetAssignmentMetadataKey], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += string(item.group_id)
            if item.unknown_tags:
                raise no_tags("ConsumerGroupTargetAssignmentMetadataKey", version)

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[ConsumerGroupTargetAssignmentMetadataKey], int]:
        items: list[ConsumerGroupTargetAssignmentMetadataKey] = []
        for _ in range(count):
            item = new(ConsumerGroupTargetAssignmentMetadataKey)
            item.group_id, pos = read_string(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos
