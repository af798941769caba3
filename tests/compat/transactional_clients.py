"""The transactional producers of the three clients behind one face, and readers of committed records."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
import warnings
from typing import Any, ClassVar

import aiokafka
import confluent_kafka
import kafka
import kafka.errors

SECONDS = 30.0


class TransactionalProducer:
    """Initialized when made; `send` begins a transaction where none is open."""

    name: ClassVar[str]

    def __init__(self, bootstrap: str, transactional_id: str, timeout_ms: int = 60_000) -> None:
        raise NotImplementedError

    def send(self, topic: str, partition: int, value: bytes) -> None:
        """Returns when the broker has it."""
        raise NotImplementedError

    def commit(self) -> None:
        raise NotImplementedError

    def abort(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class Confluent(TransactionalProducer):
    name = "confluent-kafka"

    def __init__(self, bootstrap: str, transactional_id: str, timeout_ms: int = 60_000) -> None:
        self._producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": timeout_ms,
                "linger.ms": 0,
                "log_level": 0,
            }
        )
        self._producer.init_transactions(SECONDS)
        self._open = False

    def send(self, topic: str, partition: int, value: bytes) -> None:
        if not self._open:
            self._producer.begin_transaction()
            self._open = True
        failures: list[Any] = []
        self._producer.produce(topic, value, partition=partition, on_delivery=lambda error, _: failures.append(error))
        self._producer.flush(SECONDS)
        if failures != [None]:
            raise confluent_kafka.KafkaException(failures[0] if failures else None)

    def commit(self) -> None:
        self._open = False
        self._producer.commit_transaction(SECONDS)

    def abort(self) -> None:
        self._open = False
        self._producer.abort_transaction(SECONDS)

    def close(self) -> None:
        del self._producer


class KafkaPython(TransactionalProducer):
    name = "kafka-python"

    def __init__(self, bootstrap: str, transactional_id: str, timeout_ms: int = 60_000) -> None:
        self._producer = kafka.KafkaProducer(
            bootstrap_servers=bootstrap, transactional_id=transactional_id, transaction_timeout_ms=timeout_ms
        )
        self._producer.init_transactions()
        self._open = False

    def send(self, topic: str, partition: int, value: bytes) -> None:
        if not self._open:
            self._producer.begin_transaction()
            self._open = True
        self._producer.send(topic, value, partition=partition).get(SECONDS)

    def commit(self) -> None:
        self._open = False
        self._producer.commit_transaction()

    def abort(self) -> None:
        self._open = False
        self._producer.abort_transaction()

    def close(self) -> None:
        self._producer.close(timeout=SECONDS)
        # It leaves a socket behind for every attempt to reach a broker that was away: not a fault of the test.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            del self._producer
            gc.collect()


class Aiokafka(TransactionalProducer):
    name = "aiokafka"

    def __init__(self, bootstrap: str, transactional_id: str, timeout_ms: int = 60_000) -> None:
        self._runner = asyncio.Runner()
        self._runner.run(self._start(bootstrap, transactional_id, timeout_ms))
        self._open = False

    async def _start(self, bootstrap: str, transactional_id: str, timeout_ms: int) -> None:
        self._producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=bootstrap, transactional_id=transactional_id, transaction_timeout_ms=timeout_ms
        )
        await self._producer.start()

    def send(self, topic: str, partition: int, value: bytes) -> None:
        async def send() -> None:
            if not self._open:
                await self._producer.begin_transaction()
                self._open = True
            await self._producer.send_and_wait(topic, value, partition=partition)

        self._runner.run(send())

    def commit(self) -> None:
        self._open = False
        self._runner.run(self._producer.commit_transaction())

    def abort(self) -> None:
        self._open = False
        self._runner.run(self._producer.abort_transaction())

    def close(self) -> None:
        self._runner.run(self._producer.stop())
        self._runner.close()


# Its log records keep connections alive that were lost, until the tests are over.
logging.getLogger("kafka").setLevel(logging.CRITICAL)

PRODUCERS: list[type[TransactionalProducer]] = [Confluent, KafkaPython, Aiokafka]


def read_topic(bootstrap: str, topic: str, partitions: int, *, committed: bool = True) -> list[bytes]:
    """Every record a reader of committed (or of all) records is given now, up to where it has to wait."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reads-without-a-group",
            "isolation.level": "read_committed" if committed else "read_uncommitted",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.queue.backoff.ms": 1,
            "log_level": 0,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, index, 0) for index in range(partitions)])
    values: list[bytes] = []
    at_end: set[int] = set()
    deadline = time.monotonic() + SECONDS
    try:
        while len(at_end) < partitions:
            assert time.monotonic() < deadline, f"{topic} could not be read to its end"
            message = consumer.poll(0.5)
            if message is None:
                continue
            error = message.error()
            if error is None:
                values.append(message.value())
            elif error.code() == confluent_kafka.KafkaError._PARTITION_EOF:
                at_end.add(message.partition())
    finally:
        consumer.close()
    return values


def create_topic(bootstrap: str, topic: str, partitions: int) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for created in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
        created.result(SECONDS)
