"""A node as its users run it: `moldau start` in a process of its own, on a free port, with its data where we say."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

READY_SECONDS = 30.0
STOP_SECONDS = 30.0
MOLDAU = Path(sys.executable).parent / "moldau"


class NodeProcess:
    """Starts at once; `bootstrap` is the address clients are given."""

    def __init__(self, data: Path, settings: Mapping[str, str] | None = None) -> None:
        self.data = data
        self.settings = dict(settings or {})
        self.log = data.with_name(data.name + ".log")
        self._listen = "127.0.0.1:0"
        self._start()

    def _start(self) -> None:
        command = [str(MOLDAU), "start", "--listen", self._listen, "--data", str(self.data)]
        for name, value in self.settings.items():
            command += ["--set", f"{name}={value}"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        line = self._first_line().decode()
        if not line.startswith("ready "):
            self.kill()
            raise AssertionError(f"the node did not become ready; it said {line!r}\n{self.log_tail()}")
        self.bootstrap = line.removeprefix("ready ").strip()
        # Clients that are still there look for a restarted node where it was.
        self._listen = self.bootstrap

    def _first_line(self) -> bytes:
        assert self.process.stdout is not None
        deadline = time.monotonic() + READY_SECONDS
        line = b""
        while not line.endswith(b"\n"):
            readable, _, _ = select.select([self.process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            byte = os.read(self.process.stdout.fileno(), 1) if readable else b""
            if not byte:
                break
            line += byte
        return line

    @property
    def address(self) -> tuple[str, int]:
        host, port = self.bootstrap.rsplit(":", 1)
        return host, int(port)

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    def stop(self, how: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Asks the node to shut down; its exit status, and what it printed after the ready line."""
        self.process.send_signal(how)
        rest, _ = self.process.communicate(timeout=STOP_SECONDS)
        return self.process.returncode, rest.decode()

    def restart(self) -> None:
        if self.running:
            self.stop()
        self._start()

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def memory_mb(self) -> float:
        """Resident memory: what the machine gives up for this node, shared libraries included."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise AssertionError("the node is gone")

    def log_tail(self, lines: int = 60) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


# What the fixture `start_node` gives a test: a node with these settings, stopped after the test.
StartNode = Callable[..., NodeProcess]
