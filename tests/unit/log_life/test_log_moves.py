"""A replica moves to another directory while it is written and read."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest
from faulty_disk import FaultyRuntime, Holding
from in_process_node import InProcessNode
from storage_kit import batch, names_in

from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest
from moldau.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from moldau.protocol.records import decode_batch


class World:
    def __init__(self, path: Path, **topic: str) -> None:
        self.runtime = FaultyRuntime()
        self.settings = {
            "log.dirs": f"{path}/one,{path}/two",
            "metadata.log.dir": f"{path}/metadata",
            "log.segment.delete.delay.ms": "0",
        }
        self.node = InProcessNode(path, compiled=True, settings=self.settings, runtime=self.runtime)
        self.node.create_topic("topic", **topic)
        self.written = 0

    @property
    def log(self):
        return self.node.node.replicas.get("topic", 0).log

    @property
    def target(self) -> str:
        return next(d.path for d in self.node.node.logs.directories if d.path != self.log.directory.parent)

    def write(self, count: int = 1) -> None:
        for _ in range(count):
            fields = {"producer_id": 9, "producer_epoch": 0, "base_sequence": self.written}
            data = PartitionProduceData(index=0, records=bytes(batch(b"%d" % self.written, **fields)))
            request = ProduceRequest(
                acks=-1, timeout_ms=9000, topic_data=[TopicProduceData(name="topic", partition_data=[data])]
            )
            answer = self.node.ask(request, 9, ProduceResponse).responses[0].partition_responses[0]
            assert (answer.error_code, answer.base_offset) == (0, self.written)
            self.written += 1

    def move(self, path: str, topic: str = "topic", version: int = 2) -> ErrorCode:
        wanted = AlterReplicaLogDir(path=path, topics=[AlterReplicaLogDirTopic(name=topic, partitions=[0])])
        answer = self.node.ask(AlterReplicaLogDirsRequest(dirs=[wanted]), version, AlterReplicaLogDirsResponse)
        assert answer.results[0].topic_name == topic
        return answer.results[0].partitions[0].error_code

    def read(self) -> list[bytes]:
        found: list[bytes] = []
        while len(found) < self.written:
            partition = FetchPartition(partition=0, fetch_offset=len(found), partition_max_bytes=1 << 20)
            fetch = FetchRequest(
                max_wait_ms=0, max_bytes=1 << 20, topics=[FetchTopic(topic="topic", partitions=[partition])]
            )
            answer = self.node.ask(fetch, 11, FetchResponse).responses[0].partitions[0]
            assert answer.error_code == 0
            found += [record.value for record in decode_batch(answer.records)]
        return found

    def check(self) -> None:
        assert self.read() == [b"%d" % index for index in range(self.written)]

    def turn(self) -> None:
        self.runtime.loop.call_later(0.002, self.runtime.loop.stop)
        self.runtime.loop.run()

    def until(self, condition) -> None:
        for _ in range(2000):
            if condition():
                return
            self.turn()
        raise AssertionError("it did not happen")

    def futures(self):
        described = self.node.ask(DescribeLogDirsRequest(topics=None), 4, DescribeLogDirsResponse)
        return [
            (result.log_dir, partition.offset_lag)
            for result in described.results
            for topic in result.topics
            for partition in topic.partitions
            if partition.is_future_key
        ]


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path)
    yield made
    made.runtime.disk.fault = lambda operation, path: None
    made.node.close()


@pytest.mark.parametrize("version", [1, 2])
def test_a_replica_moves_and_nobody_notices(world, tmp_path, version):
    world.write(50)
    world.log.local.roll()
    world.write(20)
    before, target = world.log.directory.parent, world.target
    assert world.move(target, version=version) == 0
    world.until(lambda: world.log.directory.parent == target)
    world.check()
    world.write(5)
    world.check()
    assert (world.log.high_watermark, world.log.directory.path) == (75, f"{target}/topic-0")
    assert world.futures() == []
    world.until(lambda: world.node.node.logs.retirement._names == {})
    world.node.node.upkeep.remove_deleted()
    world.until(lambda: not world.node.node.logs.removal.waiting)
    world.until(lambda: not [name for name in names_in(Path(before)) if name.startswith("topic")])
    assert [name for name in names_in(Path(before)) if name.startswith("topic")] == []
    # Idempotence goes on where it was.
    assert world.log.producers.entries[9].last_sequence == 74
    world.node.close()
    again = InProcessNode(tmp_path, compiled=True, settings=world.settings)
    world.node, world.runtime = again, again.runtime
    world.runtime.disk = FaultyRuntime().disk
    assert world.log.directory.parent == target
    world.check()


def test_records_written_meanwhile_come_along(world):
    world.write(30)
    target = world.target
    world.move(target)
    while world.log.directory.parent != target:
        world.write(3)
        world.turn()
        assert world.written < 1000
    world.write(3)
    world.check()


def test_progress_can_be_seen_and_a_move_given_up(world, tmp_path):
    world.write(10)
    home, target = world.log.directory.parent, world.target
    world.runtime.workers, held = Holding(), world.runtime.workers
    world.move(target)
    assert world.futures() == [(target, 10)]
    futures = world.node.node.logs.futures.logs
    copied = dict(futures)
    assert world.move(target) == 0  # again: nothing new
    assert [futures[place] is future for place, future in copied.items()] == [True], "it goes on where it is"
    assert len([name for name in names_in(Path(target)) if name.endswith("-future")]) == 1
    assert world.move(home) == 0
    assert world.futures() == []
    world.runtime.workers.run()
    world.runtime.workers = held
    assert world.log.directory.parent == home
    assert not [name for name in names_in(Path(target)) if name.endswith("-future")]
    world.write(2)
    world.check()
    world.move(target)
    world.until(lambda: world.log.directory.parent == target)
    world.check()


def test_what_is_left_of_a_move_that_was_given_up_does_not_end_the_next(world):
    world.write(10)
    home, target = world.log.directory.parent, world.target
    world.runtime.workers, held = Holding(), world.runtime.workers
    world.move(target)
    world.move(home)
    world.move(target)
    # The first step of the first move comes back while the second one is under way.
    world.runtime.workers.run()
    world.runtime.workers = held
    assert world.log.directory.parent == target
    world.check()


def begin_again(world: World, path: Path) -> None:
    """Another process with the same data."""
    world.node.close()
    world.runtime = FaultyRuntime()
    world.node = InProcessNode(path, compiled=True, settings=world.settings, runtime=world.runtime)


def begin_move(world: World) -> Path:
    """A move that never gets on in this process; what there is of it."""
    world.runtime.workers, held = Holding(), world.runtime.workers
    assert world.move(world.target) == 0
    world.runtime.workers = held
    (left,) = copies_in(world.target)
    return left


def copies_in(directory: str) -> list[Path]:
    return [path for path in Path(directory).iterdir() if path.name.endswith("-future")]


def test_a_move_goes_on_after_a_restart(world, tmp_path):
    world.write(30)
    target = world.target
    left = begin_move(world)
    begin_again(world, tmp_path)
    world.until(lambda: world.log.directory.parent == target)
    world.check()
    world.node.node.upkeep.remove_deleted()
    world.until(lambda: not left.exists())
    assert copies_in(target) == []


def test_a_move_that_was_asked_for_twice_goes_on_once(world, tmp_path):
    """The process ended when it had begun to go on, before the first attempt was out of the way."""
    world.write(30)
    target = world.target
    left = begin_move(world)
    shutil.copytree(left, left.with_name(f"topic-0.{'0' * 32}-future"))
    begin_again(world, tmp_path)
    world.until(lambda: world.log.directory.parent == target)
    world.check()
    world.node.node.upkeep.remove_deleted()
    world.until(lambda: copies_in(target) == [])


def test_a_move_that_was_given_up_does_not_go_on_after_a_restart(world, tmp_path):
    world.write(10)
    home, target = world.log.directory.parent, world.target
    begin_move(world)
    world.move(home)
    begin_again(world, tmp_path)
    assert world.futures() == []
    assert copies_in(target) == []
    assert world.log.directory.parent == home


def test_whoever_decides_first_after_a_restart_is_heard(world, tmp_path):
    """A move is given up before the start has come to it."""
    world.write(10)
    home, target = world.log.directory.parent, world.target
    left = begin_move(world)
    begin_again(world, tmp_path)
    world.until(lambda: world.log.directory.parent == target)
    key = (world.log.topic_id, 0)
    futures, moves = world.node.node.logs.futures, world.node.node.services.log_moves
    futures.interrupted[key] = [str(Path(home) / left.name)]
    going_on = moves.resume()
    next(going_on)
    assert world.move(target) == 0
    assert list(going_on) == []
    assert (futures.interrupted, futures.logs) == ({}, {})


def test_the_move_of_a_topic_that_is_gone_is_not_that_of_the_next_with_its_name(world, tmp_path):
    world.write(10)
    home, target = world.log.directory.parent, world.target
    left = begin_move(world)
    world.node.close()
    (left / "partition.metadata").write_text("version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw")
    world.runtime = FaultyRuntime()
    world.node = InProcessNode(tmp_path, compiled=True, settings=world.settings, runtime=world.runtime)
    assert world.futures() == []
    world.node.node.upkeep.remove_deleted()
    world.until(lambda: copies_in(target) == [])
    assert world.log.directory.parent == home


def test_refusals(world):
    assert world.move("/nowhere") == ErrorCode.LOG_DIR_NOT_FOUND
    assert world.move(world.target, topic="unknown") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    target = world.target
    world.node.node.logs.directory_failed(target, "broken")
    assert world.move(target) == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_log_cut_while_it_moves(world):
    world.write(20)
    target = world.target
    world.runtime.workers, held = Holding(), world.runtime.workers
    world.move(target)
    world.runtime.workers.run()
    world.log.local.truncate_to(12)
    world.runtime.workers = held
    world.written = 12
    world.write(4)
    before = content(world.log)
    world.until(lambda: world.log.directory.parent == target)
    assert content(world.log) == before
    world.check()


def test_the_beginning_deleted_while_it_moves(world):
    world.write(20)
    target = world.target
    world.runtime.workers, held = Holding(), world.runtime.workers
    world.move(target)
    world.log.local.advance_log_start(15)
    jobs, world.runtime.workers = world.runtime.workers, held
    jobs.run()
    world.until(lambda: world.log.directory.parent == target)
    assert (world.log.log_start_offset, world.log.log_end_offset) == (15, 20)


def test_a_target_that_fails_leaves_the_replica_where_it_was(world):
    world.write(20)
    home, target = world.log.directory.parent, world.target
    world.runtime.disk.fault = lambda operation, path: (
        OSError(errno.EIO, "Input/output error") if operation == "write" and "-future" in path else None
    )
    world.move(target)
    world.until(lambda: not all(directory.is_online for directory in world.node.node.logs.directories))
    assert world.log.directory.parent == home
    world.write(1)
    world.check()


def test_a_topic_deleted_while_it_moves(world, tmp_path):
    world.write(20)
    target = world.target
    world.runtime.workers, held = Holding(), world.runtime.workers
    world.move(target)
    jobs, world.runtime.workers = world.runtime.workers, held
    request = DeleteTopicsRequest(topic_names=["topic"], timeout_ms=1000)
    world.node.settle(world.node.node.controller.delete_topics(request, 5))
    jobs.run()
    world.until(lambda: world.node.node.logs.retirement._names == {})
    world.node.node.upkeep.remove_deleted()
    world.until(lambda: not [name for name in names_in(Path(target)) if name.startswith("topic")])


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_a_topic_deleted_while_it_moves_to_a_disk_that_fails(world, tmp_path, code):
    """The copy cannot be given up in the ordinary way. The topic is gone all the same, and the node goes on."""
    world.node.create_topic("other")
    world.write(20)
    home, target = world.log.directory.parent, world.target
    world.runtime.workers, held = Holding(), world.runtime.workers
    world.move(target)
    jobs, world.runtime.workers = world.runtime.workers, held
    world.runtime.disk.fault = lambda operation, path: (
        OSError(code, "no") if operation == "rename" and path.endswith("-future") else None
    )
    request = DeleteTopicsRequest(topic_names=["topic"], timeout_ms=1000)
    world.node.settle(world.node.node.controller.delete_topics(request, 5))
    jobs.run()
    world.until(lambda: world.node.node.logs.retirement._names == {})
    logs = world.node.node.logs
    assert logs.is_online(home)
    assert logs.is_online(target) is (code == errno.ENOSPC)
    assert not logs.futures.logs
    world.node.node.upkeep.remove_deleted()
    world.until(lambda: not [name for name in names_in(Path(home)) if name.startswith("topic")])
    world.node.create_topic("topic")
    world.written = 0
    world.write(3)
    world.check()


@pytest.mark.parametrize("offline", [None, "old", "new"])
@pytest.mark.parametrize("decided", [False, True])
def test_a_crash_between_the_two_names(world, tmp_path, decided, offline):
    """Whichever of the two renames reached the disk, the next start finds one log, and the right one. If it may be in
    a directory that is offline, the partition is offline too, and the start after that finds it."""
    world.write(20)
    home, target = world.log.directory.parent, world.target

    class Died(Exception):
        pass

    def fault(operation, path):
        if operation == "rename" and (path.endswith("-future") if decided else path == f"{home}/topic-0"):
            died.append(path)
            raise Died

    moves = world.node.node.services.log_moves
    died = []
    world.runtime.disk.fault = fault
    step = moves._step
    moves._step = lambda move: caught(step, move, died)
    world.move(target)
    world.until(lambda: died)
    kill(world.node)
    if offline is not None:
        start(world, tmp_path, without=home if offline == "old" else target)
        if not decided and offline == "new":
            world.write(1)
            world.check()
        else:
            with pytest.raises(KafkaError) as refused:
                world.node.node.replicas.get("topic", 0)
            assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR
        kill(world.node)
    start(world, tmp_path)
    assert world.log.directory.parent == (target if decided else home)
    world.check()
    world.write(1)


def start(world, path, without=None):
    world.runtime = FaultyRuntime()
    if without is not None:
        world.runtime.disk.fault = lambda operation, path: (
            OSError(errno.EIO, "Input/output error") if path.startswith(without) else None
        )
    world.node = InProcessNode(path, compiled=True, settings=world.settings, runtime=world.runtime)


def kill(node):
    """The process is gone: nothing is closed."""
    node.runtime.disk.fault = lambda operation, path: None
    node.node.housekeeping.stop()
    node.node.cleaner.stop()
    for directory in node.node.logs.directories:
        directory.release()
    node.node.quorum._log.unlock()
    node.node.server.shutdown(0)


def caught(step, move, died):
    try:
        step(move)
    except BaseException as error:
        died.append(error)


def test_a_name_for_which_there_is_no_room_leaves_the_replica_where_it_was(world):
    world.write(20)
    home, target = world.log.directory.parent, world.target
    refused = []

    def fault(operation, path):
        if operation == "rename" and path == f"{home}/topic-0":
            refused.append(path)
            return OSError(errno.ENOSPC, "No space left on device")
        return None

    world.runtime.disk.fault = fault
    world.move(target)
    world.until(lambda: refused)
    assert (world.log.directory.parent, world.futures()) == (home, [])
    world.write(1)
    world.check()
    world.runtime.disk.fault = lambda operation, path: None
    assert world.move(target) == 0
    world.until(lambda: world.log.directory.parent == target)
    world.check()


def test_durable_mode_stays_durable(tmp_path):
    world = World(tmp_path, **{"flush.messages": "1"})
    world.write(10)
    target = world.target
    world.move(target)
    world.until(lambda: world.log.directory.parent == target)
    assert world.log.durability.durable_offset == 10
    world.write(3)
    world.check()
    world.node.close()


def test_a_replica_that_comes_back_waits_until_its_old_place_is_free(world):
    """There and back again, while the disk has not yet renamed what it left behind."""
    world.write(20)
    home, target = world.log.directory.parent, world.target
    work = world.node.node.logs.work_in(home)
    held, work._workers = work._workers, Holding()
    world.move(target)
    world.until(lambda: world.log.directory.parent == target)
    world.move(home)
    world.until(lambda: world.node.node.services.log_moves._moves[world.log.topic_partition].forced)
    for _ in range(50):
        world.turn()
    assert world.log.directory.parent == target
    holding, work._workers = work._workers, held
    holding.run()
    world.until(lambda: world.log.directory.parent == home)
    world.check()


def test_a_target_that_cannot_force_what_it_has_leaves_the_replica_where_it_was(world):
    world.write(5)
    home, target = world.log.directory.parent, world.target
    world.runtime.disk.fault = lambda operation, path: (
        OSError(errno.EIO, "Input/output error") if operation == "sync" and "-future" in path else None
    )
    world.move(target)
    world.until(lambda: not all(directory.is_online for directory in world.node.node.logs.directories))
    assert world.log.directory.parent == home
    world.write(1)
    world.check()


def test_a_log_that_is_cut_while_it_is_read_is_copied_anew(world):
    world.write(20)
    target = world.target
    world.runtime.workers, held = Holding(), world.runtime.workers
    world.move(target)
    ((_, copied),) = world.runtime.workers.jobs
    world.log.local.truncate_to(12)
    world.runtime.workers = held
    copied(None, KafkaError(ErrorCode.CORRUPT_MESSAGE))
    world.written = 12
    world.until(lambda: world.log.directory.parent == target)
    world.check()


def test_what_cannot_be_copied_is_given_up_at_once(world):
    """Not tried again and again: nothing but the operator's word begins it anew."""
    world.write(20)
    home, target = world.log.directory.parent, world.target
    world.runtime.workers, held = Holding(), world.runtime.workers
    world.move(target)
    ((_, copied),) = world.runtime.workers.jobs
    world.runtime.workers = held
    copied(None, KafkaError(ErrorCode.CORRUPT_MESSAGE))
    assert (world.log.directory.parent, world.futures()) == (home, [])
    assert world.move(target) == 0
    world.until(lambda: world.log.directory.parent == target)
    world.check()


