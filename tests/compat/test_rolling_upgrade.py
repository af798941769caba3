"""A cluster of an earlier version becomes one of this version, node by node as docs/OPERATING.md says, while clients
with default retries write and read; and a node that was upgraded is put back in between, with its data.

The earlier version is what git has, 150 commits ago or at `MOLDAU_UPGRADE_FROM`, run without compiled kernels.
"""

from __future__ import annotations

import os
import subprocess
import tarfile
from pathlib import Path
from typing import ClassVar

import pytest
from patience import PATIENCE, wait_until
from test_rolling_restart import CLIENTS, PARTITIONS, PROGRESS, Work

from moldau import KafkaAdminClient
from moldau.client.admin import list_topics
from moldau.client.admin.topics import NewTopic, create_topics
from moldau.client.cluster import Cluster as Client
from moldau.supervision.process import NodeProcess
from moldau.testing import Cluster, Node

pytestmark = [pytest.mark.long, pytest.mark.ours_only("it is our versions that follow each other")]

ROOT = Path(__file__).resolve().parents[2]
COMMIT = os.environ.get("MOLDAU_UPGRADE_FROM", "HEAD~150")
SETTINGS = {"broker.session.timeout.ms": "9000", "broker.heartbeat.interval.ms": "2000"}


class EarlierProcess(NodeProcess):
    place: ClassVar[Path]

    def command(self) -> list[str]:
        return ["/usr/bin/env", f"PYTHONPATH={self.place / 'src'}", *super().command()]


class EarlierNode(Node):
    process_kind = EarlierProcess


class EarlierCluster(Cluster):
    node_kind = EarlierNode


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("earlier")
    archive = place / "tree.tar"
    command = ["git", "-C", str(ROOT), "archive", "-o", str(archive), COMMIT, "src"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"git has no {COMMIT} here (a shallow clone): {done.stderr.strip()}")
    with tarfile.open(archive) as files:
        files.extractall(place, filter="data")
    return place


def become(node: Node, kind: type[NodeProcess]) -> None:
    """Stopped in order, and started as the other version where it was, with its data."""
    assert node._process is not None
    settings = dict(node._process.settings)
    node.stop()
    node.process_kind = kind
    node.configure(settings)
    node.start()


def is_earlier(node: Node) -> bool:
    """Whether its process has loaded none of our compiled kernels: the earlier version has none."""
    return f"{ROOT}/src/moldau/_speed" not in Path(f"/proc/{node.pid}/maps").read_text()


def raise_features(bootstrap: str) -> dict[str, tuple[int, int]]:
    """As the page has it; what is not at its best afterwards, as what it is and what it could be."""
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        for name, levels in admin.describe_features().items():
            wanted = levels["supported"][1]
            if levels.get("finalized", (0, 0))[1] < wanted and name != "kraft.version":
                admin.update_features({name: wanted})
        return {
            name: (levels.get("finalized", (0, 0))[1], levels["supported"][1])
            for name, levels in admin.describe_features().items()
            if levels.get("finalized", (0, 0))[1] < levels["supported"][1] and name != "kraft.version"
        }


def test_a_cluster_is_upgraded_node_by_node(earlier: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EarlierProcess, "place", earlier, raising=False)
    with EarlierCluster(3, settings=SETTINGS) as cluster:
        work = [Work(client, cluster.bootstrap_servers) for client in CLIENTS]
        with Client(cluster.bootstrap_servers, timeout=PATIENCE) as client:
            topics = [NewTopic(each.topic, PARTITIONS, 3, {"min.insync.replicas": "2"}) for each in work]
            assert all(created.error is None for created in client.run(create_topics(topics)))
            assert all(is_earlier(node) for node in cluster.nodes)

            def is_whole() -> bool:
                found = client.run(list_topics(internal=True))
                return all(len(p.isr) == len(p.replicas) for topic in found for p in topic.partitions.values())

            def change(node: Node, kind: type[NodeProcess]) -> None:
                before = [(len(each.acknowledged), len(each.read)) for each in work]
                become(node, kind)
                wait_until(is_whole, "its replicas are in sync again")

                def goes_on() -> bool:
                    return any(each.failures for each in work) or all(
                        len(each.acknowledged) >= written + PROGRESS and len(each.read) >= read + PROGRESS
                        for each, (written, read) in zip(work, before, strict=True)
                    )

                wait_until(goes_on, "everybody writes and reads")

            for each in work:
                each.start()
            try:
                first, *others = cluster.nodes
                change(first, NodeProcess)
                assert not is_earlier(first)
                change(first, EarlierProcess)
                assert is_earlier(first)
                for node in (first, *others):
                    change(node, NodeProcess)
            finally:
                for each in work:
                    each.end()
            assert not any(is_earlier(node) for node in cluster.nodes)
            assert raise_features(cluster.bootstrap_servers) == {}
    assert {each.client: each.failures for each in work} == {client: [] for client in CLIENTS}
    assert all(each.acknowledged and each.acknowledged <= each.read for each in work)
