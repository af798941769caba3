"""Copies of a node's data, as docs/OPERATING.md makes them: of one that is halted under load."""

from __future__ import annotations

import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from node_process import MOLDAU, NodeProcess, StartNode
from patience import wait_until

from moldau import KafkaConsumer, KafkaProducer

pytestmark = pytest.mark.ours_only("it copies the data of our nodes")
TOPIC = "rivers"


class Writer(threading.Thread):
    """Writes numbers, one record per request, and counts those that were acknowledged."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__()
        self._where = bootstrap
        self._ended = threading.Event()
        self.acknowledged = 0

    def run(self) -> None:
        with KafkaProducer(bootstrap_servers=self._where, acks="all") as producer:
            while not self._ended.is_set():
                producer.send(TOPIC, b"%d" % self.acknowledged, partition=0).get(60)
                self.acknowledged += 1

    def end(self) -> None:
        self._ended.set()
        self.join()


@contextmanager
def writing(bootstrap: str) -> Iterator[Writer]:
    writer = Writer(bootstrap)
    writer.start()
    try:
        yield writer
    finally:
        writer.end()


def values(bootstrap: str) -> list[bytes]:
    with KafkaConsumer(
        TOPIC, bootstrap_servers=bootstrap, group_id=None, auto_offset_reset="earliest", consumer_timeout_ms=1000
    ) as consumer:
        return [record.value for record in consumer]


def assert_sound(data: Path) -> None:
    checked = subprocess.run([str(MOLDAU), "log", "verify", str(data)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def test_a_copy_of_a_halted_node_has_all_that_was_acknowledged(start_node: StartNode, tmp_path: Path) -> None:
    node = start_node()
    copy = tmp_path / "backup"
    with writing(node.bootstrap) as writer:
        wait_until(lambda: writer.acknowledged > 200)
        node.process.send_signal(signal.SIGSTOP)
        try:
            # What the node had answered by then, the writer may count only now.
            known = writer.acknowledged
            shutil.copytree(node.data, copy)
        finally:
            node.process.send_signal(signal.SIGCONT)
        wait_until(lambda: writer.acknowledged > known + 200)
    restored = NodeProcess(copy)
    try:
        found = values(restored.bootstrap)
        # Perhaps with the one whose answer was on its way, and with nothing of what came later.
        assert found == [b"%d" % number for number in range(len(found))]
        assert known <= len(found) <= known + 2
        assert restored.stop()[0] == 0
    finally:
        restored.kill()
    assert_sound(copy)
    # And the one that went on has the rest.
    assert values(node.bootstrap) == [b"%d" % number for number in range(writer.acknowledged)]