def throttle(world: World, rate: int) -> None:
    world.settings["replica.alter.log.dirs.io.max.bytes.per.second"] = str(rate)
    world.node.node.services.config = type(world.node.node.services.config).parse(world.settings)


def test_a_throttle_that_is_raised_is_raised_for_moves_under_way(world):
    """A portion may be worth minutes at the old rate."""
    throttle(world, 100)
    world.write(20)
    target = world.target
    world.runtime.workers, held = Holding(), world.runtime.workers
    world.move(target)
    ((copy, copied),) = world.runtime.workers.jobs
    size = copy()
    assert size > 400
    world.runtime.workers = held
    waiting = []
    world.runtime.loop.call_later, later = lambda *timer: waiting.append(timer), world.runtime.loop.call_later
    copied(size, None)
    delay, look = waiting.pop()
    look()
    assert (delay, waiting.pop()[0]) == (1.0, 1.0)
    throttle(world, size - 100)
    look()
    delay, go_on = waiting.pop()
    world.runtime.loop.call_later = later
    assert (delay, waiting) == (1.0, [])
    go_on()
    world.until(lambda: world.log.directory.parent == target)
    world.check()


def test_a_cut_does_not_lift_the_throttle(world):
    throttle(world, 1000)
    world.write(20)
    world.runtime.workers, held = Holding(), world.runtime.workers
    world.move(world.target)
    ((copy, copied),) = world.runtime.workers.jobs
    size = copy()
    world.log.local.truncate_to(12)
    world.runtime.workers = held
    delays, later = [], world.runtime.loop.call_later
    world.runtime.loop.call_later = lambda delay, callback: delays.append(delay) or later(delay, callback)
    copied(size, None)
    world.runtime.loop.call_later = later
    assert delays == [min(1.0, size / 1000)]


