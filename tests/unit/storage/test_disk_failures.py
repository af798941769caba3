from __future__ import annotations

import errno

import pytest
from storage_kit import FailingDisk, append, batch, marker, open_log, values_of

from moldau.config.topic import LogConfig
from moldau.errors import ErrorCode
from moldau.storage.log import Origin
from moldau.storage.storage_error import StorageError

SMALL = LogConfig(segment_bytes=300, index_interval_bytes=80, segment_index_bytes=240)


@pytest.fixture
def disk():
    return FailingDisk()


def test_a_failed_append_names_the_directory(tmp_path, disk):
    log = open_log(tmp_path, disk=disk)
    disk.bytes_left = 0
    with pytest.raises(StorageError) as failed:
        append(log, batch(b"a"))
    assert failed.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert (failed.value.directory, failed.value.errno) == (str(tmp_path), errno.ENOSPC)
    assert "orders-0" in failed.value.message
    log.segments.release()


def test_a_full_disk_refuses_writes_keeps_reads_and_recovers(tmp_path, disk):
    log = open_log(tmp_path, disk=disk)
    append(log, batch(b"before", producer_id=1, producer_epoch=0, base_sequence=0))
    disk.bytes_left = 70
    second = batch(b"second" * 20, producer_id=1, producer_epoch=0, base_sequence=1)
    with pytest.raises(StorageError):
        append(log, second)
    assert (log.log_end_offset, log.high_watermark) == (1, 1)
    assert values_of(log) == [b"before"]
    assert log.producers.entries[1].last_sequence == 0
    disk.bytes_left = None
    again = batch(b"second" * 20, producer_id=1, producer_epoch=0, base_sequence=1)
    assert append(log, again).base_offset == 1
    assert values_of(log) == [b"before", b"second" * 20]
    log.close()


def test_what_was_half_written_is_cut_off_before_the_next_write(tmp_path, disk):
    """Else a crash could find the rest of the old batch behind the new one."""
    log = open_log(tmp_path, disk=disk)
    append(log, batch(b"a"))
    size = log.segments.size
    disk.bytes_left = 500
    with pytest.raises(StorageError):
        append(log, batch(b"x" * 1000))
    file = tmp_path / "orders-0" / f"{0:020d}.log"
    assert file.stat().st_size == size + 500
    disk.bytes_left = None
    short = append(log, batch(b"b")).bytes
    assert file.stat().st_size == size + short
    log.segments.release()
    again = open_log(tmp_path, clean_shutdown=False)
    assert values_of(again) == [b"a", b"b"]
    again.close()


def test_a_clean_stop_after_a_failed_append_leaves_no_remains(tmp_path, disk):
    log = open_log(tmp_path, disk=disk)
    append(log, batch(b"a"))
    disk.bytes_left = 30
    with pytest.raises(StorageError):
        append(log, batch(b"x" * 100))
    disk.bytes_left = None
    log.close()
    again = open_log(tmp_path)
    assert values_of(again) == [b"a"]
    again.close()


@pytest.mark.parametrize("suffix", [".log", ".snapshot"])
def test_a_roll_that_fails_can_be_repeated(tmp_path, disk, suffix):
    log = open_log(tmp_path, SMALL, disk=disk)
    append(log, batch(b"0" * 100))
    disk.refuse = lambda operation, path: operation in ("open", "map") and path.endswith(f"{1:020d}{suffix}")
    with pytest.raises(StorageError):
        append(log, batch(b"1" * 100))
    assert log.log_end_offset == 1
    disk.refuse = lambda operation, path: False
    append(log, batch(b"1" * 100))
    append(log, batch(b"2" * 100))
    assert [value[:1] for value in values_of(log)] == [b"0", b"1", b"2"]
    log.segments.release()
    again = open_log(tmp_path, SMALL, clean_shutdown=False)
    assert [value[:1] for value in values_of(again)] == [b"0", b"1", b"2"]
    again.close()


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_an_index_that_cannot_be_made_refuses_the_batch_of_its_first_entry(tmp_path, disk, suffix):
    log = open_log(tmp_path, LogConfig(index_interval_bytes=100), disk=disk)
    append(log, batch(b"0" * 100))
    disk.refuse = lambda operation, path: operation == "map" and path.endswith(suffix)
    with pytest.raises(StorageError):
        append(log, batch(b"1" * 100))
    assert log.log_end_offset == 1
    disk.refuse = lambda operation, path: False
    append(log, batch(b"1" * 100))
    append(log, batch(b"2" * 100))
    assert [value[:1] for value in values_of(log)] == [b"0", b"1", b"2"]
    log.segments.release()
    again = open_log(tmp_path, clean_shutdown=False)
    assert [value[:1] for value in values_of(again)] == [b"0", b"1", b"2"]
    again.close()


