"""Nodes stopped in order and started again, one after the other: clients with default retries notice nothing.

Each client writes to a topic of its own all the while, and reads it in a group that commits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import confluent_kafka
import kafka
import pytest
from patience import PATIENCE, wait_until

import moldau
from moldau.client.admin import list_topics
from moldau.client.admin.topics import NewTopic, create_topics
from moldau.client.cluster import Cluster as Client
from moldau.testing import Cluster

CLIENTS = ("confluent-kafka", "kafka-python", "moldau")
PARTITIONS, EVERY = 3, 50
# So many more records are acknowledged, and read, before the next node is stopped.
PROGRESS = 100
PAUSE = 0.005


class Work:
    """What one client was told: every failure counts, also one that came with a retriable code."""

    def __init__(self, client: str, bootstrap: str) -> None:
        self.client = client
        self.topic = f"rolling-{client}"
        self.bootstrap = bootstrap
        self.failures: list[str] = []
        self.acknowledged: set[bytes] = set()
        self.read: set[bytes] = set()
        self.ended = threading.Event()
        self.seen = threading.Event()
        write, read = {
            "confluent-kafka": (self._write_confluent, self._read_confluent),
            "kafka-python": (lambda: self._write(kafka.KafkaProducer), lambda: self._read(kafka.KafkaConsumer)),
            "moldau": (lambda: self._write(moldau.KafkaProducer), lambda: self._read(moldau.KafkaConsumer)),
        }[client]
        self._threads = [threading.Thread(target=self._guarded, args=(work,)) for work in (write, read)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Writes no more; what was acknowledged is read to the end."""
        self.ended.set()
        self._threads[0].join(PATIENCE)
        try:
            wait_until(lambda: self.acknowledged <= self.read or bool(self.failures), f"{self.client} reads everything")
        finally:
            self.seen.set()
            self._threads[1].join(PATIENCE)

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            self.failures.append(repr(error))

    def _values(self) -> Iterator[bytes]:
        number = 0
        while not self.ended.wait(PAUSE):
            yield b"%d" % number
            number += 1

    def _write_confluent(self) -> None:
        producer = confluent_kafka.Producer({"bootstrap.servers": self.bootstrap, "log_level": 0})

        def delivered(error: Any, message: Any) -> None:
            if error is None:
                self.acknowledged.add(message.value())
            else:
                self.failures.append(str(error))

        for value in self._values():
            producer.produce(self.topic, value, on_delivery=delivered)
            producer.poll(0)
        producer.flush(PATIENCE)

    def _read_confluent(self) -> None:
        settings = {"bootstrap.servers": self.bootstrap, "group.id": self.topic, "auto.offset.reset": "earliest"}
        consumer = confluent_kafka.Consumer({**settings, "log_level": 0})
        consumer.subscribe([self.topic])
        while not self.seen.is_set():
            message = consumer.poll(0.2)
            if message is None:
                continue
            if message.error() is not None:
                self.failures.append(str(message.error()))
                continue
            self.read.add(message.value())
            if len(self.read) % EVERY == 0:
                consumer.commit(asynchronous=False)
        consumer.close()

    def _write(self, make: Any) -> None:
        producer = make(bootstrap_servers=self.bootstrap.split(","))
        for value in self._values():
            sent = producer.send(self.topic, value)
            sent.add_callback(lambda _, value=value: self.acknowledged.add(value))
            sent.add_errback(lambda error: self.failures.append(repr(error)))
        producer.flush(PATIENCE)
        producer.close()

    def _read(self, make: Any) -> None:
        consumer = make(
            self.topic,
            bootstrap_servers=self.bootstrap.split(","),
            group_id=self.topic,
            auto_offset_reset="earliest",
        )
        committed = 0
        while not self.seen.is_set():
            for records in consumer.poll(200).values():
                self.read.update(record.value for record in records)
            if len(self.read) - committed >= EVERY:
                consumer.commit()
                committed = len(self.read)
        consumer.close()


@pytest.mark.long
def test_nobody_notices_a_rolling_restart() -> None:
    # As a server has it: one that is stopped says so, and is not missed for its silence.
    settings = {"broker.session.timeout.ms": "9000", "broker.heartbeat.interval.ms": "2000"}
    with Cluster(3, settings=settings) as cluster:
        work = [Work(client, cluster.bootstrap_servers) for client in CLIENTS]
        with Client(cluster.bootstrap_servers, timeout=PATIENCE) as client:
            topics = [NewTopic(each.topic, PARTITIONS, 3, {"min.insync.replicas": "2"}) for each in work]
            assert all(created.error is None for created in client.run(create_topics(topics)))

            def is_whole() -> bool:
                found = client.run(list_topics(internal=True))
                return all(len(p.isr) == len(p.replicas) for topic in found for p in topic.partitions.values())

            for each in work:
                each.start()
            try:
                for node in cluster.nodes:
                    before = [(len(each.acknowledged), len(each.read)) for each in work]

                    def goes_on(before: list[tuple[int, int]] = before) -> bool:
                        return any(each.failures for each in work) or all(
                            len(each.acknowledged) >= written + PROGRESS and len(each.read) >= read + PROGRESS
                            for each, (written, read) in zip(work, before, strict=True)
                        )

                    wait_until(goes_on, "everybody writes and reads")
                    node.restart()
                    wait_until(is_whole, "its replicas are in sync again")
            finally:
                for each in work:
                    each.end()
    assert {each.client: each.failures for each in work} == {client: [] for client in CLIENTS}
    assert all(each.acknowledged and each.acknowledged <= each.read for each in work)
