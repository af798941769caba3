"""A node as a process of its own that can be killed, paused and started again at the same address."""

from __future__ import annotations

import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from moldau.supervision.layout import hold_ports

MOLDAU = Path(sys.executable).parent / "moldau"
READY_SECONDS = 60.0


class MortalNode:
    def __init__(self, data: Path, settings: Mapping[str, str], *, descriptors: int | None = None) -> None:
        self.data = data
        self.address = ("127.0.0.1", *hold_ports(1))
        self.bootstrap = f"127.0.0.1:{self.address[1]}"
        self.log = data.with_name(data.name + ".log")
        self._settings = dict(settings)
        self._descriptors = descriptors
        self._process: subprocess.Popen[bytes] | None = None
        self.slowest_start = 0.0

    def start(self) -> None:
        """Returns when it accepts clients; AssertionError with the end of its log if it does not."""
        command = [str(MOLDAU), "start", "--listen", self.bootstrap, "--data", str(self.data)]
        for name, value in self._settings.items():
            command += ["--set", f"{name}={value}"]
        began = time.monotonic()
        # Compiled modules are kept: hundreds of starts are most of the time these tests take.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                preexec_fn=None if self._descriptors is None else self._limit_descriptors,
            )
        line = self._first_line(self._process, began + READY_SECONDS)
        if not line.startswith(b"ready "):
            self.kill()
            raise AssertionError(f"the node did not start again; it said {line!r}\n{self.log_tail()}")
        self.slowest_start = max(self.slowest_start, time.monotonic() - began)

    def _limit_descriptors(self) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (self._descriptors, self._descriptors))

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def open_files(self) -> list[str]:
        """The files of its data that the descriptors of the process point to."""
        directory = Path(f"/proc/{self.pid}/fd")
        targets = []
        for name in os.listdir(directory):
            with suppress(FileNotFoundError):  # closed since the listing
                targets.append(os.readlink(directory / name))
        return [target for target in targets if target.startswith(str(self.data) + "/")]

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()

    def stop(self, number: int = signal.SIGTERM, *, seconds: float = 60.0) -> None:
        """An orderly stop: exit status 0 within the time."""
        process, self._process = self._process, None
        assert process is not None
        process.send_signal(number)
        try:
            process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise AssertionError(f"it did not stop within {seconds} s\n{self.log_tail()}") from None
        assert process.returncode == 0, self.log_tail()

    def pause(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def tracebacks(self) -> str:
        """What the node was surprised by, in all its lives."""
        text = self.log.read_text(errors="replace")
        at = text.find("Traceback (most recent call last)")
        return text[max(0, at - 500) : at + 3000] if at >= 0 else ""

    def log_tail(self, lines: int = 60) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    @staticmethod
    def _first_line(process: subprocess.Popen[bytes], deadline: float) -> bytes:
        assert process.stdout is not None
        line = b""
        while not line.endswith(b"\n"):
            readable, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            byte = os.read(process.stdout.fileno(), 1) if readable else b""
            if not byte:
                break
            line += byte
        return line
