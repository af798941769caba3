"""Files that are to go, a little later.

Deleting is done in two steps: a rename says that the file no longer counts, and after `file.delete.delay.ms` it is
removed, so that whoever is just reading it can finish. What a crash leaves is recognised by its name at the start.
"""

from __future__ import annotations

from collections.abc import Iterable

from moldau.runtime.ports import Clock, Disk


class DeferredRemoval:
    __slots__ = ("_clock", "_disk", "_waiting")

    def __init__(self, disk: Disk, clock: Clock) -> None:
        self._disk = disk
        self._clock = clock
        self._waiting: list[tuple[int, str]] = []

    def add(self, paths: Iterable[str], delay_ms: int) -> None:
        due = self._clock.now_ms() + delay_ms
        self._waiting.extend((due, path) for path in paths)

    def run(self) -> None:
        """Removes what is due."""
        self.remove(self.take_due())

    def take_due(self) -> list[str]:
        now = self._clock.now_ms()
        due = [path for when, path in self._waiting if when <= now]
        if due:
            self._waiting = [(when, path) for when, path in self._waiting if when > now]
        return due

    def remove(self, paths: Iterable[str]) -> None:
        """May run off the loop: a file of a gigabyte takes a while to go."""
        for path in paths:
            self._remove(path)

    def run_all(self) -> None:
        """Removes everything at once, as at a clean stop."""
        waiting, self._waiting = self._waiting, []
        for _, path in waiting:
            self._remove(path)

    def _remove(self, path: str) -> None:
        try:
            # It may be gone with the directory it was in.
            if self._disk.is_directory(path):
                self._disk.remove_tree(path)
            elif self._disk.exists(path):
                self._disk.remove(path)
        except OSError:
            pass  # its name tells the next start that it is to go

    @property
    def waiting(self) -> int:
        return len(self._waiting)
