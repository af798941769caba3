"""`moldau history`: jobs over what topics hold, on Spark. What they do is in `moldau.spark.history`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from moldau.cli.arguments import add_json, add_subcommand, add_subcommands, at_least, key_value
from moldau.cli.connection import add_connection, client_properties
from moldau.cli.failure import DAMAGED, DONE, FAILED, USAGE, Failure
from moldau.cli.progress import Progress
from moldau.cli.table import note, print_json, print_table
from moldau.quantities import format_size

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from moldau.spark.history.report import Report
    from moldau.spark.history.topic_access import ThroughBrokers

_CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
_SIZES: Final = ("bytes", "size", "bytes_before", "bytes_after", "bytes_freed")


def configure(parser: ArgumentParser) -> None:
    parser.description = (
        "Jobs over what topics hold, on Spark (pip install 'moldau[spark]'). Each has --dry-run, which changes nothing."
    )
    commands = add_subcommands(parser)
    _configure_export(commands)
    _configure_rekey(commands)
    _configure_repartition(commands)
    _configure_erase(commands)
    _configure_recompress(commands)
    _configure_verify(commands)


def _add_common(parser: ArgumentParser, *, on_cluster: bool) -> None:
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    add_json(parser)
    group = parser.add_argument_group("Spark")
    if on_cluster:
        group.add_argument("--master", metavar="URL", help="the Spark cluster to run on (default: this machine)")
    group.add_argument(
        "--conf", metavar="NAME=VALUE", action="append", type=key_value, default=[], help="a Spark setting; repeatable"
    )


# ------------------------------------------------------------------------------------------------------- export

_EXPORT_EPILOG: Final = """\
Files are placed as topic=NAME/partition=N/date=YYYY-MM-DD (the day of the record's timestamp, UTC), or without the
date with --by offsets, and named by their first and last offset. A run that was interrupted continues where it
stopped; a run after a finished one adds what is new. No offset is missing or there twice.

examples:
  moldau history export rivers --to archive/rivers
  moldau history export rivers --data data --to archive/rivers --by offsets"""


def _configure_export(commands: Any) -> None:
    parser = add_subcommand(commands, "export", _export, "copy a topic to partitioned Parquet files", _EXPORT_EPILOG)
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("--to", metavar="DIR", required=True, help="the directory of the export, new or continued")
    parser.add_argument("--by", choices=("date", "offsets"), default="date", help="how files are placed (default date)")
    parser.add_argument("--data", metavar="DIR", help="read the files of this data directory, not through brokers")
    parser.add_argument(
        "--isolation",
        choices=("read_committed", "read_uncommitted"),
        default="read_committed",
        help="what counts (default read_committed)",
    )
    parser.add_argument(
        "--round",
        metavar="N",
        type=at_least(1),
        default=20_000_000,
        help="offsets between two points from which an interrupted run continues (default %(default)s)",
    )
    add_connection(parser, timeout=False)
    _add_common(parser, on_cluster=True)


def _export(options: Namespace) -> int:
    access = _access(options)
    with _spark(options) as (spark, progress):
        from moldau.spark.history.exporting import ExportRequest, export

        request = ExportRequest(options.topic, options.to, options.by, options.isolation, options.round)
        report = export(spark, access, request, dry_run=options.dry_run, told=progress.update)
    return _show(report, options)


# ------------------------------------------------------------------------------------------- rekey and repartition

_REKEY_EPILOG: Final = """\
The key is an SQL expression over key, value, partition, offset, timestamp and headers, or a path into a JSON value.
Records of the same new key keep their order; those of several partitions are merged by time. The new topic gets the
settings of the old one, and is filled by one exactly-once write.

examples:
  moldau history rekey orders orders-by-customer --key-json '$.customer.id'
  moldau history rekey orders orders-by-day --key-sql "date_format(timestamp, 'yyyy-MM-dd')" --partitions 12"""


def _configure_rekey(commands: Any) -> None:
    parser = add_subcommand(commands, "rekey", _rekey, "copy a topic into a new one with other keys", _REKEY_EPILOG)
    _add_copy(parser)
    key = parser.add_mutually_exclusive_group(required=True)
    key.add_argument("--key-sql", metavar="EXPRESSION", help="the new key as an SQL expression")
    key.add_argument("--key-json", metavar="PATH", help="the new key as a path into the JSON value, as in $.user.id")
    parser.add_argument("--partitions", metavar="N", type=at_least(1), help="default: as many as the old topic has")
    _add_common(parser, on_cluster=True)


def _configure_repartition(commands: Any) -> None:
    example = "example:\n  moldau history repartition orders orders-24 --partitions 24"
    parser = add_subcommand(
        commands, "repartition", _repartition, "copy a topic into a new one with another number of partitions", example
    )
    _add_copy(parser)
    parser.add_argument("--partitions", metavar="N", type=at_least(1), required=True)
    _add_common(parser, on_cluster=True)


def _add_copy(parser: ArgumentParser) -> None:
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("new", metavar="NEW", help="the topic to create")
    parser.add_argument(
        "--origin-headers",
        action="store_true",
        help="add headers with the partition, offset and timestamp the record had",
    )
    add_connection(parser, timeout=False)


def _rekey(options: Namespace) -> int:
    return _copy(options, "rekey")


def _repartition(options: Namespace) -> int:
    return _copy(options, "repartition")


def _copy(options: Namespace, job: str) -> int:
    access = _through_brokers(options)
    with _spark(options) as (spark, _):
        from moldau.spark.history.copying import CopyRequest, copy, key_from_json

        key = None
        if job == "rekey":
            key = options.key_sql or key_from_json(options.key_json)
        request = CopyRequest(job, options.topic, options.new, key, options.partitions, options.origin_headers)
        report = copy(spark, access, request, dry_run=options.dry_run)
    return _show(report, options)


# ------------------------------------------------------------------------------------------- erase and recompress

_ERASE_EPILOG: Final = """\
The node must be stopped, in order (Ctrl-C or SIGTERM). Segments that hold some of the records are rewritten without
them and replace the old ones; offsets, and everything else in the log, stay as they were. A job that was interrupted
is simply run again. In a cluster every node that has a replica needs the same treatment.

examples:
  moldau history erase orders --data data --key customer-42 --key customer-43
  moldau history erase orders --data data --keys-file leavers.txt --dry-run
  moldau history erase orders --data data --where "get_json_object(CAST(value AS STRING), '$.user') = '42'\""""


def _configure_erase(commands: Any) -> None:
    parser = add_subcommand(
        commands, "erase", _erase, "remove records for good from a stopped node, keeping offsets", _ERASE_EPILOG
    )
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("--data", metavar="DIR", required=True, help="the data directory of the stopped node")
    parser.add_argument("--key", metavar="KEY", action="append", default=[], help="a key, as text; repeatable")
    parser.add_argument("--keys-file", metavar="FILE", help="keys, one per line")
    parser.add_argument("--key-prefix", metavar="TEXT", help="all keys that begin like this")
    parser.add_argument("--where", metavar="EXPRESSION", help="an SQL expression over the record's columns")
    _add_common(parser, on_cluster=False)


def _erase(options: Namespace) -> int:
    if sum(map(bool, (options.key or options.keys_file, options.key_prefix, options.where))) != 1:
        raise Failure("Say which records to erase by --key or --keys-file, by --key-prefix or by --where.", USAGE)
    _require_stopped(options.data)
    with _spark(options) as (spark, progress):
        from moldau.spark.history.erasing import Selection, erase, read_keys

        keys = [key.encode() for key in options.key]
        if options.keys_file:
            keys += read_keys(options.keys_file)
        prefix = options.key_prefix.encode() if options.key_prefix else None
        selection = Selection(keys, prefix, options.where)
        report = erase(spark, options.data, options.topic, selection, dry_run=options.dry_run, told=progress.update)
    return _show(report, options)


def _configure_recompress(commands: Any) -> None:
    example = "example:\n  moldau history recompress orders --data data --codec zstd"
    parser = add_subcommand(
        commands, "recompress", _recompress, "give the segments of a stopped node another codec", example
    )
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("--data", metavar="DIR", required=True, help="the data directory of the stopped node")
    parser.add_argument("--codec", choices=_CODECS, required=True)
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    add_json(parser)


def _recompress(options: Namespace) -> int:
    from moldau.spark.session import require_spark

    require_spark()
    from moldau.protocol.records import Compression
    from moldau.spark.history.recompressing import recompress

    progress = Progress(shown=not options.json)
    codec = Compression[options.codec.upper()]
    try:
        report = recompress(options.data, options.topic, codec, dry_run=options.dry_run, told=progress.update)
    finally:
        progress.clear()
    return _show(report, options)


# ------------------------------------------------------------------------------------------------------- verify

_VERIFY_EPILOG: Final = """\
With --data every log of the directory of a stopped node is checked, several at a time: checksums, order of offsets
and epochs, the records in every batch, offset, time and transaction indexes, snapshots and checkpoints. Through the
brokers what readers get is checked. Exit status 4 means that damage was found.

examples:
  moldau history verify rivers
  moldau history verify --data data
  moldau history verify rivers --data data --json"""


def _configure_verify(commands: Any) -> None:
    parser = add_subcommand(commands, "verify", _verify, "read everything and check it", _VERIFY_EPILOG)
    parser.add_argument("topic", metavar="TOPIC", nargs="?", help="with --data, all topics if none is named")
    parser.add_argument("--data", metavar="DIR", help="the data directory of a stopped node")
    add_connection(parser, timeout=False)
    _add_common(parser, on_cluster=True)


def _verify(options: Namespace) -> int:
    if options.data is None and options.topic is None:
        raise Failure("Name a topic to verify through the brokers, or a data directory with --data.", USAGE)
    access = _access(options)
    with _spark(options) as (spark, progress):
        from moldau.spark.history.verifying import verify_files, verify_topic

        if options.data is not None:
            report = verify_files(spark, options.data, options.topic, dry_run=options.dry_run, told=progress.update)
        else:
            report = verify_topic(spark, access, options.topic, dry_run=options.dry_run)
    return _show(report, options)


# ------------------------------------------------------------------------------------------------------ in common


@contextmanager
def _spark(options: Namespace) -> Iterator[tuple[SparkSession, Progress]]:
    """A session for the job, and a line on the terminal that says how far it is."""
    from moldau.spark.session import require_spark, spark_session

    require_spark()
    from pyspark.errors import PySparkException

    from moldau.spark.history.report import own_sentence
    from moldau.spark.history.watching import watched

    master = getattr(options, "master", None)
    spark = spark_session("moldau history", master=master, settings=dict(options.conf))
    progress = Progress(shown=not options.json)
    try:
        with watched(spark, lambda done, total: progress.tell(f"{done} of {total} tasks")):
            yield spark, progress
    except PySparkException as error:
        # Spark wraps what our part of a job says into pages; the sentence in them is what the user needs.
        sentence = own_sentence(error)
        if sentence is None:
            raise
        raise Failure(sentence) from error
    finally:
        progress.clear()
        spark.stop()


def _require_stopped(directory: str) -> None:
    """Before Spark is started: a refusal should not take seconds."""
    from moldau.spark.session import require_spark

    require_spark()
    from moldau.spark.history.stopped_node import check_stopped

    check_stopped(directory)


def _access(options: Namespace) -> Any:
    from moldau.spark.session import require_spark

    require_spark()
    from moldau.spark.history.topic_access import FromFiles

    return FromFiles(options.data) if getattr(options, "data", None) else _through_brokers(options)


def _through_brokers(options: Namespace) -> ThroughBrokers:
    from moldau.client.properties import SECURITY_PROPERTIES, in_java
    from moldau.spark.session import require_spark

    require_spark()
    from moldau.spark.history.topic_access import ThroughBrokers

    properties, _ = client_properties(options)
    told = {name: value for name, value in properties.items() if name in SECURITY_PROPERTIES}
    return ThroughBrokers(properties["bootstrap.servers"], in_java(told))


def _show(report: Report, options: Namespace) -> int:
    if options.json:
        print_json(report.as_json())
    else:
        _show_table(report)
    for sentence in report.problems:
        note(f"moldau: {sentence.rstrip('.')}.")
    if not report.problems:
        return DONE
    return DAMAGED if report.job == "verify" else FAILED


def _show_table(report: Report) -> None:
    if report.rows:
        columns = list(report.rows[0])
        rows = [[_shown(name, row[name]) for name in columns] for row in report.rows]
        print_table([name.replace("_", " ").upper() for name in columns], rows)
    for sentence in report.notes:
        print(f"note: {sentence}.")
    told = ", ".join(f"{name.replace('_', ' ')} {_shown(name, value)}" for name, value in report.totals.items())
    print(f"{report.job}{' (dry run, nothing was changed)' if report.dry_run else ''}: {told}.")
    sys.stdout.flush()


def _shown(name: str, value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return format_size(value) if name in _SIZES and type(value) is int else value
