"""From an offset to a place in the segment file: eight bytes per entry, sparse.

An entry says: the batch at this position ends with this offset (relative to the segment's first). One entry per
`index.interval.bytes` is enough; the rest of the way is a short scan of batch headers.
"""

from __future__ import annotations

from struct import Struct

from moldau._speed import entries_before, entries_up_to
from moldau.storage.mapped_index import CorruptIndex, MappedIndex

ENTRY = Struct(">ii")
_INT = Struct(">i")
_store = ENTRY.pack_into
_load = _INT.unpack_from


class OffsetIndex(MappedIndex):
    ENTRY_SIZE = 8

    __slots__ = ()

    def append(self, offset: int, position: int) -> None:
        """Adds an entry; offsets and positions only grow."""
        at = self.entries * 8
        _store(self._view, at, offset - self.base_offset, position)
        self.entries += 1

    def lookup(self, offset: int) -> int:
        """The position to start looking for `offset`: that of the last entry at or before it."""
        self.load()
        slot = entries_up_to(self._view, self.entries, offset - self.base_offset)
        return self._position_at(slot - 1) if slot else 0

    def end_of(self, position: int) -> int | None:
        """An offset that is certainly not before the batches in front of `position`, if an entry tells one."""
        self.load()
        slot = entries_before(self._view, self.entries, position)
        return self.base_offset + self._offset_at(slot) if slot < self.entries else None

    def truncate_to(self, offset: int) -> None:
        """Drops the entries at or after `offset`."""
        self.load()
        self._keep(entries_up_to(self._view, self.entries, offset - self.base_offset - 1))

    @property
    def last_offset(self) -> int:
        self.load()
        return self.base_offset + (self._offset_at(self.entries - 1) if self.entries else 0)

    def entry(self, slot: int) -> tuple[int, int]:
        """(offset, position)"""
        return self.base_offset + self._offset_at(slot), self._position_at(slot)

    def check_against(self, log_size: int) -> None:
        """Raises CorruptIndex if the last entry points outside the log. Closed segments only."""
        self.check()
        self.load()
        if not self.entries:
            return
        offset, position = self.entry(self.entries - 1)
        if offset < self.base_offset or not 0 <= position < log_size:
            raise CorruptIndex(f"{self.path} ends with an entry for position {position} of {log_size}")

    def _offset_at(self, slot: int) -> int:
        value: int = _load(self._view, slot * 8)[0]
        return value

    def _position_at(self, slot: int) -> int:
        value: int = _load(self._view, slot * 8 + 4)[0]
        return value
