"""aiokafka: asyncio, and the oldest versions of the protocol that any client in use still speaks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, ClassVar, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, for_code
from aiokafka.helpers import create_ssl_context

from .interface import (
    EARLIEST,
    LATEST,
    PATIENCE_SECONDS,
    Client,
    Cluster,
    Message,
    Patience,
    ProduceFailed,
    Received,
    Start,
    Timestamp,
)

Result = TypeVar("Result")

ACKS = {"0": 0, "1": 1, "all": "all"}


class AioKafka(Client):
    name: ClassVar[str] = "aiokafka"

    @property
    def _common(self) -> dict[str, Any]:
        if self.tls is None:
            return {"bootstrap_servers": self.bootstrap}
        context = create_ssl_context(cafile=self.tls.ca, certfile=self.tls.certificate, keyfile=self.tls.key)
        return {"bootstrap_servers": self.bootstrap, "security_protocol": "SSL", "ssl_context": context}

    @asynccontextmanager
    async def _admin(self) -> AsyncIterator[AIOKafkaAdminClient]:
        admin = AIOKafkaAdminClient(**self._common)
        await admin.start()
        try:
            yield admin
        finally:
            await admin.close()

    @asynccontextmanager
    async def _consumer(self) -> AsyncIterator[AIOKafkaConsumer]:
        consumer = AIOKafkaConsumer(**self._common, group_id=None, enable_auto_commit=False, auto_offset_reset="none")
        await consumer.start()
        try:
            yield consumer
        finally:
            await consumer.stop()

    def produce(
        self,
        topic: str,
        messages: Iterable[Message],
        *,
        codec: str = "none",
        acks: str = "all",
        idempotent: bool = False,
    ) -> None:
        _run(self._produce(topic, messages, codec, acks, idempotent))

    async def _produce(self, topic: str, messages: Iterable[Message], codec: str, acks: str, idempotent: bool) -> None:
        producer = AIOKafkaProducer(
            **self._common,
            compression_type=None if codec == "none" else codec,
            acks=ACKS[acks],
            enable_idempotence=idempotent,
            linger_ms=5,
            max_request_size=100_000_000,
        )
        await producer.start()
        try:
            sent = [
                await producer.send(
                    topic,
                    message.value,
                    message.key,
                    message.partition,
                    timestamp_ms=message.timestamp,
                    headers=list(message.headers),
                )
                for message in messages
            ]
            await producer.flush()
            for future in sent:
                await future
        except KafkaError as error:
            raise ProduceFailed(type(error).__name__) from error
        finally:
            await producer.stop()

    def consume(
        self, topic: str, start: Start, count: int, *, partition: int = 0, ready: Callable[[], None] | None = None
    ) -> list[Received]:
        return _run(self._consume(topic, partition, start, count, ready))

    async def _consume(
        self, topic: str, partition: int, start: Start, count: int, ready: Callable[[], None] | None
    ) -> list[Received]:
        where = TopicPartition(topic, partition)
        patience = Patience(f"{self.name} consuming {topic}-{partition}")
        received: list[Received] = []
        async with self._consumer() as consumer:
            consumer.assign([where])
            await self._seek(consumer, where, start)
            await consumer.position(where)
            if ready is not None:
                await asyncio.to_thread(ready)
            while len(received) < count:
                patience.check(len(received), count)
                found = await consumer.getmany(timeout_ms=200, max_records=min(10_000, count - len(received)))
                for records in found.values():
                    received.extend(_received(record) for record in records)
        return received

    async def _seek(self, consumer: AIOKafkaConsumer, where: TopicPartition, start: Start) -> None:
        if start == EARLIEST:
            await consumer.seek_to_beginning(where)
        elif start == LATEST:
            await consumer.seek_to_end(where)
        elif isinstance(start, Timestamp):
            found = await consumer.offsets_for_times({where: start.ms})
            consumer.seek(where, found[where].offset)
        else:
            consumer.seek(where, start)

    def offsets(self, topic: str, partition: int = 0) -> tuple[int, int]:
        async def ask() -> tuple[int, int]:
            where = TopicPartition(topic, partition)
            async with self._consumer() as consumer:
                return (await consumer.beginning_offsets([where]))[where], (await consumer.end_offsets([where]))[where]

        return _run(ask())

    def topics(self) -> dict[str, int]:
        async def ask() -> dict[str, int]:
            async with self._admin() as admin:
                return {topic["topic"]: len(topic["partitions"]) for topic in await admin.describe_topics()}

        return _run(ask())

    def cluster(self) -> Cluster:
        async def ask() -> Cluster:
            async with self._admin() as admin:
                found = await admin.describe_cluster()
            return Cluster(
                found["cluster_id"], {node["node_id"]: (node["host"], node["port"]) for node in found["brokers"]}
            )

        return _run(ask())

    def create_topic(self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        async def ask() -> None:
            async with self._admin() as admin:
                answer = await admin.create_topics([NewTopic(topic, partitions, 1, topic_configs=dict(configs or {}))])
            for error in answer.topic_errors:
                _raise_for(error[1])

        _run(ask())

    def delete_topic(self, topic: str) -> None:
        async def ask() -> None:
            async with self._admin() as admin:
                answer = await admin.delete_topics([topic])
            for error in answer.topic_error_codes:
                _raise_for(error[1])

        _run(ask())

    def create_partitions(self, topic: str, total: int) -> None:
        async def ask() -> None:
            async with self._admin() as admin:
                answer = await admin.create_partitions({topic: NewPartitions(total)})
            for error in answer.topic_errors:
                _raise_for(error[1])

        _run(ask())

    def _configs(self, kind: ConfigResourceType, name: str) -> dict[str, str | None]:
        async def ask() -> dict[str, str | None]:
            async with self._admin() as admin:
                (answer,) = await admin.describe_configs([ConfigResource(kind, name)])
            ((code, _message, _kind, _name, entries),) = answer.resources
            _raise_for(code)
            return {entry[0]: entry[1] for entry in entries}

        return _run(ask())

    def topic_configs(self, topic: str) -> dict[str, str | None]:
        return self._configs(ConfigResourceType.TOPIC, topic)

    def broker_configs(self, broker: int) -> dict[str, str | None]:
        return self._configs(ConfigResourceType.BROKER, str(broker))

    def alter_topic_configs(self, topic: str, changes: Mapping[str, str]) -> None:
        async def ask() -> None:
            async with self._admin() as admin:
                (answer,) = await admin.alter_configs(
                    [ConfigResource(ConfigResourceType.TOPIC, topic, configs=dict(changes))]
                )
            for resource in answer.resources:
                _raise_for(resource[0])

        _run(ask())

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        async def ask() -> int:
            where = TopicPartition(topic, partition)
            async with self._admin() as admin:
                found = await admin.delete_records({where: RecordsToDelete(before_offset=before)})
            return int(found[where])

        return _run(ask())


def _run(work: Coroutine[Any, Any, Result]) -> Result:
    """Gives up after a while: this client repeats a request that is refused for ever."""

    async def bounded() -> Result:
        return await asyncio.wait_for(work, PATIENCE_SECONDS)

    return asyncio.run(bounded())


def _raise_for(code: int) -> None:
    if code:
        raise for_code(code)


def _received(record: Any) -> Received:
    return Received(
        record.partition, record.offset, record.timestamp, record.key, record.value, tuple(record.headers or ())
    )
