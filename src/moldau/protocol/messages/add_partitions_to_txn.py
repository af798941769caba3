# Generated from schema/add_partitions_to_txn.wire by tools/generate_messages.py: do not edit.
"""AddPartitionsToTxn: adds partitions to a transaction.

Since version
   3  flexible
   4  brokers verify or add for several transactions at once
   5  a transaction may be declared abortable by its error
"""

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
from moldau.protocol.primitives import compact_string, fixed, null_sent, read_compact_string, read_string, string
from moldau.protocol.slices import Slices, check_count, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_i, _unpack_i = fixed("i")
_pack_ih, _unpack_ih = fixed("ih")
_pack_qh, _unpack_qh = fixed("qh")
_pack_qho, _unpack_qho = fixed("qh?")


class AddPartitionsToTxnTopic(Struct):
    FIELDS = ("name", "partitions")
    __slots__ = FIELDS

    name: str
    partitions: list[int]

    def __init__(self, *, name: str = "", partitions: list[int] = UNSET) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AddPartitionsToTxnTopic], version: int) -> None:
        buf = out.buffer
        if version >= 3:
            for item in items:
                buf += compact_string(item.name)
                buf += compact_int32s(item.partitions)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.name)
            buf += int32s(item.partitions)
            if item.unknown_tags:
                raise no_tags("AddPartitionsToTxnTopic", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AddPartitionsToTxnTopic], int]:
        items: list[AddPartitionsToTxnTopic] = []
        if version >= 3:
            for _ in range(count):
                item = new(AddPartitionsToTxnTopic)
                item.name, pos = read_compact_string(data, pos)
                item.partitions, pos = read_compact_int32s(data, pos)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(AddPartitionsToTxnTopic)
            item.name, pos = read_string(data, pos)
            item.partitions, pos = read_int32s(data, pos)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[AddPartitionsToTxnTopic], int]]:
        check_count(count)
        items: list[AddPartitionsToTxnTopic] = []
        if version >= 3:
            for _ in range(count):
                item = new(AddPartitionsToTxnTopic)
                item.name, pos = read_compact_string(data, pos)
                item.partitions, pos = read_compact_int32s(data, pos)
                yield len(item.partitions)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(AddPartitionsToTxnTopic)
            item.name, pos = read_string(data, pos)
            item.partitions, pos = read_int32s(data, pos)
            yield len(item.partitions)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class AddPartitionsToTxnTransaction(Struct):
    FIELDS = ("transactional_id", "producer_id", "producer_epoch", "verify_only", "topics")
    __slots__ = FIELDS

    transactional_id: str
    producer_id: int
    producer_epoch: int
    verify_only: bool
    topics: list[AddPartitionsToTxnTopic]

    def __init__(
        self,
        *,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        verify_only: bool = False,
        topics: list[AddPartitionsToTxnTopic] = UNSET,
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.verify_only = verify_only
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AddPartitionsToTxnTransaction], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.transactional_id)
            buf += _pack_qho(item.producer_id, item.producer_epoch, item.verify_only)
            buf += compact_array_count(item.topics)
            AddPartitionsToTxnTopic.write_all(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AddPartitionsToTxnTransaction], int]:
        items: list[AddPartitionsToTxnTransaction] = []
        for _ in range(count):
            item = new(AddPartitionsToTxnTransaction)
            item.transactional_id, pos = read_compact_string(data, pos)
            item.producer_id, item.producer_epoch, item.verify_only = _unpack_qho(data, pos)
            pos += 11
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = AddPartitionsToTxnTopic.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[AddPartitionsToTxnTransaction], int]]:
        check_count(count)
        items: list[AddPartitionsToTxnTransaction] = []
        for _ in range(count):
            item = new(AddPartitionsToTxnTransaction)
            item.transactional_id, pos = read_compact_string(data, pos)
            item.producer_id, item.producer_epoch, item.verify_only = _unpack_qho(data, pos)
            pos += 11
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from AddPartitionsToTxnTopic.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class AddPartitionsToTxnRequest(Message):
    FIELDS = (
        "transactions",
        "v3_and_below_transactional_id",
        "v3_and_below_producer_id",
        "v3_and_below_producer_epoch",
        "v3_and_below_topics",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 24
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int | None] = 3

    transactions: list[AddPartitionsToTxnTransaction]
    v3_and_below_transactional_id: str
    v3_and_below_producer_id: int
    v3_and_below_producer_epoch: int
    v3_and_below_topics: list[AddPartitionsToTxnTopic]

    def __init__(
        self,
        *,
        transactions: list[AddPartitionsToTxnTransaction] = UNSET,
        v3_and_below_transactional_id: str = "",
        v3_and_below_producer_id: int = 0,
        v3_and_below_producer_epoch: int = 0,
        v3_and_below_topics: list[AddPartitionsToTxnTopic] = UNSET,
    ) -> None:
        self.transactions = [] if transactions is UNSET else transactions
        self.v3_and_below_transactional_id = v3_and_below_transactional_id
        self.v3_and_below_producer_id = v3_and_below_producer_id
        self.v3_and_below_producer_epoch = v3_and_below_producer_epoch
        self.v3_and_below_topics = [] if v3_and_below_topics is UNSET else v3_and_below_topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AddPartitionsToTxnRequest], version: int) -> None:
        buf = out.buffer
        if version >= 3:
            for item in items:
                if version >= 4:
                    buf += compact_array_count(item.transactions)
                    AddPartitionsToTxnTransaction.write_all(out, item.transactions, version)
                else:
                    if item.transactions:
                        raise no_such_field("AddPartitionsToTxnRequest", "transactions", version)
                if version >= 4:
                    if item.v3_and_below_transactional_id != "":
                        raise no_such_field("AddPartitionsToTxnRequest", "v3_and_below_transactional_id", version)
                    if item.v3_and_below_producer_id != 0:
                        raise no_such_field("AddPartitionsToTxnRequest", "v3_and_below_producer_id", version)
                    if item.v3_and_below_producer_epoch != 0:
                        raise no_such_field("AddPartitionsToTxnRequest", "v3_and_below_producer_epoch", version)
                    if item.v3_and_below_topics:
                        raise no_such_field("AddPartitionsToTxnRequest", "v3_and_below_topics", version)
                else:
                    buf += compact_string(item.v3_and_below_transactional_id)
                    buf += _pack_qh(item.v3_and_below_producer_id, item.v3_and_below_producer_epoch)
                    buf += compact_array_count(item.v3_and_below_topics)
                    AddPartitionsToTxnTopic.write_all(out, item.v3_and_below_topics, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if item.transactions:
                raise no_such_field("AddPartitionsToTxnRequest", "transactions", version)
            buf += string(item.v3_and_below_transactional_id)
            buf += _pack_qh(item.v3_and_below_producer_id, item.v3_and_below_producer_epoch)
            buf += array_count(item.v3_and_below_topics)
            AddPartitionsToTxnTopic.write_all(out, item.v3_and_below_topics, version)
            if item.unknown_tags:
                raise no_tags("AddPartitionsToTxnRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AddPartitionsToTxnRequest], int]:
        items: list[AddPartitionsToTxnRequest] = []
        if version >= 3:
            for _ in range(count):
                item = new(AddPartitionsToTxnRequest)
                if version >= 4:
                    size, pos = read_compact_count(data, pos, 14)
                    if size < 0:
                        raise null_sent("transactions")
                    item.transactions, pos = AddPartitionsToTxnTransaction.read_all(data, pos, version, size)
                else:
                    item.transactions = []
                if version >= 4:
                    item.v3_and_below_transactional_id = ""
                    item.v3_and_below_producer_id = 0
                    item.v3_and_below_producer_epoch = 0
                    item.v3_and_below_topics = []
                else:
                    item.v3_and_below_transactional_id, pos = read_compact_string(data, pos)
                    item.v3_and_below_producer_id, item.v3_and_below_producer_epoch = _unpack_qh(data, pos)
                    pos += 10
                    size, pos = read_compact_count(data, pos, 3)
                    if size < 0:
                        raise null_sent("v3_and_below_topics")
                    item.v3_and_below_topics, pos = AddPartitionsToTxnTopic.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(AddPartitionsToTxnRequest)
            item.transactions = []
            item.v3_and_below_transactional_id, pos = read_string(data, pos)
            item.v3_and_below_producer_id, item.v3_and_below_producer_epoch = _unpack_qh(data, pos)
            pos += 10
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("v3_and_below_topics")
            item.v3_and_below_topics, pos = AddPartitionsToTxnTopic.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[AddPartitionsToTxnRequest], int]]:
        check_count(count)
        items: list[AddPartitionsToTxnRequest] = []
        if version >= 3:
            for _ in range(count):
                item = new(AddPartitionsToTxnRequest)
                if version >= 4:
                    size, pos = read_compact_count(data, pos, 14)
                    if size < 0:
                        raise null_sent("transactions")
                    item.transactions, pos = yield from AddPartitionsToTxnTransaction.read_slices(
                        data,
                        pos,
                        version,
                        size,
                    )
                else:
                    item.transactions = []
                if version >= 4:
                    item.v3_and_below_transactional_id = ""
                    item.v3_and_below_producer_id = 0
                    item.v3_and_below_producer_epoch = 0
                    item.v3_and_below_topics = []
                else:
                    item.v3_and_below_transactional_id, pos = read_compact_string(data, pos)
                    item.v3_and_below_producer_id, item.v3_and_below_producer_epoch = _unpack_qh(data, pos)
                    pos += 10
                    size, pos = read_compact_count(data, pos, 3)
                    if size < 0:
                        raise null_sent("v3_and_below_topics")
                    item.v3_and_below_topics, pos = yield from AddPartitionsToTxnTopic.read_slices(
                        data,
                        pos,
                        version,
                        size,
                    )
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(AddPartitionsToTxnRequest)
            item.transactions = []
            item.v3_and_below_transactional_id, pos = read_string(data, pos)
            item.v3_and_below_producer_id, item.v3_and_below_producer_epoch = _unpack_qh(data, pos)
            pos += 10
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("v3_and_below_topics")
            item.v3_and_below_topics, pos = yield from AddPartitionsToTxnTopic.read_slices(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class AddPartitionsToTxnPartitionResult(Struct):
    FIELDS = ("partition_index", "partition_error_code")
    __slots__ = FIELDS

    partition_index: int
    partition_error_code: int

    def __init__(self, *, partition_index: int = 0, partition_error_code: int = 0) -> None:
        self.partition_index = partition_index
        self.partition_error_code = partition_error_code
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AddPartitionsToTxnPartitionResult], version: int) -> None:
        buf = out.buffer
        if version >= 3:
            for item in items:
                buf += _pack_ih(item.partition_index, item.partition_error_code)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_ih(item.partition_index, item.partition_error_code)
            if item.unknown_tags:
                raise no_tags("AddPartitionsToTxnPartitionResult", version)

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[AddPartitionsToTxnPartitionResult], int]:
        items: list[AddPartitionsToTxnPartitionResult] = []
        if version >= 3:
            for _ in range(count):
                item = new(AddPartitionsToTxnPartitionResult)
                item.partition_index, item.partition_error_code = _unpack_ih(data, pos)
                pos += 6
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(AddPartitionsToTxnPartitionResult)
            item.partition_index, item.partition_error_code = _unpack_ih(data, pos)
            pos += 6
            item.unknown_tags = None
            items.append(item)
        return items, pos


