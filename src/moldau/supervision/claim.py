"""A directory of nodes belongs to one supervisor at a time.

Nodes lock their own directories, but what lies beside them, the layout and the notes of their processes, is the
supervisor's: a second one would overwrite both before it finds that its nodes cannot start.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from moldau.supervision.layout import FILE, LayoutError

_LOCK: Final = "cluster.lock"
# A supervisor that was killed leaves its lock to its guard, which ends the nodes and then itself.
_GUARD_SECONDS: Final = 2.0
_LOOK_SECONDS: Final = 0.05


@contextmanager
def claimed(directory: Path) -> Iterator[int]:
    """The descriptor that holds the claim; whoever inherits it holds it, too. LayoutError if somebody else has it."""
    if not (directory / FILE).exists() and _is_of_one_node(directory):
        raise LayoutError(f"{directory} is that of a single node; choose another with --data.")
    directory.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _lock(descriptor, directory)
        yield descriptor
    finally:
        os.close(descriptor)


def _is_of_one_node(directory: Path) -> bool:
    """Of its log directory, or the one that a supervisor made for it."""
    return any((directory / place).exists() for place in ("meta.properties", "data/meta.properties"))


def _lock(descriptor: int, directory: Path) -> None:
    deadline = time.monotonic() + _GUARD_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise LayoutError(f"{directory} is in use: another process runs its nodes.") from None
            time.sleep(_LOOK_SECONDS)
