"""A clean stop of one directory: its logs forced to disk and closed, its checkpoints written, and last its mark.

What takes the time is waiting for the disk, log after log; so several are closed at a time. A log that cannot be
closed, because its disk is full or has failed, keeps no other from it: the mark is then not written, and the next start
looks at what may be missing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

from moldau.runtime.ports import Workers
from moldau.storage.checkpoint_kinds import ALL_KINDS
from moldau.storage.directory_work import DirectoryWork
from moldau.storage.log import Log
from moldau.storage.log_dirs import LogDirectory
from moldau.storage.storage_error import StorageError

logger = logging.getLogger("moldau.storage")

# How many logs of a directory are closed at the same time.
_AT_ONCE: Final = 8
# What a worker closes before it comes back.
_PORTION: Final = 16


class LogClosing:
    __slots__ = ("_broker_epoch", "_failure", "_given_up", "_logs", "_next", "directory")

    def __init__(self, directory: LogDirectory, logs: Sequence[Log], broker_epoch: int) -> None:
        self.directory = directory
        self._logs = logs
        for log in logs:
            log.directory.report = None  # what fails from now on fails on a worker, and only costs the mark
        self._broker_epoch = broker_epoch
        self._next = 0
        self._given_up = False
        self._failure: str | None = None

    def run(self) -> None:
        """Here and now."""
        self._close(self._logs)
        self._finish()

    def run_on(self, workers: Workers, work: DirectoryWork, done: Callable[[], None]) -> None:
        """On workers; `done` on the loop."""
        busy = min(_AT_ONCE, max(1, -(-len(self._logs) // _PORTION)))

        def next_portion(_value: None, error: BaseException | None) -> None:
            nonlocal busy
            if error is not None:
                self._failed(str(error))
            portion = self._logs[self._next : self._next + _PORTION]
            if portion and not self._given_up:
                self._next += _PORTION
                workers.submit(lambda: self._close(portion), next_portion)
                return
            busy -= 1
            if busy == 0:
                work.submit(self._finish, lambda _error: done())

        for _ in range(busy):
            next_portion(None, None)

    def give_up(self) -> None:
        """What is not closed by now stays so; workers end after the log they are at."""
        self._failed("there was no time left")
        self._given_up = True

    def _close(self, logs: Sequence[Log]) -> None:
        for log in logs:
            if self._given_up:
                return
            try:
                log.close()
            except StorageError as error:
                self._failed(str(error))
                log.segments.release()

    def _finish(self) -> None:
        """Off the loop: the checkpoints, and the mark if all of it is true. Nobody has anything open afterwards."""
        try:
            for kind in ALL_KINDS:
                kind.file(self.directory).write(kind.offsets(self._logs))
            if self._failure is None:
                self.directory.mark_clean_shutdown(self._broker_epoch)
        except OSError as error:
            self._failed(error.strerror or str(error))
        for log in self._logs:
            log.segments.release()
        if self._failure is not None:
            logger.error(
                "%s could not be closed in order and will be checked at the next start: %s",
                self.directory.path,
                self._failure,
            )

    def _failed(self, reason: str) -> None:
        if self._failure is None:
            self._failure = reason
