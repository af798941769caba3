# Generated from schema/get_telemetry_subscriptions.wire by tools/generate_messages.py: do not edit.
"""GetTelemetrySubscriptions: a client asks which metrics it should push."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_int8s, compact_strings, read_compact_count, read_compact_int8s, read_many
from moldau.protocol.message import UNSET, Message, new
from moldau.protocol.primitives import fixed, null_sent, read_compact_string
from moldau.protocol.slices import Slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_ihui, _unpack_ihui = fixed("ih16si")
_pack_iio, _unpack_iio = fixed("ii?")
_pack_u, _unpack_u = fixed("16s")


class GetTelemetrySubscriptionsRequest(Message):
    FIELDS = ("client_instance_id",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 71
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    client_instance_id: Uuid

    def __init__(self, *, client_instance_id: Uuid = ZERO_UUID) -> None:
        self.client_instance_id = client_instance_id
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[GetTelemetrySubscriptionsRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_u(item.client_instance_id)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[GetTelemetrySubscriptionsRequest], int]:
        items: list[GetTelemetrySubscriptionsRequest] = []
        for _ in range(count):
            item = new(GetTelemetrySubscriptionsRequest)
            (item.client_instance_id,) = _unpack_u(data, pos)
            pos += 16
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class GetTelemetrySubscriptionsResponse(Message):
    FIELDS = (
        "throttle_time_ms",
        "error_code",
        "client_instance_id",
        "subscription_id",
        "accepted_compression_types",
        "push_interval_ms",
        "telemetry_max_bytes",
        "delta_temporality",
        "requested_metrics",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 71
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    error_code: int
    client_instance_id: Uuid
    subscription_id: int
    accepted_compression_types: list[int]
    push_interval_ms: int
    telemetry_max_bytes: int
    delta_temporality: bool
    requested_metrics: list[str]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        client_instance_id: Uuid = ZERO_UUID,
        subscription_id: int = 0,
        accepted_compression_types: list[int] = UNSET,
        push_interval_ms: int = 0,
        telemetry_max_bytes: int = 0,
        delta_temporality: bool = False,
        requested_metrics: list[str] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.client_instance_id = client_instance_id
        self.subscription_id = subscription_id
        self.accepted_compression_types = [] if accepted_compression_types is UNSET else accepted_compression_types
        self.push_interval_ms = push_interval_ms
        self.telemetry_max_bytes = telemetry_max_bytes
        self.delta_temporality = delta_temporality
        self.requested_metrics = [] if requested_metrics is UNSET else requested_metrics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[GetTelemetrySubscriptionsResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ihui(item.throttle_time_ms, item.error_code, item.client_instance_id, item.subscription_id)
            buf += compact_int8s(item.accepted_compression_types)
            buf += _pack_iio(item.push_interval_ms, item.telemetry_max_bytes, item.delta_temporality)
            buf += compact_strings(item.requested_metrics)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[GetTelemetrySubscriptionsResponse], int]:
        items: list[GetTelemetrySubscriptionsResponse] = []
        for _ in range(count):
            item = new(GetTelemetrySubscriptionsResponse)
            (
                item.throttle_time_ms,
                item.error_code,
                item.client_instance_id,
                item.subscription_id,
            ) = _unpack_ihui(data, pos)
            pos += 26
            item.accepted_compression_types, pos = read_compact_int8s(data, pos)
            item.push_interval_ms, item.telemetry_max_bytes, item.delta_temporality = _unpack_iio(data, pos)
            pos += 9
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("requested_metrics")
            item.requested_metrics, pos = read_many(read_compact_string, data, pos, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[GetTelemetrySubscriptionsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_ihui(item.throttle_time_ms, item.error_code, item.client_instance_id, item.subscription_id)
            buf += compact_int8s(item.accepted_compression_types)
            buf += _pack_iio(item.push_interval_ms, item.telemetry_max_bytes, item.delta_temporality)
            buf += compact_strings(item.requested_metrics)
            yield len(item.requested_metrics)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
