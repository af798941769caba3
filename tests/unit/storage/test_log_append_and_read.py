from __future__ import annotations

import os

import pytest
from storage_kit import (
    NOW,
    StoppedClock,
    all_records,
    append,
    at_time,
    batch,
    latest_of,
    names_in,
    open_log,
    records_of,
    values_of,
)

from moldau.config.topic import LogConfig
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.records import scan_batches
from moldau.runtime.ports import FileSlice
from moldau.storage.batch_order import UnexpectedOffset
from moldau.storage.log import Log, Origin

SMALL = LogConfig(segment_bytes=400, index_interval_bytes=100, segment_index_bytes=1200)


def test_an_append_gets_the_next_offsets_and_the_leaders_epoch(tmp_path):
    log = open_log(tmp_path)
    first = append(log, batch(b"a", b"b", b"c"), epoch=4)
    second = append(log, batch(b"d"), epoch=4)
    assert (first.base_offset, first.last_offset) == (0, 2)
    assert (second.base_offset, second.last_offset, second.log_start_offset) == (3, 3, 0)
    assert [record.offset for record in all_records(log)] == [0, 1, 2, 3]
    stored = (tmp_path / "orders-0" / "00000000000000000000.log").read_bytes()
    assert [header.partition_leader_epoch for header in scan_batches(stored)] == [4, 4]
    log.close()


def test_the_received_buffer_is_written_as_it_is_with_offsets_put_in_place(tmp_path):
    log = open_log(tmp_path)
    append(log, batch(b"before"))
    frame = memoryview(bytearray(b"head" + bytes(batch(b"a")) + b"tail"))
    log.append_as_leader(frame, 4, len(frame) - 4, 1)
    assert bytes(frame[:4]) == b"head"
    assert bytes(frame[-4:]) == b"tail"
    assert frame[4:12].tobytes() == (1).to_bytes(8, "big")
    assert values_of(log) == [b"before", b"a"]
    log.close()


def test_no_new_file_is_cut_to_nothing(tmp_path, monkeypatch):
    """ext4 takes that for a file that is being replaced, and whoever closes it waits until all of it is on disk."""
    emptied = []

    def truncate(fd, size):
        if size == 0:
            emptied.append(os.readlink(f"/proc/self/fd/{fd}"))
        return real(fd, size)

    real = os.ftruncate
    monkeypatch.setattr("moldau.runtime.disk.os.ftruncate", truncate)
    log = open_log(tmp_path, SMALL)
    for sequence in range(8):
        append(log, batch(b"x" * 100, producer_id=7, producer_epoch=0, base_sequence=sequence))
    assert len(log.segments.base_offsets) > 1
    assert [path for path in emptied if path.endswith((".log", ".snapshot"))] == []
    log.close()


def test_files_have_kafkas_names(tmp_path):
    log = open_log(tmp_path, SMALL)
    for _ in range(8):
        append(log, batch(b"x" * 100))
    bases = list(log.segments.base_offsets)
    log.close()
    assert len(bases) > 1
    names = names_in(tmp_path / "orders-0")
    for base in bases:
        for suffix in ("log", "index", "timeindex"):
            assert f"{base:020d}.{suffix}" in names
    assert f"{8:020d}.snapshot" in names
    assert "leader-epoch-checkpoint" in names


def test_a_read_is_a_slice_of_the_file(tmp_path):
    log = open_log(tmp_path)
    append(log, batch(b"a"))
    read = log.read(0, 1 << 20, log.high_watermark, at_least_one=True)
    assert isinstance(read.records, FileSlice)
    assert read.records.length == log.segments.size
    assert (read.high_watermark, read.log_start_offset, read.last_stable_offset) == (1, 0, 1)
    assert read.aborted is None
    log.close()


def test_a_read_starts_with_the_batch_that_holds_the_offset(tmp_path):
    log = open_log(tmp_path)
    append(log, batch(b"a", b"b", b"c"))
    append(log, batch(b"d"))
    read = log.read(1, 1 << 20, 4, at_least_one=True)
    assert [record.offset for record in records_of(read)] == [0, 1, 2, 3]
    log.close()


