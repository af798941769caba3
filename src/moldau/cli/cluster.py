"""`moldau cluster`: starting one on this machine; its brokers, controllers and disks, and what they speak."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from moldau.cli.arguments import add_json, add_subcommand, add_subcommands, at_least, key_value
from moldau.cli.connection import add_connection, connect, shown_profiles
from moldau.cli.quorum import quorum_json
from moldau.cli.table import print_json, print_table
from moldau.errors import MoldauError
from moldau.quantities import counted, format_size

if TYPE_CHECKING:
    from moldau.client.admin import ClusterDescription, LogDirectory
    from moldau.client.admin.quorum import QuorumDescription
    from moldau.client.cluster import Cluster
    from moldau.client.metadata import TopicView
    from moldau.links.versions import NodeVersions

_LOOK_SECONDS = 5.0

_START = """\
The first one, three or five nodes are controllers, all of them brokers. When all are ready one line is printed on
standard output: `ready HOST:PORT,HOST:PORT,...`. Ctrl-C, SIGTERM and SIGHUP end them one after the other, with exit
status 0. Data, ports and the cluster's id are kept in --data; the log of each node is node-N/node.log there. A node
that dies is told on standard error, and not started again.

With --secure nobody comes in without a login over TLS, and does nothing without a rule: an authority, certificates of
the nodes and the users admin and alice are made at the first start and kept in --data. How to use them is told on
standard error; DIR/security/admin.properties is a file for --config of every command.

examples:
  moldau cluster start                             three nodes at 127.0.0.1:9092, 9093 and 9094
  moldau cluster start --nodes 5 --port 0 --data /tmp/five --set num.partitions=6
  moldau cluster start --secure --profile trial    `moldau topics list --profile trial` is the administrator's"""


def configure(parser: ArgumentParser) -> None:
    parser.description = "Start a cluster on this machine; describe a cluster."
    commands = add_subcommands(parser)
    _configure_start(commands)
    describe = add_subcommand(commands, "describe", _describe, "show the brokers of a cluster")
    describe.add_argument("--disks", action="store_true", help="also show log directories and what lies in them")
    describe.add_argument(
        "--apis", action="store_true", help="also show which requests a broker takes, and its features"
    )
    add_json(describe)
    add_connection(describe)


def _configure_start(commands: Any) -> None:
    start = add_subcommand(commands, "start", _start, "start several nodes on this machine, in the foreground", _START)
    start.add_argument("--nodes", metavar="N", type=at_least(1), help="how many (default 3, or what --data holds)")
    start.add_argument("--data", metavar="DIR", default="cluster", help="what is kept (default ./cluster)")
    start.add_argument(
        "--port",
        metavar="P",
        type=at_least(0),
        help="of the first node (default 9092), the next one's above it; 0 takes free ones",
    )
    start.add_argument(
        "--set", metavar="NAME=VALUE", action="append", type=key_value, default=[], help="a setting of all nodes"
    )
    start.add_argument("--secure", action="store_true", help="TLS, logins and access rules, with all that they need")
    start.add_argument(
        "--profile",
        metavar="NAME",
        help=f"with --secure: keep the administrator's file as the profile NAME, in {shown_profiles()}",
    )
    start.add_argument("--log-level", choices=("debug", "info", "warning", "error"), help="of the nodes' logs")


def _start(options: Namespace) -> int:
    from pathlib import Path

    from moldau.cli.secured_cluster import check_profile, name_profile, node_files, say_usage
    from moldau.cli.siblings import check_kept
    from moldau.cli.supervisor import Supervisor, say_ready
    from moldau.supervision.claim import claimed
    from moldau.supervision.layout import remembered

    directory = Path(options.data)
    with claimed(directory) as claim:
        check_kept(directory, (), makes_cluster=True)
        if options.profile is not None:
            check_profile(options.profile, directory, secure=options.secure)
        layout = remembered(directory, options.nodes, options.port, secure=options.secure)
        settings = dict(options.set)
        files = node_files(directory, layout, settings)
        if options.profile is not None:
            name_profile(options.profile, directory)
        supervisor = Supervisor.of_layout(directory, claim, layout, settings, log_level=options.log_level, files=files)

        def ready() -> None:
            say_ready([place.address for place in layout.places])
            if layout.secure:
                say_usage(directory, options.profile)

        return supervisor.run(ready)


