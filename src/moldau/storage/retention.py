"""Which segments have outlived their log: by the log's start, by size, by age.

Only whole segments go, always from the beginning, and only as far as the high watermark: what is not replicated may
not disappear. The segment being written goes too when all of it is past its time; the log then continues in an empty
one, so that a topic nobody writes to any more becomes empty in the end.

A log that is compacted and not deleted loses only what lies before its start, where DeleteRecords put it.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from contextlib import suppress
from typing import Protocol

from moldau.runtime.ports import Clock
from moldau.slicing import Slicer, Work
from moldau.storage.log import Log
from moldau.storage.segment import Segment
from moldau.storage.storage_error import StorageError
from moldau.types import TopicPartition


class Logs(Protocol):
    @property
    def logs(self) -> Mapping[TopicPartition, Log]: ...

    def get(self, partition: TopicPartition) -> Log | None: ...


class Cleaner(Protocol):
    """Who looks after compacted logs."""

    @property
    def busy(self) -> Container[TopicPartition]: ...

    @property
    def keeps(self) -> bool: ...


class RetentionPass:
    """Goes through all logs, a slice at a time. Those that are compacted are the cleaner's, if it runs."""

    def __init__(self, logs: Logs, cleaner: Cleaner, clock: Clock, slicer: Slicer) -> None:
        self._logs = logs
        self._cleaner = cleaner
        self._clock = clock
        self._slicer = slicer
        self._running = False

    def run(self) -> None:
        """Begins a pass, unless one is under way."""
        if not self._running:
            self._running = True
            self._slicer.run(self._pass())

    def _pass(self) -> Work[None]:
        try:
            for log in tuple(self._logs.logs.values()):
                now = self._clock.now_ms()
                with suppress(StorageError):  # it has reported that; the others have their turn
                    # One after the other, as each has to reach the disk; asked anew, as it may have been written to.
                    while self._is_ours(log) and has_outlived(log, now):
                        log.local.delete_segments([log.segments.first])
                        yield
                yield
        finally:
            self._running = False

    def _is_ours(self, log: Log) -> bool:
        """It may have been deleted since the pass began, or be the cleaner's now."""
        return self._logs.get(log.topic_partition) is log and not self._is_kept_elsewhere(log)

    def _is_kept_elsewhere(self, log: Log) -> bool:
        return log.topic_partition in self._cleaner.busy or (log.config.compact and self._cleaner.keeps)


def delete_old_segments(log: Log, now_ms: int) -> int:
    """Deletes what retention no longer keeps; bytes deleted. StorageError if the disk refuses."""
    deleted = 0
    while has_outlived(log, now_ms):
        deleted += log.local.delete_segments([log.segments.first])
    return deleted


def has_outlived(log: Log, now_ms: int) -> bool:
    """Whether the oldest segment of the log is to go."""
    segment = log.segments.first
    following = log.segments.after(segment)
    end = following.base_offset if following is not None else log.log_end_offset
    is_fresh = following is None and segment.size == 0
    if is_fresh or log.high_watermark < end:
        return False
    if following is not None and following.base_offset <= log.log_start_offset:
        return True
    return log.config.delete and (_is_over_size(log, segment) or _is_over_age(log, segment, now_ms))


def _is_over_size(log: Log, segment: Segment) -> bool:
    """Without it the log is still as large as `retention.bytes`."""
    limit = log.config.retention_bytes
    return limit >= 0 and log.segments.size - segment.size >= limit


def _is_over_age(log: Log, segment: Segment, now_ms: int) -> bool:
    """Its latest record is older than `retention.ms`."""
    limit = log.config.retention_ms
    return limit >= 0 and now_ms - segment.largest_timestamp > limit
