"""The pipeline as a process of its own: `moldau pipeline run`, started, watched through its status file, killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from moldau.spark.pipeline import load
from moldau.spark.pipeline.status import Status, read_status

PIPELINE = Path(__file__).with_name("pipeline.yaml")


class DemoFailed(Exception):
    """Something did not go as it should; the text says what and where to look."""


class Runner:
    def __init__(self, work: Path, bootstrap: str, arguments: Sequence[str] = ()) -> None:
        self.variables = {"WORK": str(work), "BOOTSTRAP": bootstrap}
        self.pipeline = load(str(PIPELINE), self.variables)
        self.log = work / "pipeline.log"
        self._arguments = list(arguments)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "moldau", "pipeline", "run", str(PIPELINE), "--plain", *self._arguments]
        for name, value in self.variables.items():
            command += ["--set", f"{name}={value}"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def check(self) -> None:
        if not self.running:
            tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])
            raise DemoFailed(f"The pipeline ended by itself; {self.log} ends with:\n{tail}")

    def status(self) -> Status | None:
        """What the present process says of itself, not what an earlier one left behind."""
        status = read_status(self.pipeline)
        return status if status is not None and self._process is not None and status.pid == self._process.pid else None

    def kill(self) -> None:
        """-9, to everything at once: the driver, Spark's JVM and its Python workers."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def stop(self) -> int:
        """In order, as Ctrl-C does."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + 60
        while self.running and time.monotonic() < deadline:
            time.sleep(0.05)
        if self.running:
            self.kill()
            raise DemoFailed(f"The pipeline did not stop when asked; see {self.log}.")
        return self._process.returncode
