# Generated from schema/update_features.wire by tools/generate_messages.py: do not edit.
"""UpdateFeatures: raises or lowers feature levels.

Since version
   1  dry run, safe and unsafe downgrades
   2  one error for the whole request
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, read_compact_count
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field
from moldau.protocol.primitives import (
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

_pack_h, _unpack_h = fixed("h")
_pack_hb, _unpack_hb = fixed("hb")
_pack_ho, _unpack_ho = fixed("h?")
_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")
_pack_o, _unpack_o = fixed("?")


class FeatureUpdateKey(Struct):
    FIELDS = ("feature", "max_version_level", "allow_downgrade", "upgrade_type")
    __slots__ = FIELDS

    feature: str
    max_version_level: int
    allow_downgrade: bool
    upgrade_type: int

    def __init__(
        self,
        *,
        feature: str = "",
        max_version_level: int = 0,
        allow_downgrade: bool = False,
        upgrade_type: int = 1,
    ) -> None:
        self.feature = feature
        self.max_version_level = max_version_level
        self.allow_downgrade = allow_downgrade
        self.upgrade_type = upgrade_type
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[FeatureUpdateKey], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.feature)
            if version >= 1:
                if item.allow_downgrade:
                    raise no_such_field("FeatureUpdateKey", "allow_downgrade", version)
                buf += _pack_hb(item.max_version_level, item.upgrade_type)
            else:
                if item.upgrade_type != 1:
                    raise no_such_field("FeatureUpdateKey", "upgrade_type", version)
                buf += _pack_ho(item.max_version_level, item.allow_downgrade)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[FeatureUpdateKey], int]:
        items: list[FeatureUpdateKey] = []
        for _ in range(count):
            item = new(FeatureUpdateKey)
            item.feature, pos = read_compact_string(data, pos)
            if version >= 1:
                item.max_version_level, item.upgrade_type = _unpack_hb(data, pos)
                pos += 3
                item.allow_downgrade = False
            else:
                item.max_version_level, item.allow_downgrade = _unpack_ho(data, pos)
                pos += 3
                item.upgrade_type = 1
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class UpdateFeaturesRequest(Message):
    FIELDS = ("timeout_ms", "feature_updates", "validate_only")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 57
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    timeout_ms: int
    feature_updates: list[FeatureUpdateKey]
    validate_only: bool

    def __init__(
        self,
        *,
        timeout_ms: int = 60000,
        feature_updates: list[FeatureUpdateKey] = UNSET,
        validate_only: bool = False,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.feature_updates = [] if feature_updates is UNSET else feature_updates
        self.validate_only = validate_only
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[UpdateFeaturesRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.timeout_ms)
            buf += compact_array_count(item.feature_updates)
            FeatureUpdateKey.write_all(out, item.feature_updates, version)
            if version >= 1:
                buf += _pack_o(item.validate_only)
            else:
                if item.validate_only:
                    raise no_such_field("UpdateFeaturesRequest", "validate_only", version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[UpdateFeaturesRequest], int]:
        items: list[UpdateFeaturesRequest] = []
        for _ in range(count):
            item = new(UpdateFeaturesRequest)
            (item.timeout_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 5)
            if size < 0:
                raise null_sent("feature_updates")
            item.feature_updates, pos = FeatureUpdateKey.read_all(data, pos, version, size)
            if version >= 1:
                (item.validate_only,) = _unpack_o(data, pos)
                pos += 1
            else:
                item.validate_only = False
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[UpdateFeaturesRequest], int]]:
        check_count(count)
        items: list[UpdateFeaturesRequest] = []
        for _ in range(count):
            item = new(UpdateFeaturesRequest)
            (item.timeout_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 5)
            if size < 0:
                raise null_sent("feature_updates")
            item.feature_updates, pos = yield from struct_slices(FeatureUpdateKey.read_all, data, pos, version, size)
            if version >= 1:
                (item.validate_only,) = _unpack_o(data, pos)
                pos += 1
            else:
                item.validate_only = False
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class UpdatableFeatureResult(Struct):
    FIELDS = ("feature", "error_code", "error_message")
    __slots__ = FIELDS

    feature: str
    error_code: int
    error_message: str | None

    def __init__(self, *, feature: str = "", error_code: int = 0, error_message: str | None = "") -> None:
        self.feature = feature
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[UpdatableFeatureResult], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.feature)
            buf += _pack_h(item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[UpdatableFeatureResult], int]:
        items: list[UpdatableFeatureResult] = []
        for _ in range(count):
            item = new(UpdatableFeatureResult)
            item.feature, pos = read_compact_string(data, pos)
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


class UpdateFeaturesResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "error_message", "results")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 57
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    results: list[UpdatableFeatureResult]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[UpdatableFeatureResult] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results = [] if results is UNSET else results
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[UpdateFeaturesResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_compact_string(item.error_message)
            if version <= 1:
                buf += compact_array_count(item.results)
                UpdatableFeatureResult.write_all(out, item.results, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[UpdateFeaturesResponse], int]:
        items: list[UpdateFeaturesResponse] = []
        for _ in range(count):
            item = new(UpdateFeaturesResponse)
            item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.error_message, pos = read_nullable_compact_string(data, pos)
            if version >= 2:
                item.results = []
            else:
                size, pos = read_compact_count(data, pos, 5)
                if size < 0:
                    raise null_sent("results")
                item.results, pos = UpdatableFeatureResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[UpdateFeaturesResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_compact_string(item.error_message)
            if version <= 1:
                buf += compact_array_count(item.results)
                yield from written_slices(UpdatableFeatureResult.write_all, out, item.results, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
