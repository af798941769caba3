# Generated from schema/push_telemetry.wire by tools/generate_messages.py: do not edit.
"""PushTelemetry: a client pushes its metrics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.primitives import compact_bytes, fixed, read_compact_bytes
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_ih, _unpack_ih = fixed("ih")
_pack_uiob, _unpack_uiob = fixed("16si?b")


class PushTelemetryRequest(Message):
    FIELDS = ("client_instance_id", "subscription_id", "terminating", "compression_type", "metrics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 72
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    client_instance_id: Uuid
    subscription_id: int
    terminating: bool
    compression_type: int
    metrics: bytes

    def __init__(
        self,
        *,
        client_instance_id: Uuid = ZERO_UUID,
        subscription_id: int = 0,
        terminating: bool = False,
        compression_type: int = 0,
        metrics: bytes = b"",
    ) -> None:
        self.client_instance_id = client_instance_id
        self.subscription_id = subscription_id
        self.terminating = terminating
        self.compression_type = compression_type
        self.metrics = metrics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[PushTelemetryRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_uiob(item.client_instance_id, item.subscription_id, item.terminating, item.compression_type)
            buf += compact_bytes(item.metrics)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[PushTelemetryRequest], int]:
        items: list[PushTelemetryRequest] = []
        for _ in range(count):
            item = new(PushTelemetryRequest)
            (
                item.client_instance_id,
                item.subscription_id,
                item.terminating,
                item.compression_type,
            ) = _unpack_uiob(data, pos)
            pos += 22
            item.metrics, pos = read_compact_bytes(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class PushTelemetryResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 72
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    error_code: int

    def __init__(self, *, throttle_time_ms: int = 0, error_code: int = 0) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[PushTelemetryResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[PushTelemetryResponse], int]:
        items: list[PushTelemetryResponse] = []
        for _ in range(count):
            item = new(PushTelemetryResponse)
            item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
