# Generated from schema/sasl_handshake.wire by tools/generate_messages.py: do not edit.
"""SaslHandshake: chooses the SASL mechanism.

Since version
   1  the tokens that follow are wrapped in SaslAuthenticate
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import read_count, read_many, strings
from moldau.protocol.message import UNSET, Message, new, no_tags
from moldau.protocol.primitives import fixed, null_sent, read_string, string
from moldau.protocol.slices import Slices
from moldau.protocol.wire import Writer

_pack_h, _unpack_h = fixed("h")


class SaslHandshakeRequest(Message):
    FIELDS = ("mechanism",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 17
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = None

    mechanism: str

    def __init__(self, *, mechanism: str = "") -> None:
        self.mechanism = mechanism
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[SaslHandshakeRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += string(item.mechanism)
            if item.unknown_tags:
                raise no_tags("SaslHandshakeRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[SaslHandshakeRequest], int]:
        items: list[SaslHandshakeRequest] = []
        for _ in range(count):
            item = new(SaslHandshakeRequest)
            item.mechanism, pos = read_string(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class SaslHandshakeResponse(Message):
    FIELDS = ("error_code", "mechanisms")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 17
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = None

    error_code: int
    mechanisms: list[str]

    def __init__(self, *, error_code: int = 0, mechanisms: list[str] = UNSET) -> None:
        self.error_code = error_code
        self.mechanisms = [] if mechanisms is UNSET else mechanisms
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[SaslHandshakeResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_h(item.error_code)
            buf += strings(item.mechanisms)
            if item.unknown_tags:
                raise no_tags("SaslHandshakeResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[SaslHandshakeResponse], int]:
        items: list[SaslHandshakeResponse] = []
        for _ in range(count):
            item = new(SaslHandshakeResponse)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            size, pos = read_count(data, pos, 2)
            if size < 0:
                raise null_sent("mechanisms")
            item.mechanisms, pos = read_many(read_string, data, pos, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[SaslHandshakeResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_h(item.error_code)
            buf += strings(item.mechanisms)
            yield len(item.mechanisms)
            if item.unknown_tags:
                raise no_tags("SaslHandshakeResponse", version)
            yield 1
