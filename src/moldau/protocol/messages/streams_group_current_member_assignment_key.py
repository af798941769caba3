# Generated from schema/streams_group_records.wire by tools/generate_messages.py: do not edit.
"""StreamsGroupCurrentMemberAssignmentKey: a member of a streams group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new, no_tags
from moldau.protocol.primitives import read_string, string
from moldau.protocol.wire import Writer


class StreamsGroupCurrentMemberAssignmentKey(Message):
    FIELDS = ("group_id", "member_id")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = None

    group_id: str
    member_id: str

    def __init__(self, *, group_id: str = "", member_id: str = "") -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[StreamsGroupCurrentMemberAssignmentKey], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += string(item.group_id)
            buf += string(item.member_id)
            if item.unknown_tags:
                raise no_tags("StreamsGroupCurrentMemberAssignmentKey", version)

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[StreamsGroupCurrentMemberAssignmentKey], int]:
        items: list[StreamsGroupCurrentMemberAssignmentKey] = []
        for _ in range(count):
            item = new(StreamsGroupCurrentMemberAssignmentKey)
            item.group_id, pos = read_string(data, pos)
            item.member_id, pos = read_string(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos
