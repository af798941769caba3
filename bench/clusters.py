"""Clusters of three nodes, each of them broker and controller, a process per node: ours, and Apache Kafka's.

Both are `moldau.testing.Cluster`, which knows how nodes are started, stopped and killed, with the settings of a server
in the place of those it has for tests, the same for both; of Kafka's nodes each is a Java machine as its start script
makes it.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from bench.apache_kafka import FORMAT, PROPERTIES, SERVER, Kafka, fetch
from bench.contenders import DELETE_DELAY_MS, Contender, cpu_seconds, fresh, memory_mb
from bench.conversation import Conversation
from moldau.protocol.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from moldau.protocol.messages.metadata import MetadataResponsePartition
from moldau.supervision.process import NodeFailed, NodeProcess
from moldau.testing import Cluster, Node

NODES = 3
START_SECONDS = 90.0
WHOLE_SECONDS = 120.0
QUIET_SECONDS = 30.0
QUIET = 0.3  # of a core, all nodes together
LOOK_AGAIN = 0.02
ELECT_LEADERS = 2
PREFERRED = 0
# A server's, where a cluster for tests has others; and what a run of measurements needs.
SETTINGS = {
    "broker.session.timeout.ms": "9000",
    "broker.heartbeat.interval.ms": "2000",
    "offsets.topic.num.partitions": "50",
    "transaction.state.log.num.partitions": "50",
    "log.segment.delete.delay.ms": str(DELETE_DELAY_MS),
}


class MoldauProcess(NodeProcess):
    """With thousands of partitions on three nodes of a small machine a start takes longer than a test would wait."""

    def wait_ready(self, seconds: float = START_SECONDS) -> None:
        super().wait_ready(seconds)


class MoldauNode(Node):
    process_kind = MoldauProcess


class MoldauNodes(Cluster):
    node_kind = MoldauNode


class KafkaProcess(NodeProcess):
    def begin(self) -> None:
        self.data.mkdir(parents=True, exist_ok=True)
        properties = {**threads_of_kafka(), **self.settings, "log.dirs": str(self.data.absolute())}
        self._file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        if not (self.data / "meta.properties").exists():
            words = ["kafka.tools.StorageTool", "format", "-t", str(self.cluster_id), "-c", str(self._file)]
            subprocess.run([*FORMAT, f"{fetch()}/*", *words], check=True, stdout=subprocess.DEVNULL)
        super().begin()

    def command(self) -> list[str]:
        return [*SERVER, f"{fetch()}/*", "kafka.Kafka", str(self._file)]

    def wait_ready(self, seconds: float = START_SECONDS) -> None:
        """Until it answers clients, which it does once it is no longer fenced."""
        (listener,) = [each for each in self.settings["listeners"].split(",") if each.startswith("PLAINTEXT:")]
        host, port = listener.split("//")[1].rsplit(":", 1)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.running:
            try:
                with Conversation((host, int(port))) as conversation:
                    conversation.versions()
                    return
            except OSError:
                time.sleep(LOOK_AGAIN)
        raise NodeFailed(f"Apache Kafka's node {self.id} did not start: {self.log_tail(5)}")

    @property
    def _file(self) -> Path:
        return self.directory / "server.properties"


def threads_of_kafka() -> dict[str, str]:
    """What its own server.properties says beyond the defaults: threads, and buffers of sockets."""
    said = dict(line.split("=", 1) for line in PROPERTIES.splitlines())
    return {name: said[name] for name in said if name.startswith(("num.", "socket."))}


class KafkaNode(Node):
    process_kind = KafkaProcess


class KafkaNodes(Cluster):
    node_kind = KafkaNode


class RunningCluster:
    """Three nodes that answer; knows what their processes cost."""

    def __init__(self, nodes: Cluster) -> None:
        self._cluster = nodes

    @property
    def nodes(self) -> list[Node]:
        return self._cluster.nodes

    @property
    def bootstrap(self) -> str:
        return self._cluster.bootstrap_servers

    @property
    def addresses(self) -> list[tuple[str, int]]:
        return [("127.0.0.1", node.port) for node in self.nodes]

    @property
    def ports(self) -> tuple[int, ...]:
        return tuple(node.port for node in self.nodes)

    @property
    def alive(self) -> bool:
        return all(node.running for node in self.nodes)

    @property
    def controller(self) -> Node:
        return self._cluster.controller

    def follower(self) -> Node:
        """A node that does not lead the controllers."""
        return next(node for node in self.nodes if node is not self.controller)

    def cpu_seconds(self) -> float:
        """Of all nodes together."""
        return sum(cpu_seconds(pid) for pid in self._processes())

    def memory_mb(self) -> float:
        """Of one node: the mean of what is resident of each."""
        sizes = [memory_mb(pid)[0] for pid in self._processes()]
        return sum(sizes) / len(sizes)

    def close(self) -> None:
        self._cluster.close()

    def create_topic(
        self, name: str, partitions: int = NODES, settings: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Every node has a replica of each partition, and they lead in turn: the first node the first, and so on."""
        ids = [node.id for node in self.nodes]
        rows = [
            CreatableReplicaAssignment(
                partition_index=index, broker_ids=[ids[(index + turn) % len(ids)] for turn in range(len(ids))]
            )
            for index in range(partitions)
        ]
        configs = [CreatableTopicConfig(name=key, value=value) for key, value in settings.items()]
        wanted = CreatableTopic(name=name, num_partitions=-1, replication_factor=-1, assignments=rows, configs=configs)
        with Conversation(self.addresses[0]) as conversation:
            conversation.make(wanted)
        self.wait_whole(name, partitions)

    def delete_topic(self, name: str) -> None:
        with Conversation(self.addresses[0]) as conversation:
            conversation.delete_topic(name)

    def partitions(self, name: str, node: Node) -> list[MetadataResponsePartition]:
        """As this node knows them."""
        with Conversation(("127.0.0.1", node.port)) as conversation:
            return conversation.partitions(name)

    def wait_whole(self, name: str, partitions: int = NODES) -> None:
        """Every node knows that each partition is led and every replica in sync, and has a log of it."""

        def whole(node: Node) -> bool:
            if sum(1 for _ in (node.directory / "data").glob(f"{name}-*")) < partitions:
                return False
            found = self.partitions(name, node)
            return len(found) == partitions and all(
                len(each.isr_nodes) == NODES and each.leader_id >= 0 and not each.error_code for each in found
            )

        deadline = time.monotonic() + WHOLE_SECONDS
        while not all(whole(node) for node in self.nodes):
            if time.monotonic() > deadline:
                raise TimeoutError(f"not all replicas of {name} were in sync after {WHOLE_SECONDS:.0f} s")
            time.sleep(LOOK_AGAIN)

    def elect_preferred(self) -> None:
        request = ElectLeadersRequest(election_type=PREFERRED, topic_partitions=None, timeout_ms=60_000)
        with Conversation(("127.0.0.1", self.controller.port)) as conversation:
            answer = conversation.ask(request, ELECT_LEADERS, ElectLeadersResponse)
        if answer.error_code:
            raise RuntimeError(f"the election of preferred leaders was refused: error {answer.error_code}")

    def wait_quiet(self) -> None:
        """Until the nodes have little to do: what a topic of many partitions sets off goes on behind its creation."""
        deadline = time.monotonic() + QUIET_SECONDS
        before = self.cpu_seconds()
        while time.monotonic() < deadline:
            time.sleep(1.0)
            now = self.cpu_seconds()
            if now - before < QUIET:
                return
            before = now

    def _processes(self) -> list[int]:
        return [node.pid for node in self.nodes if node.pid is not None]


def start_cluster(contender: Contender, directory: Path) -> RunningCluster:
    kind = KafkaNodes if isinstance(contender, Kafka) else MoldauNodes
    return RunningCluster(kind(NODES, settings=SETTINGS, directory=fresh(directory)))


@contextmanager
def cluster_of(contender: Contender, directory: Path) -> Iterator[RunningCluster]:
    """For one measurement."""
    made = start_cluster(contender, directory)
    try:
        yield made
    finally:
        made.close()


def one_node_only(contender: Contender) -> str:
    return "" if contender.clusters else "has one node"
