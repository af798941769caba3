# Generated from schema/api_versions.wire by tools/generate_messages.py: do not edit.
"""ApiVersions: which APIs and versions a broker offers; the first request on most connections.

Since version
   2  on an unsupported version the broker answers at version 0
   3  flexible; name and version of the client software, features in the answer
   4  features whose lowest version is 0 are told as well
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import array_count, compact_array_count, read_compact_count, read_count
from moldau.protocol.message import UNSET, Message, Struct, new, no_tags
from moldau.protocol.primitives import compact_string, fixed, null_sent, read_compact_string
from moldau.protocol.slices import Slices, written_slices
from moldau.protocol.tagged_fields import check_tag_end, keep_tag, read_tag, read_tag_count, read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_h, _unpack_h = fixed("h")
_pack_hh, _unpack_hh = fixed("hh")
_pack_hhh, _unpack_hhh = fixed("hhh")
_pack_i, _unpack_i = fixed("i")
_pack_o, _unpack_o = fixed("?")
_pack_q, _unpack_q = fixed("q")


class ApiVersionsRequest(Message):
    FIELDS = ("client_software_name", "client_software_version")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 18
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int | None] = 3

    client_software_name: str
    client_software_version: str

    def __init__(self, *, client_software_name: str = "", client_software_version: str = "") -> None:
        self.client_software_name = client_software_name
        self.client_software_version = client_software_version
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ApiVersionsRequest], version: int) -> None:
        buf = out.buffer
        if version >= 3:
            for item in items:
                buf += compact_string(item.client_software_name)
                buf += compact_string(item.client_software_version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if item.unknown_tags:
                raise no_tags("ApiVersionsRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ApiVersionsRequest], int]:
        items: list[ApiVersionsRequest] = []
        if version >= 3:
            for _ in range(count):
                item = new(ApiVersionsRequest)
                item.client_software_name, pos = read_compact_string(data, pos)
                item.client_software_version, pos = read_compact_string(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(ApiVersionsRequest)
            item.client_software_name = ""
            item.client_software_version = ""
            item.unknown_tags = None
            items.append(item)
        return items, pos


class ApiVersion(Struct):
    FIELDS = ("api_key", "min_version", "max_version")
    __slots__ = FIELDS

    api_key: int
    min_version: int
    max_version: int

    def __init__(self, *, api_key: int = 0, min_version: int = 0, max_version: int = 0) -> None:
        self.api_key = api_key
        self.min_version = min_version
        self.max_version = max_version
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ApiVersion], version: int) -> None:
        buf = out.buffer
        if version >= 3:
            for item in items:
                buf += _pack_hhh(item.api_key, item.min_version, item.max_version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_hhh(item.api_key, item.min_version, item.max_version)
            if item.unknown_tags:
                raise no_tags("ApiVersion", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ApiVersion], int]:
        items: list[ApiVersion] = []
        if version >= 3:
            for _ in range(count):
                item = new(ApiVersion)
                item.api_key, item.min_version, item.max_version = _unpack_hhh(data, pos)
                pos += 6
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(ApiVersion)
            item.api_key, item.min_version, item.max_version = _unpack_hhh(data, pos)
            pos += 6
            item.unknown_tags = None
            items.append(item)
        return items, pos


class SupportedFeatureKey(Struct):
    FIELDS = ("name", "min_version", "max_version")
    __slots__ = FIELDS

    name: str
    min_version: int
    max_version: int

    def __init__(self, *, name: str = "", min_version: int = 0, max_version: int = 0) -> None:
        self.name = name
        self.min_version = min_version
        self.max_version = max_version
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[SupportedFeatureKey], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += _pack_hh(item.min_version, item.max_version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[SupportedFeatureKey], int]:
        items: list[SupportedFeatureKey] = []
        for _ in range(count):
            item = new(SupportedFeatureKey)
            item.name, pos = read_compact_string(data, pos)
            item.min_version, item.max_version = _unpack_hh(data, pos)
            pos += 4
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class FinalizedFeatureKey(Struct):
    FIELDS = ("name", "max_version_level", "min_version_level")
    __slots__ = FIELDS

    name: str
    max_version_level: int
    min_version_level: int

    def __init__(self, *, name: str = "", max_version_level: int = 0, min_version_level: int = 0) -> None:
        self.name = name
        self.max_version_level = max_version_level
        self.min_version_level = min_version_level
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[FinalizedFeatureKey], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += _pack_hh(item.max_version_level, item.min_version_level)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[FinalizedFeatureKey], int]:
        items: list[FinalizedFeatureKey] = []
        for _ in range(count):
            item = new(FinalizedFeatureKey)
            item.name, pos = read_compact_string(data, pos)
            item.max_version_level, item.min_version_level = _unpack_hh(data, pos)
            pos += 4
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class ApiVersionsResponse(Message):
    FIELDS = (
        "error_code",
        "api_keys",
        "throttle_time_ms",
        "supported_features",
        "finalized_features_epoch",
        "finalized_features",
        "zk_migration_ready",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 18
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int | None] = 3

    error_code: int
    api_keys: list[ApiVersion]
    throttle_time_ms: int
    supported_features: list[SupportedFeatureKey]
    finalized_features_epoch: int
    finalized_features: list[FinalizedFeatureKey]
    zk_migration_ready: bool

    def __init__(
        self,
        *,
        error_code: int = 0,
        api_keys: list[ApiVersion] = UNSET,
        throttle_time_ms: int = 0,
        supported_features: list[SupportedFeatureKey] = UNSET,
        finalized_features_epoch: int = -1,
        finalized_features: list[FinalizedFeatureKey] = UNSET,
        zk_migration_ready: bool = False,
    ) -> None:
        self.error_code = error_code
        self.api_keys = [] if api_keys is UNSET else api_keys
        self.throttle_time_ms = throttle_time_ms
        self.supported_features = [] if supported_features is UNSET else supported_features
        self.finalized_features_epoch = finalized_features_epoch
        self.finalized_features = [] if finalized_features is UNSET else finalized_features
        self.zk_migration_ready = zk_migration_ready
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ApiVersionsResponse], version: int) -> None:
        buf = out.buffer
        if version >= 3:
            for item in items:
                buf += _pack_h(item.error_code)
                buf += compact_array_count(item.api_keys)
                ApiVersion.write_all(out, item.api_keys, version)
                buf += _pack_i(item.throttle_time_ms)
                tags: dict[int, bytes] = {}
                supported_features = item.supported_features
                if supported_features:
                    inner = Writer()
                    inner.buffer += compact_array_count(supported_features)
                    SupportedFeatureKey.write_all(inner, supported_features, version)
                    tags[0] = inner.bytes()
                finalized_features_epoch = item.finalized_features_epoch
                if finalized_features_epoch != -1:
                    tags[1] = _pack_q(finalized_features_epoch)
                finalized_features = item.finalized_features
                if finalized_features:
                    inner = Writer()
                    inner.buffer += compact_array_count(finalized_features)
                    FinalizedFeatureKey.write_all(inner, finalized_features, version)
                    tags[2] = inner.bytes()
                zk_migration_ready = item.zk_migration_ready
                if zk_migration_ready:
                    tags[3] = _pack_o(zk_migration_ready)
                buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_h(item.error_code)
            buf += array_count(item.api_keys)
            ApiVersion.write_all(out, item.api_keys, version)
            if version >= 1:
                buf += _pack_i(item.throttle_time_ms)
            if item.unknown_tags:
                raise no_tags("ApiVersionsResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ApiVersionsResponse], int]:
        items: list[ApiVersionsResponse] = []
        if version >= 3:
            for _ in range(count):
                item = new(ApiVersionsResponse)
                (item.error_code,) = _unpack_h(data, pos)
                pos += 2
                size, pos = read_compact_count(data, pos, 7)
                if size < 0:
                    raise null_sent("api_keys")
                item.api_keys, pos = ApiVersion.read_all(data, pos, version, size)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                item.supported_features = []
                item.finalized_features_epoch = -1
                item.finalized_features = []
                item.zk_migration_ready = False
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    tags, pos = read_tag_count(data, pos)
                    for _ in range(tags):
                        tag, pos, stop = read_tag(data, pos)
                        if tag == 0:
                            size, pos = read_compact_count(data, pos, 6)
                            if size < 0:
                                raise null_sent("supported_features")
                            item.supported_features, pos = SupportedFeatureKey.read_all(data, pos, version, size)
                        elif tag == 1:
                            (item.finalized_features_epoch,) = _unpack_q(data, pos)
                            pos += 8
                        elif tag == 2:
                            size, pos = read_compact_count(data, pos, 6)
                            if size < 0:
                                raise null_sent("finalized_features")
                            item.finalized_features, pos = FinalizedFeatureKey.read_all(data, pos, version, size)
                        elif tag == 3:
                            (item.zk_migration_ready,) = _unpack_o(data, pos)
                            pos += 1
                        else:
                            item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                            pos = stop
                        check_tag_end(tag, pos, stop)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(ApiVersionsResponse)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("api_keys")
            item.api_keys, pos = ApiVersion.read_all(data, pos, version, size)
            if version >= 1:
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
            else:
                item.throttle_time_ms = 0
            item.supported_features = []
            item.finalized_features_epoch = -1
            item.finalized_features = []
            item.zk_migration_ready = False
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ApiVersionsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 3:
            for item in items:
                buf += _pack_h(item.error_code)
                buf += compact_array_count(item.api_keys)
                yield from written_slices(ApiVersion.write_all, out, item.api_keys, version)
                buf += _pack_i(item.throttle_time_ms)
                tags: dict[int, bytes] = {}
                supported_features = item.supported_features
                if supported_features:
                    inner = Writer()
                    inner.buffer += compact_array_count(supported_features)
                    SupportedFeatureKey.write_all(inner, supported_features, version)
                    tags[0] = inner.bytes()
                finalized_features_epoch = item.finalized_features_epoch
                if finalized_features_epoch != -1:
                    tags[1] = _pack_q(finalized_features_epoch)
                finalized_features = item.finalized_features
                if finalized_features:
                    inner = Writer()
                    inner.buffer += compact_array_count(finalized_features)
                    FinalizedFeatureKey.write_all(inner, finalized_features, version)
                    tags[2] = inner.bytes()
                zk_migration_ready = item.zk_migration_ready
                if zk_migration_ready:
                    tags[3] = _pack_o(zk_migration_ready)
                buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_h(item.error_code)
            buf += array_count(item.api_keys)
            yield from written_slices(ApiVersion.write_all, out, item.api_keys, version)
            if version >= 1:
                buf += _pack_i(item.throttle_time_ms)
            if item.unknown_tags:
                raise no_tags("ApiVersionsResponse", version)
            yield 1
