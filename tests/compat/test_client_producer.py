"""`KafkaProducer` against a running node, read back by an independent client where it matters."""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Iterator
from typing import Any

import confluent_kafka
import pytest

from moldau import JsonSerializer, KafkaConsumer, KafkaProducer, TopicPartition, errors
from moldau.client.admin import NewTopic, create_topics
from moldau.client.cluster import Cluster


@pytest.fixture
def producer(bootstrap: str) -> Iterator[KafkaProducer]:
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        yield producer


def create(bootstrap: str, topic: str, partitions: int = 1, **configs: str) -> None:
    settings = {name.replace("_", "."): value for name, value in configs.items()}
    with Cluster(bootstrap) as cluster:
        (outcome,) = cluster.run(create_topics([NewTopic(topic, partitions, configs=settings)]))
    assert outcome.error is None


def read(bootstrap: str, topic: str, count: int, partitions: int = 1) -> list[confluent_kafka.Message]:
    """By librdkafka, which knows neither our bugs nor our habits."""
    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "log_level": 0})
    consumer.assign([confluent_kafka.TopicPartition(topic, number, 0) for number in range(partitions)])
    messages: list[confluent_kafka.Message] = []
    while len(messages) < count:
        found = consumer.consume(count - len(messages), 60.0)
        assert found, f"{len(messages)} of {count} records came"
        messages += found
    consumer.close()
    return messages


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_what_is_sent_can_be_read_by_others(bootstrap: str, topic: str, codec: str | None, acks: Any) -> None:
    create(bootstrap, topic)
    sent = [(b"key %d" % number, b"value %d" % number * 10) for number in range(2000)]
    with KafkaProducer(bootstrap_servers=bootstrap, compression_type=codec, acks=acks) as producer:
        for key, value in sent:
            producer.send(topic, value, key, headers=[("number", value)], timestamp_ms=1_700_000_000_000)
    messages = read(bootstrap, topic, len(sent))
    assert [(message.key(), message.value()) for message in messages] == sent
    assert all(message.headers() == [("number", message.value())] for message in messages)
    assert {message.timestamp()[1] for message in messages} == {1_700_000_000_000}


def test_the_future_says_where_the_record_is(producer: KafkaProducer, topic: str) -> None:
    first, second = producer.send(topic, b"abc", key=b"k"), producer.send(topic, None, key=b"key")
    metadata = second.get(10)
    assert (metadata.topic, metadata.partition, metadata.offset) == (topic, 0, 1)
    assert metadata.topic_partition == TopicPartition(topic, 0)
    assert (metadata.serialized_key_size, metadata.serialized_value_size) == (3, -1)
    assert first.succeeded()
    assert first.value is not None
    assert first.value.offset == 0


def test_callbacks_are_called_before_and_after_the_fact(producer: KafkaProducer, topic: str) -> None:
    called = threading.Event()
    seen: list[Any] = []

    def callback(*arguments: Any) -> None:
        seen.append(arguments)
        called.set()

    future = producer.send(topic, b"x").add_callback(callback, "extra").add_errback(seen.append)
    assert called.wait(10)
    future.add_callback(seen.append)
    assert seen == [("extra", future.get(0)), future.get(0)]


def test_keys_go_where_the_java_client_puts_them(bootstrap: str, producer: KafkaProducer, topic: str) -> None:
    create(bootstrap, topic, 7)
    reference = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "partitioner": "murmur2_random"})
    expected: dict[bytes, int] = {}
    keys = [os.urandom(length) for length in range(1, 60)]
    for key in keys:
        reference.produce(topic, b"", key, on_delivery=lambda _e, m: expected.update({m.key(): m.partition()}))
    reference.flush(15)
    assert {key: producer.send(topic, b"", key).get(10).partition for key in keys} == expected


def test_records_without_a_key_use_all_partitions(bootstrap: str, producer: KafkaProducer, topic: str) -> None:
    create(bootstrap, topic, 4)
    futures = [producer.send(topic, b"x" * 1000) for _ in range(1000)]
    assert {future.get(10).partition for future in futures} == {0, 1, 2, 3}


