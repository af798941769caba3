"""All nodes of a cluster die at once, again and again, while their controllers write snapshots of the metadata.

Every topic that was said to be created is there afterwards, on every node, and none that was said to be deleted. And
one node's clock is an hour ahead, another's an hour behind: nothing but what is stamped with them may notice.

`MOLDAU_SEED=n` repeats the choices of a run (not its timing).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from cluster_load import PATIENCE, wait_until

from moldau.client.admin.topics import NewTopic, create_topics, delete_topics, list_topics
from moldau.client.cluster import Cluster as Client
from moldau.errors import MoldauError
from moldau.testing import Cluster, Node

ROUNDS = 10
# A snapshot after every few topics.
SETTINGS = {"metadata.log.max.record.bytes.between.snapshots": "600"}
HOUR_MS = 3_600_000
AHEAD_MS: Mapping[int, int] = {1: 0, 2: HOUR_MS, 3: -HOUR_MS}
# What Python runs before anything else, where it is told to look for it.
WRONG_CLOCK = """\
import time
right, ahead_ms = time.time_ns, {ahead_ms}
time.time_ns = lambda: right() + ahead_ms * 1_000_000
time.time = lambda: time.time_ns() / 1e9
"""


class NodeWithWrongClock(Node):
    def begin(self) -> None:
        (self.directory / "sitecustomize.py").write_text(WRONG_CLOCK.format(ahead_ms=AHEAD_MS[self.id]))
        before = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = str(self.directory)
        try:
            super().begin()
        finally:
            del os.environ["PYTHONPATH"]
            if before is not None:
                os.environ["PYTHONPATH"] = before


class ClusterWithWrongClocks(Cluster):
    node_kind = NodeWithWrongClock


class Operator:
    """Creates topics all the time and deletes some of them; notes what was answered."""

    def __init__(self, servers: str, random: Random) -> None:
        self._servers = servers
        self._random = random
        self._ended = False
        self.there: set[str] = set()
        # Asked for, and no answer came: nobody knows.
        self.unknown: set[str] = set()
        self.gone: set[str] = set()
        self._thread = threading.Thread(target=self._work, name="operator", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _work(self) -> None:
        number = 0
        while not self._ended:
            with suppress(MoldauError), Client(self._servers, timeout=20.0) as client:
                while not self._ended:
                    self._create(client, f"t{number}")
                    number += 1
                    if number % 3 == 0 and len(self.there) > 20:
                        self._delete(client, self._random.choice(sorted(self.there)))

    def end(self) -> None:
        self._ended = True
        self._thread.join(PATIENCE)

    def _create(self, client: Client, name: str) -> None:
        self.unknown.add(name)
        (created,) = client.run(create_topics([NewTopic(name, 2, 3)]))
        if created.error is None:
            self.unknown.remove(name)
            self.there.add(name)

    def _delete(self, client: Client, name: str) -> None:
        self.there.remove(name)
        self.unknown.add(name)
        (deleted,) = client.run(delete_topics([name]))
        if deleted.error is None:
            self.unknown.remove(name)
            self.gone.add(name)


@pytest.mark.long
def test_metadata_survives_all_nodes_dying_while_snapshots_are_written(
    tmp_path: Path, tell: Callable[[str], None]
) -> None:
    seed = int(os.environ.get("MOLDAU_SEED", str(time.time_ns() % 1_000_000)))
    tell(f"MOLDAU_SEED={seed}")
    random = Random(seed)
    with ClusterWithWrongClocks(3, settings=SETTINGS, directory=tmp_path) as cluster:
        operator = Operator(cluster.bootstrap_servers, random)
        operator.start()
        inside = 0
        try:
            for _ in range(ROUNDS):
                time.sleep(random.uniform(0.2, 1.5))
                for node in random.sample(cluster.nodes, 3):
                    node.kill()
                inside += len(list(tmp_path.glob("node-*/data/__cluster_metadata-0/*.part")))
                cluster.start()
            operator.end()
            for node in cluster.nodes:
                _check(node, operator)
        finally:
            operator.end()
        tell(f"{len(operator.there)} topics, each there; {inside} snapshots were cut short")
        assert operator.there


def _check(node: Node, operator: Operator) -> None:
    found: set[str] = set()

    def agrees() -> bool:
        with suppress(MoldauError), Client(node.address, timeout=20.0) as client:
            found.clear()
            found.update(topic.name for topic in client.run(list_topics()))
        return operator.there <= found and not operator.gone & found

    assert wait_until(agrees, PATIENCE), (
        f"node {node.id} lost {operator.there - found} and has {operator.gone & found}:\n{node.log_tail()}"
    )
    assert "Traceback" not in node.log_tail(100_000), node.log_tail()
