"""The contracts in pyproject.toml mean what they say: breaches planted in a copy of the tree are all found."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

# Importer, imported. Each is one line at the end of a file that keeps the rules.
UPWARD = [
    ("types", "moldau.errors"),
    ("errors.named", "moldau.client.exceptions"),
    ("deferred", "moldau.client.errors"),
    ("errors", "moldau.deferred"),
    ("_speed.reference.codec", "moldau.protocol.wire"),
    ("runtime.ports", "moldau.protocol.wire"),
    ("protocol.wire", "moldau.storage.segment"),
    ("timeline.deferred_queue", "moldau.storage.log"),
    ("links.link", "moldau.client.network"),
    ("security.principal", "moldau.metadata.image"),
    ("links.peers", "moldau.raft.quorum"),
    ("protocol.wire", "moldau.links.addresses"),
    ("storage.log", "moldau.raft.raft_quorum"),
    ("raft.raft_quorum", "moldau.controller.topics"),
    ("replica.manager", "moldau.server.dispatch"),
    ("server.dispatch", "moldau.node"),
    ("node", "moldau.cli.start"),
    ("client.cluster", "moldau.aio.producer"),
    ("spark.options", "moldau.cli.main"),
    ("diagnosis.groups", "moldau.supervision.layout"),
    ("supervision.layout", "moldau.console.browsing"),
    ("console.browsing", "moldau.cli.main"),
]
SIDEWAYS = [
    ("runtime.reactor", "moldau.config.broker"),
    ("config.broker", "moldau.runtime.ports"),
    ("config.topic", "moldau.metrics.exposition"),
    ("metrics.exposition", "moldau.config.definition"),
    ("storage.log", "moldau.metadata.image"),
    ("security.principal", "moldau.links.link"),
    ("metadata.image", "moldau.storage.segment"),
    ("replica.manager", "moldau.coordinator.runtime"),
    ("coordinator.runtime", "moldau.replica.manager"),
    ("controller.topics", "moldau.replica.partition"),
    ("replica.partition", "moldau.controller.topics"),
    ("coordinator.txn.shard", "moldau.coordinator.group.shard"),
    ("coordinator.share.shard", "moldau.coordinator.txn.shard"),
    ("coordinator.group.shard", "moldau.coordinator.share.shard"),
    ("server.connection", "moldau.client.network"),
    ("client.network", "moldau.server.connection"),
    ("links.link", "moldau.timeline.state"),
    ("admin", "moldau.aio.producer"),
    ("node", "moldau.structs"),
    ("simulation.world", "moldau.spark.options"),
    ("spark.options", "moldau.simulation.world"),
    ("cli.main", "moldau.testing.node"),
    ("testing.node", "moldau.cli.main"),
]
FROM_AFAR = [
    ("client.cluster", "moldau.config.broker"),
    ("links.peers", "moldau.config.broker"),
    ("client.cluster", "moldau.storage.segment"),
    ("aio.consumer", "moldau.metadata.image"),
    ("aio.consumer", "moldau.storage.log"),
    ("structs", "moldau.server.context"),
    ("spark.session", "moldau.coordinator.group.shard"),
    ("spark.session", "moldau.node"),
    ("cli.topics", "moldau.server.dispatch"),
    ("cli.start", "moldau.replica.manager"),
    ("testing.cluster", "moldau.node"),
    ("testing.cluster", "moldau.client.network"),
    ("diagnosis.groups", "moldau.coordinator.group.shard"),
    ("console.browsing", "moldau.server.context"),
    ("supervision.layout", "moldau.config.broker"),
]
PAST_THE_PORTS = [
    ("server.connection", "moldau.runtime.transport"),
    ("server.apis.fetch", "moldau.runtime.disk"),
    ("server.socket_server", "moldau.runtime.network"),
    ("storage.segment", "moldau.runtime.disk"),
    ("coordinator.runtime", "moldau.runtime.clock"),
    ("controller.brokers", "moldau.runtime.chance"),
    ("replica.group_commit", "moldau.runtime.workers"),
    ("links.link", "moldau.runtime.network"),
    ("raft.raft_quorum", "moldau.runtime.reactor"),
    ("node", "moldau.runtime.real"),
    ("simulation.disk", "moldau.runtime.disk"),
    ("server.telemetry.client_metrics", "moldau.runtime.workers"),
    ("server.share.persister", "moldau.runtime.reactor"),
    ("coordinator.share.shard", "moldau.moments"),
]
OUTSIDE_WORLD = [
    ("storage.log", "datetime"),
    ("security.principal", "time"),
    ("server.apis.produce", "os"),
    ("storage.segment", "pathlib"),
    ("storage.recovery", "io"),
    ("server.connection", "ssl"),
    ("storage.cleaner", "tempfile"),
    ("node", "signal"),
    ("config.properties", "os"),
    ("coordinator.runtime", "time"),
    ("links.backoff", "random"),
    ("controller.topics", "random"),
    ("controller.brokers", "uuid"),
    ("raft.raft_quorum", "threading"),
    ("replica.manager", "queue"),
    ("metadata.image", "glob"),
    ("protocol.wire", "ctypes"),
    ("timeline.deferred_queue", "asyncio"),
    ("server.dispatch", "urllib"),
    ("metrics.exposition", "http"),
    ("replica.partition", "fcntl"),
    ("errors.named", "importlib"),
    ("types", "secrets"),
    ("simulation.network", "socket"),
    ("simulation.loop", "time"),
    ("server.share.share_partition", "time"),
    ("security.authorizer", "datetime"),
    ("quantities", "time"),
]
PACKAGES = [
    ("protocol.wire", "numpy"),
    ("storage.segment", "lz4"),
    ("runtime.reactor", "cramjam"),
    ("client.cluster", "pyspark"),
    ("aio.producer", "pyarrow"),
    ("cli.topics", "yaml"),
    ("spark.options", "confluent_kafka"),
]
BREACHES = UPWARD + SIDEWAYS + FROM_AFAR + PAST_THE_PORTS + OUTSIDE_WORLD + PACKAGES


class Tree:
    """A copy of what lint-imports looks at."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        shutil.copytree(ROOT / "src" / "moldau", directory / "src" / "moldau", ignore=shutil.ignore_patterns("*.so"))
        shutil.copytree(ROOT / "tools", directory / "tools", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", directory)

    def plant(self, importer: str, imported: str) -> None:
        place = self.directory / "src" / "moldau" / importer.replace(".", "/")
        path = place.with_suffix(".py") if place.with_suffix(".py").exists() else place / "__init__.py"
        before = path.read_text()
        # Inside a function, where nobody looks.
        path.write_text(f"{before}\n\ndef _planted_{imported.replace('.', '_')}() -> None:\n    import {imported}\n")

    def lint(self) -> tuple[int, str]:
        command = [str(Path(sys.executable).with_name("lint-imports")), "--no-logo", "--no-cache"]
        environment = {**os.environ, "PYTHONPATH": str(self.directory / "src"), "COLUMNS": "400"}
        done = subprocess.run(command, cwd=self.directory, env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_the_tree_as_it_is_keeps_them(tree: Tree) -> None:
    status, words = tree.lint()
    assert status == 0, words


def told_by_itself(words: str) -> set[tuple[str, str]]:
    """The imports that are a breach alone, not as a link of a chain that leads from one breach to another."""
    told = set()
    lines = words.splitlines()
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if (match := re.match(r"(?:-\s+)?moldau\.(\S+) -> (\S+) \(", line)) and not re.match(r"\s+.* -> ", after):
            told.add((match[1], match[2]))
    return told


def test_every_breach_is_told(tree: Tree) -> None:
    for importer, imported in BREACHES:
        tree.plant(importer, imported)
    status, words = tree.lint()
    told = told_by_itself(words)
    assert status != 0
    assert [breach for breach in BREACHES if breach not in told] == []


def test_a_room_without_a_place_is_told(tree: Tree) -> None:
    (tree.directory / "src" / "moldau" / "attic.py").write_text("")
    status, words = tree.lint()
    assert status != 0
    assert "attic" in words