def test_a_read_ends_at_the_given_offset(tmp_path):
    log = open_log(tmp_path)
    for value in (b"a", b"b", b"c"):
        append(log, batch(value))
    assert [record.value for record in records_of(log.read(0, 1 << 20, 2, at_least_one=True))] == [b"a", b"b"]
    assert log.read(2, 1 << 20, 2, at_least_one=True).records == b""
    assert log.read(3, 1 << 20, 3, at_least_one=True).records == b""
    log.close()


def test_limits_in_bytes(tmp_path):
    log = open_log(tmp_path)
    size = append(log, batch(b"a" * 100)).bytes
    append(log, batch(b"b" * 100))
    assert len(log.read(0, size + 10, 2, at_least_one=True).records) == size + 10
    assert len(log.read(0, size - 1, 2, at_least_one=True).records) == size
    assert log.read(0, size - 1, 2, at_least_one=False).records == b""
    assert len(log.read(0, 2 * size, 2, at_least_one=False).records) == 2 * size
    log.close()


@pytest.mark.parametrize("offset", [-1, 0, 3])
def test_offsets_outside_the_log_are_refused(tmp_path, offset):
    log = open_log(tmp_path)
    append(log, batch(b"a", b"b"))
    log.local.advance_log_start(1)
    with pytest.raises(KafkaError) as refused:
        log.read(offset, 1, 2, at_least_one=True)
    assert refused.value.code == ErrorCode.OFFSET_OUT_OF_RANGE
    log.close()


def test_bytes_between_counts_across_segments(tmp_path):
    log = open_log(tmp_path, SMALL)
    sizes = [append(log, batch(b"x" * 100)).bytes for _ in range(8)]
    assert len(log.segments) > 2
    for first in range(9):
        for end in range(9):
            assert log.bytes_between(first, end) == sum(sizes[first:end])
    log.close()


# ------------------------------------------------------------------------------------------------------- rolling


def test_a_segment_rolls_when_the_next_batch_does_not_fit(tmp_path):
    size = len(batch(b"x" * 100))
    log = open_log(tmp_path, LogConfig(segment_bytes=2 * size))
    for _ in range(5):
        append(log, batch(b"x" * 100))
    assert list(log.segments.base_offsets) == [0, 2, 4]
    log.close()


def test_a_segment_rolls_by_the_time_of_its_records(tmp_path):
    clock = StoppedClock()
    log = open_log(tmp_path, LogConfig(segment_ms=1000), clock=clock)
    append(log, batch(b"a", timestamp=NOW))
    clock.now += 10_000
    append(log, batch(b"b", timestamp=NOW + 1000))
    assert list(log.segments.base_offsets) == [0]
    append(log, batch(b"c", timestamp=NOW + 1001))
    assert list(log.segments.base_offsets) == [0, 2]
    log.close()


def test_records_without_a_timestamp_roll_by_the_clock(tmp_path):
    clock = StoppedClock()
    log = open_log(tmp_path, LogConfig(segment_ms=1000), clock=clock)
    append(log, batch(b"a", timestamp=-1))
    clock.now += 1000
    append(log, batch(b"b", timestamp=-1))
    assert list(log.segments.base_offsets) == [0]
    clock.now += 1
    append(log, batch(b"c", timestamp=-1))
    assert list(log.segments.base_offsets) == [0, 2]
    log.close()


def test_jitter_shortens_the_time(tmp_path):
    class Most:
        def below(self, limit):
            return limit - 1

    log = open_log(tmp_path, LogConfig(segment_ms=1000, segment_jitter_ms=501), random=Most())
    append(log, batch(b"a", timestamp=NOW))
    append(log, batch(b"b", timestamp=NOW + 501))
    assert list(log.segments.base_offsets) == [0, 1]
    log.close()


