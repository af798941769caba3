"""From a timestamp to a record: time index, offset index, batch headers, and at last the records of one batch."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from moldau._speed import BatchHeader, RecordWalk
from moldau._speed.layout import HEADER_SIZE
from moldau.errors import ProtocolError
from moldau.protocol.records import Oversized, decode_batch
from moldau.protocol.records.streams import windows
from moldau.runtime.ports import File
from moldau.slicing import Work, run_whole
from moldau.storage.append_info import TimestampOffset
from moldau.storage.file_batches import PlacedBatch
from moldau.storage.log_segments import LogSegments
from moldau.storage.segment import Segment

# Batches that unpack to more are not decoded.
_DECODED: Final = 1 << 20
# What is opened while the loop waits: some milliseconds of it.
_BYTES_AT_ONCE: Final = 64 << 10
_RECORDS_AT_ONCE: Final = 2_000
# How many headers are read before the search pauses.
_HEADERS: Final = 256


class LargeBatch(NamedTuple):
    """A batch that may hold the record looked for and takes long to open; `find` may be called anywhere."""

    file: File
    placed: PlacedBatch
    timestamp: int
    start_offset: int

    def find(self) -> TimestampOffset | None:
        return _find_in_batch(self.file, self.placed, self.timestamp, self.start_offset, _DECODED)

    @property
    def next_offset(self) -> int:
        """Where to go on if it is not there."""
        return self.placed.header.next_offset


Found: TypeAlias = TimestampOffset | LargeBatch | None


def find_first(segments: LogSegments, timestamp: int, start_offset: int) -> TimestampOffset | None:
    """The first record at or after `start_offset` whose timestamp is not before `timestamp`, whatever it takes."""
    while True:
        found = run_whole(search_first(segments, timestamp, start_offset))
        if not isinstance(found, LargeBatch):
            return found
        record = found.find()
        if record is not None:
            return record
        start_offset = found.next_offset


def search_first(segments: LogSegments, timestamp: int, start_offset: int) -> Work[Found]:
    """The same, pausing between headers, and for a batch that takes long to open the batch itself."""
    for segment in segments.all():
        if segment.size and segment.largest_timestamp >= timestamp:
            segments.used(segment)
            offset = max(segment.time_index.lookup(timestamp), start_offset)
            position = segment.offset_index.lookup(offset)
            found = yield from _search(segment, position, timestamp, start_offset)
            if found is not None:
                return found
    return None


def search_latest(segments: LogSegments) -> Work[Found]:
    """The first record that has the latest timestamp of the log."""
    segment = max(segments, key=lambda candidate: candidate.max_timestamp)
    segments.used(segment)
    position = segment.offset_index.lookup(segment.max_timestamp_offset)
    return (yield from _search(segment, position, segment.max_timestamp, 0))


def _search(segment: Segment, position: int, timestamp: int, start_offset: int) -> Work[Found]:
    for number, placed in enumerate(segment.batches(position)):
        header = placed.header
        if number % _HEADERS == _HEADERS - 1:
            yield
        if header.max_timestamp < timestamp or header.last_offset < start_offset:
            continue
        large = LargeBatch(segment.open_file(), placed, timestamp, start_offset)
        if header.size > _BYTES_AT_ONCE or header.count > _RECORDS_AT_ONCE:
            return large
        try:
            found = _find_in_batch(large.file, placed, timestamp, start_offset, _BYTES_AT_ONCE, whole=True)
        except Oversized:
            return large
        if found is not None:
            return found
    return None


def _find_in_batch(
    file: File, placed: PlacedBatch, timestamp: int, start_offset: int, decoded: int, *, whole: bool = False
) -> TimestampOffset | None:
    """`whole`: Oversized instead of looking at more than `decoded` bytes in windows."""
    header = placed.header
    data = file.read(placed.position, header.size)
    try:
        records = decode_batch(data, check_crc=False, max_bytes=decoded)
    except Oversized:
        if whole:
            raise
        return _find_in_windows(header, data, timestamp, start_offset)
    except ProtocolError:
        return None  # damaged on disk: there is no record here to be found
    for record in records:
        if record.timestamp >= timestamp and record.offset >= start_offset:
            return TimestampOffset(record.timestamp, record.offset, header.partition_leader_epoch)
    return None


def _find_in_windows(header: BatchHeader, data: bytes, timestamp: int, start_offset: int) -> TimestampOffset | None:
    """The same in a batch of which only a window at a time should be in memory.

    The kernel names the first records that are later than asked for; the first of them that is not before
    `start_offset` is the one. If that is none of those it names, or offsets are missing before it, the answer is an
    offset before it: whoever reads from there misses nothing.
    """
    walk = RecordWalk(header, consecutive=False, latest=timestamp - 1)
    try:
        for window in windows(header.compression, memoryview(data)[HEADER_SIZE:]):
            walk.feed(window)
        found = walk.finish()
    except ProtocolError:
        return None
    epoch = header.partition_leader_epoch
    for index, later, _ in found.refusals:
        if header.base_offset + index >= start_offset:
            return TimestampOffset(later, header.base_offset + index, epoch)
    if found.refused > len(found.refusals):
        return TimestampOffset(timestamp, max(start_offset, header.base_offset), epoch)
    return None
