"""Batches whose header and checksum are right and whose records are not: none of them gets into a log."""

from __future__ import annotations

import struct

import pytest
from storage_kit import NOW, all_records, append, open_log

import malformed_batches as made
from malformed_batches import KINDS, TIME, batch_of, record, sized, varint
from moldau.config.topic import LogConfig
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.records import Compression, compress, scan_batches
from moldau.storage import validator
from moldau.storage.append_info import Patience, Postponed, RefusedRecords
from moldau.storage.validator import validate

GOOD = record(0) + record(1)
DAY = 86_400_000
COMPACTED = LogConfig(compact=True, delete=False)


def refused(log, data: bytes) -> KafkaError:
    """The batch was refused and nothing was changed by it."""
    received = memoryview(bytearray(data))
    with pytest.raises(KafkaError) as caught:
        append(log, received)
    assert (bytes(received), log.log_end_offset, log.segments.size) == (data, 0, 0)
    return caught.value


def stored(log):
    (header,) = scan_batches(log.segments.active.open_file().read(0, log.segments.size))
    return header


@pytest.fixture
def log(tmp_path):
    log = open_log(tmp_path)
    yield log
    log.close()


@pytest.fixture(params=["at once", "in windows"])
def way(request, monkeypatch):
    """Small batches take the way of the large ones if what is done at once is nothing."""
    if request.param == "in windows":
        monkeypatch.setattr(validator, "AT_ONCE", 0)


@pytest.mark.parametrize("codec", list(Compression), ids=lambda codec: codec.name)
@pytest.mark.parametrize("kind", KINDS)
def test_a_record_that_is_none(log, way, kind, codec):
    error = refused(log, batch_of(*KINDS[kind], codec=codec))
    assert error.code == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("kind", KINDS)
def test_nor_is_it_packed_in_another_codec(tmp_path, kind):
    log = open_log(tmp_path, LogConfig(compression_type="gzip"))
    assert refused(log, batch_of(*KINDS[kind])).code == ErrorCode.INVALID_RECORD
    assert refused(log, batch_of(*KINDS[kind], codec=Compression.ZSTD)).code == ErrorCode.INVALID_RECORD
    log.close()


@pytest.mark.parametrize("codec", list(Compression), ids=lambda codec: codec.name)
def test_what_looks_odd_and_is_sound(log, way, codec):
    body = (
        record(0, attributes=b"\xff")
        + record(1, key=sized(None), value=sized(None))
        + record(2, key=sized(b""), value=sized(b""))
        + record(3, headers=varint(2) + sized(b"") + sized(None) + sized(b"\xff") + sized(b""))
        + record(4, timestamp_delta=b"\x80\x00", key=b"\x86\x00key")  # numbers longer than they need to be
    )
    append(log, memoryview(bytearray(batch_of(body, 5, codec=codec))))
    assert [one.offset for one in all_records(log)] == [0, 1, 2, 3, 4]


def test_records_that_cannot_be_unpacked(log, way):
    for codec in (Compression.GZIP, Compression.SNAPPY, Compression.LZ4, Compression.ZSTD):
        data = bytearray(batch_of(GOOD, 2, codec=codec))
        data[61:] = b"\x01" * (len(data) - 61)
        struct.pack_into(">I", data, 17, made.crc32c(data, 21))
        assert refused(log, bytes(data)).code == ErrorCode.INVALID_RECORD
    for codec in (5, 6, 7):
        assert refused(log, batch_of(GOOD, 2, attributes=codec)).code == ErrorCode.INVALID_RECORD


# ------------------------------------------------------------------------------------------------------- timestamps


@pytest.mark.parametrize("codec", list(Compression), ids=lambda codec: codec.name)
@pytest.mark.parametrize("claimed", [5, TIME, TIME + DAY, 1 << 62])
def test_the_latest_timestamp_is_that_of_the_records(log, way, codec, claimed):
    """Whatever the header claims: it is what time retention goes by."""
    body = record(0) + record(1, timestamp_delta=varint(-3)) + record(2, timestamp_delta=varint(-1))
    info = append(log, memoryview(bytearray(batch_of(body, 3, codec=codec, max_timestamp=claimed))))
    assert (info.max_timestamp, stored(log).max_timestamp) == (TIME, TIME)
    assert log.segments.active.max_timestamp == TIME


