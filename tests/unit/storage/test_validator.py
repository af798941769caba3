from __future__ import annotations

import struct
import zlib

import pytest
from storage_kit import NOW, all_records, append, batch, marker, open_log, values_of

from moldau.config.topic import LogConfig
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.records import Compression, TimestampType, crc32c, read_header, scan_batches
from moldau.storage.append_info import RefusedRecords
from moldau.storage.log import Origin


def refusal(log, data, **more) -> KafkaError:
    before = bytes(data)
    end = log.log_end_offset
    with pytest.raises(KafkaError) as refused:
        append(log, data, **more)
    assert (bytes(data), log.log_end_offset, log.segments.size) == (before, end, 0)
    return refused.value


def with_checksum(data: memoryview) -> memoryview:
    """The batch after somebody changed it on purpose."""
    struct.pack_into(">I", data, 17, crc32c(data, 21))
    return data


def stored_headers(log):
    return scan_batches(log.segments.active.open_file().read(0, log.segments.size))


@pytest.fixture
def log(tmp_path):
    log = open_log(tmp_path)
    yield log
    log.close()


# ----------------------------------------------------------------------------------------------------- the batch


def test_a_batch_over_the_limit(tmp_path):
    size = len(batch(b"x" * 100))
    log = open_log(tmp_path, LogConfig(max_message_bytes=size - 1))
    refused = refusal(log, batch(b"x" * 100))
    assert (refused.code, f"has {size} bytes" in refused.message) == (ErrorCode.MESSAGE_TOO_LARGE, True)
    log.local.update_config(LogConfig(max_message_bytes=size))
    append(log, batch(b"x" * 100))
    log.close()


def test_a_wrong_checksum(log):
    data = batch(b"abc")
    data[-1] ^= 1
    assert refusal(log, data).code == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("magic", [3, 127, 255])
def test_a_format_nobody_knows(log, magic):
    data = batch(b"abc")
    data[16] = magic
    assert refusal(log, data).code == ErrorCode.CORRUPT_MESSAGE


def test_a_batch_that_is_not_whole(log):
    data = batch(b"abc")
    for end in (1, 16, 17, 30, 61, len(data) - 1):
        assert refusal(log, data[:end]).code == ErrorCode.CORRUPT_MESSAGE


def test_no_batch_and_two_batches(log):
    assert refusal(log, memoryview(bytearray())).code == ErrorCode.INVALID_RECORD
    two = memoryview(bytearray(bytes(batch(b"a")) * 2))
    assert refusal(log, two).code == ErrorCode.INVALID_RECORD


def test_clients_start_at_offset_zero(log):
    refused = refusal(log, batch(b"a", base_offset=5))
    assert (refused.code, "begin with 5 instead of 0" in refused.message) == (ErrorCode.INVALID_RECORD, True)
    assert append(log, batch(b"a", base_offset=5), origin=Origin.COORDINATOR).base_offset == 0


def test_clients_may_not_write_control_batches(log):
    assert "control" in refusal(log, marker(1, 0, commit=True)).message
    assert append(log, marker(1, 0, commit=True), origin=Origin.COORDINATOR).base_offset == 0


def test_the_count_must_fit_the_offsets(log):
    data = batch(b"a", b"b")
    struct.pack_into(">i", data, 57, 1)
    assert refusal(log, with_checksum(data)).code == ErrorCode.INVALID_RECORD
    empty = batch(b"a")
    struct.pack_into(">i", empty, 57, 0)
    assert refusal(log, with_checksum(empty)).code == ErrorCode.INVALID_RECORD


def test_a_producer_needs_a_sequence(log):
    data = batch(b"a", producer_id=3, producer_epoch=0, base_sequence=-1)
    assert refusal(log, data).code == ErrorCode.INVALID_RECORD


# -------------------------------------------------------------------------------------------------- compressed ones


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.SNAPPY, Compression.LZ4, Compression.ZSTD])
def test_compressed_batches_are_opened_and_stored_as_they_came(log, codec):
    data = batch(*[b"x" * 50] * 20, compression=codec)
    sent = bytes(data[61:])
    append(log, data)
    assert len(all_records(log)) == 20
    stored = log.segments.active.open_file().read(0, log.segments.size)
    assert stored[61:] == sent
    assert stored_headers(log)[0].compression == codec


def test_compressed_batches_must_hold_what_they_announce(log):
    data = batch(b"a", b"b", b"c", compression=Compression.LZ4)
    struct.pack_into(">i", data, 23, 3)
    struct.pack_into(">i", data, 57, 4)
    assert refusal(log, with_checksum(data)).code == ErrorCode.INVALID_RECORD


def test_compressed_bytes_that_are_none(log):
    data = batch(b"a" * 100, compression=Compression.GZIP)
    data[61:] = bytes(len(data) - 61)
    assert refusal(log, with_checksum(data)).code == ErrorCode.INVALID_RECORD


