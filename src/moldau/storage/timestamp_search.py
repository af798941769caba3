"""From a timestamp to a record: time index, offset index, batch headers, and at last the records of one batch."""

from __future__ import annotations

from typing import Final

from moldau._speed import BatchHeader, RecordWalk
from moldau._speed.layout import HEADER_SIZE
from moldau.errors import ProtocolError
from moldau.protocol.records import Oversized, decode_batch
from moldau.protocol.records.streams import windows
from moldau.storage.append_info import TimestampOffset
from moldau.storage.file_batches import PlacedBatch
from moldau.storage.log_segments import LogSegments
from moldau.storage.segment import Segment

# Batches that unpack to more are not decoded.
_DECODED: Final = 1 << 20


def find_first(segments: LogSegments, timestamp: int, start_offset: int) -> TimestampOffset | None:
    """The first record at or after `start_offset` whose timestamp is not before `timestamp`."""
    for segment in segments:
        if segment.size and segment.largest_timestamp >= timestamp:
            segments.used(segment)
            found = _find_in_segment(segment, timestamp, start_offset)
            if found is not None:
                return found
    return None


def find_latest(segments: LogSegments) -> TimestampOffset | None:
    """The first record that has the latest timestamp of the log."""
    segment = max(segments, key=lambda candidate: candidate.max_timestamp)
    segments.used(segment)
    latest = segment.max_timestamp
    position = segment.offset_index.lookup(segment.max_timestamp_offset)
    for placed in segment.batches(position):
        if placed.header.max_timestamp == latest:
            found = _find_in_batch(segment, placed, latest, 0)
            if found is not None:
                return found
    return None


def _find_in_segment(segment: Segment, timestamp: int, start_offset: int) -> TimestampOffset | None:
    offset = max(segment.time_index.lookup(timestamp), start_offset)
    for placed in segment.batches(segment.offset_index.lookup(offset)):
        header = placed.header
        if header.max_timestamp < timestamp or header.last_offset < start_offset:
            continue
        found = _find_in_batch(segment, placed, timestamp, start_offset)
        if found is not None:
            return found
    return None


def _find_in_batch(segment: Segment, placed: PlacedBatch, timestamp: int, start_offset: int) -> TimestampOffset | None:
    header = placed.header
    data = segment.open_file().read(placed.position, header.size)
    try:
        records = decode_batch(data, check_crc=False, max_bytes=_DECODED)
    except Oversized:
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
