# Generated from schema/init_producer_id.wire by tools/generate_messages.py: do not edit.
"""InitProducerId: a producer id and epoch, for idempotence and transactions.

Since version
   2  flexible
   3  a producer may bring its id and epoch to continue with
   4  a fenced producer gets a code of its own
   5  a transaction may be declared abortable by its error
   6  two-phase commit; not stable yet
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.message import Message, new, no_such_field, no_tags
from moldau.protocol.primitives import (
    fixed,
    nullable_compact_string,
    nullable_string,
    read_nullable_compact_string,
    read_nullable_string,
)
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_i, _unpack_i = fixed("i")
_pack_ihqh, _unpack_ihqh = fixed("ihqh")
_pack_ihqhqh, _unpack_ihqhqh = fixed("ihqhqh")
_pack_iqh, _unpack_iqh = fixed("iqh")
_pack_iqhoo, _unpack_iqhoo = fixed("iqh??")


class InitProducerIdRequest(Message):
    FIELDS = (
        "transactional_id",
        "transaction_timeout_ms",
        "producer_id",
        "producer_epoch",
        "enable_2pc",
        "keep_prepared_txn",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    transactional_id: str | None
    transaction_timeout_ms: int
    producer_id: int
    producer_epoch: int
    enable_2pc: bool
    keep_prepared_txn: bool

    def __init__(
        self,
        *,
        transactional_id: str | None = "",
        transaction_timeout_ms: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
        enable_2pc: bool = False,
        keep_prepared_txn: bool = False,
    ) -> None:
        self.transactional_id = transactional_id
        self.transaction_timeout_ms = transaction_timeout_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.enable_2pc = enable_2pc
        self.keep_prepared_txn = keep_prepared_txn
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[InitProducerIdRequest], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                buf += nullable_compact_string(item.transactional_id)
                if version >= 6:
                    buf += _pack_iqhoo(
                        item.transaction_timeout_ms,
                        item.producer_id,
                        item.producer_epoch,
                        item.enable_2pc,
                        item.keep_prepared_txn,
                    )
                elif version >= 3:
                    if item.enable_2pc:
                        raise no_such_field("InitProducerIdRequest", "enable_2pc", version)
                    if item.keep_prepared_txn:
                        raise no_such_field("InitProducerIdRequest", "keep_prepared_txn", version)
                    buf += _pack_iqh(item.transaction_timeout_ms, item.producer_id, item.producer_epoch)
                else:
                    if item.producer_id != -1:
                        raise no_such_field("InitProducerIdRequest", "producer_id", version)
                    if item.producer_epoch != -1:
                        raise no_such_field("InitProducerIdRequest", "producer_epoch", version)
                    if item.enable_2pc:
                        raise no_such_field("InitProducerIdRequest", "enable_2pc", version)
                    if item.keep_prepared_txn:
                        raise no_such_field("InitProducerIdRequest", "keep_prepared_txn", version)
                    buf += _pack_i(item.transaction_timeout_ms)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += nullable_string(item.transactional_id)
            if item.producer_id != -1:
                raise no_such_field("InitProducerIdRequest", "producer_id", version)
            if item.producer_epoch != -1:
                raise no_such_field("InitProducerIdRequest", "producer_epoch", version)
            if item.enable_2pc:
                raise no_such_field("InitProducerIdRequest", "enable_2pc", version)
            if item.keep_prepared_txn:
                raise no_such_field("InitProducerIdRequest", "keep_prepared_txn", version)
            buf += _pack_i(item.transaction_timeout_ms)
            if item.unknown_tags:
                raise no_tags("InitProducerIdRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[InitProducerIdRequest], int]:
        items: list[InitProducerIdRequest] = []
        if version >= 2:
            for _ in range(count):
                item = new(InitProducerIdRequest)
                item.transactional_id, pos = read_nullable_compact_string(data, pos)
                if version >= 6:
                    (
                        item.transaction_timeout_ms,
                        item.producer_id,
                        item.producer_epoch,
                        item.enable_2pc,
                        item.keep_prepared_txn,
                    ) = _unpack_iqhoo(data, pos)
                    pos += 16
                elif version >= 3:
                    item.transaction_timeout_ms, item.producer_id, item.producer_epoch = _unpack_iqh(data, pos)
                    pos += 14
                    item.enable_2pc = False
                    item.keep_prepared_txn = False
                else:
                    (item.transaction_timeout_ms,) = _unpack_i(data, pos)
                    pos += 4
                    item.producer_id = -1
                    item.producer_epoch = -1
                    item.enable_2pc = False
                    item.keep_prepared_txn = False
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(InitProducerIdRequest)
            item.transactional_id, pos = read_nullable_string(data, pos)
            (item.transaction_timeout_ms,) = _unpack_i(data, pos)
            pos += 4
            item.producer_id = -1
            item.producer_epoch = -1
            item.enable_2pc = False
            item.keep_prepared_txn = False
            item.unknown_tags = None
            items.append(item)
        return items, pos


class InitProducerIdResponse(Message):
    FIELDS = (
        "throttle_time_ms",
        "error_code",
        "producer_id",
        "producer_epoch",
        "ongoing_txn_producer_id",
        "ongoing_txn_producer_epoch",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_SINCE: ClassVar[int | None] = 2

    throttle_time_ms: int
    error_code: int
    producer_id: int
    producer_epoch: int
    ongoing_txn_producer_id: int
    ongoing_txn_producer_epoch: int

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = 0,
        ongoing_txn_producer_id: int = -1,
        ongoing_txn_producer_epoch: int = -1,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.ongoing_txn_producer_id = ongoing_txn_producer_id
        self.ongoing_txn_producer_epoch = ongoing_txn_producer_epoch
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[InitProducerIdResponse], version: int) -> None:
        buf = out.buffer
        if version >= 2:
            for item in items:
                if version >= 6:
                    buf += _pack_ihqhqh(
                        item.throttle_time_ms,
                        item.error_code,
                        item.producer_id,
                        item.producer_epoch,
                        item.ongoing_txn_producer_id,
                        item.ongoing_txn_producer_epoch,
                    )
                else:
                    if item.ongoing_txn_producer_id != -1:
                        raise no_such_field("InitProducerIdResponse", "ongoing_txn_producer_id", version)
                    if item.ongoing_txn_producer_epoch != -1:
                        raise no_such_field("InitProducerIdResponse", "ongoing_txn_producer_epoch", version)
                    buf += _pack_ihqh(item.throttle_time_ms, item.error_code, item.producer_id, item.producer_epoch)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if item.ongoing_txn_producer_id != -1:
                raise no_such_field("InitProducerIdResponse", "ongoing_txn_producer_id", version)
            if item.ongoing_txn_producer_epoch != -1:
                raise no_such_field("InitProducerIdResponse", "ongoing_txn_producer_epoch", version)
            buf += _pack_ihqh(item.throttle_time_ms, item.error_code, item.producer_id, item.producer_epoch)
            if item.unknown_tags:
                raise no_tags("InitProducerIdResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[InitProducerIdResponse], int]:
        items: list[InitProducerIdResponse] = []
        if version >= 2:
            for _ in range(count):
                item = new(InitProducerIdResponse)
                if version >= 6:
                    (
                        item.throttle_time_ms,
                        item.error_code,
                        item.producer_id,
                        item.producer_epoch,
                        item.ongoing_txn_producer_id,
                        item.ongoing_txn_producer_epoch,
                    ) = _unpack_ihqhqh(data, pos)
                    pos += 26
                else:
                    (
                        item.throttle_time_ms,
                        item.error_code,
                        item.producer_id,
                        item.producer_epoch,
                    ) = _unpack_ihqh(data, pos)
                    pos += 16
                    item.ongoing_txn_producer_id = -1
                    item.ongoing_txn_producer_epoch = -1
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(InitProducerIdResponse)
            item.throttle_time_ms, item.error_code, item.producer_id, item.producer_epoch = _unpack_ihqh(data, pos)
            pos += 16
            item.ongoing_txn_producer_id = -1
            item.ongoing_txn_producer_epoch = -1
            item.unknown_tags = None
            items.append(item)
        return items, pos
