"""Disks that fail or are full under a running node."""

from __future__ import annotations

import errno
import logging
import threading

import pytest
from faulty_disk import FaultyRuntime
from in_process_node import InProcessNode
from storage_kit import batch

from moldau.errors import ErrorCode
from moldau.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from moldau.storage.checkpoint_kinds import RECOVERY_POINTS
from moldau.storage.storage_error import StorageError


def broken(operation, path):
    return OSError(errno.EIO, "Input/output error", path)


def full(operation, path):
    return OSError(errno.ENOSPC, "No space left on device", path) if operation in ("write", "create", "map") else None


class World:
    def __init__(self, path, **settings):
        self.runtime = FaultyRuntime()
        self.directories = [str(path / name) for name in ("one", "two")]
        named = {"log.dirs": ",".join(self.directories), "metadata.log.dir": str(path / "metadata"), **settings}
        self.node = InProcessNode(path, compiled=True, settings=named, runtime=self.runtime)
        self.node.create_topic("topic", 2)
        self.replicas = self.node.node.replicas
        self.home = {index: self.replicas.get("topic", index).log.directory.parent for index in (0, 1)}
        assert sorted(self.home.values()) == self.directories

    def fail(self, directory, fault=broken):
        self.runtime.disk.fault = lambda operation, path: fault(operation, path) if path.startswith(directory) else None

    def mend(self):
        self.runtime.disk.fault = lambda operation, path: None

    def produce(self, index, value=b"v", topic="topic"):
        data = PartitionProduceData(index=index, records=bytes(batch(value)))
        request = ProduceRequest(
            acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=[data])]
        )
        return self.node.ask(request, 9, ProduceResponse).responses[0].partition_responses[0].error_code

    def fetch(self, index):
        partition = FetchPartition(partition=index, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, topics=[FetchTopic(topic="topic", partitions=[partition])]
        )
        return self.node.ask(request, 11, FetchResponse).responses[0].partitions[0]

    def turn(self, seconds=0.01):
        loop = self.runtime.loop
        loop.call_later(seconds, loop.stop)
        loop.run()


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path)
    yield made
    made.mend()
    made.node.close()


def test_a_directory_that_fails_goes_offline_with_its_partitions_and_the_rest_goes_on(world):
    assert (world.produce(0), world.produce(1)) == (0, 0)
    world.fail(world.home[0])
    assert world.produce(0) == ErrorCode.KAFKA_STORAGE_ERROR
    assert world.produce(0) == ErrorCode.KAFKA_STORAGE_ERROR
    assert world.fetch(0).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert world.produce(1) == 0
    assert world.fetch(1).records
    described = world.node.ask(DescribeLogDirsRequest(topics=None), 4, DescribeLogDirsResponse)
    errors = {result.log_dir: result.error_code for result in described.results}
    assert errors == {world.home[0]: ErrorCode.KAFKA_STORAGE_ERROR, world.home[1]: 0}


def test_a_read_that_fails_counts_too(world):
    world.produce(0)
    world.fail(world.home[0], lambda operation, path: broken(operation, path) if operation == "read" else None)
    log = world.replicas.get("topic", 0).log
    log.local.recent.clear()
    assert world.fetch(0).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert [directory.is_online for directory in world.node.node.logs.directories].count(False) == 1


def test_the_controller_hears_of_it(world):
    offline = next(d for d in world.node.node.logs.directories if d.path == world.home[0])
    world.fail(world.home[0])
    world.produce(0)
    world.node.node.lifecycle._beat()
    for _ in range(200):
        world.turn()
        (broker,) = world.node.node.metadata.image.cluster.brokers.values()
        if offline.id not in broker.directories:
            break
    assert offline.id not in broker.directories
    assert len(broker.directories) == 1


def test_new_partitions_go_to_the_directory_that_is_left(world):
    world.fail(world.home[0])
    world.produce(0)
    world.node.create_topic("other", 2)
    assert {world.replicas.get("other", index).log.directory.parent for index in (0, 1)} == {world.home[1]}