def test_a_wrong_max_timestamp_is_put_right_in_compressed_batches(log):
    data = batch(b"a", b"b", timestamps=[NOW, NOW + 7], compression=Compression.ZSTD, max_timestamp=NOW + 1)
    assert append(log, data).max_timestamp == NOW + 7
    assert stored_headers(log)[0].max_timestamp == NOW + 7
    assert [record.timestamp for record in all_records(log)] == [NOW, NOW + 7]


@pytest.mark.parametrize(
    ("sent", "wanted"),
    [
        (Compression.NONE, "zstd"),
        (Compression.GZIP, "lz4"),
        (Compression.LZ4, "uncompressed"),
        (Compression.SNAPPY, "gzip"),
        (Compression.ZSTD, "snappy"),
    ],
)
def test_the_topic_may_ask_for_another_codec(tmp_path, sent, wanted):
    codecs = {"zstd": 4, "lz4": 3, "uncompressed": 0, "gzip": 1, "snappy": 2}
    log = open_log(tmp_path, LogConfig(compression_type=wanted))
    data = batch(
        *[b"v" * 40] * 10,
        key=b"k",
        compression=sent,
        producer_id=9,
        producer_epoch=2,
        base_sequence=0,
        is_transactional=True,
    )
    append(log, data, epoch=6)
    (header,) = stored_headers(log)
    assert header.compression == codecs[wanted]
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 2, 0)
    assert (header.partition_leader_epoch, header.is_transactional) == (6, True)
    assert [(record.key, record.value) for record in all_records(log)] == [(b"k", b"v" * 40)] * 10
    log.close()


def test_a_batch_that_has_the_codec_already_is_not_touched(tmp_path):
    log = open_log(tmp_path, LogConfig(compression_type="lz4"))
    data = batch(b"a" * 100, compression=Compression.LZ4)
    sent = bytes(data[61:])
    append(log, data)
    assert log.segments.active.open_file().read(61, 1 << 20) == sent
    log.close()


def test_control_batches_are_never_compressed(tmp_path):
    log = open_log(tmp_path, LogConfig(compression_type="zstd"))
    append(log, marker(1, 0, commit=True), origin=Origin.COORDINATOR)
    assert stored_headers(log)[0].compression == Compression.NONE
    log.close()


def test_the_limit_counts_after_recompression(tmp_path):
    log = open_log(tmp_path, LogConfig(compression_type="uncompressed", max_message_bytes=500))
    assert refusal(log, batch(b"x" * 5000, compression=Compression.ZSTD)).code == ErrorCode.MESSAGE_TOO_LARGE
    log.close()


# -------------------------------------------------------------------------------------------------------------- keys


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.LZ4])
def test_compacted_topics_need_keys(tmp_path, codec):
    log = open_log(tmp_path, LogConfig(compact=True))
    append(log, batch(b"a", key=b"k", compression=codec))
    with pytest.raises(RefusedRecords) as refused:
        append(log, batch(b"a", b"b", compression=codec))
    assert refused.value.code == ErrorCode.INVALID_RECORD
    assert [error.batch_index for error in refused.value.record_errors] == [0, 1]
    assert "key" in refused.value.record_errors[0].message
    assert log.log_end_offset == 1
    log.close()


# -------------------------------------------------------------------------------------------------------- timestamps


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.ZSTD])
def test_timestamps_too_far_ahead(tmp_path, codec):
    log = open_log(tmp_path, LogConfig(message_timestamp_after_max_ms=1000))
    append(log, batch(b"a", timestamp=NOW + 1000, compression=codec))
    with pytest.raises(RefusedRecords) as refused:
        append(log, batch(b"a", b"b", timestamps=[NOW, NOW + 1001], compression=codec))
    assert refused.value.code == ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in refused.value.record_errors] == [1]
    log.close()


def test_timestamps_too_far_back(tmp_path):
    log = open_log(tmp_path, LogConfig(message_timestamp_before_max_ms=1000))
    append(log, batch(b"a", timestamp=NOW - 1000))
    with pytest.raises(RefusedRecords) as refused:
        append(log, batch(b"a", b"b", b"c", timestamps=[NOW, NOW - 1001, NOW]))
    assert [error.batch_index for error in refused.value.record_errors] == [1]
    log.close()


def test_no_timestamp_is_never_out_of_range(tmp_path):
    log = open_log(tmp_path, LogConfig(message_timestamp_before_max_ms=1000))
    assert append(log, batch(b"a", timestamp=-1)).max_timestamp == -1
    log.close()


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
def test_log_append_time_is_written_into_the_batch(tmp_path, codec):
    log = open_log(tmp_path, LogConfig(message_timestamp_type="LogAppendTime"))
    info = append(log, batch(b"a", b"b", timestamps=[5, 10], compression=codec))
    assert (info.log_append_time, info.max_timestamp) == (NOW, NOW)
    (header,) = stored_headers(log)
    assert (header.timestamp_type, header.max_timestamp) == (TimestampType.LOG_APPEND_TIME, NOW)
    assert [record.timestamp for record in all_records(log)] == [NOW, NOW]
    assert append(log, batch(b"c")).log_append_time == NOW
    log.close()