@pytest.mark.parametrize("codec", list(Compression), ids=lambda codec: codec.name)
def test_a_record_from_the_future_under_an_honest_header(log, way, codec):
    body = record(0) + record(1, timestamp_delta=varint(NOW - TIME + DAY)) + record(2)
    error = refused(log, batch_of(body, 3, codec=codec))
    assert isinstance(error, RefusedRecords)
    assert (error.code, [one.batch_index for one in error.record_errors]) == (ErrorCode.INVALID_TIMESTAMP, [1])


def test_a_record_from_the_past(tmp_path):
    log = open_log(tmp_path, LogConfig(message_timestamp_before_max_ms=DAY))
    body = record(0, timestamp_delta=varint(NOW - TIME)) + record(1, timestamp_delta=varint(NOW - TIME - DAY - 1))
    error = refused(log, batch_of(body, 2, max_timestamp=NOW))
    assert isinstance(error, RefusedRecords)
    assert (error.code, [one.batch_index for one in error.record_errors]) == (ErrorCode.INVALID_TIMESTAMP, [1])
    fits = record(0, timestamp_delta=varint(NOW - TIME - DAY)) + record(1, timestamp_delta=varint(-1 - TIME))
    append(log, memoryview(bytearray(batch_of(fits, 2))))
    log.close()


def test_limits_that_are_reached_to_the_millisecond(tmp_path):
    log = open_log(tmp_path, LogConfig(message_timestamp_after_max_ms=DAY))
    over = batch_of(record(0, timestamp_delta=varint(NOW - TIME + DAY + 1)), 1)
    assert refused(log, over).code == ErrorCode.INVALID_TIMESTAMP
    append(log, memoryview(bytearray(batch_of(record(0, timestamp_delta=varint(NOW - TIME + DAY)), 1))))
    log.close()


def test_a_timestamp_that_leaves_64_bits(log, way):
    body = record(0) + record(1, timestamp_delta=varint((1 << 63) - 1))
    for codec in (Compression.NONE, Compression.GZIP):
        assert refused(log, batch_of(body, 2, codec=codec)).code == ErrorCode.INVALID_RECORD


def test_the_brokers_time_is_not_a_producers_to_claim(log):
    """With a time under the claim the records' own times count, and those are checked; without one it is refused."""
    future = record(0) + record(1, timestamp_delta=varint(NOW - TIME + DAY))
    assert refused(log, batch_of(future, 2, attributes=8)).code == ErrorCode.INVALID_TIMESTAMP
    assert refused(log, batch_of(GOOD, 2, attributes=8, max_timestamp=-1)).code == ErrorCode.INVALID_TIMESTAMP
    append(log, memoryview(bytearray(batch_of(GOOD, 2, attributes=8, max_timestamp=TIME + 5))))
    assert (stored(log).timestamp_type, stored(log).max_timestamp) == (0, TIME)


def test_negative_times_are_no_times(log):
    info = append(log, memoryview(bytearray(batch_of(GOOD, 2, base_timestamp=-5, max_timestamp=-5))))
    assert (info.max_timestamp, stored(log).max_timestamp) == (-1, -1)


def test_with_the_brokers_time_the_records_times_do_not_matter(tmp_path):
    log = open_log(tmp_path, LogConfig(message_timestamp_type="LogAppendTime"))
    body = record(0, timestamp_delta=varint(1 << 60))
    assert append(log, memoryview(bytearray(batch_of(body, 1)))).log_append_time == NOW
    assert (stored(log).timestamp_type, stored(log).max_timestamp) == (1, NOW)
    log.close()


# ------------------------------------------------------------------------------------------- what a topic asks for


