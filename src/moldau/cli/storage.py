"""`moldau storage`: the data directories of a node, before it starts: format them, show whose they are."""

from __future__ import annotations

import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING, Final

from moldau.cli.arguments import add_json, add_subcommand, add_subcommands, checked, key_value
from moldau.cli.failure import DONE, FAILED
from moldau.cli.table import print_json

if TYPE_CHECKING:
    from moldau.config.broker import BrokerConfig
    from moldau.node.formatting import InitialController

_FORMAT_EPILOG: Final = """\
A node that is alone (no process.roles, or the only voter) needs none of this: `moldau start` formats its directories.
All nodes of a cluster are formatted with the same cluster id. Controllers that are not named in
controller.quorum.voters are told who votes first, in one of three ways:

  --standalone                 this controller alone; others are added later
  --initial-controllers LIST   these, the same list on each of them: ID@HOST:PORT:DIRECTORY-ID,...
  --no-initial-controllers     nobody here: this controller joins a quorum that exists

examples:
  moldau storage random-uuid
  moldau storage format --cluster-id q1Sh-9_ISia_zwGINzRvyQ --config server.properties
  moldau storage format --cluster-id q1Sh-9_ISia_zwGINzRvyQ --config controller.properties --standalone
  moldau storage format --cluster-id q1Sh-9_ISia_zwGINzRvyQ --config server.properties --add-scram @admin.scram"""


def configure(parser: ArgumentParser) -> None:
    parser.description = "Prepare the data directories of a node, and show whose they are."
    commands = add_subcommands(parser)
    child = add_subcommand(
        commands, "format", format_directories, "make the data directories those of a node in a cluster", _FORMAT_EPILOG
    )
    child.add_argument("--cluster-id", "-t", metavar="ID", required=True, help="the cluster the node belongs to")
    _add_settings(child)
    child.add_argument(
        "--ignore-formatted", "-g", action="store_true", help="leave directories alone that are formatted already"
    )
    child.add_argument("--release-version", "-r", metavar="VERSION", help="the release whose records are used, as 4.3")
    child.add_argument(
        "--feature",
        "-f",
        metavar="NAME=LEVEL",
        action="append",
        type=_feature,
        default=[],
        help="a feature; repeatable",
    )
    child.add_argument(
        "--add-scram",
        "-S",
        metavar="CREDENTIAL",
        action="append",
        default=[],
        help="a user the cluster begins with, as SCRAM-SHA-256=[name=USER,password=...]; @FILE reads it from a file; "
        "repeatable",
    )
    child.add_argument("--standalone", "-s", action="store_true", help="this controller is the only voter at first")
    child.add_argument(
        "--initial-controllers",
        "-I",
        metavar="LIST",
        type=checked(_initial_controllers),
        help="the first voters, as ID@HOST:PORT:DIRECTORY-ID separated by commas",
    )
    child.add_argument(
        "--no-initial-controllers", "-N", action="store_true", help="this controller will join a quorum that exists"
    )
    child = add_subcommand(commands, "info", info, "show the data directories of a node and whose they are")
    _add_settings(child)
    add_json(child)
    add_subcommand(commands, "random-uuid", random_uuid, "print an id for a new cluster or directory")


def _add_settings(parser: ArgumentParser) -> None:
    parser.add_argument("--config", "-c", metavar="FILE", help="the server.properties of the node")
    parser.add_argument("--data", metavar="DIR", help="where logs and metadata are kept, as for `moldau start`")
    parser.add_argument(
        "--set", metavar="NAME=VALUE", action="append", type=key_value, default=[], help="a setting; repeatable"
    )


def format_directories(options: Namespace) -> int:
    from moldau.node.formatting import Wanted, format_storage
    from moldau.node.scram_bootstrap import parse_scram
    from moldau.runtime.chance import SystemRandom
    from moldau.runtime.disk import RealDisk

    random = SystemRandom()
    wanted = Wanted(
        options.cluster_id,
        options.release_version,
        dict(options.feature),
        options.ignore_formatted,
        options.standalone,
        options.initial_controllers,
        options.no_initial_controllers,
        [parse_scram(_content(text), random) for text in options.add_scram],
    )
    for line in format_storage(_config(options), wanted, RealDisk(), random, time.time_ns() // 1_000_000):
        print(line)
    return DONE


def info(options: Namespace) -> int:
    """Status 1 if something is wrong, as a script that prepares a node wants to know."""
    from moldau.node.formatting import directories_of
    from moldau.runtime.disk import RealDisk
    from moldau.storage.log_dirs import LogDirError, read_meta_properties
    from moldau.types import uuid_to_text

    config, disk = _config(options), RealDisk()
    found: dict[str, dict[str, str]] = {}
    problems = []
    for path in directories_of(config):
        if not disk.is_directory(path):
            problems.append(f"{path} does not exist.")
            continue
        try:
            meta = read_meta_properties(disk, path)
        except LogDirError as error:
            problems.append(str(error))
            continue
        if meta is None:
            problems.append(f"{path} is not formatted.")
            continue
        found[path] = {
            "cluster.id": meta.cluster_id,
            "directory.id": uuid_to_text(meta.directory_id),
            "node.id": str(meta.node_id),
        }
        if meta.node_id != config.node_id:
            problems.append(f"{path} belongs to node {meta.node_id}, and the settings are those of {config.node_id}.")
    if len({values["cluster.id"] for values in found.values()}) > 1:
        problems.append("The directories belong to different clusters.")
    if options.json:
        print_json({"directories": found, "problems": problems})
    else:
        for path, values in found.items():
            print(f"{path}: {', '.join(f'{name}={value}' for name, value in values.items())}")
        for problem in problems:
            print(f"Problem: {problem}")
    return FAILED if problems else DONE


def random_uuid(options: Namespace) -> int:
    from moldau.runtime.chance import SystemRandom
    from moldau.storage.log_dirs import random_id
    from moldau.types import uuid_to_text

    print(uuid_to_text(random_id(SystemRandom())))
    return DONE


def _config(options: Namespace) -> BrokerConfig:
    from moldau.cli.start import node_properties, read_properties
    from moldau.config.broker import BrokerConfig

    given = {} if options.config is None else read_properties(options.config)
    return BrokerConfig.parse(node_properties(given, options.data, None, options.set))


def _content(text: str) -> str:
    """What everybody on the machine may read on the command line, or what a file says that they may not."""
    if not text.startswith("@"):
        return text
    with open(text[1:], encoding="utf-8") as file:
        return file.read().strip()


def _initial_controllers(text: str) -> list[InitialController]:
    from moldau.node.formatting import parse_initial_controllers

    return parse_initial_controllers(text)


def _feature(text: str) -> tuple[str, int]:
    name, level = key_value(text)
    if not (level.isascii() and level.isdigit()):
        raise ArgumentTypeError(f"{text!r} is not of the form NAME=LEVEL with a number")
    return name, int(level)