def test_without_any_directory_the_node_stops_and_says_why(world):
    for index in (0, 1):
        world.fail(world.home[index])
        world.produce(index)
    assert "No log directory is left" in str(world.node.node.failure)
    assert world.home[1] in str(world.node.node.failure)


def test_the_directory_of_the_metadata_log_is_one_the_node_cannot_do_without(tmp_path):
    world = World(tmp_path, **{"metadata.log.dir": str(tmp_path / "one")})
    index = next(index for index, home in world.home.items() if home == str(tmp_path / "one"))
    world.fail(str(tmp_path / "one" / "topic"))
    world.produce(index)
    assert "metadata log" in str(world.node.node.failure)
    world.mend()
    world.node.close()


def test_a_full_disk_refuses_writes_keeps_reads_and_recovers_by_itself(world, caplog):
    world.produce(0, b"before")
    world.fail(world.home[0], full)
    for _ in range(3):
        assert world.produce(0) == ErrorCode.KAFKA_STORAGE_ERROR
    assert world.fetch(0).records
    assert world.produce(1) == 0
    told = [record for record in caplog.records if "until there is room" in record.message]
    assert (len(told), world.replicas.shortages.full) == (1, {world.home[0]})
    world.mend()
    assert world.produce(0, b"after") == 0
    with caplog.at_level(logging.WARNING):
        world.replicas.shortages.look_again(world.runtime.disk)
    assert (world.replicas.shortages.full, "room again" in caplog.records[-1].message) == (set(), True)
    world.fail(world.home[0], full)
    world.produce(0)
    assert len([record for record in caplog.records if "until there is room" in record.message]) == 2


def test_no_room_is_no_news_while_there_is_none(world, monkeypatch):
    world.fail(world.home[0], full)
    world.produce(0)
    monkeypatch.setattr(world.runtime.disk._disk.__class__, "free_bytes", lambda self, path: 4096)
    world.replicas.shortages.look_again(world.runtime.disk)
    assert world.replicas.shortages.full == {world.home[0]}


@pytest.mark.parametrize("suffix", [".log", ".index", ".timeindex"])
def test_full_while_a_segment_is_begun(world, suffix):
    log = world.replicas.get("topic", 0).log
    world.produce(0, b"a")
    world.fail(
        world.home[0],
        lambda operation, path: full(operation, path) if path.endswith(suffix) else None,
    )
    with pytest.raises(Exception, match="No space left"):
        log.local.roll()
    world.mend()
    assert world.produce(0, b"b") == 0
    log.local.roll()
    assert world.produce(0, b"c") == 0
    assert world.fetch(0).high_watermark == 3


def test_a_failing_checkpoint_takes_its_directory_offline(world):
    world.fail(world.home[0] + "/recovery-point")
    world.produce(0)
    world.node.node.upkeep.checkpoint(RECOVERY_POINTS)
    for _ in range(500):
        if not world.node.node.logs.is_online(world.home[0]):
            break
        world.turn()
    assert [world.node.node.logs.is_online(world.home[index]) for index in (0, 1)] == [False, True]


def list_offsets(world, index, timestamp):
    partition = ListOffsetsPartition(partition_index=index, timestamp=timestamp, current_leader_epoch=-1)
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(name="topic", partitions=[partition])])
    return world.node.ask(request, 7, ListOffsetsResponse).topics[0].partitions[0].error_code


def produced(world, index):
    """Several segments, so that a search by time has to look into files."""
    for value in (b"a", b"b"):
        assert world.produce(index, value) == 0
        world.replicas.get("topic", index).log.local.roll()


