"""Waiting for what happens in other processes: it can only be looked for, so it is looked for now and then."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 120.0
LOOK_SECONDS = 0.05


def wait_until(condition: Callable[[], bool], what: str = "", seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"it did not happen: {what}" if what else "it did not happen"
        time.sleep(LOOK_SECONDS)


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1][:3]
