"""Coordinator records as bytes: the framing of `__consumer_offsets` and `__transaction_state`.

A key is two bytes of type and the body; a value is two bytes of version and the body. Bodies of keys have only one
version, so that equal keys are equal bytes and compaction can tell. A change is one batch of records, or several.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from struct import Struct
from typing import Any, Final, NamedTuple

from moldau._speed.layout import HEADER_SIZE
from moldau.coordinator.shard import CoordinatorRecord, Result
from moldau.errors import ErrorCode, KafkaError, ProtocolError
from moldau.protocol.message import Message
from moldau.protocol.records import BatchBuilder, BatchFields
from moldau.protocol.wire import Writer
from moldau.slicing import Work, run_whole
from moldau.types import TopicPartition

logger = logging.getLogger("moldau.coordinator")

# What a record costs at most besides key and value.
_RECORD_OVERHEAD: Final = 40
# Records that are looked for and encoded between two pauses.
_PIECE: Final = 32
# Bytes of a value that is decoded in one go: those of offsets are, and they are very many.
_SHORT: Final = 4096
_KEY_VERSION: Final = 0
_INT16: Final = Struct(">h")


class RecordType(NamedTuple):
    key: type[Message]
    value: type[Message]


# The records of one internal topic, by the number at the head of the key.
RecordTypes = Mapping[int, RecordType]


def encode_key(key: Message) -> bytes:
    return _INT16.pack(key.API_KEY) + key.encode(_KEY_VERSION)


def encode_value(record: CoordinatorRecord) -> Work[bytes | None]:
    if record.value is None:
        return None
    out = Writer()
    out.buffer += _INT16.pack(record.value_version)
    yield from record.value.write_in_slices(out, record.value_version)
    return bytes(out.buffer)


def decode_record(types: RecordTypes, key: bytes | None, value: bytes | None) -> CoordinatorRecord | None:
    """As `decode_in_slices`, in one go."""
    return run_whole(decode_in_slices(types, key, value))


def decode_in_slices(types: RecordTypes, key: bytes | None, value: bytes | None) -> Work[CoordinatorRecord | None]:
    """The record; None if a newer broker wrote it and its type is not known here, which is passed over.

    ProtocolError for bytes that make no sense, and for a version of a known value that is not known.
    """
    if key is None or len(key) < _INT16.size:
        raise ProtocolError("a coordinator record has no proper key")
    (number,) = _INT16.unpack_from(key)
    known = types.get(number)
    if known is None:
        return None
    decoded_key = known.key.decode(key[_INT16.size :], _KEY_VERSION)
    if value is None:
        return CoordinatorRecord(decoded_key, None)
    if len(value) < _INT16.size:
        raise ProtocolError(f"a {known.value.__name__} is too short to have a version")
    (version,) = _INT16.unpack_from(value)
    if not known.value.MIN_VERSION <= version <= known.value.MAX_VERSION:
        raise ProtocolError(
            f"a {known.value.__name__} has version {version}; "
            f"versions {known.value.MIN_VERSION} to {known.value.MAX_VERSION} are known"
        )
    if len(value) <= _SHORT:
        return CoordinatorRecord(decoded_key, known.value.decode(value[_INT16.size :], version), version)
    decoded = yield from known.value.decode_in_slices(memoryview(value)[_INT16.size :], version)
    return CoordinatorRecord(decoded_key, decoded, version)


class EncodedBatch(NamedTuple):
    records: Sequence[CoordinatorRecord]
    batch: bytes


def batches(
    result: Result[Any], partition: TopicPartition, limit: int, now_ms: int, fields: BatchFields
) -> Iterator[object]:
    """The records of a decision in one EncodedBatch, or in several where they may be cut and are too many for one;
    anything else is a pause. Of those that are known from the beginning no batch is there before all are seen to fit.

    KafkaError if a batch has more than `limit` bytes.
    """
    ready: list[EncodedBatch] = []
    records: list[CoordinatorRecord] = []
    size, builder, taken = 0, BatchBuilder(), 0
    found: Iterable[CoordinatorRecord | None] = result.records if result.stream is None else result.stream
    for number, record in enumerate(found, 1):
        if record is not None:
            key, value = encode_key(record.key), (yield from encode_value(record))
            cost = len(key) + len(value or b"") + _RECORD_OVERHEAD
            full = size + cost > limit - HEADER_SIZE
            if full and records and not result.atomic and taken >= result.together:
                ready.append(EncodedBatch(records, _built(builder, records, partition, limit, fields)))
                records, size, builder = [], 0, BatchBuilder()
                if result.stream is not None:
                    yield ready.pop()
            builder.append(now_ms, key, value, ())
            records.append(record)
            size += cost
            taken += 1
        if record is None or not number % _PIECE:
            yield None
    if records:
        ready.append(EncodedBatch(records, _built(builder, records, partition, limit, fields)))
    yield from ready


def batch_of_one(record: CoordinatorRecord, now_ms: int) -> bytes:
    """The batch of a decision that is one short record; whether it is too large the log knows."""
    value = record.value
    builder = BatchBuilder()
    encoded = None if value is None else _INT16.pack(record.value_version) + value.encode(record.value_version)
    builder.append(now_ms, encode_key(record.key), encoded, ())
    return builder.build()


def _built(
    builder: BatchBuilder,
    records: Sequence[CoordinatorRecord],
    partition: TopicPartition,
    limit: int,
    fields: BatchFields,
) -> bytes:
    batch = builder.build(**fields)
    if len(batch) > limit:
        refused = KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"The change takes {len(batch)} bytes in {partition}, which allows {limit} (max.message.bytes).",
        )
        # Nobody but the operator can do something about it, and most clients are told of a fault of the server.
        logger.warning("refused: %s It begins with %.200s.", refused.message, records[0].key)
        raise refused
    return batch