def test_a_full_index_rolls_the_segment(tmp_path):
    log = open_log(tmp_path, LogConfig(index_interval_bytes=0, segment_index_bytes=40))
    for _ in range(20):
        append(log, batch(b"x"))
    # 40 bytes hold three time index entries, one of them kept for closing, and five offset index entries. All records
    # have the same timestamp, so the offset index is the one that fills: its fifth entry is for the sixth batch.
    assert list(log.segments.base_offsets) == [0, 6, 12, 18]
    assert values_of(log) == [b"x"] * 20
    log.close()


def test_offsets_too_far_from_the_base_roll_the_segment(tmp_path):
    log = open_log(tmp_path)
    append(log, batch(b"a"))
    far = batch(b"b", base_offset=(1 << 31) + 5, partition_leader_epoch=1)
    log.append_as_follower(far, 0, len(far))
    assert list(log.segments.base_offsets) == [0, (1 << 31) + 5]
    assert [record.offset for record in all_records(log)] == [0, (1 << 31) + 5]
    log.close()


def test_more_than_a_segment_is_refused(tmp_path):
    log = open_log(tmp_path, LogConfig(segment_bytes=200))
    with pytest.raises(KafkaError) as refused:
        append(log, batch(b"x" * 200))
    assert refused.value.code == ErrorCode.RECORD_LIST_TOO_LARGE
    assert log.log_end_offset == 0
    log.close()


def test_rolling_an_empty_segment_does_nothing(tmp_path):
    log = open_log(tmp_path)
    log.local.roll()
    append(log, batch(b"a"))
    log.local.roll()
    log.local.roll()
    assert list(log.segments.base_offsets) == [0, 1]
    log.close()


# ------------------------------------------------------------------------------------------- followers and the quorum


def follower_data(*batches: memoryview) -> memoryview:
    return memoryview(bytearray(b"".join(bytes(one) for one in batches)))


def test_a_follower_takes_batches_as_they_are(tmp_path):
    log = open_log(tmp_path)
    data = follower_data(
        batch(b"a", b"b", base_offset=10, partition_leader_epoch=2),
        batch(b"c", base_offset=15, partition_leader_epoch=3),
    )
    info = log.append_as_follower(data, 0, len(data))
    assert (info.base_offset, info.last_offset, log.log_end_offset) == (10, 15, 16)
    assert [tuple(entry) for entry in log.epochs.entries] == [(2, 10), (3, 15)]
    assert [record.offset for record in all_records(log)] == [10, 11, 15]
    assert [record.offset for record in records_of(log.read(12, 1, 16, at_least_one=True))] == [15]
    log.close()


def test_a_batch_cut_off_at_the_end_is_left_out(tmp_path):
    log = open_log(tmp_path)
    data = follower_data(batch(b"a"), batch(b"b", base_offset=1))
    info = log.append_as_follower(data, 0, len(data) - 5)
    assert (info.last_offset, log.log_end_offset) == (0, 1)
    nothing = log.append_as_follower(data, 0, 30)
    assert (nothing.bytes, log.log_end_offset) == (0, 1)
    log.close()


def test_offsets_that_go_back_are_refused(tmp_path):
    log = open_log(tmp_path)
    append(log, batch(b"a", b"b"))
    data = follower_data(batch(b"c", base_offset=1))
    with pytest.raises(UnexpectedOffset) as refused:
        log.append_as_follower(data, 0, len(data))
    assert (refused.value.first_offset, refused.value.last_offset) == (1, 1)
    crossed = follower_data(batch(b"d", base_offset=9), batch(b"c", base_offset=8))
    with pytest.raises(UnexpectedOffset):
        log.append_as_follower(crossed, 0, len(crossed))
    assert log.log_end_offset == 2
    log.close()


def test_the_quorum_numbers_its_own_batches(tmp_path):
    log = open_log(tmp_path)
    data = follower_data(
        batch(b"a", base_offset=0, partition_leader_epoch=7), batch(b"b", base_offset=1, partition_leader_epoch=7)
    )
    info = log.append_as_leader(data, 0, len(data), 7, origin=Origin.RAFT_LEADER)
    assert (info.base_offset, info.last_offset) == (0, 1)
    with pytest.raises(KafkaError, match="epoch 8"):
        log.append_as_leader(data, 0, len(data), 8, origin=Origin.RAFT_LEADER)
    log.close()


