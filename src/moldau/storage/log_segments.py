"""The segments of a log in order, and what happens to their files when some are added, dropped or replaced.

Every operation here may be cut short by a crash between any two of its steps. The order of the steps is chosen so
that what is left is either the state before or one that `recovery` completes: the end of a log is dropped from the
last segment backwards, its beginning from the first forwards, and a replacement announces itself by file names.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from moldau.runtime.ports import Disk
from moldau.storage.deferred_removal import DeferredRemoval
from moldau.storage.file_names import DELETED, SWAP
from moldau.storage.segment import Segment
from moldau.storage.transaction_index import AbortedTransaction

# How many closed segments of a log stay open after a read: each costs descriptors, and few are read at a time.
_READ_AT_ONCE: Final = 8


class LogSegments:
    __slots__ = ("_bases", "_in_use", "_removal", "_segments", "active", "directory", "disk")

    def __init__(self, disk: Disk, directory: str, removal: DeferredRemoval) -> None:
        self.disk = disk
        self.directory = directory
        self._removal = removal
        self._bases: list[int] = []
        self._segments: list[Segment] = []
        self._in_use: dict[Segment, None] = {}
        self.active: Segment = None  # type: ignore[assignment]  # a log has a segment from the moment it is open

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def __len__(self) -> int:
        return len(self._segments)

    @property
    def base_offsets(self) -> Sequence[int]:
        return tuple(self._bases)

    @property
    def first(self) -> Segment:
        return self._segments[0]

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self._segments)

    def all(self) -> list[Segment]:
        return list(self._segments)

    def floor(self, offset: int) -> Segment | None:
        """The segment in which `offset` would be."""
        index = bisect_right(self._bases, offset)
        return self._segments[index - 1] if index else None

    def after(self, segment: Segment) -> Segment | None:
        index = bisect_right(self._bases, segment.base_offset)
        return self._segments[index] if index < len(self._segments) else None

    def from_offset(self, offset: int) -> list[Segment]:
        """The segment that holds `offset` and all after it."""
        return self._segments[max(0, bisect_right(self._bases, offset) - 1) :]

    # -------------------------------------------------------------------------------------------------- searching

    def locate(self, offset: int) -> tuple[Segment, int] | None:
        """The segment and position of the batch that holds `offset`, or of the first after it."""
        segment: Segment | None = self.floor(offset) or self._segments[0]
        while segment is not None:
            self.used(segment)
            placed = segment.find(offset)
            if placed is not None:
                return segment, placed.position
            segment = self.after(segment)
        return None

    def used(self, segment: Segment) -> None:
        """Says that a closed segment is about to be read; those read longest ago are let go of."""
        if segment is self.active:
            return
        self._in_use.pop(segment, None)
        self._in_use[segment] = None
        if len(self._in_use) > _READ_AT_ONCE:
            oldest = next(iter(self._in_use))
            del self._in_use[oldest]
            oldest.let_go()

    def rest(self) -> None:
        """Closes the files of all segments until somebody needs them."""
        for segment in self._in_use:
            segment.let_go()
        self._in_use.clear()
        self.active.rest()

    def let_go(self) -> None:
        """The log is out of use; answers on their way to clients keep the files they need open."""
        for segment in self._segments:
            segment.let_go()

    def release(self) -> None:
        """Closes the files without writing: their disk has failed."""
        for segment in self._segments:
            segment.release()

    def distance(self, begin: tuple[Segment, int], end: tuple[Segment, int]) -> int:
        """The bytes between two places of the log."""
        total = end[1] - begin[1]
        segment: Segment | None = begin[0]
        while segment is not None and segment is not end[0]:
            total += segment.size
            segment = self.after(segment)
        return total

    def end_offset_before(self, segment: Segment, position: int, log_end_offset: int) -> int:
        """An offset that none of the batches before `position` reaches; the index tells it without reading them."""
        end = segment.offset_index.end_of(position)
        if end is not None:
            return end
        following = self.after(segment)
        return following.base_offset if following is not None else log_end_offset

    def aborted_between(self, first_offset: int, end_offset: int) -> list[AbortedTransaction]:
        """The aborted transactions that reach into a range of offsets; their markers may lie behind it."""
        found: list[AbortedTransaction] = []
        for segment in self.from_offset(first_offset):
            aborted, complete = segment.transaction_index.collect(first_offset, end_offset)
            found += aborted
            if complete:
                break
        return found

    # --------------------------------------------------------------------------------------------------- changing

    def add(self, segment: Segment) -> None:
        """Puts a segment in its place; one with the same base offset gives way to it."""
        index = bisect_right(self._bases, segment.base_offset)
        if index and self._bases[index - 1] == segment.base_offset:
            self._segments[index - 1] = segment
        else:
            self._bases.insert(index, segment.base_offset)
            self._segments.insert(index, segment)
        self.active = self._segments[-1]

    def drop_beginning(self, segments: Sequence[Segment], delay_ms: int) -> None:
        """Deletes the oldest segments, in two steps.

        One name after the other reaches the disk: if a power cut brought an older segment back and not the one behind
        it, recovery would take the hole for damage and drop everything after it.
        """
        for segment in sorted(segments, key=_base_offset):
            self._discard(segment, delay_ms)
            self.disk.sync_directory(self.directory)

    def drop_end(self, segments: Sequence[Segment], delay_ms: int) -> None:
        """Deletes the newest segments, in two steps."""
        for segment in sorted(segments, key=_base_offset, reverse=True):
            self._discard(segment, delay_ms)

    def announce(self, new: Sequence[Segment]) -> None:
        """Says that cleaned segments (`.cleaned`) are complete and will replace others: they become `.swap`.

        Backwards, so that a `.cleaned` file beside a `.swap` file of a higher or equal offset means that the
        replacement had not been announced completely and is given up. Touches only files nobody else uses yet.
        """
        for segment in sorted(new, key=_base_offset, reverse=True):
            segment.rename(SWAP)
        self.disk.sync_directory(self.directory)

    def replace(self, new: Sequence[Segment], old: Sequence[Segment], delay_ms: int) -> list[Segment]:
        """Puts announced segments in the place of those they were made from; returns the ones without heir.

        In whatever order the names reach the disk, `leftovers` completes what a crash cuts short: they need not be
        forced to disk here, only before anybody relies on the old segments being gone.
        """
        new = sorted(new, key=_base_offset)
        old = [segment for segment in sorted(old, key=_base_offset) if self.floor(segment.base_offset) is segment]
        kept = {segment.base_offset for segment in new}
        for segment in old:
            self._discard(segment, delay_ms)
        for segment in new:
            segment.rename("")
            self.add(segment)
        return [segment for segment in old if segment.base_offset not in kept]

    def remove_later(self, paths: Iterable[str], delay_ms: int) -> None:
        self._removal.add(paths, delay_ms)

    def move_to(self, directory: str) -> None:
        self.directory = directory
        for segment in self._segments:
            segment.move_to(directory)

    def _discard(self, segment: Segment, delay_ms: int) -> None:
        index = bisect_right(self._bases, segment.base_offset) - 1
        if index >= 0 and self._segments[index] is segment:
            del self._bases[index], self._segments[index]
            if self._segments:
                self.active = self._segments[-1]
        self._in_use.pop(segment, None)
        segment.rename(DELETED)
        segment.let_go()
        self._removal.add(segment.paths, delay_ms)


def _base_offset(segment: Segment) -> int:
    return segment.base_offset