@pytest.mark.parametrize("codec", list(Compression), ids=lambda codec: codec.name)
def test_missing_keys_are_named_and_go_before_timestamps(tmp_path, way, codec):
    log = open_log(tmp_path, COMPACTED)
    without = record(0) + record(1, key=sized(None)) + record(2, key=sized(None))
    error = refused(log, batch_of(without, 3, codec=codec))
    assert isinstance(error, RefusedRecords)
    assert (error.code, [one.batch_index for one in error.record_errors]) == (ErrorCode.INVALID_RECORD, [1, 2])
    both = record(0, timestamp_delta=varint(NOW)) + record(1, key=sized(None), timestamp_delta=varint(NOW))
    error = refused(log, batch_of(both, 2, codec=codec))
    assert isinstance(error, RefusedRecords)
    assert error.code == ErrorCode.INVALID_TIMESTAMP
    assert [(one.batch_index, "key" in one.message) for one in error.record_errors] == [(0, False), (1, True)]
    log.close()


def test_of_very_many_refused_records_a_hundred_are_named(tmp_path):
    log = open_log(tmp_path, COMPACTED)
    count = 50_000
    for codec in (Compression.NONE, Compression.ZSTD):
        body = b"".join(record(index, key=sized(None)) for index in range(count))
        error = refused(log, batch_of(body, count, codec=codec))
        assert isinstance(error, RefusedRecords)
        assert (len(error.record_errors), error.record_errors[-1].batch_index) == (100, 99)
        assert "50000 records" in error.message
    log.close()


# ------------------------------------------------------------------------------------------------------- large ones


def large(size: int, codec: Compression) -> bytes:
    return batch_of(record(0, value=sized(bytes(size))), 1, codec=codec)


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.SNAPPY, Compression.LZ4, Compression.ZSTD])
def test_a_batch_of_more_than_128_megabytes_is_taken(tmp_path, codec):
    log = open_log(tmp_path, LogConfig(max_message_bytes=20_000_000))
    data = large(150_000_000, codec)
    append(log, memoryview(bytearray(data)))
    assert stored(log).size == len(data)
    log.close()


def test_but_not_where_it_would_have_to_be_compacted(tmp_path):
    """Compaction opens a batch in one piece: one that it could not open would stop it for good."""
    log = open_log(tmp_path, COMPACTED)
    assert refused(log, large(150_000_000, Compression.ZSTD)).code == ErrorCode.MESSAGE_TOO_LARGE
    append(log, memoryview(bytearray(large(120_000_000, Compression.ZSTD))))
    log.close()


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.SNAPPY, Compression.LZ4, Compression.ZSTD])
def test_who_is_patient_is_told_when_it_takes_long(codec):
    data = memoryview(bytearray(large(validator.AT_ONCE, codec)))
    with pytest.raises(Postponed):
        validate(data, 0, len(data), LogConfig(), validator._CLIENT, NOW, Patience(validator.PER_REQUEST))
    assert validate(data, 0, len(data), LogConfig(), validator._CLIENT, NOW)[4] == TIME
    small = memoryview(bytearray(large(validator.AT_ONCE - 100, codec)))
    assert (
        validate(small, 0, len(small), LogConfig(), validator._CLIENT, NOW, Patience(validator.PER_REQUEST))[4] == TIME
    )


