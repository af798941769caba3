"""kill -9 at random moments, again and again, while producers of several kinds write: the crash test.

Topics of every kind there is: plain ones that only grow and roll, a compacted one, one with a small retention, one from
whose beginning records are deleted, a durable one, and one that is deleted and created again under its name all the
time. After some rounds the producers stop for a moment and everything is read back. What must hold is said in
`moldau.simulation.ledger`: nothing acknowledged is lost, nothing is there twice, nothing out of order, nothing that was
never sent. For the compacted topic it is the newest value of every key that must be there, for those that delete their
beginning everything from their start on.

`MOLDAU_SEED=n` repeats the choices of a run (not its timing); the seed is printed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest
from mortal_node import MortalNode
from reborn_topic import Reborn
from writers import ConfluentWriter, OwnWriter, Writer

from moldau.client.admin.offsets import delete_records
from moldau.client.admin.topics import NewTopic, create_topics
from moldau.client.cluster import Cluster
from moldau.errors import KafkaError
from moldau.simulation.ledger import Ledger
from moldau.simulation.workload import read_back
from moldau.types import TopicPartition

SETTINGS = {
    "log.retention.check.interval.ms": "300",
    "log.cleaner.backoff.ms": "200",
    "log.flush.offset.checkpoint.interval.ms": "300",
    "log.flush.start.offset.checkpoint.interval.ms": "300",
    "log.segment.delete.delay.ms": "500",
    "log.index.size.max.bytes": "65536",
    "metadata.log.max.record.bytes.between.snapshots": "4000",
}
SMALL = {"internal.segment.bytes": "60000"}
PLAIN, COMPACTED, RETAINED, SHORTENED, DURABLE = "plain", "compacted", "retained", "shortened", "durable"
TOPICS: Mapping[str, tuple[int, dict[str, str]]] = {
    PLAIN: (3, SMALL),
    COMPACTED: (2, {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", **SMALL}),
    RETAINED: (1, {"retention.bytes": "250000", **SMALL}),
    SHORTENED: (1, SMALL),
    DURABLE: (1, {"flush.messages": "1", **SMALL}),
}


class Crashes:
    def __init__(self, data: Path, seed: int) -> None:
        self.node = MortalNode(data, SETTINGS)
        self.ledger = Ledger()
        self.random = Random(seed)
        self._writers: list[Writer] = []
        self._seed = seed
        self._deleted_up_to = 0
        self._reborn = Reborn(self.random, self._cluster)

    def begin(self) -> None:
        self.node.start()
        with self._cluster() as cluster:
            topics = [NewTopic(name, count, 1, configs) for name, (count, configs) in TOPICS.items()]
            for created in cluster.run(create_topics(topics)):
                assert created.error is None, created
        every = [TopicPartition(name, index) for name, (count, _) in TOPICS.items() for index in range(count)]
        keyed = [where for where in every if where.topic == COMPACTED]
        plain = [where for where in every if where.topic != COMPACTED]
        options = {"ledger": self.ledger, "seed": self._seed}
        self._writers = [
            ConfluentWriter(self.node.bootstrap, "lz4", "confluent-lz4", plain, **options),
            ConfluentWriter(self.node.bootstrap, "zstd", "confluent-zstd", keyed, keys=40, **options),
            OwnWriter(self.node.address, "own", plain, **options),
            OwnWriter(self.node.address, "own-keyed", keyed, keys=40, **options),
        ]
        for writer in self._writers:
            writer.start()

    def round(self, longest: float) -> None:
        """Some time of writing, then death and a new life; now and then a pause before it."""
        time.sleep(self.random.uniform(0.01, longest))
        match self.random.randrange(10):
            case 0:
                self.node.pause()
                time.sleep(self.random.uniform(0.05, 0.6))
                self.node.resume()
            case 1:
                self.node.pause()  # and never wakes again
                self.node.kill()
                self.node.start()
                return
            case 2 | 3:
                self._delete_records()
            case 4:
                self.node.stop()
                self.node.start()
        if self.node.is_running and self.random.random() < 0.7:
            self._reborn.live()
        self.node.kill()
        self.node.start()

    def verify(self) -> None:
        """Lets the writers come to rest and reads everything."""
        for writer in self._writers:
            writer.hold()
        for writer in self._writers:
            writer.wait_quiet()
        self._reborn.check()
        with self._cluster() as cluster:
            for where, account in self.ledger.partitions.items():
                # A durable log shows what it recovered once it is forced to disk again.
                end = max(account.acknowledged.values(), default=-1)
                deadline = time.monotonic() + 30
                while True:
                    start, found = cluster.run(read_back(where))
                    if (found and found[-1].offset >= end) or time.monotonic() > deadline:
                        break
                if where.topic == COMPACTED:
                    account.check_compacted(found)
                elif where.topic in (RETAINED, SHORTENED):
                    assert where.topic != SHORTENED or start <= self._deleted_up_to
                    account.check_suffix(found, start)
                else:
                    assert start == 0, f"{where} begins at {start}"
                    account.check(found)
        for writer in self._writers:
            writer.go_on()

    def end(self) -> None:
        self.node.kill()
        for writer in self._writers:
            writer._finished = True
            writer.go_on()

    def _delete_records(self) -> None:
        where = TopicPartition(SHORTENED, 0)
        acknowledged = self.ledger.partition(where).acknowledged
        if not acknowledged:
            return
        self._deleted_up_to = max(acknowledged.values()) // 2
        with self._cluster() as cluster:
            result = cluster.run(delete_records({where: self._deleted_up_to}))[where]
            assert isinstance(result, KafkaError) or result >= self._deleted_up_to, result

    @contextmanager
    def _cluster(self) -> Iterator[Cluster]:
        with Cluster(self.node.bootstrap, client_id="chaos", timeout=60.0) as cluster:
            yield cluster


def crash(data: Path, rounds: int, *, longest: float, between_checks: int, tell: Callable[[str], None]) -> None:
    seed = int(os.environ.get("MOLDAU_SEED", str(time.time_ns() % 1_000_000)))
    tell(f"{rounds} rounds of kill -9, MOLDAU_SEED={seed}")
    crashes = Crashes(data, seed)
    began = time.monotonic()
    try:
        crashes.begin()
        for number in range(1, rounds + 1):
            crashes.round(longest)
            if number % between_checks == 0 or number == rounds:
                crashes.verify()
                tell(
                    f"round {number} of {rounds}: {crashes.ledger.acknowledged} records acknowledged and found, "
                    f"slowest start {crashes.node.slowest_start:.2f} s, {time.monotonic() - began:.0f} s"
                )
        assert crashes.ledger.acknowledged > 0
        assert not crashes.node.tracebacks(), crashes.node.tracebacks()
    except BaseException as error:
        error.add_note(f"MOLDAU_SEED={seed}; the end of the node's log:\n{crashes.node.log_tail()}")
        raise
    finally:
        crashes.end()


def test_a_few_kills(tmp_path: Path) -> None:
    # Quiet: the seed is in the note of a failure.
    crash(tmp_path / "data", 7, longest=0.8, between_checks=4, tell=lambda _: None)


@pytest.mark.long
def test_hundreds_of_kills(tmp_path: Path, tell: Callable[[str], None]) -> None:
    crash(tmp_path / "data", 250, longest=1.5, between_checks=10, tell=tell)
