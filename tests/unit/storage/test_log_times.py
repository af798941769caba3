from __future__ import annotations

import pytest
from storage_kit import NOW, StoppedClock, append, at_time, batch, latest_of, open_log

from malformed_batches import batch_of, record, sized, varint
from moldau.config.topic import LogConfig
from moldau.protocol.records import Compression
from moldau.slicing import run_whole
from moldau.storage.file_batches import batches_in
from moldau.storage.timestamp_search import LargeBatch, find_first, search_first

SMALL = LogConfig(segment_bytes=400, index_interval_bytes=50, segment_index_bytes=1200)


@pytest.fixture
def log(tmp_path):
    log = open_log(tmp_path, SMALL)
    yield log
    log.close()


def test_an_empty_log_has_no_times(log):
    assert at_time(log, 0) is None
    assert latest_of(log) is None
    assert log.earliest() == log.latest() == (-1, 0, -1)


def test_the_first_record_that_is_not_older(log):
    append(log, batch(b"a", b"b", b"c", timestamps=[NOW, NOW + 10, NOW + 5]), epoch=3)
    append(log, batch(b"d", b"e", timestamps=[NOW + 20, NOW + 10], compression=Compression.LZ4), epoch=4)
    assert at_time(log, NOW - 1) == (NOW, 0, 3)
    assert at_time(log, NOW + 1) == (NOW + 10, 1, 3)
    assert at_time(log, NOW + 11) == (NOW + 20, 3, 4)
    assert at_time(log, NOW + 21) is None


def test_records_before_the_start_of_the_log_are_not_found(log):
    append(log, batch(b"a", b"b", b"c", timestamps=[NOW + 9, NOW, NOW + 8]))
    log.local.advance_log_start(1)
    assert at_time(log, NOW + 5) == (NOW + 8, 2, 1)


def test_the_record_with_the_latest_timestamp(log):
    append(log, batch(b"a", b"b", timestamps=[NOW, NOW + 30]), epoch=2)
    append(log, batch(b"c", timestamp=NOW + 10), epoch=2)
    assert latest_of(log) == (NOW + 30, 1, 2)
    append(log, batch(b"d", timestamp=NOW + 30), epoch=2)
    assert latest_of(log) == (NOW + 30, 1, 2)
    append(log, batch(b"e", b"f", timestamps=[NOW, NOW + 31]), epoch=5)
    assert latest_of(log) == (NOW + 31, 5, 5)


def test_times_across_segments_and_after_opening_again(tmp_path):
    log = open_log(tmp_path, SMALL)
    for number in range(20):
        append(log, batch(b"x" * 60, timestamp=NOW + number * 10))
    assert len(log.segments) > 3
    log.close()
    again = open_log(tmp_path, SMALL)
    for number in range(20):
        assert at_time(again, NOW + number * 10 - 3) == (NOW + number * 10, number, 1)
    assert latest_of(again) == (NOW + 190, 19, 1)
    again.close()


def test_log_append_time_is_what_counts(tmp_path):
    clock = StoppedClock()
    log = open_log(tmp_path, LogConfig(message_timestamp_type="LogAppendTime"), clock=clock)
    append(log, batch(b"a", b"b", timestamps=[1, 2]))
    clock.now += 100
    append(log, batch(b"c", timestamp=1))
    assert at_time(log, NOW + 1) == (NOW + 100, 2, 1)
    assert latest_of(log) == (NOW + 100, 2, 1)
    log.close()


def test_records_without_timestamps(log):
    append(log, batch(b"a", timestamp=-1))
    assert at_time(log, 0) is None


def test_the_epoch_of_earliest_and_latest(log):
    append(log, batch(b"a", b"b"), epoch=3)
    append(log, batch(b"c"), epoch=6)
    assert log.earliest() == (-1, 0, 3)
    assert log.latest() == (-1, 3, 6)
    log.local.advance_log_start(2)
    assert log.end_offset_for_epoch(6) == (6, 3)


