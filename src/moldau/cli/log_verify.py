"""`moldau log verify`: reads a whole data directory and says whether it is sound."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from moldau.cli.failure import DAMAGED, DONE, Failure
from moldau.cli.progress import Progress
from moldau.cli.table import note, print_json, print_table
from moldau.quantities import counted, format_size
from moldau.runtime.disk import DiskFile, RealDisk
from moldau.types import TopicPartition

if TYPE_CHECKING:
    from moldau.storage.verification import LogReport, LogToVerify

VERIFY_EPILOG: Final = """\
Reads every batch of every log and checks checksums, each record in it and the order of offsets and epochs, then the
offset, time and transaction indexes against the log, producer snapshots, epochs, checkpoints and properties. Records of
compressed batches are unpacked and looked at with --deep. DIR is a data directory (log.dirs) or the directory of one
log. Nothing is written. After an unclean stop the torn end of a log is no damage: it is told as a note, as are files
that were being deleted or replaced.

Exit status 4 means that damage was found.

examples:
  moldau log verify data
  moldau log verify data/rivers-0 --deep
  moldau log verify data --json"""

# Below this many bytes another process is not worth its start.
_WORTH_A_PROCESS: Final = 256 << 20


class ReadOnlyDisk(RealDisk):
    """Files are opened for reading only: the directory may be somebody else's, or on a disk mounted like that."""

    __slots__ = ()

    def open(self, path: str, *, create: bool = False) -> DiskFile:
        return DiskFile(path, os.open(path, os.O_RDONLY | os.O_CLOEXEC))


def configure_verify(parser: ArgumentParser) -> None:
    parser.add_argument("directory", metavar="DIR", help="a data directory, or the directory of one log")
    parser.add_argument("--deep", action="store_true", help="also unpack compressed batches and look at their records")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes to read with; one per processor by default")
    parser.add_argument("--json", action="store_true", help="the report as JSON")


def verify(options: Namespace) -> int:
    from moldau.storage.file_names import parse_directory
    from moldau.storage.verification import find_logs, verify_directory

    disk, directory = ReadOnlyDisk(), os.path.abspath(options.directory)
    if not os.path.isdir(directory):
        raise Failure(f"There is no directory {options.directory}.")
    progress = Progress(shown=not options.json)
    ends: dict[TopicPartition, int] = {}
    reports: list[LogReport] = []
    try:
        logs = find_logs(disk, directory)
        records = size = 0
        for report in _reports(logs, options.deep, options.jobs or os.cpu_count() or 1):
            reports.append(report)
            records, size = records + report.records, size + report.size
            progress.update(records, size)
            named = parse_directory(report.name)
            if named is not None:
                ends[named.topic_partition] = report.next_offset
        if [log.path for log in logs] != [directory]:
            reports.append(verify_directory(disk, directory, ends))
    except OSError as error:
        raise Failure(f"{error.filename or directory} cannot be read: {error.strerror or error}.") from error
    finally:
        progress.clear()
    if not logs:
        raise Failure(f"There is no log in {options.directory}.")
    damaged = any(report.problems for report in reports)
    if options.json:
        print_json({"directory": directory, "sound": not damaged, "logs": [asdict(report) for report in reports]})
    else:
        _show(reports, progress)
    return DAMAGED if damaged else DONE


def _reports(logs: list[LogToVerify], deep: bool, jobs: int) -> Iterator[LogReport]:
    """In the order of their names; large ones are begun first where there are several processes."""
    jobs = min(jobs, len(logs), 1 + sum(log.size for log in logs) // _WORTH_A_PROCESS)
    if jobs <= 1:
        for log in logs:
            yield _verify_one(log, deep)
        return
    with ProcessPoolExecutor(jobs) as pool:
        largest_first = sorted(logs, key=lambda log: log.size, reverse=True)
        begun = {log.path: pool.submit(_verify_one, log, deep) for log in largest_first}
        for log in logs:
            yield begun[log.path].result()


def _verify_one(log: LogToVerify, deep: bool) -> LogReport:
    from moldau.storage.verification import verify_log

    return verify_log(ReadOnlyDisk(), log, deep=deep)


def _show(reports: list[LogReport], progress: Progress) -> None:
    rows = [
        (
            report.name,
            report.segments,
            report.batches,
            report.records,
            format_size(report.size),
            f"{report.first_offset}..{report.next_offset}",
            "damaged" if report.problems else "sound",
        )
        for report in reports
        if report.segments
    ]
    print_table(("LOG", "SEGMENTS", "BATCHES", "RECORDS", "SIZE", "OFFSETS", "STATE"), rows)
    for report in reports:
        for sentence in report.problems:
            note(f"moldau: {report.name}: {sentence}.")
    for report in reports:
        for sentence in report.notes:
            print(f"note: {report.name}: {sentence}.")
    problems = sum(len(report.problems) for report in reports)
    found = counted(problems, "problem") if problems else "no problem"
    print(f"{progress.summary()}: {found} found.")
