"""`moldau tokens`: delegation tokens: ask for one, list, renew and end them."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from base64 import b64decode
from binascii import Error as NotBase64
from typing import TYPE_CHECKING, Any

from moldau.cli.arguments import add_json, add_subcommand, add_subcommands, checked
from moldau.cli.connection import add_connection, connect
from moldau.cli.failure import USAGE, Failure
from moldau.cli.table import print_json, print_table
from moldau.quantities import format_time, parse_duration

if TYPE_CHECKING:
    from moldau.client.admin.tokens import TokenDescription

_CREATE_HELP = """\
Who holds the token may log in as its owner, by SCRAM: the id is the user name, the HMAC the password, and the line of
sasl.jaas.config has tokenauth="true" beside them. One has to be logged in to ask, and not by a token.

examples:
  moldau tokens create --config alice.properties
  moldau tokens create --renewer bob --lifetime 2d --config alice.properties
  moldau tokens create --owner carol --config admin.properties"""
_HMAC_HELP = """\
The token is named by its id, of those that one may see, or by its HMAC, the first line of --hmac-file (- for standard
input); an HMAC is a password, and never taken from the command line."""


def configure(parser: ArgumentParser) -> None:
    parser.description = "Ask for delegation tokens, list, renew and end them."
    commands = add_subcommands(parser)
    create = add_subcommand(commands, "create", _create, "ask for a token, and print its id and HMAC", _CREATE_HELP)
    create.add_argument("--owner", metavar="USER", help="whom the token is for (default: whoever asks)")
    create.add_argument("--renewer", metavar="USER", action="append", default=[], help="may renew it, too; repeatable")
    create.add_argument(
        "--lifetime",
        metavar="TIME",
        type=checked(parse_duration),
        help="how long it can be renewed, at most delegation.token.max.lifetime.ms, which is the default",
    )
    listed = add_subcommand(commands, "list", _list, "list the tokens one owns, asked for or may renew")
    listed.add_argument("--owner", metavar="USER", action="append", help="only of these users; repeatable")
    renew = add_subcommand(commands, "renew", _renew, "prolong a token", _HMAC_HELP)
    expire = add_subcommand(commands, "expire", _expire, "end a token at once, or after a time", _HMAC_HELP)
    for command, what in ((renew, "how long it is to last from now on"), (expire, "end it after this time")):
        command.add_argument("id", metavar="ID", nargs="?")
        command.add_argument("--hmac-file", metavar="FILE", help="where the HMAC is; - for standard input")
        command.add_argument("--period", metavar="TIME", type=checked(parse_duration), help=what)
    for command in (create, listed, renew, expire):
        add_json(command)
        add_connection(command)


def _create(options: Namespace) -> None:
    from moldau.client.admin.tokens import create_token

    lifetime = -1 if options.lifetime is None else round(options.lifetime * 1000)
    with connect(options) as cluster:
        token = cluster.run(create_token(options.renewer, owner=options.owner, max_lifetime_ms=lifetime))
    if options.json:
        print_json({**_json(token), "hmac": token.password})
        return
    print(f"ID    {token.id}")
    print(f"HMAC  {token.password}")
    print(f"Of {token.owner}; runs out at {format_time(token.expiry_ms)}, renewable to {format_time(token.max_ms)}.")


def _list(options: Namespace) -> None:
    from moldau.client.admin.tokens import describe_tokens

    with connect(options) as cluster:
        tokens = cluster.run(describe_tokens(options.owner))
    if options.json:
        print_json([_json(token) for token in tokens])
        return
    rows = [
        (
            token.id,
            token.owner,
            token.requester,
            list(token.renewers),
            format_time(token.issued_ms),
            format_time(token.expiry_ms),
            format_time(token.max_ms),
        )
        for token in sorted(tokens, key=lambda token: (token.owner, token.issued_ms))
    ]
    print_table(["ID", "OWNER", "REQUESTER", "RENEWERS", "ISSUED", "RUNS OUT", "RENEWABLE TO"], rows)


def _json(token: TokenDescription) -> dict[str, Any]:
    return {
        "id": token.id,
        "owner": token.owner,
        "requester": token.requester,
        "renewers": list(token.renewers),
        "issued_ms": token.issued_ms,
        "expiry_ms": token.expiry_ms,
        "max_ms": token.max_ms,
    }


def _renew(options: Namespace) -> None:
    from moldau.client.admin.tokens import renew_token

    with connect(options) as cluster:
        expiry = cluster.run(renew_token(_hmac(options, cluster), _period_ms(options)))
    _say(options, f"It runs out at {format_time(expiry)}.", expiry)


def _expire(options: Namespace) -> None:
    from moldau.client.admin.tokens import expire_token

    with connect(options) as cluster:
        expiry = cluster.run(expire_token(_hmac(options, cluster), _period_ms(options)))
    _say(options, f"It ends at {format_time(expiry)}." if options.period else "It has ended.", expiry)


def _say(options: Namespace, sentence: str, expiry_ms: int) -> None:
    if options.json:
        print_json({"expiry_ms": expiry_ms})
    else:
        print(sentence)


def _period_ms(options: Namespace) -> int:
    return -1 if options.period is None else round(options.period * 1000)


def _hmac(options: Namespace, cluster: Any) -> bytes:
    if (options.id is None) is (options.hmac_file is None):
        raise Failure("Name the token by its ID or by --hmac-file.", USAGE)
    if options.hmac_file is None:
        from moldau.client.admin.tokens import describe_tokens

        for token in cluster.run(describe_tokens()):
            if token.id == options.id:
                return bytes(token.hmac)
        raise Failure(f"There is no token {options.id}, or it is none of yours.")
    try:
        return b64decode(_first_line(options.hmac_file), validate=True)
    except (NotBase64, ValueError):
        raise Failure("The HMAC is not in base64.", USAGE) from None


def _first_line(path: str) -> str:
    if path == "-":
        return sys.stdin.readline().strip()
    with open(path, encoding="utf-8") as file:
        return file.readline().strip()
