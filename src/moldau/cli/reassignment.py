"""`moldau topics reassign`: the plan of a move, its beginning, how far it is, and giving it up.

Plans are read and written in the format of Kafka's kafka-reassign-partitions, so that both can go on where the other
one stopped.
"""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Mapping
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from moldau.cli.arguments import add_json, add_subcommand, at_least, checked
from moldau.cli.connection import add_connection, connect
from moldau.cli.failure import DONE, FAILED, USAGE, Failure
from moldau.cli.placement import Placement, changed, current, spread
from moldau.cli.progress import Progress
from moldau.cli.table import note, print_json, print_table
from moldau.errors import KafkaError
from moldau.quantities import counted, format_size, parse_duration, parse_size
from moldau.types import TopicPartition

if TYPE_CHECKING:
    from moldau.client.admin.replicas import Reassignment
    from moldau.client.cluster import Cluster
    from moldau.client.metadata import TopicView

# Between one look at moves that are waited for and the next.
_LOOK_SECONDS = 0.5

_HELP = """\
Without --execute the plan is shown and nothing is done; with --json it is shown in the format of Kafka's
kafka-reassign-partitions, which --plan reads.

examples:
  moldau topics reassign rivers --replicas 3                    three replicas of every partition
  moldau topics reassign rivers lakes --brokers 1,2,4           all replicas on these brokers, evenly
  moldau topics reassign --plan plan.json --throttle 20M --execute
  moldau topics reassign --verify                               what is still under way
  moldau topics reassign --verify --wait 1h                     and when it is done
  moldau topics reassign rivers --cancel --execute              back to where it was"""


