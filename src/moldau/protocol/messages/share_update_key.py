# Generated from schema/share_state_records.wire by tools/generate_messages.py: do not edit.
"""ShareUpdateKey: a share partition."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new, no_tags
from moldau.protocol.primitives import fixed, read_string, string
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_ui, _unpack_ui = fixed("16si")


class ShareUpdateKey(Message):
    FIELDS = ("group_id", "topic_id", "partition")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = None

    group_id: str
    topic_id: Uuid
    partition: int

    def __init__(self, *, group_id: str = "", topic_id: Uuid = ZERO_UUID, partition: int = 0) -> None:
        self.group_id = group_id
        self.topic_id = topic_id
        self.partition = partition
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ShareUpdateKey], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += string(item.group_id)
            buf += _pack_ui(item.topic_id, item.partition)
            if item.unknown_tags:
                raise no_tags("ShareUpdateKey", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ShareUpdateKey], int]:
        items: list[ShareUpdateKey] = []
        for _ in range(count):
            item = new(ShareUpdateKey)
            item.group_id, pos = read_string(data, pos)
            item.topic_id, item.partition = _unpack_ui(data, pos)
            pos += 20
            item.unknown_tags = None
            items.append(item)
        return items, pos
