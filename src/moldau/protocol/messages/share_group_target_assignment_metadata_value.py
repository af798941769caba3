# Generated from schema/share_group_records.wire by tools/generate_messages.py: do not edit.
"""ShareGroupTargetAssignmentMetadataValue: the epoch the target assignment was computed at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.primitives import fixed
from moldau.protocol.tagged_fields import check_tag_end, keep_tag, read_tag, read_tag_count, tagged
from moldau.protocol.wire import Writer

_pack_i, _unpack_i = fixed("i")
_pack_q, _unpack_q = fixed("q")


class ShareGroupTargetAssignmentMetadataValue(Message):
    FIELDS = ("assignment_epoch", "assignment_timestamp")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    assignment_epoch: int
    assignment_timestamp: int

    def __init__(self, *, assignment_epoch: int = 0, assignment_timestamp: int = 0) -> None:
        self.assignment_epoch = assignment_epoch
        self.assignment_timestamp = assignment_timestamp
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ShareGroupTargetAssignmentMetadataValue], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.assignment_epoch)
            tags: dict[int, bytes] = {}
            assignment_timestamp = item.assignment_timestamp
            if assignment_timestamp != 0:
                tags[0] = _pack_q(assignment_timestamp)
            buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[ShareGroupTargetAssignmentMetadataValue], int]:
        items: list[ShareGroupTargetAssignmentMetadataValue] = []
        for _ in range(count):
            item = new(ShareGroupTargetAssignmentMetadataValue)
            (item.assignment_epoch,) = _unpack_i(data, pos)
            pos += 4
            item.assignment_timestamp = 0
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                tags, pos = read_tag_count(data, pos)
                for _ in range(tags):
                    tag, pos, stop = read_tag(data, pos)
                    if tag == 0:
                        (item.assignment_timestamp,) = _unpack_q(data, pos)
                        pos += 8
                    else:
                        item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                        pos = stop
                    check_tag_end(tag, pos, stop)
            items.append(item)
        return items, pos
