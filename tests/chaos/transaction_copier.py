"""Copies a topic to another, exactly once, in a process of its own: reads what is committed, writes every value to the
same partition and commits its positions in the same transaction.

    python transaction_copier.py BOOTSTRAP SOURCE TARGET

Says a word after each turn, so that whoever started it sees that it is alive. Ends with status 1 at the first error:
it is started again, and the transactional id puts an end to what was left open.
"""

from __future__ import annotations

import os
import sys
import time

GROUP, TRANSACTIONAL_ID = "copiers", "copier"
# A pause in each transaction, so that a fault is likely to hit one in the middle.
RECORDS, PAUSE = 200, 0.01
PATIENCE = 60


def copy(bootstrap: str, source: str, target: str) -> None:
    from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

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
            "socket.timeout.ms": 5000,
            "log_level": 0,
        }
    )
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": TRANSACTIONAL_ID,
            "linger.ms": 0,
            "socket.timeout.ms": 5000,
            "log_level": 0,
        }
    )
    producer.init_transactions(PATIENCE)
    consumer.subscribe([source])
    while True:
        received = consumer.consume(RECORDS, 0.2)
        for error in (message.error() for message in received):
            if error is not None and error.code() == KafkaError._FATAL:
                # Fenced, by a heartbeat of its own that arrives after it has joined anew: it would never be given a
                # record again, and say that it is idle. (`fatal()` says no here: the reason is in another error.)
                raise KafkaException(error)
        messages = [message for message in received if message.error() is None]
        if not messages:
            print("idle", flush=True)
            continue
        producer.begin_transaction()
        positions: dict[int, int] = {}
        for message in messages:
            producer.produce(target, message.value(), partition=message.partition())
            positions[message.partition()] = message.offset() + 1
        time.sleep(PAUSE)
        offsets = [TopicPartition(source, partition, offset) for partition, offset in positions.items()]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), PATIENCE)
        producer.commit_transaction(PATIENCE)
        print("done", flush=True)


if __name__ == "__main__":
    try:
        copy(*sys.argv[1:])
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        # Not the tidy way out: a client that lost its broker may take its time to say goodbye.
        os._exit(1)
