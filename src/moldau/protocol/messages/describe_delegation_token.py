# Generated from schema/describe_delegation_token.wire by tools/generate_messages.py: do not edit.
"""DescribeDelegationToken: the delegation tokens of owners.

Since version
   2  flexible
   3  who requested a token
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import array_count, compact_array_count, read_compact_count, read_count
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field, no_tags
from moldau.protocol.primitives import (
    COMPACT_NULL,
    NULL,
    bytes_,
    compact_bytes,
    compact_string,
    fixed,
    null_sent,
    read_bytes,
    read_compact_bytes,
    read_compact_string,
    read_string,
    string,
)
from moldau.protocol.slices import Slices, check_count, struct_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_h, _unpack_h = fixed("h")
_pack_i, _unpack_i = fixed("i")
_pack_qqq, _unpack_qqq = fixed("qqq")


class DescribeDelegationTokenOwner(Struct):
    FIELDS = ("principal_type", "principal_name")
    __slots__ = FIELDS

    principal_type: str
    principal_name: str

    def __init__(self, *, principal_type: str = "", principal_name: str = "") -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeDelegationTokenOwner], version: int) -> None:
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
                raise no_tags("DescribeDelegationTokenOwner", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeDelegationTokenOwner], int]:
        items: list[DescribeDelegationTokenOwner] = []
        if version >= 2:
            for _ in range(count):
                item = new(DescribeDelegationTokenOwner)
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
            item = new(DescribeDelegationTokenOwner)
            item.principal_type, pos = read_string(data, pos)
            item.principal_name, pos = read_string(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class DescribeDelegationTokenRequest(Message):
    FIELDS = ("owners",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 41
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    owners: list[DescribeDelegationTokenOwner] | None

    def __init__(self, *, owners: list[DescribeDelegationTokenOwner] | None = UNSET) -> None:
        self.owners = [] if owners is UNSET else owners
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeDelegationTokenRequest], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                owners = item.owners
                if owners is None:
                    buf += COMPACT_NULL
                else:
                    buf += compact_array_count(owners)
                    DescribeDelegationTokenOwner.write_all(out, owners, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            owners = item.owners
            if owners is None:
                buf += NULL
            else:
                buf += array_count(owners)
                DescribeDelegationTokenOwner.write_all(out, owners, version)
            if item.unknown_tags:
                raise no_tags("DescribeDelegationTokenRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeDelegationTokenRequest], int]:
        items: list[DescribeDelegationTokenRequest] = []
        if version >= 2:
            for _ in range(count):
                item = new(DescribeDelegationTokenRequest)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    item.owners = None
                else:
                    item.owners, pos = DescribeDelegationTokenOwner.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DescribeDelegationTokenRequest)
            size, pos = read_count(data, pos, 4)
            if size < 0:
                item.owners = None
            else:
                item.owners, pos = DescribeDelegationTokenOwner.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[DescribeDelegationTokenRequest], int]]:
        check_count(count)
        items: list[DescribeDelegationTokenRequest] = []
        if version >= 2:
            for _ in range(count):
                item = new(DescribeDelegationTokenRequest)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    item.owners = None
                else:
                    item.owners, pos = yield from struct_slices(
                        DescribeDelegationTokenOwner.read_all,
                        data,
                        pos,
                        version,
                        size,
                    )
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(DescribeDelegationTokenRequest)
            size, pos = read_count(data, pos, 4)
            if size < 0:
                item.owners = None
            else:
                item.owners, pos = yield from struct_slices(
                    DescribeDelegationTokenOwner.read_all,
                    data,
                    pos,
                    version,
                    size,
                )
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class DescribedDelegationTokenRenewer(Struct):
    FIELDS = ("principal_type", "principal_name")
    __slots__ = FIELDS

    principal_type: str
    principal_name: str

    def __init__(self, *, principal_type: str = "", principal_name: str = "") -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribedDelegationTokenRenewer], version: int) -> None:
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
                raise no_tags("DescribedDelegationTokenRenewer", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribedDelegationTokenRenewer], int]:
        items: list[DescribedDelegationTokenRenewer] = []
        if version >= 2:
            for _ in range(count):
                item = new(DescribedDelegationTokenRenewer)
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
            item = new(DescribedDelegationTokenRenewer)
            item.principal_type, pos = read_string(data, pos)
            item.principal_name, pos = read_string(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class DescribedDelegationToken(Struct):
    FIELDS = (
        "principal_type",
        "principal_name",
        "token_requester_principal_type",
        "token_requester_principal_name",
        "issue_timestamp",
        "expiry_timestamp",
        "max_timestamp",
        "token_id",
        "hmac",
        "renewers",
    )
    __slots__ = FIELDS

    principal_type: str
    principal_name: str
    token_requester_principal_type: str
    token_requester_principal_name: str
    issue_timestamp: int
    expiry_timestamp: int
    max_timestamp: int
    token_id: str
    hmac: bytes
    renewers: list[DescribedDelegationTokenRenewer]

    def __init__(
        self,
        *,
        principal_type: str = "",
        principal_name: str = "",
        token_requester_principal_type: str = "",
        token_requester_principal_name: str = "",
        issue_timestamp: int = 0,
        expiry_timestamp: int = 0,
        max_timestamp: int = 0,
        token_id: str = "",
        hmac: bytes = b"",
        renewers: list[DescribedDelegationTokenRenewer] = UNSET,
    ) -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.token_requester_principal_type = token_requester_principal_type
        self.token_requester_principal_name = token_requester_principal_name
        self.issue_timestamp = issue_timestamp
        self.expiry_timestamp = expiry_timestamp
        self.max_timestamp = max_timestamp
        self.token_id = token_id
        self.hmac = hmac
        self.renewers = [] if renewers is UNSET else renewers
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribedDelegationToken], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_string(item.principal_type)
                buf += compact_string(item.principal_name)
                if version >= 3:
                    buf += compact_string(item.token_requester_principal_type)
                    buf += compact_string(item.token_requester_principal_name)
                else:
                    if item.token_requester_principal_type != "":
                        raise no_such_field("DescribedDelegationToken", "token_requester_principal_type", version)
                    if item.token_requester_principal_name != "":
                        raise no_such_field("DescribedDelegationToken", "token_requester_principal_name", version)
                buf += _pack_qqq(item.issue_timestamp, item.expiry_timestamp, item.max_timestamp)
                buf += compact_string(item.token_id)
                buf += compact_bytes(item.hmac)
                buf += compact_array_count(item.renewers)
                DescribedDelegationTokenRenewer.write_all(out, item.renewers, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.principal_type)
            buf += string(item.principal_name)
            if item.token_requester_principal_type != "":
                raise no_such_field("DescribedDelegationToken", "token_requester_principal_type", version)
            if item.token_requester_principal_name != "":
                raise no_such_field("DescribedDelegationToken", "token_requester_principal_name", version)
            buf += _pack_qqq(item.issue_timestamp, item.expiry_timestamp, item.max_timestamp)
            buf += string(item.token_id)
            buf += bytes_(item.hmac)
            buf += array_count(item.renewers)
            DescribedDelegationTokenRenewer.write_all(out, item.renewers, version)
            if item.unknown_tags:
                raise no_tags("DescribedDelegationToken", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribedDelegationToken], int]:
        items: list[DescribedDelegationToken] = []
        if version >= 2:
            for _ in range(count):
                item = new(DescribedDelegationToken)
                item.principal_type, pos = read_compact_string(data, pos)
                item.principal_name, pos = read_compact_string(data, pos)
                if version >= 3:
                    item.token_requester_principal_type, pos = read_compact_string(data, pos)
                    item.token_requester_principal_name, pos = read_compact_string(data, pos)
                else:
                    item.token_requester_principal_type = ""
                    item.token_requester_principal_name = ""
                item.issue_timestamp, item.expiry_timestamp, item.max_timestamp = _unpack_qqq(data, pos)
                pos += 24
                item.token_id, pos = read_compact_string(data, pos)
                item.hmac, pos = read_compact_bytes(data, pos)
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    raise null_sent("renewers")
                item.renewers, pos = DescribedDelegationTokenRenewer.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DescribedDelegationToken)
            item.principal_type, pos = read_string(data, pos)
            item.principal_name, pos = read_string(data, pos)
            item.token_requester_principal_type = ""
            item.token_requester_principal_name = ""
            item.issue_timestamp, item.expiry_timestamp, item.max_timestamp = _unpack_qqq(data, pos)
            pos += 24
            item.token_id, pos = read_string(data, pos)
            item.hmac, pos = read_bytes(data, pos)
            size, pos = read_count(data, pos, 4)
            if size < 0:
                raise null_sent("renewers")
            item.renewers, pos = DescribedDelegationTokenRenewer.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DescribedDelegationToken], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += compact_string(item.principal_type)
                buf += compact_string(item.principal_name)
                if version >= 3:
                    buf += compact_string(item.token_requester_principal_type)
                    buf += compact_string(item.token_requester_principal_name)
                else:
                    if item.token_requester_principal_type != "":
                        raise no_such_field("DescribedDelegationToken", "token_requester_principal_type", version)
                    if item.token_requester_principal_name != "":
                        raise no_such_field("DescribedDelegationToken", "token_requester_principal_name", version)
                buf += _pack_qqq(item.issue_timestamp, item.expiry_timestamp, item.max_timestamp)
                buf += compact_string(item.token_id)
                buf += compact_bytes(item.hmac)
                buf += compact_array_count(item.renewers)
                yield from written_slices(DescribedDelegationTokenRenewer.write_all, out, item.renewers, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += string(item.principal_type)
            buf += string(item.principal_name)
            if item.token_requester_principal_type != "":
                raise no_such_field("DescribedDelegationToken", "token_requester_principal_type", version)
            if item.token_requester_principal_name != "":
                raise no_such_field("DescribedDelegationToken", "token_requester_principal_name", version)
            buf += _pack_qqq(item.issue_timestamp, item.expiry_timestamp, item.max_timestamp)
            buf += string(item.token_id)
            buf += bytes_(item.hmac)
            buf += array_count(item.renewers)
            yield from written_slices(DescribedDelegationTokenRenewer.write_all, out, item.renewers, version)
            if item.unknown_tags:
                raise no_tags("DescribedDelegationToken", version)
            yield 1


class DescribeDelegationTokenResponse(Message):
    FIELDS = ("error_code", "tokens", "throttle_time_ms")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 41
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    error_code: int
    tokens: list[DescribedDelegationToken]
    throttle_time_ms: int

    def __init__(
        self,
        *,
        error_code: int = 0,
        tokens: list[DescribedDelegationToken] = UNSET,
        throttle_time_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.tokens = [] if tokens is UNSET else tokens
        self.throttle_time_ms = throttle_time_ms
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeDelegationTokenResponse], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_h(item.error_code)
                buf += compact_array_count(item.tokens)
                DescribedDelegationToken.write_all(out, item.tokens, version)
                buf += _pack_i(item.throttle_time_ms)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_h(item.error_code)
            buf += array_count(item.tokens)
            DescribedDelegationToken.write_all(out, item.tokens, version)
            buf += _pack_i(item.throttle_time_ms)
            if item.unknown_tags:
                raise no_tags("DescribeDelegationTokenResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeDelegationTokenResponse], int]:
        items: list[DescribeDelegationTokenResponse] = []
        if version >= 2:
            for _ in range(count):
                item = new(DescribeDelegationTokenResponse)
                (item.error_code,) = _unpack_h(data, pos)
                pos += 2
                size, pos = read_compact_count(data, pos, 30)
                if size < 0:
                    raise null_sent("tokens")
                item.tokens, pos = DescribedDelegationToken.read_all(data, pos, version, size)
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
            item = new(DescribeDelegationTokenResponse)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            size, pos = read_count(data, pos, 38)
            if size < 0:
                raise null_sent("tokens")
            item.tokens, pos = DescribedDelegationToken.read_all(data, pos, version, size)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DescribeDelegationTokenResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += _pack_h(item.error_code)
                buf += compact_array_count(item.tokens)
                yield from DescribedDelegationToken.write_slices(out, item.tokens, version)
                buf += _pack_i(item.throttle_time_ms)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_h(item.error_code)
            buf += array_count(item.tokens)
            yield from DescribedDelegationToken.write_slices(out, item.tokens, version)
            buf += _pack_i(item.throttle_time_ms)
            if item.unknown_tags:
                raise no_tags("DescribeDelegationTokenResponse", version)
            yield 1
