"""`moldau groups reset-offsets`: moves what a group has committed, or with --dry-run shows where to."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from moldau.cli.arguments import add_json, add_subcommand, checked
from moldau.cli.connection import add_connection, connect
from moldau.cli.failure import DONE, FAILED, Failure
from moldau.cli.moments import AtOffset, AtTime, Moment, Word, parse_moment
from moldau.cli.table import note, print_json, print_table
from moldau.errors import KafkaError
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

    with connect(options) as cluster:
        committed = {where: each.offset for where, each in cluster.run(committed_positions(options.group)).items()}
        partitions = sorted(committed) if options.all_topics else _chosen(cluster, options.topic)
        if not partitions:
            raise Failure(f"The group {options.group} has committed nothing; name the topics with --topic.")
        if options.shift is None:
            wanted = _moved_to(cluster, partitions, options.to)
        else:
            wanted = _shifted(cluster, partitions, committed, options.shift)
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


def _chosen(cluster: Cluster, words: Sequence[str]) -> list[TopicPartition]:
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


def _bounds(cluster: Cluster, partitions: Sequence[TopicPartition], moment: int) -> dict[TopicPartition, int]:
    from moldau.client.admin import list_offsets

    offsets = {}
    for where, found in cluster.run(list_offsets(dict.fromkeys(partitions, moment))).items():
        if isinstance(found, KafkaError):
            raise found
        offsets[where] = found.offset
    return offsets


def _moved_to(cluster: Cluster, partitions: Sequence[TopicPartition], moment: Moment) -> dict[TopicPartition, int]:
    from moldau.client.admin import EARLIEST, LATEST

    match moment:
        case Word.EARLIEST:
            return _bounds(cluster, partitions, EARLIEST)
        case Word.LATEST:
            return _bounds(cluster, partitions, LATEST)
        case AtTime(milliseconds):
            found = _bounds(cluster, partitions, milliseconds)
            # Nothing is that young: the group goes on with what comes next.
            young = [where for where, offset in found.items() if offset < 0]
            return {**found, **_bounds(cluster, young, LATEST)} if young else found
        case AtOffset(offset):
            return _within(cluster, dict.fromkeys(partitions, offset))
        case _:
            raise Failure("This moment cannot be reset to.")


def _shifted(
    cluster: Cluster, partitions: Sequence[TopicPartition], committed: Mapping[TopicPartition, int], shift: int
) -> dict[TopicPartition, int]:
    missing = [str(where) for where in partitions if committed.get(where, -1) < 0]
    if missing:
        raise Failure(f"Nothing is committed for {', '.join(missing)}, so there is nothing to shift.")
    return _within(cluster, {where: committed[where] + shift for where in partitions})


def _within(cluster: Cluster, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """An offset before the start or after the end becomes the start or the end."""
    from moldau.client.admin import EARLIEST, LATEST

    starts = _bounds(cluster, list(wanted), EARLIEST)
    ends = _bounds(cluster, list(wanted), LATEST)
    return {where: min(max(offset, starts[where]), ends[where]) for where, offset in wanted.items()}
