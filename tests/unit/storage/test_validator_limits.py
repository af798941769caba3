"""The validator's rules one at a time: everything else about the batch is as it should be."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from storage_kit import NOW, all_records, append, batch, open_log, values_of

from moldau._speed import set_max_timestamp
from moldau.config.topic import LogConfig
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.records import Compression, TimestampType, crc32c, encode_batch, scan_batches
from moldau.storage import validator
from moldau.storage.append_info import Patience, RefusedRecords
from moldau.storage.log import Log, Origin


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    log = open_log(tmp_path)
    yield log
    log.close()


def refusal(log: Log, data: memoryview, **more: Any) -> KafkaError:
    end = log.log_end_offset
    with pytest.raises(KafkaError) as refused:
        append(log, data, **more)
    assert log.log_end_offset == end
    return refused.value


def with_checksum(data: memoryview) -> memoryview:
    struct.pack_into(">I", data, 17, crc32c(data, 21))
    return data


def message(value: bytes, *, magic: int = 1, timestamp: int = NOW, key: bytes | None = b"k", codec: int = 0) -> bytes:
    body = struct.pack(">bb", magic, codec) + (struct.pack(">q", timestamp) if magic else b"")
    body += struct.pack(">i", -1 if key is None else len(key)) + (key or b"")
    body += struct.pack(">i", len(value)) + value
    return struct.pack(">qiI", 0, len(body) + 4, zlib.crc32(body)) + body


def old(*messages: bytes) -> memoryview:
    return memoryview(bytearray(b"".join(messages)))


# ------------------------------------------------------------------------------------------------------- the header


def test_no_client_writes_a_control_batch_whoever_it_says_it_is(log: Log) -> None:
    """Such a record would end somebody's transaction, or be hidden from every reader."""
    for fields in ({}, {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}):
        for transactional in (False, True):
            data = batch(b"v", key=b"\0\0\0\1", is_control=True, is_transactional=transactional, **fields)
            refused = refusal(log, data)
            assert (refused.code, "control records" in refused.message) == (ErrorCode.INVALID_RECORD, True)


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
@pytest.mark.parametrize("delta", [0, 2, 1 << 20])
def test_a_batch_takes_no_more_and_no_fewer_offsets_than_it_has_records(log: Log, codec: int, delta: int) -> None:
    data = batch(b"a", b"b", compression=codec)
    struct.pack_into(">i", data, 23, delta)
    assert refusal(log, with_checksum(data)).code == ErrorCode.INVALID_RECORD


def test_a_refusal_names_its_reason(log: Log) -> None:
    one = bytes(batch(b"a"))
    assert "there are more" in refusal(log, memoryview(bytearray(one * 2))).message
    nameless = batch(b"a", producer_id=3, producer_epoch=0, base_sequence=-1)
    assert "producer 3 gave it the sequence -1" in refusal(log, nameless).message
    wide = batch(b"a", b"b", compression=Compression.GZIP)
    struct.pack_into(">i", wide, 23, 4)
    assert "announces 2 records for 5 offsets" in refusal(log, with_checksum(wide)).message


def test_markers_are_not_judged_by_the_topics_times(tmp_path: Path) -> None:
    """They carry the coordinator's time, and a transaction must end whatever the topic asks of records."""
    log = open_log(tmp_path, LogConfig(message_timestamp_before_max_ms=1000, message_timestamp_after_max_ms=1000))
    record = (NOW - 100_000, b"\0\0\0\1", b"\0\0\0\0\0\0", ())
    late = encode_batch([record], is_control=True, is_transactional=True, producer_id=7, producer_epoch=0)
    assert append(log, memoryview(bytearray(late)), origin=Origin.COORDINATOR).base_offset == 0
    log.close()


def test_a_limit_beyond_all_times_is_none(tmp_path: Path) -> None:
    endless = (1 << 63) - 1
    config = LogConfig(message_timestamp_after_max_ms=endless, message_timestamp_before_max_ms=endless)
    log = open_log(tmp_path, config)
    assert append(log, batch(b"a", timestamp=NOW * 1000)).max_timestamp == NOW * 1000
    assert append(log, old(message(b"b", timestamp=NOW * 1000))).max_timestamp == NOW * 1000
    log.close()


# ---------------------------------------------------------------------------------------------------------- packing


@pytest.mark.parametrize("sent", [Compression.NONE, Compression.LZ4])
def test_what_is_packed_anew_is_held_to_the_same_rules(tmp_path: Path, sent: int) -> None:
    config = LogConfig(compression_type="zstd", compact=True, message_timestamp_after_max_ms=1000)
    log = open_log(tmp_path, config)
    assert refusal(log, batch(b"a", compression=sent)).code == ErrorCode.INVALID_RECORD
    late = batch(b"a", key=b"k", timestamp=NOW + 1001, compression=sent)
    assert refusal(log, late).code == ErrorCode.INVALID_TIMESTAMP
    append(log, batch(b"a", key=b"k", timestamp=NOW + 1000, compression=sent))
    log.close()


def test_a_refusal_that_is_known_is_not_postponed() -> None:
    """The records of a plain batch were looked at on the way: nobody has to wait to hear of them."""
    data = batch(b"x" * 2 * validator.PACKED_AT_ONCE)
    config = LogConfig(compression_type="zstd", compact=True)
    with pytest.raises(RefusedRecords):
        validator.validate(data, 0, len(data), config, Origin.CLIENT, NOW, Patience(validator.PER_REQUEST))


