# Generated from schema/describe_transactions.wire by tools/generate_messages.py: do not edit.
"""DescribeTransactions: state of transactions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import (
    compact_array_count,
    compact_int32s,
    compact_strings,
    read_compact_count,
    read_compact_int32s,
    read_many,
)
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import compact_string, fixed, null_sent, read_compact_string
from moldau.protocol.slices import Slices, check_count, value_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_h, _unpack_h = fixed("h")
_pack_i, _unpack_i = fixed("i")
_pack_iqqh, _unpack_iqqh = fixed("iqqh")


class DescribeTransactionsRequest(Message):
    FIELDS = ("transactional_ids",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 65
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    transactional_ids: list[str]

    def __init__(self, *, transactional_ids: list[str] = UNSET) -> None:
        self.transactional_ids = [] if transactional_ids is UNSET else transactional_ids
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeTransactionsRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_strings(item.transactional_ids)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeTransactionsRequest], int]:
        items: list[DescribeTransactionsRequest] = []
        for _ in range(count):
            item = new(DescribeTransactionsRequest)
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("transactional_ids")
            item.transactional_ids, pos = read_many(read_compact_string, data, pos, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[DescribeTransactionsRequest], int]]:
        check_count(count)
        items: list[DescribeTransactionsRequest] = []
        for _ in range(count):
            item = new(DescribeTransactionsRequest)
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("transactional_ids")
            item.transactional_ids, pos = yield from value_slices(read_compact_string, data, pos, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class TopicData(Struct):
    FIELDS = ("topic", "partitions")
    __slots__ = FIELDS

    topic: str
    partitions: list[int]

    def __init__(self, *, topic: str = "", partitions: list[int] = UNSET) -> None:
        self.topic = topic
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TopicData], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.topic)
            buf += compact_int32s(item.partitions)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TopicData], int]:
        items: list[TopicData] = []
        for _ in range(count):
            item = new(TopicData)
            item.topic, pos = read_compact_string(data, pos)
            item.partitions, pos = read_compact_int32s(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class TransactionState(Struct):
    FIELDS = (
        "error_code",
        "transactional_id",
        "transaction_state",
        "transaction_timeout_ms",
        "transaction_start_time_ms",
        "producer_id",
        "producer_epoch",
        "topics",
    )
    __slots__ = FIELDS

    error_code: int
    transactional_id: str
    transaction_state: str
    transaction_timeout_ms: int
    transaction_start_time_ms: int
    producer_id: int
    producer_epoch: int
    topics: list[TopicData]

    def __init__(
        self,
        *,
        error_code: int = 0,
        transactional_id: str = "",
        transaction_state: str = "",
        transaction_timeout_ms: int = 0,
        transaction_start_time_ms: int = 0,
        producer_id: int = 0,
        producer_epoch: int = 0,
        topics: list[TopicData] = UNSET,
    ) -> None:
        self.error_code = error_code
        self.transactional_id = transactional_id
        self.transaction_state = transaction_state
        self.transaction_timeout_ms = transaction_timeout_ms
        self.transaction_start_time_ms = transaction_start_time_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TransactionState], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_h(item.error_code)
            buf += compact_string(item.transactional_id)
            buf += compact_string(item.transaction_state)
            buf += _pack_iqqh(
                item.transaction_timeout_ms,
                item.transaction_start_time_ms,
                item.producer_id,
                item.producer_epoch,
            )
            buf += compact_array_count(item.topics)
            TopicData.write_all(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TransactionState], int]:
        items: list[TransactionState] = []
        for _ in range(count):
            item = new(TransactionState)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.transactional_id, pos = read_compact_string(data, pos)
            item.transaction_state, pos = read_compact_string(data, pos)
            (
                item.transaction_timeout_ms,
                item.transaction_start_time_ms,
                item.producer_id,
                item.producer_epoch,
            ) = _unpack_iqqh(data, pos)
            pos += 22
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = TopicData.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[TransactionState], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_h(item.error_code)
            buf += compact_string(item.transactional_id)
            buf += compact_string(item.transaction_state)
            buf += _pack_iqqh(
                item.transaction_timeout_ms,
                item.transaction_start_time_ms,
                item.producer_id,
                item.producer_epoch,
            )
            buf += compact_array_count(item.topics)
            yield from written_slices(TopicData.write_all, out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class DescribeTransactionsResponse(Message):
    FIELDS = ("throttle_time_ms", "transaction_states")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 65
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    transaction_states: list[TransactionState]

    def __init__(self, *, throttle_time_ms: int = 0, transaction_states: list[TransactionState] = UNSET) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.transaction_states = [] if transaction_states is UNSET else transaction_states
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DescribeTransactionsResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += compact_array_count(item.transaction_states)
            TransactionState.write_all(out, item.transaction_states, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DescribeTransactionsResponse], int]:
        items: list[DescribeTransactionsResponse] = []
        for _ in range(count):
            item = new(DescribeTransactionsResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_compact_count(data, pos, 28)
            if size < 0:
                raise null_sent("transaction_states")
            item.transaction_states, pos = TransactionState.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DescribeTransactionsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += compact_array_count(item.transaction_states)
            yield from TransactionState.write_slices(out, item.transaction_states, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