def test_a_segment_that_could_not_be_closed_is_closed_with_the_next_append(tmp_path, disk):
    log = open_log(tmp_path, SMALL, disk=disk)
    append(log, batch(b"0" * 100))
    # Closing enters the last timestamp in the time index, whose first page has no space yet.
    disk.refuse = lambda operation, path: operation == "open" and path.endswith(f"{0:020d}.timeindex")
    with pytest.raises(StorageError):
        append(log, batch(b"1" * 100))
    assert list(log.segments.base_offsets) == [0]
    disk.refuse = lambda operation, path: False
    append(log, batch(b"s"))
    assert list(log.segments.base_offsets) == [0, 1]
    log.segments.release()
    again = open_log(tmp_path, SMALL, clean_shutdown=False)
    assert values_of(again) == [b"0" * 100, b"s"]
    again.close()


def test_an_abort_that_cannot_be_written_leaves_no_entry(tmp_path, disk):
    log = open_log(tmp_path, disk=disk)
    append(log, batch(b"a", producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True))
    disk.bytes_left = 34 + 10
    with pytest.raises(StorageError):
        append(log, marker(1, 0, commit=False), origin=Origin.COORDINATOR)
    assert log.segments.aborted_between(0, 10) == []
    assert log.producers.open_transactions == {0: 1}
    disk.bytes_left = None
    append(log, marker(1, 0, commit=True), origin=Origin.COORDINATOR)
    log.close()
    again = open_log(tmp_path)
    assert again.segments.aborted_between(0, 10) == []
    again.close()


@pytest.mark.parametrize("operation", ["make_directories", "list", "open", "map"])
def test_a_log_that_cannot_be_opened(tmp_path, disk, operation):
    if operation == "map":  # a new log has no indexes before their first entries
        open_log(tmp_path, disk=disk).close()
    disk.refuse = lambda name, path: name == operation
    with pytest.raises(StorageError) as failed:
        open_log(tmp_path, disk=disk)
    assert failed.value.directory == str(tmp_path)


def test_other_operations_fail_the_same_way(tmp_path, disk):
    log = open_log(tmp_path, SMALL, disk=disk)
    for number in range(4):
        append(log, batch(b"%d" % number * 100))
    segments = log.segments.all()
    disk.refuse = lambda operation, path: operation in ("rename", "sync_directory", "remove_tree")
    for action in (
        lambda: log.local.truncate_to(1),
        lambda: log.local.delete_segments(segments[:1]),
        log.flush,
        lambda: log.local.rename("orders-0.x-delete"),
    ):
        with pytest.raises(StorageError):
            action()
    log.segments.release()


def test_a_follower_that_cannot_note_an_abort_ends_before_it_and_so_do_its_producers(tmp_path, disk):
    """Else it would miss batches of other producers behind it, and refuse their next ones when it leads."""
    leader = open_log(tmp_path / "leader")
    append(leader, batch(b"a", producer_id=4, producer_epoch=0, base_sequence=0, is_transactional=True))
    append(leader, batch(b"b", producer_id=5, producer_epoch=0, base_sequence=0))
    append(leader, marker(4, 0, commit=False), origin=Origin.COORDINATOR)
    append(leader, batch(b"c", producer_id=5, producer_epoch=0, base_sequence=1))
    follower = open_log(tmp_path / "follower", disk=disk)

    def follow() -> None:
        end = follower.log_end_offset
        data = memoryview(bytearray(leader.read(end, 1 << 20, 4, at_least_one=True).records.read()))
        follower.append_as_follower(data, 0, len(data))

    disk.refuse = lambda operation, path: path.endswith(".txnindex")
    disk.code = errno.ENOSPC
    with pytest.raises(StorageError):
        follow()
    assert follower.log_end_offset == follower.producers.end_offset == 2
    assert follower.producers.entries[5].last_sequence == 0
    disk.refuse = lambda operation, path: False
    follow()
    follower.local.advance_high_watermark(4)
    assert follower.log_end_offset == follower.producers.end_offset == 4
    assert follower.producers.entries[5].last_sequence == 1
    assert follower.last_stable_offset == 4
    assert follower.segments.aborted_between(0, 4) == leader.segments.aborted_between(0, 4) != []
    leader.close()
    follower.close()
