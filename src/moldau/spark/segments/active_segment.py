"""The newest segment of a node that is stopped: read as far as its batches are whole.

Its indexes are not used. After a crash they have room behind their entries and may know of batches that never came to
the disk, so the segment is walked once, checksums and all, and what the walk saw takes their place.
"""

from __future__ import annotations

from typing import Final

from moldau.config.topic import LogConfig
from moldau.spark.segments.data_directory import SegmentFile
from moldau.spark.segments.read_only_disk import ReadOnlyDisk
from moldau.storage.batch_check import good_batches
from moldau.storage.segment import Segment

# How far apart the positions lie that the walk remembers: fine enough to cut tasks at.
_INTERVAL: Final = 1 << 20
_NO_INDEX: Final = ".none"


class ActiveSegment(Segment):
    """A segment without indexes that knows its latest timestamp, its end and where batches begin."""

    __slots__ = ("_latest", "cuts", "end_offset")

    def __init__(self, disk: ReadOnlyDisk, directory: str, file: SegmentFile) -> None:
        super().__init__(disk, directory, file.base_offset, LogConfig())
        # There is no file of that name: a search starts at the beginning of the segment.
        self.offset_index.path += _NO_INDEX
        self.time_index.path += _NO_INDEX
        self.cuts: list[int] = []
        self.end_offset = file.base_offset
        self._latest = (-1, file.base_offset)
        self._walk(file)

    def _walk(self, file: SegmentFile) -> None:
        since = 0
        for checked in good_batches(self.open_file(), file.base_offset, file.size, gaps=True):
            position, header = checked.placed
            if since >= _INTERVAL:
                self.cuts.append(position)
                since = 0
            since += header.size
            if header.max_timestamp > self._latest[0]:
                self._latest = header.max_timestamp, header.last_offset
            self.size = position + header.size
            self.end_offset = header.next_offset

    @property
    def max_timestamp(self) -> int:
        return self._latest[0]

    @property
    def max_timestamp_offset(self) -> int:
        return self._latest[1]
