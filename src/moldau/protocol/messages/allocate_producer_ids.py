# Generated from schema/allocate_producer_ids.wire by tools/generate_messages.py: do not edit.
"""AllocateProducerIds: a broker asks the controller for a block of producer ids."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new
from moldau.protocol.primitives import fixed
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_ihqi, _unpack_ihqi = fixed("ihqi")
_pack_iq, _unpack_iq = fixed("iq")


class AllocateProducerIdsRequest(Message):
    FIELDS = ("broker_id", "broker_epoch")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 67
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    broker_id: int
    broker_epoch: int

    def __init__(self, *, broker_id: int = 0, broker_epoch: int = -1) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AllocateProducerIdsRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_iq(item.broker_id, item.broker_epoch)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AllocateProducerIdsRequest], int]:
        items: list[AllocateProducerIdsRequest] = []
        for _ in range(count):
            item = new(AllocateProducerIdsRequest)
            item.broker_id, item.broker_epoch = _unpack_iq(data, pos)
            pos += 12
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class AllocateProducerIdsResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "producer_id_start", "producer_id_len")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 67
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    error_code: int
    producer_id_start: int
    producer_id_len: int

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id_start: int = 0,
        producer_id_len: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id_start = producer_id_start
        self.producer_id_len = producer_id_len
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AllocateProducerIdsResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ihqi(item.throttle_time_ms, item.error_code, item.producer_id_start, item.producer_id_len)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AllocateProducerIdsResponse], int]:
        items: list[AllocateProducerIdsResponse] = []
        for _ in range(count):
            item = new(AllocateProducerIdsResponse)
            (
                item.throttle_time_ms,
                item.error_code,
                item.producer_id_start,
                item.producer_id_len,
            ) = _unpack_ihqi(data, pos)
            pos += 18
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
