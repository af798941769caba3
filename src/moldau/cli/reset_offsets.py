"""`moldau groups reset-offsets`: moves what a group has committed, or with --dry-run shows where to."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from moldau.cli.arguments import add_json, add_subcommand, checked
from moldau.cli.connection import add_connection, connect
from moldau.cli.failure import DONE, FAILED, Failure
from moldau.cli.table import note, print_json, print_table
from moldau.errors import KafkaError
from moldau.moments import parse_moment
from moldau.types import TopicPartition

if TYPE_CHECKING:
    from moldau.client.cluster import Cluster


def configure_reset(commands: Any) -> None:
    parser = add_subcommand(
        commands,
        "reset-offsets",
        _reset,
        "move the offsets of a group that has no members",
        "examples:\n"
        "  moldau groups reset-offsets shipping --to earliest --topic orders\n"
        "  moldau groups reset-offsets shipping --to 2026-01-31T12:00:00Z --all-topics --dry-run\n"
        "  moldau groups reset-offsets shipping --to 15m --topic orders:0,1      a quarter of an hour ago\n"
        "  moldau groups reset-offsets shipping --shift -100 --all-topics        read the last hundred again",
    )
    parser.add_argument("group", metavar="GROUP")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument(
        "--to",
        metavar="MOMENT",
        type=checked(parse_moment),
        help="earliest, latest, an OFFSET, @MILLISECONDS, an ISO time, or a duration ago such as 15m",
    )
    where.add_argument("--shift", metavar="N", type=int, help="forward by N records, or back if N is negative")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--topic", metavar="NAME[:P,...]", action="append", help="a topic, or some of its partitions")
    what.add_argument("--all-topics", action="store_true", help="everything the group has committed")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be committed")
    add_json(parser)
    add_connection(parser)


def _reset(options: Namespace) -> int:
    from moldau.client.admin.groups import commit_positions, committed_positions
    from moldau.client.admin.resets import moved_to, shifted

    with connect(options) as cluster:
        committed = {where: each.offset for where, each in cluster.run(committed_positions(options.group)).items()}
        partitions = sorted(committed) if options.all_topics else chosen_partitions(cluster, options.topic)
        if not partitions:
            raise Failure(f"The group {options.group} has committed nothing; name the topics with --topic.")
        if options.shift is None:
            wanted = cluster.run(moved_to(partitions, options.to))
        else:
            wanted = cluster.run(shifted(partitions, committed, options.shift))
        outcomes: Mapping[TopicPartition, KafkaError | None] = {}
        if not options.dry_run:
            outcomes = cluster.run(commit_positions(options.group, wanted))
    failures = {str(error): error for error in outcomes.values() if error is not None}
    _show(options, committed, wanted, outcomes)
    for sentence in failures:
        note(f"moldau: {sentence}")
    return FAILED if failures else DONE


def _show(
    options: Namespace,
    committed: Mapping[TopicPartition, int],
    wanted: Mapping[TopicPartition, int],
    outcomes: Mapping[TopicPartition, KafkaError | None],
) -> None:
    done = {where: offset for where, offset in wanted.items() if outcomes.get(where) is None}
    if options.json:
        print_json(
            [
                {
                    "topic": where.topic,
                    "partition": where.partition,
                    "before": committed.get(where),
                    "after": offset,
                    "committed": not options.dry_run,
                }
                for where, offset in done.items()
            ]
        )
    elif done:
        after = "WOULD BE" if options.dry_run else "AFTER"
        rows = [[where.topic, where.partition, committed.get(where), offset] for where, offset in done.items()]
        print_table(["TOPIC", "PARTITION", "BEFORE", after], rows)


def chosen_partitions(cluster: Cluster, words: Sequence[str]) -> list[TopicPartition]:
    """`orders` is all of its partitions, `orders:0,2` two of them."""
    from moldau.client.admin import describe_topics

    chosen: list[TopicPartition] = []
    for word in words:
        name, colon, numbers = word.partition(":")
        (topic,) = cluster.run(describe_topics([name]))
        if not colon:
            chosen += [TopicPartition(name, index) for index in topic.partitions]
            continue
        for number in numbers.split(","):
            if not number.isdecimal() or int(number) not in topic.partitions:
                raise Failure(f"{name} has no partition {number!r}.")
            chosen.append(TopicPartition(name, int(number)))
    return sorted(set(chosen))
