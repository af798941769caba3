"""What is done with the logs of a node now and then: checkpoints, overdue flushes, files to remove.

A checkpoint may lag behind the logs, never run ahead of them: an old recovery point only makes the next start slower.
The offsets are collected on the loop, the files are written off it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from moldau.runtime.ports import Clock, Workers
from moldau.slicing import Slicer, Work, run_whole
from moldau.storage.checkpoint_kinds import CheckpointKind
from moldau.storage.commit import Commit
from moldau.storage.log import Log
from moldau.storage.log_dirs import LogDirectory
from moldau.storage.log_manager import LogManager
from moldau.storage.sealed_flush import SealedFlush
from moldau.storage.storage_error import StorageError
from moldau.types import TopicPartition

# Logs that are asked for an offset in one go.
_LOGS_AT_ONCE: Final = 64


class Upkeep:
    """Without `workers` everything is done in place, without `slicer` all of it at once."""

    def __init__(
        self, logs: LogManager, clock: Clock, workers: Workers | None = None, slicer: Slicer | None = None
    ) -> None:
        self._logs = logs
        self._clock = clock
        self._workers = workers
        self._slicer = slicer
        # The passes over all logs that are under way.
        self._passing: set[str] = set()
        self._flushing: set[TopicPartition] = set()
        # Files being written → whether they must be written once more.
        self._writing: dict[str, bool] = {}
        self._ends: dict[Log, int] = {}
        self._ended = False

    def end(self) -> None:
        """The logs are about to be closed: no checkpoint that is being collected is written any more."""
        self._ended = True

    # ------------------------------------------------------------------------------------------------- checkpoints

    def checkpoint(self, kind: CheckpointKind, path: str | None = None) -> None:
        """Writes one kind of checkpoint, in every directory or in the one at `path`."""
        for directory in self._logs.directories:
            if directory.is_online and path in (None, directory.path):
                self._checkpoint(directory, kind)

    def _checkpoint(self, directory: LogDirectory, kind: CheckpointKind) -> None:
        path = kind.file(directory).path
        if path in self._writing:
            self._writing[path] = True
            return
        self._writing[path] = False
        self._run(self._write_checkpoint(directory, kind))

    def _write_checkpoint(self, directory: LogDirectory, kind: CheckpointKind) -> Work[None]:
        checkpoint = kind.file(directory)
        found = []
        for number, log in enumerate(tuple(self._logs.logs.values())):
            if log.directory.parent == directory.path and (offset := kind.value(log)) is not None:
                found.append((log, offset))
            if not number % _LOGS_AT_ONCE:
                yield
        # Not those that have been deleted meanwhile: what is said of them would be taken for a successor's.
        here = self._logs.get
        offsets = {partition: offset for log, offset in found if here(partition := log.topic_partition) is log}
        if self._ended or not directory.is_online:
            return  # whoever closes the logs writes all checkpoints, and behind that comes nothing
        if offsets == checkpoint.entries and not self._writing[checkpoint.path]:
            del self._writing[checkpoint.path]
            return

        def written(error: BaseException | None) -> None:
            again = self._writing.pop(checkpoint.path)
            if isinstance(error, OSError):
                self._logs.report(StorageError(directory.path, "Writing a checkpoint", error))
            elif error is not None:
                raise error
            elif again and directory.is_online:
                self._checkpoint(directory, kind)

        self._logs.work_in(directory.path).submit(lambda: checkpoint.write(offsets), written)

    # --------------------------------------------------------------------------------------------- passes over all

    def _pass(self, name: str, task: Callable[[Log], None]) -> None:
        """Does something with every log, a slice at a time; not once more while it is at it."""
        if name not in self._passing:
            self._passing.add(name)
            self._run(self._each_log(name, task))

    def _run(self, work: Work[None]) -> None:
        if self._slicer is not None:
            self._slicer.run(work)
        else:
            run_whole(work)

    def _each_log(self, name: str, task: Callable[[Log], None]) -> Work[None]:
        try:
            for log in tuple(self._logs.logs.values()):
                if self._logs.get(log.topic_partition) is log:
                    with suppress(StorageError):  # reported where it happened; the others have their turn
                        task(log)
                yield
        finally:
            self._passing.discard(name)

    # ----------------------------------------------------------------------------------------------------- flushing

    def flush_overdue(self) -> None:
        """Forces the records of logs to disk, off the loop, that have waited for `flush.ms`."""
        now = self._clock.now_ms()

        def look(log: Log) -> None:
            if now - log.durability.last_flush_ms >= log.config.flush_ms and log.topic_partition not in self._flushing:
                log.durability.last_flush_ms = now
                self._force(log, log.commit())

        self._pass("overdue", look)

    def flush_sealed(self) -> None:
        """Forces closed segments to disk off the loop, so that a crash finds little to read again."""

        def look(log: Log) -> None:
            if log.topic_partition not in self._flushing:
                self._force(log, log.durability.sealed_flush())

        self._pass("sealed", look)

    def _force(self, log: Log, work: SealedFlush | Commit | None) -> None:
        if work is None:
            return
        self._flushing.add(log.topic_partition)
        done = self._forced(log.topic_partition, log, work)
        if self._workers is not None:
            self._workers.submit(self._logs.forcing.timed(work.run), done)
        else:
            try:
                work.run()
            except OSError as error:
                done(None, error)
            else:
                done(None, None)

    def _forced(
        self, partition: TopicPartition, log: Log, work: SealedFlush | Commit
    ) -> Callable[[float | None, BaseException | None], None]:
        def done(seconds: float | None, error: BaseException | None) -> None:
            self._flushing.discard(partition)
            self._logs.forcing.took(seconds)
            if error is None:
                work.done()
            elif isinstance(error, OSError):
                log.directory.failed("Flushing", error, lost=True)
            else:
                raise error

        return done

    # --------------------------------------------------------------------------------------------------------- rest

    def expire_producers(self) -> None:
        now = self._clock.now_ms()
        self._pass("producers", lambda log: log.producers.expire(now))

    def close_idle_files(self) -> None:
        """Closes the files of logs nobody has written to since the last time: each holds up to three descriptors."""
        before, after = self._ends, {}

        def look(log: Log) -> None:
            after[log] = end = log.log_end_offset
            if before.get(log) == end:
                log.segments.rest()

        self._ends = after
        self._pass("idle", look)

    def remove_deleted(self) -> None:
        """Removes files and directories whose time has come, and goes on with what was held up on its way there."""
        self._logs.retirement.retry()
        removal = self._logs.removal
        due = removal.take_due()
        if self._workers is None:
            removal.remove(due)
        elif due:
            self._workers.submit(lambda: removal.remove(due), _removed)


def _removed(_: None, error: BaseException | None) -> None:
    """A file that cannot be removed is no error: its name tells the next start that it is to go."""
    if error is not None:
        raise error
