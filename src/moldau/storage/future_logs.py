"""Logs on their way to another directory: `<topic>-<partition>.<unique>-future`, until they are complete.

A future log takes the place of the current one with two renames, in two directories, and a crash may come anywhere
between them. The first of the two decides. A future log that holds nearly everything is announced (`heir`); then the
current log gives up its name, durably; then the future one takes it, and only then is anything written to it. So a
start that finds the name taken discards the future log, and one that finds an heir and no log of its name finishes the
exchange. While some directory is offline the name may be taken there: such an heir is left as it is, its partition is
offline as well, and a later start decides.

What was not complete is worth nothing but as a note that somebody asked for this move. It is kept until the move has
begun anew (`interrupted`), so that no stop between the two forgets it.
"""

from __future__ import annotations

import errno
import logging
import posixpath
from collections.abc import Callable, Mapping, Sequence

from moldau.runtime.ports import Clock, Disk, Random
from moldau.storage.checkpoint import CheckpointError, replace_file
from moldau.storage.deferred_removal import DeferredRemoval
from moldau.storage.file_names import (
    DELETE_DIRECTORY,
    FUTURE_DIRECTORY,
    HEIR,
    STRAY_DIRECTORY,
    marked_directory,
    parse_directory,
)
from moldau.storage.log import Log
from moldau.storage.log_dirs import LogDirectory
from moldau.storage.partition_metadata import read_topic_id, write_topic_id
from moldau.storage.storage_error import StorageError
from moldau.types import TopicPartition, Uuid

