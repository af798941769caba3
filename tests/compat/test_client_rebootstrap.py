"""Nodes that move elsewhere behind a bootstrap address that stays: clients find them again without being told."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from node_process import NodeProcess

from moldau import KafkaConsumer, KafkaProducer, TopicPartition, errors
from moldau.client.admin import NewTopic, create_topics
from moldau.client.cluster import Cluster
from moldau.testing.proxy import Proxy

Nodes = list[NodeProcess]


@pytest.fixture
def bootstrap_address() -> Iterator[Proxy]:
    """What the clients are told: not a node itself, as with a load balancer or a name."""
    proxy = Proxy()
    yield proxy
    proxy.close()


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    nodes: Nodes = []
    yield nodes
    for node in nodes:
        node.kill()


def start(nodes: Nodes, data: Path, bootstrap_address: Proxy) -> NodeProcess:
    """On a port of its own choice, and the bootstrap address leads there."""
    node = NodeProcess(data)
    nodes.append(node)
    bootstrap_address.lead_to(*node.address)
    return node


def test_clients_follow_a_node_to_another_port(
    nodes: Nodes, bootstrap_address: Proxy, tmp_path: Path, topic: str
) -> None:
    address = f"127.0.0.1:{bootstrap_address.port}"
    node = start(nodes, tmp_path / "data", bootstrap_address)
    ports = {node.address[1]}
    with (
        KafkaProducer(bootstrap_servers=address) as producer,
        KafkaConsumer(bootstrap_servers=address, auto_offset_reset="earliest") as consumer,
    ):
        consumer.assign([TopicPartition(topic, 0)])
        for move in range(3):
            assert producer.send(topic, b"%d" % move).get(30).offset == move
            read: list[bytes] = []
            while not read:
                for records in consumer.poll(500).values():
                    read += [record.value for record in records]
            assert read == [b"%d" % move]
            bootstrap_address.drop()  # from here on only the node itself is connected to
            node.stop()
            node = start(nodes, tmp_path / "data", bootstrap_address)
            ports.add(node.address[1])
    assert len(ports) == 4


def test_who_may_not_begin_again_stays_with_the_nodes_it_knew(
    nodes: Nodes, bootstrap_address: Proxy, tmp_path: Path, topic: str
) -> None:
    node = start(nodes, tmp_path / "data", bootstrap_address)
    with KafkaProducer(
        bootstrap_servers=f"127.0.0.1:{bootstrap_address.port}",
        metadata_recovery_strategy="none",
        request_timeout_ms=1000,
        delivery_timeout_ms=8000,
    ) as producer:
        producer.send(topic, b"x").get(60)
        bootstrap_address.drop()
        node.stop()
        start(nodes, tmp_path / "data", bootstrap_address)
        with pytest.raises(errors.KafkaTimeoutError):
            producer.send(topic, b"y").get(60)


def test_nodes_that_hang_are_left_after_a_while(
    nodes: Nodes, bootstrap_address: Proxy, tmp_path: Path, topic: str
) -> None:
    """The old cluster accepts connections and answers nothing; another one has taken its place."""
    old = start(nodes, tmp_path / "old", bootstrap_address)
    with KafkaProducer(
        bootstrap_servers=f"127.0.0.1:{bootstrap_address.port}", metadata_recovery_rebootstrap_trigger_ms=1000
    ) as producer:
        producer.send(topic, b"to the old one").get(10)
        bootstrap_address.drop()
        old.process.send_signal(signal.SIGSTOP)
        new = start(nodes, tmp_path / "new", bootstrap_address)
        with Cluster(new.bootstrap) as cluster:
            cluster.run(create_topics([NewTopic(topic, 1)]))
        producer._background.call(producer._network.refresh)
        assert producer.send(topic, b"to the new one").get(30).offset == 0
    old.process.send_signal(signal.SIGCONT)


def test_the_setting_has_two_values() -> None:
    with pytest.raises(errors.KafkaConfigurationError, match="rebootstrap"):
        KafkaProducer(metadata_recovery_strategy="sometimes")
