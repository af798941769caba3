"""Which records of a log are decided, as a reader of committed records sees it.

Such a reader sees nothing from the first open transaction on, and nothing of transactions that were aborted. What was
open at an offset is in the producer snapshot that the node writes whenever it begins a segment; what was aborted is in
the transaction indexes. Between the newest snapshot and the end a few batch headers say the rest.
"""

from __future__ import annotations

import os
import posixpath
from bisect import bisect_right
from operator import itemgetter

from moldau._speed import BatchHeader
from moldau.spark.segments.read_only_disk import ReadOnlyDisk
from moldau.storage.file_names import SNAPSHOT, file_name, offset_of
from moldau.storage.log_segments import LogSegments
from moldau.storage.producer_snapshot import CorruptSnapshot, decode_snapshot
from moldau.storage.producer_state import read_end_marker
from moldau.storage.segment import Segment
from moldau.types import NO_OFFSET

# Producer → its aborted transactions, as (first offset, offset of the marker), in order.
Aborted = dict[int, list[tuple[int, int]]]


def decided_end(segments: LogSegments, log_start_offset: int, end_offset: int) -> int:
    """The first offset at or below `end_offset` that belongs to a transaction still open there, or `end_offset`."""
    begin, undecided = _newest_snapshot(segments.directory, log_start_offset, end_offset)
    for segment in segments.from_offset(begin):
        if segment.base_offset >= end_offset:
            break
        _replay(segment, begin, end_offset, undecided)
        segment.release()
    return min([end_offset, *undecided.values()])


def aborted_between(segments: LogSegments, first_offset: int, end_offset: int) -> Aborted:
    found: Aborted = {}
    if first_offset < end_offset and len(segments):
        for one in sorted(set(segments.aborted_between(first_offset, end_offset))):
            found.setdefault(one.producer_id, []).append((one.first_offset, one.last_offset))
    return found


def is_aborted(header: BatchHeader, aborted: Aborted) -> bool:
    """Whether a batch lies in one of its producer's aborted transactions, which never overlap."""
    if not header.is_transactional or header.producer_id not in aborted:
        return False
    transactions = aborted[header.producer_id]
    slot = bisect_right(transactions, header.base_offset, key=itemgetter(0))
    return slot > 0 and header.base_offset <= transactions[slot - 1][1]


def _newest_snapshot(directory: str, log_start_offset: int, end_offset: int) -> tuple[int, dict[int, int]]:
    """The offset of the newest usable snapshot and what was open there: producer → first offset."""
    disk = ReadOnlyDisk()
    names = os.listdir(directory)
    offsets = [offset for name in names if (offset := offset_of(name)) is not None and name.endswith(SNAPSHOT)]
    for offset in sorted(offsets, reverse=True):
        if log_start_offset < offset <= end_offset:
            try:
                entries = decode_snapshot(disk.read_file(posixpath.join(directory, file_name(offset, SNAPSHOT))))
            except (CorruptSnapshot, FileNotFoundError):
                continue
            started = {entry.producer_id: entry.transaction_start for entry in entries}
            return offset, {producer: first for producer, first in started.items() if first != NO_OFFSET}
    return log_start_offset, {}


def _replay(segment: Segment, begin: int, end: int, undecided: dict[int, int]) -> None:
    found = segment.find(begin)
    if found is None:
        return
    for position, header in segment.batches(found.position):
        if header.base_offset >= end:
            return
        if not header.is_transactional or header.base_offset < begin:
            continue
        if not header.is_control:
            undecided.setdefault(header.producer_id, header.base_offset)
        else:
            data = segment.open_file().read(position, header.size)
            if read_end_marker(data, 0, len(data)) is not None:
                undecided.pop(header.producer_id, None)
