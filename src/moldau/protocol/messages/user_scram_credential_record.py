# Generated from schema/metadata_records.wire by tools/generate_messages.py: do not edit.
"""UserScramCredentialRecord: a SCRAM credential was set."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.primitives import compact_bytes, compact_string, fixed, read_compact_bytes, read_compact_string
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_b, _unpack_b = fixed("b")
_pack_i, _unpack_i = fixed("i")


class UserScramCredentialRecord(Message):
    FIELDS = ("name", "mechanism", "salt", "stored_key", "server_key", "iterations")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    name: str
    mechanism: int
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __init__(
        self,
        *,
        name: str = "",
        mechanism: int = 0,
        salt: bytes = b"",
        stored_key: bytes = b"",
        server_key: bytes = b"",
        iterations: int = 0,
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.salt = salt
        self.stored_key = stored_key
        self.server_key = server_key
        self.iterations = iterations
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[UserScramCredentialRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += _pack_b(item.mechanism)
            buf += compact_bytes(item.salt)
            buf += compact_bytes(item.stored_key)
            buf += compact_bytes(item.server_key)
            buf += _pack_i(item.iterations)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[UserScramCredentialRecord], int]:
        items: list[UserScramCredentialRecord] = []
        for _ in range(count):
            item = new(UserScramCredentialRecord)
            item.name, pos = read_compact_string(data, pos)
            (item.mechanism,) = _unpack_b(data, pos)
            pos += 1
            item.salt, pos = read_compact_bytes(data, pos)
            item.stored_key, pos = read_compact_bytes(data, pos)
            item.server_key, pos = read_compact_bytes(data, pos)
            (item.iterations,) = _unpack_i(data, pos)
            pos += 4
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
