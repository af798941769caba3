"""`moldau topics`: create, list, describe, alter, delete.

What concerns offsets is in `topic_offsets`, replicas in `reassignment`, leaders in `elections`.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from moldau.cli.arguments import add_json, add_subcommand, add_subcommands, at_least
from moldau.cli.connection import SettingOrConnection, add_connection, connect
from moldau.cli.elections import configure_elect_leaders
from moldau.cli.failure import DONE, FAILED, USAGE, Failure
from moldau.cli.reassignment import configure_reassign
from moldau.cli.table import note, print_json, print_table
from moldau.cli.topic_offsets import configure_delete_records, configure_offsets
from moldau.errors import ErrorCode, KafkaError
from moldau.quantities import counted
from moldau.types import ZERO_UUID, uuid_to_text

if TYPE_CHECKING:
    from moldau.client.admin import ConfigChange, TopicOutcome
    from moldau.client.admin.pages import PartitionOnPage
    from moldau.client.cluster import Cluster
    from moldau.client.metadata import TopicView


def configure(parser: ArgumentParser) -> None:
    parser.description = "Create, list, describe, alter and delete topics; move their replicas, leaders and offsets."
    commands = add_subcommands(parser)
    _configure_create(commands)
    _configure_list(commands)
    _configure_describe(commands)
    _configure_alter(commands)
    _configure_delete(commands)
    configure_offsets(commands)
    configure_delete_records(commands)
    configure_reassign(commands)
    configure_elect_leaders(commands)


# ------------------------------------------------------------------------------------------------------- create


def _configure_create(commands: Any) -> None:
    parser = add_subcommand(
        commands,
        "create",
        _create,
        "create topics",
        "example:\n  moldau topics create rivers --partitions 3 --config retention.ms=3600000",
    )
    parser.add_argument("names", metavar="NAME", nargs="+")
    parser.add_argument("-p", "--partitions", metavar="N", type=at_least(1), default=-1, help="default: the broker's")
    parser.add_argument(
        "-r", "--replication-factor", metavar="N", type=at_least(1), default=-1, help="default: the broker's"
    )
    parser.add_argument(
        "-c",
        "--config",
        metavar="NAME=VALUE",
        action=SettingOrConnection,
        default=[],
        help="a setting; repeatable",
    )
    parser.add_argument(
        "--assignment",
        metavar="IDS",
        type=_assignment,
        default={},
        help="the brokers of each partition, leader first, as in 1:2,2:3 for two partitions with two replicas each",
    )
    parser.add_argument("--if-not-exists", action="store_true", help="be content when the topic exists already")
    parser.add_argument(
        "--validate-only", action="store_true", help="let the cluster check the request, create nothing"
    )
    add_json(parser)
    add_connection(parser, own_config=True)


def _create(options: Namespace) -> int:
    from moldau.client.admin import NewTopic, create_topics

    if options.assignment and (options.partitions != -1 or options.replication_factor != -1):
        raise Failure(
            "--assignment says how many partitions and replicas there are; leave the other two options out.", USAGE
        )
    wanted = [
        NewTopic(name, options.partitions, options.replication_factor, dict(options.config), options.assignment)
        for name in dict.fromkeys(options.names)
    ]
    with connect(options) as cluster:
        outcomes = cluster.run(create_topics(wanted, validate_only=options.validate_only))
    content = ErrorCode.TOPIC_ALREADY_EXISTS if options.if_not_exists else None
    verb = "could be created" if options.validate_only else "created"
    return _report(outcomes, content, lambda outcome: f"{outcome.name} {verb}{_shape(outcome)}", options.json)


def _shape(outcome: TopicOutcome) -> str:
    if outcome.partitions < 1:
        return ""
    return f" ({counted(outcome.partitions, 'partition')}, {counted(outcome.replication_factor, 'replica')} each)"


def _assignment(text: str) -> dict[int, list[int]]:
    try:
        return {index: [int(broker) for broker in part.split(":")] for index, part in enumerate(text.split(","))}
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not an assignment; write broker ids as in 1:2,2:3") from None


# --------------------------------------------------------------------------------------------- list and describe


def _configure_list(commands: Any) -> None:
    parser = add_subcommand(commands, "list", _list, "list topics")
    parser.add_argument(
        "pattern", metavar="PATTERN", nargs="?", help="show only names that contain this (a regular expression)"
    )
    parser.add_argument("--internal", action="store_true", help="also show Kafka's own topics")
    add_json(parser)
    add_connection(parser)


def _list(options: Namespace) -> None:
    from moldau.client.admin import list_topics

    try:
        matches = re.compile(options.pattern or "").search
    except re.error as error:
        raise Failure(f"{options.pattern!r} is not a regular expression: {error}.") from error
    with connect(options) as cluster:
        topics = [topic for topic in cluster.run(list_topics(internal=options.internal)) if matches(topic.name)]
    if options.json:
        print_json([_summary(topic) for topic in topics])
    elif topics:
        print_table(
            ["TOPIC", "PARTITIONS", "REPLICAS", "INTERNAL"],
            [[topic.name, len(topic.partitions), topic.replication_factor, topic.internal] for topic in topics],
        )
    else:
        note("There are no topics." if not options.pattern else f"No topic matches {options.pattern!r}.")


def _configure_describe(commands: Any) -> None:
    parser = add_subcommand(
        commands, "describe", _describe, "show partitions, leaders, replicas and settings of topics"
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help="default: all topics")
    parser.add_argument("--internal", action="store_true", help="also show Kafka's own topics")
    parser.add_argument(
        "--under-replicated", action="store_true", help="show only partitions with replicas that are not in sync"
    )
    parser.add_argument("--unavailable", action="store_true", help="show only partitions without a leader")
    add_json(parser)
    add_connection(parser)


def _describe(options: Namespace) -> None:
    from moldau.client.admin import describe_topics, list_topics

    with connect(options) as cluster:
        if options.names:
            topics = cluster.run(describe_topics(list(dict.fromkeys(options.names))))
        else:
            topics = cluster.run(list_topics(internal=options.internal))
        eligible = _eligible_leaders(cluster, [topic.name for topic in topics])
        described = [_description(cluster, topic, eligible, options) for topic in topics]
    if options.under_replicated or options.unavailable:
        described = [topic for topic in described if topic["partitions"]]
    if options.json:
        print_json(described)
        return
    for position, topic in enumerate(described):
        if position:
            print()
        _print_description(topic)


def _eligible_leaders(cluster: Cluster, names: Sequence[str]) -> dict[tuple[str | None, int], PartitionOnPage]:
    """Partitions with what older requests do not tell; none where the broker does not tell either."""
    from moldau.client.admin.pages import describe_page

    found: dict[tuple[str | None, int], PartitionOnPage] = {}
    begin: tuple[str, int] | None = None
    # No names would ask for all topics.
    while names:
        try:
            page = cluster.run(describe_page(names, begin=begin))
        except KafkaError as error:
            if error.code is ErrorCode.UNSUPPORTED_VERSION:
                break
            raise
        found.update(((topic.name, each.index), each) for topic in page.topics for each in topic.partitions)
        begin = page.next
        if begin is None:
            break
    return found


def _description(
    cluster: Cluster,
    topic: TopicView,
    eligible: Mapping[tuple[str | None, int], PartitionOnPage],
    options: Namespace,
) -> dict[str, Any]:
    partitions = [
        partition
        for partition in topic.partitions.values()
        if (not options.under_replicated or len(partition.isr) < len(partition.replicas))
        and (not options.unavailable or partition.leader < 0)
    ]
    return {
        **_summary(topic),
        "configs": _own_settings(cluster, topic.name),
        "partitions": [
            {
                "partition": partition.index,
                "leader": partition.leader if partition.leader >= 0 else None,
                "leader_epoch": partition.leader_epoch if partition.leader_epoch >= 0 else None,
                "replicas": list(partition.replicas),
                "isr": list(partition.isr),
                "offline": list(partition.offline),
                "eligible_leader_replicas": list((known.eligible_leaders if known else None) or ()),
                "last_known_elr": list((known.last_known_eligible if known else None) or ()),
            }
            for partition in partitions
            for known in [eligible.get((topic.name, partition.index))]
        ],
    }


def _own_settings(cluster: Cluster, name: str) -> dict[str, str | None] | None:
    """What was set on the topic itself; None where the broker does not tell."""
    from moldau.client.admin import ConfigResource, ConfigSource, ResourceType, describe_configs

    try:
        configs = cluster.run(describe_configs(ConfigResource(ResourceType.TOPIC, name)))
    except KafkaError as error:
        if error.code in (ErrorCode.UNSUPPORTED_VERSION, ErrorCode.TOPIC_AUTHORIZATION_FAILED):
            return None
        raise
    return {config.name: config.value for config in configs if config.source is ConfigSource.TOPIC}


def _summary(topic: TopicView) -> dict[str, Any]:
    return {
        "name": topic.name,
        "id": None if topic.id == ZERO_UUID else uuid_to_text(topic.id),
        "internal": topic.internal,
        "partition_count": len(topic.partitions),
        "replication_factor": topic.replication_factor,
    }


def _print_description(topic: dict[str, Any]) -> None:
    facts = [
        counted(topic["partition_count"], "partition"),
        f"replication factor {topic['replication_factor']}",
        *([f"id {topic['id']}"] if topic["id"] else []),
        *(["internal"] if topic["internal"] else []),
    ]
    print(f"{topic['name']}: {', '.join(facts)}")
    for name, value in (topic["configs"] or {}).items():
        print(f"  {name}={value}")
    columns = ["PARTITION", "LEADER", "EPOCH", "REPLICAS", "IN SYNC", "OFFLINE"]
    keys = ["partition", "leader", "leader_epoch", "replicas", "isr", "offline"]
    # Only partitions that lost replicas have them.
    for column, key in (("ELIGIBLE", "eligible_leader_replicas"), ("LED LAST", "last_known_elr")):
        if any(partition[key] for partition in topic["partitions"]):
            columns.append(column)
            keys.append(key)
    print_table(columns, [[partition[key] for key in keys] for partition in topic["partitions"]], indent="  ")


# ----------------------------------------------------------------------------------------------- alter and delete


def _configure_alter(commands: Any) -> None:
    parser = add_subcommand(
        commands,
        "alter",
        _alter,
        "add partitions to a topic and change its settings",
        "example:\n  moldau topics alter rivers --partitions 6 --config cleanup.policy=compact --unset retention.ms",
    )
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("-p", "--partitions", metavar="N", type=at_least(1), help="the new total; it can only grow")
    parser.add_argument(
        "-c", "--config", metavar="NAME=VALUE", action=SettingOrConnection, default=[], help="set; repeatable"
    )
    parser.add_argument(
        "--unset", metavar="NAME", action="append", default=[], help="back to the broker's value; repeatable"
    )
    parser.add_argument(
        "--validate-only", action="store_true", help="let the cluster check the request, change nothing"
    )
    add_json(parser)
    add_connection(parser, own_config=True)


def _alter(options: Namespace) -> int:
    from moldau.client.admin import ConfigResource, ResourceType, alter_configs, create_partitions

    changes = _changes(options.config, options.unset)
    if options.partitions is None and not changes:
        raise Failure("Nothing to change: give --partitions, --config or --unset.", USAGE)
    done: list[str] = []
    with connect(options) as cluster:
        if changes:
            resource = ConfigResource(ResourceType.TOPIC, options.name)
            error = cluster.run(alter_configs({resource: changes}, validate_only=options.validate_only))[resource]
            if error is not None:
                raise error
            done += [f"{change.name} {'unset' if change.value is None else f'= {change.value}'}" for change in changes]
        if options.partitions is not None:
            growth = create_partitions({options.name: options.partitions}, validate_only=options.validate_only)
            outcome = cluster.run(growth)[0]
            if outcome.error is not None:
                raise outcome.error
            done.append(counted(options.partitions, "partition"))
    if options.json:
        print_json({"name": options.name, "changed": done, "validate_only": options.validate_only})
    else:
        print(f"{options.name}: {', '.join(done)}" + (" (only checked)" if options.validate_only else ""))
    return DONE


def _changes(assignments: Sequence[tuple[str, str]], unset: Sequence[str]) -> list[ConfigChange]:
    from moldau.client.admin import ConfigChange, ConfigOperation

    return [ConfigChange(name, ConfigOperation.SET, value) for name, value in assignments] + [
        ConfigChange(name, ConfigOperation.DELETE) for name in unset
    ]


def _configure_delete(commands: Any) -> None:
    parser = add_subcommand(commands, "delete", _delete, "delete topics with all their records")
    parser.add_argument("names", metavar="NAME", nargs="+")
    parser.add_argument("--if-exists", action="store_true", help="be content when there is no such topic")
    add_json(parser)
    add_connection(parser)


def _delete(options: Namespace) -> int:
    from moldau.client.admin import delete_topics

    with connect(options) as cluster:
        outcomes = cluster.run(delete_topics(list(dict.fromkeys(options.names))))
    content = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if options.if_exists else None
    return _report(outcomes, content, lambda outcome: f"{outcome.name} deleted", options.json)


def _report(outcomes: Sequence[TopicOutcome], content: ErrorCode | None, sentence: Any, as_json: bool) -> int:
    """One line per topic that went well, one sentence per topic that did not; the status tells whether all did."""
    failed = [outcome for outcome in outcomes if outcome.error is not None and outcome.error.code is not content]
    if as_json:
        print_json(
            [
                {
                    "name": outcome.name,
                    "id": None if outcome.id == ZERO_UUID else uuid_to_text(outcome.id),
                    "error": None if outcome.error is None else outcome.error.code.name,
                    "message": None if outcome.error is None else outcome.error.message,
                }
                for outcome in outcomes
            ]
        )
    for outcome in outcomes:
        if outcome.error is None and not as_json:
            print(sentence(outcome))
        elif outcome in failed:
            note(f"moldau: {outcome.error}")
        elif outcome.error is not None and not as_json:
            print(str(outcome.error))
    return FAILED if failed else DONE
