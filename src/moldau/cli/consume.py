"""`moldau consume`: records of topics to standard output.

Like `cat` by default: from the start to what is the end now, then it stops. `--follow` is `tail -f`.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING, BinaryIO

from moldau.cli.arguments import at_least, checked
from moldau.cli.connection import add_connection, connect
from moldau.cli.failure import DONE, USAGE, Failure
from moldau.cli.progress import Progress
from moldau.cli.record_output import PLACEHOLDERS, Formatter, formatter, unescape
from moldau.cli.table import note
from moldau.cli.termination import ends_in_order
from moldau.errors import KafkaError
from moldau.moments import HELP, AtOffset, AtTime, FromEnd, Moment, Word, parse_moment
from moldau.quantities import parse_duration
from moldau.types import TopicPartition

if TYPE_CHECKING:
    from moldau.client.admin import IsolationLevel
    from moldau.client.cluster import Cluster
    from moldau.client.consumer.fetched import FetchedRecords

_EPILOG = f"""\
formats of the output:
  value      the value, one record per line (default)
  key-value  key, tab, value
  json       one JSON object per line with everything a record has; can be fed to `moldau produce --format json`
  hex        the value in hexadecimal; base64 likewise
  raw        the values as they are, with nothing between them
  a template with any of
             {PLACEHOLDERS}
             and {{key:hex}}, {{key:base64}}, {{value:hex}}, {{value:base64}}; \\n, \\t, \\xNN as usual

examples:
  moldau consume rivers                                  everything, then stop
  moldau consume rivers --from latest                    what comes from now on, until Ctrl-C
  moldau consume rivers --from 2h --until 1h --format json
  moldau consume rivers --tail 10 --format '{{partition}}:{{offset}} {{time}} {{key}} = {{value}}'
  moldau consume rivers --partition 0 --from 1000 --max 1
  moldau consume rivers --group billing                  shares the partitions with others, goes on where it stood
  moldau consume rivers --share-group packers --format '{{delivery_count}} {{value}}' --idle 5s"""


_OUTPUT_BUFFER = 64 * 1024
_AT_ONCE = 1000


def configure(parser: ArgumentParser) -> None:
    parser.description = "Read records of topics to standard output: from the start to the end, and with --follow on."
    parser.epilog = _EPILOG
    parser.add_argument("topics", metavar="TOPIC", nargs="+")
    extent = parser.add_argument_group("what to read")
    start = extent.add_mutually_exclusive_group()
    start.add_argument(
        "--from",
        dest="start",
        metavar="WHERE",
        type=checked(parse_moment),
        default=Word.EARLIEST,
        help=f"{HELP} (default earliest); latest implies --follow",
    )
    start.add_argument("--tail", metavar="N", type=at_least(0), help="the last N offsets of each partition")
    end = extent.add_mutually_exclusive_group()
    end.add_argument(
        "--until", metavar="WHERE", type=checked(parse_moment), help="the same words; the end itself is not included"
    )
    end.add_argument("-f", "--follow", action="store_true", help="at the end, wait for more")
    extent.add_argument("-n", "--max", metavar="N", type=at_least(0), help="stop after so many records")
    extent.add_argument("-p", "--partition", metavar="N", type=at_least(0), action="append", help="repeatable")
    extent.add_argument(
        "--isolation",
        choices=("read-uncommitted", "read-committed"),
        default="read-uncommitted",
        help="whether to leave out records of open and aborted transactions (default read-uncommitted)",
    )
    output = parser.add_argument_group("output")
    output.add_argument("--format", metavar="FORMAT", default="value", help="see below (default value)")
    output.add_argument("--json", action="store_true", help="short for --format json")
    output.add_argument(
        "--delimiter", metavar="TEXT", type=unescape, default=b"\n", help="after each record (default \\n)"
    )
    output.add_argument("--null-marker", metavar="TEXT", type=unescape, default=b"null", help="for null (default null)")
    output.add_argument("-q", "--quiet", action="store_true", help="no progress and no summary on standard error")
    member = parser.add_argument_group(
        "as a member of a group",
        "A consumer group shares the partitions among its members and goes on where it stands; what was written out\n"
        "is committed. A share group says where it begins, and hands each record to one member; it is accepted once\n"
        "it is written out. Reads on until Ctrl-C, SIGTERM, --max or --idle, and leaves the group then.",
    )
    groups = member.add_mutually_exclusive_group()
    groups.add_argument(
        "--group",
        metavar="NAME",
        help="read as a member of this consumer group; --from earliest or latest if it is new",
    )
    groups.add_argument("--share-group", metavar="NAME", help="take records as a member of this share group")
    member.add_argument(
        "--idle",
        metavar="TIME",
        type=checked(parse_duration),
        help="with --group or --share-group: stop when there was nothing for so long",
    )
    add_connection(parser)
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    with ends_in_order():
        return _consume(options)


def _consume(options: Namespace) -> int:
    write = formatter(
        "json" if options.json else options.format, delimiter=options.delimiter, null_marker=options.null_marker
    )
    if options.group is not None or options.share_group is not None:
        from moldau.cli.consume_member import consume_as_member

        return consume_as_member(options, write)
    if options.idle is not None:
        raise Failure("--idle goes with --group or --share-group.", USAGE)
    start: Moment = options.start if options.tail is None else FromEnd(options.tail)
    follow = options.follow or (start is Word.LATEST and options.until is None)
    progress = Progress(shown=not options.quiet and not sys.stdout.isatty())
    # Buffered whatever Python was told about its own standard output: a system call per record is slow.
    with open(sys.stdout.fileno(), "wb", _OUTPUT_BUFFER, closefd=False) as output, connect(options) as cluster:
        isolation = _isolation(options.isolation)
        partitions = _partitions(cluster, options)
        begin = _offsets(cluster, partitions, start, isolation)
        end = None if follow else _offsets(cluster, partitions, options.until or Word.LATEST, isolation)
        reading = _Reading(cluster, begin, end, options.max, isolation)
        try:
            reading.run(write, output, progress)
        finally:
            progress.clear()
    if not options.quiet and not sys.stdout.isatty():
        note(f"{', '.join(options.topics)}: {progress.summary()}")
    return DONE


class _Reading:
    """The loop: fetch, write, until the end of every partition or the number of records wanted."""

    def __init__(
        self,
        cluster: Cluster,
        begin: Mapping[TopicPartition, int],
        end: Mapping[TopicPartition, int] | None,
        most: int | None,
        isolation: IsolationLevel,
    ) -> None:
        from moldau.client.consumer.partition_reader import PartitionReader

        self._end = end
        self._most = most
        self._reader = PartitionReader(cluster, begin, end, isolation=isolation)

    def run(self, write: Formatter, output: BinaryIO, progress: Progress) -> None:
        with self._reader as reader:
            while reader.positions and (self._most is None or progress.records < self._most):
                fetched = reader.poll(timeout=1.0)
                for part in fetched:
                    self._write(part, write, output, progress)
                if fetched:
                    output.flush()

    def _write(self, part: FetchedRecords, write: Formatter, output: BinaryIO, progress: Progress) -> None:
        end = None if self._end is None else self._end[part.where]
        topic, index = part.where
        records, size = progress.records, progress.bytes
        while batch := part.take(_AT_ONCE):
            for record in batch:
                if (end is not None and record.offset >= end) or (self._most is not None and records >= self._most):
                    progress.update(records, size)
                    return
                records += 1
                size += len(record.key or b"") + len(record.value or b"")
                output.write(write(topic, index, record))
        progress.update(records, size)


def _isolation(text: str) -> IsolationLevel:
    from moldau.client.admin import IsolationLevel

    return IsolationLevel[text.upper().replace("-", "_")]


def _partitions(cluster: Cluster, options: Namespace) -> list[TopicPartition]:
    from moldau.client.admin import describe_topics

    topics = cluster.run(describe_topics(list(dict.fromkeys(options.topics))))
    for index in options.partition or ():
        for topic in topics:
            if index not in topic.partitions:
                raise Failure(f"Topic {topic.name!r} has no partition {index}; it has {len(topic.partitions)}.")
    return [
        TopicPartition(topic.name, index)
        for topic in topics
        for index in topic.partitions
        if not options.partition or index in options.partition
    ]


def _offsets(
    cluster: Cluster, partitions: list[TopicPartition], moment: Moment, isolation: IsolationLevel
) -> dict[TopicPartition, int]:
    """The offset a moment means in each partition. An offset outside a partition is moved to its nearer end."""
    from moldau.client.admin import EARLIEST, LATEST

    if moment is Word.EARLIEST:
        return _list(cluster, partitions, EARLIEST, isolation)
    latest = _list(cluster, partitions, LATEST, isolation)
    match moment:
        case AtTime(milliseconds):
            found = _list(cluster, partitions, milliseconds, isolation)
            # Nothing that young means: from the end on.
            return {where: latest[where] if offset < 0 else offset for where, offset in found.items()}
        case FromEnd(records):
            earliest = _list(cluster, partitions, EARLIEST, isolation)
            return {where: max(latest[where] - records, earliest[where]) for where in partitions}
        case AtOffset(offset):
            earliest = _list(cluster, partitions, EARLIEST, isolation)
            return {where: min(max(offset, earliest[where]), latest[where]) for where in partitions}
    return latest


def _list(
    cluster: Cluster, partitions: list[TopicPartition], timestamp: int, isolation: IsolationLevel
) -> dict[TopicPartition, int]:
    from moldau.client.admin import list_offsets

    offsets: dict[TopicPartition, int] = {}
    for where, found in cluster.run(list_offsets(dict.fromkeys(partitions, timestamp), isolation=isolation)).items():
        if isinstance(found, KafkaError):
            raise found
        offsets[where] = found.offset
    return offsets