class AddPartitionsToTxnTopicResult(Struct):
    FIELDS = ("name", "results_by_partition")
    __slots__ = FIELDS

    name: str
    results_by_partition: list[AddPartitionsToTxnPartitionResult]

    def __init__(
        self,
        *,
        name: str = "",
        results_by_partition: list[AddPartitionsToTxnPartitionResult] = UNSET,
    ) -> None:
        self.name = name
        self.results_by_partition = [] if results_by_partition is UNSET else results_by_partition
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AddPartitionsToTxnTopicResult], version: int) -> None:
        buf = out.buffer
        if version >= 3:
            for item in items:
                buf += compact_string(item.name)
                buf += compact_array_count(item.results_by_partition)
                AddPartitionsToTxnPartitionResult.write_all(out, item.results_by_partition, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += string(item.name)
            buf += array_count(item.results_by_partition)
            AddPartitionsToTxnPartitionResult.write_all(out, item.results_by_partition, version)
            if item.unknown_tags:
                raise no_tags("AddPartitionsToTxnTopicResult", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AddPartitionsToTxnTopicResult], int]:
        items: list[AddPartitionsToTxnTopicResult] = []
        if version >= 3:
            for _ in range(count):
                item = new(AddPartitionsToTxnTopicResult)
                item.name, pos = read_compact_string(data, pos)
                size, pos = read_compact_count(data, pos, 7)
                if size < 0:
                    raise null_sent("results_by_partition")
                item.results_by_partition, pos = AddPartitionsToTxnPartitionResult.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(AddPartitionsToTxnTopicResult)
            item.name, pos = read_string(data, pos)
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("results_by_partition")
            item.results_by_partition, pos = AddPartitionsToTxnPartitionResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[AddPartitionsToTxnTopicResult], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 3:
            for item in items:
                buf += compact_string(item.name)
                buf += compact_array_count(item.results_by_partition)
                yield from written_slices(
                    AddPartitionsToTxnPartitionResult.write_all,
                    out,
                    item.results_by_partition,
                    version,
                )
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += string(item.name)
            buf += array_count(item.results_by_partition)
            yield from written_slices(
                AddPartitionsToTxnPartitionResult.write_all,
                out,
                item.results_by_partition,
                version,
            )
            if item.unknown_tags:
                raise no_tags("AddPartitionsToTxnTopicResult", version)
            yield 1


