"""A disk that is really full: a small tmpfs. Writes are refused with KAFKA_STORAGE_ERROR, reads go on, and when there
is room again the node takes writes without anybody's help.

Needs the right to mount; where there is none the test is skipped. The simulated disk shows the same without it, see
tests/simulation/test_node_disk_failures.py.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from mortal_node import MortalNode

from moldau.client.admin.topics import NewTopic, create_topics
from moldau.client.cluster import Cluster
from moldau.client.producing import deliver, init_producer_id
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.records import BatchBuilder
from moldau.simulation.ledger import Ledger
from moldau.simulation.workload import read_back
from moldau.types import TopicPartition

SIZE = 6 << 20
FILLER = 1 << 20
WHERE = TopicPartition("t", 0)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(place)], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"a small tmpfs cannot be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=False)


class Writing:
    """One idempotent producer, one record per request."""

    def __init__(self, cluster: Cluster, ledger: Ledger) -> None:
        self._cluster = cluster
        self._ledger = ledger
        self._producer = cluster.run(init_producer_id())
        self._batch: bytes | None = None
        self._value = b""
        self._numbers = 0

    def write(self, seconds: float = 20.0) -> KafkaError | None:
        """The next record, or the one that was refused last time."""
        if self._batch is None:
            self._value = b"p:%d:" % self._numbers + b"x" * 20_000
            self._ledger.partition(WHERE).send("p", self._numbers, self._value)
            builder = BatchBuilder(1 << 20)
            builder.append(time.time_ns() // 1_000_000, None, self._value, ())
            self._batch = builder.build(
                producer_id=self._producer.id, producer_epoch=self._producer.epoch, base_sequence=self._numbers
            )
        result = self._cluster.run(deliver({WHERE: self._batch}), timeout=seconds)[WHERE]
        if isinstance(result, KafkaError):
            return result
        self._ledger.partition(WHERE).acknowledge([self._value], result)
        self._numbers += 1
        self._batch = None
        return None


def fill(writing: Writing) -> KafkaError:
    for _ in range(SIZE // 10_000):
        refusal = writing.write(seconds=1.0)
        if refusal is not None:
            return refusal
    raise AssertionError("the disk never became full")


@pytest.mark.parametrize("flush", ["9223372036854775807", "1"], ids=["buffered", "durable"])
def test_a_full_disk_refuses_writes_serves_reads_and_recovers(small_disk: Path, flush: str) -> None:
    first, second = small_disk / "filler-1", small_disk / "filler-2"
    for filler in (first, second):
        filler.write_bytes(bytes(FILLER))
    node = MortalNode(small_disk / "data", {"log.index.size.max.bytes": "8192"})
    node.log = small_disk.with_name("node.log")
    node.start()
    ledger = Ledger()
    try:
        with Cluster(node.bootstrap, timeout=30.0) as cluster:
            (created,) = cluster.run(create_topics([NewTopic("t", 1, 1, {"flush.messages": flush})]))
            assert created.error is None
            writing = Writing(cluster, ledger)
            refusal = fill(writing)
            assert refusal.code is ErrorCode.KAFKA_STORAGE_ERROR
            _, found = cluster.run(read_back(WHERE))
            ledger.partition(WHERE).check(found)
            first.unlink()
            for _ in range(20):
                assert writing.write() is None
            # Full again, and this time it dies so.
            assert fill(writing).code is ErrorCode.KAFKA_STORAGE_ERROR
            node.kill()
            second.unlink()
            node.start()
            assert writing.write() is None
            _, found = cluster.run(read_back(WHERE))
            ledger.partition(WHERE).check(found)
        assert not node.tracebacks(), node.tracebacks()
    finally:
        node.kill()
