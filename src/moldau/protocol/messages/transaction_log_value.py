# Generated from schema/transaction_records.wire by tools/generate_messages.py: do not edit.
"""TransactionLogValue: state of a transaction and the partitions in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import (
    array_count,
    compact_array_count,
    compact_int32s,
    int32s,
    read_compact_count,
    read_compact_int32s,
    read_count,
    read_int32s,
)
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field, no_tags
from moldau.protocol.primitives import (
    COMPACT_NULL,
    NULL,
    compact_string,
    fixed,
    read_compact_string,
    read_string,
    string,
)
from moldau.protocol.slices import Slices, written_slices
from moldau.protocol.tagged_fields import check_tag_end, keep_tag, read_tag, read_tag_count, read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_h, _unpack_h = fixed("h")
_pack_q, _unpack_q = fixed("q")
_pack_qhib, _unpack_qhib = fixed("qhib")
_pack_qq, _unpack_qq = fixed("qq")


class PartitionsSchema(Struct):
    FIELDS = ("topic", "partition_ids")
    __slots__ = FIELDS

    topic: str
    partition_ids: list[int]

    def __init__(self, *, topic: str = "", partition_ids: list[int] = UNSET) -> None:
        self.topic = topic
        self.partition_ids = [] if partition_ids is UNSET else partition_ids
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[PartitionsSchema], version: int) -> None:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += compact_string(item.topic)
                buf += compact_int32s(item.partition_ids)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.topic)
            buf += int32s(item.partition_ids)
            if item.unknown_tags:
                raise no_tags("PartitionsSchema", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[PartitionsSchema], int]:
        items: list[PartitionsSchema] = []
        if version >= 1:
            for _ in range(count):
                item = new(PartitionsSchema)
                item.topic, pos = read_compact_string(data, pos)
                item.partition_ids, pos = read_compact_int32s(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(PartitionsSchema)
            item.topic, pos = read_string(data, pos)
            item.partition_ids, pos = read_int32s(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[PartitionsSchema], int]]:
        items: list[PartitionsSchema] = []
        if version >= 1:
            for _ in range(count):
                item = new(PartitionsSchema)
                item.topic, pos = read_compact_string(data, pos)
                item.partition_ids, pos = read_compact_int32s(data, pos)
                yield len(item.partition_ids)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(PartitionsSchema)
            item.topic, pos = read_string(data, pos)
            item.partition_ids, pos = read_int32s(data, pos)
            yield len(item.partition_ids)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class TransactionLogValue(Message):
    FIELDS = (
        "producer_id",
        "previous_producer_id",
        "next_producer_id",
        "producer_epoch",
        "next_producer_epoch",
        "transaction_timeout_ms",
        "transaction_status",
        "transaction_partitions",
        "transaction_last_update_timestamp_ms",
        "transaction_start_timestamp_ms",
        "client_transaction_version",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_SINCE: ClassVar[int | None] = 1

    producer_id: int
    previous_producer_id: int
    next_producer_id: int
    producer_epoch: int
    next_producer_epoch: int
    transaction_timeout_ms: int
    transaction_status: int
    transaction_partitions: list[PartitionsSchema] | None
    transaction_last_update_timestamp_ms: int
    transaction_start_timestamp_ms: int
    client_transaction_version: int

    def __init__(
        self,
        *,
        producer_id: int = 0,
        previous_producer_id: int = -1,
        next_producer_id: int = -1,
        producer_epoch: int = 0,
        next_producer_epoch: int = -1,
        transaction_timeout_ms: int = 0,
        transaction_status: int = 0,
        transaction_partitions: list[PartitionsSchema] | None = UNSET,
        transaction_last_update_timestamp_ms: int = 0,
        transaction_start_timestamp_ms: int = 0,
        client_transaction_version: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.previous_producer_id = previous_producer_id
        self.next_producer_id = next_producer_id
        self.producer_epoch = producer_epoch
        self.next_producer_epoch = next_producer_epoch
        self.transaction_timeout_ms = transaction_timeout_ms
        self.transaction_status = transaction_status
        self.transaction_partitions = [] if transaction_partitions is UNSET else transaction_partitions
        self.transaction_last_update_timestamp_ms = transaction_last_update_timestamp_ms
        self.transaction_start_timestamp_ms = transaction_start_timestamp_ms
        self.client_transaction_version = client_transaction_version
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TransactionLogValue], version: int) -> None:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += _pack_qhib(
                    item.producer_id,
                    item.producer_epoch,
                    item.transaction_timeout_ms,
                    item.transaction_status,
                )
                transaction_partitions = item.transaction_partitions
                if transaction_partitions is None:
                    buf += COMPACT_NULL
                else:
                    buf += compact_array_count(transaction_partitions)
                    PartitionsSchema.write_all(out, transaction_partitions, version)
                buf += _pack_qq(item.transaction_last_update_timestamp_ms, item.transaction_start_timestamp_ms)
                tags: dict[int, bytes] = {}
                previous_producer_id = item.previous_producer_id
                if previous_producer_id != -1:
                    tags[0] = _pack_q(previous_producer_id)
                next_producer_id = item.next_producer_id
                if next_producer_id != -1:
                    tags[1] = _pack_q(next_producer_id)
                client_transaction_version = item.client_transaction_version
                if client_transaction_version != 0:
                    tags[2] = _pack_h(client_transaction_version)
                next_producer_epoch = item.next_producer_epoch
                if next_producer_epoch != -1:
                    tags[3] = _pack_h(next_producer_epoch)
                buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_qhib(
                item.producer_id,
                item.producer_epoch,
                item.transaction_timeout_ms,
                item.transaction_status,
            )
            transaction_partitions = item.transaction_partitions
            if transaction_partitions is None:
                buf += NULL
            else:
                buf += array_count(transaction_partitions)
                PartitionsSchema.write_all(out, transaction_partitions, version)
            buf += _pack_qq(item.transaction_last_update_timestamp_ms, item.transaction_start_timestamp_ms)
            if item.previous_producer_id != -1:
                raise no_such_field("TransactionLogValue", "previous_producer_id", version)
            if item.next_producer_id != -1:
                raise no_such_field("TransactionLogValue", "next_producer_id", version)
            if item.next_producer_epoch != -1:
                raise no_such_field("TransactionLogValue", "next_producer_epoch", version)
            if item.client_transaction_version != 0:
                raise no_such_field("TransactionLogValue", "client_transaction_version", version)
            if item.unknown_tags:
                raise no_tags("TransactionLogValue", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TransactionLogValue], int]:
        items: list[TransactionLogValue] = []
        if version >= 1:
            for _ in range(count):
                item = new(TransactionLogValue)
                (
                    item.producer_id,
                    item.producer_epoch,
                    item.transaction_timeout_ms,
                    item.transaction_status,
                ) = _unpack_qhib(data, pos)
                pos += 15
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    item.transaction_partitions = None
                else:
                    item.transaction_partitions, pos = PartitionsSchema.read_all(data, pos, version, size)
                item.transaction_last_update_timestamp_ms, item.transaction_start_timestamp_ms = _unpack_qq(data, pos)
                pos += 16
                item.previous_producer_id = -1
                item.next_producer_id = -1
                item.next_producer_epoch = -1
                item.client_transaction_version = 0
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    tags, pos = read_tag_count(data, pos)
                    for _ in range(tags):
                        tag, pos, stop = read_tag(data, pos)
                        if tag == 0:
                            (item.previous_producer_id,) = _unpack_q(data, pos)
                            pos += 8
                        elif tag == 1:
                            (item.next_producer_id,) = _unpack_q(data, pos)
                            pos += 8
                        elif tag == 2:
                            (item.client_transaction_version,) = _unpack_h(data, pos)
                            pos += 2
                        elif tag == 3:
                            (item.next_producer_epoch,) = _unpack_h(data, pos)
                            pos += 2
                        else:
                            item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                            pos = stop
                        check_tag_end(tag, pos, stop)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(TransactionLogValue)
            (
                item.producer_id,
                item.producer_epoch,
                item.transaction_timeout_ms,
                item.transaction_status,
            ) = _unpack_qhib(data, pos)
            pos += 15
            size, pos = read_count(data, pos, 6)
            if size < 0:
                item.transaction_partitions = None
            else:
                item.transaction_partitions, pos = PartitionsSchema.read_all(data, pos, version, size)
            item.transaction_last_update_timestamp_ms, item.transaction_start_timestamp_ms = _unpack_qq(data, pos)
            pos += 16
            item.previous_producer_id = -1
            item.next_producer_id = -1
            item.next_producer_epoch = -1
            item.client_transaction_version = 0
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[TransactionLogValue], int]]:
        items: list[TransactionLogValue] = []
        if version >= 1:
            for _ in range(count):
                item = new(TransactionLogValue)
                (
                    item.producer_id,
                    item.producer_epoch,
                    item.transaction_timeout_ms,
                    item.transaction_status,
                ) = _unpack_qhib(data, pos)
                pos += 15
                size, pos = read_compact_count(data, pos, 3)
                if size < 0:
                    item.transaction_partitions = None
                else:
                    item.transaction_partitions, pos = yield from PartitionsSchema.read_slices(data, pos, version, size)
                item.transaction_last_update_timestamp_ms, item.transaction_start_timestamp_ms = _unpack_qq(data, pos)
                pos += 16
                item.previous_producer_id = -1
                item.next_producer_id = -1
                item.next_producer_epoch = -1
                item.client_transaction_version = 0
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    tags, pos = read_tag_count(data, pos)
                    for _ in range(tags):
                        tag, pos, stop = read_tag(data, pos)
                        if tag == 0:
                            (item.previous_producer_id,) = _unpack_q(data, pos)
                            pos += 8
                        elif tag == 1:
                            (item.next_producer_id,) = _unpack_q(data, pos)
                            pos += 8
                        elif tag == 2:
                            (item.client_transaction_version,) = _unpack_h(data, pos)
                            pos += 2
                        elif tag == 3:
                            (item.next_producer_epoch,) = _unpack_h(data, pos)
                            pos += 2
                        else:
                            item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                            pos = stop
                        check_tag_end(tag, pos, stop)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(TransactionLogValue)
            (
                item.producer_id,
                item.producer_epoch,
                item.transaction_timeout_ms,
                item.transaction_status,
            ) = _unpack_qhib(data, pos)
            pos += 15
            size, pos = read_count(data, pos, 6)
            if size < 0:
                item.transaction_partitions = None
            else:
                item.transaction_partitions, pos = yield from PartitionsSchema.read_slices(data, pos, version, size)
            item.transaction_last_update_timestamp_ms, item.transaction_start_timestamp_ms = _unpack_qq(data, pos)
            pos += 16
            item.previous_producer_id = -1
            item.next_producer_id = -1
            item.next_producer_epoch = -1
            item.client_transaction_version = 0
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[TransactionLogValue], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 1:
            for item in items:
                buf += _pack_qhib(
                    item.producer_id,
                    item.producer_epoch,
                    item.transaction_timeout_ms,
                    item.transaction_status,
                )
                transaction_partitions = item.transaction_partitions
                if transaction_partitions is None:
                    buf += COMPACT_NULL
                else:
                    buf += compact_array_count(transaction_partitions)
                    yield from written_slices(PartitionsSchema.write_all, out, transaction_partitions, version)
                buf += _pack_qq(item.transaction_last_update_timestamp_ms, item.transaction_start_timestamp_ms)
                tags: dict[int, bytes] = {}
                previous_producer_id = item.previous_producer_id
                if previous_producer_id != -1:
                    tags[0] = _pack_q(previous_producer_id)
                next_producer_id = item.next_producer_id
                if next_producer_id != -1:
                    tags[1] = _pack_q(next_producer_id)
                client_transaction_version = item.client_transaction_version
                if client_transaction_version != 0:
                    tags[2] = _pack_h(client_transaction_version)
                next_producer_epoch = item.next_producer_epoch
                if next_producer_epoch != -1:
                    tags[3] = _pack_h(next_producer_epoch)
                buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_qhib(
                item.producer_id,
                item.producer_epoch,
                item.transaction_timeout_ms,
                item.transaction_status,
            )
            transaction_partitions = item.transaction_partitions
            if transaction_partitions is None:
                buf += NULL
            else:
                buf += array_count(transaction_partitions)
                yield from written_slices(PartitionsSchema.write_all, out, transaction_partitions, version)
            buf += _pack_qq(item.transaction_last_update_timestamp_ms, item.transaction_start_timestamp_ms)
            if item.previous_producer_id != -1:
                raise no_such_field("TransactionLogValue", "previous_producer_id", version)
            if item.next_producer_id != -1:
                raise no_such_field("TransactionLogValue", "next_producer_id", version)
            if item.next_producer_epoch != -1:
                raise no_such_field("TransactionLogValue", "next_producer_epoch", version)
            if item.client_transaction_version != 0:
                raise no_such_field("TransactionLogValue", "client_transaction_version", version)
            if item.unknown_tags:
                raise no_tags("TransactionLogValue", version)
            yield 1