class AddPartitionsToTxnResult(Struct):
    FIELDS = ("transactional_id", "topic_results")
    __slots__ = FIELDS

    transactional_id: str
    topic_results: list[AddPartitionsToTxnTopicResult]

    def __init__(
        self,
        *,
        transactional_id: str = "",
        topic_results: list[AddPartitionsToTxnTopicResult] = UNSET,
    ) -> None:
        self.transactional_id = transactional_id
        self.topic_results = [] if topic_results is UNSET else topic_results
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AddPartitionsToTxnResult], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.transactional_id)
            buf += compact_array_count(item.topic_results)
            AddPartitionsToTxnTopicResult.write_all(out, item.topic_results, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AddPartitionsToTxnResult], int]:
        items: list[AddPartitionsToTxnResult] = []
        for _ in range(count):
            item = new(AddPartitionsToTxnResult)
            item.transactional_id, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topic_results")
            item.topic_results, pos = AddPartitionsToTxnTopicResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[AddPartitionsToTxnResult], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.transactional_id)
            buf += compact_array_count(item.topic_results)
            yield from AddPartitionsToTxnTopicResult.write_slices(out, item.topic_results, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class AddPartitionsToTxnResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "results_by_transaction", "results_by_topic_v3_and_below")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 24
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_SINCE: ClassVar[int | None] = 3

    throttle_time_ms: int
    error_code: int
    results_by_transaction: list[AddPartitionsToTxnResult]
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results_by_transaction: list[AddPartitionsToTxnResult] = UNSET,
        results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results_by_transaction = [] if results_by_transaction is UNSET else results_by_transaction
        self.results_by_topic_v3_and_below = (
            [] if results_by_topic_v3_and_below is UNSET else results_by_topic_v3_and_below
        )
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[AddPartitionsToTxnResponse], version: int) -> None:
        buf = out.buffer
        if version >= 3:
            for item in items:
                if version >= 4:
                    buf += _pack_ih(item.throttle_time_ms, item.error_code)
                else:
                    buf += _pack_i(item.throttle_time_ms)
                if version >= 4:
                    buf += compact_array_count(item.results_by_transaction)
                    AddPartitionsToTxnResult.write_all(out, item.results_by_transaction, version)
                else:
                    if item.results_by_transaction:
                        raise no_such_field("AddPartitionsToTxnResponse", "results_by_transaction", version)
                if version >= 4:
                    if item.results_by_topic_v3_and_below:
                        raise no_such_field("AddPartitionsToTxnResponse", "results_by_topic_v3_and_below", version)
                else:
                    buf += compact_array_count(item.results_by_topic_v3_and_below)
                    AddPartitionsToTxnTopicResult.write_all(out, item.results_by_topic_v3_and_below, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            if item.results_by_transaction:
                raise no_such_field("AddPartitionsToTxnResponse", "results_by_transaction", version)
            buf += array_count(item.results_by_topic_v3_and_below)
            AddPartitionsToTxnTopicResult.write_all(out, item.results_by_topic_v3_and_below, version)
            if item.unknown_tags:
                raise no_tags("AddPartitionsToTxnResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[AddPartitionsToTxnResponse], int]:
        items: list[AddPartitionsToTxnResponse] = []
        if version >= 3:
            for _ in range(count):
                item = new(AddPartitionsToTxnResponse)
                if version >= 4:
                    item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
                    pos += 6
                else:
                    (item.throttle_time_ms,) = _unpack_i(data, pos)
                    pos += 4
                    item.error_code = 0
                if version >= 4:
                    size, pos = read_compact_count(data, pos, 3)
                    if size < 0:
                        raise null_sent("results_by_transaction")
                    item.results_by_transaction, pos = AddPartitionsToTxnResult.read_all(data, pos, version, size)
                else:
                    item.results_by_transaction = []
                if version >= 4:
                    item.results_by_topic_v3_and_below = []
                else:
                    size, pos = read_compact_count(data, pos, 3)
                    if size < 0:
                        raise null_sent("results_by_topic_v3_and_below")
                    item.results_by_topic_v3_and_below, pos = AddPartitionsToTxnTopicResult.read_all(
                        data,
                        pos,
                        version,
                        size,
                    )
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(AddPartitionsToTxnResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            item.error_code = 0
            item.results_by_transaction = []
            size, pos = read_count(data, pos, 6)
            if size < 0:
                raise null_sent("results_by_topic_v3_and_below")
            item.results_by_topic_v3_and_below, pos = AddPartitionsToTxnTopicResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[AddPartitionsToTxnResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 3:
            for item in items:
                if version >= 4:
                    buf += _pack_ih(item.throttle_time_ms, item.error_code)
                else:
                    buf += _pack_i(item.throttle_time_ms)
                if version >= 4:
                    buf += compact_array_count(item.results_by_transaction)
                    yield from AddPartitionsToTxnResult.write_slices(out, item.results_by_transaction, version)
                else:
                    if item.results_by_transaction:
                        raise no_such_field("AddPartitionsToTxnResponse", "results_by_transaction", version)
                if version >= 4:
                    if item.results_by_topic_v3_and_below:
                        raise no_such_field("AddPartitionsToTxnResponse", "results_by_topic_v3_and_below", version)
                else:
                    buf += compact_array_count(item.results_by_topic_v3_and_below)
                    yield from AddPartitionsToTxnTopicResult.write_slices(
                        out,
                        item.results_by_topic_v3_and_below,
                        version,
                    )
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            if item.results_by_transaction:
                raise no_such_field("AddPartitionsToTxnResponse", "results_by_transaction", version)
            buf += array_count(item.results_by_topic_v3_and_below)
            yield from AddPartitionsToTxnTopicResult.write_slices(out, item.results_by_topic_v3_and_below, version)
            if item.unknown_tags:
                raise no_tags("AddPartitionsToTxnResponse", version)
            yield 1
