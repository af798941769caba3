"""`python -m bench.python_clients`: Python's Kafka clients side by side, on one broker, in one run.

Every measurement is a fresh process that does one thing: send records and wait for all acknowledgements, or read them
all and look at each value. The settings are the same for all: idempotent producers with acks=all, 5 ms of linger and
batches up to 1 MB; consumers that take up to 5,000 records per poll. The program spreads records over partitions.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

DIRECTORY = Path("build/bench")
CLIENTS = ("moldau", "confluent-kafka", "kafka-python", "aiokafka", "moldau.aio")
# The slower a client, the fewer records it is given: a row shall not take minutes.
SHARE = {"moldau": 1.0, "confluent-kafka": 1.0, "kafka-python": 0.05, "aiokafka": 0.15, "moldau.aio": 0.25}
LINGER_MS = 5
BATCH = 1_000_000
POLL = 5000


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


def produce_moldau(task: Task) -> None:
    from moldau import KafkaProducer

    value = bytes(task.size)
    with KafkaProducer(
        bootstrap_servers=task.bootstrap, linger_ms=LINGER_MS, batch_size=BATCH, compression_type=task.codec
    ) as producer:
        send, topic, partitions = producer.send, task.topic, task.partitions
        for number in range(task.records):
            send(topic, value, partition=number % partitions)
        producer.flush()
        assert producer.metrics()["producer-metrics"]["record-error-total"] == 0


def produce_confluent(task: Task) -> None:
    from confluent_kafka import Producer

    value = bytes(task.size)
    failed: list[Any] = []
    producer = Producer(
        {
            "bootstrap.servers": task.bootstrap,
            "enable.idempotence": True,
            "linger.ms": LINGER_MS,
            "batch.size": BATCH,
            "compression.type": task.codec,
            "queue.buffering.max.messages": 1_000_000,
        }
    )

    def delivered(error: Any, _message: Any) -> None:
        if error is not None:
            failed.append(error)

    for number in range(task.records):
        while True:
            try:
                producer.produce(task.topic, value, partition=number % task.partitions, on_delivery=delivered)
                break
            except BufferError:
                producer.poll(0.01)
        if number % 10_000 == 0:
            producer.poll(0)
    assert producer.flush(120) == 0
    assert not failed


def produce_kafka_python(task: Task) -> None:
    from kafka import KafkaProducer

    value = bytes(task.size)
    codec = None if task.codec == "none" else task.codec
    producer = KafkaProducer(
        bootstrap_servers=task.bootstrap, linger_ms=LINGER_MS, batch_size=BATCH, compression_type=codec
    )
    for number in range(task.records):
        producer.send(task.topic, value, partition=number % task.partitions)
    producer.flush()
    producer.close()


def produce_asyncio(task: Task) -> None:
    from aiokafka import AIOKafkaProducer as Theirs

    from moldau.aio import AIOKafkaProducer as Ours

    value = bytes(task.size)
    kind: Any = Ours if task.client == "moldau.aio" else Theirs
    codec = None if task.codec == "none" else task.codec

    async def work() -> None:
        producer = kind(
            bootstrap_servers=task.bootstrap,
            linger_ms=LINGER_MS,
            max_batch_size=BATCH,
            compression_type=codec,
            enable_idempotence=True,
        )
        await producer.start()
        for number in range(task.records):
            await producer.send(task.topic, value, partition=number % task.partitions)
        await producer.flush()
        await producer.stop()

    asyncio.run(work())


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
            total += len(message.value())
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
    import aiokafka

    from moldau import aio

    async def work() -> None:
        kind: Any = aio if task.client == "moldau.aio" else aiokafka
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


WORK: dict[str, tuple[Callable[[Task], None], Callable[[Task], None]]] = {
    "moldau": (produce_moldau, consume_moldau),
    "confluent-kafka": (produce_confluent, consume_confluent),
    "kafka-python": (produce_kafka_python, consume_kafka_python),
    "aiokafka": (produce_asyncio, consume_asyncio),
    "moldau.aio": (produce_asyncio, consume_asyncio),
}


# ----------------------------------------------------------------------------------------------------- measurement


def child(what: str, text: str) -> None:
    """In a process of its own: the work, and what it cost."""
    task = Task(**json.loads(text))
    work = WORK[task.client][what == "consume"]
    work(task._replace(records=min(2000, task.records)))  # imports and first connections are not what is measured
    used = resource.getrusage(resource.RUSAGE_SELF)
    began, cpu = time.perf_counter(), used.ru_utime + used.ru_stime
    work(task)
    seconds = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = used.ru_utime + used.ru_stime - cpu
    print(json.dumps({"rate": task.records / seconds, "cpu": spent / task.records * 1e6, "mb": peak_mb()}))


def peak_mb() -> float:
    """Of this program alone; what getrusage says goes back to the process that started it."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def measure(what: str, task: Task) -> dict[str, float]:
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "bench.python_clients",
        "--child",
        what,
        json.dumps(task._asdict()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(f"{task.client} failed: {done.stderr.strip().splitlines()[-1:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.python_clients", description=__doc__)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument(
        "--records", type=int, default=1_000_000, help="of 100 bytes; of 1 KB a fifth (default 1000000)"
    )
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--clients", nargs="*", default=CLIENTS, choices=CLIENTS)
    parser.add_argument("--rows", nargs="*", default=[], help="only rows whose title has one of these words")
    options = parser.parse_args()
    if options.child:
        child(*options.child)
        return 0
    from bench.contenders import MOLDAU, fresh

    print(f"{'':34}" + "".join(f"{client:>26}" for client in options.clients))
    print(f"{'':34}" + f"{'rec/s   CPU s/M   MB':>26}" * len(options.clients))
    with MOLDAU.run(fresh(DIRECTORY / "clients")) as broker:
        for size in (100, 1000):
            for partitions in (1, 6):
                for codec in ("none", "lz4"):
                    rows(broker.bootstrap, size, partitions, codec, options)
    return 0


def rows(bootstrap: str, size: int, partitions: int, codec: str, options: argparse.Namespace) -> None:
    from moldau.admin import KafkaAdminClient, NewTopic

    topic = f"b{size}-{partitions}-{codec}"
    records = options.records if size == 100 else options.records // 5
    if options.rows and not any(word in f"{size} B {partitions} partitions {codec}" for word in options.rows):
        return
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.create_topics([NewTopic(topic, partitions, 1)])
    produce_moldau(Task("moldau", bootstrap, topic, records + 2000, size, partitions, codec))
    for what in ("produce", "consume"):
        cells = []
        for client in options.clients:
            task = Task(client, bootstrap, topic, int(records * SHARE[client]), size, partitions, codec)
            if what == "produce":
                task = task._replace(topic=f"{topic}-{client}")
                with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
                    admin.create_topics([NewTopic(task.topic, partitions, 1)])
            runs = [measure(what, task) for _ in range(options.repetitions)]
            cell = {name: median(run[name] for run in runs) for name in runs[0]}
            cells.append(f"{cell['rate']:>11,.0f} {cell['cpu']:>7.2f} {cell['mb']:>5.0f}")
        print(f"{what} {size:>4} B {partitions} partition(s) {codec:>4}".ljust(34) + "".join(f"{c:>26}" for c in cells))
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
