"""`moldau share-groups`: list, describe and delete share groups, and move them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from moldau.cli.arguments import add_json, add_subcommand, add_subcommands, checked
from moldau.cli.connection import add_connection, connect
from moldau.cli.failure import DONE, FAILED, Failure
from moldau.cli.reset_offsets import chosen_partitions
from moldau.cli.table import note, print_json, print_table
from moldau.diagnosis.share_groups import ShareGroupPosition, left_to_deliver, share_group_positions
from moldau.errors import KafkaError
from moldau.moments import parse_moment
from moldau.quantities import counted
from moldau.types import TopicPartition

if TYPE_CHECKING:
    from moldau.client.admin.groups import GroupDescription


def configure(parser: ArgumentParser) -> None:
    parser.description = "List, describe and delete share groups, and move them to another place in their topics."
    commands = add_subcommands(parser)
    listing = add_subcommand(commands, "list", _list, "show the share groups of the cluster")
    listing.add_argument(
        "--state", action="append", default=[], help="only groups in this state: Stable, Empty or Dead"
    )
    add_json(listing)
    add_connection(listing)
    describing = add_subcommand(
        commands,
        "describe",
        _describe,
        "show the state of share groups, where they stand, and how much is left",
        "examples:\n"
        "  moldau share-groups describe packers               where it begins and what is left, by partition\n"
        "  moldau share-groups describe packers --members     who is in it and what each reads from",
    )
    describing.add_argument("names", metavar="GROUP", nargs="+")
    describing.add_argument("--members", action="store_true", help="show the members instead of the partitions")
    add_json(describing)
    add_connection(describing)
    _configure_reset(commands)
    deleting = add_subcommand(commands, "delete", _delete, "delete share groups without members")
    deleting.add_argument("names", metavar="GROUP", nargs="+")
    deleting.add_argument("--topic", action="append", help="only what the groups know of this topic; repeatable")
    add_json(deleting)
    add_connection(deleting)


def _configure_reset(commands: Any) -> None:
    parser = add_subcommand(
        commands,
        "reset-offsets",
        _reset,
        "move a share group that has no members; what it knew of deliveries is forgotten there",
        "examples:\n"
        "  moldau share-groups reset-offsets packers --to earliest --topic parcels\n"
        "  moldau share-groups reset-offsets packers --to 15m --all-topics --dry-run",
    )
    parser.add_argument("group", metavar="GROUP")
    parser.add_argument(
        "--to",
        metavar="MOMENT",
        type=checked(parse_moment),
        required=True,
        help="earliest, latest, an OFFSET, @MILLISECONDS, an ISO time, or a duration ago such as 15m",
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--topic", metavar="NAME[:P,...]", action="append", help="a topic, or some of its partitions")
    what.add_argument("--all-topics", action="store_true", help="everything the group has begun to read")
    parser.add_argument("--dry-run", action="store_true", help="only show where it would be")
    add_json(parser)
    add_connection(parser)


def _list(options: Namespace) -> None:
    from moldau.client.admin.groups import list_groups
    from moldau.client.admin.share_groups import SHARE

    with connect(options) as cluster:
        groups = cluster.run(list_groups(options.state, [SHARE]))
    if options.json:
        print_json([{"group": row.group_id, "state": row.state, "coordinator": row.coordinator} for row in groups])
    elif groups:
        print_table(["GROUP", "STATE", "COORDINATOR"], [[row.group_id, row.state, row.coordinator] for row in groups])
    else:
        note("There are no share groups.")


# ------------------------------------------------------------------------------------------------------- describe


def _describe(options: Namespace) -> int:
    from moldau.client.admin.share_groups import describe_share_group

    failed, shown = False, []
    with connect(options) as cluster:
        for index, name in enumerate(dict.fromkeys(options.names)):
            try:
                group = cluster.run(describe_share_group(name))
                positions = share_group_positions(cluster, group)
            except KafkaError as error:
                note(f"moldau: {error}")
                failed = True
                continue
            if options.json:
                shown.append(_json(group, positions))
                continue
            if index:
                print()
            _print_group(group, positions, members=options.members)
    if options.json:
        print_json(shown)
    return FAILED if failed else DONE


def _print_group(group: GroupDescription, positions: list[ShareGroupPosition], *, members: bool) -> None:
    facts = [
        *("share group", group.state, counted(len(group.members), "member"), f"assignor {group.assignor}"),
        *(f"epoch {group.epoch}", f"coordinator {group.coordinator}", f"{left_to_deliver(positions):,} to deliver"),
    ]
    print(f"{group.group_id}: {', '.join(facts)}")
    if members and group.members:
        print_table(
            ["MEMBER", "CLIENT", "HOST", "EPOCH", "READS FROM"],
            [
                [
                    *(member.member_id, member.client_id, member.host.removeprefix("/"), member.epoch),
                    [str(where) for where in sorted(member.assigned)],
                ]
                for member in group.members
            ],
        )
    elif members:
        note("It has no members.")
    elif positions:
        print_table(
            ["TOPIC", "PARTITION", "START", "END", "TO DELIVER", "MEMBERS"],
            [
                [row.partition.topic, row.partition.partition, row.start, row.end, row.lag, row.members]
                for row in positions
            ],
        )
    else:
        note("It has not begun to read anything.")


def _json(group: GroupDescription, positions: list[ShareGroupPosition]) -> dict[str, Any]:
    return {
        "group": group.group_id,
        "state": group.state,
        "coordinator": group.coordinator,
        "assignor": group.assignor,
        "epoch": group.epoch,
        "assignment_epoch": group.assignment_epoch,
        "left": left_to_deliver(positions),
        "members": [
            {
                "member": member.member_id,
                "client": member.client_id,
                "host": member.host,
                "epoch": member.epoch,
                "subscription": list(member.subscription),
                "assigned": [[where.topic, where.partition] for where in sorted(member.assigned)],
            }
            for member in group.members
        ],
        "partitions": [
            {
                "topic": row.partition.topic,
                "partition": row.partition.partition,
                "start": row.start,
                "end": row.end,
                "left": row.lag,
                "members": row.members,
                "error": row.error,
            }
            for row in positions
        ],
    }


# ------------------------------------------------------------------------------------------------ moving, deleting


def _reset(options: Namespace) -> int:
    from moldau.client.admin.resets import moved_to
    from moldau.client.admin.share_groups import alter_share_positions, share_positions

    with connect(options) as cluster:
        known = cluster.run(share_positions(options.group))
        before = {where: each.start for where, each in known.items() if not isinstance(each, KafkaError)}
        partitions = sorted(before) if options.all_topics else chosen_partitions(cluster, options.topic)
        if not partitions:
            raise Failure(f"The share group {options.group} has not begun to read anything; name topics with --topic.")
        wanted = cluster.run(moved_to(partitions, options.to))
        outcomes: Mapping[TopicPartition, KafkaError | None] = {}
        if not options.dry_run:
            outcomes = cluster.run(alter_share_positions(options.group, wanted))
    done = {where: offset for where, offset in wanted.items() if outcomes.get(where) is None}
    if options.json:
        print_json(
            [
                {
                    "topic": where.topic,
                    "partition": where.partition,
                    "before": before.get(where),
                    "after": offset,
                    "moved": not options.dry_run,
                }
                for where, offset in done.items()
            ]
        )
    elif done:
        rows = [[where.topic, where.partition, before.get(where), offset] for where, offset in done.items()]
        print_table(["TOPIC", "PARTITION", "BEFORE", "WOULD BE" if options.dry_run else "AFTER"], rows)
    failures = dict.fromkeys(str(error) for error in outcomes.values() if error is not None)
    for sentence in failures:
        note(f"moldau: {sentence}")
    return FAILED if failures else DONE


def _delete(options: Namespace) -> int:
    from moldau.client.admin.groups import delete_group
    from moldau.client.admin.share_groups import delete_share_positions, describe_share_group

    deleted: list[dict[str, str]] = []
    failed = False
    with connect(options) as cluster:
        for name in dict.fromkeys(options.names):
            try:
                # DeleteGroups takes groups of every kind; this command is about share groups.
                cluster.run(describe_share_group(name))
                if not options.topic:
                    cluster.run(delete_group(name))
                    deleted.append({"group": name})
                    continue
                for topic, error in cluster.run(delete_share_positions(name, options.topic)).items():
                    if error is None:
                        deleted.append({"group": name, "topic": topic})
                    else:
                        note(f"moldau: {error}")
                        failed = True
            except KafkaError as error:
                note(f"moldau: {error}")
                failed = True
    if options.json:
        print_json(deleted)
    else:
        for each in deleted:
            print(f"deleted {each['group']}" + (f", topic {each['topic']}" if "topic" in each else ""))
    return FAILED if failed else DONE
