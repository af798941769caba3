"""`moldau cluster start` and `moldau start --nodes`: several nodes under one command, and nothing left of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from cluster_command import Started, begun, node_pids
from patience import PATIENCE, alive, wait_until

from moldau import KafkaConsumer, KafkaProducer, TopicPartition
from moldau.admin import KafkaAdminClient, NewTopic
from moldau.supervision.layout import new_cluster_id, reserve


def neighbours(held: ExitStack, number: int) -> int:
    """The first of so many ports in a row, which nobody else is given while they are held."""
    while True:
        with ExitStack() as tried:
            first = tried.enter_context(reserve()).getsockname()[1]
            try:
                for port in range(first + 1, first + number):
                    tried.enter_context(reserve(port))
            except OSError:
                continue
            held.enter_context(tried.pop_all())
            return int(first)


@pytest.fixture
def start() -> Iterator[Callable[..., Started]]:
    with begun() as commands:

        def start(*arguments: str) -> Started:
            commands.append(Started(*arguments))
            return commands[-1]

        yield start


@pytest.mark.parametrize("nodes", [1, 3])
def test_a_cluster_that_is_stopped_comes_back_with_everything(
    start: Callable[..., Started], tmp_path: Path, nodes: int
) -> None:
    data = tmp_path / "data"
    first = start("cluster", "start", "--nodes", str(nodes), "--port", "0", "--data", str(data))
    assert len(first.bootstrap.split(",")) == nodes
    with KafkaProducer(bootstrap_servers=first.bootstrap) as producer:
        producer.send("rivers", b"vltava", partition=0).get(60)
    pids = node_pids(data)
    assert len(pids) == nodes
    assert first.end() == (0, "", "")
    assert not any(map(alive, pids))
    cluster_id = json.loads((data / "cluster.json").read_text())["cluster_id"]
    again = start("cluster", "start", "--data", str(data))
    assert again.bootstrap == first.bootstrap
    where = TopicPartition("rivers", 0)
    with KafkaConsumer(bootstrap_servers=again.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([where])
        (record,) = consumer.poll(60_000)[where]
        assert record.value == b"vltava"
    assert again.end(signal.SIGINT) == (0, "", "")
    for id in range(1, nodes + 1):
        assert f"cluster.id={cluster_id}" in (data / f"node-{id}" / "data" / "meta.properties").read_text()


def test_a_killed_supervisor_takes_its_nodes_along(start: Callable[..., Started], tmp_path: Path) -> None:
    command = start("cluster", "start", "--nodes", "1", "--port", "0", "--data", str(tmp_path))
    (pid,) = node_pids(tmp_path)
    os.kill(pid, signal.SIGSTOP)
    command.process.kill()
    wait_until(lambda: not alive(pid))
    assert (tmp_path / "node-1" / "data" / "meta.properties").exists()


def test_a_second_supervisor_leaves_the_first_one_alone(start: Callable[..., Started], tmp_path: Path) -> None:
    command = start("cluster", "start", "--nodes", "1", "--port", "0", "--data", str(tmp_path))
    before = {path: path.read_bytes() for path in tmp_path.glob("*.json")}, node_pids(tmp_path)
    words = ["cluster", "start", "--nodes", "2", "--data", str(tmp_path)]
    done = subprocess.run([sys.executable, "-m", "moldau", *words], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"moldau: {tmp_path} is in use: another process runs its nodes.\n"
    assert before == ({path: path.read_bytes() for path in tmp_path.glob("*.json")}, node_pids(tmp_path))
    (pid,) = node_pids(tmp_path)
    command.process.kill()
    # Its guard still ends the node, and only then somebody else may begin.
    again = start("cluster", "start", "--data", str(tmp_path))
    assert not alive(pid)
    assert again.end()[0] == 0


def test_a_node_that_dies_is_told_and_not_replaced(start: Callable[..., Started], tmp_path: Path) -> None:
    command = start("cluster", "start", "--nodes", "1", "--port", "0", "--data", str(tmp_path))
    (pid,) = node_pids(tmp_path)
    os.kill(pid, signal.SIGKILL)
    _, complained = command.process.communicate(timeout=PATIENCE)
    assert command.process.returncode == 1
    assert complained.startswith("moldau: Node 1 was killed by SIGKILL; the others go on. Its log is ")
    assert complained.endswith("moldau: No node is left.\n")


def test_a_node_that_cannot_start_ends_the_command(tmp_path: Path) -> None:
    words = ["cluster", "start", "--nodes", "1", "--port", "0", "--data", str(tmp_path), "--set", "no.such.setting=1"]
    done = subprocess.run([sys.executable, "-m", "moldau", *words], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no.such.setting" in done.stderr
    assert done.stderr.count("\n") == 1


def test_as_many_nodes_as_cores(start: Callable[..., Started], tmp_path: Path) -> None:
    command = start("start", "--nodes", "2", "--listen", "127.0.0.1:0", "--data", str(tmp_path))
    assert "," not in command.bootstrap
    layout = json.loads((tmp_path / "cluster.json").read_text())
    assert [node["id"] for node in layout["nodes"]] == [1, 2]
    described = subprocess.run(
        [sys.executable, "-m", "moldau", "brokers", "list", "--json", "-b", command.bootstrap],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert [row["rack"] for row in json.loads(described.stdout)] == [os.uname().nodename] * 2
    assert command.end()[0] == 0


@pytest.fixture
def held() -> Iterator[ExitStack]:
    with ExitStack() as held:
        yield held


def test_the_nodes_of_several_machines_are_one_cluster(
    start: Callable[..., Started], held: ExitStack, tmp_path: Path
) -> None:
    """Two machines of two nodes, and a controller elsewhere: the replicas of a partition are on both machines."""
    controller, *ports = (neighbours(held, number) for number in (1, 2, 2))
    cluster_id = new_cluster_id()
    common = f"controller.listener.names=CONTROLLER\ncontroller.quorum.voters=9@127.0.0.1:{controller}\n"
    alone = f"process.roles=controller\nnode.id=9\nlisteners=CONTROLLER://127.0.0.1:{controller}\n"
    (tmp_path / "controller").write_text(common + alone)
    start("start", str(tmp_path / "controller"), "--data", str(tmp_path / "9"), "--cluster-id", cluster_id)
    machines = []
    for node_id, rack, port in ((1, "north", ports[0]), (5, "south", ports[1])):
        file, disks = tmp_path / rack, f"{tmp_path}/{rack}-one,{tmp_path}/{rack}-two"
        own = f"process.roles=broker\nnode.id={node_id}\nbroker.rack={rack}\nlog.dirs={disks}\n"
        file.write_text(f"{common}{own}listeners=PLAINTEXT://127.0.0.1:{port}\n")
        machines.append(start("start", str(file), "--nodes", "2", "--cluster-id", cluster_id))
    assert [each.bootstrap for each in machines] == [f"127.0.0.1:{port}" for port in ports]
    with KafkaAdminClient(bootstrap_servers=machines[0].bootstrap) as admin:
        admin.create_topics([NewTopic("rivers", 4, 2)], wait_for_metadata=True)
        # Each broker hears of it by itself, and any of them may be asked.
        described: list[Any] = []

        def all_known() -> bool:
            described[:] = admin.describe_topics(["rivers"])[0]["partitions"]
            return len(described) == 4

        wait_until(all_known)
    replicas = [set(partition["replica_nodes"]) for partition in described]
    assert all(len(each & {1, 2}) == len(each & {5, 6}) == 1 for each in replicas), replicas
    assert set.union(*replicas) == {1, 2, 5, 6}
    for disk in ("one", "two"):
        assert (tmp_path / f"north-{disk}" / "node-2" / "data" / "meta.properties").exists()
    assert machines[1].end() == (0, "", "")
    words = ["start", str(tmp_path / "south"), "--nodes", "1"]
    done = subprocess.run([sys.executable, "-m", "moldau", *words], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert "holds the data of node 6, too, which would not be started" in done.stderr
    assert machines[0].end(signal.SIGINT) == (0, "", "")


def test_what_does_not_fit_what_is_there(start: Callable[..., Started], tmp_path: Path) -> None:
    start("cluster", "start", "--nodes", "1", "--port", "0", "--data", str(tmp_path)).end()
    for words, sentence in (
        (["start", "--nodes", "2", "--cluster-id", "x"], "leave --cluster-id out"),
        (["start", "--nodes", "2", "--listen", "0.0.0.0:9092"], "on this machine only, at 127.0.0.1"),
        (["start", "--nodes", "2", "--data", str(tmp_path / "node-1" / "data")], "is that of a single node"),
        (["cluster", "start", "--port", "1", "--data", str(tmp_path)], "holds a cluster at port"),
    ):
        done = subprocess.run([sys.executable, "-m", "moldau", *words], capture_output=True, text=True, timeout=60)
        assert done.returncode in (1, 2)
        assert sentence in done.stderr
