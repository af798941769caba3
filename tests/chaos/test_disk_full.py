"""A disk that is really full: a small tmpfs. Writes are refused with KAFKA_STORAGE_ERROR, reads go on, and when there
is room again the node takes writes without anybody's help.

Needs the right to mount; where there is none the test is skipped. The simulated disk shows the same without it, see
tests/simulation/test_node_disk_failures.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import confluent_kafka
import pytest
from confluent_kafka import Consumer
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


def fill_up(path: Path) -> None:
    """Takes every page that is left."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        with suppress(OSError):
            while True:
                os.write(fd, bytes(4096))
    finally:
        os.close(fd)


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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_node_on_a_full_disk_can_be_stopped_and_started(small_disk: Path, number: int) -> None:
    filler = small_disk / "filler"
    filler.write_bytes(bytes(FILLER))
    node = MortalNode(small_disk / "data", {"log.index.size.max.bytes": "8192"})
    node.log = small_disk.with_name("node.log")
    node.start()
    ledger = Ledger()
    try:
        with Cluster(node.bootstrap, timeout=30.0) as cluster:
            (created,) = cluster.run(create_topics([NewTopic("t", 1, 1)]))
            assert created.error is None
            writing = Writing(cluster, ledger)
            fill(writing)
            fill_up(small_disk / "rest")
            node.stop(number)
            assert f"shutting down on {signal.Signals(number).name}" in node.log_tail()
            assert "could not be closed in order" in node.log_tail()
            filler.unlink()
            node.start()
            assert "was not closed in order" in node.log_tail()
            assert writing.write() is None
            _, found = cluster.run(read_back(WHERE))
            ledger.partition(WHERE).check(found)
        assert not node.tracebacks(), node.tracebacks()
    finally:
        node.kill()


def test_a_coordinator_s_partition_that_found_no_room_is_served_when_there_is(small_disk: Path) -> None:
    """Nobody has to restart anything: the group is answered as soon as its partition could be created."""
    filler = small_disk / "filler"
    filler.write_bytes(bytes(FILLER))
    metadata = small_disk.with_name("metadata")
    node = MortalNode(
        small_disk / "data",
        {
            "log.index.size.max.bytes": "8192",
            "offsets.topic.num.partitions": "1",
            "metadata.log.dir": str(metadata),
        },
    )
    node.log = small_disk.with_name("node.log")
    node.start()
    try:
        with Cluster(node.bootstrap, timeout=30.0) as cluster:
            (created,) = cluster.run(create_topics([NewTopic("t", 1, 1)]))
            assert created.error is None
        fill_up(small_disk / "rest")
        # Not a page is left, so nothing can be written into the directory of a new partition.
        consumer = Consumer(
            {"bootstrap.servers": node.bootstrap, "group.id": "g", "session.timeout.ms": 6000, "log_level": 0}
        )
        try:
            where = confluent_kafka.TopicPartition("t", 0, 5)
            with pytest.raises(confluent_kafka.KafkaException):
                consumer.commit(offsets=[where], asynchronous=False)
            filler.unlink()
            (small_disk / "rest").unlink()
            deadline = time.monotonic() + 60
            while True:
                try:
                    consumer.commit(offsets=[where], asynchronous=False)
                    break
                except confluent_kafka.KafkaException:
                    assert time.monotonic() < deadline, node.log_tail()
            (committed,) = consumer.committed([where], timeout=20)
            assert committed.offset == 5
        finally:
            consumer.close()
        assert not node.tracebacks(), node.tracebacks()
    finally:
        node.kill()
