"""What is done with all logs of a node is done a slice at a time, however many there are."""

from __future__ import annotations

import pytest
from in_process_node import InProcessNode
from storage_kit import append, batch

from moldau.replica.manager import ReplicaManager
from moldau.runtime.reactor import Reactor
from moldau.slicing import Slicer
from moldau.storage.checkpoint_kinds import HIGH_WATERMARKS
from moldau.storage.directory_work import DirectoryWork
from moldau.storage.upkeep import Upkeep

COUNT = 60


class SlowClock:
    """A look at it costs so much that few steps fit a slice."""

    def __init__(self):
        self._now = 0.0

    def monotonic(self):
        self._now += 0.0004
        return self._now


@pytest.fixture
def node(tmp_path):
    node = InProcessNode(tmp_path, compiled=True, settings={"log.cleaner.backoff.ms": "3600000"})
    node.create_topic("wide", COUNT, **{"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0"})
    node.logs = [node.node.replicas.get("wide", index).log for index in range(COUNT)]
    node.slicer = Slicer(node.runtime.loop, SlowClock())
    yield node
    node.close()


def end(node):
    while len(node.slicer):
        node.runtime.loop.call_soon(node.runtime.loop.stop)
        node.runtime.loop.run()


def test_the_cleaner_looks_at_some_logs_in_a_turn_and_begins_with_the_dirtiest(node):
    cleaner = node.node.cleaner
    cleaner._slicer = node.slicer
    for index in (7, 50):
        log = node.logs[index]
        append(log, batch(b"x" * 100, key=b"k"))
        append(log, batch(b"y" * 100, key=b"k"))
        log.local.roll()
    node.logs[7].local.first_dirty_offset = 1
    node.logs[7].local.roll()
    began = []
    cleaner._begin = lambda log, found: began.append(log)
    cleaner.look()
    assert (began, len(node.slicer)) == ([], 1)
    cleaner.look()
    assert len(node.slicer) == 1, "once at a time"
    end(node)
    assert began[0] is node.logs[50]


def test_a_log_that_is_deleted_while_the_cleaner_looks_is_not_compacted(node):
    cleaner = node.node.cleaner
    cleaner._slicer = node.slicer
    append(node.logs[0], batch(b"x", key=b"k"))
    node.logs[0].local.roll()
    began = []
    cleaner._begin = lambda log, found: began.append(log)
    cleaner.look()
    assert len(node.slicer) == 1
    node.node.logs.delete(node.logs[0].topic_partition)
    end(node)
    assert began == []


@pytest.mark.parametrize("task", ["flush_overdue", "flush_sealed", "expire_producers", "close_idle_files"])
def test_regular_tasks_look_at_some_logs_in_a_turn(node, task):
    asked = []

    class Logs:
        logs = dict(node.node.logs.logs)

        def get(self, place):
            asked.append(place)

    upkeep = Upkeep(Logs(), node.runtime.clock, slicer=node.slicer)
    getattr(upkeep, task)()
    assert 0 < len(asked) < COUNT
    getattr(upkeep, task)()
    assert len(node.slicer) == 1, "once at a time"
    end(node)
    assert len(asked) == len(Logs.logs)


def gathering(node, monkeypatch):
    """A checkpoint of high watermarks that is being collected: some logs have been asked, others not."""
    monkeypatch.setattr("moldau.storage.upkeep._LOGS_AT_ONCE", 4)
    upkeep = Upkeep(node.node.logs, node.runtime.clock, slicer=node.slicer)
    file = HIGH_WATERMARKS.file(node.node.logs.directories[0])
    submitted = []
    monkeypatch.setattr(DirectoryWork, "submit", lambda _, job, done: submitted.append((job, done)))
    upkeep.checkpoint(HIGH_WATERMARKS)
    assert (len(node.slicer), submitted) == (1, []), "none that is written at once"
    return upkeep, file, submitted


def test_a_checkpoint_is_collected_in_slices_and_names_no_log_that_went_meanwhile(node, monkeypatch):
    upkeep, file, submitted = gathering(node, monkeypatch)
    gone = node.logs[0].topic_partition
    node.node.logs._logs.pop(gone).segments.release()
    upkeep.checkpoint(HIGH_WATERMARKS)
    assert len(node.slicer) == 1, "once at a time"
    end(node)
    [(write, written)] = submitted
    write()
    assert len(file.entries) >= COUNT - 1
    assert gone not in file.entries
    written(None)
    end(node)
    assert len(submitted) == 1, "asked for again, and found to be as it is written"


@pytest.mark.parametrize("what", ["ends", "fails"])
def test_a_checkpoint_that_is_collected_is_given_up_when_the_logs_go(node, monkeypatch, what):
    upkeep, _, submitted = gathering(node, monkeypatch)
    if what == "ends":
        upkeep.end()
    else:
        node.node.logs.directories[0].failure = "no such disk"
    end(node)
    assert submitted == []
    node.node.logs.directories[0].failure = None


def test_new_defaults_reach_some_topics_in_a_turn(tmp_path):
    node = InProcessNode(tmp_path, compiled=True)
    for number in range(20):
        node.create_topic(f"t{number}")
    replicas = node.node.replicas
    replicas.slicer = node.slicer = Slicer(node.runtime.loop, SlowClock())
    changed, change = [], replicas.config_changed
    replicas.config_changed = lambda topic: (changed.append(topic), change(topic))
    replicas.defaults_changed(replicas._defaults)
    assert 0 < len(changed) < 20
    end(node)
    assert sorted(changed) == sorted(replicas.by_name)
    node.close()


def test_partitions_are_opened_in_slices_at_the_start(tmp_path, monkeypatch):
    node = InProcessNode(tmp_path, compiled=True)
    node.create_topic("wide", 100)
    node.close()
    counts = [0]
    take_on, turn = ReplicaManager._take_on, Reactor._turn

    def counted(self, local):
        counts[-1] += 1
        return take_on(self, local)

    monkeypatch.setattr(ReplicaManager, "_take_on", counted)
    monkeypatch.setattr(Reactor, "_turn", lambda self: (counts.append(0), turn(self)))
    monkeypatch.setattr("moldau.node.node.Slicer", lambda loop, clock: Slicer(loop, SlowClock()))
    again = InProcessNode(tmp_path, compiled=True)
    replicas = again.node.replicas
    assert (sum(counts) >= 100, max(counts) < 50) == (True, True)
    held = replicas.by_name["wide"].partitions
    assert len(held) == 100, "all, before there are clients"
    known = replicas.image.topics.get("wide").partitions
    assert {index: (one.is_leader, one.leader_epoch) for index, one in held.items()} == {
        index: (True, state.leader_epoch) for index, state in known.items()
    }
    again.close()
