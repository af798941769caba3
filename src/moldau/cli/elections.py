"""`moldau topics elect-leaders`: the preferred replicas lead again; or any that is there, if none in sync is left."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from moldau.cli.arguments import add_json, add_subcommand
from moldau.cli.connection import add_connection, connect
from moldau.cli.failure import DONE, FAILED, USAGE, Failure
from moldau.cli.table import note, print_json
from moldau.errors import ErrorCode, KafkaError
from moldau.types import TopicPartition

_HELP = """\
--unclean makes a replica lead that was not in sync. What the others had and it has not is lost, for good, also if
they come back; so it has to be asked for topic by topic, and `moldau explain isr TOPIC` tells first what else helps.

examples:
  moldau topics elect-leaders                     everywhere: the first replica of each partition
  moldau topics elect-leaders rivers --partition 0
  moldau topics elect-leaders rivers --unclean"""


def configure_elect_leaders(commands: Any) -> None:
    parser = add_subcommand(commands, "elect-leaders", _elect, "have the leaders of partitions elected", _HELP)
    parser.add_argument("names", metavar="NAME", nargs="*", help="topics (default: all)")
    parser.add_argument("--partition", metavar="N", type=int, action="append", default=[], help="only this; repeatable")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--preferred", action="store_true", help="the first replica of each partition (default)")
    kind.add_argument("--unclean", action="store_true", help="any replica that is there; may lose records")
    add_json(parser)
    add_connection(parser)


def _elect(options: Namespace) -> int:
    from moldau.client.admin.replicas import ElectionType, elect_leaders
    from moldau.client.admin.topics import describe_topics

    if options.unclean and not options.names:
        raise Failure("--unclean may lose records: name the topics it is for.", USAGE)
    if options.partition and len(options.names) != 1:
        raise Failure("--partition belongs to one topic; name it.", USAGE)
    wanted: list[TopicPartition] | None = None
    with connect(options) as cluster:
        if options.names:
            topics = cluster.run(describe_topics(list(dict.fromkeys(options.names))))
            numbers = set(options.partition)
            wanted = [
                TopicPartition(topic.name, index)
                for topic in topics
                for index in topic.partitions
                if not numbers or index in numbers
            ]
            missing = sorted(numbers - {where.partition for where in wanted})
            if missing:
                raise Failure(f"Topic {options.names[0]!r} has no partition {missing[0]}.")
        kind = ElectionType.UNCLEAN if options.unclean else ElectionType.PREFERRED
        outcomes = cluster.run(elect_leaders(kind, wanted))
        # Those for whom nothing had to be done are not in an answer about everything.
        after = {topic.name: topic for topic in cluster.run(describe_topics(sorted({w.topic for w in outcomes})))}
    leaders: dict[TopicPartition, int | None] = {}
    for where in outcomes:
        partition = after[where.topic].partitions[where.partition]
        # A broker may hear of its own election later than we do.
        leader = partition.leader if options.unclean else partition.replicas[0]
        leaders[where] = leader if leader >= 0 else None
    return _show(outcomes, leaders, options.json)


def _show(
    outcomes: dict[TopicPartition, KafkaError | None], leaders: dict[TopicPartition, int | None], as_json: bool
) -> int:
    content = {where: error is None or error.code is ErrorCode.ELECTION_NOT_NEEDED for where, error in outcomes.items()}
    if as_json:
        print_json(
            [
                {
                    "topic": where.topic,
                    "partition": where.partition,
                    "elected": error is None,
                    "leader": leaders[where] if error is None else None,
                    "error": None if content[where] or error is None else error.code.name,
                }
                for where, error in sorted(outcomes.items())
            ]
        )
    elif not any(error is None for error in outcomes.values()) and all(content.values()):
        print("Nothing to elect: every partition has the leader it should have.")
    for where, error in sorted(outcomes.items()):
        if error is None and not as_json:
            print(f"{where}: elected" if leaders[where] is None else f"{where}: broker {leaders[where]} leads")
        elif error is not None and not content[where]:
            note(f"moldau: {where}: {error}")
    return DONE if all(content.values()) else FAILED
