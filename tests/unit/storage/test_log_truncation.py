from __future__ import annotations

from storage_kit import NOW, StoppedClock, append, batch, latest_of, names_in, open_log, values_of

from moldau.config.topic import LogConfig
from moldau.runtime.disk import RealDisk
from moldau.storage.deferred_removal import DeferredRemoval
from moldau.storage.file_names import CLEANED
from moldau.storage.segment import Segment

SMALL = LogConfig(segment_bytes=300, index_interval_bytes=80, segment_index_bytes=240, file_delete_delay_ms=1000)


def filled(tmp_path, count=8, **more):
    log = open_log(tmp_path, SMALL, **more)
    for number in range(count):
        append(log, batch(b"%d" % number * 40, timestamp=NOW + number), epoch=1 + number // 4)
    assert list(log.segments.base_offsets) == [0, 2, 4, 6]
    return log


def test_truncation_drops_records_epochs_and_watermark(tmp_path):
    log = filled(tmp_path)
    assert log.local.truncate_to(3)
    assert (log.log_end_offset, log.high_watermark) == (3, 3)
    assert values_of(log) == [b"0" * 40, b"1" * 40, b"2" * 40]
    assert [tuple(entry) for entry in log.epochs.entries] == [(1, 0)]
    assert append(log, batch(b"new"), epoch=5).base_offset == 3
    assert latest_of(log).offset == 2
    log.close()


def test_a_batch_across_the_offset_goes_as_a_whole(tmp_path):
    log = open_log(tmp_path)
    append(log, batch(b"a", b"b"))
    append(log, batch(b"c", b"d", b"e"))
    assert log.local.truncate_to(4)
    assert log.log_end_offset == 2
    assert values_of(log) == [b"a", b"b"]
    log.close()


def test_truncating_to_the_end_only_forgets_an_epoch_without_records(tmp_path):
    log = filled(tmp_path)
    log.begin_epoch(9)
    assert log.epochs.latest_epoch == 9
    assert not log.local.truncate_to(8)
    assert log.epochs.latest_epoch == 2
    assert log.log_end_offset == 8
    log.close()


def test_truncating_before_the_first_segment_starts_over(tmp_path):
    log = filled(tmp_path)
    log.local.delete_segments(log.segments.all()[:2])
    assert log.log_start_offset == 4
    assert log.local.truncate_to(1)
    assert (log.log_start_offset, log.log_end_offset) == (1, 1)
    assert append(log, batch(b"x")).base_offset == 1
    log.close()


def test_starting_over_somewhere_else(tmp_path):
    log = filled(tmp_path)
    log.local.truncate_fully_and_start_at(100, log_start_offset=90)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (90, 100, 100)
    assert log.epochs.latest_epoch == -1
    assert append(log, batch(b"x"), epoch=4).base_offset == 100
    log.close()
    again = open_log(tmp_path, SMALL, log_start_offset=90)
    assert (again.log_start_offset, again.log_end_offset) == (100, 101)
    again.close()


def test_the_recovery_point_never_lies_behind_the_end(tmp_path):
    log = filled(tmp_path)
    log.flush()
    assert log.durability.recovery_point == 8
    log.local.truncate_to(5)
    assert log.durability.recovery_point == 5
    log.close()


def test_old_segments_are_deleted_in_two_steps(tmp_path):
    clock = StoppedClock()
    removal = DeferredRemoval(RealDisk(), clock)
    log = filled(tmp_path, clock=clock, removal=removal)
    waiting = log.read(0, 1 << 20, 8, at_least_one=True).records
    deleted = log.local.delete_segments(log.segments.all()[:2])
    assert deleted > 0
    assert log.log_start_offset == 4
    marked = [name for name in names_in(tmp_path / "orders-0") if name.endswith(".deleted")]
    assert f"{0:020d}.log.deleted" in marked
    assert f"{2:020d}.snapshot.deleted" in marked
    removal.run()
    assert [name for name in names_in(tmp_path / "orders-0") if name.endswith(".deleted")] == marked
    clock.now += 1000
    removal.run()
    assert not [name for name in names_in(tmp_path / "orders-0") if name.endswith(".deleted")]
    assert removal.waiting == 0
    # An answer that was on its way when the segment went can still be sent.
    assert len(waiting.read()) == waiting.length
    log.close()


def test_deleting_all_segments_leaves_a_new_one_at_the_end(tmp_path):
    log = filled(tmp_path)
    log.local.delete_segments(log.segments.all())
    assert list(log.segments.base_offsets) == [8]
    assert (log.log_start_offset, log.log_end_offset) == (8, 8)
    assert append(log, batch(b"x")).base_offset == 8
    log.close()


def test_compacted_segments_take_the_place_of_the_old_ones(tmp_path):
    log = filled(tmp_path)
    old = log.segments.all()[:2]
    cleaned = Segment.create(log.segments.disk, log.directory.path, 0, SMALL, 0, CLEANED)
    data = batch(b"1" * 40, base_offset=1)
    cleaned.append(data, 1, NOW, 1)
    cleaned.seal()
    cleaned.flush()
    log.local.replace_segments([cleaned], old)
    assert list(log.segments.base_offsets) == [0, 4, 6]
    assert [value[:1] for value in values_of(log)] == [b"1", b"4", b"5", b"6", b"7"]
    assert not [name for name in names_in(tmp_path / "orders-0") if name.endswith((".cleaned", ".swap"))]
    log.close()
    again = open_log(tmp_path, SMALL)
    assert [value[:1] for value in values_of(again)] == [b"1", b"4", b"5", b"6", b"7"]
    again.close()


def test_a_renamed_directory_goes_on_working(tmp_path):
    log = filled(tmp_path)
    log.local.rename("orders-0.abc-delete")
    append(log, batch(b"x"))
    log.local.roll()
    assert values_of(log)[-1] == b"x"
    assert names_in(tmp_path) == ["orders-0.abc-delete"]
    log.close()
