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
            assert (await admin.describe_features())["transaction.version"]["finalized"][1] >= 0
            with pytest.raises(errors.TopicAlreadyExistsError):
                await admin.create_topics([topic])
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


def test_leaving_a_group_and_joining_it_again(bootstrap: str, topic: str) -> None:
    told: list[str] = []

    class Listener(ConsumerRebalanceListener):
        async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:  # type: ignore[override]
            await asyncio.sleep(0)
            told.append("revoked")

        async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:  # type: ignore[override]
            await asyncio.sleep(0)
            told.append("assigned")

    async def work() -> None:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
            for number in range(4):
                await producer.send_and_wait(topic, b"%d" % number)
        async with AIOKafkaConsumer(
            bootstrap_servers=bootstrap, group_id=topic, auto_offset_reset="earliest"
        ) as consumer:
            consumer.subscribe([topic], listener=Listener())
            assert [(await consumer.getone()).offset for _ in range(2)] == [0, 1]
            consumer.unsubscribe()
            assert consumer.assignment() == consumer.subscription() == frozenset()
            consumer.subscribe([topic], listener=Listener())
            # What was taken before was committed on leaving.
            assert [(await consumer.getone()).offset for _ in range(2)] == [2, 3]
            assert consumer.subscription() == {topic}
        assert told == ["assigned", "revoked", "assigned", "revoked"]

    run(work())


def test_batches_put_together_by_hand(bootstrap: str, topic: str) -> None:
    async def work() -> None:
        async with AIOKafkaProducer(
            bootstrap_servers=bootstrap, max_batch_size=1000, value_serializer=lambda value: str(value).encode()
        ) as producer:
            batch = producer.create_batch()
            count = 0
            while (
                added := batch.append(timestamp=1000 + count, key=None, value=count, headers=[("h", b"x")])
            ) is not None:
                assert added.offset == count
                count += 1
            assert 10 < count < 100
            assert batch.record_count() == count
            assert batch.size() <= 1000
            with pytest.raises(ValueError, match="no partition 5"):
                await producer.send_batch(batch, topic, partition=5)
            metadata = await (await producer.send_batch(batch, topic, partition=0))
            assert (metadata.offset, metadata.partition) == (0, 0)
            with pytest.raises(errors.IllegalStateError):
                await producer.send_batch(batch, topic, partition=0)
            closed = producer.create_batch()
            closed.append(timestamp=None, key=b"k", value=1)
            closed.close()
            assert closed.append(timestamp=None, key=None, value=2) is None
            assert (await (await producer.send_batch(closed, topic, partition=0))).offset == count
            with pytest.raises(ValueError, match="empty"):
                await producer.send_batch(producer.create_batch(), topic, partition=0)
        async with AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
            for number in range(count):
                record = await consumer.getone()
                assert (record.value, record.timestamp, record.headers) == (
                    b"%d" % number,
                    1000 + number,
                    [("h", b"x")],
                )
            assert (await consumer.getone()).key == b"k"

    run(work())


def test_positions_and_what_is_known_of_a_partition(bootstrap: str, topic: str) -> None:
    where, other = TopicPartition(topic, 0), TopicPartition(topic, 1)

    async def work() -> None:
        async with AIOKafkaAdminClient(bootstrap_servers=bootstrap) as admin:
            await admin.create_topics({topic: {"num_partitions": 2}}, wait_for_metadata=True)
        async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
            for number in range(10):
                await producer.send(topic, b"%d" % number, partition=number % 2, timestamp_ms=1000 + number)
        async with AIOKafkaConsumer(
            bootstrap_servers=bootstrap, group_id=topic, auto_offset_reset="earliest", enable_auto_commit=False
        ) as consumer:
            consumer.assign([where, other])
            assert consumer.last_poll_timestamp(where) is None
            assert consumer.highwater(where) is None
            assert [(await consumer.getone(other)).offset for _ in range(3)] == [0, 1, 2]
            assert (consumer.highwater(other), consumer.last_stable_offset(other)) == (5, 5)
            assert consumer.last_poll_timestamp(other) is not None
            await consumer.commit({other: 2})
            assert await consumer.seek_to_committed(other) == {other: 2}
            assert await consumer.position(other) == 2
            found = await consumer.getmany(other, timeout_ms=60_000, max_records=2)
            assert [record.offset for record in found[other]] == [2, 3]
            await consumer.seek_to_end(other)
            assert await consumer.position(other) == 5
            await consumer.seek_to_beginning(other)
            assert (await consumer.getone(other)).offset == 0
            assert await consumer.beginning_offsets([where]) == {where: 0}
            assert await consumer.end_offsets([where]) == {where: 5}
            by_time = (await consumer.offsets_for_times({where: 1004}))[where]
            assert by_time is not None
            assert by_time.offset == 2
            consumer.pause(where)
            assert consumer.paused() == {where}
            assert await consumer.getmany(where, timeout_ms=100) == {}
            consumer.resume(where)
            assert (await consumer.getone(where)).offset == 0

    run(work())


def test_nobody_there() -> None:
    async def work() -> None:
        producer = AIOKafkaProducer(bootstrap_servers="127.0.0.1:1", bootstrap_timeout_ms=200)
        with pytest.raises(errors.KafkaConnectionError):
            await producer.start()
        with pytest.raises(errors.IllegalStateError):
            await producer.send("rivers", b"x")

    run(work())


def test_what_the_state_does_not_allow_has_aiokafkas_names(bootstrap: str, topic: str) -> None:
    async def work() -> None:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=topic) as producer:
            with pytest.raises(errors.IllegalOperation):
                await producer.send(topic, b"outside of a transaction")
            with pytest.raises(errors.IllegalOperation):
                await producer.commit_transaction()
        with pytest.raises(errors.ProducerClosed):
            await producer.send(topic, b"too late")
        async with AIOKafkaConsumer(topic, bootstrap_servers=bootstrap) as consumer:
            with pytest.raises(errors.IllegalOperation):
                await consumer.commit()

    run(work())


def test_a_fenced_producer_hears_of_it_by_aiokafkas_name(bootstrap: str, topic: str) -> None:
    async def work() -> None:
        settings: dict[str, Any] = {"bootstrap_servers": bootstrap, "transactional_id": topic}
        async with AIOKafkaProducer(**settings) as first:
            await first.begin_transaction()
            await first.send_and_wait(topic, b"0")
            async with AIOKafkaProducer(**settings):
                with pytest.raises(errors.ProducerFenced):
                    await first.send_and_wait(topic, b"1")
                with pytest.raises(errors.ProducerFenced):
                    await first.commit_transaction()

    run(work())
