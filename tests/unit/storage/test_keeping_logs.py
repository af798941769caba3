"""What is done with the logs of a node beside reading and writing them: in which order, and how much at once."""

from __future__ import annotations

import errno
from types import SimpleNamespace

import pytest
from storage_kit import CountingRandom, FailingDisk, StoppedClock, append, batch, names_in, values_of

from moldau.config.broker import BrokerConfig
from moldau.config.topic import LogConfig
from moldau.runtime.disk import RealDisk
from moldau.slicing import Slicer, run_whole
from moldau.storage.checkpoint_kinds import COMPACTED, RECOVERY_POINTS
from moldau.storage.directory_load import DirectoryLoad
from moldau.storage.directory_work import DirectoryWork
from moldau.storage.log_loading import LogLoading
from moldau.storage.log_manager import LogManager
from moldau.storage.offset_index import OffsetIndex
from moldau.storage.retention import RetentionPass
from moldau.storage.storage_error import StorageError
from moldau.storage.upkeep import Upkeep
from moldau.types import TopicPartition

ORDERS, BILLS = TopicPartition("orders", 0), TopicPartition("bills", 0)
ID = b"i" * 16


class Steps:
    """Loop and workers in one; the test says when a turn or a job happens."""

    def __init__(self):
        self.soon, self.jobs = [], []

    def call_soon(self, callback):
        self.soon.append(callback)

    def submit(self, job, done):
        self.jobs.append((job, done))

    def turn(self):
        soon, self.soon = self.soon, []
        for callback in soon:
            callback()

    def work(self, count=None):
        jobs, self.jobs = self.jobs[:count], self.jobs[len(self.jobs) if count is None else count :]
        for job, done in jobs:
            try:
                job()
            except OSError as error:
                done(None, error)
            else:
                done(None, None)

    def settle(self):
        while self.soon or self.jobs:
            self.turn()
            self.work()


def manager(*paths, disk=None, steps=None, clock=None):
    logs = LogManager(
        BrokerConfig.parse({"log.dirs": ",".join(map(str, paths))}),
        disk or RealDisk(),
        clock or StoppedClock(),
        CountingRandom(),
        cluster_id="c",
        loop=steps,
        workers=steps,
    )
    logs.start()
    return logs


# ------------------------------------------------------------------------------------------------- directory work


def test_jobs_of_a_directory_keep_their_order_and_never_overlap():
    steps, seen = Steps(), []
    work = DirectoryWork(steps)
    for name in "abc":
        work.submit(lambda name=name: seen.append(name), lambda error, name=name: seen.append(f"{name} done {error}"))
        assert len(steps.jobs) == 1
    while steps.jobs:
        steps.work(1)
    assert seen == ["a", "a done None", "b", "b done None", "c", "c done None"]


def test_a_job_that_fails_and_a_callback_that_fails_hold_nobody_up():
    seen = []
    work = DirectoryWork()
    work.submit(lambda: 1 / 0, lambda error: seen.append(type(error)))
    with pytest.raises(KeyError):
        work.submit(lambda: None, lambda error: {}["no"])
    work.submit(lambda: seen.append("next"), lambda error: None)
    assert seen == [ZeroDivisionError, "next"]


# ------------------------------------------------------------------------------------------------------ retirement


def test_many_logs_let_go_some_in_a_turn(tmp_path):
    steps = Steps()
    logs = manager(tmp_path, steps=steps)
    places = [TopicPartition("t", number) for number in range(150)]
    for place in places:
        logs.get_or_create(place, ID, LogConfig())
    for place in places:
        logs.delete(place)
    turns = 0
    while steps.soon:
        assert not steps.jobs, "what the disk has to do is done once, for all"
        steps.turn()
        turns += 1
    assert (turns, len(steps.jobs)) == (3, 1)
    steps.settle()
    assert all(logs.is_free(place) for place in places)
    logs.abandon()


def test_what_is_set_aside_stays(tmp_path):
    clock = StoppedClock()
    logs = manager(tmp_path, clock=clock)
    append(logs.get_or_create(ORDERS, ID, LogConfig()), batch(b"a"))
    logs.get_or_create(BILLS, ID, LogConfig())
    logs.set_aside(ORDERS)
    logs.delete(BILLS)
    clock.now += 86_400_000
    Upkeep(logs, clock).remove_deleted()
    (left,) = [name for name in names_in(tmp_path) if name.startswith(("orders", "bills"))]
    assert left.startswith("orders-0.")
    assert left.endswith("-stray")
    logs.close()


def test_a_directory_that_went_offline_meanwhile_frees_the_names_too(tmp_path):
    steps, disk = Steps(), FailingDisk()
    logs = manager(tmp_path / "a", tmp_path / "b", disk=disk, steps=steps)
    home = logs.get_or_create(ORDERS, ID, LogConfig()).directory.parent
    logs.delete(ORDERS)
    steps.turn()
    logs.directory_failed(home, "gone")
    disk.refuse = lambda operation, path: operation == "rename"
    steps.settle()
    disk.refuse = lambda operation, path: False
    assert logs.is_free(ORDERS)
    logs.abandon()


