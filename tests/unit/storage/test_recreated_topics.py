"""A topic created again under its old name: nothing that was written of the old one may count for the new one."""

from __future__ import annotations

import errno

import pytest
from storage_kit import CountingRandom, FailingDisk, StoppedClock, append, batch, names_in, values_of

from moldau.config.broker import BrokerConfig
from moldau.config.topic import LogConfig
from moldau.errors import KafkaError
from moldau.runtime.disk import RealDisk
from moldau.storage.checkpoint_kinds import ALL_KINDS, COMPACTED, HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS
from moldau.storage.log_manager import LogManager
from moldau.storage.upkeep import Upkeep
from moldau.types import TopicPartition

ORDERS = TopicPartition("orders", 0)
BILLS = TopicPartition("bills", 0)
OLD, NEW = b"o" * 16, b"n" * 16
FILES = (
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    "cleaner-offset-checkpoint",
)


class Turns:
    """Loop and workers in one, a step at a time."""

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

    def work(self):
        jobs, self.jobs = self.jobs, []
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


def manager(path, disk=None, turns=None):
    logs = LogManager(
        BrokerConfig.parse({"log.dirs": str(path)}),
        disk or RealDisk(),
        StoppedClock(),
        CountingRandom(),
        cluster_id="c",
        loop=turns,
        workers=turns,
    )
    logs.start()
    return logs


def write(log, count):
    for number in range(count):
        append(log, batch(b"%d" % number, key=b"k"))
        log.local.roll()


def leave_traces(logs, upkeep):
    """A log of which every checkpoint says something."""
    log = logs.get_or_create(ORDERS, OLD, LogConfig())
    write(log, 30)
    log.flush()
    log.local.advance_log_start(25)
    log.local.first_dirty_offset = 20
    for kind in ALL_KINDS:
        upkeep.checkpoint(kind)


def entries(path):
    return {name: (path / name).read_text().splitlines()[2:] for name in FILES if (path / name).exists()}


def check_new_life(path):
    """After a crash the new log is as if there had never been another."""
    again = manager(path)
    log = again.get(ORDERS)
    assert (log.topic_id, log.log_start_offset, log.durability.recovery_point) == (NEW, 0, 0)
    assert (log.local.first_dirty_offset, values_of(log)) == (0, [b"%d" % number for number in range(20)])
    again.close()


def test_nothing_of_the_old_one_counts_after_a_crash(tmp_path):
    logs = manager(tmp_path)
    leave_traces(logs, Upkeep(logs, StoppedClock()))
    assert entries(tmp_path) == dict(
        zip(FILES, (["orders 0 30"], ["orders 0 25"], ["orders 0 30"], ["orders 0 20"]), strict=False)
    )
    logs.delete(ORDERS)
    assert entries(tmp_path) == {name: [] for name in FILES}
    write(logs.get_or_create(ORDERS, NEW, LogConfig()), 20)
    logs.abandon()
    check_new_life(tmp_path)


def test_nor_after_a_clean_stop(tmp_path):
    logs = manager(tmp_path)
    leave_traces(logs, Upkeep(logs, StoppedClock()))
    logs.delete(ORDERS)
    write(logs.get_or_create(ORDERS, NEW, LogConfig()), 20)
    logs.close()
    again = manager(tmp_path)
    log = again.get(ORDERS)
    assert (log.local.first_dirty_offset, log.log_start_offset, log.log_end_offset) == (0, 0, 20)
    again.close()


def test_the_others_keep_theirs_and_many_go_with_one_write(tmp_path):
    logs = manager(tmp_path)
    leave_traces(logs, Upkeep(logs, StoppedClock()))
    places = [TopicPartition(f"t{number}", 0) for number in range(50)]
    for place in places:
        logs.get_or_create(place, OLD, LogConfig())
    Upkeep(logs, StoppedClock()).checkpoint(RECOVERY_POINTS)
    turns = Turns()
    logs.close()
    logs = manager(tmp_path, disk := FailingDisk(), turns)
    renames = []
    disk.refuse = lambda operation, path: operation == "rename" and renames.append(path)
    for place in places:
        logs.delete(place)
    turns.settle()
    assert len([path for path in renames if path.endswith(".tmp")]) == 2, "recovery points and high watermarks, once"
    assert entries(tmp_path)[FILES[0]] == ["orders 0 30"]
    assert entries(tmp_path)[FILES[1]] == ["orders 0 25"]
    logs.abandon()


