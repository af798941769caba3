# Generated from schema/describe_user_scram_credentials.wire by tools/generate_messages.py: do not edit.
"""DescribeUserScramCredentials: which SCRAM mechanisms users have credentials for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, read_compact_count
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import (
    COMPACT_NULL,
    compact_string,
    fixed,
    null_sent,
    nullable_compact_string,
    read_compact_string,
    read_nullable_compact_string,
)
from moldau.protocol.slices import Slices, check_count, struct_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_bi, _unpack_bi = fixed("bi")
_pack_h, _unpack_h = fixed("h")
_pack_ih, _unpack_ih = fixed("ih")


class UserName(Struct):
    FIELDS = ("name",)
    __slots__ = FIELDS

    name: str

    def __init__(self, *, name: str = "") -> None:
        self.name = name
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[UserName], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[UserName], int]:
        items: list[UserName] = []
        for _ in range(count):
            item = new(UserName)
            item.name, pos = read_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class DescribeUserScramCredentialsRequest(Message):
    FIELDS = ("users",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 50
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    users: list[UserName] | None

    def __init__(self, *, users: list[UserName] | None = UNSET) -> None:
        self.users = [] if users is UNSET else users
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeUserScramCredentialsRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            users = item.users
            if users is None:
                buf += COMPACT_NULL
            else:
                buf += compact_array_count(users)
                UserName.write_all(out, users, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[DescribeUserScramCredentialsRequest], int]:
        items: list[DescribeUserScramCredentialsRequest] = []
        for _ in range(count):
            item = new(DescribeUserScramCredentialsRequest)
            size, pos = read_compact_count(data, pos, 2)
            if size < 0:
                item.users = None
            else:
                item.users, pos = UserName.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[DescribeUserScramCredentialsRequest], int]]:
        check_count(count)
        items: list[DescribeUserScramCredentialsRequest] = []
        for _ in range(count):
            item = new(DescribeUserScramCredentialsRequest)
            size, pos = read_compact_count(data, pos, 2)
            if size < 0:
                item.users = None
            else:
                item.users, pos = yield from struct_slices(UserName.read_all, data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class CredentialInfo(Struct):
    FIELDS = ("mechanism", "iterations")
    __slots__ = FIELDS

    mechanism: int
    iterations: int

    def __init__(self, *, mechanism: int = 0, iterations: int = 0) -> None:
        self.mechanism = mechanism
        self.iterations = iterations
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[CredentialInfo], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_bi(item.mechanism, item.iterations)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[CredentialInfo], int]:
        items: list[CredentialInfo] = []
        for _ in range(count):
            item = new(CredentialInfo)
            item.mechanism, item.iterations = _unpack_bi(data, pos)
            pos += 5
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class DescribeUserScramCredentialsResult(Struct):
    FIELDS = ("user", "error_code", "error_message", "credential_infos")
    __slots__ = FIELDS

    user: str
    error_code: int
    error_message: str | None
    credential_infos: list[CredentialInfo]

    def __init__(
        self,
        *,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
        credential_infos: list[CredentialInfo] = UNSET,
    ) -> None:
        self.user = user
        self.error_code = error_code
        self.error_message = error_message
        self.credential_infos = [] if credential_infos is UNSET else credential_infos
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeUserScramCredentialsResult], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.user)
            buf += _pack_h(item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += compact_array_count(item.credential_infos)
            CredentialInfo.write_all(out, item.credential_infos, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[DescribeUserScramCredentialsResult], int]:
        items: list[DescribeUserScramCredentialsResult] = []
        for _ in range(count):
            item = new(DescribeUserScramCredentialsResult)
            item.user, pos = read_compact_string(data, pos)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.error_message, pos = read_nullable_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 6)
            if size < 0:
                raise null_sent("credential_infos")
            item.credential_infos, pos = CredentialInfo.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DescribeUserScramCredentialsResult], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.user)
            buf += _pack_h(item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += compact_array_count(item.credential_infos)
            yield from written_slices(CredentialInfo.write_all, out, item.credential_infos, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class DescribeUserScramCredentialsResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "error_message", "results")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 50
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    results: list[DescribeUserScramCredentialsResult]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[DescribeUserScramCredentialsResult] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results = [] if results is UNSET else results
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeUserScramCredentialsResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += compact_array_count(item.results)
            DescribeUserScramCredentialsResult.write_all(out, item.results, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[DescribeUserScramCredentialsResponse], int]:
        items: list[DescribeUserScramCredentialsResponse] = []
        for _ in range(count):
            item = new(DescribeUserScramCredentialsResponse)
            item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.error_message, pos = read_nullable_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 6)
            if size < 0:
                raise null_sent("results")
            item.results, pos = DescribeUserScramCredentialsResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DescribeUserScramCredentialsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += compact_array_count(item.results)
            yield from DescribeUserScramCredentialsResult.write_slices(out, item.results, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
