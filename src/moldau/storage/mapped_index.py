"""What the offset index and the time index share: fixed-size entries in a memory-mapped file.

While a segment is written its indexes have their full size, so that an entry is one store into memory; when it is
closed they are cut to what they hold. An index that nobody asks is not opened: a log of a thousand old segments
costs no descriptors for them, and neither does one that was opened and is not yet written to. And a new one is no file
before its first entry or its closing: most partitions of a large topic are idle, and two of the four files that each of
them began with were its empty indexes.

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

    # fmt: off
    __slots__ = (
        "_disk", "_growing", "_map", "_max_bytes", "_path", "_reserved", "_size", "_unmade", "_view", "base_offset",
        "entries",
    )
    # fmt: on

    def __init__(self, disk: Disk, path: str, base_offset: int, max_bytes: int) -> None:
        self._disk = disk
        self._max_bytes = max_bytes - max_bytes % self.ENTRY_SIZE
        self._map: MappedFile | None = None
        self._view = memoryview(b"")
        self._size = 0
        self._reserved = 0
        self._unmade = False  # counts as an empty file of full size, and is none yet
        self._growing = False  # of a segment being written: `entries` tells what the file holds, not its size
        self._path = path
        self.base_offset = base_offset
        self.entries = 0

    @property
    def path(self) -> str:
        return self._path

    @path.setter
    def path(self, path: str) -> None:
        """The file was renamed."""
        self._path = path
        if self._map is not None:
            self._map.path = path

    # ------------------------------------------------------------------------------------------- open and close

    def load(self) -> None:
        """Opens the file, unless there is nothing to be read in it. Of a closed segment every entry in it counts."""
        if self._map is not None or self._unmade:
            return
        if self._growing:
            if self.entries:
                self._make(self._size)
            return
        try:
            size = self._disk.size(self.path)
        except FileNotFoundError:
            size = 0
        self._map = self._disk.map(self.path, size)
        self.entries = size // self.ENTRY_SIZE
        self._mapped(size)

    def start_empty(self) -> None:
        """Gives the file its full size and forgets what it held."""
        self.entries = 0
        self._growing = True
        if self._map is not None:
            self._resize(self._max_bytes)
        elif self._disk.exists(self.path):
            self._make(self._max_bytes)
        else:
            self._unmade = True
            self._set_size(self._max_bytes)

    def grow(self) -> None:
        """Allows for more entries: the segment is the one being written. The file grows with the first of them."""
        self.load()
        self._growing = True
        self._size = max(self._max_bytes, self.entries * self.ENTRY_SIZE)
        self.rest()

    def rest(self) -> None:
        """Lets go of the file until somebody asks; whatever its size is, the entries are known."""
        mapped, self._map = self._map, None
        self._view = memoryview(b"")
        if not self._unmade:
            self._reserved = 0
        if mapped is not None:
            mapped.close()

    def trim(self) -> None:
        """Cuts the file to its entries: the segment is complete."""
        size = self.entries * self.ENTRY_SIZE
        if self._unmade:
            self._make(0)
        elif self._growing and self._map is None:
            self._cut(size)
        else:
            self.load()
            size = self.entries * self.ENTRY_SIZE
            if self._size != size:
                self._resize(size)
        self._growing = False

    def _cut(self, size: int) -> None:
        """Cuts a file that nobody has open."""
        file = self._disk.open(self.path, create=True)
        try:
            if file.size() != size:
                file.truncate(size)
        finally:
            file.close()
        self._size, self._reserved = size, 0

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
        if self._map is not None or self._unmade or self._growing:
            self.trim()
            self.release()

    def release(self) -> None:
        """Lets go of the file without writing to it, as one must when its disk has failed."""
        mapped, self._map = self._map, None
        self._unmade = False
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

    @property
    def is_nearly_full(self) -> bool:
        """Whether there is room for one more entry at most."""
        return self.entries + 1 >= self._size // self.ENTRY_SIZE

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
        if self._map is None:
            self._make(self._size)
        file = self._disk.open(self.path)
        try:
            while self._reserved < end:
                file.write(bytes(min(_PAGE, self._size - self._reserved)), self._reserved)
                self._reserved += _PAGE
        finally:
            file.close()

    def _make(self, size: int) -> None:
        """Opens the file in this size, or makes it."""
        self._map = self._disk.map(self.path, size)
        self._unmade = False
        self._mapped(size)

    def _resize(self, size: int) -> None:
        if self._map is None:
            self._make(size)
            return
        self._view = memoryview(b"")
        try:
            self._map.resize(size)
        finally:
            self._view = self._map.view
        self._mapped(size)

    def _mapped(self, size: int) -> None:
        assert self._map is not None
        self._view = self._map.view
        self._set_size(size)

    def _set_size(self, size: int) -> None:
        self._size = size
        self._reserved = _pages(self.entries * self.ENTRY_SIZE)


def _pages(size: int) -> int:
    return -(-size // _PAGE) * _PAGE
