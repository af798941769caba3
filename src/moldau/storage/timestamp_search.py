"""From a timestamp to a record: time index, offset index, batch headers, and at last the records of one batch."""

from __future__ import annotations

from moldau._speed import Record
from moldau.errors import ProtocolError
from moldau.protocol.records import decode_batch
from moldau.storage.append_info import TimestampOffset
from moldau.storage.file_batches import PlacedBatch
from moldau.storage.log_segments import LogSegments
from moldau.storage.segment import Segment


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
            for record in _records(segment, placed):
                if record.timestamp == latest:
                    return TimestampOffset(latest, record.offset, placed.header.partition_leader_epoch)
    return None


def _find_in_segment(segment: Segment, timestamp: int, start_offset: int) -> TimestampOffset | None:
    offset = max(segment.time_index.lookup(timestamp), start_offset)
    for placed in segment.batches(segment.offset_index.lookup(offset)):
        header = placed.header
        if header.max_timestamp < timestamp or header.last_offset < start_offset:
            continue
        for record in _records(segment, placed):
            if record.timestamp >= timestamp and record.offset >= start_offset:
                return TimestampOffset(record.timestamp, record.offset, header.partition_leader_epoch)
    return None


def _records(segment: Segment, placed: PlacedBatch) -> list[Record]:
    data = segment.open_file().read(placed.position, placed.header.length + 12)
    try:
        return decode_batch(data, check_crc=False)
    except ProtocolError:
        return []  # damaged on disk: there is no record here to be found
