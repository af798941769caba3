# Generated from schema/alter_user_scram_credentials.wire by tools/generate_messages.py: do not edit.
"""AlterUserScramCredentials: sets and removes SCRAM credentials."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, read_compact_count
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import (
    compact_bytes,
    compact_string,
    fixed,
    null_sent,
    nullable_compact_string,
    read_compact_bytes,
    read_compact_string,
    read_nullable_compact_string,
)
from moldau.protocol.slices import Slices, check_count, struct_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_b, _unpack_b = fixed("b")
_pack_bi, _unpack_bi = fixed("bi")
_pack_h, _unpack_h = fixed("h")
_pack_i, _unpack_i = fixed("i")


class ScramCredentialDeletion(Struct):
    FIELDS = ("name", "mechanism")
    __slots__ = FIELDS

    name: str
    mechanism: int

    def __init__(self, *, name: str = "", mechanism: int = 0) -> None:
        self.name = name
        self.mechanism = mechanism
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ScramCredentialDeletion], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += _pack_b(item.mechanism)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ScramCredentialDeletion], int]:
        items: list[ScramCredentialDeletion] = []
        for _ in range(count):
            item = new(ScramCredentialDeletion)
            item.name, pos = read_compact_string(data, pos)
            (item.mechanism,) = _unpack_b(data, pos)
            pos += 1
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class ScramCredentialUpsertion(Struct):
    FIELDS = ("name", "mechanism", "iterations", "salt", "salted_password")
    __slots__ = FIELDS

    name: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes

    def __init__(
        self,
        *,
        name: str = "",
        mechanism: int = 0,
        iterations: int = 0,
        salt: bytes = b"",
        salted_password: bytes = b"",
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.iterations = iterations
        self.salt = salt
        self.salted_password = salted_password
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ScramCredentialUpsertion], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += _pack_bi(item.mechanism, item.iterations)
            buf += compact_bytes(item.salt)
            buf += compact_bytes(item.salted_password)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ScramCredentialUpsertion], int]:
        items: list[ScramCredentialUpsertion] = []
        for _ in range(count):
            item = new(ScramCredentialUpsertion)
            item.name, pos = read_compact_string(data, pos)
            item.mechanism, item.iterations = _unpack_bi(data, pos)
            pos += 5
            item.salt, pos = read_compact_bytes(data, pos)
            item.salted_password, pos = read_compact_bytes(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class AlterUserScramCredentialsRequest(Message):
    FIELDS = ("deletions", "upsertions")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 51
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    deletions: list[ScramCredentialDeletion]
    upsertions: list[ScramCredentialUpsertion]

    def __init__(
        self,
        *,
        deletions: list[ScramCredentialDeletion] = UNSET,
        upsertions: list[ScramCredentialUpsertion] = UNSET,
    ) -> None:
        self.deletions = [] if deletions is UNSET else deletions
        self.upsertions = [] if upsertions is UNSET else upsertions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AlterUserScramCredentialsRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.deletions)
            ScramCredentialDeletion.write_all(out, item.deletions, version)
            buf += compact_array_count(item.upsertions)
            ScramCredentialUpsertion.write_all(out, item.upsertions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AlterUserScramCredentialsRequest], int]:
        items: list[AlterUserScramCredentialsRequest] = []
        for _ in range(count):
            item = new(AlterUserScramCredentialsRequest)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("deletions")
            item.deletions, pos = ScramCredentialDeletion.read_all(data, pos, version, size)
            size, pos = read_compact_count(data, pos, 9)
            if size < 0:
                raise null_sent("upsertions")
            item.upsertions, pos = ScramCredentialUpsertion.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[AlterUserScramCredentialsRequest], int]]:
        check_count(count)
        items: list[AlterUserScramCredentialsRequest] = []
        for _ in range(count):
            item = new(AlterUserScramCredentialsRequest)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("deletions")
            item.deletions, pos = yield from struct_slices(ScramCredentialDeletion.read_all, data, pos, version, size)
            size, pos = read_compact_count(data, pos, 9)
            if size < 0:
                raise null_sent("upsertions")
            item.upsertions, pos = yield from struct_slices(ScramCredentialUpsertion.read_all, data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[AlterUserScramCredentialsRequest], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.deletions)
            yield from written_slices(ScramCredentialDeletion.write_all, out, item.deletions, version)
            buf += compact_array_count(item.upsertions)
            yield from written_slices(ScramCredentialUpsertion.write_all, out, item.upsertions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class AlterUserScramCredentialsResult(Struct):
    FIELDS = ("user", "error_code", "error_message")
    __slots__ = FIELDS

    user: str
    error_code: int
    error_message: str | None

    def __init__(self, *, user: str = "", error_code: int = 0, error_message: str | None = "") -> None:
        self.user = user
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AlterUserScramCredentialsResult], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.user)
            buf += _pack_h(item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AlterUserScramCredentialsResult], int]:
        items: list[AlterUserScramCredentialsResult] = []
        for _ in range(count):
            item = new(AlterUserScramCredentialsResult)
            item.user, pos = read_compact_string(data, pos)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.error_message, pos = read_nullable_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class AlterUserScramCredentialsResponse(Message):
    FIELDS = ("throttle_time_ms", "results")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 51
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    results: list[AlterUserScramCredentialsResult]

    def __init__(self, *, throttle_time_ms: int = 0, results: list[AlterUserScramCredentialsResult] = UNSET) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is UNSET else results
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AlterUserScramCredentialsResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += compact_array_count(item.results)
            AlterUserScramCredentialsResult.write_all(out, item.results, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[AlterUserScramCredentialsResponse], int]:
        items: list[AlterUserScramCredentialsResponse] = []
        for _ in range(count):
            item = new(AlterUserScramCredentialsResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 5)
            if size < 0:
                raise null_sent("results")
            item.results, pos = AlterUserScramCredentialsResult.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[AlterUserScramCredentialsResponse], int]]:
        items: list[AlterUserScramCredentialsResponse] = []
        for _ in range(count):
            item = new(AlterUserScramCredentialsResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 5)
            if size < 0:
                raise null_sent("results")
            item.results, pos = yield from struct_slices(
                AlterUserScramCredentialsResult.read_all,
                data,
                pos,
                version,
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
    def write_slices(out: Writer, items: Iterable[AlterUserScramCredentialsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += compact_array_count(item.results)
            yield from written_slices(AlterUserScramCredentialsResult.write_all, out, item.results, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
