"""Who is measured: each contender is a process of its own, started fresh for every single measurement."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

READY_SECONDS = 30.0
TICKS = os.sysconf("SC_CLK_TCK")


class Running:
    """A broker that answered `ready`; knows what its process costs."""

    def __init__(self, process: subprocess.Popen[str], address: tuple[str, int], started: float, ready: float) -> None:
        self.process = process
        self.address = address
        self.started = started  # when the process was asked for, by time.perf_counter
        self.ready_seconds = ready - started

    @property
    def bootstrap(self) -> str:
        return f"{self.address[0]}:{self.address[1]}"

    def cpu_seconds(self) -> float:
        """User and system time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory_mb(self) -> tuple[float, float]:
        """Resident and proportional set size."""
        sizes = {}
        for line in Path(f"/proc/{self.process.pid}/smaps_rollup").read_text().splitlines()[1:]:
            name, value = line.split(":")
            sizes[name] = int(value.split()[0]) / 1024
        return sizes["Rss"], sizes["Pss"]


class Contender(NamedTuple):
    name: str
    command: list[str]

    @contextmanager
    def run(self, data: Path) -> Iterator[Running]:
        """Starts the broker on `data` as it is found, and leaves it there."""
        command = [part.replace("DATA", str(data)) for part in self.command]
        started = time.perf_counter()
        # The mock ends with its standard input; for our node it is only kept from the terminal.
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            ready = time.perf_counter()
            if not line.startswith("ready "):
                raise RuntimeError(f"{self.name} did not become ready: {line!r}")
            host, port = line.split()[1].rsplit(":", 1)
            yield Running(process, (host, int(port)), started, ready)
        finally:
            process.terminate()
            try:
                process.communicate(timeout=10)
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
        # Topics that appear by being asked for have four partitions at the mock, so they have four here.
        *("--set", "num.partitions=4"),
    ],
)
MOCK = Contender("mock", [sys.executable, "-m", "bench.mock"])
CONTENDERS = [MOLDAU, MOCK]
