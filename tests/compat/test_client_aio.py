"""`moldau.aio` against a running node."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine, Iterable
from typing import Any

import pytest

from moldau import errors
from moldau.aio import (
    AIOKafkaAdminClient,
    AIOKafkaConsumer,
    AIOKafkaProducer,
    ConsumerRebalanceListener,
    TopicPartition,
)


def run(work: Coroutine[Any, Any, None]) -> None:
    """And see that nothing is left behind."""
    threads = set(threading.enumerate())
    asyncio.run(asyncio.wait_for(work, 60))
    assert set(threading.enumerate()) == threads


def test_sends_and_reads(bootstrap: str, topic: str) -> None:
    async def work() -> None:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap, max_batch_size=4096) as producer:
            assert (await producer.send_and_wait(topic, b"0", key=b"k")).offset == 0
            futures = [await producer.send(topic, b"%d" % number, partition=0) for number in range(1, 2000)]
            assert [(await future).offset for future in futures] == list(range(1, 2000))
            with pytest.raises(errors.MessageSizeTooLargeError):
                await producer.send(topic, bytes(2_000_000))
            assert await producer.partitions_for(topic) == {0}
            assert len(os.listdir("/proc/self/fd")) > 0
        async with AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
            first = await consumer.getone()
            assert (first.value, first.key) == (b"0", b"k")
            assert await consumer.position(TopicPartition(topic, 0)) == 1
            values = [first.value]
            async for record in consumer:
                values.append(record.value)
                if len(values) == 1000:
                    break
            while len(values) < 2000:
                for records in (await consumer.getmany(timeout_ms=1000, max_records=300)).values():
                    assert len(records) <= 300
                    values += [record.value for record in records]
            assert values == [b"%d" % number for number in range(2000)]
            consumer.seek(TopicPartition(topic, 0), 1999)
            assert (await consumer.getone()).value == b"1999"
            assert await consumer.getmany(timeout_ms=100) == {}

    run(work())


def test_a_cancelled_wait_loses_nothing(bootstrap: str, topic: str) -> None:
    async def work() -> None:
        async with (
            AIOKafkaProducer(bootstrap_servers=bootstrap) as producer,
            AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer,
        ):
            seen: list[bytes] = []
            for number in range(30):
                await producer.send_and_wait(topic, b"%d" % number)
                try:
                    seen.append((await asyncio.wait_for(consumer.getone(), 0.003)).value)
                except TimeoutError:
                    pass
            while len(seen) < 30:
                seen.append((await asyncio.wait_for(consumer.getone(), 10)).value)
            assert seen == [b"%d" % number for number in range(30)]

    run(work())


def test_groups_commits_and_listeners(bootstrap: str, topic: str) -> None:
    told: list[tuple[str, set[TopicPartition]]] = []

    class Listener(ConsumerRebalanceListener):
        async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:  # type: ignore[override]
            await asyncio.sleep(0)
            told.append(("revoked", set(revoked)))

        async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:  # type: ignore[override]
            told.append(("assigned", set(assigned)))

    async def work() -> None:
        where = TopicPartition(topic, 0)
        settings = {"bootstrap_servers": bootstrap, "group_id": topic, "auto_offset_reset": "earliest"}
        async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
            for number in range(10):
                await producer.send_and_wait(topic, b"%d" % number)
        consumer = AIOKafkaConsumer(enable_auto_commit=False, **settings)
        consumer.subscribe([topic], listener=Listener())
        async with consumer:
            for _ in range(4):
                await consumer.getone()
            await consumer.commit()
            assert await consumer.committed(where) == 4
            assert consumer.assignment() == {where}
        async with AIOKafkaConsumer(topic, **settings) as another:
            assert (await another.getone()).offset == 4
        assert told == [("assigned", {where}), ("revoked", {where})]

    run(work())


def test_transactions_and_the_admin_client(bootstrap: str, topic: str) -> None:
    async def drop(producer: AIOKafkaProducer) -> None:
        async with producer.transaction():
            await producer.send_and_wait(topic, b"dropped")
            raise ZeroDivisionError

    async def work() -> None:
        async with AIOKafkaAdminClient(bootstrap_servers=bootstrap) as admin:
            await admin.create_topics([topic])
            assert topic in await admin.list_topics()
        async with AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=topic) as producer:
            async with producer.transaction():
                await producer.send_and_wait(topic, b"kept")
            with pytest.raises(ZeroDivisionError):
                await drop(producer)
            async with producer.transaction():
                await producer.send_and_wait(topic, b"kept too")
                await producer.send_offsets_to_transaction({TopicPartition(topic, 0): 1}, topic)
        async with AIOKafkaConsumer(
            topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest", isolation_level="read_committed"
        ) as consumer:
            assert [(await consumer.getone()).value for _ in range(2)] == [b"kept", b"kept too"]

    run(work())


def test_nobody_there() -> None:
    async def work() -> None:
        producer = AIOKafkaProducer(bootstrap_servers="127.0.0.1:1", bootstrap_timeout_ms=200)
        with pytest.raises(errors.KafkaConnectionError):
            await producer.start()
        with pytest.raises(errors.IllegalStateError):
            await producer.send("rivers", b"x")

    run(work())
