# Generated from schema/end_txn.wire by tools/generate_messages.py: do not edit.
"""EndTxn: commits or aborts a transaction.

Since version
   3  flexible
   4  a transaction may be declared abortable by its error
   5  the epoch grows with every transaction and is told in the answer
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new, no_tags
from moldau.protocol.primitives import compact_string, fixed, read_compact_string, read_string, string
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_ih, _unpack_ih = fixed("ih")
_pack_ihqh, _unpack_ihqh = fixed("ihqh")
_pack_qho, _unpack_qho = fixed("qh?")


class EndTxnRequest(Message):
    FIELDS = ("transactional_id", "producer_id", "producer_epoch", "committed")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 26
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int | None] = 3

    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool

    def __init__(
        self,
        *,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        committed: bool = False,
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.committed = committed
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[EndTxnRequest], version: int) -> None:
        buf = out.buffer
        if version >= 3:
            for item in items:
                buf += compact_string(item.transactional_id)
                buf += _pack_qho(item.producer_id, item.producer_epoch, item.committed)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.transactional_id)
            buf += _pack_qho(item.producer_id, item.producer_epoch, item.committed)
            if item.unknown_tags:
                raise no_tags("EndTxnRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[EndTxnRequest], int]:
        items: list[EndTxnRequest] = []
        if version >= 3:
            for _ in range(count):
                item = new(EndTxnRequest)
                item.transactional_id, pos = read_compact_string(data, pos)
                item.producer_id, item.producer_epoch, item.committed = _unpack_qho(data, pos)
                pos += 11
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(EndTxnRequest)
            item.transactional_id, pos = read_string(data, pos)
            item.producer_id, item.producer_epoch, item.committed = _unpack_qho(data, pos)
            pos += 11
            item.unknown_tags = None
            items.append(item)
        return items, pos


class EndTxnResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "producer_id", "producer_epoch")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 26
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int | None] = 3

    throttle_time_ms: int
    error_code: int
    producer_id: int
    producer_epoch: int

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[EndTxnResponse], version: int) -> None:
        buf = out.buffer
        if version >= 3:
            for item in items:
                if version >= 5:
                    buf += _pack_ihqh(item.throttle_time_ms, item.error_code, item.producer_id, item.producer_epoch)
                else:
                    buf += _pack_ih(item.throttle_time_ms, item.error_code)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            if item.unknown_tags:
                raise no_tags("EndTxnResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[EndTxnResponse], int]:
        items: list[EndTxnResponse] = []
        if version >= 3:
            for _ in range(count):
                item = new(EndTxnResponse)
                if version >= 5:
                    (
                        item.throttle_time_ms,
                        item.error_code,
                        item.producer_id,
                        item.producer_epoch,
                    ) = _unpack_ihqh(data, pos)
                    pos += 16
                else:
                    item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
                    pos += 6
                    item.producer_id = -1
                    item.producer_epoch = -1
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(EndTxnResponse)
            item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.producer_id = -1
            item.producer_epoch = -1
            item.unknown_tags = None
            items.append(item)
        return items, pos
