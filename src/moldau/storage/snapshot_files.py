"""The producer snapshots in a log's directory, by offset."""

from __future__ import annotations

import posixpath
from bisect import insort
from collections.abc import Iterable, Sequence

from moldau.runtime.ports import Disk
from moldau.storage.checkpoint import sync_file
from moldau.storage.file_names import DELETED, SNAPSHOT, file_name, offset_of
from moldau.storage.producer_entry import ProducerEntry
from moldau.storage.producer_snapshot import CorruptSnapshot, decode_snapshot, encode_snapshot


class SnapshotFiles:
    __slots__ = ("_disk", "directory", "latest_offset", "offsets")

    def __init__(self, disk: Disk, directory: str, names: Sequence[str]) -> None:
        """`names` are those of the files in the directory."""
        self._disk = disk
        self.directory = directory
        self.offsets: list[int] = []
        # Up to here there is a snapshot, or nothing to put into one.
        self.latest_offset = 0
        for name in names:
            offset = offset_of(name)
            if offset is not None and name == file_name(offset, SNAPSHOT):
                self.offsets.append(offset)
        self._renew()

    def start_from(self, offset: int) -> None:
        """Says that the log begins at `offset`: a snapshot there would be empty."""
        if not self.offsets:
            self.latest_offset = offset

    def write(self, offset: int, entries: Iterable[ProducerEntry], *, sync: bool) -> None:
        file = self._disk.open(self._path(offset), create=True)
        try:
            data = encode_snapshot(entries)
            if file.size():  # a new file is left alone, see `Segment.create`
                file.truncate(0)
            file.write(data, 0)
            if sync:
                file.sync()
        finally:
            file.close()
        if offset not in self.offsets:
            insort(self.offsets, offset)
        self._renew()

    def load_latest(self) -> tuple[int, list[ProducerEntry]] | None:
        """The newest snapshot that is whole; damaged ones are removed on the way."""
        while self.offsets:
            offset = self.offsets[-1]
            try:
                return offset, decode_snapshot(self._disk.read_file(self._path(offset)))
            except CorruptSnapshot:
                self.remove(offset)
        return None

    def newest_within(self, log_start_offset: int, end_offset: int) -> tuple[int, list[ProducerEntry]] | None:
        """The newest whole one that `remove_outside` would leave; nothing is removed."""
        for offset in reversed(self.offsets):
            if log_start_offset < offset <= end_offset:
                try:
                    return offset, decode_snapshot(self._disk.read_file(self._path(offset)))
                except CorruptSnapshot:
                    continue
        return None

    def paths(self, first: int, last: int) -> list[str]:
        """Those of the snapshots in a range of offsets."""
        return [self._path(offset) for offset in self.offsets if first <= offset <= last]

    def sync(self, first: int, last: int) -> None:
        """Forces the snapshots in a range of offsets to disk."""
        for path in self.paths(first, last):
            sync_file(self._disk, path)

    def remove(self, offset: int) -> None:
        if offset in self.offsets:
            self.offsets.remove(offset)
            self._disk.remove(self._path(offset))
            self._renew()

    def remove_outside(self, log_start_offset: int, log_end_offset: int) -> None:
        """Removes snapshots that no longer describe a point inside the log."""
        for offset in list(self.offsets):
            if offset > log_end_offset or offset <= log_start_offset:
                self.remove(offset)

    def remove_strays(self, segment_offsets: Iterable[int]) -> None:
        """Keeps the snapshots at segment starts and the one a clean stop wrote behind the last segment."""
        wanted = set(segment_offsets)
        strays = [offset for offset in self.offsets if offset not in wanted]
        if strays and strays[-1] > max(wanted, default=-1):
            strays.pop()
        for offset in strays:
            self.remove(offset)

    def mark_deleted(self, offset: int) -> str | None:
        """Renames the snapshot of a deleted segment; returns the path to remove later."""
        if offset not in self.offsets:
            return None
        marked = self._path(offset) + DELETED
        self._disk.rename(self._path(offset), marked)
        self.offsets.remove(offset)
        self._renew()
        return marked

    def _path(self, offset: int) -> str:
        return posixpath.join(self.directory, file_name(offset, SNAPSHOT))

    def _renew(self) -> None:
        self.latest_offset = self.offsets[-1] if self.offsets else 0
