"""Topics, settings and the cluster as the clients' own admin calls see and change them."""

from __future__ import annotations

import pytest

from clients import EARLIEST, Client, ConfluentKafka, Message, any_record, eventually, offering


def test_topics_are_listed(client: Client, topic: str) -> None:
    client.create_topic(topic)
    eventually(lambda: client.topics().get(topic) == 1)


def test_the_cluster_names_its_brokers(client: Client, bootstrap: str) -> None:
    host, port = bootstrap.rsplit(":", 1)
    assert (host, int(port)) in client.cluster().brokers.values()


@offering("create_partitions")
def test_a_topic_has_the_partitions_asked_for_and_can_grow(client: Client, topic: str) -> None:
    client.create_topic(topic, partitions=3)
    eventually(lambda: client.topics().get(topic) == 3)
    client.create_partitions(topic, 5)
    eventually(lambda: client.topics()[topic] == 5)
    client.produce(topic, [Message(value=b"new", partition=4)])
    assert len(client.consume(topic, EARLIEST, 1, partition=4)) == 1


@offering("delete_topic")
def test_a_deleted_topic_is_gone_and_its_name_is_free(client: Client, topic: str) -> None:
    client.create_topic(topic)
    client.produce(topic, [Message(value=b"old")])
    client.delete_topic(topic)
    eventually(lambda: topic not in client.topics())
    client.create_topic(topic)
    eventually(lambda: client.topics().get(topic) == 1)
    assert client.offsets(topic) == (0, 0)


@offering("delete_topic")
def test_a_topic_cannot_be_created_twice(client: Client, topic: str) -> None:
    client.create_topic(topic)
    with pytest.raises(Exception, match=r"(?i)already.?exists"):
        client.create_topic(topic)


@offering("delete_topic")
@pytest.mark.parametrize("name", ["", ".", "..", "no spaces", "x" * 250, "größe"])
def test_a_bad_topic_name_is_refused(client: Client, name: str) -> None:
    with pytest.raises(Exception, match=r"(?i)invalid|topic"):
        client.create_topic(name)


@offering("topic_configs")
def test_settings_of_a_topic(client: Client, topic: str) -> None:
    client.create_topic(topic, configs={"retention.ms": "12345"})
    configs = client.topic_configs(topic)
    assert configs["retention.ms"] == "12345"
    assert configs["segment.bytes"] == "1073741824"
    assert configs["cleanup.policy"] == "delete"


@offering("alter_topic_configs")
def test_settings_of_a_topic_can_be_changed(client: Client, topic: str) -> None:
    client.create_topic(topic, configs={"retention.ms": "12345"})
    client.alter_topic_configs(topic, {"retention.ms": "54321", "max.message.bytes": "2000"})
    eventually(lambda: client.topic_configs(topic)["retention.ms"] == "54321")
    assert client.topic_configs(topic)["max.message.bytes"] == "2000"


@offering("alter_topic_configs")
def test_a_bad_setting_is_refused(client: Client, topic: str) -> None:
    client.create_topic(topic)
    with pytest.raises(Exception, match=r"(?i)retention|invalid"):
        client.alter_topic_configs(topic, {"retention.ms": "a while"})
    assert client.topic_configs(topic)["retention.ms"] == "604800000"


@offering("broker_configs")
def test_settings_of_the_broker(client: Client) -> None:
    (broker,) = client.cluster().brokers
    configs = client.broker_configs(broker)
    assert configs["num.partitions"] == "1"
    assert configs["log.retention.hours"] == "168"


@offering("delete_records")
def test_records_can_be_deleted_from_the_beginning(client: Client, topic: str) -> None:
    client.create_topic(topic)
    client.produce(topic, [Message(value=b"%d" % number) for number in range(100)])
    assert client.delete_records(topic, 0, 40) == 40
    assert client.offsets(topic) == (40, 100)
    received = client.consume(topic, EARLIEST, 60)
    assert [record.offset for record in received] == list(range(40, 100))


@offering("log_sizes")
def test_log_directories_tell_what_a_partition_takes(client: Client, topic: str) -> None:
    client.create_topic(topic, partitions=2)
    client.produce(topic, [Message(value=b"x" * 10_000)])
    sizes = client.log_sizes()
    assert 10_000 < sizes[topic, 0] < 11_000
    assert sizes[topic, 1] == 0


@any_record
def test_every_client_sees_the_same_cluster_id(client: Client, bootstrap: str) -> None:
    assert client.cluster().id == ConfluentKafka(bootstrap).cluster().id
