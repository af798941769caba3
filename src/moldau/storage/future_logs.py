"""Logs on their way to another directory: `<topic>-<partition>.<unique>-future`, until they are complete.

A future log takes the place of the current one with two renames, in two directories, and a crash may come between
them. So the current log is marked first (`replaced`): at the next start a marked log gives way to one that has its
name in another directory, and is taken as it is if there is none. A future log that was not complete is discarded at
the start; the one it was copied from is still there.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from typing import Final

from moldau.runtime.ports import Clock, Disk, Random
from moldau.storage.checkpoint import replace_file
from moldau.storage.deferred_removal import DeferredRemoval
from moldau.storage.file_names import DELETE_DIRECTORY, FUTURE_DIRECTORY, marked_directory
from moldau.storage.log import Log
from moldau.storage.partition_metadata import write_topic_id
from moldau.storage.storage_error import StorageError
from moldau.types import TopicPartition

_REPLACED: Final = "replaced"


class FutureLogs:
    def __init__(
        self, disk: Disk, clock: Clock, random: Random, removal: DeferredRemoval, producer_expiration_ms: int
    ) -> None:
        self._disk = disk
        self._clock = clock
        self._random = random
        self._removal = removal
        self._producer_expiration_ms = producer_expiration_ms
        self.logs: dict[TopicPartition, Log] = {}

    def create(self, current: Log, directory: str) -> Log:
        """An empty log in another directory, for the records of `current`."""
        partition = current.topic_partition
        path = posixpath.join(directory, marked_directory(partition, self._random.bytes(16).hex(), FUTURE_DIRECTORY))
        try:
            self._disk.make_directories(path)
            if current.topic_id is not None:
                write_topic_id(self._disk, path, current.topic_id)
            self._disk.sync_directory(directory)
        except OSError as error:
            raise StorageError(directory, f"Moving {partition}", error) from error
        log = Log.open(
            path,
            current.config,
            self._disk,
            self._clock,
            log_start_offset=current.log_start_offset,
            topic_id=current.topic_id,
            random=self._random,
            removal=self._removal,
            producer_expiration_ms=self._producer_expiration_ms,
        )
        self.logs[partition] = log
        return log

    def discard(self, partition: TopicPartition) -> None:
        """Gives a future log up. Nothing happens if there is none."""
        log = self.logs.pop(partition, None)
        if log is None:
            return
        log.local.rename(marked_directory(partition, self._random.bytes(16).hex(), DELETE_DIRECTORY))
        log.segments.let_go()
        self._removal.add([log.directory.path], 0)

    def directory_failed(self, path: str) -> None:
        """Forgets what was on its way into a directory that is offline now."""
        for partition in [partition for partition, log in self.logs.items() if log.directory.parent == path]:
            self.logs.pop(partition).segments.release()

    def abandon(self) -> None:
        for log in self.logs.values():
            log.segments.release()
        self.logs.clear()

    # ------------------------------------------------------------------------------------------------- the exchange

    def take_place_of(self, current: Log) -> Log:
        """Gives the future log the name of the current one, which is deleted; returns it."""
        partition = current.topic_partition
        future = self.logs[partition]
        try:
            replace_file(self._disk, posixpath.join(current.directory.path, _REPLACED), b"")
        except OSError as error:
            raise StorageError(current.directory.parent, f"Moving {partition}", error) from error
        future.local.rename(str(partition))
        del self.logs[partition]
        return future

    def gives_way(self, path: str, others: Iterable[str]) -> bool:
        """At the start: whether the log in `path` was replaced by one of the same name in one of the `others`."""
        mark = posixpath.join(path, _REPLACED)
        if not self._disk.exists(mark):
            return False
        name = posixpath.basename(path)
        if any(self._disk.is_directory(posixpath.join(other, name)) for other in others):
            return True
        self._disk.remove(mark)
        return False