def test_many_threads_share_a_producer(bootstrap: str, producer: KafkaProducer, topic: str) -> None:
    create(bootstrap, topic, 3)

    def send(name: int) -> None:
        for number in range(3000):
            producer.send(topic, b"%d:%d" % (name, number), partition=name % 3, headers=[("n", b"1")])

    threads = [threading.Thread(target=send, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    producer.flush(30)
    by_sender: dict[bytes, list[int]] = {}
    for message in read(bootstrap, topic, 18_000, 3):
        name, number = message.value().split(b":")
        by_sender.setdefault(name, []).append(int(number))
    assert all(numbers == list(range(3000)) for numbers in by_sender.values())
    assert len(by_sender) == 6


def test_serializers_and_partitioners_of_the_application(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, 3)

    class Last:
        def partition(self, topic: str, key: Any, key_bytes: Any, value: Any, value_bytes: Any, cluster: Any) -> int:
            return max(cluster.partitions_for_topic(topic))

    with KafkaProducer(
        bootstrap_servers=bootstrap, key_serializer=str.encode, value_serializer=JsonSerializer(), partitioner=Last()
    ) as producer:
        assert producer.send(topic, {"a": 1}, key="k").get(10).partition == 2
    with KafkaProducer(bootstrap_servers=[bootstrap], key_serializer=str.encode) as producer:
        producer.send(topic, b"plain", key="k", partition=2).get(10)
    messages = read(bootstrap, topic, 2, 3)
    assert [(message.key(), message.value()) for message in messages] == [(b"k", b'{"a": 1}'), (b"k", b"plain")]


def test_a_batch_that_is_too_large_is_split(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, max_message_bytes="20000")
    with KafkaProducer(bootstrap_servers=bootstrap, linger_ms=200, batch_size=500_000) as producer:
        futures = [producer.send(topic, b"%3d" % number + bytes(1000)) for number in range(100)]
        assert [future.get(20).offset for future in futures] == list(range(100))
        assert producer.metrics()["producer-metrics"]["batch-split-total"] > 0
        with pytest.raises(errors.MessageSizeTooLargeError):
            producer.send(topic, bytes(30_000)).get(10)
        assert producer.send(topic, b"and on it goes").get(10).offset == 100
    values = [message.value()[:3] for message in read(bootstrap, topic, 101)]
    assert values[:100] == [b"%3d" % number for number in range(100)]


def test_refusals_that_need_no_broker(producer: KafkaProducer, topic: str) -> None:
    with pytest.raises(ValueError, match="key or a value"):
        producer.send(topic)
    with pytest.raises(TypeError):
        producer.send(topic, "text")
    with pytest.raises(TypeError):
        producer.send(topic, b"x", headers=[("name", "text")])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="no partition 9"):
        producer.send(topic, b"x", partition=9)
    with pytest.raises(errors.MessageSizeTooLargeError):
        producer.send(topic, bytes(2_000_000))
    with pytest.raises(ValueError, match="cannot be the name of a topic"):
        producer.send("no spaces allowed", b"x")
    producer.close()
    with pytest.raises(errors.IllegalStateError):
        producer.send(topic, b"x")


def test_memory_is_bounded_and_waited_for(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic)
    value = zlib.compress(os.urandom(1000))
    with KafkaProducer(bootstrap_servers=bootstrap, buffer_memory=100_000, linger_ms=1000) as producer:
        futures = [producer.send(topic, value) for _ in range(2000)]
        assert producer.metrics()["producer-metrics"]["buffer-available-bytes"] >= 0
        producer.flush(20)
        assert all(future.succeeded() for future in futures)


def test_closing_leaves_no_thread_and_no_descriptor(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic)
    threads, descriptors = set(threading.enumerate()), len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        producer = KafkaProducer(bootstrap_servers=bootstrap)
        producer.send(topic, b"x")
        consumer = KafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=topic)
        consumer.poll(100)
        producer.close()
        consumer.close()
    assert set(threading.enumerate()) == threads
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_nobody_there() -> None:
    with pytest.raises(errors.NoBrokersAvailable):
        KafkaProducer(bootstrap_servers="127.0.0.1:1", bootstrap_timeout_ms=300)


@pytest.mark.parametrize(
    "wrong",
    [
        {"acks": 2},
        {"compression_type": "zip"},
        {"bootstrap_server": "localhost"},
        {"security_protocol": "TLS"},
        {"sasl_mechanism": "PLAIN"},
        {"enable_idempotence": True, "acks": 1},
        {"delivery_timeout_ms": 10},
    ],
)
def test_settings_that_make_no_sense_are_refused(bootstrap: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(errors.KafkaConfigurationError):
        KafkaProducer(**{"bootstrap_servers": bootstrap, **wrong})
