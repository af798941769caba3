"""The logs of a data directory and the segments they consist of, as one moment saw them.

A running node rolls, deletes and compacts while somebody looks. So a log is listed until two looks in a row show the
same files and no replacement is under way, and every segment is remembered with its inode: a task that opens the
file later knows whether it is the one that was planned, also under the name it gets on its way out.
"""

from __future__ import annotations

import os
import posixpath
import time
from dataclasses import dataclass
from typing import Final

from moldau.config.topic import LogConfig
from moldau.errors import MoldauError
from moldau.runtime.clock import SystemClock
from moldau.spark.segments.read_only_disk import ReadOnlyDisk
from moldau.storage.checkpoint import CheckpointError, OffsetCheckpoint
from moldau.storage.deferred_removal import DeferredRemoval
from moldau.storage.file_names import (
    DELETED,
    LOG,
    METADATA_TOPIC,
    SWAP,
    file_name,
    offset_of,
    parse_directory,
)
from moldau.storage.log_dirs import HIGH_WATERMARKS, LOG_STARTS
from moldau.storage.log_segments import LogSegments
from moldau.storage.segment import Segment
from moldau.types import TopicPartition

# What a guest needs to know of a topic's settings is in the files themselves.
_CONFIG: Final = LogConfig()
_LOOKS: Final = 200
_PAUSE_SECONDS: Final = 0.05


class ScanError(MoldauError):
    """The files cannot be read as asked; the text is a sentence for the user."""


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """One segment's log file, and how to recognise it."""

    path: str
    base_offset: int
    size: int
    inode: int
    modified_ns: int

    def open(self) -> int:
        """A descriptor of exactly this file, wherever its name went; ScanError if it is gone."""
        for path in (self.path, self.path + DELETED):
            try:
                fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            found = os.fstat(fd)
            if (found.st_ino, found.st_size, found.st_mtime_ns) == (self.inode, self.size, self.modified_ns):
                return fd
            os.close(fd)
        raise ScanError(
            f"{self.path} was deleted, replaced or written to after the job was planned; run the job again, or give "
            "it more time with a larger file.delete.delay.ms."
        )


@dataclass(frozen=True, slots=True)
class LogFiles:
    """One partition as listed: all segments in order, the one being written last."""

    topic_partition: TopicPartition
    directory: str
    segments: tuple[SegmentFile, ...]
    log_start_offset: int
    high_watermark: int | None

    @property
    def sealed(self) -> tuple[SegmentFile, ...]:
        return self.segments[:-1]

    @property
    def active(self) -> SegmentFile:
        return self.segments[-1]

    def opened(self) -> LogSegments:
        """The sealed segments with their indexes, in the form `storage` searches."""
        disk = ReadOnlyDisk()
        opened = LogSegments(disk, self.directory, DeferredRemoval(disk, SystemClock()))
        for file in self.sealed:
            segment = Segment(disk, self.directory, file.base_offset, _CONFIG)
            segment.size = file.size
            opened.add(segment)
        return opened


def list_partitions(directory: str) -> list[TopicPartition]:
    """The partitions whose logs lie in a data directory, in order; the metadata log is not one of them."""
    try:
        names = os.listdir(directory)
    except OSError as error:
        raise ScanError(f"The data directory {directory} cannot be read: {error.strerror or error}.") from error
    found = []
    for name in names:
        named = parse_directory(name)
        if named is None or named.mark or named.topic_partition.topic == METADATA_TOPIC:
            continue
        if os.path.isdir(posixpath.join(directory, name)):
            found.append(named.topic_partition)
    return sorted(found)


def list_log(directory: str, topic_partition: TopicPartition) -> LogFiles:
    """The segments of a partition, all of the same moment; ScanError if that moment does not come."""
    path = posixpath.join(directory, f"{topic_partition.topic}-{topic_partition.partition}")
    before: tuple[SegmentFile, ...] | None = None
    for look in range(_LOOKS):
        if look > 1:
            time.sleep(_PAUSE_SECONDS)
        found = _look(path)
        if found is not None and _same_but_for_growth(found, before):
            starts = _checkpoint(directory, LOG_STARTS).get(topic_partition, 0)
            marks = _checkpoint(directory, HIGH_WATERMARKS).get(topic_partition)
            return LogFiles(topic_partition, path, found, max(starts, found[0].base_offset), marks)
        before = found
    raise ScanError(
        f"The segments of {topic_partition} are being replaced and the replacement does not end; if the node is "
        "stopped, start it once so that it can finish."
    )


def _same_but_for_growth(found: tuple[SegmentFile, ...], before: tuple[SegmentFile, ...] | None) -> bool:
    """Whether two looks agree. The newest segment of a busy node is never the same twice."""
    if before is None or len(found) != len(before):
        return False
    return found[:-1] == before[:-1] and found[-1].inode == before[-1].inode


def _look(path: str) -> tuple[SegmentFile, ...] | None:
    """One look at a log; None where it cannot be trusted."""
    try:
        names = os.listdir(path)
        if any(name.endswith(SWAP) for name in names):
            return None
        bases = sorted(base for name in names if (base := offset_of(name)) is not None and name == file_name(base, LOG))
        files = [_identified(posixpath.join(path, file_name(base, LOG)), base) for base in bases]
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ScanError(f"{error.filename or path} cannot be read: {error.strerror or error}.") from error
    return tuple(files) or None


def _identified(path: str, base_offset: int) -> SegmentFile:
    found = os.stat(path)
    return SegmentFile(path, base_offset, found.st_size, found.st_ino, found.st_mtime_ns)


def _checkpoint(directory: str, name: str) -> dict[TopicPartition, int]:
    try:
        return OffsetCheckpoint(ReadOnlyDisk(), posixpath.join(directory, name)).read()
    except (CheckpointError, OSError):
        return {}
