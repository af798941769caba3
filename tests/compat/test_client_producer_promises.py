"""What `KafkaProducer` promises about batches, time, memory and its end, each with a broker that makes it matter."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from moldau import KafkaConsumer, KafkaProducer, TopicPartition, errors
from moldau.client.admin import NewTopic, create_topics
from moldau.client.cluster import Cluster as AdminCluster
from moldau.client.producer.batch import Batch
from moldau.testing import Cluster
from whole_topics import read_to_the_end


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """One that can be made to hang."""
    with Cluster(proxied=True) as cluster:
        yield cluster


def create(bootstrap: str, topic: str, partitions: int = 1) -> None:
    with AdminCluster(bootstrap) as cluster:
        cluster.run(create_topics([NewTopic(topic, partitions)]))


def metrics(producer: KafkaProducer) -> dict[str, float]:
    return producer.metrics()["producer-metrics"]


# --------------------------------------------------------------------------------------------------------- batches


def test_records_that_come_within_linger_share_a_batch(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic)
    with KafkaProducer(bootstrap_servers=bootstrap, linger_ms=60_000, delivery_timeout_ms=200_000) as producer:
        for _ in range(50):
            producer.send(topic, b"x")
            time.sleep(0.001)
        assert metrics(producer)["request-total"] == 0
        producer.flush(20)  # which waits for no linger
        assert (metrics(producer)["request-total"], metrics(producer)["records-per-batch-avg"]) == (1, 50)


def test_a_batch_does_not_outgrow_the_size_it_was_given(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic)
    with KafkaProducer(
        bootstrap_servers=bootstrap, linger_ms=60_000, delivery_timeout_ms=200_000, batch_size=10_000
    ) as producer:
        futures = [producer.send(topic, bytes(900)) for _ in range(100)]
        futures[0].get(20)  # full batches go without waiting for linger
        producer.flush(20)
        assert metrics(producer)["batch-size-max"] <= 10_000
        assert metrics(producer)["records-per-batch-avg"] == 10
        # One that is larger than a batch has one to itself.
        producer.send(topic, bytes(50_000))
        producer.flush(20)
        assert metrics(producer)["batch-size-max"] > 50_000


@pytest.mark.parametrize(("codec", "weak", "strong"), [("gzip", 1, 9), ("lz4", 1, 12), ("zstd", 1, 19)])
def test_levels_of_compression(bootstrap: str, topic: str, codec: str, weak: int, strong: int) -> None:
    create(bootstrap, topic)
    dice = random.Random(7)
    text = b" ".join(b"%d" % (dice.randrange(30) * dice.randrange(30)) for _ in range(40_000))
    sizes = []
    for level in (weak, strong):
        with KafkaProducer(bootstrap_servers=bootstrap, compression_type=codec, compression_level=level) as producer:
            producer.send(topic, text)
            producer.flush(20)
            sizes.append(metrics(producer)["outgoing-byte-total"])
            assert 0 < metrics(producer)["compression-rate-avg"] < 1
    assert sizes[1] < sizes[0] < len(text)
    with KafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        assert [record.value for record in read_to_the_end(consumer)] == [text, text]


# ---------------------------------------------------------------------------------------------------- interceptors


class Counting:
    """Adds a header on the way out, and keeps what it is told."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.told: list[tuple[Any, Any]] = []
        self.closed = 0

    def close(self) -> None:
        self.closed += 1

    def on_send(self, topic: str, value: Any, key: Any, headers: Any, partition: Any, timestamp_ms: Any) -> Any:
        return topic, value + self.name.encode(), key, [*(headers or ()), (self.name, b"1")], partition, timestamp_ms

    def on_acknowledgement(self, metadata: Any, exception: Any = None) -> None:
        self.told.append((metadata, exception))


def test_interceptors_see_records_go_and_arrive(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic)
    first, second = Counting("a"), Counting("b")
    with KafkaProducer(bootstrap_servers=bootstrap, interceptors=[first, second]) as producer:
        offsets = [producer.send(topic, b"%d" % number).get(10).offset for number in range(3)]
        with pytest.raises(errors.MessageSizeTooLargeError):
            producer.send(topic, bytes(2_000_000))
    for each in (first, second):
        assert [metadata.offset for metadata, _ in each.told[:3]] == offsets == [0, 1, 2]
        assert [error for _, error in each.told[:3]] == [None] * 3
        assert isinstance(each.told[3][1], errors.MessageSizeTooLargeError)
        assert each.closed == 1
    with KafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        records = read_to_the_end(consumer)
        assert len(records) == 3
        for number, record in enumerate(records):
            assert record.value == b"%dab" % number  # in the order they were given
            assert record.headers == [("a", b"1"), ("b", b"1")]


def test_interceptors_hear_of_failures_and_their_own_harm_nobody(cluster: Cluster) -> None:
    class Broken(Counting):
        def on_send(self, *record: Any) -> Any:
            raise ZeroDivisionError

        def on_acknowledgement(self, metadata: Any, exception: Any = None) -> None:
            super().on_acknowledgement(metadata, exception)
            raise ZeroDivisionError

    with AdminCluster(cluster.bootstrap_servers) as admin:
        admin.run(create_topics([NewTopic("rivers", 1, configs={"max.message.bytes": "500"})]))
    broken, sound = Broken("broken"), Counting("sound")
    with KafkaProducer(
        bootstrap_servers=cluster.bootstrap_servers,
        interceptors=[broken, sound],
    ) as producer:
        assert producer.send("rivers", b"x").get(60).offset == 0
        with pytest.raises(errors.MessageSizeTooLargeError):
            producer.send("rivers", os.urandom(1000)).get(60)
    for each in (broken, sound):
        assert each.told[0][1] is None
        assert isinstance(each.told[1][1], errors.MessageSizeTooLargeError)
        assert each.told[1][0] is None


