# Generated from schema/classic_group_records.wire by tools/generate_messages.py: do not edit.
"""OffsetCommitKey: group, topic and partition an offset belongs to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new, no_tags
from moldau.protocol.primitives import fixed, read_string, string
from moldau.protocol.wire import Writer

_pack_i, _unpack_i = fixed("i")


class OffsetCommitKey(Message):
    FIELDS = ("group", "topic", "partition")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = None

    group: str
    topic: str
    partition: int

    def __init__(self, *, group: str = "", topic: str = "", partition: int = 0) -> None:
        self.group = group
        self.topic = topic
        self.partition = partition
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetCommitKey], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += string(item.group)
            buf += string(item.topic)
            buf += _pack_i(item.partition)
            if item.unknown_tags:
                raise no_tags("OffsetCommitKey", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetCommitKey], int]:
        items: list[OffsetCommitKey] = []
        for _ in range(count):
            item = new(OffsetCommitKey)
            item.group, pos = read_string(data, pos)
            item.topic, pos = read_string(data, pos)
            (item.partition,) = _unpack_i(data, pos)
            pos += 4
            item.unknown_tags = None
            items.append(item)
        return items, pos
