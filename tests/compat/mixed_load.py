"""Writers that know what was acknowledged to them and readers that check it, while nodes of a cluster come and go."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from mixed_cluster import MixedCluster
from patience import PATIENCE, wait_until


class Writer:
    """Numbers for every partition in turn, idempotent and with acks=all, until the block is left.

    `acknowledged` has the numbers of each partition as they were acknowledged, `failures` whatever was not.
    """

    def __init__(self, cluster: MixedCluster, topic: str, partitions: int) -> None:
        self._topic = topic
        self._partitions = partitions
        self.acknowledged: dict[int, list[int]] = {number: [] for number in range(partitions)}
        self.failures: list[str] = []
        settings = {"bootstrap.servers": cluster.bootstrap, "acks": "all", "enable.idempotence": True, "linger.ms": 5}
        self._producer = Producer({**settings, "message.timeout.ms": int(PATIENCE * 1000), "log_level": 2})
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._write)

    def __enter__(self) -> Writer:
        self._thread.start()
        self.progress()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    @property
    def count(self) -> int:
        return sum(map(len, self.acknowledged.values()))

    def progress(self) -> None:
        """Waits until every partition has acknowledged something new."""
        before = {number: len(values) for number, values in self.acknowledged.items()}
        wait_until(
            lambda: all(len(values) > before[number] for number, values in self.acknowledged.items()),
            "records are acknowledged in every partition",
        )

    def _write(self) -> None:
        number = 0
        while not self._done.is_set():
            self._producer.produce(
                self._topic, b"%d" % number, partition=number % self._partitions, on_delivery=self._delivered
            )
            self._producer.poll(0.002)
            number += 1
        self._producer.flush(PATIENCE)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failures.append(str(error))
        else:
            partition, value = message.partition(), message.value()
            assert partition is not None
            assert value is not None
            self.acknowledged[partition].append(int(value))


def read_all(cluster: MixedCluster, topic: str, partitions: int) -> dict[int, list[bytes]]:
    """What a reader of committed transactions finds, from the beginning to the end."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": f"all-of-{topic}",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 2,
        }
    )
    found: dict[int, list[bytes]] = {number: [] for number in range(partitions)}
    ended: set[int] = set()
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    deadline = time.monotonic() + PATIENCE
    try:
        while len(ended) < partitions:
            assert time.monotonic() < deadline, f"the end of {topic} was not reached: {ended}"
            message = consumer.poll(1.0)
            if message is None:
                continue
            partition, error = message.partition(), message.error()
            assert partition is not None
            if error is not None and error.code() == KafkaError._PARTITION_EOF:
                ended.add(partition)
            elif error is None:
                value = message.value()
                assert value is not None
                found[partition].append(value)
    finally:
        consumer.close()
    return found


def check(cluster: MixedCluster, topic: str, writer: Writer) -> None:
    """Nothing acknowledged is lost, nothing is there twice, and all of it is in order."""
    assert writer.failures == []
    read = read_all(cluster, topic, len(writer.acknowledged))
    for partition, values in read.items():
        assert [int(value) for value in values] == writer.acknowledged[partition], f"{topic}-{partition}"


def write_transactions(cluster: MixedCluster, name: str, topic: str, numbers: range, commit: bool = True) -> None:
    """Each number in a transaction of its own, tried again until it is decided."""
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "transactional.id": name,
            "transaction.timeout.ms": 60000,
            "log_level": 2,
        }
    )
    retried(lambda: producer.init_transactions(30))
    for number in numbers:
        retried(producer.begin_transaction)
        producer.produce(topic, f"{name} {number}".encode(), partition=number % 3)
        producer.flush(PATIENCE)
        retried(lambda: producer.commit_transaction(30) if commit else producer.abort_transaction(30))


def retried(step: Callable[[], None]) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            step()
            return
        except KafkaException as error:
            reason = error.args[0]
            if not (isinstance(reason, KafkaError) and reason.retriable()) or time.monotonic() > deadline:
                raise


# ----------------------------------------------------------------------------------------------------------- replicas


def segments(data: Path, partition: str) -> bytes:
    return b"".join(path.read_bytes() for path in sorted((data / partition).glob("*.log")))


def wait_for_equal_replicas(cluster: MixedCluster, topic: str, partitions: int, brokers: list[int]) -> None:
    """Byte for byte, whoever wrote the file."""
    for number in range(partitions):
        name = f"{topic}-{number}"

        def are_equal(name: str = name) -> bool:
            first, *others = (segments(cluster[broker].data, name) for broker in brokers)
            return len(first) > 0 and all(other == first for other in others)

        wait_until(are_equal, f"the replicas of {name} on {brokers} are equal", 30)
