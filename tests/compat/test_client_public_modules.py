"""What programs import from beside the clients themselves, used as they would use it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import kafka.partitioner
import pytest

from moldau import AsyncConsumerRebalanceListener, KafkaConsumer, KafkaProducer, TopicPartition
from moldau.aio import AIOKafkaClient
from moldau.assignors import RoundRobinPartitionAssignor
from moldau.consumer import ConsumerRecord
from moldau.future import Future
from moldau.partitioner import DefaultPartitioner, StickyPartitioner, murmur2
from moldau.producer import RecordMetadata
from moldau.protocol.messages.metadata import MetadataRequest
from moldau.serializer import DeserializeWrapper, SerializeWrapper


@pytest.mark.parametrize("key", [b"", b"a", b"praha", b"\xff" * 13])
def test_keys_go_where_kafka_python_sends_them(key: bytes) -> None:
    assert murmur2(key) == kafka.partitioner.murmur2(key)
    theirs = kafka.partitioner.DefaultPartitioner()
    for partitions in (1, 7, 50):
        everything = list(range(partitions))
        chosen = DefaultPartitioner()(key, everything, everything)
        assert chosen == theirs.partition("t", None, key, None, None, _Cluster(everything))
        assert DefaultPartitioner()(None, everything, everything[:1]) == 0


class _Cluster:
    def __init__(self, partitions: list[int]) -> None:
        self._partitions = set(partitions)

    def topics(self) -> set[str]:
        return {"t"}

    def partitions_for_topic(self, topic: str) -> set[int]:
        return self._partitions

    available_partitions_for_topic = partitions_for_topic


def test_objects_of_these_modules_work_in_clients(bootstrap: str, topic: str) -> None:
    for partitioner in (DefaultPartitioner(), StickyPartitioner()):
        with KafkaProducer(
            bootstrap_servers=bootstrap, partitioner=partitioner, value_serializer=SerializeWrapper(str.encode)
        ) as producer:
            future: Any = Future()
            producer.send(topic, "x", key=b"k").chain(future)
            assert isinstance(future.get(10), RecordMetadata)
    told: list[Any] = []

    class Listener(AsyncConsumerRebalanceListener):
        async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
            await asyncio.sleep(0)
            told.append(set(assigned))

    with KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=topic,
        auto_offset_reset="earliest",
        partition_assignment_strategy=[RoundRobinPartitionAssignor],
        value_deserializer=DeserializeWrapper(bytes.decode),
    ) as consumer:
        consumer.subscribe([topic], listener=Listener())
        record = next(consumer)
        assert isinstance(record, ConsumerRecord)
        assert record.value == "x"
    assert told == [{TopicPartition(topic, 0)}]


def test_brokers_asked_directly(bootstrap: str, topic: str) -> None:
    async def work() -> None:
        async with AIOKafkaClient(bootstrap_servers=bootstrap) as client:
            node = client.get_random_node()
            assert node is not None
            assert await client.ready(node)
            assert not await client.add_topic(topic)
            answer = await client.send(node, MetadataRequest(topics=[]))
            assert [broker.node_id for broker in answer.brokers] == [node]
            assert await client.coordinator_lookup(0, topic) == node
            assert topic not in (await client.fetch_all_metadata()).topics()

    asyncio.run(work())
