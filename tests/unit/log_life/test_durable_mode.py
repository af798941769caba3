"""Durable mode: nothing is acknowledged, read or counted before it is on disk, and one fsync serves many."""

from __future__ import annotations

import errno
from typing import Any

import pytest
from faulty_disk import FaultyDisk, FaultyRuntime
from in_process_node import InProcessNode, Wire, request_frame
from storage_kit import StoppedClock, append, batch, open_log

from moldau.config.topic import LogConfig
from moldau.errors import ErrorCode
from moldau.metadata.image import PartitionRegistration
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from moldau.replica.group_commit import GroupCommit
from moldau.replica.partition import Partition
from moldau.storage.forcing import Forcing
from moldau.types import TopicPartition

DURABLE = LogConfig(flush_messages=1)


class Turn:
    """The loop and the workers, one step at a time."""

    def __init__(self) -> None:
        self.soon: list[Any] = []
        self.jobs: list[Any] = []

    def call_soon(self, callback: Any) -> None:
        self.soon.append(callback)

    def submit(self, job: Any, done: Any) -> None:
        self.jobs.append((job, done))

    def end_turn(self) -> None:
        soon, self.soon = self.soon, []
        for callback in soon:
            callback()

    def run_jobs(self) -> None:
        jobs, self.jobs = self.jobs, []
        for job, done in jobs:
            try:
                result = job()
            except OSError as error:
                done(None, error)
            else:
                done(result, None)


class World:
    def __init__(self, path: Any, config: LogConfig = DURABLE) -> None:
        self.disk = FaultyDisk()
        self.turn = Turn()
        self.log = open_log(path, config, disk=self.disk)
        self.moved: list[Any] = []
        self.failed: list[Any] = []
        self.log.directory.report = self.failed.append
        commits = GroupCommit(self.turn, self.turn, self.moved.append, Forcing(StoppedClock()))
        self.partition = Partition(TopicPartition("orders", 0), bytes(16), self.log, 1, commits.request)
        self.partition.become_leader(registration(), 0)
        self.disk.synced.clear()

    def append(self, value: bytes, acks: int = -1) -> Any:
        data = batch(value)
        return self.partition.append(data, 0, len(data), acks)

    @property
    def syncs(self) -> int:
        return len([path for path in self.disk.synced if path.endswith(".log")])


def registration(**changes: Any) -> PartitionRegistration:
    fields = {"replicas": (1,), "isr": (1,), "leader": 1, "leader_epoch": 0, "partition_epoch": 0, **changes}
    return PartitionRegistration(directories=(bytes(16),) * len(fields["replicas"]), **fields)


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path)
    yield made
    made.log.segments.release()


def test_the_high_watermark_follows_the_disk(world):
    world.append(b"a")
    assert (world.log.high_watermark, world.partition.replicated(1)[0], world.partition.forced(1)[0]) == (
        0,
        False,
        False,
    )
    world.turn.end_turn()
    assert world.log.high_watermark == 0
    world.turn.run_jobs()
    assert (world.log.high_watermark, world.log.durability.durable_offset) == (1, 1)
    assert world.partition.replicated(1) == (True, ErrorCode.NONE)
    assert world.partition.forced(1) == (True, ErrorCode.NONE)
    assert world.moved == [world.partition]


def test_one_fsync_serves_a_turn_and_the_next_all_that_came_meanwhile(world):
    for value in (b"a", b"b", b"c"):
        world.append(value)
    world.turn.end_turn()
    for value in (b"d", b"e"):
        world.append(value)
    world.turn.end_turn()
    assert len(world.turn.jobs) == 1
    world.turn.run_jobs()
    assert (world.log.durability.durable_offset, world.syncs) == (3, 1)
    world.turn.run_jobs()
    assert (world.log.durability.durable_offset, world.log.high_watermark, world.syncs) == (5, 5, 2)
    world.turn.run_jobs()
    world.turn.end_turn()
    assert world.turn.jobs == []


def test_a_new_file_is_found_again_and_the_old_one_is_forced_too(tmp_path):
    world = World(tmp_path, LogConfig(flush_messages=1, segment_bytes=100))
    world.append(b"a")
    world.append(b"b")
    world.turn.end_turn()
    directories: list[str] = []
    world.disk.fault = lambda operation, path: directories.append(path) if operation == "sync_directory" else None
    world.turn.run_jobs()
    assert world.disk.synced == [str(tmp_path / "orders-0" / f"{base:020d}.log") for base in (0, 1)]
    # The directory's own name too: it is new as well.
    assert directories == [str(tmp_path / "orders-0"), str(tmp_path)]
    world.log.segments.release()


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_a_failed_fsync_is_not_tried_again(world, code):
    world.append(b"a")
    world.append(b"b")
    world.turn.end_turn()
    world.disk.fault = lambda operation, path: OSError(code, "no") if operation == "sync" else None
    world.turn.run_jobs()
    (failure,) = world.failed
    assert (failure.lost, failure.errno) == (True, code)
    assert (world.log.high_watermark, world.moved, world.turn.jobs) == (0, [], [])


def test_what_was_cut_off_during_a_commit_does_not_count(world):
    for value in (b"a", b"b", b"c"):
        world.append(value)
    world.turn.end_turn()
    world.log.local.truncate_to(1)
    world.append(b"other")
    world.turn.run_jobs()
    assert world.log.durability.durable_offset == 0
    world.turn.run_jobs()
    assert world.log.durability.durable_offset == 2