@pytest.mark.parametrize("sent", [Compression.NONE, Compression.GZIP])
def test_the_brokers_time_in_a_batch_that_is_packed_anew(tmp_path: Path, sent: int) -> None:
    log = open_log(tmp_path, LogConfig(compression_type="lz4", message_timestamp_type="LogAppendTime"))
    info = append(log, batch(b"a", b"b", timestamps=[5, 10], compression=sent))
    assert (info.log_append_time, info.max_timestamp) == (NOW, NOW)
    assert [record.timestamp for record in all_records(log)] == [NOW, NOW]
    log.close()


def test_a_batch_may_be_as_large_as_the_limit_after_it_was_rewritten(tmp_path: Path) -> None:
    packed, messages = batch(b"x" * 500, compression=Compression.GZIP), old(message(b"y" * 500))
    log = open_log(tmp_path, LogConfig(compression_type="uncompressed"))
    append(log, memoryview(bytearray(packed)))
    limit = log.segments.size
    append(log, memoryview(bytearray(messages)))
    of_messages = log.segments.size - limit
    for size, data in ((limit, packed), (of_messages, messages)):
        log.local.update_config(LogConfig(compression_type="uncompressed", max_message_bytes=size - 1))
        assert refusal(log, memoryview(bytearray(data))).code == ErrorCode.MESSAGE_TOO_LARGE
        log.local.update_config(LogConfig(compression_type="uncompressed", max_message_bytes=size))
        append(log, memoryview(bytearray(data)))
    log.close()


# ------------------------------------------------------------------------------------------------------ old formats


def test_a_wrapper_around_nothing_is_nothing_to_append(log: Log) -> None:
    empty = message(zlib.compress(b"", wbits=31), codec=Compression.GZIP, key=None)
    assert refusal(log, old(empty)).code in (ErrorCode.INVALID_RECORD, ErrorCode.CORRUPT_MESSAGE)
    assert append(log, old(message(b"a"))).base_offset == 0


def test_the_times_of_old_messages(tmp_path: Path) -> None:
    config = LogConfig(message_timestamp_before_max_ms=1000, message_timestamp_after_max_ms=2000)
    log = open_log(tmp_path, config)
    for timestamp in (NOW - 1001, NOW + 2001):
        refused = refusal(log, old(message(b"a"), message(b"b", timestamp=timestamp)))
        assert isinstance(refused, RefusedRecords)
        assert refused.code == ErrorCode.INVALID_TIMESTAMP
        assert [error.batch_index for error in refused.record_errors] == [1]
    info = append(log, old(message(b"a", timestamp=NOW + 2000), message(b"b", timestamp=NOW - 1000)))
    assert (info.max_timestamp, info.log_append_time) == (NOW + 2000, -1)
    # The oldest format has no times, which is not a time long ago.
    assert append(log, old(message(b"c", magic=0))).max_timestamp == -1
    assert values_of(log) == [b"a", b"b", b"c"]
    log.close()


def test_with_the_brokers_time_those_of_old_messages_do_not_matter(tmp_path: Path) -> None:
    log = open_log(
        tmp_path,
        LogConfig(
            message_timestamp_type="LogAppendTime",
            message_timestamp_before_max_ms=1000,
            message_timestamp_after_max_ms=1000,
        ),
    )
    for timestamp in (NOW - 5000, NOW + 5000):
        info = append(log, old(message(b"a", timestamp=timestamp)))
        assert (info.max_timestamp, info.log_append_time) == (NOW, NOW)
    assert [record.timestamp for record in all_records(log)] == [NOW, NOW]
    log.close()


# ------------------------------------------------------------------------------------------------------- the quorum


def test_the_quorum_appends_whole_batches_of_its_own_epoch(log: Log) -> None:
    def append_raft(data: bytes) -> None:
        view = memoryview(bytearray(data))
        log.append_as_leader(view, 0, len(view), 4, origin=Origin.RAFT_LEADER)

    first = encode_batch([(NOW, None, b"a", ())], base_offset=0, partition_leader_epoch=4)
    second = encode_batch([(NOW, None, b"b", ())], base_offset=1, partition_leader_epoch=4)
    other = encode_batch([(NOW, None, b"b", ())], base_offset=1, partition_leader_epoch=3)
    damaged = bytearray(second)
    damaged[-1] ^= 1
    for wrong, code in ((other, ErrorCode.INVALID_RECORD), (bytes(damaged), ErrorCode.CORRUPT_MESSAGE)):
        with pytest.raises(KafkaError) as refused:
            append_raft(first + wrong)
        assert (refused.value.code, log.log_end_offset) == (code, 0)
    append_raft(first + second)
    stored = log.segments.active.open_file().read(0, log.segments.size)
    assert [header.partition_leader_epoch for header in scan_batches(stored)] == [4, 4]


def test_a_good_batch_is_stored_byte_for_byte_but_for_offsets_and_epoch(log: Log) -> None:
    data = batch(b"a", b"b", timestamps=[NOW - 5, NOW])
    sent = bytes(data)
    append(log, data, epoch=9)
    stored = log.segments.active.open_file().read(0, log.segments.size)
    assert (stored[16:], stored[12:16]) == (sent[16:], struct.pack(">i", 9))
    claimed = batch(b"c")
    set_max_timestamp(claimed, 0, TimestampType.CREATE_TIME, NOW + 50)
    assert append(log, claimed).max_timestamp == NOW
