"""The same program with kafka-python and with ours: what one refuses the other refuses, with an exception that catches
it. kafka-python is asked as well, so that what is written here about it stays true."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import kafka
import kafka.errors
import pytest
from kafka import TopicPartition as TheirPartition

import moldau
from moldau import TopicPartition, errors

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
