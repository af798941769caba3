# Generated from schema/metadata_records.wire by tools/generate_messages.py: do not edit.
"""ZkMigrationStateRecord: state of the migration from ZooKeeper."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.primitives import fixed
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_b, _unpack_b = fixed("b")


class ZkMigrationStateRecord(Message):
    FIELDS = ("zk_migration_state",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    zk_migration_state: int

    def __init__(self, *, zk_migration_state: int = 0) -> None:
        self.zk_migration_state = zk_migration_state
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ZkMigrationStateRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_b(item.zk_migration_state)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ZkMigrationStateRecord], int]:
        items: list[ZkMigrationStateRecord] = []
        for _ in range(count):
            item = new(ZkMigrationStateRecord)
            (item.zk_migration_state,) = _unpack_b(data, pos)
            pos += 1
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
