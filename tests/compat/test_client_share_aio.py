"""The share consumer of `moldau.aio`: polls and commits that are awaited, and waits that are cancelled."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from moldau import KafkaAdminClient, KafkaProducer, TopicPartition, errors
from moldau.admin import ConfigResource, NewTopic
from moldau.aio import AcknowledgeType, AIOKafkaShareConsumer, ConsumerStoppedError

PATIENCE = 60.0


@pytest.fixture
def filled(share_bootstrap: str, topic: str) -> str:
    """Thirty records in three partitions, and a share group of that name that begins with the oldest."""
    with KafkaAdminClient(bootstrap_servers=share_bootstrap) as admin:
        admin.create_topics([NewTopic(topic, 3, 1)])
        admin.alter_configs([ConfigResource("group", topic, {"share.auto.offset.reset": "earliest"})])
    with KafkaProducer(bootstrap_servers=share_bootstrap) as producer:
        for number in range(30):
            producer.send(topic, b"%d" % number, partition=number % 3)
    return topic


def new(bootstrap: str, group: str, **settings: Any) -> AIOKafkaShareConsumer:
    return AIOKafkaShareConsumer(group, bootstrap_servers=bootstrap, group_id=group, **settings)


def test_records_are_iterated_and_acknowledged_one_by_one(share_bootstrap: str, filled: str) -> None:
    async def work() -> None:
        deliveries: Counter[int] = Counter()
        heard: asyncio.Queue[BaseException | None] = asyncio.Queue()
        async with new(share_bootstrap, filled, share_acknowledgement_mode="explicit") as consumer:
            consumer.set_acknowledgement_commit_callback(lambda offsets, error: heard.put_nowait(error))
            async for record in consumer:
                value = int(record.value)
                deliveries[value] += 1
                again = value % 10 == 0 and record.delivery_count == 1
                consumer.acknowledge(record, AcknowledgeType.RELEASE if again else AcknowledgeType.ACCEPT)
                if sum(deliveries.values()) == 33:
                    break
            assert set((await consumer.commit()).values()) == {None}
            assert await heard.get() is None
            assert consumer.acquisition_lock_timeout_ms() == 30_000
            assert consumer.assignment() == {TopicPartition(filled, number) for number in range(3)}
            assert consumer.subscription() == {filled}
            fetched = consumer.metrics()["consumer-share-fetch-manager-metrics"]
            assert fetched["acknowledgements-error-total"] == 0
        assert deliveries == {number: 2 if number % 10 == 0 else 1 for number in range(30)}

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_a_wait_that_is_cancelled_loses_nothing(share_bootstrap: str, filled: str) -> None:
    async def work() -> None:
        found: Counter[int] = Counter()
        async with new(share_bootstrap, filled) as consumer:
            while len(found) < 30:
                waiting = asyncio.ensure_future(consumer.getmany(timeout_ms=20_000, max_records=3))
                await asyncio.sleep(0)  # so that it has begun; it is cancelled at any moment of its life
                waiting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiting
                polled = await consumer.getmany(timeout_ms=2000, max_records=3)
                found.update(int(record.value) for records in polled.values() for record in records)
                await consumer.commit()
        assert set(found.values()) == {1}

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_who_waits_when_it_is_stopped_is_told(share_bootstrap: str, topic: str) -> None:
    async def work() -> None:
        consumer = new(share_bootstrap, topic)
        with pytest.raises(ConsumerStoppedError):
            await consumer.getmany()
        await consumer.start()
        await consumer.start()

        async def iterate() -> list[Any]:
            return [record async for record in consumer]

        iterating = asyncio.ensure_future(iterate())
        waiting = asyncio.ensure_future(consumer.getone())
        await asyncio.sleep(0)
        await consumer.stop()
        await consumer.stop()
        assert await iterating == []
        with pytest.raises(ConsumerStoppedError):
            await waiting
        with pytest.raises(ConsumerStoppedError):
            await consumer.commit()

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_what_is_wrong_is_said_at_the_start(share_bootstrap: str) -> None:
    async def work() -> None:
        with pytest.raises(errors.KafkaConfigurationError, match="group_id"):
            await AIOKafkaShareConsumer(bootstrap_servers=share_bootstrap).start()
        consumer = AIOKafkaShareConsumer(bootstrap_servers=share_bootstrap, group_id="any")
        async with consumer:
            with pytest.raises(errors.IllegalStateError, match="not subscribed"):
                await consumer.getmany()
            await consumer.subscribe(["any"])
            assert consumer.subscription() == {"any"}
            await consumer.unsubscribe()
            assert consumer.subscription() == frozenset()

    asyncio.run(asyncio.wait_for(work(), PATIENCE))
