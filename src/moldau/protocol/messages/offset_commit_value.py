# Generated from schema/classic_group_records.wire by tools/generate_messages.py: do not edit.
"""OffsetCommitValue: the offset a group has consumed up to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new, no_tags
from moldau.protocol.primitives import compact_string, fixed, read_compact_string, read_string, string
from moldau.protocol.tagged_fields import check_tag_end, keep_tag, read_tag, read_tag_count, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_q, _unpack_q = fixed("q")
_pack_qi, _unpack_qi = fixed("qi")
_pack_qq, _unpack_qq = fixed("qq")
_pack_u, _unpack_u = fixed("16s")


class OffsetCommitValue(Message):
    FIELDS = ("offset", "leader_epoch", "metadata", "commit_timestamp", "expire_timestamp", "topic_id")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int | None] = 4

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int
    expire_timestamp: int
    topic_id: Uuid

    def __init__(
        self,
        *,
        offset: int = 0,
        leader_epoch: int = -1,
        metadata: str = "",
        commit_timestamp: int = 0,
        expire_timestamp: int = -1,
        topic_id: Uuid = ZERO_UUID,
    ) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp
        self.expire_timestamp = expire_timestamp
        self.topic_id = topic_id
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[OffsetCommitValue], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += _pack_qi(item.offset, item.leader_epoch)
                buf += compact_string(item.metadata)
                buf += _pack_q(item.commit_timestamp)
                tags: dict[int, bytes] = {}
                topic_id = item.topic_id
                if topic_id != ZERO_UUID:
                    tags[0] = _pack_u(topic_id)
                buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"
            return
        for item in items:
            if version >= 3:
                buf += _pack_qi(item.offset, item.leader_epoch)
            else:
                buf += _pack_q(item.offset)
            buf += string(item.metadata)
            if version >= 2:
                buf += _pack_q(item.commit_timestamp)
            elif version >= 1:
                buf += _pack_qq(item.commit_timestamp, item.expire_timestamp)
            else:
                buf += _pack_q(item.commit_timestamp)
            if item.unknown_tags:
                raise no_tags("OffsetCommitValue", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[OffsetCommitValue], int]:
        items: list[OffsetCommitValue] = []
        if version >= 4:
            for _ in range(count):
                item = new(OffsetCommitValue)
                item.offset, item.leader_epoch = _unpack_qi(data, pos)
                pos += 12
                item.metadata, pos = read_compact_string(data, pos)
                (item.commit_timestamp,) = _unpack_q(data, pos)
                pos += 8
                item.expire_timestamp = -1
                item.topic_id = ZERO_UUID
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    tags, pos = read_tag_count(data, pos)
                    for _ in range(tags):
                        tag, pos, stop = read_tag(data, pos)
                        if tag == 0:
                            (item.topic_id,) = _unpack_u(data, pos)
                            pos += 16
                        else:
                            item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                            pos = stop
                        check_tag_end(tag, pos, stop)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(OffsetCommitValue)
            if version >= 3:
                item.offset, item.leader_epoch = _unpack_qi(data, pos)
                pos += 12
            else:
                (item.offset,) = _unpack_q(data, pos)
                pos += 8
                item.leader_epoch = -1
            item.metadata, pos = read_string(data, pos)
            if version >= 2:
                (item.commit_timestamp,) = _unpack_q(data, pos)
                pos += 8
                item.expire_timestamp = -1
            elif version >= 1:
                item.commit_timestamp, item.expire_timestamp = _unpack_qq(data, pos)
                pos += 16
            else:
                (item.commit_timestamp,) = _unpack_q(data, pos)
                pos += 8
                item.expire_timestamp = -1
            item.topic_id = ZERO_UUID
            item.unknown_tags = None
            items.append(item)
        return items, pos
