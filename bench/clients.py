"""Programs we did not write as a load: confluent-kafka and kcat. With a whole client in the way, what does one see?"""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition

PARTITIONS = 12
# A mock broker keeps 5 MB of a partition, so a consumer can be given only so many bytes and reads them again.
KEPT_BYTES = 3_500_000 * PARTITIONS


def kept(size: int) -> int:
    """How many records of this size everybody still has after the last was written."""
    return KEPT_BYTES // (size + 20) // PARTITIONS * PARTITIONS


def produce(bootstrap: str, topic: str, count: int, size: int) -> float:
    """Records per second, from the first send to the last acknowledgement."""
    producer = Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 5, "queue.buffering.max.messages": 1_000_000, "log_level": 0}
    )
    failed: list[KafkaError] = []
    producer.list_topics(topic, timeout=10)
    started = time.perf_counter()
    _send(producer, topic, count, b"x" * size, failed)
    seconds = time.perf_counter() - started
    if failed:
        raise KafkaException(failed[0])
    return count / seconds


def _send(producer: Producer, topic: str, count: int, value: bytes, failed: list[KafkaError]) -> None:
    def delivered(error: KafkaError | None, _message: object) -> None:
        if error is not None:
            failed.append(error)

    for number in range(count):
        while True:
            try:
                producer.produce(topic, value, partition=number % PARTITIONS, on_delivery=delivered)
                break
            except BufferError:
                producer.poll(0.01)
        if number % 10_000 == 0:
            producer.poll(0)
    if producer.flush(60):
        raise TimeoutError("not every record was acknowledged")


def consume(bootstrap: str, topic: str, count: int, size: int, there: int) -> float:
    """Records per second, over as many passes through `there` records as make up about `count` of them."""
    produce(bootstrap, topic, there, size)
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bench",
            "enable.auto.commit": False,
            "fetch.queue.backoff.ms": 1,  # at its default of a second this client stalls, with every broker
            "log_level": 0,
        }
    )
    seconds, counted = 0.0, 0
    try:
        while counted < count:
            consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(PARTITIONS)])
            took, more = _read_once(consumer, there)
            seconds, counted = seconds + took, counted + more
    finally:
        consumer.close()
    return counted / seconds


def _read_once(consumer: Consumer, there: int) -> tuple[float, int]:
    """One pass through the topic, timed from the first records on: finding the offsets is not what is measured."""
    left = there - _take(consumer, 1000)
    to_come = left
    started = time.perf_counter()
    while left:
        left -= _take(consumer, min(left, 10_000))
    return time.perf_counter() - started, to_come


def _take(consumer: Consumer, most: int) -> int:
    found = consumer.consume(most, 10.0)
    if not found:
        raise TimeoutError("no records came for 10 s")
    return sum(1 for message in found if message.error() is None)


def has_kcat() -> bool:
    return shutil.which("kcat") is not None


def kcat_produce(bootstrap: str, topic: str, count: int, size: int, directory: Path) -> float:
    """Records per second of the whole program, its start included."""
    lines = directory / "lines"
    lines.write_bytes((b"x" * size + b"\n") * count)
    return count / _kcat("-P", "-b", bootstrap, "-t", topic, "-l", str(lines))


def kcat_consume(bootstrap: str, topic: str, count: int) -> float:
    """To the end of every partition; `count` records are known to be there."""
    return count / _kcat("-C", "-b", bootstrap, "-t", topic, "-o", "beginning", "-e", "-q", "-X", "check.crcs=false")


def _kcat(*words: str) -> float:
    began = time.perf_counter()
    done = subprocess.run(
        ["kcat", *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=120, check=False
    )
    if done.returncode:
        raise RuntimeError(f"kcat: {done.stderr.strip().splitlines()[-1:]}")
    return time.perf_counter() - began
