"""`moldau.testing.Cluster(nodes=3)`: what can be done to one node, and that the others go on."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from moldau import KafkaConsumer, KafkaProducer, TopicPartition
from moldau.admin import KafkaAdminClient, NewTopic
from moldau.testing import Cluster, Node
from moldau.testing.plugin import moldau_cluster  # noqa: F401  fixture

PATIENCE = 60.0


def create(cluster: Cluster, topic: str) -> None:
    with KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(topic, 1, 3)], wait_for_metadata=True)


@pytest.mark.parametrize(
    ("fault", "mend"), [(Node.kill, Node.start), (Node.pause, Node.resume), (Node.cut_off, Node.heal)]
)
def test_another_node_leads_when_one_is_gone(
    moldau_cluster: Callable[..., Cluster],  # noqa: F811
    topic: str,
    fault: Callable[[Node], None],
    mend: Callable[[Node], None],
) -> None:
    cluster = moldau_cluster(nodes=3, proxied=True)
    create(cluster, topic)
    with KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, request_timeout_ms=3000) as producer:
        producer.send(topic, b"before", partition=0).get(PATIENCE)
        node = cluster.leader_of(topic)
        fault(node)
        producer.send(topic, b"meanwhile", partition=0).get(PATIENCE)
        assert cluster.leader_of(topic) is not node
        mend(node)
        producer.send(topic, b"after", partition=0).get(PATIENCE)
    where = TopicPartition(topic, 0)
    with KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([where])
        values: list[bytes] = []
        deadline = time.monotonic() + PATIENCE
        while len(values) < 3 and time.monotonic() < deadline:
            values += [record.value for record in consumer.poll(500).get(where, [])]
    assert values == [b"before", b"meanwhile", b"after"]


def test_another_controller_is_elected(moldau_cluster: Callable[..., Cluster], topic: str) -> None:  # noqa: F811
    cluster = moldau_cluster(nodes=3)
    first = cluster.controller
    first.kill()
    deadline = time.monotonic() + PATIENCE
    while (now := cluster.controller) is first:
        assert time.monotonic() < deadline, "nobody else leads the quorum"
    first.start()
    assert now.running
    create(cluster, topic)


def test_all_of_them_at_once(moldau_cluster: Callable[..., Cluster], topic: str) -> None:  # noqa: F811
    cluster = moldau_cluster(nodes=3)
    create(cluster, topic)
    with KafkaProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        producer.send(topic, b"before", partition=0).get(PATIENCE)
        cluster.kill()
        assert not any(node.running for node in cluster.nodes)
        cluster.start()
        assert producer.send(topic, b"after", partition=0).get(PATIENCE).offset == 1
