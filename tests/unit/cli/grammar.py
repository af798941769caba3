"""Every command there is, with its parser: what the tests go over that hold for all of them."""

from __future__ import annotations

from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from pathlib import Path

from moldau.cli.main import COMMANDS, build_parser

# What a command must be given beside its positional arguments.
NEEDED = {
    "topics alter": ["--partitions", "3"],
    "topics delete-records": ["--before", "5"],
    "topics reassign": ["--replicas", "1"],
    "configs describe": ["--topic", "t"],
    "configs set": ["--topic", "t", "retention.ms=1"],
    "configs unset": ["--topic", "t"],
    "quotas set": ["--user", "u"],
    "quotas remove": ["--user", "u"],
    "acls add": ["--topic", "t", "--principal", "User:x", "--operation", "read"],
    "acls remove": ["--topic", "t", "--principal", "User:x", "--operation", "read"],
    "acls test": ["--topic", "t", "--principal", "User:x", "--operation", "read"],
    "groups reset-offsets": ["--all-topics", "--to", "start"],
    "share-groups reset-offsets": ["--all-topics", "--to", "start"],
    "transactions abort": ["x"],
    "tokens renew": ["x"],
    "tokens expire": ["x"],
    "top": ["--count", "1"],
    "users add": ["--new-password-file", "PASSWORD"],
    "quorum add": ["1", "--directory-id", "AAAAAAAAAAAAAAAAAAAAAQ", "--endpoint", "C://127.0.0.1:1"],
    "quorum remove": ["--directory-id", "AAAAAAAAAAAAAAAAAAAAAQ"],
}
VALUES = {"NAME=VALUE": "retention.ms=1", "ID": "1"}
# They ask no broker before Spark runs, or serve a page also while nobody answers.
LATER = ("history", "console")


def commands() -> dict[str, ArgumentParser]:
    """By their words, as in `topics list`; those that only lead to others are left out."""
    found: dict[str, ArgumentParser] = {}
    for name in COMMANDS:
        parser = children(build_parser(name, alone=True))[name]
        found.update(_leaves(name, parser))
    return found


def children(parser: ArgumentParser) -> dict[str, ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            return dict(action.choices)
    return {}


def _leaves(words: str, parser: ArgumentParser) -> Iterator[tuple[str, ArgumentParser]]:
    below = children(parser)
    if not below:
        yield words, parser
    for name, child in below.items():
        yield from _leaves(f"{words} {name}", child)


def asking() -> dict[str, ArgumentParser]:
    """Those that talk to a cluster, and do so first of all."""
    return {
        words: parser
        for words, parser in commands().items()
        if "--bootstrap" in parser._option_string_actions and not words.startswith(LATER)
    }


def example(words: str, parser: ArgumentParser, password: Path) -> list[str]:
    given = [str(password) if each == "PASSWORD" else each for each in NEEDED.get(words, [])]
    positionals = [
        VALUES.get(str(action.metavar), "x")
        for action in parser._actions
        if not action.option_strings and action.nargs not in ("?", "*")
    ]
    required = [
        word
        for action in parser._actions
        if action.option_strings and action.required and action.option_strings[-1] not in given
        for word in (action.option_strings[-1], "1")
    ]
    if words == "topics reassign":
        positionals = ["x"]
    return [*words.split(), *positionals, *required, *given]