def test_patience_is_for_a_whole_request():
    """Many batches that are small each are much work together."""
    half = large(validator.AT_ONCE // 2, Compression.GZIP)
    patience = Patience(validator.AT_ONCE)

    def judge(data: bytes) -> None:
        validate(memoryview(bytearray(data)), 0, len(data), LogConfig(), validator._CLIENT, NOW, patience)

    judge(half)
    judge(half)
    with pytest.raises(Postponed):
        judge(half)
    judge(batch_of(GOOD, 2))  # what need not be unpacked costs nothing
    patience.left = validator.AT_ONCE
    for _ in range(2):  # one that was tried in vain, and one that was not tried any more
        with pytest.raises(Postponed):
            judge(large(validator.AT_ONCE, Compression.GZIP))
    assert patience.left == 0


def test_packing_is_postponed_too():
    config = LogConfig(compression_type="zstd")
    for data in (large(validator.PACKED_AT_ONCE, Compression.NONE), large(10, Compression.GZIP)):
        view = memoryview(bytearray(data))
        with pytest.raises(Postponed):
            validate(view, 0, len(view), config, validator._CLIENT, NOW, Patience(validator.PER_REQUEST))
    small, patience = large(100, Compression.NONE), Patience(validator.AT_ONCE)
    for _ in range(4):
        view = memoryview(bytearray(small))
        assert validate(view, 0, len(view), config, validator._CLIENT, NOW, patience)[3].compression == Compression.ZSTD
    with pytest.raises(Postponed):
        validate(view, 0, len(view), config, validator._CLIENT, NOW, patience)


def test_a_batch_that_is_too_large_is_not_even_opened(log):
    data = bytearray(b"\xff" * (LogConfig().max_message_bytes + 1))
    with pytest.raises(KafkaError) as caught:
        append(log, memoryview(data))
    assert caught.value.code == ErrorCode.MESSAGE_TOO_LARGE


def test_packed_records_may_be_too_large_as_well(tmp_path):
    """What was small under one codec is not under another."""
    log = open_log(tmp_path, LogConfig(compression_type="uncompressed", max_message_bytes=10_000))
    assert refused(log, large(20_000, Compression.GZIP)).code == ErrorCode.MESSAGE_TOO_LARGE
    log.close()


@pytest.mark.parametrize("target", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("codec", list(Compression), ids=lambda codec: codec.name)
def test_packed_in_the_topics_codec(tmp_path, codec, target):
    log = open_log(tmp_path, LogConfig(compression_type=target))
    body = b"".join(
        record(index, timestamp_delta=varint(index), headers=varint(1) + sized(b"h") + sized(b"v"))
        for index in range(900)
    )
    data = batch_of(
        body, 900, codec=codec, attributes=16, max_timestamp=3, producer_id=7, producer_epoch=2, base_sequence=5
    )
    append(log, memoryview(bytearray(data)))
    header = stored(log)
    assert (header.compression, header.count, header.max_timestamp) == (
        validator._CODECS[target],
        900,
        TIME + 899,
    )
    assert (header.producer_id, header.producer_epoch, header.base_sequence, header.is_transactional) == (7, 2, 5, True)
    records = all_records(log)
    assert [(one.offset, one.timestamp) for one in records] == [(index, TIME + index) for index in range(900)]
    assert records[899].headers == [("h", b"v")]
    log.close()


@pytest.mark.parametrize(
    ("codec", "low", "high"),
    [
        ("gzip", {"compression_gzip_level": 1}, {"compression_gzip_level": 9}),
        ("lz4", {"compression_lz4_level": 9}, {"compression_lz4_level": 17}),
        ("zstd", {"compression_zstd_level": 1}, {"compression_zstd_level": 19}),
    ],
)
def test_packed_at_the_topics_level(tmp_path, codec, low, high):
    text = b" ".join(b"%d" % (number * 7919 % 9973) for number in range(4000))
    sizes = []
    for name, level in (("low", low), ("high", high)):
        log = open_log(tmp_path / name, LogConfig(compression_type=codec, **level))
        append(log, memoryview(bytearray(batch_of(record(0, value=sized(text)), 1))))
        sizes.append(log.segments.size)
        log.close()
    assert sizes[0] > sizes[1]


def test_the_example_of_a_good_batch_is_good():
    """Everything above is refused for what is wrong with it and not for how it is built."""
    assert compress(Compression.NONE, GOOD) == GOOD
    view = memoryview(bytearray(batch_of(GOOD, 2)))
    assert validate(view, 0, len(view), LogConfig(), validator._CLIENT, NOW)[4] == TIME
