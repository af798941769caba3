"""Logs that are given up: out of use at once, out of the way a moment later, off the disk in the end.

Three steps. On the loop the files are let go of, some logs at a time, because thousands may go together. Then, off the
loop and once for all of them, the directories get a name that says what becomes of them, the names are forced to disk,
and the checkpoints lose their entries. Only then is a partition's name free again: a topic that is created anew under
it waits for that, lest it inherit what is still written of the old one. What a crash leaves is either a log of a topic
that is gone, which the start sets aside, or entries without a log, which the start drops.
"""

from __future__ import annotations

import posixpath
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from moldau.runtime.ports import Disk, Loop, Random
from moldau.storage.deferred_removal import DeferredRemoval
from moldau.storage.directory_work import DirectoryWork
from moldau.storage.file_names import DELETE_DIRECTORY, marked_directory
from moldau.storage.log import Log
from moldau.storage.log_dirs import LogDirectory
from moldau.storage.storage_error import StorageError
from moldau.types import TopicPartition

# How many logs let go of their files in one turn of the loop.
_PER_TURN: Final = 64


class _Leaving:
    __slots__ = ("log", "mark", "renamed", "source", "target", "told")

    def __init__(self, log: Log, mark: str, unique: str) -> None:
        self.log = log
        self.mark = mark
        self.source = log.directory.path
        self.target = posixpath.join(log.directory.parent, marked_directory(log.topic_partition, unique, mark))
        self.renamed = False
        # Whether its new name is known to all, and when it is to go.
        self.told = False
        if log.directory.name.endswith(mark):
            # Its name was taken from it beforehand (`future_logs`).
            self.target, self.renamed = self.source, True


class Retirement:
    """Without a `loop` everything is done before `retire` returns, if the directory's work is done in place too."""

    def __init__(
        self,
        disk: Disk,
        random: Random,
        removal: DeferredRemoval,
        directory: Callable[[str], tuple[LogDirectory, DirectoryWork]],
        failed: Callable[[StorageError], None],
        loop: Loop | None = None,
    ) -> None:
        self._disk = disk
        self._random = random
        self._removal = removal
        self._directory = directory
        self._failed = failed
        self._loop = loop
        self._in_use: deque[_Leaving] = deque()
        self._scheduled = False
        # By directory: let go of, and not yet out of the way.
        self._let_go: dict[str, list[_Leaving]] = {}
        self._names: dict[TopicPartition, int] = {}
        # Told when names have become free.
        self.freed: Callable[[], None] = lambda: None

    def is_free(self, partition: TopicPartition) -> bool:
        """Whether nothing is left of an earlier log of this name."""
        return partition not in self._names

    def retire(self, log: Log, mark: str) -> None:
        """Gives up a log that nobody finds any more."""
        partition = log.topic_partition
        # Whoever is still at it, such as a search that has paused, finds files gone: no disk has failed.
        log.directory.report = None
        self._names[partition] = self._names.get(partition, 0) + 1
        self._in_use.append(_Leaving(log, mark, self._random.bytes(16).hex()))
        if self._loop is None:
            self._turn()
        elif not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._turn)

    def retry(self) -> None:
        """Goes on with what a full disk, or a want of descriptors, has held up."""
        if not self._scheduled:
            self._submit()

    def finish(self) -> None:
        """Hands everything over to the directories' work now, as at a stop."""
        while self._in_use:
            leaving = self._in_use.popleft()
            leaving.log.segments.let_go()
            self._let_go.setdefault(leaving.log.directory.parent, []).append(leaving)
        self._submit()

    def directory_failed(self, path: str) -> None:
        """Nothing can be done in this directory any more: its names are free, for logs in others."""
        gone = self._let_go.pop(path, [])
        gone += [leaving for leaving in self._in_use if leaving.log.directory.parent == path]
        self._in_use = deque(leaving for leaving in self._in_use if leaving.log.directory.parent != path)
        for leaving in gone:
            leaving.log.segments.release()
        self._free([leaving.log.topic_partition for leaving in gone])

    # ----------------------------------------------------------------------------------------------------- the steps

    def _turn(self) -> None:
        self._scheduled = False
        for _ in range(min(_PER_TURN, len(self._in_use))):
            leaving = self._in_use.popleft()
            leaving.log.segments.let_go()
            self._let_go.setdefault(leaving.log.directory.parent, []).append(leaving)
        if self._in_use and self._loop is not None:
            self._scheduled = True
            self._loop.call_soon(self._turn)
        else:
            self._submit()

    def _submit(self) -> None:
        let_go, self._let_go = self._let_go, {}
        for path, group in let_go.items():
            directory, work = self._directory(path)
            work.submit(lambda d=directory, g=group: self._move(d, g), self._done(path, group))  # type: ignore[misc]

    def _move(self, directory: LogDirectory, group: Sequence[_Leaving]) -> None:
        """Off the loop. May have been begun before: what is renamed already stays so."""
        for leaving in group:
            if not leaving.renamed:
                self._disk.rename(leaving.source, leaving.target)
                leaving.renamed = True
        self._disk.sync_directory(directory.path)
        gone = {leaving.log.topic_partition for leaving in group}
        directory.keep_entries(lambda partition: partition not in gone)

    def _done(self, path: str, group: list[_Leaving]) -> Callable[[BaseException | None], None]:
        def done(error: BaseException | None) -> None:
            if error is None:
                self._gone(group, [])
                return
            for leaving in group:
                self._moved(leaving)
            # Should the failure take the directory offline, these go with it.
            self._let_go.setdefault(path, []).extend(group)
            if not isinstance(error, OSError):
                raise error
            self._failed(StorageError(path, "Deleting logs", error))
            if not self._directory(path)[0].is_online:
                self.directory_failed(path)  # it had gone offline before, and was not asked again

        return done

    def _gone(self, group: list[_Leaving], names: list[TopicPartition]) -> None:
        """All are out of the way: the logs are forgotten, some in each turn, and then their names are free."""
        for _ in range(len(group) if self._loop is None else min(_PER_TURN, len(group))):
            leaving = group.pop()
            self._moved(leaving)
            names.append(leaving.log.topic_partition)
        if group and self._loop is not None:
            self._loop.call_soon(lambda: self._gone(group, names))
        else:
            self._free(names)

    def _moved(self, leaving: _Leaving) -> None:
        if leaving.renamed and not leaving.told:
            leaving.told = True
            leaving.log.local.moved_to(posixpath.basename(leaving.target))
            if leaving.mark == DELETE_DIRECTORY:
                self._removal.add([leaving.target], leaving.log.config.file_delete_delay_ms)

    def _free(self, names: Sequence[TopicPartition]) -> None:
        for partition in names:
            self._names[partition] -= 1
            if not self._names[partition]:
                del self._names[partition]
        if names:
            self.freed()
