"""A topic that dies and is born again under its name; each life begins at offset 0, with nothing of the ones before.

A life is written down in the checkpoints, then the topic is deleted and created anew, some records are written, and the
node is killed before the next checkpoint: what was written of the old life must not count for the new one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from random import Random

from moldau.client.admin.offsets import delete_records
from moldau.client.admin.topics import NewTopic, create_topics, delete_topics
from moldau.client.cluster import Cluster
from moldau.client.producing import deliver, init_producer_id
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.records import BatchBuilder
from moldau.simulation.ledger import Ledger
from moldau.simulation.workload import read_back
from moldau.types import TopicPartition

WHERE = TopicPartition("reborn", 0)
COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
# Longer than the intervals in which the node under test writes its checkpoints.
WRITTEN_DOWN_SECONDS = 0.5


class Reborn:
    def __init__(self, random: Random, cluster: Callable[[], AbstractContextManager[Cluster]]) -> None:
        self._random = random
        self._cluster = cluster
        self._ledger: Ledger | None = None
        self._compacted = False
        self._lives = 0

    def live(self) -> None:
        """The end of one life and the beginning of the next; the node is to die right after it."""
        with self._cluster() as cluster:
            if self._ledger is not None:
                self._read(cluster)
                self._leave_traces(cluster)
                self._ledger = None
                (gone,) = cluster.run(delete_topics([WHERE.topic]))
                assert gone.error is None or gone.error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, gone
            self._compacted = self._random.random() < 0.5
            configs = {"internal.segment.bytes": "3000", **(COMPACTED if self._compacted else {})}
            (created,) = cluster.run(create_topics([NewTopic(WHERE.topic, 1, 1, configs)]))
            assert created.error is None, created
        self._lives += 1
        self._ledger = Ledger()
        # A client that has never heard of the topic: it has another id now.
        with self._cluster() as cluster:
            self._write(cluster, self._ledger, self._random.randrange(3, 30))

    def check(self) -> None:
        if self._ledger is not None:
            with self._cluster() as cluster:
                self._read(cluster)

    def _write(self, cluster: Cluster, ledger: Ledger, count: int) -> None:
        producer = cluster.run(init_producer_id())
        for number in range(count):
            value = f"life-{self._lives}:{number}:".encode() + b"x" * self._random.randrange(300)
            key = b"key-%d" % (number % 3)
            ledger.partition(WHERE).send(f"life-{self._lives}", number, value, key)
            builder = BatchBuilder(1 << 20)
            builder.append(time.time_ns() // 1_000_000, key, value, ())
            batch = builder.build(producer_id=producer.id, producer_epoch=producer.epoch, base_sequence=number)
            result = cluster.run(deliver({WHERE: batch}))[WHERE]
            assert not isinstance(result, KafkaError), result
            ledger.partition(WHERE).acknowledge([value], result)

    def _leave_traces(self, cluster: Cluster) -> None:
        """Something for the checkpoints to say: a start in the middle, or an offset up to which it is compacted."""
        assert self._ledger is not None
        if not self._compacted:
            last = max(self._ledger.partition(WHERE).acknowledged.values())
            result = cluster.run(delete_records({WHERE: last}))[WHERE]
            assert not isinstance(result, KafkaError), result
        time.sleep(WRITTEN_DOWN_SECONDS)

    def _read(self, cluster: Cluster) -> None:
        assert self._ledger is not None
        start, found = cluster.run(read_back(WHERE))
        account = self._ledger.partition(WHERE)
        if self._compacted:
            account.check_compacted(found)
        else:
            assert start == 0, f"life {self._lives} begins at {start}"
            account.check(found)