# ------------------------------------------------------------------------------------------- time, memory, the end


def know_the_topic(producer: KafkaProducer, topic: str) -> None:
    """As often as it takes: on a busy machine the first answer about a topic may take longer than `max_block_ms`."""
    deadline = time.monotonic() + 60
    while True:
        try:
            producer.send(topic, b"x").get(60)
            return
        except errors.KafkaTimeoutError:
            assert time.monotonic() < deadline


def test_send_waits_no_longer_than_max_block_ms(cluster: Cluster) -> None:
    with KafkaProducer(
        bootstrap_servers=cluster.bootstrap_servers, buffer_memory=50_000, max_block_ms=300, delivery_timeout_ms=60_000
    ) as producer:
        know_the_topic(producer, "rivers")
        cluster.nodes[0].pause()
        sent = []

        def fill() -> None:
            while True:
                sent.append(producer.send("rivers", bytes(1000)))

        with pytest.raises(errors.KafkaTimeoutError, match="memory"):
            fill()
        assert 40 <= len(sent) < 50
        assert metrics(producer)["buffer-available-bytes"] < 1100
        with pytest.raises(errors.KafkaTimeoutError):
            producer.send("a topic nobody can ask about now".replace(" ", "-"), b"x")
        cluster.nodes[0].resume()
        producer.flush(30)
        assert all(future.succeeded() for future in sent)
        assert metrics(producer)["buffer-available-bytes"] == 50_000


def test_a_record_fails_after_delivery_timeout_and_what_follows_does_not(cluster: Cluster) -> None:
    with KafkaProducer(
        bootstrap_servers=cluster.bootstrap_servers, request_timeout_ms=1000, delivery_timeout_ms=8000
    ) as producer:
        producer.send("rivers", b"before").get(60)
        cluster.nodes[0].kill()
        late = [producer.send("rivers", b"late %d" % number) for number in range(3)]
        for future in late:
            with pytest.raises(errors.KafkaTimeoutError):
                future.get(60)
        assert metrics(producer)["record-error-total"] == 3
        cluster.nodes[0].start()
        producer.send("rivers", b"after").get(20)
    with KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition("rivers", 0)])
        assert [record.value for record in read_to_the_end(consumer)] == [b"before", b"after"]


def test_flush_gives_up_when_told_to_and_the_records_do_not(cluster: Cluster) -> None:
    with KafkaProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        producer.send("rivers", b"x").get(10)
        cluster.nodes[0].pause()
        future = producer.send("rivers", b"y")
        with pytest.raises(errors.KafkaTimeoutError):
            producer.flush(0.2)
        assert not future.is_done
        cluster.nodes[0].resume()
        assert future.get(20).offset == 1


@pytest.mark.parametrize("timeout", [0, 0.3])
def test_close_gives_up_when_told_to_and_leaves_nothing(cluster: Cluster, timeout: float) -> None:
    threads, descriptors = set(threading.enumerate()), len(os.listdir("/proc/self/fd"))
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers)
    producer.send("rivers", b"x").get(10)
    cluster.nodes[0].pause()
    futures = [producer.send("rivers", b"y") for _ in range(10)]
    producer.close(timeout)
    for future in futures:
        with pytest.raises(errors.KafkaTimeoutError, match="closed"):
            future.get(0)
    assert set(threading.enumerate()) == threads
    assert len(os.listdir("/proc/self/fd")) <= descriptors + 2  # the proxy may not have noticed yet
    cluster.nodes[0].resume()


def test_close_without_a_limit_sends_everything(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic)
    producer = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=60_000, delivery_timeout_ms=200_000)
    futures = [producer.send(topic, b"%d" % number) for number in range(1000)]
    producer.close()
    assert [future.get(0).offset for future in futures] == list(range(1000))
    producer.close()  # once more does nothing


def test_records_that_cannot_be_packed_have_failed(bootstrap: str, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    create(bootstrap, topic)

    def no_memory(*_arguments: Any) -> bytes:
        monkeypatch.undo()
        raise MemoryError

    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        monkeypatch.setattr(Batch, "wire", no_memory)
        with pytest.raises(errors.KafkaError, match="MemoryError"):
            producer.send(topic, b"x").get(10)
        producer.flush(10)
        assert producer.send(topic, b"y").get(10).offset == 0


# --------------------------------------------------------------------------------------------------------- metrics


def test_metrics_count_what_was_done(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic)
    create(bootstrap, f"{topic}-other")
    with KafkaProducer(bootstrap_servers=bootstrap, compression_type="gzip") as producer:
        for _ in range(100):
            producer.send(topic, bytes(1000))
        producer.flush(20)
        producer.send(f"{topic}-other", b"x").get(10)
        found = producer.metrics()
        own, first = found["producer-metrics"], found[f"producer-topic-metrics.{topic}"]
        assert (own["record-send-total"], first["record-send-total"]) == (101, 100)
        assert own["record-error-total"] == own["record-retry-total"] == own["requests-in-flight"] == 0
        assert 1 < own["request-total"] <= 101
        assert 0 < own["request-latency-avg"] <= own["request-latency-max"] < 60_000
        assert 0 < own["batch-size-avg"] <= own["batch-size-max"] < 10_000
        assert first["compression-rate"] < 0.5
        assert own["outgoing-byte-total"] == sum(
            found[f"producer-topic-metrics.{name}"]["byte-total"] for name in (topic, f"{topic}-other")
        )
        assert 900 < own["record-size-avg"] < 1100
        assert own["buffer-available-bytes"] == own["buffer-total-bytes"] == 33_554_432
        assert own["connection-count"] >= 1
        assert own["waiting-threads"] == 0
        assert 0 <= own["metadata-age"] < 60
