"""`moldau cluster start` as a process of a test."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from patience import PATIENCE


class Started:
    """The command, waited for until it says `ready`."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "moldau", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.startswith("ready "):
            self.process.kill()
            raise AssertionError(self.process.communicate()[1])
        self.bootstrap = line.removeprefix("ready ").strip()

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str, str]:
        """Exit status, and what else it said."""
        self.process.send_signal(number)
        said, complained = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, said, complained


@contextmanager
def begun() -> Iterator[list[Started]]:
    """Those that are put into it have ended, one way or another, when it ends."""
    commands: list[Started] = []
    try:
        yield commands
    finally:
        for each in commands:
            if each.process.poll() is None:
                each.process.kill()
            each.process.communicate()


def node_pids(data: Path) -> list[int]:
    return [int(path.read_text()) for path in sorted(data.glob("node-*/pid"))]
