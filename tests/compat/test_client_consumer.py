"""`KafkaConsumer` with partitions it assigns itself, against a running node."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from moldau import (
    ConsumerRecord,
    JsonSerializer,
    KafkaConsumer,
    KafkaProducer,
    OffsetAndMetadata,
    TopicPartition,
    errors,
)
from moldau.client.admin import NewTopic, create_topics, delete_records
from moldau.client.cluster import Cluster

Consume = Callable[..., KafkaConsumer]


@pytest.fixture
def consume(bootstrap: str) -> Iterator[Consume]:
    started: list[KafkaConsumer] = []

    def start(*topics: str, **settings: Any) -> KafkaConsumer:
        consumer = KafkaConsumer(*topics, bootstrap_servers=bootstrap, **settings)
        started.append(consumer)
        return consumer

    yield start
    for consumer in started:
        consumer.close()


def fill(bootstrap: str, topic: str, values: list[bytes], partitions: int = 1, **settings: Any) -> list[TopicPartition]:
    with Cluster(bootstrap) as cluster:
        cluster.run(create_topics([NewTopic(topic, partitions)]))
    with KafkaProducer(bootstrap_servers=bootstrap, **settings) as producer:
        for number, value in enumerate(values):
            producer.send(topic, value, partition=number % partitions, timestamp_ms=1000 + number)
    return [TopicPartition(topic, number) for number in range(partitions)]


def take(consumer: KafkaConsumer, count: int) -> list[ConsumerRecord]:
    records: list[ConsumerRecord] = []
    deadline = time.monotonic() + 60
    while len(records) < count and time.monotonic() < deadline:
        for found in consumer.poll(500).values():
            records += found
    return records


def test_reads_in_order_at_most_as_many_as_asked_for(bootstrap: str, consume: Consume, topic: str) -> None:
    values = [b"%d" % number for number in range(5000)]
    partitions = fill(bootstrap, topic, values, 2)
    consumer = consume(auto_offset_reset="earliest")
    consumer.assign(partitions)
    received: dict[TopicPartition, list[ConsumerRecord]] = {where: [] for where in partitions}
    while sum(map(len, received.values())) < len(values):
        found = consumer.poll(60_000, max_records=700)
        assert 0 < sum(map(len, found.values())) <= 700
        for where, records in found.items():
            received[where] += records
    for where, records in received.items():
        assert [record.value for record in records] == values[where.partition :: 2]
        assert [record.offset for record in records] == list(range(2500))
        assert {(record.topic, record.partition) for record in records} == {where}
        assert consumer.position(where) == 2500


def test_a_record_reads_like_a_tuple_too(bootstrap: str, consume: Consume, topic: str) -> None:
    fill(bootstrap, topic, [b"value"])
    consumer = consume(auto_offset_reset="earliest")
    consumer.assign([TopicPartition(topic, 0)])
    (record,) = take(consumer, 1)
    assert record.timestamp == 1000
    assert record._asdict()["value"] == b"value"
    assert tuple(record)[:2] == (topic, 0)
    assert len(record) == 13


def test_iterates_until_nothing_comes(bootstrap: str, consume: Consume, topic: str) -> None:
    values = [b"%d" % number for number in range(1500)]
    fill(bootstrap, topic, values)
    consumer = consume(topic, auto_offset_reset="earliest", consumer_timeout_ms=60_000)
    assert [next(consumer).value for _ in values] == values
    at_the_end = consume(topic, auto_offset_reset="latest", consumer_timeout_ms=300)
    assert list(at_the_end) == []
    consumer.seek(TopicPartition(topic, 0), 1499)
    assert next(consumer).value == b"1499"
    assert consumer.position(TopicPartition(topic, 0)) == 1500


def test_seeks(bootstrap: str, consume: Consume, topic: str) -> None:
    (where,) = fill(bootstrap, topic, [b"%d" % number for number in range(100)])
    consumer = consume(auto_offset_reset="earliest")
    consumer.assign([where])
    assert take(consumer, 1)[0].offset == 0
    consumer.seek(where, 42)
    assert take(consumer, 1)[0].offset == 42
    consumer.seek_to_beginning()
    assert consumer.position(where) == 0
    consumer.seek_to_end(where)
    assert consumer.position(where) == 100
    with pytest.raises(errors.IllegalStateError):
        consumer.seek(TopicPartition(topic, 5), 0)
    with pytest.raises(errors.IllegalArgumentError):
        consumer.seek(where, -5)


def test_offsets_by_time_and_at_both_ends(bootstrap: str, consume: Consume, topic: str) -> None:
    (where,) = fill(bootstrap, topic, [b"%d" % number for number in range(10)])
    consumer = consume()
    assert consumer.beginning_offsets([where]) == {where: 0}
    assert consumer.end_offsets([where]) == {where: 10}
    found = consumer.offsets_for_times({where: 1004})[where]
    assert found is not None
    assert (found.offset, found.timestamp) == (4, 1004)
    assert consumer.offsets_for_times({where: 9999}) == {where: None}
    assert consumer.partitions_for_topic(topic) == {0}
    assert topic in consumer.topics()
    assert consumer.partitions_for_topic("there-is-no-such-topic-here") in (set(), {0})


def test_paused_partitions_wait(bootstrap: str, consume: Consume, topic: str) -> None:
    first, second = fill(bootstrap, topic, [b"%d" % number for number in range(100)], 2)
    consumer = consume(auto_offset_reset="earliest")
    consumer.assign([first, second])
    consumer.pause(first)
    assert consumer.paused() == {first}
    assert {record.partition for record in take(consumer, 50)} == {1}
    consumer.resume(first)
    assert {record.partition for record in take(consumer, 50)} == {0}


def test_new_records_arrive_while_waiting(bootstrap: str, consume: Consume, topic: str) -> None:
    (where,) = fill(bootstrap, topic, [b"old"])
    consumer = consume()
    consumer.assign([where])
    assert consumer.position(where) == 1
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for number in range(5):
            producer.send(topic, b"%d" % number).get(10)
            assert [record.value for record in take(consumer, 1)] == [b"%d" % number]
    assert consumer.highwater(where) == 6


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_columns_hold_the_same_as_records(bootstrap: str, consume: Consume, topic: str, codec: str | None) -> None:
    values = [b"value %d" % number for number in range(3000)]
    (where,) = fill(bootstrap, topic, values, compression_type=codec)
    consumer = consume(auto_offset_reset="earliest", max_poll_records=10)
    consumer.assign([where])
    begun = take(consumer, 10)[:10]
    data, rows = b"", 0
    while rows < 2990:
        for columns in consumer.poll_columns(5000).values():
            data += bytes(columns.value_data)
            rows += columns.rows
    assert b"".join(record.value for record in begun) + data == b"".join(values)
    assert consumer.position(where) == 3000


def test_deserializers_and_what_they_cannot_read(bootstrap: str, consume: Consume, topic: str) -> None:
    (where,) = fill(bootstrap, topic, [b"1", b"2", b"x", b"4"])
    consumer = consume(auto_offset_reset="earliest", value_deserializer=int)
    consumer.assign([where])
    assert [record.value for record in take(consumer, 2)] == [1, 2]
    for _ in range(2):
        with pytest.raises(ValueError, match="invalid literal"):
            consumer.poll(5000)
    consumer.seek(where, 3)
    assert take(consumer, 1)[0].value == 4
    other = consume(auto_offset_reset="earliest", value_deserializer=JsonSerializer())
    other.assign([where])
    assert take(other, 2)[1].value == 2


def test_deserializer_objects_are_told_the_topic_and_the_headers(bootstrap: str, consume: Consume, topic: str) -> None:
    told: list[Any] = []

    class Modern:
        closed = False

        def deserialize(self, topic: str, headers: list[tuple[str, bytes]], data: bytes | None) -> Any:
            told.append((topic, headers, data))
            return (dict(headers)["encoding"], data)

        def close(self) -> None:
            self.closed = True

    class Older:
        def deserialize(self, topic: str, data: bytes | None) -> Any:
            return f"{topic} {data!r}"

    where = TopicPartition(topic, 0)
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        producer.send(topic, b"v", key=b"k", partition=0, headers=[("encoding", b"plain")])
    modern = Modern()
    consumer = consume(auto_offset_reset="earliest", key_deserializer=Older(), value_deserializer=modern)
    consumer.assign([where])
    (record,) = take(consumer, 1)
    assert told == [(topic, [("encoding", b"plain")], b"v")]
    assert (record.key, record.value) == (f"{topic} {b'k'!r}", (b"plain", b"v"))
    assert (record.serialized_key_size, record.serialized_value_size) == (1, 1)
    consumer.close()
    assert modern.closed


def test_deserializer_objects_that_fail_are_met_again(bootstrap: str, consume: Consume, topic: str) -> None:
    (where,) = fill(bootstrap, topic, [b"1", b"[", b"3"])
    consumer = consume(auto_offset_reset="earliest", value_deserializer=JsonSerializer())
    consumer.assign([where])
    assert [record.value for record in take(consumer, 1)] == [1]
    for _ in range(2):
        with pytest.raises(ValueError, match="Expecting value"):
            consumer.poll(5000)
    consumer.seek(where, 2)
    assert take(consumer, 1)[0].value == 3


def test_begins_where_the_policy_says(bootstrap: str, consume: Consume, topic: str) -> None:
    where = TopicPartition(topic, 0)
    now = int(time.time() * 1000)
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for hours in (30, 3, 1):
            producer.send(topic, b"%d" % hours, partition=0, timestamp_ms=now - hours * 3_600_000)
    starts = {"earliest": 0, "latest": 3, "by_duration:PT2H": 2, "by_duration:P1DT0.5S": 1, "by_duration:PT1M": 3}
    for policy, start in starts.items():
        consumer = consume(auto_offset_reset=policy)
        consumer.assign([where])
        assert consumer.position(where) == start, policy
    for wrong in ("by_duration:1h", "by_duration:", "by_duration:P", "sometime"):
        with pytest.raises(errors.KafkaConfigurationError):
            consume(auto_offset_reset=wrong)


def test_seeks_by_time(bootstrap: str, consume: Consume, topic: str) -> None:
    (where,) = fill(bootstrap, topic, [b"%d" % number for number in range(10)])
    consumer = consume(auto_offset_reset="earliest")
    consumer.assign([where])
    for time_ms, offset in ((1004, 4), (0, 0), (9999, 10)):
        consumer.seek_to_time(time_ms, where)
        assert consumer.position(where) == offset
    with pytest.raises(errors.IllegalArgumentError):
        consumer.seek_to_time(-1)


def test_only_what_is_committed(bootstrap: str, consume: Consume, topic: str) -> None:
    where = TopicPartition(topic, 0)
    with KafkaProducer(bootstrap_servers=bootstrap, transactional_id=topic) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"dropped", partition=0).get(10)
        producer.abort_transaction()
        producer.begin_transaction()
        producer.send(topic, b"open", partition=0).get(10)
        strict = consume(auto_offset_reset="earliest", isolation_level="read_committed")
        strict.assign([where])
        loose = consume(auto_offset_reset="earliest")
        loose.assign([where])
        assert [record.value for record in take(loose, 2)] == [b"dropped", b"open"]
        assert strict.poll(300) == {}
        assert strict.last_stable_offset(where) == 2
        assert strict.end_offsets([where]) == {where: 2}
        assert loose.end_offsets([where]) == {where: 3}
        producer.commit_transaction()
        assert [record.value for record in take(strict, 1)] == [b"open"]


def test_commits_go_out_in_order_and_their_callbacks_run_in_order(bootstrap: str, consume: Consume, topic: str) -> None:
    (where,) = fill(bootstrap, topic, [b"x"] * 100)
    consumer = consume(group_id=topic, enable_auto_commit=False)
    consumer.assign([where])
    told: list[tuple[int, Any]] = []

    def committed(offsets: Any, outcome: Any) -> None:
        # On the application's thread, so the consumer may be used here.
        told.append((offsets[where].offset, consumer.committed(where)))

    for offset in range(1, 50):
        consumer.commit_async({where: OffsetAndMetadata(offset)}, committed)
    consumer.commit({where: OffsetAndMetadata(50)})
    assert consumer.committed(where) == 50, "no earlier commit overtakes a later one"
    assert [offset for offset, _ in told] == list(range(1, 50))
    assert {seen for _, seen in told} <= set(range(1, 51))


def test_commits_by_itself(bootstrap: str, consume: Consume, topic: str) -> None:
    (where,) = fill(bootstrap, topic, [b"x"] * 10)
    consumer = consume(group_id=topic, auto_offset_reset="earliest", auto_commit_interval_ms=50)
    consumer.assign([where])
    take(consumer, 10)
    deadline = time.monotonic() + 60
    while consumer.committed(where) != 10 and time.monotonic() < deadline:
        consumer.poll(20)
    assert consumer.committed(where) == 10
    assert consumer.metrics()["consumer-coordinator-metrics"]["commit-total"] >= 1


def test_what_it_counts(bootstrap: str, consume: Consume, topic: str) -> None:
    (where,) = fill(bootstrap, topic, [b"x"] * 10)
    consumer = consume(auto_offset_reset="earliest")
    consumer.assign([where])
    records = consumer.poll(60_000, max_records=4)[where]
    measures = consumer.metrics()
    fetches = measures["consumer-fetch-manager-metrics"]
    assert len(records) == fetches["records-consumed-total"] == 4
    assert fetches["records-lag-max"] == measures[f"consumer-fetch-manager-metrics.{where}"]["records-lag"] == 6
    assert fetches["fetch-total"] >= 1
    assert fetches["bytes-consumed-total"] > 10
    assert "consumer-coordinator-metrics" not in measures


def test_an_offset_that_is_gone(bootstrap: str, consume: Consume, topic: str) -> None:
    (where,) = fill(bootstrap, topic, [b"%d" % number for number in range(10)])
    with Cluster(bootstrap) as cluster:
        assert cluster.run(delete_records({where: 5})) == {where: 5}
    strict = consume(auto_offset_reset="none")
    strict.assign([where])
    strict.seek(where, 2)
    with pytest.raises(errors.OffsetOutOfRangeError):
        strict.poll(5000)
    lenient = consume(auto_offset_reset="earliest")
    lenient.assign([where])
    lenient.seek(where, 2)
    assert take(lenient, 1)[0].offset == 5
    unset = consume(auto_offset_reset="none")
    unset.assign([where])
    with pytest.raises(errors.NoOffsetForPartitionError):
        unset.poll(5000)


def test_commits_are_remembered(bootstrap: str, consume: Consume, topic: str) -> None:
    (where,) = fill(bootstrap, topic, [b"%d" % number for number in range(100)])
    settings = {"group_id": topic, "auto_offset_reset": "earliest", "enable_auto_commit": False}
    consumer = consume(max_poll_records=10, **settings)
    consumer.assign([where])
    assert consumer.committed(where) is None
    take(consumer, 10)
    consumer.commit()
    assert consumer.committed(where) == 10
    done: list[Any] = []
    future = consumer.commit_async({where: OffsetAndMetadata(20, "note")}, callback=lambda *said: done.append(said))
    assert future.get(10) == {where: OffsetAndMetadata(20, "note")}
    assert consumer.committed(where, metadata=True) == OffsetAndMetadata(20, "note", -1)
    assert not done, "callbacks run on the application's own thread"
    consumer.poll(0)
    assert done == [({where: OffsetAndMetadata(20, "note")}, {where: OffsetAndMetadata(20, "note")})]
    another = consume(**settings)
    another.assign([where])
    assert take(another, 1)[0].offset == 20


def test_without_a_group_there_is_nothing_to_commit_to(bootstrap: str, consume: Consume, topic: str) -> None:
    consumer = consume()
    consumer.assign([TopicPartition(topic, 0)])
    with pytest.raises(errors.IllegalStateError):
        consumer.commit()
    with pytest.raises(errors.IllegalStateError):
        consumer.subscribe([topic])
    consumer.close()
    with pytest.raises(errors.IllegalStateError):
        consumer.poll()
