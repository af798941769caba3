"""Our clients while their broker is killed, restarted, paused and cut off: nothing lost, repeated or reordered."""

from __future__ import annotations

import gc
import os
import random
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from java_tools import ApacheKafka, KafkaTools, find_libs

from moldau import KafkaConsumer, KafkaProducer, TopicPartition
from moldau.client.producer.delivery import FutureRecordMetadata
from moldau.testing import Cluster, Node
from moldau.testing.proxy import Proxy

PARTITIONS = 3
RECORDS = 30_000
PATIENCE = 60.0
LONG_SECONDS = float(os.environ.get("MOLDAU_FAULT_SECONDS", "600"))


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
    node.heal()


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


class Ledger:
    """What was sent and what came back. Values are numbers that count up per partition, so that order, gaps and repeats
    show at once and nothing has to be kept."""

    def __init__(self) -> None:
        self.sent = [0] * PARTITIONS
        self.acknowledged = [0] * PARTITIONS
        self.read = [0] * PARTITIONS
        self.wrong: list[str] = []

    def heard(self, partition: int, values: list[int]) -> None:
        expected = list(range(self.read[partition], self.read[partition] + len(values)))
        if values != expected and len(self.wrong) < 10:
            at = next(index for index, value in enumerate(values) if value != expected[index])
            self.wrong.append(f"partition {partition}: {values[at]} came where {expected[at]} was next")
        self.read[partition] = values[-1] + 1


def produce(bootstrap: str, topic: str, ledger: Ledger, enough: Callable[[int], bool]) -> None:
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        waiting: deque[FutureRecordMetadata] = deque()
        number = 0
        while not enough(number):
            partition = number % PARTITIONS
            waiting.append(producer.send(topic, b"%d" % ledger.sent[partition], partition=partition))
            ledger.sent[partition] += 1
            number += 1
            if number % 500 == 0:
                time.sleep(0.05)
            while waiting and waiting[0].is_done:
                acknowledge(waiting.popleft(), ledger)
        producer.flush(PATIENCE)
        for future in waiting:
            acknowledge(future, ledger)


def acknowledge(future: FutureRecordMetadata, ledger: Ledger) -> None:
    """The offset of a record is its number, because nobody else writes: a repeat would move all that follow."""
    metadata = future.get(0)
    assert metadata.offset == ledger.acknowledged[metadata.partition]
    ledger.acknowledged[metadata.partition] += 1


def consume(bootstrap: str, topic: str, ledger: Ledger, written: threading.Event) -> None:
    with KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, partition) for partition in range(PARTITIONS)])
        deadline = time.monotonic() + 2 * PATIENCE
        while not (written.is_set() and ledger.read == ledger.sent) and time.monotonic() < deadline:
            for where, records in consumer.poll(500).items():
                deadline = time.monotonic() + 2 * PATIENCE
                ledger.heard(where.partition, [int(record.value) for record in records])
        # And nothing comes after the last one.
        for where, records in consumer.poll(300).items():
            ledger.heard(where.partition, [int(record.value) for record in records])


@pytest.mark.parametrize("fault", [*FAULTS, "everything"])
def test_nothing_is_lost_repeated_or_reordered(cluster: Cluster, fault: str) -> None:
    faults = list(FAULTS.values()) if fault == "everything" else [FAULTS[fault]]
    survive(cluster, faults, lambda number: number >= RECORDS)


@pytest.mark.long
def test_ten_minutes_of_everything_leave_nothing_behind(cluster: Cluster) -> None:
    faults = list(FAULTS.values()) * 3
    random.Random(10).shuffle(faults)
    # A first short round: what is imported, compiled and pooled once is there before anything is counted.
    survive(cluster, faults[:2], lambda number: number >= RECORDS // 10, "before")
    threads, descriptors, memory, living = left_over()
    until = time.monotonic() + LONG_SECONDS
    counted = survive(cluster, faults, lambda _number: time.monotonic() >= until)
    assert counted > LONG_SECONDS * 500
    after = left_over()
    assert after[0] == threads
    assert after[1] == descriptors
    # The interpreter's own allocator keeps some; a client that kept its records would keep hundreds of MB.
    assert after[2] - memory < 32
    assert after[3] == living


class KafkaNode:
    """Apache Kafka, with as much done to it as to a node of ours."""

    def __init__(self, kafka: ApacheKafka, proxy: Proxy) -> None:
        self._kafka = kafka
        self.cut_off, self.heal, self._drop = proxy.hold, proxy.release, proxy.drop
        self.kill, self.start = kafka.kill, kafka.start

    def restart(self) -> None:
        self._kafka.stop()
        self._kafka.start()

    def disconnect_all(self) -> None:
        self._drop()

    def pause(self) -> None:
        self._kafka.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._kafka.process.send_signal(signal.SIGCONT)


class KafkaCluster:
    def __init__(self, libs: Path, directory: Path) -> None:
        self.proxy = Proxy()
        self.bootstrap_servers = f"127.0.0.1:{self.proxy.port}"
        settings = {
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap_servers}",
            "num.partitions": str(PARTITIONS),
        }
        self.kafka = ApacheKafka(KafkaTools(libs), directory / "data", settings)
        self.kafka.format("faultsfaultsfaultsfaul")
        self.kafka.start()
        self.proxy.lead_to("127.0.0.1", int(self.kafka.bootstrap.rsplit(":", 1)[1]))
        self.nodes = [KafkaNode(self.kafka, self.proxy)]

    def close(self) -> None:
        self.kafka.kill()
        self.proxy.close()


@pytest.mark.long
@pytest.mark.kafka
def test_nothing_is_lost_repeated_or_reordered_with_apache_kafka(tmp_path: Path) -> None:
    libs = find_libs()
    if isinstance(libs, str):
        pytest.skip(libs)
    cluster = KafkaCluster(libs, tmp_path)
    try:
        faults: Any = [cut_off, KafkaNode.disconnect_all, paused, killed, KafkaNode.restart]
        until = time.monotonic() + 60
        survive(cluster, faults, lambda _number: time.monotonic() >= until)  # type: ignore[arg-type]
    finally:
        cluster.close()


def left_over() -> tuple[set[threading.Thread], int, float, Counter[str]]:
    """Threads, descriptors, MB and the clients' objects in this process, once what is garbage is gone."""
    gc.collect()
    kinds = (type(each) for each in gc.get_objects())
    living = Counter(kind.__qualname__ for kind in kinds if str(kind.__module__).startswith("moldau.client."))
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return set(threading.enumerate()), len(os.listdir("/proc/self/fd")), resident / 1_000_000, living


def survive(
    cluster: Cluster, faults: list[Callable[[Node], None]], enough: Callable[[int], bool], topic: str = "rivers"
) -> int:
    """How many records made it: all of them, or it fails."""
    bootstrap = cluster.bootstrap_servers
    ledger = Ledger()
    failures: list[BaseException] = []
    written, over = threading.Event(), threading.Event()

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
        first.partitions_for(topic)
    reader = guarded(lambda: consume(bootstrap, topic, ledger, written))
    writer = guarded(lambda: produce(bootstrap, topic, ledger, enough))
    unrest = guarded(lambda: trouble(cluster.nodes[0], faults, over))
    writer.join()
    written.set()
    reader.join()
    over.set()
    unrest.join()
    assert not failures
    assert not ledger.wrong
    assert ledger.acknowledged == ledger.sent
    assert ledger.read == ledger.sent
    return sum(ledger.read)