# ------------------------------------------------------------------------------------------ high watermark and start


def test_the_high_watermark_only_moves_forward_and_not_past_the_end(tmp_path):
    log = open_log(tmp_path)
    data = batch(b"a", b"b", b"c")
    log.append_as_leader(data, 0, len(data), 1)
    assert log.high_watermark == 0
    log.local.advance_high_watermark(2)
    log.local.advance_high_watermark(1)
    assert log.high_watermark == 2
    log.local.advance_high_watermark(99)
    assert log.high_watermark == 3
    log.close()


def test_the_log_start_moves_up_to_the_high_watermark(tmp_path):
    log = open_log(tmp_path)
    append(log, batch(b"a", b"b", b"c"))
    assert log.local.advance_log_start(2)
    assert not log.local.advance_log_start(1)
    assert log.log_start_offset == 2
    assert log.earliest().offset == 2
    with pytest.raises(KafkaError) as refused:
        log.local.advance_log_start(4)
    assert refused.value.code == ErrorCode.OFFSET_OUT_OF_RANGE
    log.close()


def test_the_log_start_survives_in_memory_of_the_caller(tmp_path):
    log = open_log(tmp_path)
    append(log, batch(b"a", b"b", b"c"))
    log.close()
    again = open_log(tmp_path, log_start_offset=2)
    assert (again.log_start_offset, again.log_end_offset) == (2, 3)
    assert values_of(again) == [b"c"]
    again.close()


def test_a_log_whose_files_are_gone_starts_where_it_should(tmp_path):
    log = open_log(tmp_path)
    append(log, batch(b"a"))
    log.close()
    again = open_log(tmp_path, log_start_offset=50)
    assert (again.log_start_offset, again.log_end_offset) == (50, 50)
    assert append(again, batch(b"b")).base_offset == 50
    again.close()


def test_the_topic_and_partition_come_from_the_directory(tmp_path):
    log = open_log(tmp_path)
    assert (log.directory.name, str(log.topic_partition), log.topic_partition.partition) == ("orders-0", "orders-0", 0)
    log.close()


def test_many_small_batches_are_found_through_the_index(tmp_path):
    log: Log = open_log(tmp_path, LogConfig(index_interval_bytes=256))
    for number in range(500):
        append(log, batch(b"%d" % number))
    for offset in range(0, 500, 7):
        first = records_of(log.read(offset, 1, 500, at_least_one=True))[0]
        assert (first.offset, first.value) == (offset, b"%d" % offset)
    log.close()


def test_reading_a_long_log_keeps_few_files_open(tmp_path):
    log = open_log(tmp_path, SMALL)
    for number in range(60):
        append(log, batch(b"%d" % number * 60, timestamp=NOW + number))
    log.close()
    again = open_log(tmp_path, SMALL)
    assert len(again.segments) >= 20
    slices = [again.read(offset, 1, 60, at_least_one=True).records for offset in range(60)]
    at_time(again, NOW + 30)
    latest_of(again)
    assert sum(segment.file is not None for segment in again.segments) <= 9
    # What was handed out before stays readable.
    assert all(len(one.read()) == one.length for one in slices)
    again.close()


def test_the_segment_that_is_written_stays_open_however_many_others_are_read(tmp_path):
    log = open_log(tmp_path, LogConfig(segment_bytes=100))
    for _ in range(20):
        append(log, batch(b"v" * 20))
    assert len(log.segments) > 12
    segments = log.segments
    segments.locate(log.log_end_offset - 1)
    active = segments.active
    assert active.file is not None
    for offset in range(12):
        segments.locate(offset)
    assert active.file is not None
    log.close()


def test_forcing_what_rests_opens_nothing_for_longer_than_that(tmp_path):
    log = open_log(tmp_path)
    append(log, batch(b"value"))
    active = log.segments.active
    active.flush()
    assert active.file is not None
    active.rest()
    active.flush()
    assert active.file is None
    log.close()
