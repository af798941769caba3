"""What a leader demands of records before it writes them, and what it changes in them.

The common case touches the header only: one batch of format 2, uncompressed, of a topic without compaction. Its
size, checksum, counts and timestamps are all there. A batch is opened where the header cannot answer: compressed
ones (is what they announce inside?), compacted topics (does every record have a key?), a lower limit for timestamps,
and everything that has to be written anew (another codec, the formats 0 and 1).

Refusals carry Kafka's codes. Where single records are at fault, they are named.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from moldau._speed import BatchHeader, Record, read_header, scan_batches, set_max_timestamp
from moldau.config.topic import LogConfig
from moldau.errors import ErrorCode, InvalidRecordError, KafkaError, ProtocolError
from moldau.protocol.records import Compression, TimestampType, decode_batch, encode_batch, validate_batch
from moldau.storage.append_info import RecordError, RefusedRecords
from moldau.storage.origin import Origin
from moldau.types import NO_PRODUCER_ID, NO_TIMESTAMP

_CODECS: Final = {
    "uncompressed": Compression.NONE,
    "gzip": Compression.GZIP,
    "snappy": Compression.SNAPPY,
    "lz4": Compression.LZ4,
    "zstd": Compression.ZSTD,
}
_CLIENT: Final = Origin.CLIENT
_NO_LIMIT: Final = (1 << 63) - 1
_COMPRESSION: Final = 0x07
_APPEND_TIME: Final = 0x08
_CONTROL: Final = 0x20
_ERRORS_NAMED: Final = 3


# One batch of format 2 that may be written once it has its offsets: data (perhaps a rewritten copy), start, end,
# header, latest timestamp, append time (-1 if records keep their producer's). A plain tuple: made for every append.
ValidBatch: TypeAlias = tuple[memoryview, int, int, BatchHeader, int, int]


def validate(data: memoryview, start: int, end: int, config: LogConfig, origin: Origin, now_ms: int) -> ValidBatch:
    """Checks what a client or a coordinator wants to append. KafkaError if it may not be; `data` is then unchanged."""
    if end - start > 16 and data[start + 16] < 2:
        return _rewritten_message_set(data, start, end, config, now_ms)
    try:
        headers = scan_batches(data, start, end)
        if len(headers) != 1:
            raise InvalidRecordError(f"there must be one batch and there are {len(headers)}")
        header = headers[0]
        attributes = header.attributes
        if origin is _CLIENT and (
            header.base_offset != 0
            or header.count != header.last_offset_delta + 1
            or attributes & _CONTROL
            or (header.producer_id != NO_PRODUCER_ID and header.base_sequence < 0)
        ):
            _refuse_client_header(header)
        if end - start > config.max_message_bytes:
            raise too_large(end - start, config)
        codec = attributes & _COMPRESSION
        wanted = config.compression_type
        if wanted != "producer" and _CODECS[wanted] != codec and not attributes & _CONTROL:
            return _recompressed(data, start, end, header, config, now_ms)
        latest = header.max_timestamp
        if codec or config.compact or config.message_timestamp_before_max_ms != _NO_LIMIT:
            latest = _open_batch(data, start, end, header, config, now_ms)
    except InvalidRecordError as error:
        raise KafkaError(ErrorCode.INVALID_RECORD, f"The batch is not valid: {error}.") from error
    except ProtocolError as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"The batch is damaged: {error}.") from error
    if config.message_timestamp_type == "LogAppendTime":
        if attributes & _APPEND_TIME:
            _refuse_append_time(header)
        return data, start, end, header, now_ms, now_ms
    if latest - now_ms > config.message_timestamp_after_max_ms:
        _refuse_timestamps(decode_batch(data, start, end, check_crc=False), config, now_ms)
    if attributes & _APPEND_TIME or latest != header.max_timestamp:
        set_max_timestamp(data, start, TimestampType.CREATE_TIME, latest)
    return data, start, end, header, latest, NO_TIMESTAMP


def check_raft_batches(data: memoryview, start: int, end: int, leader_epoch: int) -> list[BatchHeader]:
    """The batches of the metadata quorum: whole, of the leader's epoch. Their offsets are the quorum's business."""
    try:
        headers = scan_batches(data, start, end)
    except ProtocolError as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"The batch is damaged: {error}.") from error
    if not headers:
        raise KafkaError(ErrorCode.INVALID_RECORD, "There is no batch to append.")
    if any(header.partition_leader_epoch != leader_epoch for header in headers):
        raise KafkaError(ErrorCode.INVALID_RECORD, f"A batch does not carry the leader's epoch {leader_epoch}.")
    return headers


def too_large(size: int, config: LogConfig) -> KafkaError:
    return KafkaError(
        ErrorCode.MESSAGE_TOO_LARGE,
        f"The batch has {size} bytes; the topic takes up to {config.max_message_bytes} (max.message.bytes).",
    )


def _refuse_client_header(header: BatchHeader) -> None:
    if header.base_offset != 0:
        raise InvalidRecordError(f"its offsets begin with {header.base_offset} instead of 0")
    if header.count != header.last_offset_delta + 1 or header.count <= 0:
        raise InvalidRecordError(f"it announces {header.count} records for {header.last_offset_delta + 1} offsets")
    if header.attributes & _CONTROL:
        raise InvalidRecordError("clients may not write control records")
    raise InvalidRecordError(f"producer {header.producer_id} gave it the sequence {header.base_sequence}")


def _open_batch(data: memoryview, start: int, end: int, header: BatchHeader, config: LogConfig, now_ms: int) -> int:
    """Looks at the records; returns their latest timestamp, which the header may have wrong."""
    if header.attributes & _CONTROL:
        return header.max_timestamp
    summary = validate_batch(header, data, start)
    if config.compact and summary.first_without_key >= 0:
        _refuse_keyless(decode_batch(data, start, end, check_crc=False))
    if (
        config.message_timestamp_type == "CreateTime"
        and now_ms - summary.min_timestamp > config.message_timestamp_before_max_ms
    ):
        _refuse_timestamps(decode_batch(data, start, end, check_crc=False), config, now_ms)
    return summary.max_timestamp


# ------------------------------------------------------------------------------------------------ rewriting


def _recompressed(
    data: memoryview, start: int, end: int, header: BatchHeader, config: LogConfig, now_ms: int
) -> ValidBatch:
    """The batch in the codec the topic asks for."""
    if header.attributes & _APPEND_TIME and config.message_timestamp_type == "LogAppendTime":
        _refuse_append_time(header)
    if header.count:
        validate_batch(header, data, start)
    records = decode_batch(data, start, end, check_crc=False)
    return _encoded(records, config, now_ms, _CODECS[config.compression_type], header)


def _rewritten_message_set(data: memoryview, start: int, end: int, config: LogConfig, now_ms: int) -> ValidBatch:
    """Messages of formats 0 and 1 become one batch of format 2, as they are stored since."""
    try:
        records = decode_batch(data, start, end)
        codec = data[start + 17] & _COMPRESSION
    except InvalidRecordError as error:
        raise KafkaError(ErrorCode.INVALID_RECORD, f"The messages are not valid: {error}.") from error
    except ProtocolError as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"The messages are damaged: {error}.") from error
    if not records:
        raise KafkaError(ErrorCode.INVALID_RECORD, "There are no messages to append.")
    wanted = config.compression_type
    return _encoded(records, config, now_ms, _CODECS.get(wanted, Compression(codec)), None)


def _encoded(
    records: list[Record], config: LogConfig, now_ms: int, codec: Compression, like: BatchHeader | None
) -> ValidBatch:
    """Records as a new batch with consecutive offsets; `like` is the batch whose producer and flags it keeps."""
    if config.compact and any(record.key is None for record in records):
        _refuse_keyless(records)
    append_time = config.message_timestamp_type == "LogAppendTime"
    if not append_time:
        _check_timestamps(records, config, now_ms)
    latest = now_ms if append_time else max(record.timestamp for record in records)
    batch = bytearray(
        encode_batch(
            [(record.timestamp, record.key, record.value, record.headers) for record in records],
            compression=codec,
            level=_level(codec, config),
            producer_id=like.producer_id if like else -1,
            producer_epoch=like.producer_epoch if like else -1,
            base_sequence=like.base_sequence if like else -1,
            is_transactional=like.is_transactional if like else False,
        )
    )
    if len(batch) > config.max_message_bytes:
        raise too_large(len(batch), config)
    stamp = now_ms if append_time else NO_TIMESTAMP
    return memoryview(batch), 0, len(batch), read_header(batch), latest, stamp


def _level(codec: Compression, config: LogConfig) -> int | None:
    if codec == Compression.GZIP:
        return config.compression_gzip_level
    if codec == Compression.LZ4:
        return config.compression_lz4_level
    if codec == Compression.ZSTD:
        return config.compression_zstd_level
    return None


# ------------------------------------------------------------------------------------------------- refusals


def _check_timestamps(records: list[Record], config: LogConfig, now_ms: int) -> None:
    times = [record.timestamp for record in records if record.timestamp != NO_TIMESTAMP]
    if times and not (
        now_ms - min(times) <= config.message_timestamp_before_max_ms
        and max(times) - now_ms <= config.message_timestamp_after_max_ms
    ):
        _refuse_timestamps(records, config, now_ms)


def _refuse_timestamps(records: list[Record], config: LogConfig, now_ms: int) -> None:
    """Names the records outside the range. Records without a timestamp are never outside."""
    earliest = now_ms - config.message_timestamp_before_max_ms
    latest = now_ms + config.message_timestamp_after_max_ms
    errors = tuple(
        RecordError(index, f"The timestamp {record.timestamp} is not between {earliest} and {latest}.")
        for index, record in enumerate(records)
        if record.timestamp != NO_TIMESTAMP and not earliest <= record.timestamp <= latest
    )
    if errors:
        raise RefusedRecords(
            ErrorCode.INVALID_TIMESTAMP, f"{len(errors)} records have timestamps out of range.", errors
        )


def _refuse_append_time(header: BatchHeader) -> None:
    message = "A producer may not mark its timestamps as LogAppendTime."
    errors = tuple(RecordError(index, message) for index in range(min(header.count, _ERRORS_NAMED)))
    raise RefusedRecords(ErrorCode.INVALID_TIMESTAMP, message, errors)


def _refuse_keyless(records: list[Record]) -> None:
    errors = tuple(
        RecordError(index, "A record of a compacted topic needs a key.")
        for index, record in enumerate(records)
        if record.key is None
    )
    raise RefusedRecords(ErrorCode.INVALID_RECORD, f"{len(errors)} records have no key.", errors)
