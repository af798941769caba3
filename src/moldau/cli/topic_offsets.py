"""`moldau topics offsets` and `delete-records`: where partitions begin and end, and moving the beginning."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from moldau.cli.arguments import add_json, add_subcommand, at_least
from moldau.cli.connection import add_connection, connect
from moldau.cli.failure import DONE, FAILED, Failure
from moldau.cli.table import note, print_json, print_table
from moldau.errors import KafkaError
from moldau.types import TopicPartition


def configure_offsets(commands: Any) -> None:
    parser = add_subcommand(commands, "offsets", _offsets, "show the first and the next offset of each partition")
    parser.add_argument("names", metavar="NAME", nargs="+")
    parser.add_argument("--read-committed", action="store_true", help="end at the last stable offset")
    add_json(parser)
    add_connection(parser)


def _offsets(options: Namespace) -> None:
    from moldau.client.admin import EARLIEST, LATEST, IsolationLevel, describe_topics, list_offsets

    isolation = IsolationLevel.READ_COMMITTED if options.read_committed else IsolationLevel.READ_UNCOMMITTED
    with connect(options) as cluster:
        topics = cluster.run(describe_topics(list(dict.fromkeys(options.names))))
        partitions = [TopicPartition(topic.name, index) for topic in topics for index in topic.partitions]
        earliest = cluster.run(list_offsets(dict.fromkeys(partitions, EARLIEST), isolation=isolation))
        latest = cluster.run(list_offsets(dict.fromkeys(partitions, LATEST), isolation=isolation))
    rows: list[tuple[TopicPartition, int, int]] = []
    for where in partitions:
        first, last = earliest[where], latest[where]
        if isinstance(first, KafkaError):
            raise first
        if isinstance(last, KafkaError):
            raise last
        rows.append((where, first.offset, last.offset))
    if options.json:
        print_json(
            [
                {"topic": where.topic, "partition": where.partition, "earliest": first, "latest": last}
                for where, first, last in rows
            ]
        )
    else:
        print_table(
            ["TOPIC", "PARTITION", "EARLIEST", "LATEST", "OFFSETS"],
            [[where.topic, where.partition, first, last, last - first] for where, first, last in rows],
        )


def configure_delete_records(commands: Any) -> None:
    parser = add_subcommand(
        commands,
        "delete-records",
        _delete_records,
        "delete the records before an offset",
        "example:\n  moldau topics delete-records rivers --partition 0 --before 1000",
    )
    parser.add_argument("name", metavar="NAME")
    parser.add_argument(
        "--before", metavar="OFFSET", required=True, help="the new first offset, or `latest` for all records"
    )
    parser.add_argument("--partition", metavar="N", type=at_least(0), action="append", help="default: all; repeatable")
    add_json(parser)
    add_connection(parser)


def _delete_records(options: Namespace) -> int:
    from moldau.client.admin import delete_records, describe_topics

    if options.before != "latest" and not options.before.isdecimal():
        raise Failure(f"--before takes an offset or `latest`, not {options.before!r}.")
    offset = -1 if options.before == "latest" else int(options.before)
    with connect(options) as cluster:
        topic = cluster.run(describe_topics([options.name]))[0]
        partitions = sorted(set(options.partition)) if options.partition else list(topic.partitions)
        where = [TopicPartition(options.name, index) for index in partitions]
        results = cluster.run(delete_records(dict.fromkeys(where, offset)))
    failed = [result for result in results.values() if isinstance(result, KafkaError)]
    moved = {where.partition: result for where, result in results.items() if not isinstance(result, KafkaError)}
    if options.json:
        print_json([{"topic": options.name, "partition": index, "earliest": start} for index, start in moved.items()])
    elif moved:
        print_table(
            ["TOPIC", "PARTITION", "EARLIEST"], [[options.name, index, start] for index, start in moved.items()]
        )
    for failure in failed:
        note(f"moldau: {failure}")
    return FAILED if failed else DONE
