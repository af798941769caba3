"""`moldau quorum`: who keeps the cluster's metadata and how far each is; letting a controller vote, or no longer."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from time import time
from typing import TYPE_CHECKING, Any

from moldau.cli.arguments import add_json, add_subcommand, add_subcommands, at_least, checked
from moldau.cli.connection import add_connection, connect
from moldau.cli.failure import USAGE, Failure
from moldau.cli.table import print_json, print_table
from moldau.errors import ErrorCode, KafkaError, MoldauError
from moldau.quantities import format_time
from moldau.types import ZERO_UUID, Uuid, uuid_from_text, uuid_to_text

if TYPE_CHECKING:
    from moldau.client.admin.quorum import ControllerEndpoint, QuorumDescription, QuorumReplica

_FIXED = (
    "The voters of this cluster are fixed by controller.quorum.voters (kraft.version 0); `moldau quorum upgrade` lets "
    "them change."
)
_UPGRADE_HELP = """\
Raises kraft.version to 1: the voters, until now those of controller.quorum.voters, come to stand in the metadata log
with their directories and addresses, and `add` and `remove` can change them. All of them have to run. There is no way
back. Afterwards controller.quorum.bootstrap.servers takes the place of controller.quorum.voters, at each node's next
restart."""
_ADD_HELP = """\
The controller has to run already and to follow the quorum; `moldau quorum describe` shows it as an observer.

examples:
  moldau quorum add --server controller.properties        on its machine: its settings and disk say all there is
  moldau quorum add 4 --directory-id 3kZ... --endpoint CONTROLLER://node-4:9093"""


def configure(parser: ArgumentParser) -> None:
    parser.description = "Look at the controllers that keep the cluster's metadata, and change who votes."
    commands = add_subcommands(parser)
    describe = add_subcommand(commands, "describe", _describe, "show leader, voters and observers, and their lag")
    add = add_subcommand(commands, "add", _add, "let a controller vote", _ADD_HELP)
    add.add_argument("id", metavar="ID", nargs="?", type=at_least(0), help="node.id of the controller")
    add.add_argument("--server", metavar="FILE", help="its server.properties; its disk is looked at for the rest")
    add.add_argument("--directory-id", metavar="ID", type=checked(uuid_from_text), help="of its metadata log directory")
    add.add_argument(
        "--endpoint",
        metavar="NAME://HOST:PORT",
        type=_endpoint,
        action="append",
        default=[],
        help="where it is reached by the others; repeatable",
    )
    remove = add_subcommand(commands, "remove", _remove, "take a controller's vote away")
    remove.add_argument("id", metavar="ID", type=at_least(0))
    remove.add_argument(
        "--directory-id", metavar="ID", type=checked(uuid_from_text), help="if the id has voted from several disks"
    )
    upgrade = add_subcommand(commands, "upgrade", _upgrade, "let voters that are fixed change", _UPGRADE_HELP)
    for command in (describe, add, remove, upgrade):
        add_json(command)
        add_connection(command)


# ---------------------------------------------------------------------------------------------------------- describe


def _describe(options: Namespace) -> None:
    from moldau.client.admin import describe_cluster
    from moldau.client.admin.quorum import describe_quorum

    with connect(options) as cluster:
        quorum = cluster.run(describe_quorum())
        cluster_id = cluster.run(describe_cluster()).cluster_id
    if options.json:
        print_json({"cluster_id": cluster_id, **quorum_json(quorum)})
        return
    print(f"Cluster {cluster_id}")
    print(f"Leader {quorum.leader_id} at epoch {quorum.leader_epoch}, high watermark {quorum.high_watermark:,}")
    now = round(time() * 1000)
    rows = [
        _row(quorum, each, role, now)
        for role, group in (("voter", quorum.voters), ("observer", quorum.observers))
        for each in sorted(group)
    ]
    print_table(["NODE", "ROLE", "END", "LAG", "LAST FETCH", "LAST CAUGHT UP", "DIRECTORY", "ENDPOINT"], rows)


def _row(quorum: QuorumDescription, each: QuorumReplica, role: str, now: int) -> list[object]:
    leads = each.id == quorum.leader_id
    return [
        each.id,
        "leader" if leads else role,
        each.log_end_offset if each.log_end_offset >= 0 else None,
        quorum.lag(each),
        None if leads else since(each.last_fetch_timestamp, now),
        None if leads else since(each.last_caught_up_timestamp, now),
        None if each.directory == ZERO_UUID else uuid_to_text(each.directory),
        [f"{where.host}:{where.port}" for where in quorum.endpoints.get(each.id, ())],
    ]


def since(moment: int, now: int) -> str:
    if moment < 0:
        return "never"
    ago = max(0, now - moment) / 1000
    return f"{ago:.1f}s ago" if ago < 600 else format_time(moment)


