"""Forcing what was just written to disk, off the loop: what an acknowledgement waits for in durable mode.

Only the records themselves, and the names of files that are new. Indexes, epochs and producers can be rebuilt from
them after a crash, so they wait for a flush; one fsync is enough for everything that was written before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from moldau.runtime.ports import Disk, File


class Commit:
    """`run` anywhere, then `done` on the loop: only that moves the durable offset."""

    __slots__ = ("_directory", "_disk", "_files", "_placing", "done")

    def __init__(
        self,
        disk: Disk,
        directory: str | None,
        files: Sequence[File],
        placing: Sequence[Callable[[], None]],
        done: Callable[[], None],
    ) -> None:
        self._disk = disk
        self._directory = directory  # where there are new names, else None
        self._files = files
        self._placing = placing  # the first time in the life of a log: that it will be found again
        self.done = done

    def run(self) -> None:
        for file in self._files:
            file.sync()
        if self._directory is not None:
            self._disk.sync_directory(self._directory)
        for job in self._placing:
            job()
