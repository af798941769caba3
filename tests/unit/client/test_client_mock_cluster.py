"""The client against a broker that is not ours and knows neither our bugs nor our habits: librdkafka's, in C."""

from __future__ import annotations

from collections.abc import Iterator

import confluent_kafka
import pytest

from moldau import KafkaConsumer, KafkaProducer
from moldau.client.admin import EARLIEST, LATEST, describe_cluster, describe_topics, list_offsets, list_topics
from moldau.client.cluster import Cluster
from moldau.client.consumer.fetched import ConsumerRecord
from moldau.client.consumer.partition_reader import PartitionReader
from moldau.client.partitioner import partition_for_key
from moldau.client.producer.topic_writer import TopicWriter
from moldau.client.producing import ALL
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.join_group import JoinGroupRequest
from moldau.protocol.messages.leave_group import LeaveGroupRequest
from moldau.protocol.messages.sync_group import SyncGroupRequest
from moldau.protocol.records import Compression
from moldau.types import TopicPartition


@pytest.fixture
def cluster(mock_cluster: str) -> Iterator[Cluster]:
    with Cluster(mock_cluster, client_id="tester") as cluster:
        yield cluster


def read(cluster: Cluster, topic: str, count: int) -> dict[TopicPartition, list[ConsumerRecord]]:
    (described,) = cluster.run(describe_topics([topic]))
    found: dict[TopicPartition, list[ConsumerRecord]] = {
        TopicPartition(topic, index): [] for index in described.partitions
    }
    reader = PartitionReader(cluster, dict.fromkeys(found, 0))
    while sum(len(records) for records in found.values()) < count:
        for part in reader.poll(5.0):
            found[part.where].extend(part.take(10_000))
    return found


def test_agrees_on_versions_although_the_mock_refuses_in_an_odd_way(cluster: Cluster) -> None:
    ranges = cluster.versions().ranges
    assert ApiKey.PRODUCE in ranges
    assert ApiKey.CREATE_TOPICS not in ranges


def test_describes_the_cluster_without_describe_cluster(cluster: Cluster) -> None:
    description = cluster.run(describe_cluster())
    assert [broker.id for broker in description.brokers] == [1, 2, 3]
    assert description.cluster_id is not None


@pytest.mark.parametrize("acks", [0, 1, ALL])
@pytest.mark.parametrize("compression", list(Compression))
def test_what_goes_in_comes_out(cluster: Cluster, compression: Compression, acks: int) -> None:
    topic = f"through-{compression.name.lower()}-{acks}"
    writer = TopicWriter(cluster, topic, compression=compression, acks=acks, batch_bytes=2000)
    sent = [(b"key %d" % (number % 17), b"value %d" % number) for number in range(1000)]
    for key, value in sent:
        writer.append(value, key, [("number", value)])
    writer.flush()
    assert writer.records == 1000
    for where, records in read(cluster, topic, 1000).items():
        expected = [pair for pair in sent if partition_for_key(pair[0], 4) == where.partition]
        assert [(record.key, record.value) for record in records] == expected
        assert all(record.headers == [("number", record.value)] for record in records)
        assert [record.offset for record in records] == list(range(len(records)))


def test_confluent_reads_what_we_write(cluster: Cluster, mock_cluster: str) -> None:
    writer = TopicWriter(cluster, "to-confluent", compression=Compression.LZ4)
    for number in range(500):
        writer.append(b"%d" % number, b"k", partition=2)
    writer.flush()
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": mock_cluster, "group.id": "readers", "auto.offset.reset": "earliest", "log_level": 0}
    )
    consumer.assign([confluent_kafka.TopicPartition("to-confluent", 2, 0)])
    received: list[bytes | None] = []
    while len(received) < 500:
        batch = consumer.consume(500, timeout=60)
        assert batch, f"only {len(received)} records came"
        received += [message.value() for message in batch if message.error() is None]
    consumer.close()
    assert received == [b"%d" % number for number in range(500)]


def test_we_read_what_confluent_writes_and_agree_on_partitions(cluster: Cluster, mock_cluster: str) -> None:
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": mock_cluster, "partitioner": "murmur2", "compression.type": "zstd", "log_level": 0}
    )
    keys = [b"key %d" % number for number in range(300)]
    for key in keys:
        producer.produce("from-confluent", key + b" value", key, headers=[("h", b"x")])
    assert producer.flush(10) == 0
    for where, records in read(cluster, "from-confluent", 300).items():
        assert {record.key for record in records} == {
            key for key in keys if partition_for_key(key, 4) == where.partition
        }
        assert all(record.headers == [("h", b"x")] for record in records)


def test_offsets_and_topics(cluster: Cluster) -> None:
    writer = TopicWriter(cluster, "counted")
    for _ in range(5):
        writer.append(b"x", partition=3)
    writer.flush()
    assert "counted" in [topic.name for topic in cluster.run(list_topics())]
    where = TopicPartition("counted", 3)
    for moment, offset in ((EARLIEST, 0), (LATEST, 5)):
        found = cluster.run(list_offsets({where: moment}))[where]
        assert not isinstance(found, KafkaError)
        assert found.offset == offset


def test_reading_beyond_the_end_is_an_error_that_names_the_partition(cluster: Cluster) -> None:
    TopicWriter(cluster, "short")
    reader = PartitionReader(cluster, {TopicPartition("short", 0): 1000})
    with pytest.raises(KafkaError, match="short-0 has no offset 1000"):
        reader.poll(10.0)


def test_a_group_in_the_versions_the_mock_can_read(mock_cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It offers JoinGroup 6 and SyncGroup 4, the first flexible ones, and reads their arrays as the versions before
    have them: it finds 50 million protocols and hangs up. One version lower it is a coordinator like any other."""
    monkeypatch.setattr(JoinGroupRequest, "MAX_VERSION", 5)
    monkeypatch.setattr(SyncGroupRequest, "MAX_VERSION", 3)
    monkeypatch.setattr(LeaveGroupRequest, "MAX_VERSION", 2)  # its answers to later ones name no members
    with KafkaProducer(bootstrap_servers=mock_cluster) as producer:
        for number in range(100):
            producer.send("in-a-group", b"%d" % number, partition=0)
    settings = {"bootstrap_servers": mock_cluster, "group_id": "readers-here", "auto_offset_reset": "earliest"}
    with KafkaConsumer("in-a-group", consumer_timeout_ms=15_000, **settings) as consumer:
        assert [next(consumer).value for _ in range(100)] == [b"%d" % number for number in range(100)]
        consumer.commit()
        assert consumer.committed(TopicPartition("in-a-group", 0)) == 100
