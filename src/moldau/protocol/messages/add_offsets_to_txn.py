# Generated from schema/add_offsets_to_txn.wire by tools/generate_messages.py: do not edit.
"""AddOffsetsToTxn: adds a group's offsets to a transaction.

Since version
   3  flexible
   4  a transaction may be declared abortable by its error
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new, no_tags
from moldau.protocol.primitives import compact_string, fixed, read_compact_string, read_string, string
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_ih, _unpack_ih = fixed("ih")
_pack_qh, _unpack_qh = fixed("qh")


class AddOffsetsToTxnRequest(Message):
    FIELDS = ("transactional_id", "producer_id", "producer_epoch", "group_id")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 25
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int | None] = 3

    transactional_id: str
    producer_id: int
    producer_epoch: int
    group_id: str

    def __init__(
        self,
        *,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        group_id: str = "",
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.group_id = group_id
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AddOffsetsToTxnRequest], version: int) -> None:
        buf = out.buffer
        if version >= 3:
            for item in items:
                buf += compact_string(item.transactional_id)
                buf += _pack_qh(item.producer_id, item.producer_epoch)
                buf += compact_string(item.group_id)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.transactional_id)
            buf += _pack_qh(item.producer_id, item.producer_epoch)
            buf += string(item.group_id)
            if item.unknown_tags:
                raise no_tags("AddOffsetsToTxnRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AddOffsetsToTxnRequest], int]:
        items: list[AddOffsetsToTxnRequest] = []
        if version >= 3:
            for _ in range(count):
                item = new(AddOffsetsToTxnRequest)
                item.transactional_id, pos = read_compact_string(data, pos)
                item.producer_id, item.producer_epoch = _unpack_qh(data, pos)
                pos += 10
                item.group_id, pos = read_compact_string(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(AddOffsetsToTxnRequest)
            item.transactional_id, pos = read_string(data, pos)
            item.producer_id, item.producer_epoch = _unpack_qh(data, pos)
            pos += 10
            item.group_id, pos = read_string(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos


class AddOffsetsToTxnResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 25
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_SINCE: ClassVar[int | None] = 3

    throttle_time_ms: int
    error_code: int

    def __init__(self, *, throttle_time_ms: int = 0, error_code: int = 0) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AddOffsetsToTxnResponse], version: int) -> None:
        buf = out.buffer
        if version >= 3:
            for item in items:
                buf += _pack_ih(item.throttle_time_ms, item.error_code)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            if item.unknown_tags:
                raise no_tags("AddOffsetsToTxnResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AddOffsetsToTxnResponse], int]:
        items: list[AddOffsetsToTxnResponse] = []
        if version >= 3:
            for _ in range(count):
                item = new(AddOffsetsToTxnResponse)
                item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
                pos += 6
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(AddOffsetsToTxnResponse)
            item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.unknown_tags = None
            items.append(item)
        return items, pos