def test_a_time_inside_a_batch_that_is_not_decoded(tmp_path):
    """A batch may unpack to any size; it is searched window by window and nothing of it is kept."""
    log = open_log(tmp_path)
    append(log, batch(b"before", timestamp=NOW - 10))
    times = [NOW, NOW + 2, NOW + 1, NOW + 5, NOW + 3]
    large = [
        record(index, timestamp_delta=varint(at - NOW), value=sized(bytes(300_000))) for index, at in enumerate(times)
    ]
    append(log, memoryview(bytearray(batch_of(b"".join(large), 5, codec=Compression.ZSTD, base_timestamp=NOW))))
    for timestamp, offset, found_at in [
        (NOW, 1, NOW),
        (NOW + 1, 2, NOW + 2),
        (NOW + 3, 4, NOW + 5),
        (NOW + 5, 4, NOW + 5),
    ]:
        found = at_time(log, timestamp)
        assert (found.offset, found.timestamp) == (offset, found_at)
    assert at_time(log, NOW + 6) is None
    assert latest_of(log)[:2] == (NOW + 5, 4)
    log.local.advance_log_start(4)
    assert at_time(log, NOW).offset == 4
    log.close()


def test_a_time_behind_more_records_than_the_kernel_names(tmp_path):
    log = open_log(tmp_path)
    body = b"".join(record(index, value=sized(bytes(3_000))) for index in range(500))
    append(log, memoryview(bytearray(batch_of(body, 500, codec=Compression.ZSTD, base_timestamp=NOW))))
    log.local.advance_log_start(400)
    assert at_time(log, NOW).offset == 400
    log.close()


def test_a_search_without_pauses_finds_the_same(tmp_path):
    log = open_log(tmp_path)
    times = [NOW + 9, NOW, NOW + 5]
    large = [
        record(index, timestamp_delta=varint(at - NOW), value=sized(bytes(90_000))) for index, at in enumerate(times)
    ]
    append(log, memoryview(bytearray(batch_of(b"".join(large), 3, codec=Compression.ZSTD, base_timestamp=NOW))))
    append(log, batch(b"small", timestamp=NOW + 20))
    assert find_first(log.segments, NOW + 6, 0)[:2] == (NOW + 9, 0)
    assert find_first(log.segments, NOW + 6, 1)[:2] == (NOW + 20, 3), "behind the large one, which holds none"
    assert find_first(log.segments, NOW + 21, 0) is None
    log.close()


def test_a_small_batch_that_unpacks_to_much_is_left_to_a_worker(tmp_path):
    log = open_log(tmp_path)
    large = record(0, value=sized(bytes(8 << 20)))
    append(log, memoryview(bytearray(batch_of(large, 1, codec=Compression.ZSTD, base_timestamp=NOW))))
    found = run_whole(search_first(log.segments, NOW, 0))
    assert isinstance(found, LargeBatch)
    assert found.find()[:2] == (NOW, 0)
    log.close()


def test_the_latest_timestamp_behind_the_indexes_is_found_at_opening(tmp_path):
    """Neither the entries of the indexes nor an end in order say it: the newest batches have to be read."""
    config = LogConfig(index_interval_bytes=200)
    log = open_log(tmp_path, config)
    for number in range(20):
        append(log, batch(b"x" * 60, timestamp=NOW + number))
    append(log, batch(b"y", timestamp=NOW + 50))
    append(log, batch(b"z", timestamp=NOW + 10))
    log.segments.active.rest()
    again = open_log(tmp_path, config)
    assert (again.segments.active.max_timestamp, again.segments.active.max_timestamp_offset) == (NOW + 50, 20)
    again.close()


def test_records_of_one_moment_are_not_read_from_the_first_at_opening(tmp_path, monkeypatch):
    config = LogConfig(index_interval_bytes=200)
    log = open_log(tmp_path, config)
    for _ in range(50):
        append(log, batch(b"x" * 60, timestamp=NOW))
    log.close()
    begun = []

    def noted(file, position, end):
        begun.append(position)
        return batches_in(file, position, end)

    monkeypatch.setattr("moldau.storage.segment.batches_in", noted)
    again = open_log(tmp_path, config)
    assert begun
    assert min(begun) > again.segments.active.size - 600
    assert again.segments.active.max_timestamp == NOW
    again.close()
