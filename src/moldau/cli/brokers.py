"""`moldau brokers`: who they are and what they hold; emptying one, and having the cluster forget it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from moldau.cli.arguments import add_json, add_subcommand, add_subcommands, at_least, checked
from moldau.cli.connection import add_connection, connect
from moldau.cli.failure import DONE, FAILED, Failure
from moldau.cli.placement import changed, current, without
from moldau.cli.reassignment import carry_out
from moldau.cli.table import note, print_json, print_table
from moldau.errors import KafkaError
from moldau.quantities import counted, format_size, parse_size

if TYPE_CHECKING:
    from moldau.client.admin import BrokerDescription, ClusterDescription, LogDirectory
    from moldau.client.cluster import Cluster
    from moldau.client.metadata import TopicView

# A broker that is away should not hold up what the others say.
_LOOK_SECONDS = 5.0

_DRAIN_HELP = """\
All replicas of the broker move to others, racks considered. The broker goes on serving until they have; then
it can be stopped without anybody noticing, and be unregistered. Without --execute the plan is only shown.

examples:
  moldau brokers drain 3
  moldau brokers drain 3 --throttle 50M --execute
  moldau topics reassign --verify                    how far it is
  moldau brokers drain 3 --leaders --execute         only leadership moves, as before a restart"""


def configure(parser: ArgumentParser) -> None:
    parser.description = "List and describe brokers, empty one, unregister one."
    commands = add_subcommands(parser)
    listing = add_subcommand(commands, "list", _list, "list brokers, and how much each leads and holds")
    describe = add_subcommand(commands, "describe", _describe, "show one broker: its disks and partitions")
    drain = add_subcommand(commands, "drain", _drain, "move everything away from a broker", _DRAIN_HELP)
    unregister = add_subcommand(commands, "unregister", _unregister, "have the cluster forget a broker that is gone")
    for command in (describe, drain, unregister):
        command.add_argument("id", metavar="ID", type=at_least(0))
    drain.add_argument("--leaders", action="store_true", help="only leadership: replicas stay, others lead them")
    drain.add_argument(
        "--throttle", metavar="SIZE", type=checked(parse_size), help="copy at most so much per second and broker"
    )
    drain.add_argument("--execute", action="store_true", help="do it")
    unregister.add_argument("--force", action="store_true", help="although partitions have replicas there")
    for command in (listing, describe, drain, unregister):
        add_json(command)
        add_connection(command)


class Holding(NamedTuple):
    """What lies on a broker, as the metadata say."""

    replicas: int
    leads: int
    not_in_sync: int


def holdings(topics: list[TopicView]) -> dict[int, Holding]:
    replicas: Counter[int] = Counter()
    leads: Counter[int] = Counter()
    behind: Counter[int] = Counter()
    for topic in topics:
        for each in topic.partitions.values():
            replicas.update(each.replicas)
            leads[each.leader] += 1
            behind.update(broker for broker in each.replicas if broker not in each.isr)
    return {broker: Holding(replicas[broker], leads[broker], behind[broker]) for broker in replicas}


def _look(cluster: Cluster) -> tuple[ClusterDescription, list[TopicView]]:
    from moldau.client.admin import describe_cluster, list_topics

    return cluster.run(describe_cluster()), cluster.run(list_topics(internal=True))


def _found(description: ClusterDescription, wanted: int) -> BrokerDescription:
    for broker in description.brokers:
        if broker.id == wanted:
            return broker
    known = ", ".join(str(broker.id) for broker in description.brokers)
    raise Failure(f"There is no broker with id {wanted}; there are {known}.")


def _list(options: Namespace) -> None:
    with connect(options) as cluster:
        description, topics = _look(cluster)
    held = holdings(topics)
    rows = [(broker, held.get(broker.id, Holding(0, 0, 0))) for broker in description.brokers]
    if options.json:
        print_json([{**broker_json(broker), **holding._asdict()} for broker, holding in rows])
        return
    print_table(
        ["BROKER", "HOST", "PORT", "RACK", "FENCED", "LEADS", "REPLICAS", "NOT IN SYNC"],
        [
            [broker.id, broker.host, broker.port, broker.rack, broker.fenced, has.leads, has.replicas, has.not_in_sync]
            for broker, has in rows
        ],
    )


def broker_json(broker: BrokerDescription) -> dict[str, Any]:
    return {
        "id": broker.id,
        "host": broker.host,
        "port": broker.port,
        "rack": broker.rack,
        "fenced": broker.fenced,
    }


def _describe(options: Namespace) -> None:
    from moldau.client.admin import describe_log_dirs

    with connect(options) as cluster:
        description, topics = _look(cluster)
        broker = _found(description, options.id)
        directories: list[LogDirectory] = []
        silence: KafkaError | None = None
        try:
            if not broker.fenced:
                directories = cluster.run(describe_log_dirs([options.id]), timeout=min(options.timeout, _LOOK_SECONDS))
        except KafkaError as error:
            silence = error
    partitions = [
        {
            "topic": topic.name,
            "partition": index,
            "leader": each.leader == options.id,
            "preferred": each.replicas[:1] == (options.id,),
            "in_sync": options.id in each.isr,
        }
        for topic in topics
        for index, each in topic.partitions.items()
        if options.id in each.replicas
    ]
    if options.json:
        paths = [
            {
                "path": each.path,
                "error": None if each.error is None else each.error.code.name,
                "size": sum(replica.size for replica in each.replicas),
                "total_bytes": each.total_bytes,
                "usable_bytes": each.usable_bytes,
            }
            for each in directories
        ]
        print_json({**broker_json(broker), "log_directories": paths, "partitions": partitions})
        return
    state = "fenced: it does not send heartbeats, and leads nothing" if broker.fenced else "active"
    rack = f", rack {broker.rack}" if broker.rack else ""
    print(f"Broker {broker.id} at {broker.host}:{broker.port}{rack}; {state}")
    if silence is not None:
        note(f"What is on its disks cannot be seen: {silence}")
    for each in directories:
        if each.error is not None:
            print(f"  {each.path}: {each.error}")
            continue
        size = format_size(sum(replica.size for replica in each.replicas))
        free = "" if each.usable_bytes < 0 else f", {format_size(each.usable_bytes)} free"
        print(f"  {each.path}: {counted(len(each.replicas), 'replica')}, {size}{free}")
    if partitions:
        print_table(["TOPIC", "PARTITION", "LEADS", "PREFERRED", "IN SYNC"], [list(row.values()) for row in partitions])


# ------------------------------------------------------------------------------------------------ drain and unregister


def _drain(options: Namespace) -> int:
    with connect(options) as cluster:
        description, topics = _look(cluster)
        _found(description, options.id)
        before = current(topics)
        if options.leaders:
            after = {
                where: (*(each for each in has if each != options.id), options.id)
                for where, has in before.items()
                if has[:1] == (options.id,) and len(has) > 1
            }
        else:
            racks = {broker.id: broker.rack for broker in description.brokers if not broker.fenced}
            after = without(before, racks, options.id)
        moves = changed(before, after)
        status = carry_out(cluster, before, moves, options)
        if options.execute and options.leaders and moves and status == DONE:
            return _elect(cluster, list(moves))
        return status


def _elect(cluster: Cluster, partitions: list[Any]) -> int:
    """The new order only says who is preferred; an election makes it so."""
    from moldau.client.admin.replicas import ElectionType, elect_leaders
    from moldau.errors import ErrorCode

    outcomes = cluster.run(elect_leaders(ElectionType.PREFERRED, partitions))
    refused = {w: e for w, e in outcomes.items() if e is not None and e.code is not ErrorCode.ELECTION_NOT_NEEDED}
    for where, error in sorted(refused.items()):
        note(f"moldau: {where}: {error}")
    return FAILED if refused else DONE


def _unregister(options: Namespace) -> None:
    from moldau.client.admin.brokers import unregister_broker

    with connect(options) as cluster:
        description, topics = _look(cluster)
        broker = _found(description, options.id)
        has = holdings(topics).get(options.id, Holding(0, 0, 0))
        if not broker.fenced:
            raise Failure(f"Broker {options.id} is running; stop it first, or it registers again.")
        if has.replicas and not options.force:
            raise Failure(
                f"{counted(has.replicas, 'partition')} would have a replica on nobody; "
                f"`moldau brokers drain {options.id}` moves them first, --force unregisters all the same."
            )
        cluster.run(unregister_broker(options.id))
    if options.json:
        print_json({"id": options.id})
    else:
        print(f"Broker {options.id} is forgotten; it comes back if it is started again.")
