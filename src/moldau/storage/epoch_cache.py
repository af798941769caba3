"""Which leader wrote from which offset on: the memory a replica needs to find where its log left the leader's.

Kept in `leader-epoch-checkpoint`. The file is not written with every new epoch, because batches carry their epoch
and recovery reads it back from them; it must only be on disk before the recovery point passes those batches, so
`flush` belongs before every advance of the recovery point.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from moldau.runtime.ports import Disk
from moldau.storage.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from moldau.types import NO_EPOCH, NO_OFFSET


class EpochStart(NamedTuple):
    epoch: int
    start_offset: int


class EpochCache:
    __slots__ = ("_dirty", "_disk", "_entries", "latest_epoch", "path")

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._entries: list[EpochStart] = []
        self._dirty = False
        self.path = path
        self.latest_epoch = NO_EPOCH

    @classmethod
    def load(cls, disk: Disk, path: str) -> EpochCache:
        """Reads the file; one that is damaged counts as empty, since what it said can be read from the log."""
        cache = cls(disk, path)
        try:
            entries = [EpochStart(*map(int, line.split())) for line in read_checkpoint(disk, path)]
        except (CheckpointError, ValueError, TypeError):
            entries = []
        for entry in entries:
            if entry.epoch >= 0 and entry.start_offset >= 0:
                cache.assign(*entry)
        cache._dirty = False
        return cache

    @property
    def entries(self) -> tuple[EpochStart, ...]:
        return tuple(self._entries)

    def assign(self, epoch: int, start_offset: int) -> None:
        """Records that `epoch` begins at `start_offset`; entries that contradict it were never committed and go."""
        entries = self._entries
        if entries and epoch == self.latest_epoch and start_offset >= entries[-1].start_offset:
            return
        while entries and (entries[-1].epoch >= epoch or entries[-1].start_offset >= start_offset):
            entries.pop()
        entries.append(EpochStart(epoch, start_offset))
        self._changed()

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """The largest epoch up to `epoch` and the offset where it ended; (-1, -1) if nothing is known of it."""
        entries = self._entries
        if epoch == NO_EPOCH or not entries or epoch > self.latest_epoch:
            return NO_EPOCH, NO_OFFSET
        if epoch == self.latest_epoch:
            return epoch, log_end_offset
        following = bisect_right(entries, epoch, key=_epoch)
        # An epoch older than all we know: its records are gone, and the reader continues where ours begin.
        known = entries[following - 1].epoch if following else epoch
        return known, entries[following].start_offset

    def epoch_at(self, offset: int) -> int:
        """The epoch in which the record at `offset` was written, or -1."""
        following = bisect_right(self._entries, offset, key=_start_offset)
        return self._entries[following - 1].epoch if following else NO_EPOCH

    def truncate_from_end(self, end_offset: int) -> None:
        """Forgets epochs that begin at or after `end_offset`."""
        entries = self._entries
        if entries and entries[-1].start_offset >= end_offset:
            while entries and entries[-1].start_offset >= end_offset:
                entries.pop()
            self._changed()

    def truncate_from_start(self, start_offset: int) -> None:
        """Forgets epochs that ended before `start_offset`; the one it lies in now begins there."""
        following = bisect_right(self._entries, start_offset, key=_start_offset)
        if following:
            first = EpochStart(self._entries[following - 1].epoch, start_offset)
            if self._entries[0] != first:
                self._entries[:following] = [first]
                self._changed()

    def clear(self) -> None:
        if self._entries:
            self._entries.clear()
            self._changed()

    def flush(self, *, sync_directory: bool = True) -> None:
        """Brings the file up to date, durably (see `replace_file`). Nothing happens if it is."""
        if self._dirty:
            lines = [f"{entry.epoch} {entry.start_offset}" for entry in self._entries]
            write_checkpoint(self._disk, self.path, lines, sync_directory=sync_directory)
            self._dirty = False

    def _changed(self) -> None:
        self._dirty = True
        self.latest_epoch = self._entries[-1].epoch if self._entries else NO_EPOCH


def _epoch(entry: EpochStart) -> int:
    return entry.epoch


def _start_offset(entry: EpochStart) -> int:
    return entry.start_offset