def test_only_little_is_copied_on_the_loop_at_the_end(world, monkeypatch):
    monkeypatch.setattr("moldau.replica.log_moves._LAST_PORTION", 1000)
    world.write(20)
    home, target = world.log.directory.parent, world.target
    workers, world.runtime.workers = world.runtime.workers, Holding()
    holding = world.runtime.workers
    world.move(target)
    copy, copied = holding.jobs.pop()
    copied(copy(), None)
    force, forced = holding.jobs.pop()
    world.write(30)
    forced(force(), None)
    assert (world.log.directory.parent, len(holding.jobs)) == (home, 1)
    world.runtime.workers = workers
    holding.run()
    world.until(lambda: world.log.directory.parent == target)
    world.check()


def test_what_little_is_left_is_copied_in_the_turn_of_the_exchange(world):
    """Nobody writes in between: so it ends, however much is written."""
    world.write(20)
    target = world.target
    workers, world.runtime.workers = world.runtime.workers, Holding()
    holding = world.runtime.workers
    world.move(target)
    copy, copied = holding.jobs.pop()
    copied(copy(), None)
    force, forced = holding.jobs.pop()
    world.write(30)
    forced(force(), None)
    assert world.log.directory.parent == target
    world.runtime.workers = workers
    world.check()


def large(world, count):
    """Batches of which a portion holds one."""
    for _ in range(count):
        data = memoryview(bytearray(batch(b"v" * 100_000)))
        world.log.append_as_leader(data, 0, len(data), world.node.node.replicas.get("topic", 0).leader_epoch)
        world.log.local.advance_high_watermark(world.log.log_end_offset)


