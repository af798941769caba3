"""Every command there is, with its parser: what the tests go over that hold for all of them."""

from __future__ import annotations

from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator

from moldau.cli.main import COMMANDS, build_parser


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
