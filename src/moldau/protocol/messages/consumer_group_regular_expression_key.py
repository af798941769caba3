# Generated from schema/consumer_group_records.wire by tools/generate_messages.py: do not edit.
"""ConsumerGroupRegularExpressionKey: a regular expression that members of a group subscribe to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new, no_tags
from moldau.protocol.primitives import read_string, string
from moldau.protocol.wire import Writer


class ConsumerGroupRegularExpressionKey(Message):
    FIELDS = ("group_id", "regular_expression")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = None

    group_id: str
    regular_expression: str

    def __init__(self, *, group_id: str = "", regular_expression: str = "") -> None:
        self.group_id = group_id
        self.regular_expression = regular_expression
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ConsumerGroupRegularExpressionKey], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += string(item.group_id)
            buf += string(item.regular_expression)
            if item.unknown_tags:
                raise no_tags("ConsumerGroupRegularExpressionKey", version)

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[ConsumerGroupRegularExpressionKey], int]:
        items: list[ConsumerGroupRegularExpressionKey] = []
        for _ in range(count):
            item = new(ConsumerGroupRegularExpressionKey)
            item.group_id, pos = read_string(data, pos)
            item.regular_expression, pos = read_string(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos
