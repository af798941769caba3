from __future__ import annotations

import errno
import json
from shutil import rmtree

import pytest
from storage_kit import NOW, CountingRandom, FailingDisk, StoppedClock, append, batch, names_in, values_of

from moldau.config.broker import BrokerConfig
from moldau.config.topic import LogConfig
from moldau.errors import ErrorCode, KafkaError
from moldau.runtime.disk import RealDisk
from moldau.slicing import run_whole
from moldau.storage.checkpoint_kinds import HIGH_WATERMARKS, RECOVERY_POINTS
from moldau.storage.directory_description import describe_directory
from moldau.storage.log_dirs import (
    LogDirError,
    MetaProperties,
    known_cluster_id,
    open_directories,
    random_id,
    read_meta_properties,
    write_meta_properties,
)
from moldau.storage.log_manager import LogManager
from moldau.storage.upkeep import Upkeep
from moldau.types import TopicPartition, uuid_to_text

ORDERS = TopicPartition("orders", 0)
BILLS = TopicPartition("bills", 1)
ID = bytes(range(16))
OTHER_ID = bytes(range(1, 17))
RANDOM = CountingRandom()


def manager(*paths, disk=None, clock=None, cluster_id="cluster", **settings):
    properties = {"log.dirs": ",".join(map(str, paths)), **{k.replace("_", "."): str(v) for k, v in settings.items()}}
    return LogManager(
        BrokerConfig.parse(properties), disk or RealDisk(), clock or StoppedClock(), RANDOM, cluster_id=cluster_id
    )


def upkeep(logs, workers=None):
    return Upkeep(logs, logs._clock, workers)


def described(logs):
    return [run_whole(describe_directory(logs, directory)) for directory in logs.directories]


def started(*paths, **more):
    made = manager(*paths, **more)
    made.start()
    return made


# ------------------------------------------------------------------------------------------------------- directories


def test_a_new_directory_is_marked_as_ours(tmp_path):
    logs = started(tmp_path / "a")
    meta = read_meta_properties(RealDisk(), str(tmp_path / "a"))
    assert meta == MetaProperties("cluster", 1, logs.directories[0].id)
    text = (tmp_path / "a" / "meta.properties").read_text()
    assert f"directory.id={uuid_to_text(meta.directory_id)}\n" in text
    assert "cluster.id=cluster\nd" in text
    assert "node.id=1\nversion=1\n" in text
    assert logs.directory_id(str(tmp_path / "a")) == meta.directory_id
    logs.close()


def test_the_directory_keeps_its_id(tmp_path):
    first = started(tmp_path / "a")
    directory_id = first.directories[0].id
    first.close()
    again = started(tmp_path / "a")
    assert again.directories[0].id == directory_id
    again.close()


def test_a_directory_of_another_cluster_or_node_is_refused(tmp_path):
    started(tmp_path / "a").close()
    with pytest.raises(LogDirError, match="belongs to the cluster cluster, but this node to other"):
        manager(tmp_path / "a", cluster_id="other").start()
    with pytest.raises(LogDirError, match="belongs to node 1, but this is node 5"):
        manager(tmp_path / "a", node_id=5).start()
    started(tmp_path / "a").close()


def test_logs_without_an_owner_are_not_adopted(tmp_path):
    (tmp_path / "a" / "orders-0").mkdir(parents=True)
    with pytest.raises(LogDirError, match=r"orders-0.* no meta\.properties"):
        manager(tmp_path / "a").start()


def test_a_directory_in_use_is_refused(tmp_path):
    first = started(tmp_path / "a")
    with pytest.raises(LogDirError, match="in use by another process"):
        manager(tmp_path / "a").start()
    first.close()
    started(tmp_path / "a").close()


def test_a_refusal_lets_go_of_the_other_directories(tmp_path):
    started(tmp_path / "b", cluster_id="other").close()
    with pytest.raises(LogDirError):
        manager(tmp_path / "a", tmp_path / "b").start()
    started(tmp_path / "a").close()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("version=0\nbroker.id=1\n", "version 0"),
        ("version=1\nnode.id=1\ndirectory.id=AAECAwQFBgcICQoLDA0ODw\n", "lacks cluster.id"),
        ("version=1\ncluster.id=c\nnode.id=x\ndirectory.id=AAECAwQFBgcICQoLDA0ODw\n", "cannot be understood"),
        ("version=1\ncluster.id=c\nnode.id=1\ndirectory.id=short\n", "cannot be understood"),
    ],
)
def test_meta_properties_that_make_no_sense(tmp_path, text, said):
    (tmp_path / "meta.properties").write_text(text)
    with pytest.raises(LogDirError, match=said):
        read_meta_properties(RealDisk(), str(tmp_path))


def test_the_cluster_is_known_from_the_directories(tmp_path):
    paths = [str(tmp_path / name) for name in "abc"]
    for path in paths:
        RealDisk().make_directories(path)
    assert known_cluster_id(RealDisk(), paths) is None
    write_meta_properties(RealDisk(), paths[1], MetaProperties("c1", 1, ID))
    assert known_cluster_id(RealDisk(), paths) == "c1"
    write_meta_properties(RealDisk(), paths[2], MetaProperties("c2", 1, OTHER_ID))
    with pytest.raises(LogDirError, match="different clusters"):
        known_cluster_id(RealDisk(), paths)


def test_a_copied_directory_is_noticed(tmp_path):
    paths = [str(tmp_path / name) for name in "ab"]
    for path in paths:
        RealDisk().make_directories(path)
        write_meta_properties(RealDisk(), path, MetaProperties("c", 1, ID))
    with pytest.raises(LogDirError, match=r"same directory\.id"):
        open_directories(RealDisk(), paths, cluster_id="c", node_id=1, random=RANDOM)
    with pytest.raises(LogDirError, match="named twice"):
        open_directories(RealDisk(), [paths[0], paths[0]], cluster_id="c", node_id=1, random=RANDOM)


def test_ids_are_never_reserved_and_never_look_like_options():
    class Awkward:
        values = [bytes(16), (99).to_bytes(16, "big"), b"\xf8" + bytes(15), ID]

        def bytes(self, count):
            return self.values.pop(0)

    assert random_id(Awkward()) == ID


# ---------------------------------------------------------------------------------------------------------- the logs


def test_logs_are_created_where_there_are_fewest(tmp_path):
    logs = started(tmp_path / "a", tmp_path / "b")
    for partition in range(6):
        logs.get_or_create(TopicPartition("t", partition), ID, LogConfig())
    for directory in ("a", "b"):
        assert len([name for name in names_in(tmp_path / directory) if name.startswith("t-")]) == 3
    logs.close()


def test_the_controller_may_choose_the_directory(tmp_path):
    logs = started(tmp_path / "a", tmp_path / "b")
    wanted = logs.directories[1]
    for partition in range(3):
        log = logs.get_or_create(TopicPartition("t", partition), ID, LogConfig(), wanted.id)
        assert log.directory.parent == wanted.path
    logs.close()


def test_logs_come_back_after_a_clean_stop(tmp_path):
    logs = started(tmp_path / "a")
    log = logs.get_or_create(ORDERS, ID, LogConfig())
    append(log, batch(b"a", b"b"), epoch=3)
    log.local.advance_log_start(1)
    logs.broker_epoch = 42
    logs.close()
    marked = json.loads((tmp_path / "a" / ".kafka_cleanshutdown").read_text())
    assert marked == {"version": 0, "brokerEpoch": 42}
    again = started(tmp_path / "a")
    assert not (tmp_path / "a" / ".kafka_cleanshutdown").exists()
    log = again.get(ORDERS)
    assert (log.log_start_offset, log.log_end_offset, log.durability.recovery_point, log.high_watermark) == (1, 2, 2, 2)
    assert (log.topic_id, log.epochs.latest_epoch) == (ID, 3)
    assert list(again.logs) == [ORDERS]
    again.close()


def test_logs_come_back_after_a_crash(tmp_path):
    logs = started(tmp_path / "a")
    log = logs.get_or_create(ORDERS, ID, LogConfig())
    append(log, batch(b"a"))
    log.local.roll()
    log.flush()
    upkeep(logs).checkpoint(RECOVERY_POINTS)
    append(log, batch(b"b"))
    logs.abandon()
    again = started(tmp_path / "a")
    log = again.get(ORDERS)
    assert values_of(log) == [b"a", b"b"]
    assert log.durability.recovery_point == 1
    again.close()


def test_the_high_watermark_is_kept_by_its_checkpoint(tmp_path):
    logs = started(tmp_path / "a")
    log = logs.get_or_create(ORDERS, ID, LogConfig())
    data = batch(b"a", b"b", b"c")
    log.append_as_leader(data, 0, len(data), 1)
    log.local.advance_high_watermark(2)
    upkeep(logs).checkpoint(HIGH_WATERMARKS)
    logs.abandon()
    assert (tmp_path / "a" / "replication-offset-checkpoint").read_text() == "0\n1\norders 0 2\n"
    again = started(tmp_path / "a")
    assert again.get(ORDERS).high_watermark == 2
    again.close()


def test_damaged_checkpoints_only_cost_time(tmp_path):
    logs = started(tmp_path / "a")
    append(logs.get_or_create(ORDERS, ID, LogConfig()), batch(b"a"))
    logs.close()
    for name in ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint"):
        (tmp_path / "a" / name).write_text("nonsense\n\n")
    (tmp_path / "a" / "orders-0" / "partition.metadata").write_text("nonsense")
    again = started(tmp_path / "a")
    assert values_of(again.get(ORDERS)) == [b"a"]
    assert again.get(ORDERS).topic_id is None
    assert again.get_or_create(ORDERS, ID, LogConfig()).topic_id == ID
    again.close()


def test_a_topic_created_again_is_not_taken_for_the_old_one(tmp_path):
    logs = started(tmp_path / "a")
    log = logs.get_or_create(ORDERS, ID, LogConfig())
    assert logs.get_or_create(ORDERS, ID, LogConfig()) is log
    with pytest.raises(KafkaError) as refused:
        logs.get_or_create(ORDERS, OTHER_ID, LogConfig())
    assert refused.value.code == ErrorCode.INCONSISTENT_TOPIC_ID
    logs.close()


def test_recovery_points_go_back_before_the_logs_do(tmp_path):
    logs = started(tmp_path / "a")
    log = logs.get_or_create(ORDERS, ID, LogConfig())
    append(log, batch(b"a"))
    log.local.roll()
    append(log, batch(b"b"))
    log.flush()
    upkeep(logs).checkpoint(RECOVERY_POINTS)
    checkpoint = tmp_path / "a" / "recovery-point-offset-checkpoint"
    assert checkpoint.read_text() == "0\n1\norders 0 1\n", "all but the segment that is still written"
    logs.truncate({ORDERS: 0})
    assert (log.log_end_offset, log.durability.recovery_point) == (0, 0)
    assert checkpoint.read_text() == "0\n1\norders 0 0\n"
    logs.close()


def test_a_path_may_be_written_in_several_ways(tmp_path):
    logs = started(f"{tmp_path}/x/../a/", tmp_path / "b")
    logs.get_or_create(ORDERS, ID, LogConfig())
    logs.get_or_create(BILLS, ID, LogConfig())
    assert [len(one.sizes) for one in described(logs)] == [1, 1]
    logs.close()
    with pytest.raises(LogDirError, match="named twice"):
        manager(tmp_path / "a", f"{tmp_path}/a/").start()


def test_deleting_takes_two_steps(tmp_path):
    clock = StoppedClock()
    logs = started(tmp_path / "a", clock=clock)
    log = logs.get_or_create(ORDERS, ID, LogConfig(file_delete_delay_ms=500))
    append(log, batch(b"a"))
    waiting = log.read(0, 100, 1, at_least_one=True).records
    logs.delete(ORDERS)
    assert logs.get(ORDERS) is None
    (marked,) = [name for name in names_in(tmp_path / "a") if name.startswith("orders-0")]
    assert marked.startswith("orders-0.")
    assert marked.endswith("-delete")
    append(logs.get_or_create(ORDERS, OTHER_ID, LogConfig()), batch(b"new"))
    assert len(waiting.read()) == waiting.length
    upkeep(logs).remove_deleted()
    assert (tmp_path / "a" / marked).exists()
    clock.now += 500
    upkeep(logs).remove_deleted()
    assert not (tmp_path / "a" / marked).exists()
    logs.delete(BILLS)
    logs.close()


def test_a_search_that_paused_while_its_log_was_deleted_is_no_failure_of_the_disk(tmp_path):
    logs, failures = started(tmp_path / "a"), []
    logs.failed = failures.append
    log = logs.get_or_create(ORDERS, ID, LogConfig(index_interval_bytes=1 << 20))
    for number in range(300):
        append(log, batch(b"x", timestamp=NOW + number))
    search = log.offset_for_timestamp(NOW + 290)
    next(search)
    logs.delete(ORDERS)
    rmtree(log.directory.path)
    with pytest.raises(KafkaError) as refused:
        run_whole(search)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert failures == []
    logs.close()


def test_a_deletion_that_was_interrupted_is_finished(tmp_path):
    clock = StoppedClock()
    logs = started(tmp_path / "a")
    logs.get_or_create(ORDERS, ID, LogConfig())
    logs.delete(ORDERS)
    logs.close()
    again = started(tmp_path / "a", clock=clock)
    assert again.get(ORDERS) is None
    clock.now += 60_000
    upkeep(again).remove_deleted()
    assert not [name for name in names_in(tmp_path / "a") if name.startswith("orders")]
    again.close()


def test_a_stray_log_is_kept_aside(tmp_path):
    logs = started(tmp_path / "a")
    logs.get_or_create(ORDERS, ID, LogConfig())
    logs.set_aside(ORDERS)
    logs.close()
    again = started(tmp_path / "a")
    assert again.get(ORDERS) is None
    assert [name for name in names_in(tmp_path / "a") if name.endswith("-stray")]
    again.close()


def test_the_metadata_log_belongs_to_somebody_else(tmp_path):
    logs = started(tmp_path / "a")
    (tmp_path / "a" / "__cluster_metadata-0").mkdir()
    logs.close()
    again = started(tmp_path / "a")
    assert not again.logs
    again.close()


def test_a_partition_in_two_directories_is_refused(tmp_path):
    logs = started(tmp_path / "a", tmp_path / "b")
    logs.get_or_create(ORDERS, ID, LogConfig())
    logs.close()
    (tmp_path / "b" / "orders-0").mkdir()
    with pytest.raises(LogDirError, match=r"orders-0 has a log in .*/[ab]/orders-0 and another in .*/[ab]/orders-0;"):
        manager(tmp_path / "a", tmp_path / "b").start()


def test_what_describe_log_dirs_needs(tmp_path):
    logs = started(tmp_path / "a", tmp_path / "b")
    log = logs.get_or_create(ORDERS, ID, LogConfig())
    append(log, batch(b"a"))
    first, second = described(logs)
    assert (first.path, first.is_online, dict(first.sizes)) == (str(tmp_path / "a"), True, {ORDERS: log.segments.size})
    assert first.total_bytes >= first.usable_bytes > 0
    assert not second.sizes
    logs.directory_failed(str(tmp_path / "a"), "broken")
    offline = described(logs)[0]
    assert (offline.is_online, offline.total_bytes, dict(offline.sizes)) == (False, -1, {})
    logs.close()


# ------------------------------------------------------------------------------------------------- disks that fail


def test_a_directory_that_cannot_be_used_is_offline_and_the_others_serve(tmp_path):
    disk = FailingDisk()
    disk.refuse = lambda operation, path: path.startswith(str(tmp_path / "a"))
    logs = started(tmp_path / "a", tmp_path / "b", disk=disk)
    assert [directory.is_online for directory in logs.directories] == [False, True]
    log = logs.get_or_create(ORDERS, ID, LogConfig())
    assert log.directory.parent == str(tmp_path / "b")
    logs.close()


def test_a_log_that_cannot_be_read_takes_its_directory_offline(tmp_path):
    logs = started(tmp_path / "a", tmp_path / "b")
    logs.get_or_create(ORDERS, ID, LogConfig())
    logs.get_or_create(BILLS, ID, LogConfig())
    logs.close()
    disk = FailingDisk()
    disk.refuse = lambda operation, path: operation == "open" and "orders-0" in path
    again = started(tmp_path / "a", tmp_path / "b", disk=disk)
    assert list(again.logs) == [BILLS]
    assert "Input/output error" in again.directories[0].failure
    again.close()
    assert not (tmp_path / "a" / ".kafka_cleanshutdown").exists()
    assert (tmp_path / "b" / ".kafka_cleanshutdown").exists()


def test_without_any_directory_there_is_no_start(tmp_path):
    disk = FailingDisk()
    disk.refuse = lambda operation, path: operation == "lock"
    with pytest.raises(LogDirError, match="None of the log directories"):
        started(tmp_path / "a", tmp_path / "b", disk=disk)


def test_a_directory_that_fails_later_takes_its_logs_with_it(tmp_path):
    logs = started(tmp_path / "a", tmp_path / "b")
    logs.get_or_create(ORDERS, ID, LogConfig())
    logs.get_or_create(BILLS, ID, LogConfig())
    assert logs.directory_failed(str(tmp_path / "a"), "it smokes") == [ORDERS]
    assert list(logs.logs) == [BILLS]
    logs.directory_failed(str(tmp_path / "b"), "it smokes too")
    with pytest.raises(KafkaError) as refused:
        logs.get_or_create(ORDERS, ID, LogConfig())
    assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    logs.close()


def test_a_stop_that_fails_is_not_called_clean(tmp_path):
    disk = FailingDisk()
    logs = started(tmp_path / "a", tmp_path / "b", disk=disk)
    append(logs.get_or_create(ORDERS, ID, LogConfig()), batch(b"a"))
    append(logs.get_or_create(BILLS, ID, LogConfig()), batch(b"b"))
    disk.refuse = lambda operation, path: "orders-0" in path
    logs.close()
    assert not (tmp_path / "a" / ".kafka_cleanshutdown").exists()
    assert (tmp_path / "b" / ".kafka_cleanshutdown").exists()
    again = started(tmp_path / "a", tmp_path / "b")
    assert values_of(again.get(ORDERS)) == [b"a"]
    assert values_of(again.get(BILLS)) == [b"b"]
    again.close()


def test_a_want_of_descriptors_at_the_start_is_no_failing_disk(tmp_path):
    logs = started(tmp_path / "a")
    append(logs.get_or_create(ORDERS, ID, LogConfig()), batch(b"a"))
    logs.close()
    disk = FailingDisk()
    disk.refuse = lambda operation, path: operation in ("open", "map") and "orders-0" in path
    disk.code = errno.EMFILE
    with pytest.raises(LogDirError, match=r"could not be opened.*ulimit -n"):
        started(tmp_path / "a", disk=disk)
    started(tmp_path / "a").close()


# --------------------------------------------------------------------------------------------------- regular work


def test_overdue_logs_are_forced_to_disk(tmp_path):
    clock = StoppedClock()
    logs = started(tmp_path / "a", clock=clock)
    log = logs.get_or_create(ORDERS, ID, LogConfig(flush_ms=1000))
    append(log, batch(b"a"))
    workers = LaterWorkers()
    upkeep(logs, workers).flush_overdue()
    assert not workers.jobs
    clock.now += 1000
    upkeep(logs, workers).flush_overdue()
    assert log.durability.durable_offset == 0, "off the loop"
    upkeep(logs, workers).flush_overdue()
    assert len(workers.jobs) == 1, "and once in that time"
    workers.run()
    assert log.durability.durable_offset == 1
    clock.now += 1000
    upkeep(logs, workers).flush_overdue()
    assert not workers.jobs, "there is nothing new"
    logs.close()


class LaterWorkers:
    """Jobs wait until the test lets them run."""

    def __init__(self):
        self.jobs = []

    def submit(self, job, done):
        self.jobs.append((job, done))

    def run(self):
        jobs, self.jobs = self.jobs, []
        for job, done in jobs:
            try:
                done(job(), None)
            except OSError as error:
                done(None, error)


def test_closed_segments_are_forced_to_disk_beside_the_loop(tmp_path):
    disk, workers, failures = FailingDisk(), LaterWorkers(), []
    logs = started(tmp_path / "a", disk=disk)
    logs.failed = failures.append
    regular = Upkeep(logs, StoppedClock(), workers)
    log = logs.get_or_create(ORDERS, ID, LogConfig())
    append(log, batch(b"a"))
    regular.flush_sealed()
    assert workers.jobs == []
    log.local.roll()
    append(log, batch(b"b"))
    regular.flush_sealed()
    regular.flush_sealed()
    assert (len(workers.jobs), log.durability.recovery_point) == (1, 0)
    workers.run()
    assert log.durability.recovery_point == 1
    log.local.roll()
    regular.flush_sealed()
    disk.refuse = lambda operation, path: operation == "open"
    workers.run()
    assert log.durability.recovery_point == 1
    assert [failure.directory for failure in failures] == [str(tmp_path / "a")]
    disk.refuse = lambda operation, path: False
    logs.close()


def test_a_cut_during_the_flush_keeps_the_recovery_point_back(tmp_path):
    workers = LaterWorkers()
    logs = started(tmp_path / "a")
    logs.failed = pytest.fail
    regular = Upkeep(logs, StoppedClock(), workers)
    log = logs.get_or_create(ORDERS, ID, LogConfig())
    append(log, batch(b"a", b"b"))
    log.local.roll()
    regular.flush_sealed()
    log.local.truncate_to(0)
    append(log, batch(b"c", b"d"))
    workers.run()
    assert log.durability.recovery_point == 0
    log.local.roll()
    regular.flush_sealed()
    logs.delete(ORDERS)
    workers.run()
    logs.close()


def test_every_so_many_records_the_log_is_forced_to_disk(tmp_path):
    logs = started(tmp_path / "a")
    log = logs.get_or_create(ORDERS, ID, LogConfig(flush_messages=3))
    append(log, batch(b"a", b"b"))
    assert log.durability.recovery_point == 0
    append(log, batch(b"c"))
    assert log.durability.recovery_point == 3
    logs.close()


def test_silent_producers_are_forgotten(tmp_path):
    clock = StoppedClock()
    logs = started(tmp_path / "a", clock=clock)
    log = logs.get_or_create(ORDERS, ID, LogConfig())
    append(log, batch(b"a", producer_id=1, producer_epoch=0, base_sequence=0))
    clock.now += 86_400_000
    upkeep(logs).expire_producers()
    assert not log.producers.entries
    logs.close()
