"""Our consumer on a cluster of Apache Kafka's: a nearer replica, a new leader, a leader with a shorter log.

Three machines' worth of Java, so it is a long one; `tests/unit/client` has the same against scripted brokers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from java_tools import ApacheKafka, KafkaTools, find_libs
from patience import PATIENCE, wait_until

from moldau import KafkaConsumer, KafkaProducer, TopicPartition, errors
from moldau.admin import KafkaAdminClient, NewTopic

pytestmark = pytest.mark.long

CLUSTER = "AAAAAAAAAAAAAAAAAAAAAQ"


class ThreeNodes:
    """Node 1 is the controller and stays; 2 and 3 keep the records and can be killed."""

    def __init__(self, tools: KafkaTools, directory: Path) -> None:
        self.controller = ApacheKafka(tools, directory / "one", {"broker.rack": "brno"})
        voters = f"1@{self.controller.address('CONTROLLER')}"
        self.brokers = {}
        for node, rack in ((2, "prague"), (3, "plzen")):
            broker = ApacheKafka(tools, directory / f"node{node}")
            broker.properties.write_text(
                broker.properties.read_text()
                + f"""process.roles=broker
node.id={node}
broker.rack={rack}
controller.quorum.voters={voters}
listeners=PLAINTEXT://{broker.bootstrap}
replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector
"""
            )
            self.brokers[node] = broker
        for each in (self.controller, *self.brokers.values()):
            each.format(CLUSTER)
            each.start()

    @property
    def bootstrap(self) -> str:
        return self.controller.bootstrap

    def kill(self) -> None:
        for each in (*self.brokers.values(), self.controller):
            each.kill()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeNodes]:
    libs = find_libs()
    if isinstance(libs, str):
        pytest.skip(libs)
    nodes = ThreeNodes(KafkaTools(libs), tmp_path_factory.mktemp("kafka"))
    yield nodes
    nodes.kill()


def create(cluster: ThreeNodes, topic: str, replicas: list[int]) -> TopicPartition:
    settings = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
    with KafkaAdminClient(bootstrap_servers=cluster.bootstrap) as admin:
        admin.create_topics(
            [NewTopic(topic, replica_assignments={0: replicas}, topic_configs=settings)], wait_for_metadata=True
        )
    return TopicPartition(topic, 0)


def write(cluster: ThreeNodes, where: TopicPartition, values: list[bytes]) -> None:
    with KafkaProducer(bootstrap_servers=cluster.bootstrap, acks=1) as producer:
        for value in values:
            producer.send(where.topic, value, partition=0).get(PATIENCE)


def take(consumer: KafkaConsumer, count: int) -> list[bytes]:
    values: list[bytes] = []
    deadline = time.monotonic() + PATIENCE
    while len(values) < count and time.monotonic() < deadline:
        for records in consumer.poll(500).values():
            values += [record.value for record in records]
    return values


def state(cluster: ThreeNodes, where: TopicPartition) -> tuple[int, list[int]]:
    """The leader, and who is in sync."""
    with KafkaAdminClient(bootstrap_servers=cluster.bootstrap) as admin:
        (topic,) = admin.describe_topics([where.topic])
    (row,) = topic["partitions"]
    return row["leader_id"], sorted(row["isr_nodes"])


def consumer_of(cluster: ThreeNodes, where: TopicPartition, policy: str, rack: str = "") -> KafkaConsumer:
    consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap, auto_offset_reset=policy, client_rack=rack)
    consumer.assign([where])
    return consumer


def test_a_replica_in_our_own_rack_is_read_from_until_it_is_gone(cluster: ThreeNodes, topic: str) -> None:
    where = create(cluster, topic, [2, 3])
    write(cluster, where, [b"%d" % number for number in range(10)])
    with consumer_of(cluster, where, "earliest", rack="plzen") as consumer:
        assert len(take(consumer, 10)) == 10
        reading = consumer._fetcher.readings[where]
        wait_until(lambda: reading.preferred == 3)
        cluster.brokers[3].kill()
        write(cluster, where, [b"more"])
        assert take(consumer, 1) == [b"more"]
        assert consumer._fetcher._node_for(reading, time.monotonic()) == 2
    cluster.brokers[3].start()
    wait_until(lambda: state(cluster, where)[1] == [2, 3])


@pytest.mark.parametrize("policy", ["earliest", "none"])
def test_a_leader_with_a_shorter_log(cluster: ThreeNodes, topic: str, policy: str) -> None:
    where = create(cluster, topic, [2, 3])
    write(cluster, where, [b"kept"])
    wait_until(lambda: state(cluster, where) == (2, [2, 3]))
    with consumer_of(cluster, where, policy) as consumer:
        consumer.seek(where, 0)
        assert take(consumer, 1) == [b"kept"]
        cluster.brokers[3].kill()
        wait_until(lambda: state(cluster, where)[1] == [2])
        write(cluster, where, [b"lost", b"lost too"])
        assert take(consumer, 2) == [b"lost", b"lost too"]
        cluster.brokers[2].kill()
        cluster.brokers[3].start()
        wait_until(lambda: state(cluster, where)[0] == 3)
        write(cluster, where, [b"instead"])
        if policy == "none":
            with pytest.raises(errors.LogTruncationError) as raised:
                take(consumer, 1)
            assert raised.value.divergent_offsets[where].offset == 1
            consumer.seek(where, 1)
        assert take(consumer, 1) == [b"instead"]
        assert consumer.position(where) == 2
    cluster.brokers[2].start()
    wait_until(lambda: state(cluster, where)[1] == [2, 3])
