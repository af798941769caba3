# Generated from schema/write_txn_markers.wire by tools/generate_messages.py: do not edit.
"""WriteTxnMarkers: the transaction coordinator has partitions write their commit or abort markers.

Since version
   1  flexible
   2  transaction version
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, compact_int32s, read_compact_count, read_compact_int32s
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import compact_string, fixed, null_sent, read_compact_string
from moldau.protocol.slices import Slices, check_count, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_i, _unpack_i = fixed("i")
_pack_ib, _unpack_ib = fixed("ib")
_pack_ih, _unpack_ih = fixed("ih")
_pack_q, _unpack_q = fixed("q")
_pack_qho, _unpack_qho = fixed("qh?")


class WritableTxnMarkerTopic(Struct):
    FIELDS = ("name", "partition_indexes")
    __slots__ = FIELDS

    name: str
    partition_indexes: list[int]

    def __init__(self, *, name: str = "", partition_indexes: list[int] = UNSET) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is UNSET else partition_indexes
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[WritableTxnMarkerTopic], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += compact_int32s(item.partition_indexes)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[WritableTxnMarkerTopic], int]:
        items: list[WritableTxnMarkerTopic] = []
        for _ in range(count):
            item = new(WritableTxnMarkerTopic)
            item.name, pos = read_compact_string(data, pos)
            item.partition_indexes, pos = read_compact_int32s(data, pos)
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
    ) -> Slices[tuple[list[WritableTxnMarkerTopic], int]]:
        check_count(count)
        items: list[WritableTxnMarkerTopic] = []
        for _ in range(count):
            item = new(WritableTxnMarkerTopic)
            item.name, pos = read_compact_string(data, pos)
            item.partition_indexes, pos = read_compact_int32s(data, pos)
            yield len(item.partition_indexes)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class WritableTxnMarker(Struct):
    FIELDS = (
        "producer_id",
        "producer_epoch",
        "transaction_result",
        "topics",
        "coordinator_epoch",
        "transaction_version",
    )
    __slots__ = FIELDS

    producer_id: int
    producer_epoch: int
    transaction_result: bool
    topics: list[WritableTxnMarkerTopic]
    coordinator_epoch: int
    transaction_version: int

    def __init__(
        self,
        *,
        producer_id: int = 0,
        producer_epoch: int = 0,
        transaction_result: bool = False,
        topics: list[WritableTxnMarkerTopic] = UNSET,
        coordinator_epoch: int = 0,
        transaction_version: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.transaction_result = transaction_result
        self.topics = [] if topics is UNSET else topics
        self.coordinator_epoch = coordinator_epoch
        self.transaction_version = transaction_version
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[WritableTxnMarker], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_qho(item.producer_id, item.producer_epoch, item.transaction_result)
            buf += compact_array_count(item.topics)
            WritableTxnMarkerTopic.write_all(out, item.topics, version)
            if version >= 2:
                buf += _pack_ib(item.coordinator_epoch, item.transaction_version)
            else:
                buf += _pack_i(item.coordinator_epoch)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[WritableTxnMarker], int]:
        items: list[WritableTxnMarker] = []
        for _ in range(count):
            item = new(WritableTxnMarker)
            item.producer_id, item.producer_epoch, item.transaction_result = _unpack_qho(data, pos)
            pos += 11
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = WritableTxnMarkerTopic.read_all(data, pos, version, size)
            if version >= 2:
                item.coordinator_epoch, item.transaction_version = _unpack_ib(data, pos)
                pos += 5
            else:
                (item.coordinator_epoch,) = _unpack_i(data, pos)
                pos += 4
                item.transaction_version = 0
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[WritableTxnMarker], int]]:
        check_count(count)
        items: list[WritableTxnMarker] = []
        for _ in range(count):
            item = new(WritableTxnMarker)
            item.producer_id, item.producer_epoch, item.transaction_result = _unpack_qho(data, pos)
            pos += 11
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from WritableTxnMarkerTopic.read_slices(data, pos, version, size)
            if version >= 2:
                item.coordinator_epoch, item.transaction_version = _unpack_ib(data, pos)
                pos += 5
            else:
                (item.coordinator_epoch,) = _unpack_i(data, pos)
                pos += 4
                item.transaction_version = 0
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class WriteTxnMarkersRequest(Message):
    FIELDS = ("markers",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 27
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 1

    markers: list[WritableTxnMarker]

    def __init__(self, *, markers: list[WritableTxnMarker] = UNSET) -> None:
        self.markers = [] if markers is UNSET else markers
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[WriteTxnMarkersRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.markers)
            WritableTxnMarker.write_all(out, item.markers, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[WriteTxnMarkersRequest], int]:
        items: list[WriteTxnMarkersRequest] = []
        for _ in range(count):
            item = new(WriteTxnMarkersRequest)
            size, pos = read_compact_count(data, pos, 17)
            if size < 0:
                raise null_sent("markers")
            item.markers, pos = WritableTxnMarker.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[WriteTxnMarkersRequest], int]]:
        check_count(count)
        items: list[WriteTxnMarkersRequest] = []
        for _ in range(count):
            item = new(WriteTxnMarkersRequest)
            size, pos = read_compact_count(data, pos, 17)
            if size < 0:
                raise null_sent("markers")
            item.markers, pos = yield from WritableTxnMarker.read_slices(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class WritableTxnMarkerPartitionResult(Struct):
    FIELDS = ("partition_index", "error_code")
    __slots__ = FIELDS

    partition_index: int
    error_code: int

    def __init__(self, *, partition_index: int = 0, error_code: int = 0) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[WritableTxnMarkerPartitionResult], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.partition_index, item.error_code)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[WritableTxnMarkerPartitionResult], int]:
        items: list[WritableTxnMarkerPartitionResult] = []
        for _ in range(count):
            item = new(WritableTxnMarkerPartitionResult)
            item.partition_index, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class WritableTxnMarkerTopicResult(Struct):
    FIELDS = ("name", "partitions")
    __slots__ = FIELDS

    name: str
    partitions: list[WritableTxnMarkerPartitionResult]

    def __init__(self, *, name: str = "", partitions: list[WritableTxnMarkerPartitionResult] = UNSET) -> None:
        self.name = name
        self.partitions = [] if partitions is UNSET else partitions
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[WritableTxnMarkerTopicResult], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += compact_array_count(item.partitions)
            WritableTxnMarkerPartitionResult.write_all(out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[WritableTxnMarkerTopicResult], int]:
        items: list[WritableTxnMarkerTopicResult] = []
        for _ in range(count):
            item = new(WritableTxnMarkerTopicResult)
            item.name, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 7)
            if size < 0:
                raise null_sent("partitions")
            item.partitions, pos = WritableTxnMarkerPartitionResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[WritableTxnMarkerTopicResult], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.name)
            buf += compact_array_count(item.partitions)
            yield from written_slices(WritableTxnMarkerPartitionResult.write_all, out, item.partitions, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class WritableTxnMarkerResult(Struct):
    FIELDS = ("producer_id", "topics")
    __slots__ = FIELDS

    producer_id: int
    topics: list[WritableTxnMarkerTopicResult]

    def __init__(self, *, producer_id: int = 0, topics: list[WritableTxnMarkerTopicResult] = UNSET) -> None:
        self.producer_id = producer_id
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[WritableTxnMarkerResult], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_q(item.producer_id)
            buf += compact_array_count(item.topics)
            WritableTxnMarkerTopicResult.write_all(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[WritableTxnMarkerResult], int]:
        items: list[WritableTxnMarkerResult] = []
        for _ in range(count):
            item = new(WritableTxnMarkerResult)
            (item.producer_id,) = _unpack_q(data, pos)
            pos += 8
            size, pos = read_compact_count(data, pos, 3)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = WritableTxnMarkerTopicResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[WritableTxnMarkerResult], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_q(item.producer_id)
            buf += compact_array_count(item.topics)
            yield from WritableTxnMarkerTopicResult.write_slices(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1


class WriteTxnMarkersResponse(Message):
    FIELDS = ("markers",)
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 27
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 1

    markers: list[WritableTxnMarkerResult]

    def __init__(self, *, markers: list[WritableTxnMarkerResult] = UNSET) -> None:
        self.markers = [] if markers is UNSET else markers
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[WriteTxnMarkersResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.markers)
            WritableTxnMarkerResult.write_all(out, item.markers, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[WriteTxnMarkersResponse], int]:
        items: list[WriteTxnMarkersResponse] = []
        for _ in range(count):
            item = new(WriteTxnMarkersResponse)
            size, pos = read_compact_count(data, pos, 10)
            if size < 0:
                raise null_sent("markers")
            item.markers, pos = WritableTxnMarkerResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[WriteTxnMarkersResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += compact_array_count(item.markers)
            yield from WritableTxnMarkerResult.write_slices(out, item.markers, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
