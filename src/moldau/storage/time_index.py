"""From a timestamp to an offset: twelve bytes per entry, sparse.

An entry says: no record up to this offset has a later timestamp. Timestamps in entries only grow, even where those
of records go back and forth, so a search finds the first place where the wanted time can be.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from struct import Struct

from moldau.runtime.ports import Disk
from moldau.storage.mapped_index import CorruptIndex, MappedIndex
from moldau.types import NO_TIMESTAMP

ENTRY = Struct(">qi")
_store = ENTRY.pack_into
_load = ENTRY.unpack_from


class TimeIndex(MappedIndex):
    ENTRY_SIZE = 12

    __slots__ = ("_last_timestamp",)

    def __init__(self, disk: Disk, path: str, base_offset: int, max_bytes: int) -> None:
        super().__init__(disk, path, base_offset, max_bytes)
        self._last_timestamp = NO_TIMESTAMP

    def append(self, timestamp: int, offset: int) -> None:
        """Adds an entry unless the index already knows of a timestamp as late."""
        if timestamp <= self._last_timestamp:
            return
        at = self.entries * 12
        _store(self._view, at, timestamp, offset - self.base_offset)
        self.entries += 1
        self._last_timestamp = timestamp

    def finish(self, timestamp: int, offset: int) -> None:
        """The entry that closes a segment, for which there is always room."""
        self.load()
        if timestamp > self._last_timestamp:
            if (self.entries + 1) * 12 > self._size:
                self._resize((self.entries + 1) * 12)
            self.make_room()
            self.append(timestamp, offset)

    @property
    def is_full(self) -> bool:
        # The last slot is kept for the entry that closes the segment.
        return self.entries >= self._size // 12 - 1

    def lookup(self, timestamp: int) -> int:
        """The offset from which records at or after `timestamp` can be expected."""
        self.load()
        slot = bisect_right(range(self.entries), timestamp, key=self._timestamp_at)
        return self.entry(slot - 1)[1] if slot else self.base_offset

    def truncate_to(self, offset: int) -> None:
        """Drops the entries for offsets at or after `offset`."""
        self.load()
        self._keep(bisect_left(range(self.entries), offset, key=self._offset_at))

    @property
    def last_entry(self) -> tuple[int, int]:
        """(timestamp, offset) of the latest record the index knows of."""
        self.load()
        return self.entry(self.entries - 1) if self.entries else (NO_TIMESTAMP, self.base_offset)

    def entry(self, slot: int) -> tuple[int, int]:
        """(timestamp, offset)"""
        timestamp, relative = _load(self._view, slot * 12)
        return timestamp, self.base_offset + relative

    def check(self) -> None:
        super().check()
        self.load()
        if not self.entries:
            return
        timestamp, offset = self.entry(self.entries - 1)
        if offset < self.base_offset or timestamp < self.entry(0)[0]:
            raise CorruptIndex(f"{self.path} ends with timestamp {timestamp} at offset {offset}")

    def _timestamp_at(self, slot: int) -> int:
        return self.entry(slot)[0]

    def _offset_at(self, slot: int) -> int:
        return self.entry(slot)[1]

    def _keep(self, entries: int) -> None:
        super()._keep(entries)
        self._last_timestamp = self.entry(entries - 1)[0] if entries else NO_TIMESTAMP

    def _set_size(self, size: int) -> None:
        super()._set_size(size)
        self._last_timestamp = self.entry(self.entries - 1)[0] if self.entries else NO_TIMESTAMP
