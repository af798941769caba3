"""Forcing closed segments to disk, off the loop.

A segment that was closed is forced to disk soon afterwards, so that a crash only has to look at the newest one. The
job opens the files for itself: it shares nothing with the log, which goes on being written, cut or deleted meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from moldau.runtime.ports import Disk
from moldau.storage.checkpoint import sync_file


class SealedFlush:
    """`run` anywhere, then `done` on the loop: only that moves the recovery point."""

    __slots__ = ("_directory", "_disk", "_paths", "_placing", "done")

    def __init__(
        self,
        disk: Disk,
        directory: str,
        paths: Sequence[str],
        placing: Sequence[Callable[[], None]],
        done: Callable[[], None],
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._paths = paths
        self._placing = placing
        self.done = done

    def run(self) -> None:
        for path in self._paths:
            with suppress(FileNotFoundError):  # deleted meanwhile: nothing of it must survive
                sync_file(self._disk, path)
        with suppress(FileNotFoundError):
            self._disk.sync_directory(self._directory)
            for job in self._placing:
                job()
