"""confluent-kafka, that is librdkafka as most programs use it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, ClassVar

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from .interface import (
    EARLIEST,
    LATEST,
    Client,
    Cluster,
    Message,
    Patience,
    ProduceFailed,
    Received,
    Start,
    Timestamp,
    Tls,
)

SECONDS = 30.0


def librdkafka_properties(tls: Tls) -> dict[str, str]:
    own = {"ssl.certificate.location": tls.certificate, "ssl.key.location": tls.key}
    given = {name: value for name, value in own.items() if value is not None}
    return {"security.protocol": "ssl", "ssl.ca.location": tls.ca, **given}


class ConfluentKafka(Client):
    name: ClassVar[str] = "confluent-kafka"

    @property
    def _common(self) -> dict[str, Any]:
        return {"bootstrap.servers": self.bootstrap, **({} if self.tls is None else librdkafka_properties(self.tls))}

    @cached_property
    def _admin(self) -> AdminClient:
        # Kept, because an answer is lost when its AdminClient is gone.
        return AdminClient(self._common)

    def _consumer(self) -> Consumer:
        return Consumer(
            {
                **self._common,
                "group.id": "compat",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "fetch.queue.backoff.ms": 1,
                "auto.offset.reset": "error",
            }
        )

    def produce(
        self,
        topic: str,
        messages: Iterable[Message],
        *,
        codec: str = "none",
        acks: str = "all",
        idempotent: bool = False,
    ) -> None:
        producer = Producer(
            {
                **self._common,
                "compression.type": codec,
                "acks": acks,
                "enable.idempotence": idempotent,
                "linger.ms": 5,
                "message.max.bytes": 100_000_000,
            }
        )
        failures: list[str] = []

        def delivered(error: KafkaError | None, _message: object) -> None:
            if error is not None:
                failures.append(error.name())

        for message in messages:
            optional: dict[str, Any] = {} if message.timestamp is None else {"timestamp": message.timestamp}
            while True:
                try:
                    producer.produce(
                        topic,
                        message.value,
                        message.key,
                        message.partition,
                        on_delivery=delivered,
                        headers=list(message.headers),
                        **optional,
                    )
                    break
                except BufferError:
                    producer.poll(0.1)
        left = producer.flush(SECONDS)
        if failures:
            raise ProduceFailed(failures[0])
        assert left == 0, f"{left} records were not acknowledged after {SECONDS:.0f} s"

    def consume(
        self, topic: str, start: Start, count: int, *, partition: int = 0, ready: Callable[[], None] | None = None
    ) -> list[Received]:
        consumer = self._consumer()
        patience = Patience(f"{self.name} consuming {topic}-{partition}")
        received: list[Received] = []
        try:
            consumer.assign([TopicPartition(topic, partition, self._position(consumer, topic, partition, start))])
            while len(received) < count:
                patience.check(len(received), count)
                for message in consumer.consume(min(10_000, count - len(received)), 0.2):
                    error = message.error()
                    if error is None:
                        received.append(_received(message))
                    elif error.code() != KafkaError._PARTITION_EOF:
                        raise KafkaException(error)
                    elif ready is not None:
                        ready()
                        ready = None
        finally:
            consumer.close()
        return received

    def _position(self, consumer: Consumer, topic: str, partition: int, start: Start) -> int:
        if start == EARLIEST:
            return int(OFFSET_BEGINNING)
        if start == LATEST:
            return int(OFFSET_END)
        if isinstance(start, Timestamp):
            (found,) = consumer.offsets_for_times([TopicPartition(topic, partition, start.ms)], SECONDS)
            return int(found.offset)
        assert isinstance(start, int)
        return start

    def offsets(self, topic: str, partition: int = 0) -> tuple[int, int]:
        consumer = self._consumer()
        try:
            low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), SECONDS)
            return low, high
        finally:
            consumer.close()

    def topics(self) -> dict[str, int]:
        found = self._admin.list_topics(timeout=SECONDS).topics
        return {name: len(topic.partitions) for name, topic in found.items()}

    def cluster(self) -> Cluster:
        found = self._admin.describe_cluster(request_timeout=SECONDS).result()
        return Cluster(found.cluster_id, {node.id: (node.host, node.port) for node in found.nodes})

    def create_topic(self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        wanted = NewTopic(topic, partitions, 1, config=dict(configs or {}))
        self._admin.create_topics([wanted], operation_timeout=SECONDS)[topic].result()

    def delete_topic(self, topic: str) -> None:
        self._admin.delete_topics([topic], operation_timeout=SECONDS)[topic].result()

    def create_partitions(self, topic: str, total: int) -> None:
        self._admin.create_partitions([NewPartitions(topic, total)], operation_timeout=SECONDS)[topic].result()

    def _configs(self, resource: ConfigResource) -> dict[str, str | None]:
        found = self._admin.describe_configs([resource])[resource].result()
        return {name: entry.value for name, entry in found.items()}

    def topic_configs(self, topic: str) -> dict[str, str | None]:
        return self._configs(ConfigResource(ResourceType.TOPIC, topic))

    def broker_configs(self, broker: int) -> dict[str, str | None]:
        return self._configs(ConfigResource(ResourceType.BROKER, str(broker)))

    def alter_topic_configs(self, topic: str, changes: Mapping[str, str]) -> None:
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in changes.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        self._admin.incremental_alter_configs([resource])[resource].result()

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        where = TopicPartition(topic, partition, before)
        return int(self._admin.delete_records([where])[where].result().low_watermark)


def _received(message: Any) -> Received:
    return Received(
        message.partition(),
        message.offset(),
        message.timestamp()[1],
        message.key(),
        message.value(),
        tuple(message.headers() or ()),
    )
