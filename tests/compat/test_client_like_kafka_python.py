"""The same program with kafka-python and with ours: what one refuses the other refuses, with an exception that catches
it. kafka-python is asked as well, so that what is written here about it stays true."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import kafka
import kafka.errors
import pytest
from kafka import TopicPartition as TheirPartition

import moldau
from moldau import TopicPartition, errors
from moldau.admin import KafkaAdminClient, NewTopic

# (what is done, the exception of kafka-python)
Refusal = tuple[Callable[[Any, Any], Any], type[BaseException]]

CONSUMERS: dict[str, Refusal] = {
    "neither topics nor pattern": (lambda consumer, _: consumer.subscribe(), ValueError),
    "topics and pattern": (lambda consumer, _: consumer.subscribe(["a"], pattern="b"), kafka.errors.IllegalStateError),
    "a name that no topic has": (lambda consumer, _: consumer.subscribe(["a b"]), ValueError),
    "an empty name": (lambda consumer, _: consumer.subscribe([""]), ValueError),
    "a name that is no text": (lambda consumer, _: consumer.subscribe([5]), TypeError),
    "a text instead of topics": (lambda consumer, _: consumer.subscribe("abc"), TypeError),
    "a listener that is none": (lambda consumer, _: consumer.subscribe(["a"], listener=object()), TypeError),
    "seek of what is not ours": (lambda consumer, where: consumer.seek(where("a", 0), 0), ValueError),
    "seek before the begin": (lambda consumer, where: consumer.seek(where("a", 0), -1), ValueError),
    "position of what is not ours": (
        lambda consumer, where: consumer.position(where("a", 0)),
        kafka.errors.IllegalStateError,
    ),
    "highwater of what is not ours": (
        lambda consumer, where: consumer.highwater(where("a", 0)),
        kafka.errors.IllegalStateError,
    ),
    "no records at most": (lambda consumer, _: consumer.poll(max_records=0), ValueError),
    "records at most, by name": (lambda consumer, _: consumer.poll(max_records="5"), TypeError),
    "commit without a group": (lambda consumer, _: consumer.commit(), kafka.errors.IllegalStateError),
    "committed without a group": (
        lambda consumer, where: consumer.committed(where("a", 0)),
        kafka.errors.IllegalStateError,
    ),
    "a wait of less than nothing": (lambda consumer, _: consumer.poll(-1), ValueError),
    "to the begin of nothing": (lambda consumer, _: consumer.seek_to_beginning(), ValueError),
    "to the end of nothing": (lambda consumer, _: consumer.seek_to_end(), ValueError),
    "a time before all times": (lambda consumer, where: consumer.offsets_for_times({where("a", 0): -1}), ValueError),
}


def caught(kind: type[BaseException]) -> type[BaseException]:
    """The exception of the same name with ours; Python's own stay what they are."""
    return getattr(errors, kind.__name__) if issubclass(kind, kafka.errors.KafkaError) else kind


@pytest.mark.parametrize("what", CONSUMERS)
def test_consumers_refuse(bootstrap: str, what: str) -> None:
    work, kind = CONSUMERS[what]
    theirs = kafka.KafkaConsumer(bootstrap_servers=bootstrap)
    with pytest.raises(kind):
        work(theirs, TheirPartition)
    theirs.close()
    with moldau.KafkaConsumer(bootstrap_servers=bootstrap) as ours, pytest.raises(caught(kind)):
        work(ours, TopicPartition)


PRODUCERS: dict[str, Refusal] = {
    "a name no topic can have": (lambda producer, _: producer.send("a b", b"x"), ValueError),
    "a name that is no text": (lambda producer, _: producer.send(5, b"x"), TypeError),
    "partitions of a name no topic can have": (lambda producer, _: producer.partitions_for("a b"), ValueError),
    "partitions of no text": (lambda producer, _: producer.partitions_for(5), TypeError),
    "neither key nor value": (lambda producer, topic: producer.send(topic), ValueError),
    "a partition that is not there": (lambda producer, topic: producer.send(topic, b"x", partition=7), ValueError),
    "headers that are no list": (lambda producer, topic: producer.send(topic, b"x", headers={"a": b"b"}), TypeError),
    "a value that is no bytes": (lambda producer, topic: producer.send(topic, 5), TypeError),
    "a key that is no bytes": (lambda producer, topic: producer.send(topic, b"x", key=5), TypeError),
    "a transaction without an id": (
        lambda producer, topic: producer.begin_transaction(),
        kafka.errors.IllegalStateError,
    ),
}


