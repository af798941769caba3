"""`moldau history verify`: every record read and checked, of a topic through the brokers or of a data directory.

A directory is checked log by log, as many at a time as there are cores: checksums, order of offsets and epochs, the
records inside the batches, all indexes, snapshots and checkpoints (`storage.verification`). Through the brokers what a
reader can see is checked: checksums, order of offsets, timestamps.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from moldau.spark.history.report import JobError, Report, Told, nothing_told, own_sentence
from moldau.spark.history.topic_access import TopicAccess
from moldau.spark.segments.read_only_disk import ReadOnlyDisk, is_in_use
from moldau.storage.file_names import parse_directory
from moldau.storage.verification import LogReport, LogToVerify, find_logs, verify_directory, verify_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CHECKED: Final = "partition int, first bigint, last bigint, records bigint, disorder bigint, timeless bigint"


def verify_files(
    spark: SparkSession, directory: str, topic: str | None = None, *, dry_run: bool = False, told: Told = nothing_told
) -> Report:
    """Reads a data directory, or one topic's logs in it. The node must be stopped."""
    path = os.path.abspath(directory)
    if not os.path.isdir(path):
        raise JobError(f"There is no directory {directory}.")
    if is_in_use(path):
        raise JobError(
            f"A node is running on {directory}: stop it first, or verify a topic through it with "
            "`moldau history verify TOPIC --bootstrap HOST:PORT`."
        )
    disk = ReadOnlyDisk()
    logs = [log for log in find_logs(disk, path) if topic is None or _topic_of(log) == topic]
    if not logs:
        what = "There is no log" if topic is None else f"There is no log of the topic {topic}"
        raise JobError(f"{what} in {directory}.")
    report = Report("verify", dry_run=dry_run)
    if dry_run:
        report.rows = [{"log": os.path.basename(log.path), "bytes": log.size} for log in logs]
        report.totals = {"directory": path, "logs": len(logs), "bytes": sum(log.size for log in logs)}
        return report
    found = _verified(spark, logs, told)
    if topic is None:
        ends = {
            named.topic_partition: one.next_offset for one in found if (named := parse_directory(one.name)) is not None
        }
        found.append(verify_directory(disk, path, ends))
    for one in found:
        if one.segments:
            report.rows.append({"log": one.name, **_counts(one)})
        report.problems += [f"{one.name}: {sentence}" for sentence in one.problems]
        report.notes += [f"{one.name}: {sentence}" for sentence in one.notes]
    totals = {name: sum(getattr(one, name) for one in found) for name in ("records", "batches", "size")}
    report.totals = {"directory": path, "logs": len(logs), **totals, "sound": not report.problems}
    return report


def _counts(one: LogReport) -> dict[str, Any]:
    fields = asdict(one)
    kept = ("segments", "batches", "records", "size", "first_offset", "next_offset")
    return {name: fields[name] for name in kept} | {"state": "damaged" if one.problems else "sound"}


def _verified(spark: SparkSession, logs: list[LogToVerify], told: Told) -> list[LogReport]:
    """One task per log, the largest first; the reports in the order of their names."""
    largest = sorted(logs, key=lambda log: log.size, reverse=True)
    found: list[LogReport] = []
    records = size = 0
    results = spark.sparkContext.parallelize(largest, len(largest)).map(_verify_one)
    for one in results.toLocalIterator(prefetchPartitions=True):
        found.append(one)
        records, size = records + one.records, size + one.size
        told(records, size)
    return sorted(found, key=lambda one: one.name)


def _verify_one(log: LogToVerify) -> LogReport:
    try:
        return verify_log(ReadOnlyDisk(), log, deep=True)
    except OSError as error:
        name = os.path.basename(log.path)
        return LogReport(name, problems=[f"{error.filename or name} cannot be read: {error.strerror or error}"])


def _topic_of(log: LogToVerify) -> str | None:
    named = parse_directory(os.path.basename(log.path))
    return named.topic_partition.topic if named is not None else None


# ---------------------------------------------------------------------------------------------------------- a topic


def verify_topic(spark: SparkSession, access: TopicAccess, topic: str, *, dry_run: bool = False) -> Report:
    """Reads every record of a topic as a consumer would."""
    from pyspark.errors import PySparkException

    report = Report("verify", dry_run=dry_run)
    ranges = access.ranges(topic, "read_uncommitted")
    if dry_run:
        report.rows = [{"partition": n, "from_offset": a, "to_offset": b} for n, (a, b) in sorted(ranges.items())]
        report.totals = {"topic": topic, "offsets": sum(end - first for first, end in ranges.values())}
        return report
    frame = access.frame(spark, topic, "read_uncommitted", ranges)
    try:
        rows = frame.mapInArrow(_check_order, _CHECKED).collect()
    except PySparkException as error:
        sentence = own_sentence(error)
        if sentence is None:
            raise
        report.problems.append(sentence)
        rows = []
    for number, (first, end) in sorted(ranges.items()):
        parts = sorted((row for row in rows if row["partition"] == number), key=lambda row: row["first"])
        _judge(report, f"{topic}-{number}", parts)
        records = sum(row["records"] for row in parts)
        report.rows.append(
            {
                "partition": number,
                "from_offset": first,
                "to_offset": end,
                "records": records,
                "offsets_without_record": end - first - records,
            }
        )
    report.totals = {
        "topic": topic,
        "records": sum(row["records"] for row in rows),
        "sound": not report.problems,
    }
    return report


def _judge(report: Report, name: str, parts: list[Any]) -> None:
    for part in parts:
        if part["disorder"]:
            report.problems.append(f"{name}: {part['disorder']} records are out of order")
        if part["timeless"]:
            report.notes.append(f"{name}: {part['timeless']} records carry no timestamp")
    for earlier, later in pairwise(parts):
        if later["first"] <= earlier["last"]:
            report.problems.append(f"{name}: offset {later['first']} was read twice")


def _check_order(batches: Iterator[Any]) -> Iterator[Any]:
    """For `mapInArrow`: one row per partition that a task has read."""
    import numpy as np
    import pyarrow as pa

    found: dict[int, list[int]] = {}
    for batch in batches:
        offsets = batch.column("offset").to_numpy()
        partitions = batch.column("partition").to_numpy()
        timeless = batch.column("timestamp").cast(pa.int64()).to_numpy(zero_copy_only=False) < 0
        for number in np.unique(partitions).tolist():
            own = partitions == number
            seen = offsets[own]
            sums = found.setdefault(number, [int(seen[0]), -1, 0, 0, 0])
            sums[3] += int((np.diff(seen, prepend=sums[1]) <= 0).sum())
            sums[1] = int(seen[-1])
            sums[2] += len(seen)
            sums[4] += int(timeless[own].sum())
    if found:
        columns = [list(found), *map(list, zip(*found.values(), strict=True))]
        kinds = [pa.int32()] + [pa.int64()] * 5
        names = ["partition", "first", "last", "records", "disorder", "timeless"]
        arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, names=names)
