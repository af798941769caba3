"""The aborted transactions of a segment: 34 bytes each, in the order of their markers.

A consumer that reads only committed records gets this list with its batches and skips what was aborted. Most
segments have none, so the file exists only from the first entry on. Entries stay in memory once read: they are few.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from moldau.runtime.ports import Disk, File
from moldau.storage.checkpoint import sync_file
from moldau.storage.mapped_index import CorruptIndex

_ENTRY = Struct(">hqqqq")
_VERSION = 0


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int  # of the abort marker
    last_stable_offset: int  # as it was when the marker was written


class TransactionIndex:
    ENTRY_SIZE = _ENTRY.size

    __slots__ = ("_disk", "_entries", "_file", "base_offset", "path")

    def __init__(self, disk: Disk, path: str, base_offset: int) -> None:
        self._disk = disk
        self._file: File | None = None
        self._entries: list[AbortedTransaction] | None = None
        self.base_offset = base_offset
        self.path = path

    def append(self, aborted: AbortedTransaction) -> None:
        entries = self.entries
        if self._file is None:
            self._file = self._disk.open(self.path, create=True)
        self._file.write(_ENTRY.pack(_VERSION, *aborted), len(entries) * _ENTRY.size)
        entries.append(aborted)

    def drop_last(self) -> None:
        """Takes back the last `append`, whose marker could not be written. The next entry goes over it."""
        self.entries.pop()

    @property
    def entries(self) -> list[AbortedTransaction]:
        if self._entries is None:
            self._entries = self._read()
        return self._entries

    def collect(self, first_offset: int, end_offset: int) -> tuple[list[AbortedTransaction], bool]:
        """The transactions that overlap the range, and whether later segments can be left out."""
        found = []
        for aborted in self.entries:
            if aborted.last_offset >= first_offset and aborted.first_offset < end_offset:
                found.append(aborted)
            if aborted.last_stable_offset >= end_offset:
                return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """Drops the entries whose markers are at or after `offset`."""
        kept = [aborted for aborted in self.entries if aborted.last_offset < offset]
        if len(kept) < len(self.entries):
            self._cut(kept)

    def reset(self) -> None:
        if self._disk.exists(self.path):
            self._cut([])
        self._entries = []

    def flush(self) -> None:
        if self._file is not None:
            self._file.sync()
        elif self._disk.exists(self.path):
            file = self._disk.open(self.path)
            try:
                file.sync()
            finally:
                file.close()
        else:
            sync_file(self._disk, self.path)

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def trim(self) -> None:
        """Cuts the file to its entries."""
        if self._file is not None and self._file.size() != len(self.entries) * _ENTRY.size:
            self._cut(self.entries)

    def _cut(self, kept: list[AbortedTransaction]) -> None:
        if self._file is None:
            self._file = self._disk.open(self.path, create=True)
        self._file.truncate(len(kept) * _ENTRY.size)
        self._entries = kept

    def _read(self) -> list[AbortedTransaction]:
        if not self._disk.exists(self.path):
            return []
        data = self._disk.read_file(self.path)
        whole = len(data) - len(data) % _ENTRY.size
        entries = []
        for version, *fields in _ENTRY.iter_unpack(data[:whole]):
            if version != _VERSION:
                raise CorruptIndex(f"{self.path} has an entry of version {version}")
            entries.append(AbortedTransaction(*fields))
        return entries

    def check(self) -> None:
        """Raises CorruptIndex for entries that cannot belong to this segment."""
        if self._disk.exists(self.path) and self._disk.size(self.path) % _ENTRY.size:
            raise CorruptIndex(f"{self.path} does not hold a whole number of entries")
        if any(aborted.last_offset < self.base_offset for aborted in self.entries):
            raise CorruptIndex(f"{self.path} has an entry from before the segment")
