"""What is deleted, and what is not, when time has passed or a log has grown."""

from __future__ import annotations

import pytest
from storage_kit import NOW, FailingDisk, StoppedClock, append, batch, names_in, open_log, values_of

from moldau.config.topic import LogConfig
from moldau.runtime.disk import RealDisk
from moldau.slicing import Slicer
from moldau.storage.deferred_removal import DeferredRemoval
from moldau.storage.retention import RetentionPass, delete_old_segments
from moldau.types import TopicPartition

HOUR = 3_600_000


def config(**more):
    # One batch a segment.
    return LogConfig(**{"segment_bytes": 100, "retention_ms": -1, "file_delete_delay_ms": 0, **more})


def filled(path, clock, count=4, **more):
    """`count` segments of one record each, an hour apart, the newest now."""
    log = open_log(path, config(**more), clock=clock)
    for index in range(count):
        append(log, batch(b"%d" % index, key=b"k", timestamp=clock.now - (count - 1 - index) * HOUR))
    assert len(log.segments) == count
    return log


@pytest.fixture
def clock():
    return StoppedClock()


def test_old_segments_go_and_the_log_starts_later(tmp_path, clock):
    log = filled(tmp_path, clock, retention_ms=HOUR + 1)
    size = log.segments.size
    deleted = delete_old_segments(log, clock.now)
    assert values_of(log) == [b"2", b"3"]
    assert (log.log_start_offset, log.segments.first.base_offset) == (2, 2)
    assert deleted == size - log.segments.size > 0
    log.close()


def test_a_segment_is_as_old_as_its_latest_record(tmp_path, clock):
    log = open_log(tmp_path, LogConfig(retention_ms=HOUR), clock=clock)
    append(log, batch(b"old", timestamp=NOW - 5 * HOUR))
    append(log, batch(b"new", timestamp=NOW - HOUR))
    log.local.roll()
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
    one = log.segments.size // 4
    log.local.update_config(config(retention_bytes=2 * one))
    delete_old_segments(log, clock.now)
    assert values_of(log) == [b"2", b"3"]
    log.local.update_config(config(retention_bytes=2 * one - 1))
    assert delete_old_segments(log, clock.now) == 0
    log.local.update_config(config(retention_bytes=0))
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
    log.local.advance_high_watermark(1)
    delete_old_segments(log, clock.now)
    assert (log.log_start_offset, [segment.base_offset for segment in log.segments]) == (1, [1, 2])
    log.close()


@pytest.mark.parametrize(("compact", "delete"), [(True, False), (False, False), (True, True), (False, True)])
def test_the_policy_decides_what_age_means(tmp_path, clock, compact, delete):
    log = filled(tmp_path, clock, retention_ms=0)
    log.local.update_config(config(retention_ms=0, compact=compact, delete=delete))
    log.local.advance_log_start(2)
    delete_old_segments(log, clock.now + 1)
    # What lies before the start goes in any case; the rest only where records are deleted by age.
    assert (log.segments.first.base_offset, values_of(log)) == ((4, []) if delete else (2, [b"2", b"3"]))
    log.close()


def test_a_segment_that_holds_the_start_stays(tmp_path, clock):
    log = open_log(tmp_path, LogConfig(), clock=clock)
    append(log, batch(b"0", b"1"))
    log.local.roll()
    append(log, batch(b"2"))
    log.local.advance_log_start(1)
    assert delete_old_segments(log, clock.now) == 0
    log.local.advance_log_start(2)
    assert delete_old_segments(log, clock.now) > 0
    log.close()


def test_records_without_a_timestamp_count_from_the_file(tmp_path, clock):
    log = open_log(tmp_path, config(retention_ms=HOUR), clock=clock)
    append(log, batch(b"0", timestamp=-1))
    log.local.roll()
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


class Cleaner:
    def __init__(self, *busy, keeps=True):
        self.busy, self.keeps = busy, keeps


class Turns:
    """A loop of which the test runs every turn."""

    def __init__(self):
        self.ready = []

    def call_soon(self, callback):
        self.ready.append(callback)

    def run(self):
        turns = 0
        while self.ready:
            turns += 1
            self.ready.pop(0)()
        return turns


class TickingClock:
    """Every look at it takes a while."""

    def __init__(self, seconds=0.0005):
        self._now, self._seconds = 0.0, seconds

    def monotonic(self):
        self._now += self._seconds
        return self._now


class Logs:
    def __init__(self, logs):
        self.logs = {log.topic_partition: log for log in logs}
        self.get = self.logs.get


@pytest.mark.parametrize(
    ("policy", "busy", "keeps", "goes"),
    [
        ("delete", False, True, True),
        ("delete", True, True, False),
        ("both", False, True, False),
        ("both", False, False, True),
        ("both", True, False, False),
    ],
)
def test_a_log_is_deleted_or_compacted_by_one(tmp_path, clock, policy, busy, keeps, goes):
    """What is being compacted waits, and what is compacted at all is the cleaner's, if there is one."""
    log = filled(tmp_path, clock, retention_ms=0, compact=policy == "both")
    clock.now += HOUR
    cleaner = Cleaner(*[log.topic_partition] * busy, keeps=keeps)
    RetentionPass(Logs([log]), cleaner, clock, Slicer(Turns(), clock)).run()
    assert log.log_start_offset == (4 if goes else 0)
    log.close()


def test_a_pass_over_many_logs_takes_many_turns_and_goes_on_after_a_failure(tmp_path, clock):
    logs = []
    for number in range(250):
        directory = tmp_path / str(number)
        directory.mkdir()
        logs.append(filled(directory, clock, retention_ms=0))
        logs[-1].topic_partition = TopicPartition("orders", number)
    clock.now += HOUR
    loop = Turns()
    pausing = Slicer(loop, TickingClock(0.00005))
    broken = logs[100].segments.disk = FailingDisk()
    broken.refuse = lambda operation, path: True
    found = RetentionPass(Logs(logs), Cleaner(), clock, pausing)
    found.run()
    assert 0 < sum(log.log_start_offset == 4 for log in logs) < 100
    found.run()  # one at a time
    assert len(pausing) == 1
    assert loop.run() > 10
    assert [index for index, log in enumerate(logs) if log.log_start_offset != 4] == [100]
    found.run()
    assert loop.run() > 10, "and the next begins from the start"
    for log in logs:
        log.close()


def test_segments_go_one_by_one_and_none_that_was_written_to_meanwhile(tmp_path, clock):
    """The last segment was old when the pass began; what is acknowledged since then must stay."""
    log = filled(tmp_path, clock, retention_ms=HOUR // 2)
    clock.now += HOUR
    loop = Turns()
    RetentionPass(Logs([log]), Cleaner(), clock, Slicer(loop, TickingClock(0.003))).run()
    assert 0 < log.log_start_offset < 4, "one segment in a slice"
    append(log, batch(b"fresh", timestamp=clock.now))
    loop.run()
    assert (log.log_start_offset, values_of(log)[-1]) == (log.segments.active.base_offset, b"fresh")
    log.close()


def test_a_log_that_goes_during_the_pass_is_left_alone(tmp_path, clock):
    log = filled(tmp_path, clock, retention_ms=0)
    clock.now += HOUR
    loop, logs = Turns(), Logs([log])
    RetentionPass(logs, Cleaner(), clock, Slicer(loop, TickingClock(0.003))).run()
    start = log.log_start_offset
    logs.logs.clear()
    loop.run()
    assert 0 < start == log.log_start_offset < 4
    log.close()