def quorum_json(quorum: QuorumDescription) -> dict[str, Any]:
    def replicas(group: tuple[QuorumReplica, ...]) -> list[dict[str, Any]]:
        return [
            {
                "id": each.id,
                "directory_id": None if each.directory == ZERO_UUID else uuid_to_text(each.directory),
                "log_end_offset": each.log_end_offset,
                "lag": quorum.lag(each),
                "last_fetch_ms": each.last_fetch_timestamp,
                "last_caught_up_ms": each.last_caught_up_timestamp,
                "endpoints": [where._asdict() for where in quorum.endpoints.get(each.id, ())],
            }
            for each in sorted(group)
        ]

    return {
        "leader": quorum.leader_id if quorum.leader_id >= 0 else None,
        "epoch": quorum.leader_epoch,
        "high_watermark": quorum.high_watermark,
        "voters": replicas(quorum.voters),
        "observers": replicas(quorum.observers),
    }


# --------------------------------------------------------------------------------------------- add, remove and upgrade


def _add(options: Namespace) -> None:
    from moldau.client.admin import describe_cluster
    from moldau.client.admin.quorum import add_voter

    if options.server is not None:
        voter, directory, endpoints = _from_files(options.server)
    elif options.id is None or options.directory_id is None or not options.endpoint:
        raise Failure("Give --server, or the ID with --directory-id and --endpoint.", USAGE)
    else:
        voter, directory, endpoints = options.id, options.directory_id, options.endpoint
    with connect(options) as cluster:
        known = cluster.run(describe_cluster()).cluster_id
        try:
            cluster.run(add_voter(voter, directory, endpoints, cluster_id=known))
        except KafkaError as error:
            raise _in_words(error, voter) from None
    _done(options, voter, directory, "votes from now on")


def _remove(options: Namespace) -> None:
    from moldau.client.admin import describe_cluster
    from moldau.client.admin.quorum import describe_quorum, remove_voter

    with connect(options) as cluster:
        quorum = cluster.run(describe_quorum())
        found = [each for each in quorum.voters if each.id == options.id]
        if not found:
            names = ", ".join(str(each.id) for each in sorted(quorum.voters))
            raise Failure(f"Node {options.id} does not vote; voters are {names}.")
        directories = [each.directory for each in found]
        if options.directory_id is None and len(directories) > 1:
            shown = ", ".join(map(uuid_to_text, directories))
            raise Failure(f"Node {options.id} votes from several directories; choose one with --directory-id: {shown}.")
        directory = options.directory_id or directories[0]
        if directory == ZERO_UUID:
            raise Failure(_FIXED)
        known = cluster.run(describe_cluster()).cluster_id
        try:
            cluster.run(remove_voter(options.id, directory, cluster_id=known))
        except KafkaError as error:
            raise _in_words(error, options.id) from None
    _done(options, options.id, directory, "does not vote any more")


def _upgrade(options: Namespace) -> None:
    from moldau.client.admin.features import UpgradeType, update_features
    from moldau.metadata.features import KRAFT_VERSION

    with connect(options) as cluster:
        outcome = cluster.run(update_features({KRAFT_VERSION: (UpgradeType.UPGRADE, 1)}))[KRAFT_VERSION]
    if outcome is not None:
        raise outcome
    if options.json:
        print_json({KRAFT_VERSION: 1})
    else:
        print("The voters stand in the metadata log and can change.")


def _done(options: Namespace, voter: int, directory: Uuid, sentence: str) -> None:
    if options.json:
        print_json({"id": voter, "directory_id": uuid_to_text(directory)})
    else:
        print(f"Node {voter} {sentence}.")


def _in_words(error: KafkaError, voter: int) -> MoldauError:
    match error.code:
        case ErrorCode.UNSUPPORTED_VERSION:
            return Failure(_FIXED)
        case ErrorCode.DUPLICATE_VOTER:
            return Failure(f"Node {voter} votes already.")
        case ErrorCode.VOTER_NOT_FOUND:
            return Failure(f"Node {voter} does not vote from that directory.")
    return error


def _from_files(path: str) -> tuple[int, Uuid, list[ControllerEndpoint]]:
    from moldau.cli.start import read_properties
    from moldau.client.admin.quorum import ControllerEndpoint
    from moldau.config.broker import BrokerConfig
    from moldau.runtime.disk import RealDisk
    from moldau.storage.log_dirs import read_meta_properties

    config = BrokerConfig.parse(read_properties(path))
    if not config.is_controller or config.standalone:
        raise Failure(f"{path} is not of a controller: process.roles should contain controller.")
    meta = read_meta_properties(RealDisk(), config.metadata_log_directory)
    if meta is None:
        raise Failure(f"{config.metadata_log_directory} has no meta.properties: `moldau storage format` comes first.")
    endpoints = [ControllerEndpoint(each.name, each.host, each.port) for each in config.advertised_controller_endpoints]
    return config.node_id, meta.directory_id, endpoints


def _endpoint(text: str) -> ControllerEndpoint:
    from moldau.client.admin.quorum import ControllerEndpoint
    from moldau.links.addresses import AddressError, parse_address

    name, separator, rest = text.partition("://")
    if not separator or not name:
        raise ArgumentTypeError(f"{text!r} is not an endpoint; write it as in CONTROLLER://node-4:9093")
    try:
        return ControllerEndpoint(name, *parse_address(rest))
    except AddressError as error:
        raise ArgumentTypeError(str(error)) from None
