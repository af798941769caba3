"""The cleaner under a node: what it chooses, what it writes down, and what it does about trouble."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from faulty_disk import FaultyRuntime, Holding
from in_process_node import InProcessNode
from storage_kit import names_in

from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from moldau.protocol.records import encode_batch
from moldau.storage.compaction import Replacement, Uncleanable

SETTINGS = {
    "log.cleaner.backoff.ms": "10",
    "log.segment.delete.delay.ms": "0",
    "log.cleaner.io.buffer.size": "1024",
}
COMPACT = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1"}


@pytest.fixture
def node(tmp_path):
    node = InProcessNode(tmp_path, compiled=True, settings=SETTINGS, runtime=FaultyRuntime())
    yield node
    node.runtime.disk.fault = lambda operation, path: None
    node.close()


def write(node, topic, *pairs):
    records = [(1, key, value, ()) for key, value in pairs]
    data = PartitionProduceData(index=0, records=encode_batch(records))
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=[data])])
    answer = node.ask(request, 9, ProduceResponse)
    assert answer.responses[0].partition_responses[0].error_code == 0


def fill(node, topic, count=20):
    """A closed segment with `count` records of two keys."""
    for index in range(count):
        write(node, topic, (b"k%d" % (index % 2), b"%d" % index))
    node.node.replicas.get(topic, 0).log.local.roll()


def records(node, topic):
    log = node.node.replicas.get(topic, 0).log
    return [placed.header.count for segment in log.segments for placed in segment.batches()]


def until(node, condition):
    loop = node.runtime.loop
    for _ in range(2000):
        if condition():
            return
        loop.call_later(0.005, loop.stop)
        loop.run()
    raise AssertionError("it did not happen")


def test_a_dirty_log_is_compacted_and_the_checkpoint_says_so(node, tmp_path):
    node.create_topic("table", **COMPACT)
    node.create_topic("stream")
    fill(node, "table")
    fill(node, "stream")
    until(node, lambda: len(records(node, "table")) == 2)
    assert len(records(node, "stream")) == 20
    checkpoint = tmp_path / "cleaner-offset-checkpoint"
    until(node, lambda: checkpoint.exists() and not node.node.cleaner.busy)
    assert checkpoint.read_text().splitlines() == ["0", "1", "table 0 20"]


def test_the_checkpoint_is_read_at_the_next_start(tmp_path):
    node = InProcessNode(tmp_path, compiled=True, settings=SETTINGS)
    node.create_topic("table", **COMPACT)
    fill(node, "table")
    until(node, lambda: (tmp_path / "cleaner-offset-checkpoint").exists())
    node.close()
    node = InProcessNode(tmp_path, compiled=True, settings=SETTINGS)
    assert node.node.replicas.get("table", 0).log.local.first_dirty_offset == 20
    node.close()


def test_a_log_that_is_damaged_is_set_aside_and_the_others_go_on(node, tmp_path, caplog):
    node.create_topic("bad", **COMPACT)
    node.create_topic("good", **COMPACT)
    fill(node, "bad")
    file = tmp_path / "bad-0" / f"{0:020d}.log"
    with file.open("r+b") as opened:
        opened.seek(65)
        opened.write(b"\xff")
    fill(node, "good")
    until(node, lambda: len(records(node, "good")) == 2)
    until(node, lambda: node.node.cleaner.uncleanable)
    ((log, reason),) = node.node.cleaner.uncleanable.items()
    assert (log.directory.name, "damaged" in reason) == ("bad-0", True)
    assert [record.message for record in caplog.records if "bad-0" in record.message] != []
    assert not [name for name in names_in(tmp_path / "bad-0") if "cleaned" in name]


def test_a_full_disk_is_waited_for(node, tmp_path):
    node.create_topic("table", **COMPACT)
    full = True

    def fault(operation, path):
        return OSError(errno.ENOSPC, "No space left on device") if full and ".cleaned" in path else None

    node.runtime.disk.fault = fault
    fill(node, "table")
    until(node, lambda: node.node.replicas.shortages.full)
    assert len(records(node, "table")) == 20
    full = False
    until(node, lambda: len(records(node, "table")) == 2)


def test_a_topic_deleted_meanwhile_is_let_go(node, tmp_path):
    from moldau.protocol.messages.delete_topics import DeleteTopicsRequest

    node.create_topic("table", **COMPACT)
    for _ in range(5):
        fill(node, "table", 40)
    cleaner = node.node.cleaner
    node.runtime.workers, workers = Holding(), node.runtime.workers
    until(node, lambda: cleaner.busy)
    held, node.runtime.workers = node.runtime.workers, workers
    request = DeleteTopicsRequest(topic_names=["table"], timeout_ms=1000)
    node.settle(node.node.controller.delete_topics(request, 5))
    held.run()
    until(node, lambda: not cleaner.busy)
    assert cleaner.uncleanable == {}
    assert all(directory.is_online for directory in node.node.logs.directories)
    node.create_topic("other", **COMPACT)
    fill(node, "other")
    until(node, lambda: len(records(node, "other")) == 2)


def test_a_log_cut_meanwhile_keeps_what_was_cut_off_away(node, tmp_path):
    node.create_topic("table", **COMPACT)
    log = node.node.replicas.get("table", 0).log
    for _ in range(5):
        fill(node, "table", 40)
    cleaner = node.node.cleaner
    node.runtime.workers, workers = Holding(), node.runtime.workers
    until(node, lambda: cleaner.busy)
    held, node.runtime.workers = node.runtime.workers, workers
    log.local.truncate_to(10)
    held.run()
    until(node, lambda: not cleaner.busy)
    assert (log.log_end_offset, log.local.first_dirty_offset) == (10, 0)
    assert all(segment.base_offset < 10 for segment in log.segments)
    left = [name for name in names_in(Path(log.directory.path)) if name.endswith((".swap", ".cleaned"))]
    assert left == []


def test_a_log_cut_in_the_last_moment_is_dirty_from_there_on(node):
    """All is replaced and only the end of the compaction is left. What is written next has not been compacted."""
    node.create_topic("table", **COMPACT)
    log = node.node.replicas.get("table", 0).log
    fill(node, "table")
    cleaner = node.node.cleaner
    node.runtime.workers, workers = Holding(), node.runtime.workers
    until(node, lambda: cleaner.busy)
    held, node.runtime.workers = node.runtime.workers, Holding()
    while len(records(node, "table")) > 2:
        held.run()
        held, node.runtime.workers = node.runtime.workers, Holding()
    assert cleaner.busy
    log.local.truncate_to(18)
    node.runtime.workers = workers
    held.run()
    until(node, lambda: not cleaner.busy)
    assert log.local.first_dirty_offset <= 18


def test_a_log_cut_before_its_segments_are_replaced_keeps_the_old_ones(node):
    """The new segment holds records that were cut off while it was written."""
    node.create_topic("table", **COMPACT)
    log = node.node.replicas.get("table", 0).log
    fill(node, "table")
    cleaner = node.node.cleaner
    node.runtime.workers, workers = Holding(), node.runtime.workers
    until(node, lambda: cleaner.busy)
    result = None
    while not isinstance(result, Replacement):
        job, done = node.runtime.workers.jobs.pop(0)
        result = job()
        if isinstance(result, Replacement):
            log.local.truncate_to(10)
        done(result, None)
    assert (cleaner.busy, node.runtime.workers.jobs) == ({}, [])
    node.runtime.workers = workers
    assert (log.log_end_offset, log.local.first_dirty_offset) == (10, 0)
    assert len(records(node, "table")) == 10
    write(node, "table", (b"k0", b"new"))
    assert log.log_end_offset == 11


@pytest.mark.parametrize("error", [OSError(errno.EIO, "Input/output error"), Uncleanable("damaged")])
@pytest.mark.parametrize("change", ["cut", "deleted", "stopped"])
def test_what_fails_because_the_log_is_another_is_not_held_against_it(node, change, error):
    """Its files were cut or are gone, or the node is about to stop: neither the log nor its disk is broken."""
    from moldau.protocol.messages.delete_topics import DeleteTopicsRequest

    node.create_topic("table", **COMPACT)
    log = node.node.replicas.get("table", 0).log
    fill(node, "table")
    cleaner = node.node.cleaner
    node.runtime.workers, workers = Holding(), node.runtime.workers
    until(node, lambda: cleaner.busy)
    held, node.runtime.workers = node.runtime.workers, workers
    ((_, done),) = held.jobs
    if change == "cut":
        log.local.truncate_to(10)
    elif change == "deleted":
        request = DeleteTopicsRequest(topic_names=["table"], timeout_ms=1000)
        node.settle(node.node.controller.delete_topics(request, 5))
    else:
        cleaner.stop()
    done(None, error)
    assert all(directory.is_online for directory in node.node.logs.directories)
    assert (cleaner.busy, cleaner.uncleanable) == ({}, {})


def test_a_disk_that_fails_a_compaction_is_given_up(node):
    node.create_topic("table", **COMPACT)
    fill(node, "table")
    cleaner = node.node.cleaner
    node.runtime.workers, workers = Holding(), node.runtime.workers
    until(node, lambda: cleaner.busy)
    held, node.runtime.workers = node.runtime.workers, workers
    ((_, done),) = held.jobs
    done(None, OSError(errno.EIO, "Input/output error"))
    assert not any(directory.is_online for directory in node.node.logs.directories)
    assert (cleaner.busy, cleaner.uncleanable) == ({}, {})


def turns(node):
    """Time for whatever would happen by itself."""
    loop = node.runtime.loop
    for _ in range(5):
        loop.call_soon(loop.stop)
        loop.run()


def test_no_more_logs_are_compacted_at_once_than_there_are_threads(node):
    cleaner = node.node.cleaner
    node.runtime.workers, workers = Holding(), node.runtime.workers
    for topic in ("one", "two"):
        node.create_topic(topic, **COMPACT)
        fill(node, topic)
    until(node, lambda: cleaner.busy)
    cleaner.look()
    turns(node)
    assert len(cleaner.busy) == 1
    held, node.runtime.workers = node.runtime.workers, workers
    held.run()
    until(node, lambda: [len(records(node, topic)) for topic in ("one", "two")] == [2, 2])


def test_a_log_is_compacted_by_one_thread_at_a_time(tmp_path):
    """Two that replace the same segments would leave neither the old records nor the new ones."""
    settings = {**SETTINGS, "log.cleaner.threads": "2"}
    node = InProcessNode(tmp_path, compiled=True, settings=settings, runtime=FaultyRuntime())
    node.create_topic("table", **COMPACT)
    cleaner = node.node.cleaner
    node.runtime.workers, workers = Holding(), node.runtime.workers
    fill(node, "table")
    until(node, lambda: cleaner.busy)
    (run,) = cleaner.busy.values()
    fill(node, "table")
    cleaner.look()
    turns(node)
    assert list(cleaner.busy.values()) == [run]
    held, node.runtime.workers = node.runtime.workers, workers
    held.run()
    until(node, lambda: len(records(node, "table")) == 2)
    node.close()


def test_nothing_is_compacted_where_that_is_switched_off(tmp_path):
    settings = {**SETTINGS, "log.cleaner.enable": "false"}
    node = InProcessNode(tmp_path, compiled=True, settings=settings, runtime=FaultyRuntime())
    node.create_topic("table", **COMPACT)
    fill(node, "table")
    cleaner = node.node.cleaner
    cleaner.look()
    turns(node)
    assert (cleaner.keeps, cleaner.busy, len(records(node, "table"))) == (False, {}, 20)
    node.close()


def test_retention_and_compaction_together(node):
    both = {"cleanup.policy": "compact,delete", "retention.ms": "1", "min.cleanable.dirty.ratio": "0.1"}
    node.create_topic("both", **both)
    """By the cleaner, which comes every 15 seconds and not every five minutes."""
    fill(node, "both")
    log = node.node.replicas.get("both", 0).log
    until(node, lambda: log.log_start_offset == 20)
    assert records(node, "both") == []


def test_the_throttle_is_kept(tmp_path):
    settings = {**SETTINGS, "log.cleaner.io.max.bytes.per.second": "1000"}
    node = InProcessNode(tmp_path, compiled=True, settings=settings)
    node.create_topic("table", **COMPACT)
    delays = []
    later = node.runtime.loop.call_later
    node.runtime.loop.call_later = lambda delay, callback: delays.append(delay) or later(min(delay, 0.001), callback)
    fill(node, "table")
    until(node, lambda: len(records(node, "table")) == 2)
    node.runtime.loop.call_later = later
    # About 1.5 KB are read twice and a tenth of it is written.
    assert 2 < sum(delay for delay in delays if delay > 0.1) < 10
    node.close()
