"""What a scan covers: the logs that the options select, and the range of offsets in each.

Whatever was asked for, a range lies between the log's start and the end of what may be read: the sealed segments, or
with the newest one as far as it is whole, and for committed records not beyond the high watermark that the node last
wrote down nor the first open transaction.
"""

from __future__ import annotations

import os

from moldau.errors import ProtocolError
from moldau.spark.options import OptionError
from moldau.spark.segments.active_segment import ActiveSegment
from moldau.spark.segments.data_directory import LogFiles, ScanError, list_log, list_partitions
from moldau.spark.segments.decided import decided_end
from moldau.spark.segments.read_only_disk import ReadOnlyDisk, is_in_use
from moldau.spark.segments.scan_options import EARLIEST, LATEST, Bound, ScanOptions
from moldau.spark.segments.splits import ScanRange
from moldau.storage.log_dirs import CLEAN_SHUTDOWN
from moldau.storage.log_segments import LogSegments
from moldau.storage.mapped_index import CorruptIndex
from moldau.storage.timestamp_search import find_first
from moldau.types import TopicPartition


def scan_ranges(options: ScanOptions) -> list[ScanRange]:
    """One range per selected partition, in order. OptionError or ScanError for what cannot be read."""
    directory = os.path.abspath(options.path)
    if not os.path.isdir(directory):
        raise OptionError(f"There is no data directory {options.path}.")
    if options.with_active and is_in_use(directory):
        raise OptionError(
            f"A node is running on {options.path}, so includeActiveSegment cannot be used: stop the node, or leave the "
            'option out, or read with format("moldau").'
        )
    if options.committed:
        _check_clean(options, directory)
    return [_range(options, list_log(directory, partition)) for partition in _selected(options, directory)]


def _check_clean(options: ScanOptions, directory: str) -> None:
    """Aborted transactions are known from files that a power cut may have lost; the node makes them anew at its start.

    The mark is looked for twice, because a node may be just starting or stopping.
    """
    mark = os.path.join(directory, CLEAN_SHUTDOWN)
    if not os.path.exists(mark) and not is_in_use(directory) and not os.path.exists(mark):
        raise OptionError(
            f"The last stop of the node on {options.path} was not clean, so nobody can say yet what is committed: "
            "start it once, or read with isolation=read_uncommitted."
        )


def _selected(options: ScanOptions, directory: str) -> list[TopicPartition]:
    there = list_partitions(directory)
    topics = {partition.topic for partition in there}
    for topic in options.topics:
        if topic not in topics:
            raise OptionError(f"There is no log of the topic {topic} in {options.path}.")
    for partition in options.partitions:
        if partition not in there:
            raise OptionError(f"There is no log of {partition} in {options.path}.")
    return [partition for partition in there if options.selects(partition)]


def _range(options: ScanOptions, log: LogFiles) -> ScanRange:
    partition = log.topic_partition
    try:
        segments, end = log.opened(), log.active.base_offset
        if options.with_active:
            active = ActiveSegment(ReadOnlyDisk(), log.directory, log.active)
            segments.add(active)
            end = active.end_offset
        start = log.log_start_offset
        if options.committed:
            known = end if log.high_watermark is None else max(start, min(end, log.high_watermark))
            decided = decided_end(segments, start, known)
        else:
            decided = end
        first = _first(options.start, partition, segments, start, decided)
        last = _last(options.end, partition, segments, start, end, decided, options.with_active)
    except (ProtocolError, CorruptIndex) as error:
        raise ScanError(f"The log of {partition} is damaged: {error}; see `moldau log verify`.") from error
    except OSError as error:
        raise ScanError(f"{error.filename or log.directory} cannot be read: {error.strerror or error}.") from error
    return ScanRange(log, segments, first, max(first, last))


def _first(bound: Bound, partition: TopicPartition, segments: LogSegments, start: int, end: int) -> int:
    wanted = bound.of(partition, "startingOffsetsByTimestamp" if bound.is_time else "startingOffsets")
    if bound.is_time:
        return _at_time(segments, wanted, start, end)
    if wanted == EARLIEST:
        return min(start, end)
    if wanted == LATEST:
        return end
    if wanted < start:
        raise ScanError(
            f"Offset {wanted} of {partition} is not there any more: its log begins at {start}. Name that offset, or "
            "earliest, in startingOffsets."
        )
    return wanted


def _last(
    bound: Bound, partition: TopicPartition, segments: LogSegments, start: int, end: int, decided: int, active: bool
) -> int:
    wanted = bound.of(partition, "endingOffsetsByTimestamp" if bound.is_time else "endingOffsets")
    if bound.is_time:
        return _at_time(segments, wanted, start, decided)
    if wanted in (LATEST, EARLIEST):
        return decided if wanted == LATEST else start
    if wanted > end:
        what = "log ends" if active else "sealed segments end"
        raise ScanError(
            f"The option endingOffsets asks for {partition} up to {wanted}, but its {what} at {end}."
            + ("" if active else ' Read the rest with format("moldau"), or with includeActiveSegment.')
        )
    return min(wanted, decided)


def _at_time(segments: LogSegments, timestamp: int, start: int, end: int) -> int:
    """The offset of the first record of that time or later; the end if there is none."""
    found = find_first(segments, timestamp, start)
    return end if found is None else min(found.offset, end)
