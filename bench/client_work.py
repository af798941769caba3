"""What one process does in the comparison of Python clients: send records and wait for all acknowledgements, or read
them all and look at each value.

Producing is done twice, with like knowledge on all sides. `produce` hears of failures only: when the flush is over and
there were none, all records are written. `outcomes` learns the offset or the error of each record, in the way of each
client: by a callback where it has them, else by an awaited future.

The settings are the same for all: idempotent producers with acks=all, 5 ms of linger and batches up to 1 MB; consumers
that take up to 5,000 records per poll. The program spreads records over partitions. Nothing but the client itself is
imported, for its memory is measured, too.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

LINGER_MS = 5
BATCH = 1_000_000
POLL = 5000
WARM = 2000  # records before the clock starts


class Task(NamedTuple):
    """What one process does; passed to it as JSON."""

    client: str
    bootstrap: str
    topic: str
    records: int
    size: int
    partitions: int
    codec: str


# ------------------------------------------------------------------------------------------------------- producing


def produce_moldau(task: Task, *, outcomes: bool = False) -> None:
    from moldau import KafkaProducer

    value = bytes(task.size)
    account = Account()
    with KafkaProducer(
        bootstrap_servers=task.bootstrap, linger_ms=LINGER_MS, batch_size=BATCH, compression_type=task.codec
    ) as producer:
        send, topic, partitions = producer.send, task.topic, task.partitions
        if outcomes:
            written, failed = account.written, account.failed
            for number in range(task.records):
                send(topic, value, partition=number % partitions).add_callback(written).add_errback(failed)
        else:
            for number in range(task.records):
                send(topic, value, partition=number % partitions)
        producer.flush()
        assert producer.metrics()["producer-metrics"]["record-error-total"] == 0
    account.check(task.records if outcomes else 0)


def produce_confluent(task: Task, *, outcomes: bool = False) -> None:
    from confluent_kafka import Producer

    value = bytes(task.size)
    account = Account()

    def delivered(error: Any, message: Any) -> None:
        if error is None:
            account.offsets += message.offset() >= 0
        else:
            account.failed(error)

    producer = Producer(
        {
            "bootstrap.servers": task.bootstrap,
            "enable.idempotence": True,
            "linger.ms": LINGER_MS,
            "batch.size": BATCH,
            "compression.type": task.codec,
            "queue.buffering.max.messages": 1_000_000,
            "delivery.report.only.error": not outcomes,
            "on_delivery": delivered,
        }
    )
    for number in range(task.records):
        while True:
            try:
                producer.produce(task.topic, value, partition=number % task.partitions)
                break
            except BufferError:
                producer.poll(0.01)
        if number % 10_000 == 0:
            producer.poll(0)
    assert producer.flush(120) == 0
    account.check(task.records if outcomes else 0)


def produce_kafka_python(task: Task, *, outcomes: bool = False) -> None:
    from kafka import KafkaProducer  # type: ignore[import-untyped]

    value = bytes(task.size)
    codec = None if task.codec == "none" else task.codec
    account = Account()
    producer = KafkaProducer(
        bootstrap_servers=task.bootstrap, linger_ms=LINGER_MS, batch_size=BATCH, compression_type=codec
    )
    for number in range(task.records):
        future = producer.send(task.topic, value, partition=number % task.partitions)
        if outcomes:
            future.add_callback(account.written).add_errback(account.failed)
    producer.flush()
    producer.close()
    account.check(task.records if outcomes else 0)


def produce_asyncio(task: Task, *, outcomes: bool = False) -> None:
    kind: Any = importlib.import_module(task.client).AIOKafkaProducer
    value = bytes(task.size)
    codec = None if task.codec == "none" else task.codec
    account = Account()

    async def work() -> None:
        producer = kind(
            bootstrap_servers=task.bootstrap,
            linger_ms=LINGER_MS,
            max_batch_size=BATCH,
            compression_type=codec,
            enable_idempotence=True,
        )
        await producer.start()
        futures = []
        for number in range(task.records):
            future = await producer.send(task.topic, value, partition=number % task.partitions)
            if outcomes:
                futures.append(future)
        await producer.flush()
        for future in futures:
            account.written(await future)
        await producer.stop()

    asyncio.run(work())
    account.check(task.records if outcomes else 0)


class Account:
    """What a program was told of its records."""

    def __init__(self) -> None:
        self.offsets = 0
        self.errors: list[Any] = []

    def written(self, metadata: Any) -> None:
        self.offsets += metadata.offset >= 0

    def failed(self, error: Any) -> None:
        self.errors.append(error)

    def check(self, expected: int) -> None:
        assert self.offsets == expected, f"told of {self.offsets} records, not of {expected}"
        assert not self.errors, self.errors[0]


# ------------------------------------------------------------------------------------------------------- consuming


def consume_moldau(task: Task) -> None:
    from moldau import KafkaConsumer, TopicPartition

    with KafkaConsumer(
        bootstrap_servers=task.bootstrap, auto_offset_reset="earliest", max_poll_records=POLL
    ) as consumer:
        consumer.assign([TopicPartition(task.topic, number) for number in range(task.partitions)])
        left, total = task.records, 0
        while left > 0:
            for records in consumer.poll(10_000).values():
                left -= len(records)
                for record in records:
                    total += len(record.value)
        assert total >= task.records * task.size


def consume_confluent(task: Task) -> None:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": task.bootstrap,
            "group.id": "bench",
            "enable.auto.commit": False,
            "fetch.queue.backoff.ms": 1,  # at its default of a second this client stalls, with every broker
        }
    )
    consumer.assign([TopicPartition(task.topic, number, 0) for number in range(task.partitions)])
    left, total = task.records, 0
    while left > 0:
        for message in consumer.consume(POLL, 10.0):
            left -= 1
            total += len(message.value() or b"")
    consumer.close()
    assert total >= task.records * task.size


def consume_kafka_python(task: Task) -> None:
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(bootstrap_servers=task.bootstrap, auto_offset_reset="earliest", max_poll_records=POLL)
    consumer.assign([TopicPartition(task.topic, number) for number in range(task.partitions)])
    left, total = task.records, 0
    while left > 0:
        for records in consumer.poll(10_000).values():
            left -= len(records)
            for record in records:
                total += len(record.value)
    consumer.close()


def consume_asyncio(task: Task) -> None:
    kind: Any = importlib.import_module(task.client)

    async def work() -> None:
        consumer = kind.AIOKafkaConsumer(bootstrap_servers=task.bootstrap, auto_offset_reset="earliest")
        consumer.assign([kind.TopicPartition(task.topic, number) for number in range(task.partitions)])
        await consumer.start()
        left, total = task.records, 0
        while left > 0:
            found = await consumer.getmany(timeout_ms=10_000, max_records=POLL)
            for records in found.values():
                left -= len(records)
                for record in records:
                    total += len(record.value)
        await consumer.stop()

    asyncio.run(work())


WORK: dict[str, tuple[Callable[..., None], Callable[[Task], None]]] = {
    "moldau": (produce_moldau, consume_moldau),
    "confluent-kafka": (produce_confluent, consume_confluent),
    "kafka-python": (produce_kafka_python, consume_kafka_python),
    "aiokafka": (produce_asyncio, consume_asyncio),
    "moldau.aio": (produce_asyncio, consume_asyncio),
}


def child(what: str, text: str) -> None:
    """In a process of its own: the work, and what it cost."""
    task = Task(**json.loads(text))
    produce, consume = WORK[task.client]
    work = consume if what == "consume" else partial(produce, outcomes=what == "outcomes")
    work(task._replace(records=min(WARM, task.records)))  # imports and first connections are not what is measured
    used = resource.getrusage(resource.RUSAGE_SELF)
    began, cpu = time.perf_counter(), used.ru_utime + used.ru_stime
    work(task)
    seconds = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = used.ru_utime + used.ru_stime - cpu
    print(json.dumps({"records/s": task.records / seconds, "CPU": spent / task.records * 1e6, "memory": peak_mb()}))


def peak_mb() -> float:
    """Of this program alone; what getrusage says goes back to the process that started it."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    child(*sys.argv[1:])
