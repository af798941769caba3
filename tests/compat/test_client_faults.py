"""Our clients while their broker is killed, restarted, paused and cut off: nothing lost, repeated or reordered."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from moldau import KafkaConsumer, KafkaProducer, TopicPartition
from moldau.testing import Cluster, Node

PARTITIONS = 3
RECORDS = 30_000
PATIENCE = 60.0


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(proxied=True, settings={"num.partitions": str(PARTITIONS)}) as cluster:
        yield cluster


def killed(node: Node) -> None:
    node.kill()
    node.start()


def paused(node: Node) -> None:
    node.pause()
    time.sleep(0.3)
    node.resume()


def cut_off(node: Node) -> None:
    node.cut_off()
    time.sleep(0.3)
    node.reconnect()


FAULTS: dict[str, Callable[[Node], None]] = {
    "killed": killed,
    "restarted": Node.restart,
    "paused": paused,
    "cut off": cut_off,
    "disconnected": Node.disconnect,
}


def trouble(node: Node, faults: list[Callable[[Node], None]], over: threading.Event) -> None:
    """One fault after the other until the clients are through."""
    while not over.is_set():
        for fault in faults:
            if over.wait(0.4):
                return
            fault(node)


def produce(bootstrap: str, topic: str, count: int, sent: dict[int, list[bytes]]) -> None:
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        futures = []
        for number in range(count):
            partition = number % PARTITIONS
            value = b"%d" % number
            futures.append(producer.send(topic, value, partition=partition))
            sent[partition].append(value)
            if number % 500 == 0:
                time.sleep(0.05)
        producer.flush(PATIENCE)
        for future in futures:
            future.get(0)


def consume(bootstrap: str, topic: str, count: int) -> dict[int, list[bytes]]:
    received: dict[int, list[bytes]] = {partition: [] for partition in range(PARTITIONS)}
    with KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, partition) for partition in received])
        deadline = time.monotonic() + 2 * PATIENCE
        while sum(map(len, received.values())) < count and time.monotonic() < deadline:
            for where, records in consumer.poll(500).items():
                deadline = time.monotonic() + 2 * PATIENCE
                received[where.partition] += [record.value for record in records]
    return received


@pytest.mark.parametrize("fault", [*FAULTS, "everything"])
def test_nothing_is_lost_repeated_or_reordered(cluster: Cluster, fault: str) -> None:
    survive(cluster, list(FAULTS.values()) if fault == "everything" else [FAULTS[fault]], RECORDS)


@pytest.mark.long
def test_ten_minutes_of_everything(cluster: Cluster) -> None:
    faults = list(FAULTS.values()) * 3
    random.Random(10).shuffle(faults)
    survive(cluster, faults, 100 * RECORDS)


def survive(cluster: Cluster, faults: list[Callable[[Node], None]], count: int) -> None:
    bootstrap = cluster.bootstrap_servers
    sent: dict[int, list[bytes]] = {partition: [] for partition in range(PARTITIONS)}
    received: dict[int, list[bytes]] = {}
    failures: list[BaseException] = []
    over = threading.Event()

    def guarded(work: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                work()
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    with KafkaProducer(bootstrap_servers=bootstrap) as first:
        first.partitions_for("rivers")
    reader = guarded(lambda: received.update(consume(bootstrap, "rivers", count)))
    writer = guarded(lambda: produce(bootstrap, "rivers", count, sent))
    unrest = guarded(lambda: trouble(cluster.nodes[0], faults, over))
    writer.join()
    reader.join()
    over.set()
    unrest.join()
    assert not failures
    assert received == sent
