"""One client as fast as it may, in a process of its own: `quota_load.py WORK CLIENT BOOTSTRAP ID SECONDS`.

WORK is `produce` or `consume`, CLIENT `confluent` or `kafka-python`. Prints, as JSON, the bytes of values that were
acknowledged or read in that time, and for how long the broker told it to wait meanwhile, where the client says.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

TOPIC = "rivers"
VALUE = bytes(1000)
FIRST_WAIT = 60.0
_kept: list[Any] = []  # a client that nobody holds closes itself, and waits for what is left


def confluent_produce(bootstrap: str, client_id: str, seconds: float) -> tuple[int, float]:
    from confluent_kafka import Producer

    taken, waited = 0, 0.0

    def delivered(error: object, _: object) -> None:
        nonlocal taken
        if error is None and time.monotonic() < end:
            taken += len(VALUE)

    def told(event: Any) -> None:
        nonlocal waited
        waited += event.throttle_time

    producer = Producer({"bootstrap.servers": bootstrap, "client.id": client_id, "throttle_cb": told})
    producer.list_topics(TOPIC, FIRST_WAIT)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            producer.produce(TOPIC, VALUE, partition=0, on_delivery=delivered)
        except BufferError:
            producer.poll(0.01)
        producer.poll(0)
    return taken, waited


def confluent_consume(bootstrap: str, client_id: str, seconds: float) -> tuple[int, float]:
    from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

    taken, waited = 0, 0.0

    def told(event: Any) -> None:
        nonlocal waited
        waited += event.throttle_time

    settings = {"enable.partition.eof": True, "throttle_cb": told}
    consumer = Consumer({"bootstrap.servers": bootstrap, "client.id": client_id, "group.id": client_id, **settings})
    consumer.list_topics(TOPIC, FIRST_WAIT)
    start = TopicPartition(TOPIC, 0, OFFSET_BEGINNING)
    consumer.assign([start])
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for message in consumer.consume(500, 0.1):
            error = message.error()
            if error is None:
                taken += len(message.value())
            elif error.code() == KafkaError._PARTITION_EOF:
                consumer.seek(start)
    consumer.close()
    return taken, waited


def kafka_python_produce(bootstrap: str, client_id: str, seconds: float) -> tuple[int, float]:
    from kafka import KafkaProducer

    taken = 0

    def delivered(_: object) -> None:
        nonlocal taken
        if time.monotonic() < end:
            taken += len(VALUE)

    producer = KafkaProducer(bootstrap_servers=bootstrap, client_id=client_id, max_block_ms=60_000)
    _kept.append(producer)
    producer.partitions_for(TOPIC)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        producer.send(TOPIC, VALUE, partition=0).add_callback(delivered)
    return taken, 0.0


def kafka_python_consume(bootstrap: str, client_id: str, seconds: float) -> tuple[int, float]:
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(bootstrap_servers=bootstrap, client_id=client_id, group_id=None)
    partition = TopicPartition(TOPIC, 0)
    consumer.assign([partition])
    last = consumer.end_offsets([partition])[partition]
    consumer.seek_to_beginning()
    taken = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for found in consumer.poll(timeout_ms=100).values():
            taken += sum(len(record.value) for record in found)
            if found[-1].offset >= last - 1:
                consumer.seek_to_beginning()
    consumer.close()
    return taken, 0.0


WORK = {
    ("produce", "confluent"): confluent_produce,
    ("consume", "confluent"): confluent_consume,
    ("produce", "kafka-python"): kafka_python_produce,
    ("consume", "kafka-python"): kafka_python_consume,
}


if __name__ == "__main__":
    work, client, bootstrap, client_id, seconds = sys.argv[1:]
    taken, waited = WORK[work, client](bootstrap, client_id, float(seconds))
    print(json.dumps({"bytes": taken, "waited": waited}), flush=True)
    os._exit(0)  # whoever is held back by a quota has much left to send, and nobody waits for it
