"""How much of a log waits to be compacted, and whether that is enough to begin.

A log is clean up to an offset and dirty behind it. Dirty records may be compacted once they are decided (replicated,
and no open transaction before them), old enough (`min.compaction.lag.ms`) and in a closed segment. Whole segments only.
"""

from __future__ import annotations

from moldau.config.definition import LONG_MAX
from moldau.dataclass import dataclass
from moldau.storage.log import Log
from moldau.storage.segment import Segment


@dataclass(slots=True, frozen=True)
class Dirtiness:
    first_dirty_offset: int
    end_offset: int  # the first offset that may not be compacted yet
    clean_bytes: int
    dirty_bytes: int
    overdue: bool  # some record waits for longer than `max.compaction.lag.ms`

    @property
    def ratio(self) -> float:
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0


def dirtiness(log: Log, now_ms: int) -> Dirtiness:
    first_dirty = first_dirty_offset(log)
    end = max(first_dirty, _end_offset(log, first_dirty, now_ms))
    clean = sum(segment.size for segment in log.segments if segment.base_offset < first_dirty)
    waiting = [segment for segment in log.segments if first_dirty <= segment.base_offset < end]
    return Dirtiness(
        first_dirty_offset=first_dirty,
        end_offset=end,
        clean_bytes=clean,
        dirty_bytes=sum(segment.size for segment in waiting),
        overdue=_is_overdue(log, waiting, now_ms),
    )


def must_be_compacted(log: Log, found: Dirtiness) -> bool:
    if not found.dirty_bytes:
        return False
    return found.overdue or found.ratio > log.config.min_cleanable_dirty_ratio


def first_dirty_offset(log: Log) -> int:
    """Where the last compaction ended, if that still lies in the log."""
    offset = log.local.first_dirty_offset
    return offset if log.log_start_offset <= offset <= log.log_end_offset else log.log_start_offset


def _end_offset(log: Log, first_dirty: int, now_ms: int) -> int:
    """The first offset out of reach, at the beginning of the segment it lies in."""
    end = min(log.last_stable_offset, log.segments.active.base_offset)
    lag = log.config.min_compaction_lag_ms
    if lag > 0:
        young = (
            segment.base_offset
            for segment in log.segments.from_offset(first_dirty)
            if segment.largest_timestamp > now_ms - lag
        )
        end = min(end, next(young, end))
    holding = log.segments.floor(end)
    return holding.base_offset if holding is not None else 0


def _is_overdue(log: Log, waiting: list[Segment], now_ms: int) -> bool:
    limit = log.config.max_compaction_lag_ms
    if limit >= LONG_MAX:
        return False
    first = [segment.first_timestamp for segment in waiting if segment.first_timestamp > 0]
    return bool(first) and now_ms - min(first) > limit
