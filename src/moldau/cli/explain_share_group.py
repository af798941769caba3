"""`moldau explain share-group NAME`: why a share group does not get on, and what would help."""

from __future__ import annotations

from argparse import Namespace
from time import sleep
from typing import TYPE_CHECKING, Any, Final

from moldau.cli.arguments import add_json, add_subcommand, checked
from moldau.cli.connection import add_connection, connect
from moldau.cli.share_group_states import written_states
from moldau.cli.table import print_findings, print_json
from moldau.diagnosis.share_groups import Tried, diagnose, left_to_deliver, share_group_positions
from moldau.errors import KafkaError
from moldau.quantities import counted, parse_duration
from moldau.types import TopicPartition

if TYPE_CHECKING:
    from moldau.client.cluster import Cluster

# What a broker has unless it is told otherwise.
_DELIVERIES: Final = 5
_LOCK_MS: Final = 30_000
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
        limit, lock_ms = _limits(cluster, options.name)
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


def _limits(cluster: Cluster, name: str) -> tuple[int, int]:
    """How often a record may be delivered, and how long it is locked: the group's settings, or its coordinator's."""
    from moldau.client.admin.configs import ConfigResource, ResourceType, describe_configs

    limit, lock_ms = _DELIVERIES, _LOCK_MS
    places = [(ConfigResource(ResourceType.BROKER, str(node)), "group.") for node in sorted(cluster.view.brokers)[:1]]
    for resource, prefix in [*places, (ConfigResource(ResourceType.GROUP, name), "")]:
        try:
            found = {each.name: each.value for each in cluster.run(describe_configs(resource))}
        except KafkaError:
            continue
        limit = int(found.get(f"{prefix}share.delivery.count.limit") or limit)
        lock_ms = int(found.get(f"{prefix}share.record.lock.duration.ms") or lock_ms)
    return limit, lock_ms
