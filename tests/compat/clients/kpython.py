"""kafka-python 3, pure Python. Its producer is idempotent unless told otherwise."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from .interface import EARLIEST, LATEST, Client, Cluster, Message, Patience, ProduceFailed, Received, Start, Timestamp

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it reads its own files by a call that Python has deprecated
    from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.admin import ConfigResource, ConfigResourceType
    from kafka.errors import KafkaError

SECONDS = 30.0
ACKS = {"0": 0, "1": 1, "all": "all"}


class KafkaPython(Client):
    name: ClassVar[str] = "kafka-python"

    @property
    def _common(self) -> dict[str, Any]:
        if self.tls is None:
            return {"bootstrap_servers": self.bootstrap}
        return {
            "bootstrap_servers": self.bootstrap,
            "security_protocol": "SSL",
            "ssl_cafile": self.tls.ca,
            "ssl_certfile": self.tls.certificate,
            "ssl_keyfile": self.tls.key,
        }

    @contextmanager
    def _admin(self) -> Iterator[KafkaAdminClient]:
        admin = KafkaAdminClient(**self._common)
        try:
            yield admin
        finally:
            admin.close()

    @contextmanager
    def _consumer(self) -> Iterator[KafkaConsumer]:
        consumer = KafkaConsumer(
            **self._common,
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="none",
            max_poll_records=10_000,
        )
        try:
            yield consumer
        finally:
            consumer.close()

    def produce(
        self,
        topic: str,
        messages: Iterable[Message],
        *,
        codec: str = "none",
        acks: str = "all",
        idempotent: bool = False,
    ) -> None:
        producer = KafkaProducer(
            **self._common,
            compression_type=None if codec == "none" else codec,
            acks=ACKS[acks],
            enable_idempotence=idempotent,
            linger_ms=5,
            max_request_size=100_000_000,
        )
        try:
            sent = [
                producer.send(
                    topic,
                    value=message.value,
                    key=message.key,
                    headers=list(message.headers),
                    partition=message.partition,
                    timestamp_ms=message.timestamp,
                )
                for message in messages
            ]
            producer.flush(SECONDS)
            for future in sent:
                future.get(SECONDS)
        except KafkaError as error:
            raise ProduceFailed(type(error).__name__) from error
        finally:
            producer.close(SECONDS)

    def consume(
        self, topic: str, start: Start, count: int, *, partition: int = 0, ready: Callable[[], None] | None = None
    ) -> list[Received]:
        where = TopicPartition(topic, partition)
        patience = Patience(f"{self.name} consuming {topic}-{partition}")
        received: list[Received] = []
        with self._consumer() as consumer:
            consumer.assign([where])
            self._seek(consumer, where, start)
            consumer.position(where)
            if ready is not None:
                ready()
            while len(received) < count:
                patience.check(len(received), count)
                for records in consumer.poll(200, max_records=min(10_000, count - len(received))).values():
                    received.extend(_received(record) for record in records)
        return received

    def _seek(self, consumer: KafkaConsumer, where: TopicPartition, start: Start) -> None:
        if start == EARLIEST:
            consumer.seek_to_beginning(where)
        elif start == LATEST:
            consumer.seek_to_end(where)
        elif isinstance(start, Timestamp):
            consumer.seek(where, consumer.offsets_for_times({where: start.ms})[where].offset)
        else:
            consumer.seek(where, start)

    def offsets(self, topic: str, partition: int = 0) -> tuple[int, int]:
        where = TopicPartition(topic, partition)
        with self._consumer() as consumer:
            return consumer.beginning_offsets([where])[where], consumer.end_offsets([where])[where]

    def topics(self) -> dict[str, int]:
        with self._admin() as admin:
            return {topic["name"]: len(topic["partitions"]) for topic in admin.describe_topics()}

    def cluster(self) -> Cluster:
        with self._admin() as admin:
            found = admin.describe_cluster()
        return Cluster(
            found["cluster_id"], {node["broker_id"]: (node["host"], node["port"]) for node in found["brokers"]}
        )

    def create_topic(self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        wanted = {"num_partitions": partitions, "replication_factor": 1, "configs": dict(configs or {})}
        with self._admin() as admin:
            admin.create_topics({topic: wanted})

    def delete_topic(self, topic: str) -> None:
        with self._admin() as admin:
            admin.delete_topics([topic])

    def create_partitions(self, topic: str, total: int) -> None:
        with self._admin() as admin:
            admin.create_partitions({topic: total})

    def _configs(self, resource: ConfigResource) -> dict[str, str | None]:
        with self._admin() as admin:
            found: dict[str, Any] = admin.describe_configs([resource], config_filter="all")
        ((_, by_name),) = found.items()
        return {name: entry["value"] for name, entry in by_name[resource.name].items()}

    def topic_configs(self, topic: str) -> dict[str, str | None]:
        return self._configs(ConfigResource(ConfigResourceType.TOPIC, topic))

    def broker_configs(self, broker: int) -> dict[str, str | None]:
        return self._configs(ConfigResource(ConfigResourceType.BROKER, str(broker)))

    def alter_topic_configs(self, topic: str, changes: Mapping[str, str]) -> None:
        with self._admin() as admin:
            answer = admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, dict(changes))])
        if answer["topic"][topic] != "OK":
            raise KafkaError(answer["topic"][topic])

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        where = TopicPartition(topic, partition)
        with self._admin() as admin:
            return int(admin.delete_records({where: before})[where]["low_watermark"])

    def log_sizes(self) -> dict[tuple[str, int], int]:
        sizes: dict[tuple[str, int], int] = {}
        with self._admin() as admin:
            for broker in admin.describe_log_dirs():
                for directory in broker["log_dirs"]:
                    for topic in directory["topics"]:
                        for found in topic["partitions"]:
                            sizes[topic["name"], found["partition_index"]] = found["partition_size"]
        return sizes


def _received(record: Any) -> Received:
    return Received(
        record.partition, record.offset, record.timestamp, record.key, record.value, tuple(record.headers or ())
    )
