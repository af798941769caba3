# Generated from schema/metadata_records.wire by tools/generate_messages.py: do not edit.
"""ClientQuotaRecord: a quota was set or removed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, read_compact_count
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import (
    compact_string,
    fixed,
    null_sent,
    nullable_compact_string,
    read_compact_string,
    read_nullable_compact_string,
)
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_do, _unpack_do = fixed("d?")


class EntityData(Struct):
    FIELDS = ("entity_type", "entity_name")
    __slots__ = FIELDS

    entity_type: str
    entity_name: str | None

    def __init__(self, *, entity_type: str = "", entity_name: str | None = "") -> None:
        self.entity_type = entity_type
        self.entity_name = entity_name
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[EntityData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.entity_type)
            buf += nullable_compact_string(item.entity_name)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[EntityData], int]:
        items: list[EntityData] = []
        for _ in range(count):
            item = new(EntityData)
            item.entity_type, pos = read_compact_string(data, pos)
            item.entity_name, pos = read_nullable_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class ClientQuotaRecord(Message):
    FIELDS = ("entity", "key", "value", "remove")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    entity: list[EntityData]
    key: str
    value: float
    remove: bool

    def __init__(
        self,
        *,
        entity: list[EntityData] = UNSET,
        key: str = "",
        value: float = 0.0,
        remove: bool = False,
    ) -> None:
        self.entity = [] if entity is UNSET else entity
        self.key = key
        self.value = value
        self.remove = remove
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ClientQuotaRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.entity)
            EntityData.write_all(out, item.entity, version)
            buf += compact_string(item.key)
            buf += _pack_do(item.value, item.remove)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ClientQuotaRecord], int]:
        items: list[ClientQuotaRecord] = []
        for _ in range(count):
            item = new(ClientQuotaRecord)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("entity")
            item.entity, pos = EntityData.read_all(data, pos, version, size)
            item.key, pos = read_compact_string(data, pos)
            item.value, item.remove = _unpack_do(data, pos)
            pos += 9
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
