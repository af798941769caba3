"""Batches filled by somebody else, submitted to the producer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from written_broker import Broker

from moldau.client.producer.batch_producer import BatchProducer
from moldau.client.producer.identity import IdempotentIdentity
from moldau.client.producer.settings import read_settings
from moldau.deferred import ready
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.records import read_header


@pytest.fixture
def broker() -> Iterator[Broker]:
    broker = Broker()
    yield broker
    broker.peer.close()


@contextmanager
def producing(broker: Broker, **settings: Any) -> Iterator[BatchProducer]:
    config = read_settings({"bootstrap_servers": str(broker.peer.address), "retry_backoff_ms": 1, **settings})
    producer = BatchProducer(config, "tester", IdempotentIdentity)
    try:
        yield producer
    finally:
        producer.close()


def submit(producer: BatchProducer, lane: Any, *values: bytes) -> Any:
    batch = producer.open(lane)
    for value in values:
        assert batch.append(5, None, value, ())
    return producer.submit(batch)


def test_batches_go_as_they_were_filled_and_in_order(broker: Broker) -> None:
    with producing(broker) as producer:
        topic = producer.topic("rivers")
        assert (len(topic.lanes), list(topic.led)) == (2, [0, 1])
        deliveries = [submit(producer, topic.lanes[1], b"%d" % number, b"and more") for number in range(20)]
        producer.flush()
        assert [delivery.base_offset for delivery in deliveries] == list(range(0, 40, 2))
    assert [read_header(batch).base_sequence for batch in broker.batches[1]] == list(range(0, 40, 2))
    assert [record.value for record in broker.records(1)][::2] == [b"%d" % number for number in range(20)]


def test_what_is_refused_is_raised(broker: Broker) -> None:
    broker.errors = [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
    with producing(broker) as producer:
        submit(producer, producer.topic("rivers").lanes[0], b"x")
        with pytest.raises(KafkaError) as caught:
            producer.flush()
    assert caught.value.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_memory_is_given_back_and_waited_for(broker: Broker) -> None:
    """Room for one batch: the second is handed over when the first was acknowledged."""
    broker.hold = threading.Event()
    with producing(broker, buffer_memory=1000) as producer:
        lane = producer.topic("rivers").lanes[0]
        first = submit(producer, lane, bytes(900))
        waiting = threading.Thread(target=submit, args=(producer, lane, bytes(900)))
        waiting.start()
        while not producer.settle(lambda sender: ready(sender.waiting_for_memory)):
            pass
        assert not first.done
        broker.hold.set()
        waiting.join(20)
        assert first.done
        producer.flush()
        assert lane.queued == 0
        assert producer.settle(lambda sender: ready(sender.accumulator.used)) == 0
