"""Opening the logs of one directory, which after a crash means reading what was not flushed.

Each directory is opened by itself, so that several disks can be read at the same time on worker threads. A load only
touches its own directory and its own list; the logs are taken over when it is finished. `finished` may be looked at
meanwhile, to tell a person how far it is.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from typing import NamedTuple

from moldau.runtime.ports import Clock
from moldau.storage.log import Log
from moldau.storage.log_dirs import LogDirectory
from moldau.storage.recovery import Recovered
from moldau.types import TopicPartition


class FoundLog(NamedTuple):
    """A log on disk, and what the checkpoints say of it."""

    path: str
    partition: TopicPartition
    log_start_offset: int
    recovery_point: int
    high_watermark: int
    compacted_up_to: int | None  # None if it never was
    clean: bool  # whether it was closed in order


class DirectoryLoad:
    __slots__ = ("_clock", "_found", "_open", "directory", "logs", "recovered", "seconds", "was_clean")

    def __init__(
        self,
        directory: LogDirectory,
        found: Sequence[FoundLog],
        clean: bool,
        open_log: Callable[[FoundLog], Log],
        clock: Clock,
    ) -> None:
        self.directory = directory
        self.was_clean = clean
        self.logs: list[Log] = []
        self.recovered = Recovered()
        self.seconds = 0.0
        self._found = found
        self._open = open_log
        self._clock = clock

    @property
    def total(self) -> int:
        return len(self._found)

    @property
    def finished(self) -> int:
        return len(self.logs)

    def run(self) -> None:
        """OSError or StorageError when the disk fails; the logs opened until then are in `logs`."""
        began = self._clock.monotonic()
        self._drop_entries_without_log()
        for found in self._found:
            log = self._open(found)
            log.local.advance_high_watermark(found.high_watermark)
            # One that runs ahead of its log counts for nothing: all is dirty then.
            if found.compacted_up_to is not None and found.compacted_up_to <= log.log_end_offset:
                log.local.first_dirty_offset = found.compacted_up_to
            self.logs.append(log)
            self.recovered.add(log.recovered)
        self.seconds = self._clock.monotonic() - began

    def _drop_entries_without_log(self) -> None:
        """What the checkpoints say of logs that are gone is not to be said of those that come."""
        here = {found.partition for found in self._found}
        try:
            self.directory.keep_entries(lambda partition: partition in here)
        except OSError as error:
            # Nothing is created here before they are gone, so a full disk need not keep the node from starting.
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
