"""From a range of offsets to the bytes that hold it, cut into pieces that one task reads.

Pieces are cut at entries of the offset index, where batches begin. A range of offsets that ends inside a batch keeps
the whole batch; its task leaves out the records outside the range.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from moldau.errors import ProtocolError
from moldau.spark.segments.active_segment import ActiveSegment
from moldau.spark.segments.data_directory import LogFiles, ScanError, SegmentFile
from moldau.spark.segments.decided import Aborted
from moldau.storage.file_names import LOG
from moldau.storage.log_segments import LogSegments
from moldau.storage.segment import Segment
from moldau.types import TopicPartition

# What a task reads where there is plenty: long enough to outweigh its start, short enough to be repeated.
TASK_BYTES: Final = 96 << 20
_LEAST_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of one segment, and which of their offsets are wanted."""

    topic_partition: TopicPartition
    file: SegmentFile
    start: int
    end: int
    first_offset: int
    end_offset: int


@dataclass(frozen=True, slots=True)
class ScanRange:
    """One partition's part of a scan."""

    log: LogFiles
    segments: LogSegments
    first_offset: int
    end_offset: int


@dataclass(slots=True)
class Task:
    pieces: list[Piece] = field(default_factory=list)
    aborted: dict[TopicPartition, Aborted] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return sum(piece.end - piece.start for piece in self.pieces)


def pieces_of(scan: ScanRange) -> Iterator[Piece]:
    """One piece per segment that holds some of the range."""
    files = {file.base_offset: file for file in scan.log.segments}
    first, end = scan.first_offset, scan.end_offset
    if first >= end or not len(scan.segments):
        return
    for segment in scan.segments.from_offset(first):
        if segment.base_offset >= end:
            break
        start, stop = _positions(segment, first, end)
        segment.release()
        if start < stop:
            yield Piece(scan.log.topic_partition, files[segment.base_offset], start, stop, first, end)


def split(scan: ScanRange, *, task_bytes: int, most_records: int | None) -> Iterator[list[Piece]]:
    """The pieces of a range in portions for tasks, in order."""
    for part in _by_records(scan, most_records):
        portion: list[Piece] = []
        size = 0
        cuts = {segment.base_offset: segment for segment in scan.segments}
        for piece in pieces_of(part):
            positions = _cuts(cuts[piece.file.base_offset]) if piece.end - piece.start > task_bytes - size else []
            for fragment in _cut(piece, positions, task_bytes, size):
                portion.append(fragment)
                size += fragment.end - fragment.start
                if size >= task_bytes:
                    yield portion
                    portion, size = [], 0
        if portion:
            yield portion


def gather(portions: Iterable[list[Piece]], *, task_bytes: int, together: bool) -> list[Task]:
    """Tasks; small portions of neighbouring partitions share one if they may stand `together`."""
    tasks: list[Task] = []
    for portion in portions:
        size = sum(piece.end - piece.start for piece in portion)
        if together and tasks and tasks[-1].size + size <= task_bytes:
            tasks[-1].pieces += portion
        else:
            tasks.append(Task(list(portion)))
    return tasks


def task_bytes_for(total: int, wanted_tasks: int) -> int:
    """How much a task shall read, so that there are enough of them for the cores and none is large."""
    return max(_LEAST_BYTES, min(TASK_BYTES, -(-total // max(1, wanted_tasks))))


def _by_records(scan: ScanRange, most: int | None) -> Iterator[ScanRange]:
    if most is None:
        yield scan
        return
    for first in range(scan.first_offset, scan.end_offset, most):
        yield ScanRange(scan.log, scan.segments, first, min(first + most, scan.end_offset))


def _positions(segment: Segment, first: int, end: int) -> tuple[int, int]:
    try:
        start, stop = 0, segment.size
        if first > segment.base_offset:
            found = segment.find(first)
            start = segment.size if found is None else found.position
        last = segment.find(end)
        if last is not None:
            # The batch that holds the end also holds wanted records, unless it begins there.
            stop = last.position + (last.header.size if last.header.base_offset < end else 0)
        return start, stop
    except ProtocolError as error:
        raise ScanError(f"{segment.paths[0]} is damaged: {error}; see `moldau log verify`.") from error


def _cuts(segment: Segment) -> list[int]:
    """Positions at which a batch begins, ascending."""
    if isinstance(segment, ActiveSegment):
        return segment.cuts
    index = segment.offset_index
    index.load()
    positions = [index.entry(slot)[1] for slot in range(index.entries)]
    index.release()
    if any(later <= earlier for earlier, later in pairwise(positions)):
        raise ScanError(f"{index.path} is out of order; see `moldau log verify`.")
    return positions


def _cut(piece: Piece, positions: list[int], task_bytes: int, already: int) -> Iterator[Piece]:
    """The piece in fragments: the first fills a task that holds `already` bytes, the others fill one each."""
    start = piece.start
    room = task_bytes - already
    while piece.end - start > room:
        slot = bisect_right(positions, start + room - 1)
        cut = positions[slot] if slot < len(positions) else piece.end
        if cut >= piece.end:
            break
        yield _between(piece, start, cut)
        start, room = cut, task_bytes
    yield _between(piece, start, piece.end)


def _between(piece: Piece, start: int, end: int) -> Piece:
    return Piece(piece.topic_partition, piece.file, start, end, piece.first_offset, piece.end_offset)


def segment_name(piece: Piece) -> str:
    return f"{piece.topic_partition}, {piece.file.base_offset:020d}{LOG}"
