"""Groups while their broker is killed, paused and cut off: every record is read, and what was read is remembered."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

import pytest

from moldau import KafkaConsumer, KafkaProducer, TopicPartition
from moldau.testing import Cluster, Node

PARTITIONS = 4
RECORDS = 4000
PATIENCE = 90.0


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


FAULTS: list[Callable[[Node], None]] = [killed, paused, cut_off, Node.restart, Node.disconnect]


class Reader(threading.Thread):
    def __init__(self, bootstrap: str, protocol: str) -> None:
        super().__init__()
        self.bootstrap = bootstrap
        self.protocol = protocol
        self.seen: list[tuple[int, int]] = []
        self.failure: BaseException | None = None
        self.stopping = threading.Event()

    def run(self) -> None:
        strategy = {"partition_assignment_strategy": ["cooperative-sticky"]} if self.protocol == "classic" else {}
        try:
            with KafkaConsumer(
                "rivers",
                bootstrap_servers=self.bootstrap,
                group_id="readers",
                group_protocol=self.protocol,
                auto_offset_reset="earliest",
                auto_commit_interval_ms=200,
                heartbeat_interval_ms=200,
                request_timeout_ms=5000,
                max_poll_records=50,
                **strategy,
            ) as consumer:
                while not self.stopping.is_set():
                    for records in consumer.poll(200).values():
                        self.seen += [(record.partition, record.offset) for record in records]
                        time.sleep(0.01)
        except BaseException as error:
            self.failure = error


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_nothing_is_left_out_and_the_end_is_remembered(protocol: str) -> None:
    threads = set(threading.enumerate())
    files = len(os.listdir("/proc/self/fd"))
    everything = {(number % PARTITIONS, number // PARTITIONS) for number in range(RECORDS)}
    with Cluster(proxied=True, settings={"num.partitions": str(PARTITIONS)}) as cluster:
        with KafkaProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
            for number in range(RECORDS):
                producer.send("rivers", b"x", partition=number % PARTITIONS)
        readers = [Reader(cluster.bootstrap_servers, protocol) for _ in range(2)]
        for reader in readers:
            reader.start()
        for fault in FAULTS:
            time.sleep(0.3)
            fault(cluster.nodes[0])
        deadline = time.monotonic() + PATIENCE
        while {each for reader in readers for each in reader.seen} != everything and time.monotonic() < deadline:
            time.sleep(0.05)
        for reader in readers:
            reader.stopping.set()
        for reader in readers:
            reader.join()
        assert [reader.failure for reader in readers] == [None, None]
        assert {each for reader in readers for each in reader.seen} == everything
        partitions = [TopicPartition("rivers", number) for number in range(PARTITIONS)]
        with KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id="readers") as consumer:
            assert [consumer.committed(where) for where in partitions] == [RECORDS // PARTITIONS] * PARTITIONS
    assert set(threading.enumerate()) == threads
    assert len(os.listdir("/proc/self/fd")) == files


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_who_wants_to_go_does_not_wait_for_a_broker_that_is_silent(protocol: str) -> None:
    with Cluster() as cluster:
        with KafkaProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
            producer.send("rivers", b"x")
        consumer = KafkaConsumer(
            "rivers",
            bootstrap_servers=cluster.bootstrap_servers,
            group_id="readers",
            group_protocol=protocol,
            auto_offset_reset="earliest",
            request_timeout_ms=300_000,
        )
        deadline = time.monotonic() + PATIENCE
        while not consumer.poll(200):
            assert time.monotonic() < deadline
        cluster.nodes[0].pause()
        closing = threading.Thread(target=consumer.close, kwargs={"timeout_ms": 200}, daemon=True)
        closing.start()
        closing.join(PATIENCE)
        assert not closing.is_alive()