def test_create_time_has_no_log_append_time(log):
    assert append(log, batch(b"a")).log_append_time == -1


def test_producers_may_not_claim_log_append_time(tmp_path):
    log = open_log(tmp_path, LogConfig(message_timestamp_type="LogAppendTime"))
    claimed = batch(b"a", timestamp_type=TimestampType.LOG_APPEND_TIME, max_timestamp=NOW)
    assert refusal(log, claimed).code == ErrorCode.INVALID_TIMESTAMP
    log.close()


def test_the_claim_is_dropped_where_the_producers_time_counts(log):
    append(log, batch(b"a", timestamp_type=TimestampType.LOG_APPEND_TIME, max_timestamp=NOW))
    assert stored_headers(log)[0].timestamp_type == TimestampType.CREATE_TIME


# ----------------------------------------------------------------------------------------------------- old formats


def message(value: bytes, *, magic: int, offset: int = 0, timestamp: int = NOW, key: bytes | None = None) -> bytes:
    body = struct.pack(">bb", magic, 0) + (struct.pack(">q", timestamp) if magic else b"")
    body += struct.pack(">i", -1 if key is None else len(key)) + (key or b"")
    body += struct.pack(">i", len(value)) + value
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


@pytest.mark.parametrize("magic", [0, 1])
def test_old_messages_become_one_batch_of_the_new_format(log, magic):
    data = message(b"a", magic=magic, key=b"k") + message(b"b", magic=magic, offset=1)
    info = append(log, memoryview(bytearray(data)), epoch=3)
    assert (info.base_offset, info.last_offset) == (0, 1)
    (header,) = stored_headers(log)
    assert (header.magic, header.partition_leader_epoch, header.count) == (2, 3, 2)
    records = all_records(log)
    assert [(record.key, record.value) for record in records] == [(b"k", b"a"), (None, b"b")]
    assert {record.timestamp for record in records} == {NOW if magic else -1}


def test_a_damaged_old_message(log):
    data = memoryview(bytearray(message(b"abc", magic=1)))
    data[-1] ^= 1
    assert refusal(log, data).code == ErrorCode.CORRUPT_MESSAGE


def test_the_rules_of_the_topic_hold_for_old_messages_too(tmp_path):
    log = open_log(tmp_path, LogConfig(compact=True, message_timestamp_after_max_ms=10))
    keyless = memoryview(bytearray(message(b"a", magic=1)))
    assert refusal(log, keyless).code == ErrorCode.INVALID_RECORD
    late = memoryview(bytearray(message(b"a", magic=1, key=b"k", timestamp=NOW + 11)))
    assert refusal(log, late).code == ErrorCode.INVALID_TIMESTAMP
    log.close()


def test_the_topics_codec_is_used_for_old_messages(tmp_path):
    log = open_log(tmp_path, LogConfig(compression_type="gzip", message_timestamp_type="LogAppendTime"))
    append(log, memoryview(bytearray(message(b"a", magic=0))))
    stored = log.segments.active.open_file().read(0, log.segments.size)
    header = read_header(stored)
    assert (header.compression, header.max_timestamp) == (Compression.GZIP, NOW)
    assert values_of(log) == [b"a"]
    log.close()


def test_old_messages_that_grow_beyond_the_limit(tmp_path):
    """Small as they came, too large as one batch."""
    wrapped = message(b"x" * 900, magic=1)
    body = struct.pack(">bbq", 1, Compression.GZIP, NOW) + struct.pack(">i", -1)
    packed = zlib.compress(wrapped, wbits=31)
    body += struct.pack(">i", len(packed)) + packed
    data = memoryview(bytearray(struct.pack(">qiI", 0, len(body) + 4, zlib.crc32(body)) + body))
    log = open_log(tmp_path, LogConfig(max_message_bytes=500, compression_type="uncompressed"))
    assert refusal(log, data).code == ErrorCode.MESSAGE_TOO_LARGE
    log.local.update_config(LogConfig(max_message_bytes=2000, compression_type="uncompressed"))
    append(log, data)
    log.close()


def test_the_quorum_appends_something(log):
    with pytest.raises(KafkaError, match="no batch"):
        log.append_as_leader(memoryview(bytearray()), 0, 0, 1, origin=Origin.RAFT_LEADER)


def test_an_ordinary_append_is_no_repetition(log):
    assert not append(log, batch(b"a")).duplicate
