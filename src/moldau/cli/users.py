"""`moldau users`: who may log in by SCRAM: list, describe, add, change a password, remove."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from moldau.cli.arguments import add_json, add_subcommand, add_subcommands, at_least
from moldau.cli.connection import add_connection, connect
from moldau.cli.failure import FAILED, USAGE, Failure
from moldau.cli.table import print_json, print_table
from moldau.errors import KafkaError

if TYPE_CHECKING:
    from moldau.client.admin.users import ScramMechanism

NEW_PASSWORD_VARIABLE: Final = "MOLDAU_NEW_PASSWORD"
_MECHANISMS: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")

_ADD_HELP = f"""\
The new password is the first line of --new-password-file (- for standard input), or in {NEW_PASSWORD_VARIABLE}, or
asked for on the terminal; it is never taken from the command line, which everybody on the machine can read. It does
not leave this program: the cluster is told what can check it. A user who is there already gets the new password, and
stays connected where he is.

examples:
  moldau users add alice
  moldau users add app-1 --mechanism SCRAM-SHA-512 --iterations 8192 --new-password-file secret.txt
  pwgen 32 1 | tee alice.txt | moldau users add alice --new-password-file -"""


def configure(parser: ArgumentParser) -> None:
    parser.description = "Look at and change the users who log in by SCRAM. Their passwords are kept by the cluster."
    commands = add_subcommands(parser)
    listed = add_subcommand(commands, "list", _list, "list the users and the mechanisms they may log in by")
    describe = add_subcommand(commands, "describe", _describe, "show mechanisms and iterations of users")
    describe.add_argument("users", metavar="USER", nargs="+")
    add = add_subcommand(commands, "add", _add, "add a user, or give one a new password", _ADD_HELP)
    add.add_argument("user", metavar="USER")
    add.add_argument("--iterations", metavar="N", type=at_least(4096), help="4096, the default, to 16384")
    add.add_argument("--new-password-file", metavar="FILE", help="where the new password is; - for standard input")
    remove = add_subcommand(commands, "remove", _remove, "remove a user, or one of his mechanisms")
    remove.add_argument("user", metavar="USER")
    for command in (add, remove):
        command.add_argument(
            "--mechanism",
            metavar="NAME",
            choices=_MECHANISMS,
            action="append",
            help="SCRAM-SHA-256 or SCRAM-SHA-512; repeatable (default both)",
        )
    for command in (listed, describe, add, remove):
        add_json(command)
        add_connection(command)


def _list(options: Namespace) -> None:
    from moldau.client.admin.users import describe_credentials

    with connect(options) as cluster:
        found = cluster.run(describe_credentials(None))
    _print(options, {user: infos for user, infos in found.items() if not isinstance(infos, KafkaError)})


def _describe(options: Namespace) -> int | None:
    from moldau.client.admin.users import describe_credentials

    names = list(dict.fromkeys(options.users))
    with connect(options) as cluster:
        found = cluster.run(describe_credentials(names))
    _print(options, {user: infos for user, infos in found.items() if not isinstance(infos, KafkaError)})
    missing = [user for user, infos in found.items() if isinstance(infos, KafkaError)]
    if missing:
        print(f"moldau: There is no user {', '.join(missing)}.", file=sys.stderr)
        return FAILED
    return None


def _print(options: Namespace, found: Mapping[str, list[tuple[ScramMechanism, int]]]) -> None:
    rows = [
        (user, each.name.replace("_", "-"), iterations)
        for user, infos in sorted(found.items())
        for each, iterations in infos
    ]
    if options.json:
        print_json([{"user": user, "mechanism": name, "iterations": count} for user, name, count in rows])
    else:
        print_table(["USER", "MECHANISM", "ITERATIONS"], rows)


def _add(options: Namespace) -> None:
    from moldau.client.admin.users import UserScramCredentialUpsertion, alter_credentials

    password = _new_password(options)
    names = list(dict.fromkeys(options.mechanism or _MECHANISMS))
    upsertions = [
        UserScramCredentialUpsertion(options.user, name, password, iterations=options.iterations) for name in names
    ]
    with connect(options) as cluster:
        _check(cluster.run(alter_credentials([], upsertions)))
    _say(options, "may log in by", names)


def _remove(options: Namespace) -> None:
    from moldau.client.admin.users import UserScramCredentialDeletion, alter_credentials, describe_credentials

    with connect(options) as cluster:
        names = list(dict.fromkeys(options.mechanism or ()))
        if not names:
            found = cluster.run(describe_credentials([options.user]))[options.user]
            if isinstance(found, KafkaError):
                raise Failure(f"There is no user {options.user}.", FAILED)
            names = [each.name.replace("_", "-") for each, _ in found]
        deletions = [UserScramCredentialDeletion(options.user, name) for name in names]
        _check(cluster.run(alter_credentials(deletions, [])))
    _say(options, "may no longer log in by", names)


def _say(options: Namespace, what: str, mechanisms: list[str]) -> None:
    if options.json:
        print_json({"user": options.user, "mechanisms": mechanisms})
    else:
        print(f"{options.user} {what} {' and '.join(mechanisms)}.")


def _check(outcomes: Mapping[str, KafkaError | None]) -> None:
    for error in outcomes.values():
        if error is not None:
            raise error


def _new_password(options: Namespace) -> str:
    if options.new_password_file is not None:
        password = _first_line(options.new_password_file)
    elif NEW_PASSWORD_VARIABLE in os.environ:
        password = os.environ[NEW_PASSWORD_VARIABLE]
    elif sys.stdin.isatty():
        password = _asked_for(options.user)
    else:
        raise Failure(
            f"There is no terminal to ask for the new password: give --new-password-file or {NEW_PASSWORD_VARIABLE}.",
            USAGE,
        )
    if not password:
        raise Failure("The new password is empty.", USAGE)
    return password


def _first_line(path: str) -> str:
    if path == "-":
        return sys.stdin.readline().rstrip("\r\n")
    with open(path, encoding="utf-8") as file:
        return file.readline().rstrip("\r\n")


def _asked_for(user: str) -> str:
    from getpass import getpass

    password = getpass(f"New password of {user}: ")
    if getpass("The same again: ") != password:
        raise Failure("The two passwords differ.", USAGE)
    return password