# --------------------------------------------------------------------------------------------------------- loading


@pytest.mark.parametrize(("offset", "counts"), [(0, 0), (3, 3), (4, 0)])
def test_a_compacted_offset_ahead_of_its_log_counts_for_nothing(tmp_path, offset, counts):
    logs = manager(tmp_path)
    append(logs.get_or_create(ORDERS, ID, LogConfig()), batch(b"a", b"b", b"c", key=b"k"))
    logs.close()
    (tmp_path / "cleaner-offset-checkpoint").write_text(f"0\n1\norders 0 {offset}\n")
    again = manager(tmp_path)
    assert again.get(ORDERS).local.first_dirty_offset == counts
    again.close()


# --------------------------------------------------------------------------------------------------------- closing


def test_closing_reports_to_nobody_and_keeps_no_other_log_from_it(tmp_path):
    steps, disk = Steps(), FailingDisk()
    logs = manager(tmp_path, disk=disk, steps=steps)
    for place in (ORDERS, BILLS):
        append(logs.get_or_create(place, ID, LogConfig()), batch(b"a"))
    failures = []
    logs.failed = failures.append
    disk.refuse = lambda operation, path: "orders-0" in path
    done = []
    logs.close_on(steps).then(lambda value, error: done.append(error))
    steps.settle()
    assert (done, failures) == ([None], []), "on a worker nothing may be taken offline"
    assert not (tmp_path / ".kafka_cleanshutdown").exists()
    disk.refuse = lambda operation, path: False
    again = manager(tmp_path)
    assert (values_of(again.get(ORDERS)), values_of(again.get(BILLS))) == ([b"a"], [b"a"])
    assert again.get(BILLS).durability.recovery_point == 0, "checked like the rest: it had no mark"
    again.close()


def test_closing_that_takes_too_long_is_given_up_after_the_log_it_is_at(tmp_path):
    steps = Steps()
    logs = manager(tmp_path, steps=steps)
    for number in range(40):
        append(logs.get_or_create(TopicPartition("t", number), ID, LogConfig()), batch(b"a"))
    done = []
    logs.close_on(steps).then(lambda value, error: done.append(error))
    portions = len(steps.jobs)
    assert portions == 3, "several at a time"
    logs.hurry()
    steps.settle()
    assert done == [None]
    assert not (tmp_path / ".kafka_cleanshutdown").exists()
    assert not list(tmp_path.glob("t-*/*.timeindex")), "none was closed"
    again = manager(tmp_path)
    assert all(values_of(log) == [b"a"] for log in again.logs.values())
    again.close()


# ---------------------------------------------------------------------------------------------------------- upkeep


def test_a_checkpoint_asked_for_while_it_is_written_is_written_once_more(tmp_path):
    steps = Steps()
    logs = manager(tmp_path, steps=steps)
    upkeep = Upkeep(logs, StoppedClock(), steps)
    log = logs.get_or_create(ORDERS, ID, LogConfig())
    for offset in (1, 2, 3):
        log.local.first_dirty_offset = offset
        upkeep.checkpoint(COMPACTED)
    assert len(steps.jobs) == 1
    steps.settle()
    assert (tmp_path / "cleaner-offset-checkpoint").read_text() == "0\n1\norders 0 3\n"
    upkeep.checkpoint(COMPACTED)
    assert not steps.jobs, "the file says so already"
    upkeep.checkpoint(RECOVERY_POINTS, "/elsewhere")
    assert not steps.jobs
    logs.abandon()


def test_files_are_closed_when_nobody_wrote_between_two_looks(tmp_path):
    logs = manager(tmp_path)
    upkeep = Upkeep(logs, StoppedClock())
    log = logs.get_or_create(ORDERS, ID, LogConfig())
    append(log, batch(b"a"))
    upkeep.close_idle_files()
    assert log.segments.active.file is not None
    append(log, batch(b"b"))
    upkeep.close_idle_files()
    assert log.segments.active.file is not None
    upkeep.close_idle_files()
    assert log.segments.active.file is None
    append(log, batch(b"c"))
    assert values_of(log) == [b"a", b"b", b"c"]
    logs.close()


def test_an_index_that_rests_at_its_full_size_is_cut_when_it_is_closed(tmp_path):
    path = tmp_path / "i.index"
    index = OffsetIndex(RealDisk(), str(path), 0, 800)
    index.start_empty()
    index.make_room()
    index.append(7, 100)
    index.rest()
    assert path.stat().st_size == 800
    assert index.lookup(8) == 100
    index.rest()
    index.close()
    assert path.stat().st_size == 8
    again = OffsetIndex(RealDisk(), str(path), 0, 800)
    assert again.lookup(8) == 100
    again.close()


