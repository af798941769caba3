"""Arguments that several commands share, so that they look and behave the same everywhere."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable
from typing import Any, TypeVar

from moldau.cli.failure import USAGE
from moldau.errors import MoldauError

T = TypeVar("T")

_COLUMNS = 80  # of what is not a terminal


class HelpFormatter(RawDescriptionHelpFormatter):
    """Descriptions as they are written. argparse makes a formatter for every single argument, to see whether it could
    be shown, and the first would load `shutil` and all its compressors to know how wide a terminal is."""

    def __init__(self, prog: str, **settings: Any) -> None:
        super().__init__(prog, **{"width": _terminal_width() - 2, **settings})


def _terminal_width() -> int:
    wanted = os.environ.get("COLUMNS", "")
    if wanted.isdecimal() and int(wanted):
        return int(wanted)
    try:
        return os.get_terminal_size(1).columns or _COLUMNS
    except OSError:
        return _COLUMNS


def add_json(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def add_subcommands(parser: ArgumentParser) -> Any:
    """Room for subcommands; the bare command shows its help, as somebody who types it wants to know what there is."""

    def show_help(options: Namespace) -> int:
        parser.print_help()
        return USAGE

    parser.set_defaults(run=show_help)
    return parser.add_subparsers(title="subcommands", metavar="SUBCOMMAND")


def add_subcommand(
    commands: Any, name: str, run: Callable[[Namespace], int | None], summary: str, epilog: str | None = None
) -> ArgumentParser:
    """A subcommand whose help opens with the same sentence that lists it."""
    child: ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=summary[:1].upper() + summary[1:] + ".",
        epilog=epilog,
        formatter_class=HelpFormatter,
    )
    child.set_defaults(run=run)
    return child


def checked(parse: Callable[[str], T]) -> Callable[[str], T]:
    """A parser of ours as an argparse type: its sentence becomes argparse's."""

    def convert(text: str) -> T:
        try:
            return parse(text)
        except (MoldauError, ValueError) as error:
            raise ArgumentTypeError(str(error)) from error

    return convert


def key_value(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        # What stands behind the sign may be a secret.
        raise ArgumentTypeError(f"{name!r} is not of the form NAME=VALUE")
    return name.strip(), value.strip()


def at_least(lowest: int) -> Callable[[str], int]:
    def convert(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise ArgumentTypeError(f"{text!r} is not a number") from None
        if number < lowest:
            raise ArgumentTypeError(f"{text} is below {lowest}")
        return number

    return convert
