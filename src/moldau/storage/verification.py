"""Whether a data directory is sound, without a node: every log in it, and the small files beside them.

A problem is something a node would have to repair or could not repair. A note is something that is merely unfinished,
as a crash leaves it: files on their way out, the torn end of the newest segment.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from moldau.runtime.ports import Disk
from moldau.storage.checkpoint import CheckpointError, OffsetCheckpoint, read_checkpoint
from moldau.storage.file_names import (
    CLEANED,
    DELETED,
    EPOCH_CHECKPOINT,
    LOG,
    OFFSET_INDEX,
    SNAPSHOT,
    SWAP,
    TIME_INDEX,
    TRANSACTION_INDEX,
    file_name,
    offset_of,
    parse_directory,
)
from moldau.storage.log_dirs import (
    CLEAN_SHUTDOWN,
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_STARTS,
    RECOVERY_POINTS,
    LogDirError,
    read_meta_properties,
)
from moldau.storage.partition_metadata import read_topic_id
from moldau.storage.producer_snapshot import CorruptSnapshot, decode_snapshot
from moldau.storage.segment_verification import SegmentReport, SegmentVerifier
from moldau.types import TopicPartition

_CHECKPOINTS: Final = (RECOVERY_POINTS, LOG_STARTS, HIGH_WATERMARKS, CLEANER_OFFSETS)


@dataclass(slots=True)
class LogReport:
    """One log, or the files of the data directory itself."""

    name: str
    segments: int = 0
    batches: int = 0
    records: int = 0
    size: int = 0
    first_offset: int = -1
    next_offset: int = -1
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True, frozen=True)
class LogToVerify:
    path: str
    size: int
    recovery_point: int | None  # None after a clean stop: all of it must be sound


def find_logs(disk: Disk, directory: str) -> list[LogToVerify]:
    """The logs of a data directory, or the one log that the directory is."""
    if any(name.endswith(LOG) and offset_of(name) is not None for name in disk.list(directory)):
        return [LogToVerify(directory, _size(disk, directory), None)]
    clean = disk.exists(posixpath.join(directory, CLEAN_SHUTDOWN))
    try:
        points = OffsetCheckpoint(disk, posixpath.join(directory, RECOVERY_POINTS)).read()
    except CheckpointError:
        points = {}
    found = []
    for name in disk.list(directory):
        path = posixpath.join(directory, name)
        named = parse_directory(name)
        if named is not None and not named.mark and disk.is_directory(path):
            point = None if clean else points.get(named.topic_partition, 0)
            found.append(LogToVerify(path, _size(disk, path), point))
    return found


def verify_directory(disk: Disk, directory: str, ends: dict[TopicPartition, int]) -> LogReport:
    """The files of the data directory itself, and whether its checkpoints fit the logs, which end at `ends`."""
    report = LogReport(directory)
    try:
        if read_meta_properties(disk, directory) is None:
            report.notes.append("there is no meta.properties: nobody knows whose directory this is")
    except LogDirError as error:
        report.problems.append(str(error).rstrip("."))
    for name in _CHECKPOINTS:
        try:
            offsets = OffsetCheckpoint(disk, posixpath.join(directory, name)).read()
        except CheckpointError as error:
            report.problems.append(str(error).rstrip("."))
            continue
        for partition, offset in offsets.items():
            if partition in ends and offset > ends[partition]:
                report.problems.append(f"{name} says {offset} for {partition}, which ends at {ends[partition]}")
    if not disk.exists(posixpath.join(directory, CLEAN_SHUTDOWN)):
        report.notes.append("the last stop was not clean, or a node is running")
    for name in disk.list(directory):
        named = parse_directory(name)
        if named is not None and named.mark and disk.is_directory(posixpath.join(directory, name)):
            report.notes.append(f"{name} is not part of the node's data any more or not yet")
    return report


def verify_log(disk: Disk, log: LogToVerify, *, deep: bool = False) -> LogReport:
    """Reads all of a log. OSError if that is not possible."""
    report = LogReport(posixpath.basename(log.path))
    names = disk.list(log.path)
    bases = [offset for name in names if (offset := offset_of(name)) is not None and name == file_name(offset, LOG)]
    epochs = _epochs(disk, log.path, report) if names else []
    latest_epoch = -1
    for index, base in enumerate(bases):
        if report.next_offset > base:
            report.problems.append(
                f"{file_name(base, LOG)} begins at offset {base}, but offsets up to {report.next_offset} are taken"
            )
        kinds = (LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)
        paths = [posixpath.join(log.path, file_name(base, kind)) for kind in kinds]
        found = SegmentVerifier(
            # After a crash the checkpoint may lag behind the log, and proves nothing.
            disk,
            paths,
            base,
            latest_epoch,
            epochs if log.recovery_point is None else (),
            deep=deep,
        ).run()
        latest_epoch = found.latest_epoch
        _add(report, found, log, is_last=index == len(bases) - 1)
    report.first_offset = bases[0] if bases else -1
    if not bases:
        report.problems.append("there is no segment")
    elif epochs and epochs[-1][1] > report.next_offset:
        start, end = epochs[-1][1], report.next_offset
        report.problems.append(f"{EPOCH_CHECKPOINT} has an epoch from offset {start} on, but the log ends at {end}")
    _verify_beside(disk, log.path, names, set(bases), report)
    return report


def _add(report: LogReport, found: SegmentReport, log: LogToVerify, *, is_last: bool) -> None:
    report.segments += 1
    report.batches += found.batches
    report.records += found.records
    report.size += found.size
    report.next_offset = max(report.next_offset, found.next_offset)
    for kind, sentences in found.problems.items():
        name = file_name(found.base_offset, f".{kind}")
        # What was not forced to disk before a crash is cut off or rebuilt at the next start, as it should be.
        unfinished = log.recovery_point is not None and (is_last or found.next_offset > log.recovery_point)
        told = report.notes if unfinished else report.problems
        told += [f"{name} {sentence}" for sentence in sentences]


def _verify_beside(disk: Disk, path: str, names: Iterable[str], bases: set[int], report: LogReport) -> None:
    """The files of a log that are no segments."""
    for name in names:
        offset = offset_of(name)
        if name.endswith((DELETED, CLEANED, SWAP)):
            report.notes.append(f"{name} is left from something that was under way")
        elif name.endswith(SNAPSHOT) and offset is not None:
            try:
                decode_snapshot(disk.read_file(posixpath.join(path, name)))
            except CorruptSnapshot as error:
                report.problems.append(f"{name} is damaged: {error}")
        elif (
            offset is not None and offset not in bases and name.endswith((OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX))
        ):
            report.notes.append(f"{name} belongs to no segment")
    try:
        read_topic_id(disk, path)
    except CheckpointError as error:
        report.problems.append(str(error).rstrip("."))


def _epochs(disk: Disk, path: str, report: LogReport) -> list[tuple[int, int]]:
    """(epoch, first offset) of each; none if they cannot be trusted."""
    entries: list[tuple[int, int]] = []
    try:
        for line in read_checkpoint(disk, posixpath.join(path, EPOCH_CHECKPOINT)):
            epoch, start = map(int, line.split())
            entries.append((epoch, start))
    except CheckpointError as error:
        report.problems.append(str(error).rstrip("."))
        return []
    except ValueError:
        report.problems.append(f"{EPOCH_CHECKPOINT} has a line that is not 'epoch offset': {line!r}")
        return []
    for earlier, later in pairwise(entries):
        if later[0] <= earlier[0] or later[1] < earlier[1]:
            report.problems.append(f"{EPOCH_CHECKPOINT} is out of order: {later} follows {earlier}")
            return []
    return entries


def _size(disk: Disk, path: str) -> int:
    return sum(disk.size(posixpath.join(path, name)) for name in disk.list(path) if name.endswith(LOG))
