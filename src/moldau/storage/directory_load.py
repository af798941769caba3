"""Opening the logs of one directory, which after a crash means reading what was not flushed.

Each directory is opened by itself, so that several disks can be read at the same time on worker threads. A load only
touches its own directory and its own list; the manager takes the logs over when it is finished. `finished` may be
looked at meanwhile, to tell a person how far it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from moldau.storage.log import Log
from moldau.storage.log_dirs import LogDirectory
from moldau.types import TopicPartition


class FoundLog(NamedTuple):
    """A log on disk, and what the checkpoints say of it."""

    path: str
    partition: TopicPartition
    log_start_offset: int
    recovery_point: int
    high_watermark: int
    compacted_once: bool


class DirectoryLoad:
    __slots__ = ("_found", "_open", "directory", "logs")

    def __init__(self, directory: LogDirectory, found: Sequence[FoundLog], open_log: Callable[[FoundLog], Log]) -> None:
        self.directory = directory
        self.logs: list[Log] = []
        self._found = found
        self._open = open_log

    @property
    def total(self) -> int:
        return len(self._found)

    @property
    def finished(self) -> int:
        return len(self.logs)

    def run(self) -> None:
        """OSError or StorageError when the disk fails; the logs opened until then are in `logs`."""
        for found in self._found:
            log = self._open(found)
            log.high_watermark = found.high_watermark
            self.logs.append(log)