def test_a_partition_that_is_given_up_meanwhile_is_left_alone(world):
    world.append(b"a")
    world.turn.end_turn()
    world.partition.is_released = True
    world.disk.fault = lambda operation, path: OSError(errno.EBADF, "closed") if operation == "sync" else None
    world.turn.run_jobs()
    assert (world.failed, world.moved) == ([], [])


def test_what_a_crash_left_counts_when_it_is_forced(tmp_path):
    log = open_log(tmp_path, LogConfig())
    append(log, batch(b"a"))
    log.segments.release()
    disk, turn = FaultyDisk(), Turn()
    log = open_log(tmp_path, DURABLE, disk=disk, clean_shutdown=False)
    commits = GroupCommit(turn, turn, print, Forcing(StoppedClock()))
    partition = Partition(TopicPartition("orders", 0), bytes(16), log, 1, commits.request)
    partition.become_leader(registration(), 0)
    assert log.high_watermark == 0
    turn.end_turn()
    turn.run_jobs()
    assert log.high_watermark == 1
    log.close()


def test_the_mode_changes_with_the_setting(world):
    world.append(b"a")
    world.log.local.update_config(LogConfig())
    world.partition.config_changed()
    assert world.partition.forced(1)[0]
    world.append(b"b")
    assert world.log.high_watermark == 2
    world.turn.end_turn()
    world.turn.run_jobs()
    assert world.log.high_watermark == 2


# ------------------------------------------------------------------------------------------------- under a node


def produce(value: bytes, acks: int) -> ProduceRequest:
    partition = PartitionProduceData(index=0, records=bytes(batch(value)))
    return ProduceRequest(
        acks=acks, timeout_ms=10_000, topic_data=[TopicProduceData(name="safe", partition_data=[partition])]
    )


@pytest.fixture(params=[True, False], ids=["compiled", "generated"])
def node(request, tmp_path):
    node = InProcessNode(tmp_path, compiled=request.param, runtime=FaultyRuntime())
    node.create_topic("safe", **{"flush.messages": "1"})
    yield node
    node.runtime.disk.fault = lambda operation, path: None
    node.close()


@pytest.mark.parametrize("acks", [1, -1])
def test_an_acknowledgement_waits_for_the_disk(node, acks):
    held: list[str] = []
    log = node.node.replicas.get("safe", 0).log

    def fault(operation: str, path: str) -> None:
        if operation == "sync" and "safe-0" in path and path.endswith(".log"):
            held.append(f"{log.high_watermark} {log.log_end_offset}")

    node.runtime.disk.fault = fault
    answer = node.ask(produce(b"a", acks), 9, ProduceResponse)
    result = answer.responses[0].partition_responses[0]
    assert (result.error_code, result.base_offset) == (0, 0)
    assert held == ["0 1"]
    assert (log.high_watermark, log.durability.durable_offset) == (1, 1)


def test_many_requests_share_an_fsync(node):
    wires = []
    for index in range(20):
        wire = Wire()
        connection = node.connect(wire)
        frame = request_frame(produce(b"%d" % index, -1), 9)
        connection.frame(memoryview(frame), 0, len(frame))
        wires.append((connection, wire))
    assert not any(wire.sent for _, wire in wires)
    before = len([path for path in node.runtime.disk.synced if "safe-0" in path])
    assert node.ask(produce(b"last", 1), 9, ProduceResponse).responses[0].partition_responses[0].base_offset == 20
    assert all(wire.sent for _, wire in wires)
    assert len([path for path in node.runtime.disk.synced if "safe-0" in path]) - before <= 2


def test_acks_0_does_not_wait_and_readers_see_only_what_is_on_disk(node):
    assert node.ask(produce(b"a", 0), 9, ProduceResponse) is None
    fetch = FetchRequest(
        max_wait_ms=5_000,
        min_bytes=1,
        max_bytes=1 << 20,
        topics=[FetchTopic(topic="safe", partitions=[FetchPartition(partition=0, partition_max_bytes=1 << 20)])],
    )
    answer = node.ask(fetch, 11, FetchResponse)
    log = node.node.replicas.get("safe", 0).log
    # The fetch was parked until the commit was done.
    assert answer.responses[0].partitions[0].high_watermark == 1
    assert log.durability.durable_offset == 1


def test_a_failed_fsync_takes_the_directory_offline(tmp_path):
    runtime = FaultyRuntime()
    other = tmp_path / "other"
    settings = {"log.dirs": f"{tmp_path / 'first'},{other}", "metadata.log.dir": str(tmp_path / "metadata")}
    node = InProcessNode(tmp_path, compiled=True, settings=settings, runtime=runtime)
    node.create_topic("safe", 2, **{"flush.messages": "1"})
    directory = node.node.replicas.get("safe", 0).log.directory.parent
    runtime.disk.fault = lambda operation, path: (
        OSError(errno.EIO, "Input/output error") if operation == "sync" and f"{directory}/safe-0" in path else None
    )
    answer = node.ask(produce(b"a", -1), 9, ProduceResponse)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    answer = node.ask(produce(b"a", -1), 9, ProduceResponse)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    # The other partition lies elsewhere and goes on.
    assert node.node.replicas.get("safe", 1).log.directory.parent != directory
    node.close()
