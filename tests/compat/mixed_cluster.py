"""A cluster in which some nodes are Apache Kafka's and the others ours: one kind of settings file, two programs.

Every node keeps its ports and its directory over restarts. Kafka's are formatted by Kafka's tool and ours by ours, both
for the same cluster, with the features that Kafka 4.3 gives a new one.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from java_tools import KafkaTools
from node_process import MOLDAU

from moldau.supervision.layout import hold_ports

CLUSTER_ID = "UJGknZGyd0ra95Lz8JamMg"
QUORUM_VOTERS = "controller.quorum.voters"
START_SECONDS = 90.0
# A node of Kafka's needs little memory here, and is up sooner without the second compiler.
JAVA = (
    *("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"),
    *("-Dorg.slf4j.simpleLogger.defaultLogLevel=info", "-Dorg.slf4j.simpleLogger.showDateTime=true"),
)
SETTINGS: Mapping[str, str] = {
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "2",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "2",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.segment.delete.delay.ms": "1000",
    "auto.leader.rebalance.enable": "false",  # who leads is what tests ask for
}


class MixedNode(ABC):
    def __init__(self, number: int, roles: str, directory: Path, ports: Mapping[str, int]) -> None:
        self.number = number
        self.roles = roles
        self.data = directory / f"node{number}"
        self.properties = directory / f"node{number}.properties"
        self.log = directory / f"node{number}.log"
        self.ports = dict(ports)
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def is_broker(self) -> bool:
        return "broker" in self.roles

    @property
    def is_controller(self) -> bool:
        return "controller" in self.roles

    def address(self, listener: str) -> str:
        return f"127.0.0.1:{self.ports[listener]}"

    def configure(self, more: Mapping[str, str]) -> None:
        everything = {
            **SETTINGS,
            "process.roles": self.roles,
            "node.id": str(self.number),
            "listeners": ",".join(f"{name}://{self.address(name)}" for name in self.ports),
            "log.dirs": str(self.data),
            **more,
        }
        if not self.is_broker:
            del everything["inter.broker.listener.name"]
        self.properties.write_text("".join(f"{name}={value}\n" for name, value in everything.items()))

    @abstractmethod
    def format(self, *more: str) -> None: ...

    @abstractmethod
    def command(self) -> list[str]: ...

    @abstractmethod
    def has_started(self) -> bool: ...

    def begin(self) -> None:
        """Starts the process and waits for nothing: controllers need each other."""
        with self.log.open("ab") as log:
            log.write(b"--- started\n")
            log.flush()
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log)

    def wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self.has_started():
            if not self.running or time.monotonic() > deadline:
                self.kill()
                raise AssertionError(f"node {self.number} did not start:\n{self.tail()}")
            time.sleep(0.1)

    def start(self) -> None:
        self.begin()
        self.wait()

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def said(self) -> str:
        """By this process."""
        return self.log.read_text(errors="replace").rpartition("--- started\n")[2]

    def tail(self, lines: int = 60) -> str:
        return "\n".join(self.said().splitlines()[-lines:])

    def stop(self) -> int:
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(timeout=START_SECONDS)

    def kill(self) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGKILL)
            self.process.wait()


class KafkaNode(MixedNode):
    tools: KafkaTools

    def format(self, *more: str) -> None:
        self.tools.run("StorageTool", "format", "-t", CLUSTER_ID, "-c", str(self.properties), *more)

    def command(self) -> list[str]:
        return [*JAVA, "-cp", self.tools.class_path, "kafka.Kafka", str(self.properties)]

    def has_started(self) -> bool:
        return "Kafka Server started" in self.said()


class MoldauNode(MixedNode):
    def format(self, *more: str) -> None:
        command = [str(MOLDAU), "storage", "format", "--cluster-id", CLUSTER_ID, "--config", str(self.properties)]
        subprocess.run([*command, *more], check=True, stdout=subprocess.DEVNULL, timeout=START_SECONDS)

    def command(self) -> list[str]:
        return [str(MOLDAU), "start", str(self.properties)]

    def has_started(self) -> bool:
        return any(line.startswith("ready ") for line in self.said().splitlines())


class MixedCluster:
    """`nodes` by number: whose they are (`kafka` or `moldau`) and their roles. The voters are fixed, or, where there
    is one controller to begin with, `dynamic`."""

    def __init__(
        self,
        tools: KafkaTools,
        directory: Path,
        nodes: Mapping[int, tuple[str, str]],
        settings: Mapping[str, str] | None = None,
        *,
        dynamic: bool = False,
    ) -> None:
        self.tools = tools
        self.directory = directory
        self._dynamic = dynamic
        self.nodes: dict[int, MixedNode] = {}
        names = {number: [*_listeners(roles)] for number, (_, roles) in nodes.items()}
        ports = iter(hold_ports(sum(map(len, names.values()))))
        for number, (whose, roles) in nodes.items():
            kind = KafkaNode if whose == "kafka" else MoldauNode
            node = kind(number, roles, directory, {name: next(ports) for name in names[number]})
            if isinstance(node, KafkaNode):
                node.tools = tools
            self.nodes[number] = node
        voters = ",".join(
            f"{node.number}@{node.address('CONTROLLER')}" for node in self.nodes.values() if node.is_controller
        )
        quorum = {"controller.quorum.bootstrap.servers": self.controllers} if dynamic else {QUORUM_VOTERS: voters}
        for node in self.nodes.values():
            node.configure({**quorum, **(settings or {})})

    def start(self) -> None:
        """Controllers first and all at once: none of them is ready alone."""
        for node in self.nodes.values():
            node.format(*["--standalone"] * (self._dynamic and node.is_controller))
        for role in (True, False):
            group = [node for node in self.nodes.values() if node.is_controller is role]
            for node in group:
                node.begin()
            for node in group:
                node.wait()

    def close(self) -> None:
        for node in self.nodes.values():
            node.kill()

    def __getitem__(self, number: int) -> MixedNode:
        return self.nodes[number]

    @property
    def bootstrap(self) -> str:
        return ",".join(node.address("PLAINTEXT") for node in self.nodes.values() if node.is_broker)

    @property
    def controllers(self) -> str:
        return ",".join(node.address("CONTROLLER") for node in self.nodes.values() if node.is_controller)

    def tool(self, name: str, *words: str) -> str:
        return self.tools.run(name, "--bootstrap-server", self.bootstrap, *words)


def _listeners(roles: str) -> Sequence[str]:
    return [name for role, name in (("broker", "PLAINTEXT"), ("controller", "CONTROLLER")) if role in roles]
