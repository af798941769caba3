# Generated from schema/share_group_records.wire by tools/generate_messages.py: do not edit.
"""ShareGroupMemberMetadataValue: the subscription of a member."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_strings, read_compact_count, read_many
from moldau.protocol.message import UNSET, Message, new
from moldau.protocol.primitives import (
    compact_string,
    null_sent,
    nullable_compact_string,
    read_compact_string,
    read_nullable_compact_string,
)
from moldau.protocol.slices import Slices, value_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer


class ShareGroupMemberMetadataValue(Message):
    FIELDS = ("rack_id", "client_id", "client_host", "subscribed_topic_names")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]

    def __init__(
        self,
        *,
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = UNSET,
    ) -> None:
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = [] if subscribed_topic_names is UNSET else subscribed_topic_names
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ShareGroupMemberMetadataValue], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += nullable_compact_string(item.rack_id)
            buf += compact_string(item.client_id)
            buf += compact_string(item.client_host)
            buf += compact_strings(item.subscribed_topic_names)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ShareGroupMemberMetadataValue], int]:
        items: list[ShareGroupMemberMetadataValue] = []
        for _ in range(count):
            item = new(ShareGroupMemberMetadataValue)
            item.rack_id, pos = read_nullable_compact_string(data, pos)
            item.client_id, pos = read_compact_string(data, pos)
            item.client_host, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("subscribed_topic_names")
            item.subscribed_topic_names, pos = read_many(read_compact_string, data, pos, size)
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
    ) -> Slices[tuple[list[ShareGroupMemberMetadataValue], int]]:
        items: list[ShareGroupMemberMetadataValue] = []
        for _ in range(count):
            item = new(ShareGroupMemberMetadataValue)
            item.rack_id, pos = read_nullable_compact_string(data, pos)
            item.client_id, pos = read_compact_string(data, pos)
            item.client_host, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("subscribed_topic_names")
            item.subscribed_topic_names, pos = yield from value_slices(
                read_compact_string,
                data,
                pos,
                size,
                bounded=False,
            )
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ShareGroupMemberMetadataValue], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += nullable_compact_string(item.rack_id)
            buf += compact_string(item.client_id)
            buf += compact_string(item.client_host)
            buf += compact_strings(item.subscribed_topic_names)
            yield len(item.subscribed_topic_names)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
