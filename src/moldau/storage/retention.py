"""Which segments have outlived their log: by the log's start, by size, by age.

Only whole segments go, always from the beginning, and only as far as the high watermark: what is not replicated may
not disappear. The segment being written goes too when all of it is past its time; the log then continues in an empty
one, so that a topic nobody writes to any more becomes empty in the end.

A log that is compacted and not deleted loses only what lies before its start, where DeleteRecords put it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from typing import Final, Protocol

from moldau.runtime.ports import Clock, Loop
from moldau.storage.log import Log
from moldau.storage.segment import Segment
from moldau.storage.storage_error import StorageError
from moldau.types import TopicPartition

# How many logs are looked at in one turn of the loop.
_PER_TURN: Final = 100


class Logs(Protocol):
    @property
    def logs(self) -> Mapping[TopicPartition, Log]: ...

    def get(self, partition: TopicPartition) -> Log | None: ...


class Keeper(Protocol):
    """Who looks after compacted logs."""

    @property
    def busy(self) -> Container[TopicPartition]: ...

    @property
    def keeps(self) -> bool: ...


# The segment, and the one behind it if there is one.
Outlived = Callable[[Segment, Segment | None], bool]


class RetentionPass:
    """Goes through all logs, some in each turn of the loop. Those that are compacted are the cleaner's, if it runs."""

    def __init__(self, logs: Logs, keeper: Keeper, clock: Clock, loop: Loop) -> None:
        self._logs = logs
        self._keeper = keeper
        self._clock = clock
        self._loop = loop
        self._left: list[Log] = []

    def run(self) -> None:
        """Begins a pass, unless one is under way."""
        if not self._left:
            self._left = list(self._logs.logs.values())
            self._turn()

    def _turn(self) -> None:
        now = self._clock.now_ms()
        for log in self._left[-_PER_TURN:]:
            # It may have been deleted since the pass began.
            if self._logs.get(log.topic_partition) is log and not self._is_kept_elsewhere(log):
                with suppress(StorageError):  # it has reported that; the others have their turn
                    delete_old_segments(log, now)
        del self._left[-_PER_TURN:]
        if self._left:
            self._loop.call_soon(self._turn)

    def _is_kept_elsewhere(self, log: Log) -> bool:
        return log.topic_partition in self._keeper.busy or (log.config.compact and self._keeper.keeps)


def delete_old_segments(log: Log, now_ms: int) -> int:
    """Deletes what retention no longer keeps; bytes deleted. StorageError if the disk refuses."""
    deleted = log.local.delete_segments(deletable(log, before_start(log)))
    if log.config.delete:
        deleted += log.local.delete_segments(deletable(log, over_size(log)))
        deleted += log.local.delete_segments(deletable(log, over_age(log, now_ms)))
    return deleted


def deletable(log: Log, outlived: Outlived) -> Sequence[Segment]:
    """The segments from the beginning of the log up to the first that must stay."""
    found: list[Segment] = []
    segments = log.segments.all()
    for segment, following in zip(segments, [*segments[1:], None], strict=True):
        end = following.base_offset if following is not None else log.log_end_offset
        is_fresh = following is None and segment.size == 0
        if is_fresh or log.high_watermark < end or not outlived(segment, following):
            break
        found.append(segment)
    return found


def before_start(log: Log) -> Outlived:
    """All of it lies before the log's start."""
    return lambda _, following: following is not None and following.base_offset <= log.log_start_offset


def over_size(log: Log) -> Outlived:
    """Without it the log is still as large as `retention.bytes`."""
    limit = log.config.retention_bytes
    excess = log.segments.size - limit if limit >= 0 else 0

    def outlived(segment: Segment, _: Segment | None) -> bool:
        nonlocal excess
        excess -= segment.size
        return excess >= 0

    return outlived


def over_age(log: Log, now_ms: int) -> Outlived:
    """Its latest record is older than `retention.ms`."""
    limit = log.config.retention_ms
    return lambda segment, _: limit >= 0 and now_ms - segment.largest_timestamp > limit
