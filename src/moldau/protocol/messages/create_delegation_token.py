# Generated from schema/create_delegation_token.wire by tools/generate_messages.py: do not edit.
"""CreateDelegationToken: issues a delegation token.

Since version
   2  flexible
   3  on behalf of another owner
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import array_count, compact_array_count, read_compact_count, read_count
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field, no_tags
from moldau.protocol.primitives import (
    bytes_,
    compact_bytes,
    compact_string,
    fixed,
    null_sent,
    nullable_compact_string,
    read_bytes,
    read_compact_bytes,
    read_compact_string,
    read_nullable_compact_string,
    read_string,
    string,
)
from moldau.protocol.slices import Slices, check_count, struct_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_h, _unpack_h = fixed("h")
_pack_i, _unpack_i = fixed("i")
_pack_q, _unpack_q = fixed("q")
_pack_qqq, _unpack_qqq = fixed("qqq")


class CreatableRenewers(Struct):
    FIELDS = ("principal_type", "principal_name")
    __slots__ = FIELDS

    principal_type: str
    principal_name: str

    def __init__(self, *, principal_type: str = "", principal_name: str = "") -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[CreatableRenewers], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_string(item.principal_type)
                buf += compact_string(item.principal_name)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.principal_type)
            buf += string(item.principal_name)
            if item.unknown_tags:
                raise no_tags("CreatableRenewers", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[CreatableRenewers], int]:
        items: list[CreatableRenewers] = []
        if version >= 2:
            for _ in range(count):
                item = new(CreatableRenewers)
                item.principal_type, pos = read_compact_string(data, pos)
                item.principal_name, pos = read_compact_string(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(CreatableRenewers)
            item.principal_type, pos = read_string(data, pos)
            item.principal_name, pos = read_string(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class CreateDelegationTokenRequest(Message):
    FIELDS = ("owner_principal_type", "owner_principal_name", "renewers", "max_lifetime_ms")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 38
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    owner_principal_type: str | None
    owner_principal_name: str | None
    renewers: list[CreatableRenewers]
    max_lifetime_ms: int

    def __init__(
        self,
        *,
        owner_principal_type: str | None = "",
        owner_principal_name: str | None = "",
        renewers: list[CreatableRenewers] = UNSET,
        max_lifetime_ms: int = 0,
    ) -> None:
        self.owner_principal_type = owner_principal_type
        self.owner_principal_name = owner_principal_name
        self.renewers = [] if renewers is UNSET else renewers
        self.max_lifetime_ms = max_lifetime_ms
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[CreateDelegationTokenRequest], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                if version >= 3:
                    buf += nullable_compact_string(item.owner_principal_type)
                    buf += nullable_compact_string(item.owner_principal_name)
                else:
                    if item.owner_principal_type != "":
                        raise no_such_field("CreateDelegationTokenRequest", "owner_principal_type", version)
                    if item.owner_principal_name != "":
                        raise no_such_field("CreateDelegationTokenRequest", "owner_principal_name", version)
                buf += compact_array_count(item.renewers)
                CreatableRenewers.write_all(out, item.renewers, version)
                buf += _pack_q(item.max_lifetime_ms)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if item.owner_principal_type != "":
                raise no_such_field("CreateDelegationTokenRequest", "owner_principal_type", version)
            if item.owner_principal_name != "":
                raise no_such_field("CreateDelegationTokenRequest", "owner_principal_name", version)
            buf += array_count(item.renewers)
            CreatableRenewers.write_all(out, item.renewers, version)
            buf += _pack_q(item.max_lifetime_ms)
            if item.unknown_tags:
                raise no_tags("CreateDelegationTokenRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[CreateDelegationTokenRequest], int]:
        items: list[CreateDelegationTokenRequest] = []
        if version >= 2:
            for _ in range(count):
                item = new(CreateDelegationTokenRequest)
                if version >= 3:
                    item.owner_principal_type, pos = read_nullable_compact_string(data, pos)
                    item.owner_principal_name, pos = read_nullable_compact_string(data, pos)
                else:
                    item.owner_principal_type = ""
                    item.owner_principal_name = ""
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("renewers")
                item.renewers, pos = CreatableRenewers.read_all(data, pos, version, size)
                (item.max_lifetime_ms,) = _unpack_q(data, pos)
                pos += 8
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(CreateDelegationTokenRequest)
            item.owner_principal_type = ""
            item.owner_principal_name = ""
            size, pos = read_count(data, pos, 4)
            if size < 0:
                raise null_sent("renewers")
            item.renewers, pos = CreatableRenewers.read_all(data, pos, version, size)
            (item.max_lifetime_ms,) = _unpack_q(data, pos)
            pos += 8
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[CreateDelegationTokenRequest], int]]:
        check_count(count)
        items: list[CreateDelegationTokenRequest] = []
        if version >= 2:
            for _ in range(count):
                item = new(CreateDelegationTokenRequest)
                if version >= 3:
                    item.owner_principal_type, pos = read_nullable_compact_string(data, pos)
                    item.owner_principal_name, pos = read_nullable_compact_string(data, pos)
                else:
                    item.owner_principal_type = ""
                    item.owner_principal_name = ""
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("renewers")
                item.renewers, pos = yield from struct_slices(CreatableRenewers.read_all, data, pos, version, size)
                (item.max_lifetime_ms,) = _unpack_q(data, pos)
                pos += 8
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(CreateDelegationTokenRequest)
            item.owner_principal_type = ""
            item.owner_principal_name = ""
            size, pos = read_count(data, pos, 4)
            if size < 0:
                raise null_sent("renewers")
            item.renewers, pos = yield from struct_slices(CreatableRenewers.read_all, data, pos, version, size)
            (item.max_lifetime_ms,) = _unpack_q(data, pos)
            pos += 8
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class CreateDelegationTokenResponse(Message):
    FIELDS = (
        "error_code",
        "principal_type",
        "principal_name",
        "token_requester_principal_type",
        "token_requester_principal_name",
        "issue_timestamp_ms",
        "expiry_timestamp_ms",
        "max_timestamp_ms",
        "token_id",
        "hmac",
        "throttle_time_ms",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 38
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    error_code: int
    principal_type: str
    principal_name: str
    token_requester_principal_type: str
    token_requester_principal_name: str
    issue_timestamp_ms: int
    expiry_timestamp_ms: int
    max_timestamp_ms: int
    token_id: str
    hmac: bytes
    throttle_time_ms: int

    def __init__(
        self,
        *,
        error_code: int = 0,
        principal_type: str = "",
        principal_name: str = "",
        token_requester_principal_type: str = "",
        token_requester_principal_name: str = "",
        issue_timestamp_ms: int = 0,
        expiry_timestamp_ms: int = 0,
        max_timestamp_ms: int = 0,
        token_id: str = "",
        hmac: bytes = b"",
        throttle_time_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.token_requester_principal_type = token_requester_principal_type
        self.token_requester_principal_name = token_requester_principal_name
        self.issue_timestamp_ms = issue_timestamp_ms
        self.expiry_timestamp_ms = expiry_timestamp_ms
        self.max_timestamp_ms = max_timestamp_ms
        self.token_id = token_id
        self.hmac = hmac
        self.throttle_time_ms = throttle_time_ms
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[CreateDelegationTokenResponse], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_h(item.error_code)
                buf += compact_string(item.principal_type)
                buf += compact_string(item.principal_name)
                if version >= 3:
                    buf += compact_string(item.token_requester_principal_type)
                    buf += compact_string(item.token_requester_principal_name)
                else:
                    if item.token_requester_principal_type != "":
                        raise no_such_field("CreateDelegationTokenResponse", "token_requester_principal_type", version)
                    if item.token_requester_principal_name != "":
                        raise no_such_field("CreateDelegationTokenResponse", "token_requester_principal_name", version)
                buf += _pack_qqq(item.issue_timestamp_ms, item.expiry_timestamp_ms, item.max_timestamp_ms)
                buf += compact_string(item.token_id)
                buf += compact_bytes(item.hmac)
                buf += _pack_i(item.throttle_time_ms)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_h(item.error_code)
            buf += string(item.principal_type)
            buf += string(item.principal_name)
            if item.token_requester_principal_type != "":
                raise no_such_field("CreateDelegationTokenResponse", "token_requester_principal_type", version)
            if item.token_requester_principal_name != "":
                raise no_such_field("CreateDelegationTokenResponse", "token_requester_principal_name", version)
            buf += _pack_qqq(item.issue_timestamp_ms, item.expiry_timestamp_ms, item.max_timestamp_ms)
            buf += string(item.token_id)
            buf += bytes_(item.hmac)
            buf += _pack_i(item.throttle_time_ms)
            if item.unknown_tags:
                raise no_tags("CreateDelegationTokenResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[CreateDelegationTokenResponse], int]:
        items: list[CreateDelegationTokenResponse] = []
        if version >= 2:
            for _ in range(count):
                item = new(CreateDelegationTokenResponse)
                (item.error_code,) = _unpack_h(data, pos)
                pos += 2
                item.principal_type, pos = read_compact_string(data, pos)
                item.principal_name, pos = read_compact_string(data, pos)
                if version >= 3:
                    item.token_requester_principal_type, pos = read_compact_string(data, pos)
                    item.token_requester_principal_name, pos = read_compact_string(data, pos)
                else:
                    item.token_requester_principal_type = ""
                    item.token_requester_principal_name = ""
                item.issue_timestamp_ms, item.expiry_timestamp_ms, item.max_timestamp_ms = _unpack_qqq(data, pos)
                pos += 24
                item.token_id, pos = read_compact_string(data, pos)
                item.hmac, pos = read_compact_bytes(data, pos)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(CreateDelegationTokenResponse)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.principal_type, pos = read_string(data, pos)
            item.principal_name, pos = read_string(data, pos)
            item.token_requester_principal_type = ""
            item.token_requester_principal_name = ""
            item.issue_timestamp_ms, item.expiry_timestamp_ms, item.max_timestamp_ms = _unpack_qqq(data, pos)
            pos += 24
            item.token_id, pos = read_string(data, pos)
            item.hmac, pos = read_bytes(data, pos)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            item.unknown_tags = None
            items.append(item)
        return items, pos
