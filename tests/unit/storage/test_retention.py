"""What is deleted, and what is not, when time has passed or a log has grown."""

from __future__ import annotations

import pytest
from storage_kit import NOW, StoppedClock, append, batch, names_in, open_log, values_of

from moldau.config.topic import LogConfig
from moldau.runtime.disk import RealDisk
from moldau.storage.deferred_removal import DeferredRemoval
from moldau.storage.retention import apply_retention, delete_old_segments

HOUR = 3_600_000


def config(**more):
    # One batch a segment.
    return LogConfig(**{"segment_bytes": 100, "retention_ms": -1, "file_delete_delay_ms": 0, **more})


def filled(path, clock, count=4, **more):
    """`count` segments of one record each, an hour apart, the newest now."""
    log = open_log(path, config(**more), clock=clock)
    for index in range(count):
        append(log, batch(b"%d" % index, timestamp=clock.now - (count - 1 - index) * HOUR))
    assert len(log.segments) == count
    return log


@pytest.fixture
def clock():
    return StoppedClock()


def test_old_segments_go_and_the_log_starts_later(tmp_path, clock):
    log = filled(tmp_path, clock, retention_ms=HOUR + 1)
    size = log.size
    deleted = delete_old_segments(log, clock.now)
    assert values_of(log) == [b"2", b"3"]
    assert (log.log_start_offset, log.segments.first.base_offset) == (2, 2)
    assert deleted == size - log.size > 0
    log.close()


def test_a_segment_is_as_old_as_its_latest_record(tmp_path, clock):
    log = open_log(tmp_path, LogConfig(retention_ms=HOUR), clock=clock)
    append(log, batch(b"old", timestamp=NOW - 5 * HOUR))
    append(log, batch(b"new", timestamp=NOW - HOUR))
    log.roll()
    assert delete_old_segments(log, clock.now) == 0
    assert delete_old_segments(log, clock.now + 1) > 0
    log.close()


def test_the_active_segment_goes_too_when_all_of_it_is_old(tmp_path, clock):
    log = filled(tmp_path, clock, retention_ms=HOUR)
    delete_old_segments(log, clock.now + 2 * HOUR)
    assert values_of(log) == []
    assert (log.log_start_offset, log.log_end_offset, len(log.segments)) == (4, 4, 1)
    # The empty one stays: there is nothing in it to delete.
    assert delete_old_segments(log, clock.now + 9 * HOUR) == 0
    assert append(log, batch(b"next", timestamp=NOW)).base_offset == 4
    log.close()
    again = open_log(tmp_path, config(), clock=clock)
    assert values_of(again) == [b"next"]
    again.close()


def test_as_many_segments_go_as_leave_the_size_that_is_kept(tmp_path, clock):
    log = filled(tmp_path, clock)
    one = log.size // 4
    log.update_config(config(retention_bytes=2 * one))
    delete_old_segments(log, clock.now)
    assert values_of(log) == [b"2", b"3"]
    log.update_config(config(retention_bytes=2 * one - 1))
    assert delete_old_segments(log, clock.now) == 0
    log.update_config(config(retention_bytes=0))
    delete_old_segments(log, clock.now)
    assert (values_of(log), log.log_start_offset) == ([], 4)
    log.close()


def test_no_limit_keeps_everything(tmp_path, clock):
    log = filled(tmp_path, clock)
    assert delete_old_segments(log, clock.now + 10**12) == 0
    log.close()


def test_nothing_behind_the_high_watermark_goes(tmp_path, clock):
    log = open_log(tmp_path, config(retention_ms=0), clock=clock)
    for value in (b"0", b"1", b"2"):
        data = batch(value, timestamp=NOW - HOUR)
        log.append_as_leader(data, 0, len(data), 1)
    log.high_watermark = 1
    delete_old_segments(log, clock.now)
    assert (log.log_start_offset, [segment.base_offset for segment in log.segments]) == (1, [1, 2])
    log.close()


@pytest.mark.parametrize(("compact", "delete"), [(True, False), (False, False), (True, True), (False, True)])
def test_the_policy_decides_what_age_means(tmp_path, clock, compact, delete):
    log = filled(tmp_path, clock, retention_ms=0)
    log.update_config(config(retention_ms=0, compact=compact, delete=delete))
    log.advance_log_start(2)
    delete_old_segments(log, clock.now + 1)
    # What lies before the start goes in any case; the rest only where records are deleted by age.
    assert (log.segments.first.base_offset, values_of(log)) == ((4, []) if delete else (2, [b"2", b"3"]))
    log.close()


def test_a_segment_that_holds_the_start_stays(tmp_path, clock):
    log = open_log(tmp_path, LogConfig(), clock=clock)
    append(log, batch(b"0", b"1"))
    log.roll()
    append(log, batch(b"2"))
    log.advance_log_start(1)
    assert delete_old_segments(log, clock.now) == 0
    log.advance_log_start(2)
    assert delete_old_segments(log, clock.now) > 0
    log.close()


def test_records_without_a_timestamp_count_from_the_file(tmp_path, clock):
    log = open_log(tmp_path, config(retention_ms=HOUR), clock=clock)
    append(log, batch(b"0", timestamp=-1))
    log.roll()
    written = log.segments.first.modified_ms
    assert delete_old_segments(log, written + HOUR) == 0
    assert delete_old_segments(log, written + HOUR + 1) > 0
    log.close()


def test_files_are_removed_in_two_steps(tmp_path, clock):
    removal = DeferredRemoval(RealDisk(), clock)
    settings = config(retention_ms=HOUR, file_delete_delay_ms=1000)
    log = open_log(tmp_path, settings, clock=clock, removal=removal)
    append(log, batch(b"0", timestamp=NOW - 2 * HOUR))
    append(log, batch(b"1"))
    read = log.read(0, 1000, 1, at_least_one=True)
    delete_old_segments(log, clock.now)
    directory = tmp_path / "orders-0"
    assert f"{0:020d}.log.deleted" in names_in(directory)
    assert f"{0:020d}.log" not in names_in(directory)
    clock.now += 999
    removal.run()
    assert f"{0:020d}.log.deleted" in names_in(directory)
    clock.now += 1
    removal.run()
    assert not [name for name in names_in(directory) if name.endswith(".deleted")]
    # Who was reading it can finish all the same.
    assert read.records.read()
    log.close()


def test_busy_logs_wait_for_their_turn(tmp_path, clock):
    log = filled(tmp_path, clock, retention_ms=0)
    apply_retention([log], clock.now + HOUR, {log.topic_partition})
    assert log.log_start_offset == 0
    apply_retention([log], clock.now + HOUR)
    assert log.log_start_offset == 4
    log.close()
