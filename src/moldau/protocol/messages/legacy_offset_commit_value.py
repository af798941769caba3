# Generated from schema/classic_group_records.wire by tools/generate_messages.py: do not edit.
"""LegacyOffsetCommitValue: an offset, in the oldest form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new, no_tags
from moldau.protocol.primitives import fixed, read_string, string
from moldau.protocol.wire import Writer

_pack_q, _unpack_q = fixed("q")


class LegacyOffsetCommitValue(Message):
    FIELDS = ("offset", "metadata", "commit_timestamp")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = None

    offset: int
    metadata: str
    commit_timestamp: int

    def __init__(self, *, offset: int = 0, metadata: str = "", commit_timestamp: int = 0) -> None:
        self.offset = offset
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[LegacyOffsetCommitValue], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_q(item.offset)
            buf += string(item.metadata)
            buf += _pack_q(item.commit_timestamp)
            if item.unknown_tags:
                raise no_tags("LegacyOffsetCommitValue", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[LegacyOffsetCommitValue], int]:
        items: list[LegacyOffsetCommitValue] = []
        for _ in range(count):
            item = new(LegacyOffsetCommitValue)
            (item.offset,) = _unpack_q(data, pos)
            pos += 8
            item.metadata, pos = read_string(data, pos)
            (item.commit_timestamp,) = _unpack_q(data, pos)
            pos += 8
            item.unknown_tags = None
            items.append(item)
        return items, pos
