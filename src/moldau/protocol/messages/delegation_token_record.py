# Generated from schema/metadata_records.wire by tools/generate_messages.py: do not edit.
"""DelegationTokenRecord: a delegation token was issued or renewed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_strings, read_compact_count, read_many
from moldau.protocol.message import UNSET, Message, new
from moldau.protocol.primitives import compact_string, fixed, null_sent, read_compact_string
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_qqq, _unpack_qqq = fixed("qqq")


class DelegationTokenRecord(Message):
    FIELDS = ("owner", "requester", "renewers", "issue_timestamp", "max_timestamp", "expiration_timestamp", "token_id")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    owner: str
    requester: str
    renewers: list[str]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int
    token_id: str

    def __init__(
        self,
        *,
        owner: str = "",
        requester: str = "",
        renewers: list[str] = UNSET,
        issue_timestamp: int = 0,
        max_timestamp: int = 0,
        expiration_timestamp: int = 0,
        token_id: str = "",
    ) -> None:
        self.owner = owner
        self.requester = requester
        self.renewers = [] if renewers is UNSET else renewers
        self.issue_timestamp = issue_timestamp
        self.max_timestamp = max_timestamp
        self.expiration_timestamp = expiration_timestamp
        self.token_id = token_id
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DelegationTokenRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.owner)
            buf += compact_string(item.requester)
            buf += compact_strings(item.renewers)
            buf += _pack_qqq(item.issue_timestamp, item.max_timestamp, item.expiration_timestamp)
            buf += compact_string(item.token_id)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DelegationTokenRecord], int]:
        items: list[DelegationTokenRecord] = []
        for _ in range(count):
            item = new(DelegationTokenRecord)
            item.owner, pos = read_compact_string(data, pos)
            item.requester, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("renewers")
            item.renewers, pos = read_many(read_compact_string, data, pos, size)
            item.issue_timestamp, item.max_timestamp, item.expiration_timestamp = _unpack_qqq(data, pos)
            pos += 24
            item.token_id, pos = read_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