logger = logging.getLogger("moldau.storage")


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
        # What is left of moves that ended with the process: their directories, by topic id and partition. The name of
        # a directory may have been cut.
        self.interrupted: dict[tuple[Uuid, int], list[str]] = {}

    def create(self, current: Log, directory: str) -> Log:
        """An empty log in another directory, for the records of `current`."""
        partition = current.topic_partition
        path = posixpath.join(directory, marked_directory(partition, self._random.bytes(16).hex(), FUTURE_DIRECTORY))
        try:
            self._disk.make_directories(path)
            if current.topic_id is not None:
                # Durably: by it a start knows whose move this was.
                write_topic_id(self._disk, path, current.topic_id, sync=True)
                self._disk.sync_directory(path)
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
        # The name of its directory may have been cut.
        log.topic_partition = log.directory.topic_partition = partition
        self.logs[partition] = log
        return log

    def discard(self, partition: TopicPartition) -> None:
        """Gives a future log up. Nothing happens if there is none.

        StorageError if its disk fails; it is given up all the same, and the next start finds it by its name.
        """
        log = self.logs.pop(partition, None)
        if log is None:
            return
        try:
            log.local.rename(marked_directory(partition, self._random.bytes(16).hex(), DELETE_DIRECTORY))
        except StorageError:
            log.segments.release()
            raise
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

    def announce(self, future: Log) -> Callable[[], None]:
        """The work of making a future log an heir; for a worker, because it is forced to disk.

        It is told the name, because that of its directory may have been cut.
        """
        path, name = posixpath.join(future.directory.path, HEIR), str(future.topic_partition)
        return lambda: replace_file(self._disk, path, name.encode())

    def give_up_name(self, current: Log) -> None:
        """The step that decides: from here on `current` is deleted, and the heir that was announced is the log."""
        # Whoever is still at it finds its files gone, which is no failure of the disk; this alone may be one.
        report, current.directory.report = current.directory.report, None
        unique = self._random.bytes(16).hex()
        try:
            _rename(current, marked_directory(current.topic_partition, unique, DELETE_DIRECTORY), may_pass=True)
        except StorageError as error:
            current.directory.report = report
            if not error.is_passing:
                # Nobody knows which name is on the disk. The heir stays as it is: the next start will see.
                self.logs.pop(current.topic_partition).segments.release()
            raise

    def take_name(self, future: Log) -> None:
        """The future log is the log now. Should this fail, even for want of room, there is none of that name; the next
        start does it again."""
        _rename(future, str(future.topic_partition), may_pass=False)
        self._removal.add([posixpath.join(future.directory.path, HEIR)], 0)

    # -------------------------------------------------------------------------------------------------- at the start

    def resolve(
        self,
        directory: LogDirectory,
        name: str,
        names: Mapping[LogDirectory, Sequence[str]],
        all_online: bool,
    ) -> str | None:
        """Decides over the future log `name` in `directory`, where `names` are in each of the directories.

        Returns the name of the log it has become, or None. OSError if the disk fails.
        """
        path = posixpath.join(directory.path, name)
        # A disk that cannot be read must not look like one that holds no such file, so all is asked for by `list`.
        heir = self._disk.read_file(posixpath.join(path, HEIR)).decode() if HEIR in self._disk.list(path) else None
        place = parse_directory(heir) if heir is not None else None
        if heir is None or place is None or place.mark:
            self._note_interrupted(path, name)
            return None
        owners = [posixpath.join(one.path, heir) for one, there in names.items() if heir in there]
        if owners:
            if self._is_copy_of(path, owners):
                # Durably, before anything else is removed from it: no later start may take what is left for an heir.
                self._disk.remove(posixpath.join(path, HEIR))
                self._disk.sync_directory(path)
                self._note_interrupted(path, name)
            else:
                self._set_aside(directory, path, place.topic_partition)
            return None
        if not all_online:
            logger.warning("%s stays as it is: its partition may live in a directory that is offline", path)
            return None
        # What the checkpoints say of this name was said of an earlier log.
        directory.keep_entries(lambda partition: partition != place.topic_partition)
        self._disk.rename(path, posixpath.join(directory.path, heir))
        self._disk.sync_directory(directory.path)
        logger.warning("%s lives in %s now: its move was almost done at the last stop", heir, directory.path)
        return heir

    def _is_copy_of(self, path: str, owners: Sequence[str]) -> bool:
        """Whether the log that has the name is the one this was copied from: both are of one topic."""
        topic_id = _topic_id(self._disk, path)
        return any(topic_id is None or _topic_id(self._disk, owner) in (None, topic_id) for owner in owners)

    def _set_aside(self, directory: LogDirectory, path: str, place: TopicPartition) -> None:
        """Another topic has the name by now: durably, so that no later start takes this for an heir."""
        stray = marked_directory(place, self._random.bytes(16).hex(), STRAY_DIRECTORY)
        self._disk.rename(path, posixpath.join(directory.path, stray))
        self._disk.sync_directory(directory.path)

    def _note_interrupted(self, path: str, name: str) -> None:
        topic_id, named = _topic_id(self._disk, path), parse_directory(name)
        if topic_id is None or named is None:
            self._removal.add([path], 0)
        else:
            self.interrupted.setdefault((topic_id, named.topic_partition.partition), []).append(path)

    def forget_interrupted(self, topic_id: Uuid | None, index: int) -> None:
        """Somebody has decided about this move again: what an earlier process left of it can go."""
        if self.interrupted and topic_id is not None:
            self._removal.add(self.interrupted.pop((topic_id, index), ()), 0)


def _rename(log: Log, name: str, *, may_pass: bool) -> None:
    """StorageError: with `may_pass` one that is passing if the log has kept its name, else one that is not."""
    directory = log.directory
    try:
        directory.disk.rename(directory.path, posixpath.join(directory.parent, name))
        may_pass = False
        log.local.moved_to(name)
        directory.placed = False
        directory.disk.sync_directory(directory.parent)
    except OSError as error:
        cause = error if may_pass else OSError(errno.EIO, error.strerror or str(error))
        raise StorageError(directory.parent, f"Moving {log.topic_partition}", cause, lost=not may_pass) from error


def _topic_id(disk: Disk, path: str) -> Uuid | None:
    try:
        return read_topic_id(disk, path)
    except CheckpointError:
        return None
