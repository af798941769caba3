"""librdkafka pushes its metrics to a node, which shows them among its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer
from node_process import MOLDAU, NodeProcess, StartNode
from patience import wait_until
from scraping import Samples, metrics_address, scrape

pytestmark = pytest.mark.ours_only("Apache Kafka shows what clients push to nobody by itself")


@pytest.fixture
def node(start_node: StartNode) -> NodeProcess:
    return start_node({"metrics.listener": "127.0.0.1:0"})


def moldau(node: NodeProcess, *words: str, status: int = 0) -> str:
    done = subprocess.run([str(MOLDAU), *words, "-b", node.bootstrap], capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def of(samples: Samples, client_id: str) -> Iterator[tuple[str, float]]:
    for name, each in samples.items():
        yield from ((name, value) for labels, value in each if labels.get("client_id") == client_id)


def test_a_producer_and_a_consumer(node: NodeProcess) -> None:
    moldau(node, "configs", "set", "--client-metrics", "all", "metrics=*", "interval.ms=100", "match=client_id=seen-.*")
    address = metrics_address(node.log)
    settings = {"bootstrap.servers": node.bootstrap}
    producer = Producer({**settings, "client.id": "seen-producer"})
    unseen = Producer({**settings, "client.id": "unseen"})
    consumer = Consumer(
        {**settings, "client.id": "seen-consumer", "group.id": "g", "auto.offset.reset": "earliest"},
        logger=None,
    )
    try:
        consumer.subscribe(["rivers"])

        def pushed() -> bool:
            producer.produce("rivers", b"vltava")
            unseen.produce("rivers", b"labe")
            producer.flush(10)
            unseen.flush(10)
            consumer.poll(0.1)
            samples = scrape(address)
            names = {name for client in ("seen-producer", "seen-consumer") for name, _ in of(samples, client)}
            return {
                "kafka_client_producer_connection_creation_total",
                "kafka_client_producer_request_latency_avg",
                "kafka_client_consumer_connection_creation_total",
            } <= names

        wait_until(pushed)
        samples = scrape(address)
        assert dict(of(samples, "seen-producer"))["kafka_client_producer_connection_creation_total"] >= 1
        assert list(of(samples, "unseen")) == []
        ((_, instances),) = samples["kafka_server_client_metrics_instance_count"]
        assert instances == 3
        ((_, errors),) = samples["kafka_server_client_metrics_plugin_error_count_total"]
        assert errors == 0
    finally:
        consumer.close()
    assert "warning" not in node.log.read_text().lower()


def test_settings_from_the_command_line(node: NodeProcess) -> None:
    said = moldau(node, "configs", "set", "--client-metrics", "java", "metrics=a.,b.", "interval.ms=60000")
    assert said == "Client metrics 'java': metrics = a.,b., interval.ms = 60000\n"
    assert [
        line.split()[:2] for line in moldau(node, "configs", "describe", "--client-metrics", "java").splitlines()
    ] == [
        ["SETTING", "VALUE"],
        ["interval.ms", "60000"],
        ["metrics", "a.,b."],
    ]
    refused = moldau(node, "configs", "set", "--client-metrics", "java", "interval.ms=1", status=1)
    assert refused == "moldau: interval.ms cannot be '1': it must be from 100 to 3600000.\n"
    refused = moldau(node, "configs", "set", "--client-metrics", "java", "match=client_id=(", status=1)
    assert "patterns are those of RE2" in refused
    moldau(node, "configs", "unset", "--client-metrics", "java", "metrics", "interval.ms")
    assert "default value" in moldau(node, "configs", "describe", "--client-metrics", "java")
    moldau(node, "configs", "set", "--group", "g", "consumer.session.timeout.ms=50000")
    assert "50000" in moldau(node, "configs", "describe", "--group", "g")
