"""A case tried with aiokafka, and with ours beside it: as `trial`, on an event loop."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Final

import aiokafka
import aiokafka.admin
import aiokafka.errors
from tools.migration.answers import Library
from tools.migration.trial import Case, flat

import moldau.admin
import moldau.aio
import moldau.errors

LIBRARIES: Final = (
    Library(aiokafka, aiokafka.admin, aiokafka.errors, "theirs"),
    Library(moldau.aio, moldau.admin, moldau.errors, "ours"),
)


class AsyncTrial:
    """As `Trial`; clients are started when they are made."""

    def __init__(self, library: Library, bootstrap: str, name: str) -> None:
        self.package = library.package
        self.bootstrap = bootstrap
        self.topic = name
        self.made: list[Any] = []

    def where(self, partition: int = 0) -> Any:
        return self.package.TopicPartition(self.topic, partition)

    def new_consumer(self, *topics: str, **settings: Any) -> Any:
        settings = {"bootstrap_servers": self.bootstrap, "auto_offset_reset": "earliest", **settings}
        self.made.append(self.package.AIOKafkaConsumer(*topics, **settings))
        return self.made[-1]

    def new_producer(self, **settings: Any) -> Any:
        self.made.append(self.package.AIOKafkaProducer(**{"bootstrap_servers": self.bootstrap, **settings}))
        return self.made[-1]

    async def consumer(self, *topics: str, **settings: Any) -> Any:
        consumer = self.new_consumer(*topics, **settings)
        await consumer.start()
        return consumer

    async def reader(self, *partitions: int, **settings: Any) -> Any:
        consumer = self.new_consumer(**settings)
        consumer.assign([self.where(number) for number in partitions or (0,)])
        await consumer.start()
        return consumer

    async def producer(self, **settings: Any) -> Any:
        producer = self.new_producer(**settings)
        await producer.start()
        return producer

    async def close(self) -> None:
        for client in reversed(self.made):
            with suppress(Exception):
                await asyncio.wait_for(client.stop(), 10)


def try_out(library: Library, bootstrap: str, topic: str, case: Case) -> Any:
    async def work() -> Any:
        trial = AsyncTrial(library, bootstrap, topic)
        try:
            return flat(await asyncio.wait_for(case(trial), 20), library)
        except Exception as error:
            return error
        finally:
            await trial.close()

    return asyncio.run(work())


async def take(consumer: Any, count: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(100):
        found += [record for share in (await consumer.getmany(timeout_ms=100)).values() for record in share]
        if len(found) >= count:
            break
    return found


async def call(client: Any, method: str, *arguments: Any, **options: Any) -> Any:
    """Awaited where it has to be."""
    said = getattr(await client, method)(*arguments, **options)
    return await said if asyncio.iscoroutine(said) or asyncio.isfuture(said) else said


async def made_with(kind: str, t: AsyncTrial, settings: dict[str, Any]) -> Any:
    await getattr(t, kind)(**settings).start()


async def in_turn(client: Any, *methods: str) -> Any:
    made = await client
    return [await getattr(made, method)() for method in methods]
