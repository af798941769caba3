"""`moldau explain share-group NAME`: why a share group does not get on, and what would help."""

from __future__ import annotations

from argparse import Namespace
from time import sleep
from typing import TYPE_CHECKING, Any, Final

from moldau.cli.arguments import add_json, add_subcommand, checked
from moldau.cli.connection import add_connection, connect
from moldau.cli.share_group_states import written_states
from moldau.cli.table import print_findings, print_json
from moldau.diagnosis.share_groups import Tried, delivery_limits, diagnose, left_to_deliver, share_group_positions
from moldau.quantities import counted, parse_duration
from moldau.types import TopicPartition

if TYPE_CHECKING:
    from moldau.client.cluster import Cluster

_AVAILABLE: Final = 0


def configure_share_group(commands: Any) -> None:
    parser = add_subcommand(
        commands,
        "share-group",
        _explain,
        "explain a share group: who is in it, what is left, what was delivered in vain",
        "example:\n  moldau explain share-group packers --for 10s",
    )
    parser.add_argument("name", metavar="GROUP")
    parser.add_argument(
        "--for",
        dest="interval",
        metavar="TIME",
        type=checked(parse_duration),
        default=1.0,
        help="how long to watch its progress (default 1s)",
    )
    add_json(parser)
    add_connection(parser)


def _explain(options: Namespace) -> None:
    from moldau.client.admin.share_groups import describe_share_group

    with connect(options) as cluster:
        before = share_group_positions(cluster, cluster.run(describe_share_group(options.name)))
        sleep(options.interval)
        group = cluster.run(describe_share_group(options.name))
        after = share_group_positions(cluster, group)
        tried = _tried(cluster, options.name)
        limit, lock_ms = delivery_limits(cluster, options.name)
    findings = diagnose(group, before, after, tried, limit, lock_ms / 1000, options.interval)
    if options.json:
        print_json(
            {
                "group": group.group_id,
                "state": group.state,
                "coordinator": group.coordinator,
                "members": len(group.members),
                "left": left_to_deliver(after),
                "delivery_count_limit": limit,
                "lock_duration_ms": lock_ms,
                "in_vain": None
                if tried is None
                else [
                    {"topic": where.topic, "partition": where.partition, **each._asdict()}
                    for where, ranges in tried.items()
                    for each in ranges
                ],
                "findings": [finding._asdict() for finding in findings],
            }
        )
        return
    members = counted(len(group.members), "member")
    print(f"{group.group_id} is a share group, {group.state}, with {members}, looked after by {group.coordinator}.")
    print_findings(findings)


def _tried(cluster: Cluster, name: str) -> dict[TopicPartition, list[Tried]] | None:
    states = written_states(cluster, name)
    if states is None:
        return None
    return {
        where: [
            Tried(each.first, each.last, each.deliveries)
            for each in state.batches
            if each.state == _AVAILABLE and each.deliveries > 0
        ]
        for where, state in states.items()
    }
