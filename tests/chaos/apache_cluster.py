"""A cluster of Apache Kafka nodes with the controls of `moldau.testing.Cluster`: what the checks here are checked with.

A harness that finds nothing wrong with ours has to find nothing wrong with Kafka either, and measures it the same way.
The jars are looked for where tools/fetch_kafka puts them; heaps are small, for several nodes on one machine.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from moldau.supervision.process import READY_SECONDS, NodeFailed, NodeProcess
from moldau.testing import Cluster, Node

JAVA = ("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m")
STARTED = "Kafka Server started"
START_SECONDS = 300.0


def jars() -> Path | None:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "moldau"
    return max(cache.glob("kafka-*/libs"), default=None)


class KafkaProcess(NodeProcess):
    def begin(self) -> None:
        self._before = self._lives()
        properties = {**self.settings, "log.dirs": str(self.data)}
        self._file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        if not (self.data / "meta.properties").exists():
            words = ["kafka.tools.StorageTool", "format", "-t", str(self.cluster_id), "-c", str(self._file)]
            done = subprocess.run(self._java(*words), capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
        super().begin()

    def command(self) -> list[str]:
        return self._java("kafka.Kafka", str(self._file))

    def wait_ready(self, seconds: float = READY_SECONDS) -> None:
        """It has no line to print that would tell, only its log; and on a busy machine it takes its time."""
        deadline = time.monotonic() + max(seconds, START_SECONDS)
        while self._lives() == self._before:
            if not self.running or time.monotonic() > deadline:
                self.kill()
                raise NodeFailed(f"Node {self.id} did not become ready. Its log ends with:\n{self.log_tail()}")
            time.sleep(0.05)

    def _lives(self) -> int:
        return self.log.read_text(errors="replace").count(STARTED) if self.log.exists() else 0

    @property
    def _file(self) -> Path:
        return self.directory / "server.properties"

    @staticmethod
    def _java(*words: str) -> list[str]:
        return [*JAVA, "-Dorg.slf4j.simpleLogger.defaultLogLevel=info", "-cp", f"{jars()}/*", *words]


class KafkaNode(Node):
    process_kind = KafkaProcess


class KafkaCluster(Cluster):
    node_kind = KafkaNode