@pytest.mark.parametrize("what", PRODUCERS)
def test_producers_refuse(bootstrap: str, topic: str, what: str) -> None:
    work, kind = PRODUCERS[what]
    theirs = kafka.KafkaProducer(bootstrap_servers=bootstrap)
    with pytest.raises(kind):
        work(theirs, topic)
    theirs.close()
    with moldau.KafkaProducer(bootstrap_servers=bootstrap) as ours, pytest.raises(caught(kind)):
        work(ours, topic)


SETTINGS: dict[str, tuple[str, dict[str, Any], type[BaseException]]] = {
    "not known to a producer": ("KafkaProducer", {"colour": 1}, ValueError),
    "not known to a consumer": ("KafkaConsumer", {"colour": 1}, kafka.errors.KafkaConfigurationError),
    "codec": ("KafkaProducer", {"compression_type": "rar"}, ValueError),
    "idempotence without acks": (
        "KafkaProducer",
        {"enable_idempotence": True, "acks": 1},
        kafka.errors.KafkaConfigurationError,
    ),
    "transactions without idempotence": (
        "KafkaProducer",
        {"transactional_id": "t", "enable_idempotence": False},
        kafka.errors.KafkaConfigurationError,
    ),
    "a wait longer than a request": (
        "KafkaConsumer",
        {"fetch_max_wait_ms": 40_000},
        kafka.errors.KafkaConfigurationError,
    ),
    "a request longer than a connection": (
        "KafkaConsumer",
        {"connections_max_idle_ms": 10_000},
        kafka.errors.KafkaConfigurationError,
    ),
    "an instance without a group": (
        "KafkaConsumer",
        {"group_instance_id": "a"},
        kafka.errors.KafkaConfigurationError,
    ),
    "isolation": ("KafkaConsumer", {"isolation_level": "none"}, kafka.errors.KafkaConfigurationError),
}


# What kafka-python finds out when it is used, or never.
NEVER = {
    "client_id": ("Admin", {"client_id": 5}),
    "servers": ("Admin", {"bootstrap_servers": 9092}),
    "a time": ("Admin", {"request_timeout_ms": "soon"}),
    "a time before now": ("Admin", {"retry_backoff_ms": -1}),
    "no time at all": ("Admin", {"request_timeout_ms": 0}),
    "a truth for a number": ("Producer", {"linger_ms": True}),
    "serializer": ("Producer", {"value_serializer": "json"}),
    "partitioner": ("Producer", {"partitioner": 5}),
    "no memory": ("Producer", {"buffer_memory": 0}),
    "less than nothing in a batch": ("Producer", {"batch_size": -1}),
    "never waits": ("Producer", {"max_block_ms": -1}),
    "level": ("Producer", {"compression_type": "gzip", "compression_level": 99}),
    "level of another kind": ("Producer", {"compression_type": "zstd", "compression_level": "best"}),
    "deserializer": ("Consumer", {"key_deserializer": 5}),
    "fetch": ("Consumer", {"fetch_min_bytes": -1}),
    "group": ("Consumer", {"group_id": b"readers"}),
    "assignors where brokers decide": (
        "Consumer",
        {"group_id": "g", "group_protocol": "consumer", "partition_assignment_strategy": ["range"]},
    ),
}


@pytest.mark.parametrize("what", NEVER)
def test_settings_that_cannot_work_are_refused_by_name(bootstrap: str, what: str) -> None:
    client, settings = NEVER[what]
    kind: Any = {"Admin": KafkaAdminClient, "Producer": moldau.KafkaProducer, "Consumer": moldau.KafkaConsumer}[client]
    with pytest.raises(moldau.errors.KafkaConfigurationError, match=list(settings)[-1]):
        kind(**{"bootstrap_servers": bootstrap, **settings})


@pytest.mark.parametrize("what", SETTINGS)
def test_settings_are_refused(bootstrap: str, what: str) -> None:
    client, settings, kind = SETTINGS[what]
    with pytest.raises(kind):
        getattr(kafka, client)(bootstrap_servers=bootstrap, **settings)
    with pytest.raises(caught(kind)):
        getattr(moldau, client)(bootstrap_servers=bootstrap, **settings)