def _describe(options: Namespace) -> None:
    from moldau.client.admin import describe_cluster, describe_log_dirs, list_topics

    with connect(options) as cluster:
        description = cluster.run(describe_cluster())
        health = _health(cluster.run(list_topics(internal=True)))
        directories = cluster.run(describe_log_dirs()) if options.disks else None
        versions = cluster.versions() if options.apis else None
        # Last: a broker without a controller to ask keeps the question, and all that come behind it.
        quorum = _quorum(cluster, min(options.timeout, _LOOK_SECONDS))
    # Brokers name any of themselves to clients; who leads the quorum decides.
    controller = description.controller_id if quorum is None else quorum.leader_id
    if options.json:
        print_json({**_json(description, health, quorum, directories, versions), "controller": controller})
        return
    print(f"Cluster {description.cluster_id or '(without an id)'}")
    print_table(
        ["BROKER", "HOST", "PORT", "RACK", "CONTROLLER", "FENCED"],
        [
            [broker.id, broker.host, broker.port, broker.rack, broker.id == controller, broker.fenced]
            for broker in description.brokers
        ],
    )
    _print_health(health, quorum)
    if directories is not None:
        _print_directories(directories)
    if versions is not None:
        _print_versions(versions)


def _health(topics: list[TopicView]) -> dict[str, int]:
    partitions = [each for topic in topics for each in topic.partitions.values()]
    return {
        "topics": len(topics),
        "partitions": len(partitions),
        "under_replicated": sum(len(each.isr) < len(each.replicas) for each in partitions),
        "without_leader": sum(each.leader < 0 for each in partitions),
        "not_led_by_preferred": sum(each.leader >= 0 and each.leader != each.replicas[0] for each in partitions),
    }


def _quorum(cluster: Cluster, seconds: float) -> QuorumDescription | None:
    """None where there is no leader to tell, or the broker does not know the question."""
    from moldau.client.admin.quorum import describe_quorum

    try:
        return cluster.run(describe_quorum(), timeout=seconds)
    except MoldauError:
        return None


def _print_health(health: dict[str, int], quorum: QuorumDescription | None) -> None:
    if quorum is None:
        print("Controllers: nobody tells (`moldau explain quorum`)")
    else:
        voters = ", ".join(str(each.id) for each in sorted(quorum.voters))
        print(f"Controllers: {voters}; {quorum.leader_id} leads at epoch {quorum.leader_epoch}")
    behind, lost = health["under_replicated"], health["without_leader"]
    state = f"{behind} under-replicated, {lost} without a leader" if behind or lost else "all replicas in sync"
    print(f"{counted(health['topics'], 'topic')}, {counted(health['partitions'], 'partition')}: {state}")


def _print_directories(directories: list[LogDirectory]) -> None:
    print()
    print_table(
        ["BROKER", "LOG DIRECTORY", "PARTITIONS", "SIZE", "DISK", "FREE", "PROBLEM"],
        [
            [
                directory.broker,
                directory.path,
                len(directory.replicas),
                format_size(sum(replica.size for replica in directory.replicas)),
                None if directory.total_bytes < 0 else format_size(directory.total_bytes),
                None if directory.usable_bytes < 0 else format_size(directory.usable_bytes),
                directory.error,
            ]
            for directory in directories
        ],
    )


def _print_versions(versions: NodeVersions) -> None:
    from moldau.links.versions import api_name

    print()
    print_table(
        ["API", "NAME", "FROM", "TO"],
        [[key, api_name(key), lowest, highest] for key, (lowest, highest) in sorted(versions.ranges.items())],
    )
    if versions.features:
        print()
        print_table(["FEATURE", "LEVEL"], sorted(versions.features.items()))


def _json(
    description: ClusterDescription,
    health: dict[str, int],
    quorum: QuorumDescription | None,
    directories: list[LogDirectory] | None,
    versions: NodeVersions | None,
) -> dict[str, Any]:
    result: dict[str, Any] = {
        "cluster_id": description.cluster_id,
        "brokers": [
            {"id": broker.id, "host": broker.host, "port": broker.port, "rack": broker.rack, "fenced": broker.fenced}
            for broker in description.brokers
        ],
        **health,
        "quorum": None if quorum is None else quorum_json(quorum),
    }
    if directories is not None:
        result["log_directories"] = [_directory_json(directory) for directory in directories]
    if versions is not None:
        result["features"] = versions.features
        result["apis"] = _apis_json(versions)
    return result


def _directory_json(directory: LogDirectory) -> dict[str, Any]:
    return {
        "broker": directory.broker,
        "path": directory.path,
        "error": None if directory.error is None else directory.error.code.name,
        "total_bytes": directory.total_bytes,
        "usable_bytes": directory.usable_bytes,
        "partitions": [
            {
                "topic": replica.partition.topic,
                "partition": replica.partition.partition,
                "size": replica.size,
                "offset_lag": replica.offset_lag,
                "future": replica.future,
            }
            for replica in directory.replicas
        ],
    }


def _apis_json(versions: NodeVersions) -> list[dict[str, Any]]:
    from moldau.links.versions import api_name

    return [
        {"key": key, "name": api_name(key), "min_version": lowest, "max_version": highest}
        for key, (lowest, highest) in sorted(versions.ranges.items())
    ]
