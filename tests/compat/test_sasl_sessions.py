"""Sessions that end: clients log in again in the middle of their work, and nothing of it is lost."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from node_process import StartNode
from secured_node import SecuredNode, confluent, kafka_python, sasl_settings

from moldau import KafkaConsumer, KafkaProducer, errors

pytestmark = pytest.mark.ours_only("users are made with our command")

SESSION_MS = 2000
_PATIENCE = 30


@pytest.fixture
def node(start_node: StartNode) -> SecuredNode:
    node = SecuredNode(start_node, sasl_settings(**{"connections.max.reauth.ms": str(SESSION_MS)}))
    node.add_user("jan", "secret")
    return node


def ended_sessions(node: SecuredNode) -> int:
    return node.process.log.read_text().count("after the end of its session")


def test_our_clients_renew_theirs_under_load(node: SecuredNode, topic: str) -> None:
    settings = kafka_python(node.bootstrap, "SCRAM-SHA-512", "jan", "secret")
    sent, seen = 0, set()
    done = threading.Event()

    def read() -> None:
        with KafkaConsumer(topic, **settings, group_id=topic, auto_offset_reset="earliest") as consumer:
            while not done.is_set() or len(seen) < sent:
                for batch in consumer.poll(timeout_ms=200).values():
                    seen.update(record.value for record in batch)

    reader = threading.Thread(target=read)
    reader.start()
    with KafkaProducer(**settings) as producer:
        end = time.monotonic() + 3.5 * SESSION_MS / 1000
        while time.monotonic() < end:
            producer.send(topic, b"%d" % sent).get(_PATIENCE)
            sent += 1
    done.set()
    reader.join(_PATIENCE)
    assert not reader.is_alive()
    assert len(seen) == sent > 10
    assert ended_sessions(node) == 0


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_librdkafka_renews_its_own_under_load(node: SecuredNode, topic: str, mechanism: str) -> None:
    import confluent_kafka

    failures: list[Any] = []
    settings = confluent(node.bootstrap, mechanism, "jan", "secret")
    producer = confluent_kafka.Producer({**settings, "error_cb": failures.append, "acks": "all"})
    sent = 0
    delivered: list[Any] = []
    end = time.monotonic() + 3.5 * SESSION_MS / 1000
    while time.monotonic() < end:
        producer.produce(topic, b"%d" % sent, on_delivery=lambda error, _: delivered.append(error))
        sent += 1
        producer.poll(0.005)
    assert producer.flush(_PATIENCE) == 0
    assert delivered == [None] * sent
    assert not [error for error in failures if error.name() == "_AUTHENTICATION"]


def test_who_does_not_renew_is_disconnected_and_comes_back(node: SecuredNode, topic: str) -> None:
    """kafka-python logs in once for each connection: it is closed at its next request, and another is made."""
    import kafka

    producer = kafka.KafkaProducer(**kafka_python(node.bootstrap, "PLAIN", "jan", "secret"), retries=10)
    end = time.monotonic() + 2.5 * SESSION_MS / 1000
    while time.monotonic() < end:
        producer.send(topic, b"x").get(_PATIENCE)
        time.sleep(0.1)
    producer.close()


def test_a_removed_user_is_out_when_his_session_ends(node: SecuredNode, topic: str) -> None:
    node.add_user("short", "lived")
    with KafkaProducer(**kafka_python(node.bootstrap, "SCRAM-SHA-256", "short", "lived")) as producer:
        producer.send(topic, b"before").get(_PATIENCE)
        assert node.users("remove", "short").returncode == 0
        end = time.monotonic() + _PATIENCE
        with pytest.raises(errors.KafkaError):
            send_until_refused(producer, topic, end)


def send_until_refused(producer: KafkaProducer, topic: str, end: float) -> None:
    while time.monotonic() < end:
        producer.send(topic, b"still here").get(_PATIENCE)
        time.sleep(0.05)
