# Generated from schema/list_transactions.wire by tools/generate_messages.py: do not edit.
"""ListTransactions: the transactions a broker coordinates.

Since version
   1  filtered by duration
   2  filtered by a pattern
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import (
    compact_array_count,
    compact_int64s,
    compact_strings,
    read_compact_count,
    read_compact_int64s,
    read_many,
)
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field
from moldau.protocol.primitives import (
    compact_string,
    fixed,
    null_sent,
    nullable_compact_string,
    read_compact_string,
    read_nullable_compact_string,
)
from moldau.protocol.slices import Slices, check_count, value_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_ih, _unpack_ih = fixed("ih")
_pack_q, _unpack_q = fixed("q")


class ListTransactionsRequest(Message):
    FIELDS = ("state_filters", "producer_id_filters", "duration_filter", "transactional_id_pattern")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 66
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    state_filters: list[str]
    producer_id_filters: list[int]
    duration_filter: int
    transactional_id_pattern: str | None

    def __init__(
        self,
        *,
        state_filters: list[str] = UNSET,
        producer_id_filters: list[int] = UNSET,
        duration_filter: int = -1,
        transactional_id_pattern: str | None = None,
    ) -> None:
        self.state_filters = [] if state_filters is UNSET else state_filters
        self.producer_id_filters = [] if producer_id_filters is UNSET else producer_id_filters
        self.duration_filter = duration_filter
        self.transactional_id_pattern = transactional_id_pattern
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ListTransactionsRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_strings(item.state_filters)
            buf += compact_int64s(item.producer_id_filters)
            if version >= 1:
                buf += _pack_q(item.duration_filter)
            else:
                if item.duration_filter != -1:
                    raise no_such_field("ListTransactionsRequest", "duration_filter", version)
            if version >= 2:
                buf += nullable_compact_string(item.transactional_id_pattern)
            else:
                if item.transactional_id_pattern is not None:
                    raise no_such_field("ListTransactionsRequest", "transactional_id_pattern", version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ListTransactionsRequest], int]:
        items: list[ListTransactionsRequest] = []
        for _ in range(count):
            item = new(ListTransactionsRequest)
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("state_filters")
            item.state_filters, pos = read_many(read_compact_string, data, pos, size)
            item.producer_id_filters, pos = read_compact_int64s(data, pos)
            if version >= 1:
                (item.duration_filter,) = _unpack_q(data, pos)
                pos += 8
            else:
                item.duration_filter = -1
            if version >= 2:
                item.transactional_id_pattern, pos = read_nullable_compact_string(data, pos)
            else:
                item.transactional_id_pattern = None
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
    ) -> Slices[tuple[list[ListTransactionsRequest], int]]:
        check_count(count)
        items: list[ListTransactionsRequest] = []
        for _ in range(count):
            item = new(ListTransactionsRequest)
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("state_filters")
            item.state_filters, pos = yield from value_slices(read_compact_string, data, pos, size)
            item.producer_id_filters, pos = read_compact_int64s(data, pos)
            yield len(item.producer_id_filters)
            if version >= 1:
                (item.duration_filter,) = _unpack_q(data, pos)
                pos += 8
            else:
                item.duration_filter = -1
            if version >= 2:
                item.transactional_id_pattern, pos = read_nullable_compact_string(data, pos)
            else:
                item.transactional_id_pattern = None
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class TransactionState(Struct):
    FIELDS = ("transactional_id", "producer_id", "transaction_state")
    __slots__ = FIELDS

    transactional_id: str
    producer_id: int
    transaction_state: str

    def __init__(self, *, transactional_id: str = "", producer_id: int = 0, transaction_state: str = "") -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.transaction_state = transaction_state
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TransactionState], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.transactional_id)
            buf += _pack_q(item.producer_id)
            buf += compact_string(item.transaction_state)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TransactionState], int]:
        items: list[TransactionState] = []
        for _ in range(count):
            item = new(TransactionState)
            item.transactional_id, pos = read_compact_string(data, pos)
            (item.producer_id,) = _unpack_q(data, pos)
            pos += 8
            item.transaction_state, pos = read_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class ListTransactionsResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "unknown_state_filters", "transaction_states")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 66
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    error_code: int
    unknown_state_filters: list[str]
    transaction_states: list[TransactionState]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_state_filters: list[str] = UNSET,
        transaction_states: list[TransactionState] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_state_filters = [] if unknown_state_filters is UNSET else unknown_state_filters
        self.transaction_states = [] if transaction_states is UNSET else transaction_states
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ListTransactionsResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += compact_strings(item.unknown_state_filters)
            buf += compact_array_count(item.transaction_states)
            TransactionState.write_all(out, item.transaction_states, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ListTransactionsResponse], int]:
        items: list[ListTransactionsResponse] = []
        for _ in range(count):
            item = new(ListTransactionsResponse)
            item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
            pos += 6
            size, pos = read_compact_count(data, pos, 1)
            if size < 0:
                raise null_sent("unknown_state_filters")
            item.unknown_state_filters, pos = read_many(read_compact_string, data, pos, size)
            size, pos = read_compact_count(data, pos, 11)
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
    def write_slices(out: Writer, items: Iterable[ListTransactionsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += compact_strings(item.unknown_state_filters)
            yield len(item.unknown_state_filters)
            buf += compact_array_count(item.transaction_states)
            yield from written_slices(TransactionState.write_all, out, item.transaction_states, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
