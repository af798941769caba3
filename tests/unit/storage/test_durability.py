"""What forcing a log to disk does, and that nobody takes for done what was not."""

from __future__ import annotations

import errno

import pytest
from storage_kit import FailingDisk, append, batch, open_log

from moldau.storage.storage_error import StorageError


class SyncedFile:
    def __init__(self, file, synced):
        self._file = file
        self._synced = synced

    def sync(self):
        self._synced.append(self._file.path.rpartition("/")[2])
        self._file.sync()

    def __getattr__(self, name):
        return getattr(self._file, name)


class Disk(FailingDisk):
    """Notes what is forced, files by their names and directories as they are called."""

    def __init__(self):
        super().__init__()
        self.synced = []

    def open(self, path, *, create=False):
        return SyncedFile(super().open(path, create=create), self.synced)

    def _check(self, operation, path):
        super()._check(operation, path)
        if operation == "sync_directory":
            self.synced.append(path)


@pytest.fixture
def disk():
    return Disk()


@pytest.fixture
def log(tmp_path, disk):
    log = open_log(tmp_path, disk=disk)
    yield log
    log.segments.release()


@pytest.fixture
def failures(log):
    found = []
    log.directory.report = found.append
    return found


def test_a_flush_forces_the_segments_up_to_its_end(tmp_path, disk, log):
    append(log, batch(b"a"))
    log.local.roll()
    append(log, batch(b"b"))
    disk.synced.clear()
    log.flush()
    assert {"00000000000000000000.log", "00000000000000000001.log", str(tmp_path / "orders-0")} <= set(disk.synced)
    disk.synced.clear()
    log.flush()
    assert disk.synced == []


def test_a_commit_forces_the_records_alone(tmp_path, disk, log):
    append(log, batch(b"a"))
    commit = log.commit()
    disk.synced.clear()
    commit.run()
    assert log.durability.durable_offset == 0
    commit.done()
    assert (disk.synced[0], log.durability.durable_offset, log.durability.recovery_point) == (
        "00000000000000000000.log",
        1,
        0,
    )
    assert log.commit() is None


def test_a_commit_that_cannot_begin_is_an_error_of_the_disk(disk, log, failures):
    append(log, batch(b"a"))
    log.segments.rest()
    disk.refuse = lambda operation, path: operation == "open"
    with pytest.raises(StorageError, match="Committing"):
        log.commit()
    assert len(failures) == 1


def test_closed_segments_are_not_forced_without_the_epochs(disk, log, failures):
    append(log, batch(b"a"), epoch=3)
    log.local.roll()
    disk.refuse = lambda operation, path: "leader-epoch-checkpoint" in path
    with pytest.raises(StorageError, match="Flushing"):
        log.durability.sealed_flush()
    assert (len(failures), log.durability.recovery_point) == (1, 0)


def producer_batch():
    return batch(b"a", producer_id=5, producer_epoch=0, base_sequence=0)


def test_closing_forces_the_name_of_the_snapshot_it_wrote(tmp_path, disk, log):
    append(log, producer_batch())
    log.flush()
    disk.synced.clear()
    log.close()
    assert "00000000000000000001.snapshot" in " ".join(disk.synced)
    assert disk.synced.count(str(tmp_path / "orders-0")) >= 1


def test_a_log_that_cannot_be_closed_says_so(disk, log, failures):
    append(log, producer_batch())
    log.flush()
    disk.code = errno.EIO
    disk.refuse = lambda operation, path: ".snapshot" in path
    with pytest.raises(StorageError, match="Closing"):
        log.close()
    assert len(failures) == 1


def test_what_was_cut_meanwhile_is_not_counted_as_forced(log):
    append(log, batch(b"a"))
    commit = log.commit()
    log.local.truncate_to(0)
    append(log, batch(b"b"))
    commit.run()
    commit.done()
    assert log.durability.durable_offset == 0