def content(log):
    return b"".join(segment.open_file().read(0, segment.size) for segment in log.segments)


def test_a_source_that_cannot_be_read_is_the_disk_that_failed(world):
    world.write(20)
    home, target = world.log.directory.parent, world.target
    world.runtime.disk.fault = lambda operation, path: (
        OSError(errno.EIO, "Input/output error")
        if operation == "read" and path.startswith(f"{home}/topic-0/")
        else None
    )
    world.move(target)
    logs = world.node.node.logs
    world.until(lambda: not all(directory.is_online for directory in logs.directories))
    assert (logs.is_online(home), logs.is_online(target)) == (False, True)
    assert not logs.futures.logs


def test_a_beginning_deleted_before_it_is_copied_is_left_out(world):
    large(world, 6)
    target = world.target
    world.runtime.workers, held = Holding(), world.runtime.workers
    world.move(target)
    world.runtime.workers.jobs, jobs = [], list(world.runtime.workers.jobs)
    world.log.local.advance_log_start(4)
    world.runtime.workers = held
    ((job, done),) = jobs
    done(job(), None)
    world.until(lambda: world.log.directory.parent == target)
    assert (world.log.log_start_offset, world.log.log_end_offset) == (4, 6)
    assert len(content(world.log)) < 250_000


def test_little_is_copied_by_a_worker_too_before_it_is_forced(world):
    world.write(3)
    target = world.target
    world.runtime.workers, held = Holding(), world.runtime.workers
    world.move(target)
    (move,) = world.node.node.services.log_moves._moves.values()
    assert (move.forced, move.future.log_end_offset, len(world.runtime.workers.jobs)) == (False, 0, 1)
    jobs, world.runtime.workers = world.runtime.workers, held
    jobs.run()
    world.until(lambda: world.log.directory.parent == target)
    world.check()
