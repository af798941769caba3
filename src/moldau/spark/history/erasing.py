"""`moldau history erase`: records gone for good, offsets as they were.

Spark finds the records, by key or by an expression over the columns of the segment source; the segments that hold some
of them are then rewritten (`rewriting`). Committed, aborted or undecided makes no difference: what must not be there
any more must not be in the file.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from moldau._speed import BatchHeader
from moldau.runtime.disk import RealDisk
from moldau.runtime.ports import Disk
from moldau.spark.history.report import JobError, Report, Told, first_line, nothing_told
from moldau.spark.history.rewriting import Rewritten, rewrite_log, rewrite_logs
from moldau.spark.history.stopped_node import check_stopped, finish_interrupted, held, logs_of, partitions_of
from moldau.spark.history.thinning import thinned
from moldau.spark.segments.data_directory import LogFiles
from moldau.storage.file_names import parse_directory
from moldau.types import TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Partition → the offsets of the records that go, ascending.
Doomed = dict[TopicPartition, "array[int]"]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which records go: those with one of these keys, with a key that begins like this, or for which `where` holds."""

    keys: Sequence[bytes] = ()
    key_prefix: bytes | None = None
    where: str | None = None


def erase(
    spark: SparkSession,
    directory: str,
    topic: str,
    selection: Selection,
    *,
    dry_run: bool = False,
    told: Told = nothing_told,
    disk: Disk | None = None,
) -> Report:
    """Erases the selected records of a topic from the data directory of a stopped node."""
    path = check_stopped(directory)
    with held(path):
        finish_interrupted(path, partitions_of(path, topic))
    before = logs_of(path, topic)
    doomed = find(spark, path, topic, selection)
    report = Report("erase", dry_run=dry_run)
    if dry_run:
        results = {log.topic_partition: Rewritten(len(bases_of(log, doomed))) for log in before}
    else:
        with held(path):
            # The offsets were found without the lock: they mean what they say only if nobody wrote meanwhile.
            if logs_of(path, topic) != before:
                raise JobError(f"A node ran on {directory} while the records were looked for; run this again.")
            results = erase_offsets(before, doomed, disk or RealDisk(), told)
    for log in before:
        done = results[log.topic_partition]
        report.rows.append(
            {
                "partition": log.topic_partition.partition,
                "records_erased": len(doomed.get(log.topic_partition, ())),
                "segments": len(log.segments),
                "segments_rewritten": done.segments,
                "batches_rewritten": done.batches,
                "bytes_freed": done.bytes_before - done.bytes_after,
            }
        )
    report.notes += [f"{name} may hold such records, too; it is not rewritten" for name in _beside(path, topic)]
    report.totals = {"directory": path, "topic": topic, "records_erased": sum(map(len, doomed.values()))}
    return report


def _beside(path: str, topic: str) -> list[str]:
    """Directories of the topic that are not, or no longer, part of the node's data."""
    found = ((name, parse_directory(name)) for name in sorted(os.listdir(path)))
    return [name for name, named in found if named is not None and named.mark and named.topic_partition.topic == topic]


def find(spark: SparkSession, path: str, topic: str, selection: Selection) -> Doomed:
    """The offsets of the selected records, of all segments."""
    frame = (
        spark.read.format("moldau-log")
        .options(subscribe=topic, includeActiveSegment="true", includeHeaders="true")
        .load(path)
    )
    rows: Any = _matching(spark, frame, selection).select("partition", "offset").orderBy("partition", "offset")
    table = rows.toArrow()
    partitions, offsets = table["partition"].to_numpy(), table["offset"].to_numpy()
    doomed: Doomed = {}
    for number in sorted(set(partitions.tolist())):
        own = array("q")
        own.frombytes(offsets[partitions == number].tobytes())
        doomed[TopicPartition(topic, number)] = own
    return doomed


def _matching(spark: SparkSession, frame: DataFrame, selection: Selection) -> DataFrame:
    from pyspark.errors import AnalysisException, ParseException
    from pyspark.sql import functions as F

    if selection.where is not None:
        try:
            return frame.where(selection.where)
        except (AnalysisException, ParseException) as error:
            raise JobError(f"The expression {selection.where!r} cannot be used: {first_line(error)}") from error
    if selection.key_prefix is not None:
        return frame.where(F.startswith(frame["key"], F.lit(selection.key_prefix)))
    if not selection.keys:
        raise JobError("Nothing says which records to erase: name keys, a prefix of keys, or an expression.")
    wanted = spark.createDataFrame([(bytearray(key),) for key in set(selection.keys)], "key binary")
    return frame.join(F.broadcast(wanted), "key", "left_semi")


def erase_offsets(logs: Sequence[LogFiles], doomed: Doomed, disk: Disk, told: Told) -> dict[TopicPartition, Rewritten]:
    """Rewrites the segments that hold doomed offsets. The caller holds the directory."""

    def one(log: LogFiles, tell: Told) -> Rewritten:
        offsets = doomed.get(log.topic_partition, array("q"))
        # Records before the log's start were deleted by their offsets, but their bytes are still there.
        start = log.log_start_offset

        def goes(offset: int) -> bool:
            return offset < start or _any_between(offsets, offset, offset)

        def rule(header: BatchHeader, data: bytes, position: int) -> bytes | None:
            touched = header.base_offset < start or _any_between(offsets, header.base_offset, header.last_offset)
            return thinned(header, data, position, goes) if touched and not header.is_control else None

        return rewrite_log(log, bases_of(log, doomed), rule, disk, tell)

    return dict(zip((log.topic_partition for log in logs), rewrite_logs(logs, one, told), strict=True))


def bases_of(log: LogFiles, doomed: Doomed) -> set[int]:
    """The segments that hold doomed offsets, or some before the log's start, by their base offsets."""
    offsets = doomed.get(log.topic_partition, array("q"))
    bases = [file.base_offset for file in log.segments]
    found = {base for base in bases if base < log.log_start_offset}
    at = 0
    while at < len(offsets):
        slot = bisect_right(bases, offsets[at]) - 1
        found.add(bases[slot])
        at = bisect_left(offsets, bases[slot + 1]) if slot + 1 < len(bases) else len(offsets)
    return found


def _any_between(offsets: array[int], first: int, last: int) -> bool:
    slot = bisect_left(offsets, first)
    return slot < len(offsets) and offsets[slot] <= last


def read_keys(path: str) -> list[bytes]:
    """The keys in a file, one per line, as text."""
    with open(path, "rb") as file:
        keys = [line.rstrip(b"\r\n") for line in file]
    found = [key for key in keys if key]
    if not found:
        raise JobError(f"There is no key in {os.path.basename(path)}.")
    return found
