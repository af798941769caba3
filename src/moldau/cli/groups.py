"""`moldau groups`: list, describe and delete groups, and move their offsets."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from moldau.cli.arguments import add_json, add_subcommand, add_subcommands
from moldau.cli.connection import add_connection, connect
from moldau.cli.failure import DONE, FAILED
from moldau.cli.reset_offsets import configure_reset
from moldau.cli.table import note, print_json, print_table
from moldau.diagnosis.positions import Position, group_positions, total_lag
from moldau.errors import KafkaError
from moldau.quantities import counted

if TYPE_CHECKING:
    from moldau.client.admin.groups import GroupDescription, MemberDescription


def configure(parser: ArgumentParser) -> None:
    parser.description = "List, describe and delete groups, and move the offsets they have committed."
    commands = add_subcommands(parser)
    _configure_list(commands)
    _configure_describe(commands)
    configure_reset(commands)
    _configure_delete(commands)


# ----------------------------------------------------------------------------------------------------------- list


def _configure_list(commands: Any) -> None:
    parser = add_subcommand(commands, "list", _list, "show the groups of the cluster")
    parser.add_argument("--state", action="append", default=[], help="only groups in this state, as in Stable or Empty")
    parser.add_argument(
        "--type", action="append", default=[], help="only groups of this type: classic, consumer, share or streams"
    )
    add_json(parser)
    add_connection(parser)


def _list(options: Namespace) -> None:
    from moldau.client.admin.groups import list_groups

    with connect(options) as cluster:
        groups = cluster.run(list_groups(options.state, options.type))
    if options.json:
        print_json([group._asdict() for group in groups])
    elif groups:
        print_table(
            ["GROUP", "TYPE", "STATE", "PROTOCOL", "COORDINATOR"],
            [[row.group_id, row.type, row.state, row.protocol_type or "-", row.coordinator] for row in groups],
        )
    else:
        note("There are no groups.")


# ------------------------------------------------------------------------------------------------------- describe


def _configure_describe(commands: Any) -> None:
    parser = add_subcommand(
        commands,
        "describe",
        _describe,
        "show the state of groups, their members, and how far behind they are",
        "examples:\n"
        "  moldau groups describe shipping               offsets and lag per partition\n"
        "  moldau groups describe shipping --members     who is in it and what each has",
    )
    parser.add_argument("names", metavar="GROUP", nargs="+")
    parser.add_argument("--members", action="store_true", help="show the members instead of the partitions")
    add_json(parser)
    add_connection(parser)


def _describe(options: Namespace) -> int:
    from moldau.client.admin.streams_groups import describe_group_or_application

    failed, shown = False, []
    with connect(options) as cluster:
        for index, name in enumerate(dict.fromkeys(options.names)):
            try:
                group = cluster.run(describe_group_or_application(name))
            except KafkaError as error:
                note(f"moldau: {error}")
                failed = True
                continue
            positions = group_positions(cluster, group)
            if options.json:
                shown.append(_json(group, positions))
                continue
            if index:
                print()
            _print_group(group, positions)
            if options.members:
                _print_members(group)
            else:
                _print_positions(positions)
    if options.json:
        print_json(shown)
    return FAILED if failed else DONE


def _print_group(group: GroupDescription, positions: list[Position]) -> None:
    facts = [f"{group.type} group", group.state, counted(len(group.members), "member")]
    if group.assignor:
        facts.append(f"assignor {group.assignor}")
    if group.epoch >= 0:
        facts.append(f"epoch {group.epoch}")
    facts.append(f"coordinator {group.coordinator}")
    facts.append(f"lag {total_lag(positions):,}")
    print(f"{group.group_id}: {', '.join(facts)}")
    if group.missing_topics:
        print(f"missing topics: {', '.join(group.missing_topics)}")


def _print_positions(positions: list[Position]) -> None:
    if not positions:
        note("It has committed nothing and is assigned nothing.")
        return
    print_table(
        ["TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "MEMBER", "HOST"],
        [
            [
                row.partition.topic,
                row.partition.partition,
                row.committed,
                row.end,
                row.lag,
                None if row.member is None else row.member.member_id,
                None if row.member is None else row.member.host.removeprefix("/"),
            ]
            for row in positions
        ],
    )


def _print_members(group: GroupDescription) -> None:
    if not group.members:
        note("It has no members.")
        return
    is_application = group.type == "streams"
    print_table(
        [
            "MEMBER",
            "PROCESS" if is_application else "INSTANCE",
            "CLIENT",
            "HOST",
            "EPOCH",
            "PARTITIONS",
            "TO GET",
            "TO GIVE UP",
            *(["COPIES OF TASKS"] if is_application else []),
        ],
        [
            [
                member.member_id,
                member.process_id if is_application else member.instance_id,
                member.client_id,
                member.host.removeprefix("/"),
                None if member.epoch < 0 else member.epoch,
                [str(where) for where in sorted(member.assigned)],
                [str(where) for where in sorted(member.target - member.assigned)],
                [str(where) for where in sorted(member.assigned - member.target)],
                *([list(member.copies)] if is_application else []),
            ]
            for member in group.members
        ],
    )


def _json(group: GroupDescription, positions: list[Position]) -> dict[str, Any]:
    return {
        "group": group.group_id,
        "type": group.type,
        "state": group.state,
        "coordinator": group.coordinator,
        "assignor": group.assignor,
        "epoch": group.epoch,
        "assignment_epoch": group.assignment_epoch,
        "lag": total_lag(positions),
        "missing_topics": list(group.missing_topics),
        "members": [_member_json(member) for member in group.members],
        "partitions": [
            {
                "topic": row.partition.topic,
                "partition": row.partition.partition,
                "committed": row.committed,
                "metadata": row.metadata,
                "start": row.start,
                "end": row.end,
                "lag": row.lag,
                "pending": row.pending,
                "member": None if row.member is None else row.member.member_id,
            }
            for row in positions
        ],
    }


def _member_json(member: MemberDescription) -> dict[str, Any]:
    return {
        "member": member.member_id,
        "instance": member.instance_id,
        "client": member.client_id,
        "host": member.host,
        "epoch": member.epoch,
        "subscription": list(member.subscription),
        "assigned": [[where.topic, where.partition] for where in sorted(member.assigned)],
        "target": [[where.topic, where.partition] for where in sorted(member.target)],
        "process": member.process_id,
        "copies": list(member.copies),
    }


# --------------------------------------------------------------------------------------------------------- delete


def _configure_delete(commands: Any) -> None:
    parser = add_subcommand(commands, "delete", _delete, "delete groups without members, and their offsets")
    parser.add_argument("names", metavar="GROUP", nargs="+")
    add_json(parser)
    add_connection(parser)


def _delete(options: Namespace) -> int:
    from moldau.client.admin.groups import delete_group

    deleted: list[dict[str, str]] = []
    failed = False
    with connect(options) as cluster:
        for name in dict.fromkeys(options.names):
            try:
                cluster.run(delete_group(name))
                deleted.append({"group": name})
            except KafkaError as error:
                note(f"moldau: {error}")
                failed = True
    if options.json:
        print_json(deleted)
    else:
        for one in deleted:
            print(f"deleted {one['group']}")
    return FAILED if failed else DONE
