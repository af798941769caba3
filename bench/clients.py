"""confluent-kafka as a load: with a whole client in the way, what does a program see?"""

from __future__ import annotations

import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition

RECORD = b"x" * 100
PARTITIONS = 4
# A mock broker keeps 5 MB of a partition, so a consumer can be given only so many records and reads them again.
KEPT_RECORDS = 30_000 * PARTITIONS


def produce(bootstrap: str, topic: str, count: int) -> float:
    """Records per second, from the first send to the last acknowledgement."""
    producer = Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 5, "queue.buffering.max.messages": 1_000_000, "log_level": 0}
    )
    failed: list[KafkaError] = []
    producer.list_topics(topic, timeout=10)
    started = time.perf_counter()
    _send(producer, topic, count, failed)
    seconds = time.perf_counter() - started
    if failed:
        raise KafkaException(failed[0])
    return count / seconds


def _send(producer: Producer, topic: str, count: int, failed: list[KafkaError]) -> None:
    def delivered(error: KafkaError | None, _message: object) -> None:
        if error is not None:
            failed.append(error)

    for number in range(count):
        while True:
            try:
                producer.produce(topic, RECORD, partition=number % PARTITIONS, on_delivery=delivered)
                break
            except BufferError:
                producer.poll(0.01)
        if number % 10_000 == 0:
            producer.poll(0)
    if producer.flush(60):
        raise TimeoutError("not every record was acknowledged")


def consume(bootstrap: str, topic: str, count: int) -> float:
    """Records per second, over as many passes through the topic as make up about `count` records."""
    produce(bootstrap, topic, KEPT_RECORDS)
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
            took, more = _read_once(consumer)
            seconds, counted = seconds + took, counted + more
    finally:
        consumer.close()
    return counted / seconds


def _read_once(consumer: Consumer) -> tuple[float, int]:
    """One pass through the topic, timed from the first records on: finding the offsets is not what is measured."""
    left = KEPT_RECORDS - _take(consumer, 1000)
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
