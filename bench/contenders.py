"""Who is measured: each contender is a broker in a process of its own, on a free port of this machine.

A contender knows how it is started and how a topic of so many partitions comes to be; everything else is asked over
the wire, the same questions for all. What a process costs is read from /proc, so that no contender reports on itself.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from bench.conversation import Conversation

READY_SECONDS = 60.0
NO_SETTINGS: Mapping[str, str] = MappingProxyType({})
STOP_SECONDS = 20.0
TICKS = os.sysconf("SC_CLK_TCK")
# A topic that was measured is deleted, and its files at once: else one row would pay for the writing of another.
DELETE_DELAY_MS = 100


def cpu_seconds(pid: int) -> float:
    """User and system time so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory_mb(pid: int) -> tuple[float, float]:
    """Resident and proportional set size."""
    sizes = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, value = line.split(":")
        sizes[name] = int(value.split()[0]) / 1024
    return sizes["Rss"], sizes["Pss"]


class Door(NamedTuple):
    """A listener that is encrypted, or asks who comes, or both."""

    address: tuple[str, int]
    trusted: Path | None  # the authority that its certificate is from
    login: str | None  # name:password


class Running:
    """A broker that answers; knows what its process costs."""

    def __init__(self, process: subprocess.Popen[str], address: tuple[str, int], started: float, ready: float) -> None:
        self.process = process
        self.address = address
        self.started = started  # when the process was asked for, by time.perf_counter
        self.ready_seconds = ready - started
        self.door: Door | None = None  # the listener that loads go to, if that is another one

    @property
    def bootstrap(self) -> str:
        return f"{self.address[0]}:{self.address[1]}"

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.process.pid)

    def memory_mb(self) -> tuple[float, float]:
        return memory_mb(self.process.pid)

    def create_topic(self, name: str, partitions: int, settings: Mapping[str, str] = MappingProxyType({})) -> None:
        """Returns when every partition can be used."""
        with Conversation(self.address) as conversation:
            conversation.create_topic(name, partitions, settings)

    def delete_topic(self, name: str) -> None:
        with Conversation(self.address) as conversation:
            conversation.delete_topic(name)


class RunningMock(Running):
    """Its topics are made by a call inside its process: it does not speak CreateTopics, and it never forgets one."""

    def create_topic(self, name: str, partitions: int, settings: Mapping[str, str] = MappingProxyType({})) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{name} {partitions}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if answer != "made":
            raise RuntimeError(f"the mock did not make a topic of {partitions} partitions: {answer}")

    def delete_topic(self, name: str) -> None:
        pass


class Contender:
    """A program that prints `ready HOST:PORT` once it can be talked to."""

    running: type[Running] = Running
    durable = True  # keeps what it is given, in files
    clusters = True  # several nodes of it replicate to each other
    secured = True  # has listeners with TLS and SCRAM
    warming = 10.0  # seconds it is given at least before anything is measured

    def __init__(self, name: str, command: list[str]) -> None:
        self.name = name
        self.command = command

    @contextmanager
    def run(self, data: Path) -> Iterator[Running]:
        """Starts the broker on `data` as it is found, and leaves it there."""
        broker = self.start(data)
        try:
            yield broker
        finally:
            stop(broker)

    def start(self, data: Path, settings: Mapping[str, str] = NO_SETTINGS) -> Running:
        """`settings` are more than it has anyway."""
        command = [part.replace("DATA", str(data)) for part in self.command]
        command += [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
        started = time.perf_counter()
        with log_of(data).open("ab") as log:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        assert process.stdout is not None
        line = process.stdout.readline()
        ready = time.perf_counter()
        if not line.startswith("ready "):
            end(process)
            raise RuntimeError(f"{self.name} did not become ready: {line!r}")
        host, port = line.split()[1].split(",")[0].rsplit(":", 1)
        return self.running(process, (host, int(port)), started, ready)


def log_of(data: Path) -> Path:
    """What a broker says on its standard error, beside its directory; for whoever wonders why it ended."""
    return data.with_name(f"{data.name}.log")


class MockCluster(Contender):
    running = RunningMock
    durable = False
    clusters = False
    secured = False


def stop(broker: Running) -> None:
    end(broker.process)


def end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.communicate(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def fresh(directory: Path) -> Path:
    """An empty data directory; what the measurement before left is thrown away before it is written to disk."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return directory


MOLDAU = Contender(
    "moldau",
    [
        *(str(Path(sys.executable).parent / "moldau"), "start", "--listen", "127.0.0.1:0", "--data", "DATA"),
        *("--set", f"log.segment.delete.delay.ms={DELETE_DELAY_MS}", "--set", "group.initial.rebalance.delay.ms=0"),
    ],
)
MOCK = MockCluster("mock", [sys.executable, "-m", "bench.mock"])
