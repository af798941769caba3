"""The reader that Spark asks: plans tasks on the driver, reads them on executors.

Executors open the files by their paths, so on a cluster the data directory must be mounted everywhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from moldau.spark.options import OptionError
from moldau.spark.schema import check_schema
from moldau.spark.segments.bounds import scan_ranges
from moldau.spark.segments.data_directory import ScanError, list_log
from moldau.spark.segments.decided import aborted_between
from moldau.spark.segments.scan import scan
from moldau.spark.segments.scan_options import ScanOptions, parse_options
from moldau.spark.segments.splits import ScanRange, Task, gather, pieces_of, split, task_bytes_for

# A plan is only good if nothing was replaced while it was made; a node that compacts all the time gets some chances.
_ATTEMPTS: Final = 5
_TASKS_PER_CORE: Final = 2


class SegmentPartition(InputPartition):
    """One task's share."""

    def __init__(self, task: Task) -> None:
        super().__init__(None)
        self.task = task


class SegmentReader(DataSourceReader):
    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        check_schema(schema)
        self._options = parse_options(options)
        self._given = dict(options)
        self._schema = schema

    def __getstate__(self) -> dict[str, Any]:
        """The options as they were given: a checked selection holds functions, which do not travel."""
        return {"_given": self._given, "_schema": self._schema}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._options = parse_options(self._given)

    def partitions(self) -> list[InputPartition]:
        return [SegmentPartition(task) for task in plan(self._options)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        # Spark makes up a partition of its own where there is nothing to read.
        if not isinstance(partition, SegmentPartition):
            return iter(())
        return scan(partition.task, self._schema)


def segment_reader(options: Mapping[str, str], schema: StructType) -> SegmentReader:
    return SegmentReader(options, schema)


def plan(options: ScanOptions) -> list[Task]:
    """The tasks of a scan, of segments that were all there together when the plan was done."""
    reason: ScanError | None = None
    for _ in range(_ATTEMPTS):
        try:
            ranges = scan_ranges(options)
            tasks = _tasks(ranges, options)
            if all(_is_unchanged(scanned) for scanned in ranges):
                return tasks
        except OptionError:
            raise
        except ScanError as error:
            # Perhaps only because a segment was replaced under the eyes of the planner.
            reason = error
    raise reason or ScanError(
        f"The segments in {options.path} are replaced faster than a job can be planned; run it again later."
    )


def _tasks(ranges: list[ScanRange], options: ScanOptions) -> list[Task]:
    total = sum(piece.end - piece.start for scanned in ranges for piece in pieces_of(scanned))
    wanted = options.min_partitions or _TASKS_PER_CORE * (os.cpu_count() or 1)
    task_bytes = task_bytes_for(total, wanted)
    portions = (
        portion
        for scanned in ranges
        for portion in split(scanned, task_bytes=task_bytes, most_records=options.most_records)
    )
    tasks = gather(portions, task_bytes=task_bytes, together=options.most_records is None)
    if options.committed:
        by_partition = {scanned.log.topic_partition: scanned for scanned in ranges}
        for task in tasks:
            for partition in {piece.topic_partition for piece in task.pieces}:
                scanned = by_partition[partition]
                first = min(piece.file.base_offset for piece in task.pieces if piece.topic_partition == partition)
                first = max(first, scanned.first_offset)
                task.aborted[partition] = aborted_between(scanned.segments, first, scanned.end_offset)
    for scanned in ranges:
        for segment in scanned.segments:
            segment.release()
    return tasks


def _is_unchanged(scanned: ScanRange) -> bool:
    """Whether the segments that were planned with are still the same; more of them do no harm."""
    again = list_log(os.path.dirname(scanned.log.directory), scanned.log.topic_partition)
    return set(scanned.log.sealed) <= set(again.segments)