def test_retention_leaves_a_log_alone_that_was_deleted_since_the_pass_began(tmp_path):
    clock = StoppedClock()
    logs = manager(tmp_path, clock=clock)
    config = LogConfig(segment_bytes=100, retention_ms=0, file_delete_delay_ms=0)
    log = logs.get_or_create(ORDERS, ID, config)
    for number in range(3):
        append(log, batch(b"%d" % number))
    clock.now += 3_600_000

    class Cleaner:
        busy, keeps = (), True

    work = RetentionPass(logs, Cleaner(), clock, Slicer(Steps(), clock))._pass()
    other = logs.get_or_create(BILLS, ID, config)
    append(other, batch(b"x"))
    next(work)
    start = log.log_start_offset
    logs.delete(ORDERS)
    run_whole(work)
    assert (start, log.log_start_offset) == (1, 1)
    logs.close()


def test_a_want_of_descriptors_is_not_a_failed_fsync():
    assert StorageError("d", "Flushing", OSError(5, "EIO"), lost=True).lost
    passing = StorageError("d", "Flushing", OSError(24, "EMFILE"), lost=True)
    assert (passing.lost, passing.is_passing) == (False, True)
    assert not StorageError("d", "Flushing", OSError(28, "ENOSPC"), lost=True).is_passing
    assert StorageError("d", "Writing", OSError(28, "ENOSPC")).is_passing


def test_a_flush_makes_a_new_log_one_that_is_found_again(tmp_path):
    disk, synced = FailingDisk(), []
    logs = manager(tmp_path, disk=disk)
    log = logs.get_or_create(ORDERS, ID, LogConfig())
    append(log, batch(b"a"))
    disk.refuse = lambda operation, path: bool(operation == "sync_directory" and synced.append(path))
    log.flush()
    assert synced[-1] == str(tmp_path)
    append(log, batch(b"b"))
    log.flush()
    assert synced.count(str(tmp_path)) == 1, "once in its life"
    logs.close()


def test_a_lost_topic_id_is_given_again_durably(tmp_path):
    logs = manager(tmp_path)
    append(logs.get_or_create(ORDERS, ID, LogConfig()), batch(b"a"))
    logs.close()
    (tmp_path / "orders-0" / "partition.metadata").unlink()
    forced = []

    class Watched(RealDisk):
        def open(self, path, *, create=False):
            file = super().open(path, create=create)
            if path.endswith("partition.metadata"):
                forced.append(file.fileno())
                return Noting(file, forced)
            return file

    class Noting:
        def __init__(self, file, forced):
            self._file = file

        def sync(self):
            forced.append("sync")
            self._file.sync()

        def __getattr__(self, name):
            return getattr(self._file, name)

    again = manager(tmp_path, disk=Watched())
    assert again.get(ORDERS).topic_id is None
    assert again.get_or_create(ORDERS, ID, LogConfig()).topic_id == ID
    assert forced[-1] == "sync"
    again.close()


def test_after_a_clean_stop_the_log_is_not_read_for_its_producers(tmp_path):
    logs = manager(tmp_path)
    log = logs.get_or_create(ORDERS, ID, LogConfig())
    append(log, batch(b"a"))
    log.local.roll()  # so there is a snapshot in the middle, and another one at the end when it is closed
    append(log, batch(b"b"))
    logs.close()
    opened, listed = [], []

    class Watched(RealDisk):
        def open(self, path, *, create=False):
            opened.append(path)
            return super().open(path, create=create)

        def list(self, path):
            listed.append(path)
            return super().list(path)

    again = manager(tmp_path, disk=Watched())
    assert opened == [str(tmp_path / "orders-0" / f"{1:020}.log")], "once, for where it ends"
    assert listed.count(str(tmp_path / "orders-0")) == 1
    again.close()


def test_a_directory_that_fails_before_its_logs_have_let_go(tmp_path):
    steps = Steps()
    logs = manager(tmp_path / "a", tmp_path / "b", steps=steps)
    log = logs.get_or_create(ORDERS, ID, LogConfig())
    append(log, batch(b"a"))
    logs.delete(ORDERS)
    logs.directory_failed(log.directory.parent, "gone")
    assert logs.is_free(ORDERS)
    assert log.segments.active.file is None
    steps.settle()
    assert (tmp_path / "a" / "orders-0").exists(), "nothing is done in a directory that is offline"
    logs.abandon()


@pytest.mark.parametrize(("code", "fails"), [(errno.EIO, True), (errno.ENOSPC, False), (errno.EDQUOT, False)])
def test_checkpoints_that_cannot_be_rewritten_for_want_of_room_keep_no_node_from_starting(code, fails):
    def keep(wanted):
        raise OSError(code, "it fails")

    load = DirectoryLoad.__new__(DirectoryLoad)
    load._found = []
    load.directory = SimpleNamespace(keep_entries=keep)
    if fails:
        with pytest.raises(OSError, match="it fails"):
            load._drop_entries_without_log()
    else:
        load._drop_entries_without_log()


def test_a_fault_while_logs_are_read_is_no_failing_disk():
    failures = []
    loading = SimpleNamespace(_failed=lambda directory, error: failures.append(error))
    load = SimpleNamespace(logs=[], directory=None, total=0, was_clean=True)
    with pytest.raises(ZeroDivisionError):
        LogLoading._loaded(loading, load, ZeroDivisionError())
    assert not failures
    LogLoading._loaded(loading, load, OSError(errno.EIO, "gone"))
    assert len(failures) == 1
