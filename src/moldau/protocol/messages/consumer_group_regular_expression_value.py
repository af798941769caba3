# Generated from schema/consumer_group_records.wire by tools/generate_messages.py: do not edit.
"""ConsumerGroupRegularExpressionValue: the topics it matched, and when."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_strings, read_compact_count, read_many
from moldau.protocol.message import UNSET, Message, new
from moldau.protocol.primitives import fixed, null_sent, read_compact_string
from moldau.protocol.slices import Slices, value_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_qq, _unpack_qq = fixed("qq")


class ConsumerGroupRegularExpressionValue(Message):
    FIELDS = ("topics", "version", "timestamp")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    topics: list[str]
    version: int
    timestamp: int

    def __init__(self, *, topics: list[str] = UNSET, version: int = 0, timestamp: int = 0) -> None:
        self.topics = [] if topics is UNSET else topics
        self.version = version
        self.timestamp = timestamp
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ConsumerGroupRegularExpressionValue], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_strings(item.topics)
            buf += _pack_qq(item.version, item.timestamp)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[ConsumerGroupRegularExpressionValue], int]:
        items: list[ConsumerGroupRegularExpressionValue] = []
        for _ in range(count):
            item = new(ConsumerGroupRegularExpressionValue)
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = read_many(read_compact_string, data, pos, size)
            item.version, item.timestamp = _unpack_qq(data, pos)
            pos += 16
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[ConsumerGroupRegularExpressionValue], int]]:
        items: list[ConsumerGroupRegularExpressionValue] = []
        for _ in range(count):
            item = new(ConsumerGroupRegularExpressionValue)
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from value_slices(read_compact_string, data, pos, size, bounded=False)
            item.version, item.timestamp = _unpack_qq(data, pos)
            pos += 16
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ConsumerGroupRegularExpressionValue], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_strings(item.topics)
            yield len(item.topics)
            buf += _pack_qq(item.version, item.timestamp)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
