"""Exactly once: a consume-transform-produce loop is killed together with its broker, again and again.

Whatever happened in between, the output has every value of the input once, in order, for a reader of committed records.
"""

from __future__ import annotations

import random
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import confluent_kafka
import pytest
from node_process import NodeProcess, StartNode
from test_transactions_clients import fixed_port
from transactional_clients import SECONDS, create_topic, read_topic

WORKER = Path(__file__).parent / "transaction_worker.py"
PARTITIONS = 3
RECORDS_PER_ROUND = 150
ROUND_SECONDS = 60.0


class Worker:
    """The loop; started again whenever it gave up by itself."""

    def __init__(self, kind: str, bootstrap: str, log: Path) -> None:
        self._command = [sys.executable, str(WORKER), kind, bootstrap, "in", "out"]
        self._log = log
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            return subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=log)

    @property
    def _output(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    def wait_for_a_transaction(self, deadline: float) -> None:
        while True:
            assert time.monotonic() < deadline, f"no transaction was completed\n{self._log.read_text()[-3000:]}"
            if self.process.poll() is not None:
                self.restart()
            readable, _, _ = select.select([self._output], [], [], 0.2)
            if readable and self._output.readline():
                return

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._output.close()

    def restart(self) -> None:
        self.kill()
        self.process = self._start()


def produce(bootstrap: str, numbers: range) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0})
    failures: list[object] = []
    for number in numbers:
        producer.produce(
            "in",
            b"%d" % number,
            partition=number % PARTITIONS,
            on_delivery=lambda error, _: error is None or failures.append(error),
        )
    assert producer.flush(SECONDS) == 0
    assert failures == []


def run_loop(kind: str, node: NodeProcess, kills: int, seed: int, log: Path) -> None:
    chance = random.Random(seed)
    create_topic(node.bootstrap, "in", PARTITIONS)
    create_topic(node.bootstrap, "out", PARTITIONS)
    worker = Worker(kind, node.bootstrap, log)
    total = 0
    try:
        for _ in range(kills):
            produce(node.bootstrap, range(total, total + RECORDS_PER_ROUND))
            total += RECORDS_PER_ROUND
            worker.wait_for_a_transaction(time.monotonic() + ROUND_SECONDS)
            time.sleep(chance.random() * 0.15)
            # Sometimes only one of the two; in which order decides who finds what half done.
            who = chance.choice(["both", "both", "broker", "worker"])
            if who != "broker":
                worker.kill()
            if who != "worker":
                node.kill()
                node.restart()
            if who != "broker":
                worker.restart()
        deadline = time.monotonic() + ROUND_SECONDS
        while len(seen := read_topic(node.bootstrap, "out", PARTITIONS)) < total:
            assert time.monotonic() < deadline, f"{len(seen)} of {total} came\n{log.read_text()[-3000:]}"
            if worker.process.poll() is not None:
                worker.restart()
            time.sleep(0.2)
    finally:
        worker.kill()
    check(seen, total)


def check(seen: list[bytes], total: int) -> None:
    numbers = [int(value) for value in seen]
    assert len(numbers) == len(set(numbers)), "no value comes twice"
    assert sorted(numbers) == list(range(total)), "no value is lost"
    for partition in range(PARTITIONS):
        of_partition = [number for number in numbers if number % PARTITIONS == partition]
        assert of_partition == sorted(of_partition), "the order is kept"


@pytest.mark.parametrize("kind", ["confluent-kafka", "aiokafka"])
def test_exactly_once_with_kills(kind: str, start_node: StartNode, tmp_path: Path) -> None:
    run_loop(kind, start_node(fixed_port()), kills=3, seed=1, log=tmp_path / "worker.log")


@pytest.mark.long
@pytest.mark.parametrize("kind", ["confluent-kafka", "aiokafka"])
def test_exactly_once_with_fifty_kills(kind: str, start_node: StartNode, tmp_path: Path) -> None:
    run_loop(kind, start_node(fixed_port()), kills=50, seed=2, log=tmp_path / "worker.log")
