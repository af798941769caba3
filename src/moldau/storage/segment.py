"""One stretch of a log: a file of batches and the indexes to search it.

The file grows by positioned writes at `size`. A write that fails leaves `size` where it was, so the next one goes
over what was half written; before that the file is cut back, lest a crash find remains of the old bytes behind the
new ones. Only the newest segment of a log is written; the others are opened when somebody reads them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from moldau._speed import BatchHeader
from moldau._speed.layout import HEADER_SIZE
from moldau.config.topic import LogConfig
from moldau.errors import ProtocolError
from moldau.runtime.ports import Disk, File
from moldau.storage.file_batches import PlacedBatch, batches_in, find_offset, header_at
from moldau.storage.file_names import LOG, OFFSET_INDEX, SWAP, TIME_INDEX, TRANSACTION_INDEX, file_name
from moldau.storage.offset_index import OffsetIndex
from moldau.storage.time_index import TimeIndex
from moldau.storage.transaction_index import TransactionIndex
from moldau.types import NO_TIMESTAMP, Buffer

MAX_RELATIVE_OFFSET: Final = (1 << 31) - 1
_FOREVER: Final = (1 << 63) - 1
_UNKNOWN: Final = -2


class Segment:
    __slots__ = (
        "_age_limit",
        "_bytes_since_entry",
        "_directory",
        "_disk",
        "_first_timestamp",
        "_max_timestamp",
        "_max_timestamp_offset",
        "_suffix",
        "_torn",
        "base_offset",
        "created_ms",
        "file",
        "index_full",
        "index_interval",
        "last_clock_allowed",
        "last_offset_allowed",
        "last_timestamp_allowed",
        "offset_index",
        "size",
        "time_index",
        "transaction_index",
    )

    def __init__(self, disk: Disk, directory: str, base_offset: int, config: LogConfig, suffix: str = "") -> None:
        self._disk = disk
        self._directory = directory
        self._suffix = suffix
        self.base_offset = base_offset
        self.index_interval = config.index_interval_bytes
        self.file: File | None = None
        self.size = 0
        self.offset_index = OffsetIndex(disk, self._path(OFFSET_INDEX), base_offset, config.segment_index_bytes)
        self.time_index = TimeIndex(disk, self._path(TIME_INDEX), base_offset, config.segment_index_bytes)
        self.transaction_index = TransactionIndex(disk, self._path(TRANSACTION_INDEX), base_offset)
        self.index_full = False
        self.created_ms = 0
        # What the next batch must not exceed if it is to go into this segment.
        self.last_offset_allowed = base_offset + MAX_RELATIVE_OFFSET
        self.last_timestamp_allowed = _FOREVER
        self.last_clock_allowed = _FOREVER
        self._age_limit = _FOREVER
        self._bytes_since_entry = 0
        self._first_timestamp = _UNKNOWN
        self._max_timestamp = _UNKNOWN
        self._max_timestamp_offset = base_offset
        self._torn = False

    @classmethod
    def create(
        cls, disk: Disk, directory: str, base_offset: int, config: LogConfig, now_ms: int, suffix: str = ""
    ) -> Segment:
        """A new, empty segment, ready to be written; files with its names are leftovers and are replaced."""
        segment = cls(disk, directory, base_offset, config, suffix)
        try:
            segment.file = disk.open(segment._path(LOG), create=True)
            # A new file is left alone: one that was cut to nothing is written to disk by ext4 when it is closed, whole,
            # and when this segment is full the loop would wait for that.
            size = config.segment_bytes if config.preallocate else 0
            if segment.file.size() != size:
                segment.file.truncate(size)
            segment.offset_index.start_empty()
            segment.time_index.start_empty()
            segment.transaction_index.reset()
        except OSError:
            segment.undo_create()
            raise
        segment.created_ms = now_ms
        segment._max_timestamp = NO_TIMESTAMP
        return segment

    def undo_create(self) -> None:
        """Removes the files of a segment that could not be taken into use: an empty one would hide the one before."""
        self.release()
        for path in self.paths:
            if self._disk.exists(path):
                self._disk.remove(path)

    @classmethod
    def open(
        cls, disk: Disk, directory: str, base_offset: int, config: LogConfig, now_ms: int, suffix: str = ""
    ) -> Segment:
        """A segment that is on disk. Nothing but its size is read until somebody asks."""
        segment = cls(disk, directory, base_offset, config, suffix)
        segment.size = disk.size(segment._path(LOG))
        segment.created_ms = now_ms
        return segment

    # --------------------------------------------------------------------------------------------------- writing

    def append(self, data: Buffer, last_offset: int, max_timestamp: int, max_timestamp_offset: int) -> None:
        """Writes whole batches; OSError leaves the segment as it was."""
        if self._torn:
            self._mend()
        file = self.file or self.open_file()
        position = self.size
        size = len(data)
        indexed = self._bytes_since_entry > self.index_interval
        if indexed:
            self.offset_index.make_room()
            self.time_index.make_room()
        try:
            file.write(data, position)
        except OSError:
            self._torn = True
            raise
        if max_timestamp > self._max_timestamp:
            self._max_timestamp = max_timestamp
            self._max_timestamp_offset = max_timestamp_offset
        self.size = position + size
        if position == 0:
            self._first_timestamp = max_timestamp
            self.set_age_limit(self._age_limit)
        if indexed:
            self.add_index_entry(last_offset, position)
            self._bytes_since_entry = size
        else:
            self._bytes_since_entry += size

    def begin_run(self, now_ms: int) -> int | None:
        """Whether somebody else may write batches at the end, as they are: then how many bytes may lie before one that
        gets an entry in the index. The first gets one if it is due; None if they have to come one by one."""
        if self._torn or self.index_full or self.file is None or self.size == 0 or now_ms > self.last_clock_allowed:
            return None
        if self.descriptor < 0:
            return None
        if self._bytes_since_entry <= self.index_interval:
            return self.index_interval - self._bytes_since_entry
        if self.offset_index.is_nearly_full or self.time_index.is_nearly_full:
            return None  # with this entry the segment ends
        try:
            self.offset_index.make_room()
            self.time_index.make_room()
        except OSError:
            return None
        return self.index_interval

    def end_run(self, size: int, first: tuple[int, int], newest: tuple[int, int]) -> None:
        """The file reaches to `size` now; timestamp and last offset of the first batch, and of the one that has the
        latest timestamp."""
        position, self.size = self.size, size
        if self._bytes_since_entry > self.index_interval:
            if first[0] > self._max_timestamp:
                self._max_timestamp, self._max_timestamp_offset = first
            self.add_index_entry(first[1], position)
            self._bytes_since_entry = 0
        if newest[0] > self._max_timestamp:
            self._max_timestamp, self._max_timestamp_offset = newest
        self._bytes_since_entry += size - position

    def tear(self) -> None:
        """A write has failed: what it left behind the end is cut off before the next."""
        self._torn = True

    @property
    def descriptor(self) -> int:
        return self.open_file().fileno()

    def add_index_entry(self, last_offset: int, position: int) -> None:
        """Notes that the batch at `position` ends with `last_offset`."""
        self.offset_index.append(last_offset, position)
        self.time_index.append(self.max_timestamp, self.max_timestamp_offset)
        self.index_full = self.offset_index.is_full or self.time_index.is_full

    def become_active(self) -> None:
        """Makes an existing segment the one that is written. Its files are opened when it is."""
        self._max_timestamp, self._max_timestamp_offset = self._read_max_timestamp()
        self.offset_index.grow()
        self.time_index.grow()
        self.index_full = self.offset_index.is_full or self.time_index.is_full
        self.set_age_limit(self._age_limit)  # reads the first batch, if that has not been done
        self.rest()

    def seal(self) -> None:
        """Makes the segment final: files cut to what they hold, and its latest timestamp in the time index."""
        self.index_full = True
        self.time_index.finish(self.max_timestamp, self.max_timestamp_offset)
        self.offset_index.trim()
        self.time_index.trim()
        self.transaction_index.trim()
        self._cut_file()

    def truncate_to(self, offset: int, now_ms: int) -> int:
        """Drops the batches that hold `offset` or more, and leaves the segment ready to be written; bytes dropped."""
        found = self.find(offset)
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.transaction_index.truncate_to(offset)
        before = self.size
        if found is not None:
            self.open_file().truncate(found.position)
            self.size = found.position
        if self.size == 0:
            self.created_ms = now_ms
            self._first_timestamp = _UNKNOWN
        self._torn = False
        self._bytes_since_entry = 0
        self._max_timestamp = _UNKNOWN
        self.become_active()
        return before - self.size

    # --------------------------------------------------------------------------------------------------- reading

    def open_file(self) -> File:
        file = self.file
        if file is None:
            file = self.file = self._disk.open(self._path(LOG))
        return file

    def batches(self, position: int = 0, end: int | None = None) -> Iterator[PlacedBatch]:
        return batches_in(self.open_file(), position, self.size if end is None else end)

    def find(self, offset: int) -> PlacedBatch | None:
        """The first batch that ends at or after `offset`: the one that holds it, or the next if it was compacted."""
        file, start = self.open_file(), self.offset_index.lookup(offset)
        if start and start < self.size:
            try:
                placed = find_offset(file, start, self.size, offset)
                if placed is None or placed.position > start or placed.header.base_offset <= offset:
                    return placed
            except ProtocolError:
                pass
        # Without an entry the search starts at the beginning; so it does where the index points behind the offset
        # or between two batches: then it is damaged, and only the log itself tells the truth.
        return find_offset(file, 0, self.size, offset)

    def header_at(self, position: int) -> BatchHeader:
        return header_at(self.open_file().read(position, HEADER_SIZE), 0)

    def next_offset(self) -> int:
        """The offset after the last batch."""
        offset = self.base_offset
        for placed in self.batches(self.offset_index.lookup(self.offset_index.last_offset)):
            offset = placed.header.next_offset
        return offset

    # ---------------------------------------------------------------------------------------------------- time

    @property
    def max_timestamp(self) -> int:
        """The latest timestamp in the segment, -1 if none is known."""
        if self._max_timestamp == _UNKNOWN:
            self._load_max_timestamp()
        return self._max_timestamp

    @property
    def max_timestamp_offset(self) -> int:
        """The last offset of the batch in which that timestamp was first seen."""
        if self._max_timestamp == _UNKNOWN:
            self._load_max_timestamp()
        return self._max_timestamp_offset

    @property
    def largest_timestamp(self) -> int:
        """What the segment's age is counted from: its latest record, or else the file's last change."""
        latest = self.max_timestamp
        return latest if latest >= 0 else self._disk.modified_ms(self._path(LOG))

    @property
    def first_timestamp(self) -> int:
        """That of the first batch, -1 if it has none or there is no batch."""
        if self._first_timestamp == _UNKNOWN:
            if self.size == 0:
                return NO_TIMESTAMP
            try:
                self._first_timestamp = self.header_at(0).max_timestamp
            except ProtocolError:
                self._first_timestamp = NO_TIMESTAMP
        return self._first_timestamp

    def set_age_limit(self, limit_ms: int) -> None:
        """How long the segment may be written: counted in the time of its records, or else from its creation."""
        self._age_limit = limit_ms
        first = self.first_timestamp
        self.last_timestamp_allowed = first + limit_ms if first >= 0 else _FOREVER
        self.last_clock_allowed = self.created_ms + limit_ms if first < 0 and self.size else _FOREVER

    def _load_max_timestamp(self) -> None:
        self._max_timestamp, self._max_timestamp_offset = self.time_index.last_entry
        if self.file is None:
            self.time_index.release()  # a search by time asks every segment, once

    def _read_max_timestamp(self) -> tuple[int, int]:
        """Looks at the newest batches too, of which the indexes do not tell yet. Both get their entries together, so
        that only those are new: were it those behind the offset of the latest timestamp, records of one moment, as
        copies have them, would be read from the first."""
        latest, offset = self.time_index.last_entry
        for placed in self.batches(self.offset_index.lookup(self.offset_index.last_offset)):
            if placed.header.max_timestamp > latest:
                latest, offset = placed.header.max_timestamp, placed.header.last_offset
        return latest, offset

    # ---------------------------------------------------------------------------------------------- rebuilding

    def start_rebuild(self) -> None:
        """Empties the indexes, to be filled again while the segment is scanned."""
        self.offset_index.start_empty()
        self.time_index.start_empty()
        self.transaction_index.reset()
        self._max_timestamp = NO_TIMESTAMP
        self._max_timestamp_offset = self.base_offset
        self._first_timestamp = _UNKNOWN
        self._bytes_since_entry = 0
        self.index_full = self.offset_index.is_full or self.time_index.is_full

    def rebuild_with(self, placed: PlacedBatch) -> None:
        """Does for a batch in the file what `append` would have done."""
        position, header = placed
        if header.last_offset - self.base_offset > MAX_RELATIVE_OFFSET or header.base_offset < self.base_offset:
            raise ProtocolError(
                f"offset {header.last_offset} cannot be in the segment that begins at {self.base_offset}"
            )
        if header.max_timestamp > self._max_timestamp:
            self._max_timestamp, self._max_timestamp_offset = header.max_timestamp, header.last_offset
        if self._bytes_since_entry > self.index_interval and not self.index_full:
            self.offset_index.make_room()
            self.time_index.make_room()
            self.add_index_entry(header.last_offset, position)
            self._bytes_since_entry = 0
        self._bytes_since_entry += header.size

    def end_rebuild(self, size: int) -> int:
        """Cuts the file to the batches that were good; bytes dropped."""
        dropped = self.size - size
        self.size = size
        self.seal()
        return dropped

    def check_indexes(self) -> None:
        """Raises CorruptIndex, or OSError for an index that is missing, when they cannot be used as they are."""
        self.offset_index.check_against(self.size)
        self.time_index.check()
        self.transaction_index.check()

    # ---------------------------------------------------------------------------------------------- files

    def flush(self) -> None:
        """Forces everything to disk, without keeping open what was not."""
        was_open = self.file is not None
        self.open_file().sync()
        if not was_open:
            self.file = None
        self.offset_index.flush()
        self.time_index.flush()
        self.transaction_index.flush()

    def close(self) -> None:
        if self.file is not None:
            self._cut_file()
            if self._max_timestamp != _UNKNOWN:
                self.time_index.finish(self.max_timestamp, self.max_timestamp_offset)
        self.offset_index.close()
        self.time_index.close()
        self.transaction_index.trim()
        self.release()

    def release(self) -> None:
        """Lets go of the files without writing, as after a disk error."""
        file, self.file = self.file, None
        if file is not None:
            file.close()
        self.offset_index.release()
        self.time_index.release()
        self.transaction_index.close()

    def let_go(self) -> None:
        """Keeps nothing open that is not in use: answers on their way to clients hold the file and close it."""
        self.file = None
        self.offset_index.release()
        self.time_index.release()
        self.transaction_index.close()

    def rest(self) -> None:
        """The same for the segment being written: whatever it needs is opened again when somebody writes or reads."""
        self.file = None
        self.offset_index.rest()
        self.time_index.rest()
        self.transaction_index.close()

    def rename(self, suffix: str) -> None:
        """Gives all files another suffix; the log file first, because its name decides what the others mean."""
        if suffix == self._suffix:
            return
        kinds = (LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)
        before = [self._path(kind) for kind in kinds]
        self._suffix = suffix
        for source, kind in zip(before, kinds, strict=True):
            if self._disk.exists(source):
                self._disk.rename(source, self._path(kind))
        self._renamed()

    def move_to(self, directory: str) -> None:
        """The directory was renamed around the segment."""
        self._directory = directory
        self._renamed()

    @property
    def paths(self) -> list[str]:
        return [self._path(kind) for kind in (LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)]

    @property
    def is_announced(self) -> bool:
        return self._suffix == SWAP

    @property
    def modified_ms(self) -> int:
        return self._disk.modified_ms(self._path(LOG))

    def __repr__(self) -> str:
        return f"Segment({self._path(LOG)}, size={self.size})"

    def _renamed(self) -> None:
        self.offset_index.path = self._path(OFFSET_INDEX)
        self.time_index.path = self._path(TIME_INDEX)
        self.transaction_index.path = self._path(TRANSACTION_INDEX)

    def _path(self, kind: str) -> str:
        return f"{self._directory}/{file_name(self.base_offset, kind, self._suffix)}"

    def _mend(self) -> None:
        self.open_file().truncate(self.size)
        self._torn = False

    def _cut_file(self) -> None:
        file = self.open_file()
        if file.size() != self.size:
            file.truncate(self.size)
