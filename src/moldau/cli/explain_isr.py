"""`moldau explain isr TOPIC`: why replicas are not in sync or a partition has no leader, and what would mend it."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from moldau.cli.arguments import add_json, add_subcommand
from moldau.cli.connection import add_connection, connect
from moldau.cli.table import print_findings, print_json
from moldau.diagnosis.isr import diagnose_isr
from moldau.diagnosis.sight import look
from moldau.quantities import counted

if TYPE_CHECKING:
    from moldau.client.admin.pages import PartitionOnPage


def configure_isr(commands: Any) -> None:
    parser = add_subcommand(
        commands,
        "isr",
        _explain,
        "explain why replicas of a topic are not in sync, or why a partition has no leader",
        "example:\n  moldau explain isr rivers",
    )
    parser.add_argument("topic", metavar="TOPIC")
    add_json(parser)
    add_connection(parser)


def _explain(options: Namespace) -> None:
    with connect(options) as cluster:
        sight = look(cluster, options.topic)
    findings = diagnose_isr(sight)
    behind = sum(len(each.isr) < len(each.replicas) for each in sight.partitions)
    without = sum(each.leader < 0 for each in sight.partitions)
    if options.json:
        print_json(
            {
                "topic": options.topic,
                "partitions": [_json(each) for each in sight.partitions],
                "under_replicated": behind,
                "without_leader": without,
                "min_insync_replicas": sight.min_insync,
                "findings": [finding._asdict() for finding in findings],
            }
        )
        return
    print(
        f"{options.topic}: {counted(len(sight.partitions), 'partition')}, {behind} with replicas out of sync, "
        f"{without} without a leader; min.insync.replicas={sight.min_insync}."
    )
    print_findings(findings)


def _json(each: PartitionOnPage) -> dict[str, Any]:
    return {
        "partition": each.index,
        "leader": each.leader if each.leader >= 0 else None,
        "replicas": list(each.replicas),
        "isr": list(each.isr),
        "eligible_leader_replicas": list(each.eligible_leaders or ()),
        "last_known_elr": list(each.last_known_eligible or ()),
        "offline": list(each.offline),
    }
