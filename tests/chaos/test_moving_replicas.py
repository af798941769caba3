"""Replicas move, from broker to broker and from disk to disk, while nodes are killed and writers write.

A move is begun or given up, slow enough to be caught in the middle, and a leader, the controller or whoever moves is
killed then. When all is over every replica is where it was sent last, on the disk the metadata says, and nothing that
was acknowledged is lost, doubled or out of order.

`MOLDAU_SEED=n` repeats the choices of a run (not its timing). `MOLDAU_CHAOS_SECONDS` says how long it is.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pytest
from cluster_load import COPY, PATIENCE, SOURCE, ClusterLoad, wait_until
from mortal_node import MOLDAU

from moldau.client.admin.brokers import describe_cluster, describe_log_dirs
from moldau.client.admin.configs import ConfigChange, ConfigOperation, ConfigResource, ResourceType, alter_configs
from moldau.client.admin.replicas import list_reassignments, move_replicas, reassign
from moldau.client.admin.topics import NewTopic, create_topics, describe_topics, list_topics
from moldau.client.cluster import Cluster as Client
from moldau.client.conversation import Conversation
from moldau.client.structs import TopicPartitionReplica
from moldau.errors import MoldauError
from moldau.testing import Cluster, Node
from moldau.types import TopicPartition

T = TypeVar("T")

NODES, PARTITIONS = 4, 4
SECONDS = float(os.environ.get("MOLDAU_CHAOS_SECONDS", "180"))
# Bytes in a second: nothing that moves arrives at this rate.
SLOW = "2000"
BROKER_RATES = (
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
)
THROTTLED = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")


class TwoDisks(Node):
    @property
    def disks(self) -> tuple[str, str]:
        return f"{self.directory}/one", f"{self.directory}/two"

    def configure(self, settings: Mapping[str, str]) -> None:
        super().configure({**settings, "log.dirs": ",".join(self.disks)})


class TwoDisksEach(Cluster):
    node_kind = TwoDisks


class Moves:
    def __init__(self, directory: Path, seed: int) -> None:
        self.random = Random(seed)
        self.cluster = TwoDisksEach(NODES, directory=directory)
        self.load: ClusterLoad | None = None
        try:
            wanted = [NewTopic(name, PARTITIONS, 3, {"min.insync.replicas": "2"}) for name in (SOURCE, COPY)]
            for created in self.ask(lambda: create_topics(wanted)):
                assert created.error is None, created
            self.load = ClusterLoad(self.cluster.bootstrap_servers, directory, PARTITIONS, seed)
            self.load.watch()
            assert self.load.wait_resumed()
        except BaseException:
            self.close()
            raise

    def ask(self, conversation: Callable[[], Conversation[T]]) -> T:
        """Somebody answers it sooner or later, whoever is being killed."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                with Client(self.cluster.bootstrap_servers, timeout=20.0) as client:
                    return client.run(conversation())
            except MoldauError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    # ---------------------------------------------------------------------------------------------- kinds of rounds

    @property
    def kinds(self) -> dict[str, Callable[[], None]]:
        return {
            "moved to other brokers": self.move_to_brokers,
            "moved to other brokers and called back": self.call_back,
            "moved to other disks": self.move_to_disks,
        }

    def move_to_brokers(self) -> None:
        wanted = self._scattered()
        with self._throttled(), self._killed_meanwhile():
            self.ask(lambda: reassign(wanted))
        self.wait_whole()
        for where, replicas in wanted.items():
            assert self._replicas(where) == replicas, where

    def call_back(self) -> None:
        before = {where: self._replicas(where) for where in self._places()}
        wanted = self._scattered()
        with self._throttled():
            self.ask(lambda: reassign(wanted))
            moving = self.ask(list_reassignments)
            with self._killed_meanwhile():
                answers = self.ask(lambda: reassign(dict.fromkeys(moving)))
            left = self.ask(list_reassignments)
            assert not left.keys() & moving.keys(), left
        self.wait_whole()
        for where, error in answers.items():
            # What was small has arrived before it was called back; or the first answer was never heard.
            allowed = [before[where]] if error is None else [before[where], wanted[where]]
            assert sorted(self._replicas(where)) in [sorted(each) for each in allowed], (where, error)

    def move_to_disks(self) -> None:
        node = self.random.choice(self.cluster.nodes)
        assert isinstance(node, TwoDisks)
        one, two = node.disks
        here = {where: two if path == one else one for where, path in self._on_disk(node).items()}
        wanted = {where: path for where, path in here.items() if self.random.random() < 0.7}
        with self._throttled():
            moves = {TopicPartitionReplica(*where, node.id): path for where, path in wanted.items()}
            refused = {place: error for place, error in self.ask(lambda: move_replicas(moves)).items() if error}
            assert not refused
            time.sleep(self.random.uniform(0.0, 1.0))
            node.kill()
            node.start()
        self.wait_whole()

        def arrived() -> bool:
            there = self._on_disk(node)
            return all(there.get(where) == path for where, path in wanted.items())

        assert wait_until(arrived, PATIENCE), f"{wanted} of node {node.id}, and it has {self._on_disk(node)}"

    # --------------------------------------------------------------------------------------------------- what is true

    def verify(self) -> int:
        assert self.load is not None
        self.load.watch()
        assert self.load.wait_resumed(), "writing has not resumed"
        assert wait_until(lambda: self._assigned() == self._lying(), PATIENCE), (
            f"the metadata says {self._assigned()}, the disks {self._lying()}"
        )
        return self.load.verify()

    def wait_whole(self) -> None:
        def whole() -> bool:
            try:
                with Client(self.cluster.bootstrap_servers, timeout=5.0) as client:
                    brokers = client.run(describe_cluster()).brokers
                    topics = client.run(list_topics(internal=True))
                    moving = client.run(list_reassignments())
            except MoldauError:
                return False
            return (
                not moving
                and sum(not broker.fenced for broker in brokers) == NODES
                and all(len(each.isr) == len(each.replicas) for topic in topics for each in topic.partitions.values())
            )

        assert wait_until(whole, PATIENCE), "the cluster did not become whole again"

    def _assigned(self) -> dict[tuple[str, int, int], str]:
        """The directory id of each replica by topic, partition and broker, as the log of metadata has it."""
        command = [str(MOLDAU), "log", "dump", f"{self.cluster.nodes[0].directory}/one/__cluster_metadata-0", "--json"]
        shown = subprocess.run([*command, "--records"], capture_output=True, text=True, timeout=PATIENCE, check=True)
        names: dict[str, str] = {}
        replicas: dict[tuple[str, int], list[int]] = {}
        directories: dict[tuple[str, int], list[str]] = {}
        for line in shown.stdout.splitlines():
            row: dict[str, Any] = json.loads(line)
            data = row.get("data")
            if row.get("type") == "TopicRecord":
                names[data["topic_id"]] = data["name"]
            elif row.get("type") in ("PartitionRecord", "PartitionChangeRecord"):
                place = data["topic_id"], data["partition_id"]
                replicas[place] = data["replicas"] or replicas[place]
                directories[place] = data["directories"] or directories[place]
        return {
            (names[topic], index, broker): directory
            for (topic, index), brokers in replicas.items()
            for broker, directory in zip(brokers, directories[topic, index], strict=True)
        }

    def _lying(self) -> dict[tuple[str, int, int], str]:
        found: dict[tuple[str, int, int], str] = {}
        for node in self.cluster.nodes:
            assert isinstance(node, TwoDisks)
            ids = {path: _directory_id(path) for path in node.disks}
            found.update({(*where, node.id): ids[path] for where, path in self._on_disk(node).items()})
        return found

    # -------------------------------------------------------------------------------------------------------- between

    @contextmanager
    def _throttled(self) -> Iterator[None]:
        """What moves inside does not arrive; afterwards it may, and all nodes are there to see it."""
        self._set(ConfigOperation.SET, SLOW, "*")
        yield
        self.cluster.start()
        self._set(ConfigOperation.DELETE, None, None)

    def _set(self, operation: ConfigOperation, rate: str | None, replicas: str | None) -> None:
        rates = [ConfigChange(name, operation, rate) for name in BROKER_RATES]
        lists = [ConfigChange(name, operation, replicas) for name in THROTTLED]
        changes = {ConfigResource(ResourceType.BROKER, str(node.id)): rates for node in self.cluster.nodes}
        changes |= {ConfigResource(ResourceType.TOPIC, name): lists for name in (SOURCE, COPY)}
        refused = [error for error in self.ask(lambda: alter_configs(changes)).values() if error is not None]
        assert not refused

    @contextmanager
    def _killed_meanwhile(self) -> Iterator[None]:
        """Somebody dies at about the time when the request is decided, answered and acted on."""
        node = self.cluster.controller
        if self.random.random() < 0.5:
            node = self.cluster.leader_of(SOURCE, self.random.randrange(PARTITIONS))
        killer = threading.Timer(self.random.choice((0.0, 0.02, 0.05, 0.3, 1.0)), node.kill)
        killer.start()
        try:
            yield
        finally:
            killer.join()

    def _scattered(self) -> dict[TopicPartition, list[int]]:
        return {where: self.random.sample(range(1, NODES + 1), 3) for where in self._places()}

    def _places(self) -> list[TopicPartition]:
        return [TopicPartition(name, index) for name in (SOURCE, COPY) for index in range(PARTITIONS)]

    def _replicas(self, where: TopicPartition) -> list[int]:
        (topic,) = self.ask(lambda: describe_topics([where.topic]))
        return list(topic.partitions[where.partition].replicas)

    def _on_disk(self, node: Node) -> dict[TopicPartition, str]:
        """The directory in which each of a node's replicas lies; not those on their way."""
        return {
            replica.partition: directory.path
            for directory in self.ask(lambda: describe_log_dirs([node.id]))
            for replica in directory.replicas
            if not replica.future
        }

    def close(self) -> None:
        if self.load is not None:
            self.load.close()
        self.cluster.close()


def _directory_id(path: str) -> str:
    lines = Path(path, "meta.properties").read_text().splitlines()
    return next(line.partition("=")[2] for line in lines if line.startswith("directory.id="))


@pytest.mark.long
def test_moves_go_on_whoever_is_killed(tmp_path: Path, tell: Callable[[str], None]) -> None:
    seed = int(os.environ.get("MOLDAU_SEED", str(time.time_ns() % 1_000_000)))
    tell(f"MOLDAU_SEED={seed}")
    began = time.monotonic()
    moves = Moves(tmp_path, seed)
    try:
        while time.monotonic() - began < SECONDS:
            for kind, bring in moves.kinds.items():
                bring()
                tell(f"{time.monotonic() - began:5.0f} s: {kind}; {moves.verify()} records, each once")
    except BaseException as error:
        error.add_note(f"MOLDAU_SEED={seed}")
        for node in moves.cluster.nodes:
            error.add_note(f"The log of node {node.id} ends with:\n{node.log_tail(25)}")
        raise
    finally:
        moves.close()
