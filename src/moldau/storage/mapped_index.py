"""What the offset index and the time index share: fixed-size entries in a memory-mapped file.

While a segment is written its indexes have their full size, so that an entry is one store into memory; when it is
closed they are cut to what they hold. An index that nobody asks is not opened: a log of a thousand old segments
costs no descriptors for them.

Stores into a mapped file cannot fail with an error, they kill the process when the disk is full. So each new page is
first written to in the ordinary way, which reserves its space and does report ENOSPC.
"""

from __future__ import annotations

from typing import ClassVar, Final

from moldau.runtime.ports import Disk, MappedFile
from moldau.storage.checkpoint import sync_file

_PAGE: Final = 4096


class CorruptIndex(Exception):
    """The index does not fit its log and has to be rebuilt; never leaves this package."""


class MappedIndex:
    ENTRY_SIZE: ClassVar[int]

    __slots__ = ("_disk", "_map", "_max_bytes", "_reserved", "_size", "_view", "base_offset", "entries", "path")

    def __init__(self, disk: Disk, path: str, base_offset: int, max_bytes: int) -> None:
        self._disk = disk
        self._max_bytes = max_bytes - max_bytes % self.ENTRY_SIZE
        self._map: MappedFile | None = None
        self._view = memoryview(b"")
        self._size = 0
        self._reserved = 0
        self.path = path
        self.base_offset = base_offset
        self.entries = 0

    # ------------------------------------------------------------------------------------------- open and close

    def load(self) -> None:
        """Opens the file as it is; every entry in it counts."""
        if self._map is not None:
            return
        size = self._disk.size(self.path) if self._disk.exists(self.path) else 0
        self._map = self._disk.map(self.path, size)
        self.entries = size // self.ENTRY_SIZE
        self._mapped(size)

    def start_empty(self) -> None:
        """Gives the file its full size and forgets what it held."""
        self.entries = 0
        if self._map is None:
            self._map = self._disk.map(self.path, self._max_bytes)
            self._mapped(self._max_bytes)
        else:
            self._resize(self._max_bytes)

    def grow(self) -> None:
        """Makes room for more entries: the segment is the one being written."""
        self.load()
        if self._size != self._max_bytes:
            self._resize(max(self._max_bytes, self.entries * self.ENTRY_SIZE))

    def trim(self) -> None:
        """Cuts the file to its entries: the segment is complete."""
        self.load()
        if self._size != self.entries * self.ENTRY_SIZE:
            self._resize(self.entries * self.ENTRY_SIZE)

    def flush(self) -> None:
        """Forces the file to disk, also one that was let go of: what was stored into it may not be there yet."""
        if self._map is not None:
            self._map.sync()
        elif self._disk.exists(self.path):
            file = self._disk.open(self.path)
            try:
                file.sync()
            finally:
                file.close()
        else:
            sync_file(self._disk, self.path)

    def close(self) -> None:
        if self._map is not None:
            self.trim()
            self.release()

    def release(self) -> None:
        """Lets go of the file without writing to it, as one must when its disk has failed."""
        mapped, self._map = self._map, None
        self._view = memoryview(b"")
        if mapped is not None:
            mapped.close()

    # -------------------------------------------------------------------------------------------------- entries

    @property
    def max_entries(self) -> int:
        return self._size // self.ENTRY_SIZE

    @property
    def is_full(self) -> bool:
        return self.entries >= self._size // self.ENTRY_SIZE

    def check(self) -> None:
        """Raises CorruptIndex for what cannot be an index of a closed segment."""
        if self._disk.size(self.path) % self.ENTRY_SIZE:
            raise CorruptIndex(f"{self.path} does not hold a whole number of entries")

    def _keep(self, entries: int) -> None:
        self.entries = entries
        self._reserved = _pages(entries * self.ENTRY_SIZE)

    def make_room(self) -> None:
        """Makes sure that the next entry cannot run out of disk space: OSError now instead of death later."""
        end = (self.entries + 1) * self.ENTRY_SIZE
        if end <= self._reserved:
            return
        file = self._disk.open(self.path)
        try:
            while self._reserved < end:
                file.write(bytes(min(_PAGE, self._size - self._reserved)), self._reserved)
                self._reserved += _PAGE
        finally:
            file.close()

    def _resize(self, size: int) -> None:
        assert self._map is not None
        self._view = memoryview(b"")
        self._map.resize(size)
        self._mapped(size)

    def _mapped(self, size: int) -> None:
        assert self._map is not None
        self._size = size
        self._view = self._map.view
        self._reserved = _pages(self.entries * self.ENTRY_SIZE)


def _pages(size: int) -> int:
    return -(-size // _PAGE) * _PAGE
