"""Transactions through the real clients: committed is seen, aborted is not, whoever is shut out stays so."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator

import confluent_kafka
import pytest
from node_process import MOLDAU, NodeProcess, StartNode
from transactional_clients import PRODUCERS, SECONDS, Confluent, TransactionalProducer, create_topic, read_topic

from moldau.supervision.layout import hold_ports

PARTITIONS = 3

Make = Callable[..., TransactionalProducer]


@pytest.fixture(params=PRODUCERS, ids=lambda kind: kind.name)
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Makes transactional producers of one client: make(bootstrap, transactional_id)."""
    made: list[TransactionalProducer] = []

    def start(*arguments: object, **options: object) -> TransactionalProducer:
        made.append(request.param(*arguments, **options))
        return made[-1]

    yield start
    for producer in made:
        try:
            producer.close()
        except Exception:
            # One that was shut out, or whose node is gone, cannot say goodbye.
            pass


def moldau(bootstrap: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(MOLDAU), *arguments, "--bootstrap", bootstrap], capture_output=True, text=True, timeout=60, check=False
    )


def test_committed_is_seen_and_aborted_is_not(make: Make, broker: NodeProcess, topic: str) -> None:
    create_topic(broker.bootstrap, topic, PARTITIONS)
    producer = make(broker.bootstrap, f"{topic}-id")
    expected = []
    for round_ in range(6):
        values = [b"%d-%d" % (round_, partition) for partition in range(PARTITIONS)]
        for partition, value in enumerate(values):
            producer.send(topic, partition, value)
        if round_ % 3 == 1:
            producer.abort()
        else:
            producer.commit()
            expected += values
    assert sorted(read_topic(broker.bootstrap, topic, PARTITIONS)) == sorted(expected)
    assert len(read_topic(broker.bootstrap, topic, PARTITIONS, committed=False)) == 6 * PARTITIONS


def test_a_reader_waits_for_the_end_of_a_transaction(make: Make, broker: NodeProcess, topic: str) -> None:
    create_topic(broker.bootstrap, topic, 1)
    producer = make(broker.bootstrap, f"{topic}-id")
    producer.send(topic, 0, b"first")
    assert read_topic(broker.bootstrap, topic, 1) == []
    # The reader is in a long poll when the transaction ends: it must be woken, not time out.
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "waits",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 60_000,
            "fetch.min.bytes": 1,
            "session.timeout.ms": 120_000,
            "socket.timeout.ms": 90_000,
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    assert consumer.poll(1.0) is None
    commit = threading.Timer(0.3, producer.commit)
    commit.start()
    message = consumer.poll(SECONDS)
    commit.join()
    consumer.close()
    assert message is not None
    assert message.value() == b"first"


def test_a_second_producer_shuts_out_the_first(make: Make, broker: NodeProcess, topic: str) -> None:
    create_topic(broker.bootstrap, topic, 1)
    first = make(broker.bootstrap, f"{topic}-id")
    first.send(topic, 0, b"of the first")
    second = make(broker.bootstrap, f"{topic}-id")
    second.send(topic, 0, b"of the second")
    with pytest.raises(Exception, match=r"(?i)fence|epoch"):
        first.commit()
    second.commit()
    assert read_topic(broker.bootstrap, topic, 1) == [b"of the second"]


# kafka-python leaves a socket behind for every attempt to reach a broker that is away.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_open_transaction_outlives_the_broker(start_node: StartNode, make: Make, topic: str) -> None:
    """kill -9 in the middle of a transaction: what was acknowledged is still part of it."""
    node = start_node(fixed_port())
    create_topic(node.bootstrap, topic, PARTITIONS)
    producer = make(node.bootstrap, "survivor")
    producer.send(topic, 0, b"before")
    producer.commit()
    producer.send(topic, 1, b"around")
    node.kill()
    node.restart()
    assert read_topic(node.bootstrap, topic, PARTITIONS) == [b"before"]
    producer.send(topic, 2, b"after")
    producer.commit()
    assert sorted(read_topic(node.bootstrap, topic, PARTITIONS)) == [b"after", b"around", b"before"]


def test_a_transaction_that_takes_too_long_is_aborted(start_node: StartNode, topic: str) -> None:
    node = start_node({"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100"})
    create_topic(node.bootstrap, topic, 1)
    slow = Confluent(node.bootstrap, "slow", timeout_ms=5000)
    slow.send(topic, 0, b"too late")
    quick = Confluent(node.bootstrap, "quick")
    quick.send(topic, 0, b"in time")
    quick.commit()
    deadline = time.monotonic() + SECONDS
    while read_topic(node.bootstrap, topic, 1) != [b"in time"]:
        assert time.monotonic() < deadline, "the transaction was never aborted"
    with pytest.raises(confluent_kafka.KafkaException):
        slow.commit()


def test_tools_show_and_end_transactions(broker: NodeProcess, topic: str) -> None:
    create_topic(broker.bootstrap, topic, 1)
    name = f"{topic}-id"
    producer = Confluent(broker.bootstrap, name)
    producer.send(topic, 0, b"stuck")
    listed = json.loads(moldau(broker.bootstrap, "transactions", "list", "--state", "Ongoing", "--json").stdout)
    (row,) = [row for row in listed if row["transactional_id"] == name]
    assert row["timeout_seconds"] == 60
    assert row["open_seconds"] >= 0
    assert re.search(rf"{name} +Ongoing +\d+s of 60s", moldau(broker.bootstrap, "transactions", "list").stdout)
    (described,) = json.loads(moldau(broker.bootstrap, "transactions", "describe", name, "--json").stdout)
    assert described["state"] == "Ongoing"
    assert described["partitions"] == [{"topic": topic, "partition": 0}]
    explained = json.loads(moldau(broker.bootstrap, "explain", "txn", name, "--json").stdout)
    assert explained["state"] == "Ongoing"
    assert explained["held_back"] == {f"{topic}-0": 1}
    said = "\n".join(explained["explanation"])
    assert "waits for its producer to commit or abort" in said
    assert f"moldau transactions abort {name}" in said
    aborted = moldau(broker.bootstrap, "transactions", "abort", name)
    assert aborted.returncode == 0, aborted.stderr
    assert read_topic(broker.bootstrap, topic, 1) == []
    ended = moldau(broker.bootstrap, "explain", "txn", name).stdout
    assert "waits for nothing" in ended
    with pytest.raises(confluent_kafka.KafkaException):
        producer.commit()
    nobody = moldau(broker.bootstrap, "transactions", "abort", "nobody")
    assert nobody.returncode == 1
    assert "nobody" in nobody.stderr
    assert "nobody" not in moldau(broker.bootstrap, "transactions", "list").stdout


def fixed_port() -> dict[str, str]:
    """A node that can be found again after a restart."""
    return {"listeners": f"PLAINTEXT://127.0.0.1:{hold_ports(1)[0]}"}
