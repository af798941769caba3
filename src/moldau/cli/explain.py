"""`moldau explain`: what state something is in, since when, what it waits for, and what would unblock it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from time import sleep
from typing import Any

from moldau.cli.arguments import add_json, add_subcommand, add_subcommands, checked
from moldau.cli.connection import add_connection, connect
from moldau.cli.explain_isr import configure_isr
from moldau.cli.explain_quorum import configure_quorum
from moldau.cli.explain_share_group import configure_share_group
from moldau.cli.explain_transaction import configure_transaction
from moldau.cli.group_history import last_change
from moldau.cli.table import print_findings, print_json
from moldau.diagnosis.groups import diagnose
from moldau.diagnosis.positions import group_positions, total_lag
from moldau.quantities import counted, format_time, parse_duration


def configure(parser: ArgumentParser) -> None:
    parser.description = "Explain what something waits for, and what would unblock it."
    commands = add_subcommands(parser)
    _configure_group(commands)
    configure_share_group(commands)
    configure_transaction(commands)
    configure_isr(commands)
    configure_quorum(commands)


def _configure_group(commands: Any) -> None:
    parser = add_subcommand(
        commands,
        "group",
        _explain_group,
        "explain a group: its state and since when, who waits for whom, whether it keeps up",
        "example:\n  moldau explain group shipping --for 10s",
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


def _explain_group(options: Namespace) -> None:
    from moldau.client.admin.streams_groups import describe_group_or_application

    with connect(options) as cluster:
        before = group_positions(cluster, cluster.run(describe_group_or_application(options.name)))
        sleep(options.interval)
        group = cluster.run(describe_group_or_application(options.name))
        after = group_positions(cluster, group)
        since = last_change(cluster, options.name)
    findings = diagnose(group, before, after, options.interval)
    if options.json:
        print_json(
            {
                "group": group.group_id,
                "type": group.type,
                "state": group.state,
                "since": since,
                "members": len(group.members),
                "lag": total_lag(after),
                "findings": [finding._asdict() for finding in findings],
            }
        )
        return
    when = f" since {format_time(since)}" if since is not None else ""
    members = counted(len(group.members), "member")
    print(f"{group.group_id} is a {group.type} group, {group.state}{when}, with {members}.")
    print_findings(findings)