@pytest.mark.parametrize("chosen", [7, -1, None])
def test_a_partitioner_out_of_range_is_named(bootstrap: str, topic: str, chosen: Any) -> None:
    with (
        moldau.KafkaProducer(bootstrap_servers=bootstrap, partitioner=lambda *_: chosen, max_block_ms=5000) as producer,
        pytest.raises(ValueError, match=rf"partitioner chose {chosen}.*has partitions \[0\]"),
    ):
        producer.send(topic, b"x")


def test_a_cluster_that_is_not_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
    for package, kind in ((kafka, kafka.errors.KafkaTimeoutError), (moldau, errors.KafkaTimeoutError)):
        with pytest.raises(kind):
            package.KafkaConsumer(bootstrap_servers=address, bootstrap_timeout_ms=300)


# What is read in two ways at once: work on a consumer of two partitions with five records each, and what it saw.
def poll_in_between(consumer: Any, where: Any) -> list[int]:
    consumer.assign([where(0)])
    seen = [next(consumer).offset for _ in range(2)]
    for _ in range(20):
        seen += [record.offset for records in consumer.poll(100).values() for record in records]
    return seen


def pause_in_between(consumer: Any, where: Any) -> list[int]:
    consumer.assign([where(0)])
    seen = [next(consumer).offset for _ in range(2)]
    consumer.pause(where(0))
    seen += [record.offset for record in consumer]
    consumer.resume(where(0))
    return [*seen, -1, *(record.offset for record in consumer)]


def seek_in_between(consumer: Any, where: Any) -> list[int]:
    consumer.assign([where(0), where(1)])
    first = next(consumer)
    other = 1 - first.partition
    consumer.seek(where(other), 3)
    rest = [(record.partition, record.offset) for record in consumer]
    return [offset for partition, offset in sorted([*rest, (first.partition, 0)]) if partition == first.partition]


def look_without_taking(consumer: Any, where: Any) -> list[int]:
    consumer.assign([where(0)])
    seen: list[int] = []
    for moves in (False, False, True):
        found = {}
        while not found:
            found = consumer.poll(100, max_records=2, update_offsets=moves)
        seen += [record.offset for record in found[where(0)]]
        seen.append(-consumer.position(where(0)))
    return [*seen, next(consumer).offset]


@pytest.mark.parametrize(
    ("work", "seen"),
    [
        (look_without_taking, [0, 1, 0, 0, 1, 0, 0, 1, -2, 2]),
        (poll_in_between, [0, 1, 2, 3, 4]),
        (pause_in_between, [0, 1, -1, 2, 3, 4]),
        (seek_in_between, [0, 1, 2, 3, 4]),
    ],
)
def test_what_an_iterator_has_not_handed_out_is_not_lost(
    bootstrap: str, topic: str, work: Callable[[Any, Any], list[int]], seen: list[int]
) -> None:
    with moldau.KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.create_topics([NewTopic(topic, 2, 1)])
    with moldau.KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for number in range(10):
            producer.send(topic, b"%d" % number, partition=number % 2)
    for package, partition in ((kafka, TheirPartition), (moldau, TopicPartition)):
        consumer = package.KafkaConsumer(
            bootstrap_servers=bootstrap, auto_offset_reset="earliest", consumer_timeout_ms=1000
        )
        assert work(consumer, lambda number, kind=partition: kind(topic, number)) == seen, package
        consumer.close()


def test_columns_after_an_iterator(bootstrap: str, topic: str) -> None:
    with moldau.KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for number in range(5):
            producer.send(topic, b"%d" % number, partition=0)
    with moldau.KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        assert next(consumer).offset == 0
        found = [columns.rows for _ in range(20) for columns in consumer.poll_columns(100).values()]
        assert sum(found) == 4


def test_an_error_does_not_end_the_records(bootstrap: str, topic: str) -> None:
    """Whoever catches it and goes on iterating meets it again, and does not take it for the end."""

    def whole(value: bytes) -> int:
        return int(value)

    with moldau.KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for value in (b"0", b"one", b"2"):
            producer.send(topic, value, partition=0)
    with moldau.KafkaConsumer(
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        consumer_timeout_ms=10_000,
        max_poll_records=1,
        value_deserializer=whole,
    ) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        assert next(consumer).value == 0
        for _ in range(2):
            with pytest.raises(ValueError, match="one"):
                next(consumer)
        consumer.seek(TopicPartition(topic, 0), 2)
        assert next(consumer).value == 2
