"""`KafkaAdminClient` against a running node."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from moldau import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition, errors
from moldau.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, NewPartitions, NewTopic


@pytest.fixture
def admin(bootstrap: str) -> Iterator[KafkaAdminClient]:
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        yield admin


def test_topics_from_creation_to_deletion(admin: KafkaAdminClient, topic: str) -> None:
    admin.create_topics([NewTopic(topic, num_partitions=2, replication_factor=1)])
    admin.create_topics({f"{topic}-other": {"num_partitions": 3, "configs": {"retention.ms": "1000"}}})
    with pytest.raises(errors.TopicAlreadyExistsError):
        admin.create_topics([topic])
    assert admin.create_topics([topic], raise_errors=False)["topics"][0]["error_code"] == 36
    assert {topic, f"{topic}-other"} <= set(admin.list_topics())
    admin.create_partitions({topic: NewPartitions(5)})
    (described,) = admin.describe_topics([topic])
    assert [each["partition_index"] for each in described["partitions"]] == [0, 1, 2, 3, 4]
    admin.delete_topics(topics=[topic])
    assert topic not in admin.list_topics()
    with pytest.raises(errors.UnknownTopicOrPartitionError):
        admin.delete_topics([topic])


def test_settings(admin: KafkaAdminClient, topic: str) -> None:
    admin.create_topics([topic])
    resource = ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": "5000", "cleanup.policy": "compact"})
    admin.alter_configs([resource])
    found = admin.describe_configs([ConfigResource("topic", topic)])["topic"][topic]
    assert {name: entry["value"] for name, entry in found.items()} == {
        "retention.ms": "5000",
        "cleanup.policy": "compact",
    }
    admin.reset_configs([ConfigResource("topic", topic, ["retention.ms"])])
    assert set(admin.describe_configs([ConfigResource("topic", topic)])["topic"][topic]) == {"cleanup.policy"}
    with pytest.raises(errors.InvalidConfigurationError):
        admin.alter_configs([ConfigResource("topic", topic, {"retention.ms": "soon"})])


def test_groups_and_their_offsets(bootstrap: str, admin: KafkaAdminClient, topic: str) -> None:
    admin.create_topics([topic])
    where = TopicPartition(topic, 0)
    with KafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=topic) as consumer:
        deadline = time.monotonic() + 15
        while not consumer.assignment() and time.monotonic() < deadline:
            consumer.poll(100)
        consumer.commit({where: OffsetAndMetadata(7, "note")})
        described = admin.describe_groups([topic])[topic]
        assert described["group_state"].lower() == "stable"
        assert described["members"][0]["member_assignment"] == [where]
        assert topic in {each["group_id"] for each in admin.list_groups()}
        assert (topic, "consumer") in admin.list_consumer_groups()
        assert admin.list_group_offsets(topic)[topic][where][:2] == (7, "note")
    admin.alter_group_offsets(topic, {where: 3})
    assert admin.list_consumer_group_offsets(topic)[where].offset == 3
    admin.delete_groups([topic])
    assert topic not in {each["group_id"] for each in admin.list_groups()}


def test_records_offsets_and_the_cluster(bootstrap: str, admin: KafkaAdminClient, topic: str) -> None:
    where = TopicPartition(topic, 0)
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for _ in range(10):
            producer.send(topic, b"x", partition=0)
    assert admin.delete_records({where: 4}) == {where: {"low_watermark": 4}}
    assert admin.list_partition_offsets({where: -2})[where].offset == 4
    assert admin.list_partition_offsets({where: -1})[where].offset == 10
    cluster = admin.describe_cluster()
    assert f"{cluster['brokers'][0]['host']}:{cluster['brokers'][0]['port']}" == bootstrap
    assert any(f"{topic}-0" in each["replicas"] for each in admin.describe_log_dirs())
