"""The four checkpoints of a log directory: in which file each stands, and which offset of a log it keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from moldau.storage.checkpoint import OffsetCheckpoint
from moldau.storage.log import Log
from moldau.storage.log_dirs import LogDirectory
from moldau.types import TopicPartition


class CheckpointKind(NamedTuple):
    file: Callable[[LogDirectory], OffsetCheckpoint]
    value: Callable[[Log], int | None]  # None where there is nothing to keep

    def offsets(self, logs: Iterable[Log]) -> dict[TopicPartition, int]:
        return {log.topic_partition: offset for log in logs if (offset := self.value(log)) is not None}


def _log_start(log: Log) -> int | None:
    """Only where a log starts later than its first segment says: otherwise the files tell."""
    return log.log_start_offset if log.log_start_offset > log.segments.first.base_offset else None


RECOVERY_POINTS: Final = CheckpointKind(
    lambda directory: directory.recovery_points, lambda log: log.durability.settled_offset
)
LOG_STARTS: Final = CheckpointKind(lambda directory: directory.log_starts, _log_start)
HIGH_WATERMARKS: Final = CheckpointKind(lambda directory: directory.high_watermarks, lambda log: log.high_watermark)
COMPACTED: Final = CheckpointKind(
    lambda directory: directory.cleaner_offsets,
    lambda log: log.local.first_dirty_offset if log.local.first_dirty_offset else None,
)
ALL_KINDS: Final = (RECOVERY_POINTS, LOG_STARTS, HIGH_WATERMARKS, COMPACTED)
