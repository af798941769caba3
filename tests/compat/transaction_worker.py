"""A consume-transform-produce loop in a process of its own, made to be killed.

    python transaction_worker.py CLIENT BOOTSTRAP INPUT OUTPUT

Reads INPUT as the only member of a group, writes every value to the same partition of OUTPUT and commits the offsets in
the same transaction. Prints a line after each transaction. Ends with status 1 at the first error: whoever started it
starts it again, and the transactional id puts an end to what was left open.
"""

from __future__ import annotations

import asyncio
import sys
import time

GROUP, TRANSACTIONAL_ID = "workers", "worker"
# Small transactions with a pause in each, so that a kill is likely to hit one in the middle.
RECORDS, PAUSE = 5, 0.005


def confluent(bootstrap: str, source: str, target: str) -> None:
    from confluent_kafka import Consumer, Producer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": GROUP,
            # A member that comes back under its name need not wait until it is missed.
            "group.instance.id": "the-only-one",
            "session.timeout.ms": 6000,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": TRANSACTIONAL_ID,
            "linger.ms": 0,
            # When the only broker goes away, librdkafka 2.10 and later forgets it and starts from the bootstrap servers
            # again, but sends offsets of a transaction to the one it has forgotten, and hangs.
            "metadata.recovery.strategy": "none",
            "log_level": 0,
        }
    )
    producer.init_transactions(30)
    consumer.subscribe([source])
    while True:
        messages = [message for message in consumer.consume(RECORDS, 0.2) if message.error() is None]
        if not messages:
            continue
        producer.begin_transaction()
        positions: dict[int, int] = {}
        for message in messages:
            producer.produce(target, message.value(), partition=message.partition())
            positions[message.partition()] = message.offset() + 1
        time.sleep(PAUSE)
        offsets = [TopicPartition(source, partition, offset) for partition, offset in positions.items()]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), 30)
        producer.commit_transaction(30)
        print("done", flush=True)


async def aio(bootstrap: str, source: str, target: str) -> None:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

    consumer = AIOKafkaConsumer(
        source,
        bootstrap_servers=bootstrap,
        group_id=GROUP,
        group_instance_id="the-only-one",
        session_timeout_ms=6000,
        heartbeat_interval_ms=1000,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=TRANSACTIONAL_ID)
    await producer.start()
    await consumer.start()
    while True:
        batches = await consumer.getmany(timeout_ms=200, max_records=RECORDS)
        if not any(batches.values()):
            continue
        async with producer.transaction():
            for place, messages in batches.items():
                for message in messages:
                    await producer.send(target, message.value, partition=place.partition)
            await asyncio.sleep(PAUSE)
            offsets = {place: messages[-1].offset + 1 for place, messages in batches.items() if messages}
            await producer.send_offsets_to_transaction(offsets, GROUP)
        print("done", flush=True)


if __name__ == "__main__":
    client, *arguments = sys.argv[1:]
    try:
        if client == "aiokafka":
            asyncio.run(aio(*arguments))
        else:
            confluent(*arguments)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        # Not the tidy way out: a client that lost its broker may take its time to say goodbye.
        sys.stdout.flush()
        import os

        os._exit(1)
