"""Durable topics when a broker starts: nothing acknowledged is hidden while the first commit is still under way."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

from in_process_node import InProcessNode
from storage_kit import batch

from moldau.config.broker import BrokerConfig
from moldau.node import Node
from moldau.runtime.real import RealRuntime
from moldau.storage.commit import Commit


class HoldingWorkers:
    """Keeps the forcing of what producers wrote to itself until it is let go of; everything else is done, also the
    forcing of the metadata: without that no broker is known of, and none leads anything."""

    def __init__(self, workers):
        self._workers = workers
        self.held = []
        self.holding = True

    def submit(self, job, done):
        timed = job.args[0] if isinstance(job, partial) else job
        owner = getattr(timed, "__self__", None)
        if self.holding and isinstance(owner, Commit) and "orders" in (owner._directory or ""):
            self.held.append((job, done))
        else:
            self._workers.submit(job, done)

    def let_go(self):
        """For good: others may come."""
        self.holding = False
        for job, done in self.held:
            self._workers.submit(job, done)

    def __getattr__(self, name):
        return getattr(self._workers, name)


def killed(tmp_path: Path, topics: int) -> Path:
    """The directory of a node that died with a durable record in each topic, not all of them known to be on disk."""
    node = InProcessNode(tmp_path / "lived", compiled=True)
    for number in range(topics):
        node.create_topic(f"orders{number}", **{"flush.messages": "1"})
        partition = node.node.replicas.get(f"orders{number}", 0)
        data = memoryview(bytearray(batch(b"one")))
        partition.append(data, 0, len(data), -1)
    shutil.copytree(tmp_path / "lived", tmp_path / "died")
    node.close()
    return tmp_path / "died"


def test_what_is_in_a_durable_log_is_forced_before_clients_are_let_in(tmp_path: Path) -> None:
    home = killed(tmp_path, 3)
    runtime = RealRuntime()
    runtime.workers = workers = HoldingWorkers(runtime.workers)
    node = Node(BrokerConfig.parse({"log.dirs": str(home), "listeners": "PLAINTEXT://127.0.0.1:0"}), runtime)
    ready = []
    node.start(ready.append)
    for _ in range(30_000):
        if len(workers.held) == 3:
            break
        runtime.loop.call_later(0.002, runtime.loop.stop)
        runtime.loop.run()
    for _ in range(20):
        runtime.loop.call_soon(runtime.loop.stop)
        runtime.loop.run()
    logs = [node.replicas.get(f"orders{number}", 0).log for number in range(3)]
    assert (ready, [log.high_watermark for log in logs]) == ([], [0, 0, 0])
    node.server.serve = lambda serve=node.server.serve: (ready.append([log.high_watermark for log in logs]), serve())
    workers.let_go()
    for _ in range(30_000):
        if ready:
            break
        runtime.loop.call_later(0.002, runtime.loop.stop)
        runtime.loop.run()
    assert ready[0] == [1, 1, 1]
    node.shutdown(runtime.loop.stop)
    runtime.loop.run()
    runtime.close()


def test_commits_of_very_many_partitions_begin_some_in_a_turn(tmp_path: Path) -> None:
    node = InProcessNode(tmp_path, compiled=True)
    node.create_topic("wide", 150, **{"flush.messages": "1"})
    replicas, loop = node.node.replicas, node.runtime.loop
    partitions = [replicas.get("wide", index) for index in range(150)]
    began, begin = [], replicas._commits._commit
    replicas._commits._commit = lambda partition: (began.append(partition), begin(partition))
    for partition in partitions:
        data = memoryview(bytearray(batch(b"one")))
        partition.append(data, 0, len(data), -1)
    loop.call_soon(loop.stop)
    loop.run()
    assert 0 < len(began) < 150
    node.settle(replicas._commits.idle())
    assert (len(began), {partition.log.high_watermark for partition in partitions}) == (150, {1})
    node.close()