@pytest.mark.parametrize("timestamp", [1, -3], ids=["by time", "the latest"])
def test_a_disk_that_fails_under_a_search_by_time_goes_offline_too(world, timestamp, caplog):
    """Whoever asked: the log tells of it, and no caller has to."""
    produced(world, 0)
    world.fail(
        world.home[0], lambda operation, path: broken(operation, path) if operation in ("read", "open") else None
    )
    assert list_offsets(world, 0, timestamp) == ErrorCode.KAFKA_STORAGE_ERROR
    assert [world.node.node.logs.is_online(world.home[index]) for index in (0, 1)] == [False, True]
    assert len([record for record in caplog.records if "offline now" in record.message]) == 1


def test_a_disk_that_fails_where_a_large_batch_is_opened_goes_offline_too(world, caplog):
    """A worker does that, and nothing else fails."""
    assert world.produce(0, bytes(100_000)) == 0
    world.replicas.get("topic", 0).log.local.roll()
    world.fail(
        world.home[0],
        lambda operation, path: (
            broken(operation, path)
            if operation == "read" and threading.current_thread() is not threading.main_thread()
            else None
        ),
    )
    assert list_offsets(world, 0, 1) == ErrorCode.KAFKA_STORAGE_ERROR
    assert [world.node.node.logs.is_online(world.home[index]) for index in (0, 1)] == [False, True]
    assert len([record for record in caplog.records if "offline now" in record.message]) == 1


def test_a_large_batch_whose_file_was_closed_meanwhile_says_nothing_of_the_disk(world):
    assert world.produce(0, bytes(100_000)) == 0
    world.replicas.get("topic", 0).log.local.roll()
    world.fail(
        world.home[0],
        lambda operation, path: (
            OSError(errno.EBADF, "Bad file descriptor")
            if operation == "read" and threading.current_thread() is not threading.main_thread()
            else None
        ),
    )
    assert list_offsets(world, 0, 1) == ErrorCode.KAFKA_STORAGE_ERROR
    assert world.node.node.logs.is_online(world.home[0])


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE])
def test_a_want_of_descriptors_takes_nothing_offline(world, code, caplog):
    produced(world, 0)
    world.fail(
        world.home[0], lambda operation, path: OSError(code, "Too many open files") if operation == "open" else None
    )
    assert list_offsets(world, 0, 1) == ErrorCode.KAFKA_STORAGE_ERROR
    assert list_offsets(world, 0, 1) == ErrorCode.KAFKA_STORAGE_ERROR
    assert world.node.node.logs.is_online(world.home[0])
    assert len([record for record in caplog.records if "ulimit -n" in record.message]) == 1
    world.mend()
    assert list_offsets(world, 0, 1) == 0
    assert world.produce(0) == 0


def test_a_directory_fails_once_however_many_find_out(world, caplog):
    for _ in range(3):
        world.replicas.storage_failed(StorageError(world.home[0], "Reading", OSError(errno.EIO, "Input/output error")))
    assert len([record for record in caplog.records if "offline now" in record.message]) == 1
    assert world.produce(1) == 0


def test_coordinators_that_had_no_room_begin_when_there_is_some_a_few_in_a_turn(world, monkeypatch):
    def find():
        return world.node.ask(FindCoordinatorRequest(key="group"), 0, FindCoordinatorResponse)

    replicas, is_loaded = world.replicas, world.node.node.groups.runtime.is_loaded
    opened_first = 8

    def full_after_some(operation, path):
        hosted = replicas.by_name.get("__consumer_offsets")
        return full(operation, path) if hosted is not None and len(hosted.partitions) >= opened_first else None

    world.fail("", full_after_some)
    assert find().error_code == 0
    world.node.turn_until(lambda: not replicas.arrivals)
    assert len(replicas.by_name["__consumer_offsets"].partitions) == opened_first
    assert sum(is_loaded(index) for index in range(50)) <= opened_first
    world.mend()
    more = replicas.arrivals._continue
    monkeypatch.setattr(replicas.arrivals, "_continue", lambda: None)
    replicas.open_refused()
    assert opened_first < len(replicas.by_name["__consumer_offsets"].partitions) < 50
    monkeypatch.undo()
    more()
    world.node.turn_until(lambda: all(is_loaded(index) for index in range(50)))