def test_a_crash_between_the_name_and_the_checkpoints_is_mended_at_the_start(tmp_path):
    turns = Turns()
    logs = manager(tmp_path, disk := FailingDisk(), turns)
    upkeep = Upkeep(logs, StoppedClock(), turns)
    leave_traces(logs, upkeep)
    turns.settle()
    disk.refuse = lambda operation, path: operation == "open" and path.endswith(".tmp")
    logs.delete(ORDERS)
    turns.turn()
    turns.work()
    assert next(name for name in names_in(tmp_path) if name.startswith("orders-0")).endswith("-delete")
    assert entries(tmp_path)[FILES[1]] == ["orders 0 25"]
    logs.abandon()
    again = manager(tmp_path)
    assert entries(tmp_path) == {name: [] for name in FILES}
    write(again.get_or_create(ORDERS, NEW, LogConfig()), 20)
    again.abandon()
    check_new_life(tmp_path)


def test_the_name_is_not_free_before_all_is_gone(tmp_path):
    turns = Turns()
    logs = manager(tmp_path, turns=turns)
    upkeep = Upkeep(logs, StoppedClock(), turns)
    leave_traces(logs, upkeep)
    turns.settle()
    logs.get(ORDERS).local.first_dirty_offset = 21
    upkeep.checkpoint(COMPACTED)  # under way when the topic is deleted, and comes to its end after it
    logs.delete(ORDERS)
    freed = []
    logs.retirement.freed = lambda: freed.append(logs.is_free(ORDERS))
    while not freed:
        assert not logs.is_free(ORDERS)
        with pytest.raises(KafkaError, match="still being deleted"):
            logs.get_or_create(ORDERS, NEW, LogConfig())
        turns.turn()
        turns.work()
    assert freed == [True]
    assert entries(tmp_path) == {name: [] for name in FILES}
    write(logs.get_or_create(ORDERS, NEW, LogConfig()), 20)
    logs.abandon()
    check_new_life(tmp_path)


def test_a_full_disk_holds_the_name_back_until_there_is_room(tmp_path):
    turns = Turns()
    logs = manager(tmp_path, disk := FailingDisk(), turns)
    upkeep = Upkeep(logs, StoppedClock(), turns)
    leave_traces(logs, upkeep)
    turns.settle()
    failures = []
    logs.failed = failures.append
    disk.bytes_left = 0
    logs.delete(ORDERS)
    turns.settle()
    assert [failure.errno for failure in failures] == [errno.ENOSPC]
    assert not logs.is_free(ORDERS)
    assert logs.removal.waiting, "it is deleted all the same, or there would never be room"
    disk.bytes_left = None
    upkeep.remove_deleted()
    turns.settle()
    assert logs.is_free(ORDERS)
    assert entries(tmp_path) == {name: [] for name in FILES}
    logs.abandon()


def test_a_node_that_starts_on_a_full_disk_creates_nothing_on_old_entries(tmp_path):
    logs = manager(tmp_path)
    leave_traces(logs, Upkeep(logs, StoppedClock()))
    logs.delete(ORDERS)
    logs.close()
    for name, offset in zip(FILES, (30, 25, 30, 20), strict=True):
        (tmp_path / name).write_text(f"0\n1\norders 0 {offset}\n")
    turns, disk = Turns(), FailingDisk()
    disk.bytes_left = 0
    again = manager(tmp_path, disk, turns)
    assert not again.is_free(ORDERS)
    turns.settle()
    disk.bytes_left = None
    assert not again.is_free(ORDERS)
    turns.settle()
    assert again.is_free(ORDERS)
    write(again.get_or_create(ORDERS, NEW, LogConfig()), 20)
    again.abandon()
    check_new_life(tmp_path)


def test_a_directory_that_fails_frees_the_names(tmp_path):
    turns = Turns()
    logs = manager(tmp_path, disk := FailingDisk(), turns)
    leave_traces(logs, Upkeep(logs, StoppedClock(), turns))
    turns.settle()
    logs.failed = lambda error: logs.directory_failed(error.directory, str(error))
    disk.refuse = lambda operation, path: operation == "rename"
    logs.delete(ORDERS)
    logs.delete(BILLS)
    turns.settle()
    assert logs.retirement._names == {}
    logs.abandon()


@pytest.mark.parametrize("kind", [RECOVERY_POINTS, LOG_STARTS, HIGH_WATERMARKS, COMPACTED])
def test_a_checkpoint_that_says_the_same_is_not_written_again(tmp_path, kind):
    logs = manager(tmp_path, disk := FailingDisk())
    upkeep = Upkeep(logs, StoppedClock())
    leave_traces(logs, upkeep)
    disk.refuse = lambda operation, path: True
    upkeep.checkpoint(kind)
    logs.get(ORDERS).local.first_dirty_offset = 21
    disk.refuse = lambda operation, path: False
    upkeep.checkpoint(COMPACTED)
    assert entries(tmp_path)[FILES[3]] == ["orders 0 21"]
    logs.close()
