# Generated from schema/metadata_records.wire by tools/generate_messages.py: do not edit.
"""AccessControlEntryRecord: an access control entry was added."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.primitives import compact_string, fixed, read_compact_string
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_b, _unpack_b = fixed("b")
_pack_bb, _unpack_bb = fixed("bb")
_pack_ub, _unpack_ub = fixed("16sb")


class AccessControlEntryRecord(Message):
    FIELDS = (
        "id",
        "resource_type",
        "resource_name",
        "pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 18
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    id: Uuid
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

    def __init__(
        self,
        *,
        id: Uuid = ZERO_UUID,
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 0,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.id = id
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AccessControlEntryRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ub(item.id, item.resource_type)
            buf += compact_string(item.resource_name)
            buf += _pack_b(item.pattern_type)
            buf += compact_string(item.principal)
            buf += compact_string(item.host)
            buf += _pack_bb(item.operation, item.permission_type)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AccessControlEntryRecord], int]:
        items: list[AccessControlEntryRecord] = []
        for _ in range(count):
            item = new(AccessControlEntryRecord)
            item.id, item.resource_type = _unpack_ub(data, pos)
            pos += 17
            item.resource_name, pos = read_compact_string(data, pos)
            (item.pattern_type,) = _unpack_b(data, pos)
            pos += 1
            item.principal, pos = read_compact_string(data, pos)
            item.host, pos = read_compact_string(data, pos)
            item.operation, item.permission_type = _unpack_bb(data, pos)
            pos += 2
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
