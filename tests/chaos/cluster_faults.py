"""What is done to a cluster: each fault is one function, which ends with the cluster whole again.

A fault returns how long writing stood still: the longest time in which a partition had nothing acknowledged, from the
moment of the fault until records sent after it are taken everywhere.
"""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

from cluster_load import PATIENCE, SOURCE, ClusterLoad, wait_until

from moldau.client.admin import describe_cluster, list_topics
from moldau.client.cluster import Cluster as Client
from moldau.errors import MoldauError
from moldau.testing import Cluster, Node

DISK = 512 << 20
# With a full disk it takes a moment until what was allocated before is used up.
SETTLING = 3.0


class Disk:
    """The disk of one node that can be filled: a small tmpfs; without the right to mount one, a limit on the length of
    the files of its process."""

    def __init__(self, data: Path) -> None:
        self.data = data
        data.mkdir(parents=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(data)]
        self.mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0

    def fill(self, process: int) -> None:
        if not self.mounted:
            longest = max((path.stat().st_size for path in self.data.glob(f"{SOURCE}-*/*.log")), default=0)
            resource.prlimit(process, resource.RLIMIT_FSIZE, (longest, resource.RLIM_INFINITY))
            return
        with (self.data / "filler").open("wb", buffering=0) as file, suppress(OSError):
            while True:
                if file.write(b"x" * (1 << 20)) < 1 << 20:
                    break
        with (self.data / "crumbs").open("wb", buffering=0) as file, suppress(OSError):
            while file.write(b"x" * 4096) == 4096:
                pass

    def free(self, process: int | None) -> None:
        if self.mounted:
            for name in ("filler", "crumbs"):
                (self.data / name).unlink(missing_ok=True)
        elif process is not None:
            resource.prlimit(process, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    def close(self) -> None:
        if self.mounted:
            subprocess.run(["umount", "-l", str(self.data)], check=False)


class Faults:
    def __init__(self, cluster: Cluster, load: ClusterLoad, disks: dict[int, Disk], partitions: int, seed: int) -> None:
        self._cluster = cluster
        self._load = load
        self._disks = disks
        self._random = Random(seed)
        self._partitions = partitions

    @property
    def kinds(self) -> dict[str, Callable[[], float]]:
        return {
            "leader killed": self.leader_killed,
            "leader paused": self.leader_paused,
            "leader cut off": self.leader_cut_off,
            "leader stopped": self.leader_stopped,
            "disk full": self.disk_full,
            "controller killed": self.controller_killed,
            "all killed": self.all_killed,
        }

    def leader_killed(self) -> float:
        node = self._leader()
        self._load.watch()
        node.kill()
        return self._over(node.start)

    def leader_paused(self) -> float:
        node = self._leader()
        self._load.watch()
        node.pause()
        return self._over(node.resume)

    def leader_cut_off(self) -> float:
        node = self._leader()
        self._load.watch()
        node.cut_off()
        return self._over(node.heal)

    def leader_stopped(self) -> float:
        """In order, as for an upgrade."""
        node = self._leader()
        self._load.watch()
        node.stop()
        return self._over(node.start)

    def controller_killed(self) -> float:
        node = self._cluster.controller
        self._load.watch()
        node.kill()
        return self._over(node.start)

    def all_killed(self) -> float:
        self._load.watch()
        self._cluster.kill()
        self._cluster.start()
        return self._over(lambda: None)

    def disk_full(self) -> float:
        node = self._leader()
        disk = self._disks[node.id]
        assert node.pid is not None
        self._load.watch(SETTLING)
        disk.fill(node.pid)
        # A broker may answer that its disk is full until somebody makes room: then that is what ends it.
        self._load.wait_resumed(30.0)

        disk.free(node.pid if node.running else None)

        def restart() -> None:
            if not node.running:
                node.kill()
            node.restart()

        return self._over(restart)

    # ----------------------------------------------------------------------------------------------------- between

    def _leader(self) -> Node:
        return self._cluster.leader_of(SOURCE, self._random.randrange(self._partitions))

    def _over(self, mend: Callable[[], None]) -> float:
        resumed = self._load.wait_resumed()
        gap = self._load.gap
        mend()
        assert resumed, f"after {PATIENCE:g} s writing has not resumed"
        self.wait_whole()
        return gap

    def wait_whole(self) -> None:
        """Every node is there and every replica in sync: the next fault should find a cluster that can bear it."""

        def whole() -> bool:
            try:
                with Client(self._cluster.bootstrap_servers, timeout=5.0) as client:
                    brokers = client.run(describe_cluster()).brokers
                    topics = client.run(list_topics(internal=True))
            except MoldauError:
                return False
            return sum(not broker.fenced for broker in brokers) == len(self._cluster.nodes) and all(
                len(each.isr) == len(each.replicas) for topic in topics for each in topic.partitions.values()
            )

        assert wait_until(whole, PATIENCE), "the cluster did not become whole again"
