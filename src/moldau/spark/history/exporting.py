"""`moldau history export`: a topic as Parquet, partitioned, with offsets, and never a record twice or not at all.

In rounds: each takes a range of offsets of every partition, writes it as files beside the others, and then adds all of
them at once (`manifest`). A run that was interrupted goes on with the round it was in; a run after the last adds what
has been written since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from moldau.spark.history.manifest import ExportDirectory, Manifest
from moldau.spark.history.parquet_files import RESULT_SCHEMA, write_files
from moldau.spark.history.report import JobError, Report, Told, nothing_told
from moldau.spark.history.topic_access import TopicAccess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUND_RECORDS: Final = 20_000_000


@dataclass(frozen=True, slots=True)
class ExportRequest:
    topic: str
    target: str
    by: str = "date"
    isolation: str = "read_committed"
    round_records: int = ROUND_RECORDS


def export(
    spark: SparkSession,
    access: TopicAccess,
    request: ExportRequest,
    *,
    dry_run: bool = False,
    told: Told = nothing_told,
    step: Callable[[], None] = lambda: None,
) -> Report:
    """Exports what is there and not exported yet."""
    directory = ExportDirectory(request.target, step)
    manifest = directory.load() or Manifest(request.topic, request.by, request.isolation)
    if not manifest.matches(request.topic, request.by, request.isolation):
        raise JobError(
            f"{request.target} holds an export of {manifest.topic} by {manifest.by}, {manifest.isolation}; go on with "
            "the same, or name a new directory."
        )
    if not dry_run:
        directory.complete(manifest)
    ranges = access.ranges(request.topic, request.isolation)
    todo = _todo(request, manifest, ranges)
    before = manifest.records, manifest.files, manifest.bytes
    exported: dict[int, int] = {}
    if not dry_run:
        for part in _rounds(todo, request.round_records):
            _round(spark, access, request, directory, manifest, part, exported)
            told(manifest.records - before[0], manifest.bytes - before[2])
        directory.remove_staging()
    report = Report("export", dry_run=dry_run)
    for number, (first, end) in sorted(todo.items()):
        row = {"partition": number, "from_offset": first, "to_offset": end, "records": exported.get(number, 0)}
        if dry_run:
            row["offsets"] = row.pop("records") + end - first
        report.rows.append(row)
    report.totals = {
        "topic": request.topic,
        "target": directory.path,
        "records": manifest.records - before[0],
        "files": manifest.files - before[1],
        "bytes": manifest.bytes - before[2],
    }
    return report


def _todo(request: ExportRequest, manifest: Manifest, ranges: dict[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
    todo = {}
    for number, (first, end) in ranges.items():
        position = manifest.positions.get(str(number), first)
        if position < first:
            raise JobError(
                f"Offsets {position} to {first - 1} of {request.topic}-{number} were deleted before they could be "
                "exported; export to a new directory to begin with what is left."
            )
        if position > end:
            raise JobError(
                f"{request.topic}-{number} ends at offset {end}, but {position} was exported already: this is another "
                "topic of the same name; export it to a new directory."
            )
        todo[number] = (position, end)
    return todo


def _rounds(todo: dict[int, tuple[int, int]], most: int) -> Iterator[dict[int, tuple[int, int]]]:
    """The ranges in portions of about `most` offsets, every partition's from its beginning on."""
    left = {number: span for number, span in todo.items() if span[0] < span[1]}
    while left:
        share = max(1, most // len(left))
        part = {number: (first, min(end, first + share)) for number, (first, end) in left.items()}
        yield part
        left = {number: (part[number][1], end) for number, (_, end) in left.items() if part[number][1] < end}


def _round(
    spark: SparkSession,
    access: TopicAccess,
    request: ExportRequest,
    directory: ExportDirectory,
    manifest: Manifest,
    part: dict[int, tuple[int, int]],
    exported: dict[int, int],
) -> None:
    directory.clear_staging()
    frame: Any = access.frame(spark, request.topic, request.isolation, part)
    rows = frame.mapInArrow(write_files(directory.staging, request.topic, request.by), RESULT_SCHEMA).collect()
    manifest.committing = {
        "positions": {str(number): end for number, (_, end) in part.items()},
        "records": sum(row["records"] for row in rows),
        "bytes": sum(row["bytes"] for row in rows),
        "files": sorted((row["staged"], row["final"]) for row in rows),
    }
    directory.save(manifest)
    directory.complete(manifest)
    for row in rows:
        exported[row["partition"]] = exported.get(row["partition"], 0) + row["records"]
