"""What a leader demands of records before it writes them, and what it changes in them.

Every record is looked at. A header says how many there are, which is the latest and how long the batch is, and a
checksum says that the bytes arrived as they were sent: neither says that they are records. What is wrong inside would
stop every reader of the partition, and a timestamp from the future would keep its segment for ever. The kernel walks a
plain batch where it was received; a compressed one is unpacked first, and nothing of it is kept.

Unpacking is work that the sender decides over: a few kilobytes may hold gigabytes of records. What is more than
`AT_ONCE` of it, or than `PER_REQUEST` together, is left to somebody who has the time (`Postponed`,
`replica/preparation`), and is done there window by window.

Refusals carry Kafka's codes. Where single records are at fault, the first of them are named. Offsets inside a batch
that are not 0, 1, 2 and so on, and lengths below -1, are refused too: Kafka takes some of those, but its own
consumers do not read them as they were meant.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final, TypeAlias

from moldau._speed import (
    BatchHeader,
    Record,
    RecordsSummary,
    RecordWalk,
    check_records,
    open_batch,
    read_header,
    scan_batches,
    set_max_timestamp,
)
from moldau._speed.layout import (
    ATTRIBUTES_AT,
    COMPRESSION,
    CONTROL,
    FLAGS_AT,
    HEADER_SIZE,
    LENGTH_AT,
    MAGIC,
    MAGIC_AT,
    PREFIX_SIZE,
    TIMESTAMP_TYPE,
    TRANSACTIONAL,
)
from moldau.config.topic import LogConfig
from moldau.errors import ErrorCode, InvalidRecordError, KafkaError, ProtocolError
from moldau.protocol.records import (
    MAX_DECOMPRESSED,
    Compression,
    Oversized,
    TimestampType,
    decode_batch,
    decompress,
    encode_batch,
)
from moldau.protocol.records.streams import packer, windows
from moldau.storage.append_info import Patience, Postponed, RecordError, RefusedRecords
from moldau.storage.origin import Origin
from moldau.types import NO_PRODUCER_ID, NO_TIMESTAMP, Buffer

# So many bytes of records are unpacked while the loop waits, which takes it a few milliseconds, and so many packed.
AT_ONCE: Final = 1 << 20
PER_REQUEST: Final = 4 * AT_ONCE
PACKED_AT_ONCE: Final = 16 << 10

_CODECS: Final = {
    "uncompressed": Compression.NONE,
    "gzip": Compression.GZIP,
    "snappy": Compression.SNAPPY,
    "lz4": Compression.LZ4,
    "zstd": Compression.ZSTD,
}
_CLIENT: Final = Origin.CLIENT
_MIN_INT64: Final = -(1 << 63)
_MAX_INT64: Final = (1 << 63) - 1
_LENGTH: Final = Struct(">i")
_ERRORS_NAMED: Final = 100


# One batch of format 2 that may be written once it has its offsets: data (perhaps a rewritten copy), start, end,
# header, latest timestamp, append time (-1 if records keep their producer's). A plain tuple: made for every append.
ValidBatch: TypeAlias = tuple[memoryview, int, int, BatchHeader, int, int]


def validate(
    data: memoryview,
    start: int,
    end: int,
    config: LogConfig,
    origin: Origin,
    now_ms: int,
    patience: Patience | None = None,
) -> ValidBatch:
    """Checks what a client or a coordinator wants to append. KafkaError if it may not be; `data` is then unchanged.

    Whoever has no end of `patience` gets Postponed where the answer would take longer, and asks again elsewhere.
    """
    if end - start > config.max_message_bytes:
        raise too_large(end - start, config)
    if end - start > MAGIC_AT and data[start + MAGIC_AT] < MAGIC:
        return _rewritten_message_set(data, start, end, config, now_ms)
    append_time = config.message_timestamp_type == "LogAppendTime"
    earliest, latest = _MIN_INT64, _MAX_INT64
    if not append_time:
        earliest = now_ms - config.message_timestamp_before_max_ms
        latest = now_ms + config.message_timestamp_after_max_ms
        if latest > _MAX_INT64:
            latest = _MAX_INT64
    try:
        if start == end:
            raise InvalidRecordError("there is no batch")
        header, summary = open_batch(
            data, start, end, needs_key=config.compact, earliest=earliest, latest=latest, own_times=True
        )
    except ProtocolError as error:
        raise _refusal(error) from error
    attributes = header.attributes
    if header.length != end - start - PREFIX_SIZE or (
        origin is _CLIENT
        and (
            header.base_offset != 0
            or header.count != header.last_offset_delta + 1
            or attributes & CONTROL
            or (header.producer_id != NO_PRODUCER_ID and header.base_sequence < 0)
        )
    ):
        raise _refused_header(header, end - start)
    if attributes & TIMESTAMP_TYPE and (append_time or header.max_timestamp == NO_TIMESTAMP):
        raise _refused_append_time(header)
    wanted = config.compression_type
    packing = wanted != "producer" and _CODECS[wanted] != attributes & COMPRESSION and not attributes & CONTROL
    if packing or (summary is None and not attributes & CONTROL):
        opening = _Opening(data, start, end, header, config, earliest, latest)
        try:
            if packing:
                return opening.packed(_CODECS[wanted], summary, now_ms, patience)
            summary = opening.summary(patience)
        except ProtocolError as error:
            # The bytes arrived as they were sent: sending them again would not help.
            raise KafkaError(ErrorCode.INVALID_RECORD, f"The batch is not valid: {error}.") from error
    newest = header.max_timestamp
    if summary is not None:
        if summary.refused:
            raise _refused_records(summary, earliest, latest)
        newest = max(summary.max_timestamp, NO_TIMESTAMP)
    if append_time:
        return data, start, end, header, now_ms, now_ms
    if attributes & TIMESTAMP_TYPE or newest != header.max_timestamp:
        set_max_timestamp(data, start, TimestampType.CREATE_TIME, newest)
    return data, start, end, header, newest, NO_TIMESTAMP


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


def _refusal(error: ProtocolError) -> KafkaError:
    if isinstance(error, InvalidRecordError):
        return KafkaError(ErrorCode.INVALID_RECORD, f"The batch is not valid: {error}.")
    return KafkaError(ErrorCode.CORRUPT_MESSAGE, f"The batch is damaged: {error}.")


def _refused_header(header: BatchHeader, size: int) -> KafkaError:
    if header.size != size:
        reason = "there must be one batch and there are more"
    elif header.base_offset != 0:
        reason = f"its offsets begin with {header.base_offset} instead of 0"
    elif header.count != header.last_offset_delta + 1:
        reason = f"it announces {header.count} records for {header.last_offset_delta + 1} offsets"
    elif header.attributes & CONTROL:
        reason = "clients may not write control records"
    else:
        reason = f"producer {header.producer_id} gave it the sequence {header.base_sequence}"
    return KafkaError(ErrorCode.INVALID_RECORD, f"The batch is not valid: {reason}.")


# ------------------------------------------------------------------------------------------------- unpacking


class _Opening:
    """A batch whose records have to be unpacked, packed, or both."""

    def __init__(
        self,
        data: memoryview,
        start: int,
        end: int,
        header: BatchHeader,
        config: LogConfig,
        earliest: int,
        latest: int,
    ) -> None:
        self._head = data[start : start + HEADER_SIZE]
        self._body = data[start + HEADER_SIZE : end]
        self._header = header
        self._codec = header.attributes & COMPRESSION
        self._config = config
        self._earliest = earliest
        self._latest = latest

    def summary(self, patience: Patience | None) -> RecordsSummary:
        """What the records in a compressed batch are like."""
        if patience is not None and patience.left <= 0:
            raise Postponed
        try:
            body = decompress(self._codec, self._body, AT_ONCE)
        except Oversized:
            if patience is None:
                return self._walked()
            # It was tried: that took the time of so many bytes.
            patience.left -= AT_ONCE
            raise Postponed from None
        if patience is not None:
            patience.left -= len(body)
        return check_records(
            self._header,
            body,
            needs_key=self._config.compact,
            earliest=self._earliest,
            latest=self._latest,
            own_times=True,
        )

    def packed(
        self, codec: Compression, summary: RecordsSummary | None, now_ms: int, patience: Patience | None
    ) -> ValidBatch:
        """The batch in the codec the topic asks for: the same records under a header that says so."""
        if summary is not None and summary.refused:
            raise _refused_records(summary, self._earliest, self._latest)
        if patience is not None:
            if self._codec or len(self._body) > PACKED_AT_ONCE or patience.left <= 0:
                raise Postponed
            patience.left -= AT_ONCE // 4  # packing is that much slower
        config = self._config
        out = bytearray(self._head)
        stream = packer(codec, _level(codec, config))
        walked = self._walked(lambda window: out.extend(stream.compress(window)))
        out += stream.flush()
        if walked.refused:
            raise _refused_records(walked, self._earliest, self._latest)
        if len(out) > config.max_message_bytes:
            raise too_large(len(out), config)
        out[ATTRIBUTES_AT] = 0
        out[FLAGS_AT] = codec | self._header.attributes & TRANSACTIONAL
        _LENGTH.pack_into(out, LENGTH_AT, len(out) - PREFIX_SIZE)
        append_time = config.message_timestamp_type == "LogAppendTime"
        newest = now_ms if append_time else max(walked.max_timestamp, NO_TIMESTAMP)
        set_max_timestamp(out, 0, TimestampType.CREATE_TIME, newest)
        return memoryview(out), 0, len(out), read_header(out), newest, now_ms if append_time else NO_TIMESTAMP

    def _walked(self, then: Callable[[Buffer], None] | None = None) -> RecordsSummary:
        """Looks at the records window by window, and hands on what it has seen."""
        walk = RecordWalk(
            self._header,
            needs_key=self._config.compact,
            earliest=self._earliest,
            latest=self._latest,
            own_times=True,
        )
        # Compaction opens a batch in one piece.
        room = MAX_DECOMPRESSED if self._config.compact else _MAX_INT64
        for window in windows(self._codec, self._body):
            room -= len(window)
            if room < 0:
                raise KafkaError(
                    ErrorCode.MESSAGE_TOO_LARGE,
                    f"The batch unpacks to more than the {MAX_DECOMPRESSED} bytes that can be compacted.",
                )
            walk.feed(window)
            if then is not None:
                then(window)
        return walk.finish()


# ------------------------------------------------------------------------------------------------ rewriting


def _rewritten_message_set(data: memoryview, start: int, end: int, config: LogConfig, now_ms: int) -> ValidBatch:
    """Messages of formats 0 and 1 become one batch of format 2, as they are stored since."""
    try:
        records = decode_batch(data, start, end)
        codec = data[start + 17] & COMPRESSION
    except ProtocolError as error:
        raise _refusal(error) from error
    if not records:
        raise KafkaError(ErrorCode.INVALID_RECORD, "There are no messages to append.")
    wanted = config.compression_type
    return _encoded(records, config, now_ms, _CODECS.get(wanted, Compression(codec)))


def _encoded(records: list[Record], config: LogConfig, now_ms: int, codec: Compression) -> ValidBatch:
    """Records as a new batch with consecutive offsets."""
    append_time = config.message_timestamp_type == "LogAppendTime"
    _check_messages(records, config, now_ms, append_time)
    latest = now_ms if append_time else max(record.timestamp for record in records)
    batch = bytearray(
        encode_batch(
            [(record.timestamp, record.key, record.value, record.headers) for record in records],
            compression=codec,
            level=_level(codec, config),
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


def _check_messages(records: list[Record], config: LogConfig, now_ms: int, append_time: bool) -> None:
    """What the kernel asks of records of format 2, of those that had another."""
    earliest = _MIN_INT64 if append_time else now_ms - config.message_timestamp_before_max_ms
    latest = _MAX_INT64 if append_time else now_ms + config.message_timestamp_after_max_ms
    refusals = tuple(
        (index, record.timestamp, keyless)
        for index, record in enumerate(records)
        if (keyless := config.compact and record.key is None)
        or not (earliest <= record.timestamp <= latest or record.timestamp == NO_TIMESTAMP)
    )
    if refusals:
        named = refusals[:_ERRORS_NAMED]
        raise _refused_records(RecordsSummary(len(records), -1, -1, -1, len(refusals), named), earliest, latest)


def _refused_records(summary: RecordsSummary, earliest: int, latest: int) -> RefusedRecords:
    refusals = summary.refusals

    def named() -> tuple[RecordError, ...]:
        return tuple(
            RecordError(
                index,
                "A record of a compacted topic needs a key."
                if keyless
                else f"The timestamp {timestamp} is not between {earliest} and {latest}.",
            )
            for index, timestamp, keyless in refusals
        )

    if all(keyless for _, _, keyless in refusals):
        return RefusedRecords(ErrorCode.INVALID_RECORD, f"{summary.refused} records have no key.", named)
    return RefusedRecords(
        ErrorCode.INVALID_TIMESTAMP, f"{summary.refused} records are refused, some for their timestamps.", named
    )


def _refused_append_time(header: BatchHeader) -> RefusedRecords:
    message = "A producer may not mark its timestamps as LogAppendTime."
    count = min(header.count, _ERRORS_NAMED)
    return RefusedRecords(
        ErrorCode.INVALID_TIMESTAMP, message, lambda: tuple(RecordError(index, message) for index in range(count))
    )
