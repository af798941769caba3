"""Transactions of `KafkaProducer`: all or nothing, also for the offsets of a group."""

from __future__ import annotations

from typing import Any

import confluent_kafka
import pytest

from moldau import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition, errors
from whole_topics import read_to_the_end


def transactional(bootstrap: str, topic: str) -> KafkaProducer:
    producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=topic)
    producer.init_transactions()
    return producer


def committed_values(bootstrap: str, topic: str, **settings: Any) -> list[bytes]:
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        **settings,
    )
    with consumer:
        return [record.value for record in read_to_the_end(consumer)]


def test_committed_records_are_seen_and_aborted_ones_are_not(bootstrap: str, topic: str) -> None:
    with transactional(bootstrap, topic) as producer:
        for number in range(6):
            producer.begin_transaction()
            producer.send(topic, b"%d" % number).get(10)
            if number % 2:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
    assert committed_values(bootstrap, topic) == [b"0", b"2", b"4"]
    reference = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "reference", "isolation.level": "read_committed"}
    )
    reference.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    assert [message.value() for message in reference.consume(3, 60)] == [b"0", b"2", b"4"]
    reference.close()


def test_offsets_are_committed_with_the_records(bootstrap: str, topic: str) -> None:
    where = TopicPartition(topic, 0)
    with (
        transactional(bootstrap, topic) as producer,
        KafkaConsumer(bootstrap_servers=bootstrap, group_id=topic) as consumer,
    ):
        for offset, commit in ((5, False), (7, True)):
            producer.begin_transaction()
            producer.send(topic, b"%d" % offset)
            producer.send_offsets_to_transaction({where: OffsetAndMetadata(offset)}, consumer.group_metadata())
            if commit:
                producer.commit_transaction()
            else:
                producer.abort_transaction()
        assert consumer.committed(where) == 7
    assert committed_values(bootstrap, topic) == [b"7"]


def test_a_newer_producer_fences_the_older_one(bootstrap: str, topic: str) -> None:
    with transactional(bootstrap, topic) as old:
        old.begin_transaction()
        old.send(topic, b"old").get(10)
        with transactional(bootstrap, topic) as new:
            old.send(topic, b"too late")
            with pytest.raises(errors.KafkaError):
                old.commit_transaction()
            with pytest.raises((errors.ProducerFencedError, errors.InvalidProducerEpochError)):
                old.begin_transaction()
            new.begin_transaction()
            new.send(topic, b"new")
            new.commit_transaction()
    assert committed_values(bootstrap, topic) == [b"new"]


def test_the_order_of_calls_matters(bootstrap: str, topic: str) -> None:
    with KafkaProducer(bootstrap_servers=bootstrap, transactional_id=topic) as producer:
        with pytest.raises(errors.IllegalStateError):
            producer.begin_transaction()
        producer.init_transactions()
        with pytest.raises(errors.IllegalStateError):
            producer.send(topic, b"outside")
        with pytest.raises(errors.IllegalStateError):
            producer.commit_transaction()
        producer.begin_transaction()
        with pytest.raises(errors.IllegalStateError):
            producer.begin_transaction()
        producer.send(topic, b"inside").get(10)
        producer.commit_transaction()
        with pytest.raises(errors.IllegalStateError):
            producer.send(topic, b"outside again")
        producer.init_transactions()  # so it is already
        producer.begin_transaction()
        with pytest.raises(errors.IllegalStateError):
            producer.init_transactions()
        producer.abort_transaction()
    with KafkaProducer(bootstrap_servers=bootstrap) as plain, pytest.raises(errors.IllegalStateError):
        plain.init_transactions()
