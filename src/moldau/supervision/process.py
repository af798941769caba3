"""One node in a process of its own: started, waited for, stopped in order, killed."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from moldau.errors import MoldauError
from moldau.supervision.guard import PID_FILE

READY_SECONDS: Final = 30.0
# Longer than all steps of a stop may take (`node.node`): each of them gives up by itself, and says which it was.
STOP_SECONDS: Final = 150.0
_LOG_LINES: Final = 40


class NodeFailed(MoldauError):
    """The node did not start or did not stop; the text ends with what it logged last."""


class NodeProcess:
    """`directory` holds all of it: the data, the log, and a note of the process for the guard."""

    def __init__(
        self,
        id: int,
        directory: Path,
        settings: Mapping[str, str],
        *,
        cluster_id: str | None = None,
        listen: str | None = None,
        log_level: str | None = None,
        properties: Path | None = None,
    ) -> None:
        """`properties` is a file the node reads first, for what should not be on a command line."""
        self.id = id
        self.directory = directory
        self.log = directory / "node.log"
        self.settings = dict(settings)
        self.data = directory / "data"
        self.cluster_id = cluster_id
        self._listen = listen
        self._log_level = log_level
        self._properties = properties
        self._process: subprocess.Popen[bytes] | None = None
        # On standard output: the line that it is ready.
        self._said = b""
        self._noted = directory / PID_FILE
        directory.mkdir(parents=True, exist_ok=True)

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def status(self) -> int | None:
        """What it ended with; None while it runs, or before it ran."""
        return None if self._process is None else self._process.poll()

    @property
    def addresses(self) -> list[str]:
        """Where it said that it accepts clients; nothing before it is ready."""
        return self._said.decode().removeprefix("ready ").strip().split(",") if self._said.endswith(b"\n") else []

    def begin(self) -> None:
        """Starts the process and does not wait for the node to be ready."""
        self.kill()
        # The process notes its number itself, before it is a node: there is no moment in which nobody knows of it.
        command = ["/bin/sh", "-c", 'echo $$ >"$0" && exec "$@"', str(self._noted), *self.command()]
        self._said = b""
        with self.log.open("ab") as log:
            # A group of its own: Ctrl-C at the terminal is for whoever started it, who then stops its nodes in order.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )

    def command(self) -> list[str]:
        command = [sys.executable, "-m", "moldau", "start"]
        if self._properties is not None:
            command.append(str(self._properties))
        command += ["--data", str(self.data)]
        if self._listen is not None:
            command += ["--listen", self._listen]
        if self.cluster_id is not None:
            command += ["--cluster-id", self.cluster_id]
        if self._log_level is not None:
            command += ["--log-level", self._log_level]
        for name, value in self.settings.items():
            command += ["--set", f"{name}={value}"]
        return command

    def wait_ready(self, seconds: float = READY_SECONDS) -> None:
        """Until clients are accepted; NodeFailed, and no process, if that does not happen in time."""
        deadline = time.monotonic() + seconds
        while not self.is_ready(max(0.0, deadline - time.monotonic())):
            if time.monotonic() >= deadline:
                raise self._not_ready()

    def is_ready(self, within: float) -> bool:
        """Whether clients are accepted, now or in so many seconds; NodeFailed, and no process, if it said otherwise."""
        assert self._process is not None
        assert self._process.stdout is not None
        if not self._said.endswith(b"\n"):
            readable, _, _ = select.select([self._process.stdout], [], [], within)
            if not readable:
                return False
            more = os.read(self._process.stdout.fileno(), 256)
            self._said += more
            if not more:
                raise self._not_ready()
        if self._said.endswith(b"\n") and not self._said.startswith(b"ready "):
            raise self._not_ready()
        return self._said.endswith(b"\n")

    def _not_ready(self) -> NodeFailed:
        self.kill()
        return NodeFailed(f"Node {self.id} did not become ready. Its log ends with:\n{self.log_tail()}")

    def signal(self, number: signal.Signals) -> None:
        if self._process is not None and self.running:
            self._process.send_signal(number)

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Shuts it down in order, as SIGTERM does; NodeFailed, and no process, if it does not end in time."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        self.wait_stopped(seconds)

    def wait_stopped(self, seconds: float = STOP_SECONDS) -> None:
        if self._process is None:
            return
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise NodeFailed(f"Node {self.id} did not stop. Its log ends with:\n{self.log_tail()}") from None
        self.kill()

    def kill(self) -> None:
        """As `kill -9` does, and forgets the process."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            process.kill()
        process.wait()
        self._noted.unlink(missing_ok=True)
        if process.stdout is not None:
            process.stdout.close()

    def log_tail(self, lines: int = _LOG_LINES) -> str:
        if not self.log.exists():
            return ""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