def configure_reassign(commands: Any) -> None:
    parser = add_subcommand(commands, "reassign", _reassign, "move the replicas of topics to other brokers", _HELP)
    parser.add_argument("names", metavar="NAME", nargs="*", help="topics")
    parser.add_argument("--plan", metavar="FILE", help="a plan in Kafka's format; - reads standard input")
    parser.add_argument("--replicas", metavar="N", type=at_least(1), help="so many replicas of every partition")
    parser.add_argument("--brokers", metavar="IDS", type=checked(broker_ids), help="on these brokers, as in 1,2,3")
    parser.add_argument(
        "--throttle",
        metavar="SIZE",
        type=checked(parse_size),
        help="copy at most so much per second and broker, as in 20M; taken away by --verify once all is done",
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--execute", action="store_true", help="do it")
    kind.add_argument("--verify", action="store_true", help="show how far moves are; status 1 while any is under way")
    parser.add_argument(
        "--wait", metavar="TIME", type=checked(parse_duration), help="with --verify: until all is done, but no longer"
    )
    parser.add_argument("--cancel", action="store_true", help="give up moves that are under way")
    add_json(parser)
    add_connection(parser)


def broker_ids(text: str) -> list[int]:
    try:
        return list(dict.fromkeys(int(word) for word in text.split(",")))
    except ValueError:
        raise ValueError(f"{text!r} is not a list of broker ids; write it as in 1,2,3") from None


def _reassign(options: Namespace) -> int:
    _check(options)
    with connect(options) as cluster:
        if options.verify:
            return _verify(cluster, options)
        if options.cancel:
            return _cancel(cluster, options)
        before, after = _planned(cluster, options)
        return carry_out(cluster, before, changed(before, after), options)


def _check(options: Namespace) -> None:
    shorthand = options.replicas is not None or options.brokers is not None
    if options.plan is not None and (options.names or shorthand):
        raise Failure("--plan says all there is to say; leave topics, --replicas and --brokers out.", USAGE)
    if (options.verify or options.cancel) and (options.plan is not None or shorthand):
        raise Failure("--verify and --cancel take topics, or nothing for all of them.", USAGE)
    if options.wait is not None and not options.verify:
        raise Failure("--wait goes with --verify, after --execute.", USAGE)
    if options.verify or options.cancel or options.plan is not None:
        return
    if not options.names or not shorthand:
        raise Failure("Name topics and where to move them (--replicas, --brokers), or give a --plan.", USAGE)


# ----------------------------------------------------------------------------------------------------------- the plan


def _planned(cluster: Cluster, options: Namespace) -> tuple[Placement, Placement]:
    from moldau.client.admin import describe_cluster, describe_topics

    if options.plan is not None:
        wanted = read_plan(_text_of(options.plan))
        topics = cluster.run(describe_topics(sorted({where.topic for where in wanted})))
        before = current(topics)
        missing = sorted(str(where) for where in wanted if where not in before)
        if missing:
            raise Failure(f"The plan names partitions that are not there: {', '.join(missing)}.")
        return before, wanted
    before = current(cluster.run(describe_topics(list(dict.fromkeys(options.names)))))
    known = {broker.id: broker for broker in cluster.run(describe_cluster()).brokers}
    chosen = options.brokers or [each.id for each in known.values() if not each.fenced]
    for broker in chosen:
        if broker not in known:
            raise Failure(f"There is no broker with id {broker}; there are {', '.join(map(str, sorted(known)))}.")
    return before, spread(before, {broker: known[broker].rack for broker in chosen}, options.replicas)


def _text_of(path: str) -> str:
    if path == "-":
        return sys.stdin.read()
    with open(path, encoding="utf-8") as file:
        return file.read()


def read_plan(text: str) -> Placement:
    """Kafka's format: {"version": 1, "partitions": [{"topic": ..., "partition": ..., "replicas": [...]}]}."""
    try:
        plan = json.loads(text)
        rows = plan["partitions"]
        placement = {
            TopicPartition(str(row["topic"]), int(row["partition"])): tuple(int(broker) for broker in row["replicas"])
            for row in rows
        }
    except (ValueError, KeyError, TypeError) as error:
        raise Failure(
            'That is not a plan: it should be {"version": 1, "partitions": [{"topic": "t", "partition": 0, '
            f'"replicas": [1, 2]}}]}} ({error}).'
        ) from None
    for where, brokers in placement.items():
        if not brokers or len(set(brokers)) < len(brokers):
            raise Failure(f"The plan for {where} should name at least one broker, and each of them once.")
    return placement


def plan_json(placement: Mapping[TopicPartition, tuple[int, ...]]) -> dict[str, Any]:
    return {
        "version": 1,
        "partitions": [
            {"topic": where.topic, "partition": where.partition, "replicas": list(replicas)}
            for where, replicas in sorted(placement.items())
        ],
    }


def show_plan(before: Placement, moves: Placement, as_json: bool) -> None:
    if as_json:
        print_json(plan_json(moves))
        return
    if not moves:
        print("Nothing has to move.")
        return
    rows = []
    for where, after in sorted(moves.items()):
        has = before.get(where, ())
        copied = [broker for broker in after if broker not in has]
        dropped = [broker for broker in has if broker not in after]
        rows.append([where.topic, where.partition, has, after, copied, dropped])
    print_table(["TOPIC", "PARTITION", "NOW ON", "THEN ON", "COPIED TO", "DROPPED FROM"], rows)


def carry_out(cluster: Cluster, before: Placement, moves: Placement, options: Namespace) -> int:
    """Shows the plan, and begins to move if that was asked for."""
    show_plan(before, moves, options.json)
    if options.execute:
        return execute(cluster, before, moves, options.throttle)
    if moves and not options.json:
        note("This is only the plan; --execute begins to move.")
    return DONE


def execute(cluster: Cluster, before: Placement, moves: Placement, rate: int | None) -> int:
    """Begins to move; one sentence for each partition that is refused."""
    from moldau.client.admin.replicas import reassign
    from moldau.client.admin.throttles import ReplicaMove, throttle

    if not moves:
        return DONE
    if rate is not None:
        held = {where: ReplicaMove(before.get(where, ()), after) for where, after in moves.items()}
        for error in cluster.run(throttle(held, rate)).values():
            if error is not None:
                raise error
        note(f"Copying is held to {format_size(rate)} per second and broker until --verify finds all of it done.")
    outcomes = cluster.run(reassign(moves))
    return _report(outcomes, "{} on the way; `moldau topics reassign --verify` tells how far.")


def _report(outcomes: Mapping[TopicPartition, KafkaError | None], sentence: str) -> int:
    refused = {where: error for where, error in outcomes.items() if error is not None}
    for where, error in sorted(refused.items()):
        note(f"moldau: {where}: {error}")
    begun = len(outcomes) - len(refused)
    if begun:
        note(sentence.format(counted(begun, "partition")))
    return FAILED if refused else DONE


# ------------------------------------------------------------------------------------------------- progress and end


def _under_way(cluster: Cluster, options: Namespace) -> tuple[dict[TopicPartition, Reassignment], list[TopicView]]:
    from moldau.client.admin import describe_topics, list_topics
    from moldau.client.admin.replicas import list_reassignments

    found = cluster.run(list_reassignments())
    if options.names:
        topics = cluster.run(describe_topics(list(dict.fromkeys(options.names))))
    else:
        topics = cluster.run(list_topics(internal=True))
    named = {topic.name for topic in topics}
    return {where: move for where, move in sorted(found.items()) if where.topic in named}, topics


def _waited(cluster: Cluster, options: Namespace) -> tuple[dict[TopicPartition, Reassignment], list[TopicView]]:
    """What is under way once all is done, or the time is over."""
    progress = Progress(shown=not options.json)
    deadline = monotonic() + options.wait
    while True:
        moves, topics = _under_way(cluster, options)
        if not moves or monotonic() >= deadline:
            progress.clear()
            return moves, topics
        behind = sum(lag or 0 for lag in _lags(cluster, moves).values())
        progress.tell(f"{counted(len(moves), 'partition')} under way, {counted(behind, 'record')} behind")
        sleep(min(_LOOK_SECONDS, max(0.0, deadline - monotonic())))


def _verify(cluster: Cluster, options: Namespace) -> int:
    moves, topics = _under_way(cluster, options) if options.wait is None else _waited(cluster, options)
    lags = _lags(cluster, moves)
    rows: list[dict[str, Any]] = [
        {
            "topic": where.topic,
            "partition": where.partition,
            "replicas": list(move.replicas),
            "adding": list(move.adding),
            "removing": list(move.removing),
            "behind": {str(broker): lags.get((where, broker)) for broker in move.adding},
        }
        for where, move in moves.items()
    ]
    if not moves:
        _lift(cluster, topics)
    if options.json:
        print_json(rows)
    elif rows:
        print_table(
            ["TOPIC", "PARTITION", "REPLICAS", "COPIED TO", "RECORDS BEHIND", "DROPPED FROM"],
            [
                [
                    row["topic"],
                    row["partition"],
                    row["replicas"],
                    row["adding"],
                    _behind(row["behind"]),
                    row["removing"],
                ]
                for row in rows
            ],
        )
    else:
        print("No move is under way.")
    return FAILED if moves else DONE


def _behind(lags: dict[str, int | None]) -> str:
    return ",".join("?" if lag is None else str(lag) for lag in lags.values()) or "-"


def _lags(cluster: Cluster, moves: Mapping[TopicPartition, Reassignment]) -> dict[tuple[TopicPartition, int], int]:
    """Records the new replicas still lack, as their brokers see it; nothing of a broker that does not say."""
    from moldau.client.admin import describe_log_dirs

    found = {}
    for broker in sorted({broker for move in moves.values() for broker in move.adding}):
        try:
            directories = cluster.run(describe_log_dirs([broker]), timeout=5.0)
        except KafkaError:
            continue
        for directory in directories:
            for replica in directory.replicas:
                if not replica.future:
                    found[replica.partition, broker] = replica.offset_lag
    return found


def _lift(cluster: Cluster, topics: list[TopicView]) -> None:
    """Takes throttles away that a move has left: a topic without a move has no use for them."""
    from moldau.client.admin import ConfigResource, ConfigSource, ResourceType, describe_configs
    from moldau.client.admin.throttles import RECEIVING, SENDING, unthrottle

    held = []
    for topic in topics:
        values = cluster.run(describe_configs(ConfigResource(ResourceType.TOPIC, topic.name), [SENDING, RECEIVING]))
        if any(value.source is ConfigSource.TOPIC for value in values):
            held.append(topic)
    if not held:
        return
    brokers = {broker for topic in held for each in topic.partitions.values() for broker in each.replicas}
    alive = sorted(brokers & cluster.view.brokers.keys())
    for error in cluster.run(unthrottle([topic.name for topic in held], alive)).values():
        if error is not None:
            raise error
    note(f"All is done; the throttle of {', '.join(topic.name for topic in held)} is taken away.")


def _cancel(cluster: Cluster, options: Namespace) -> int:
    from moldau.client.admin.replicas import reassign

    moves, _ = _under_way(cluster, options)
    before = {where: move.replicas for where, move in moves.items()}
    back = {
        where: tuple(broker for broker in move.replicas if broker not in move.adding) for where, move in moves.items()
    }
    show_plan(before, back, options.json)
    if not moves:
        return DONE
    if not options.execute:
        note("This is only the plan; --execute gives the moves up.")
        return DONE
    return _report(cluster.run(reassign(dict.fromkeys(moves))), "{} given up; replicas stay where they were.")
