"""What `moldau configs set` is to change: words of the command line, and values from files and standard input."""

from __future__ import annotations

import re
import sys
from argparse import ArgumentTypeError, Namespace
from pathlib import Path
from typing import Final

from moldau.cli.failure import USAGE, Failure

# Names of listeners and mechanisms are parts of names: listener.name.inside.scram-sha-512.sasl.jaas.config.
_ASSIGNMENT: Final = re.compile(r"\s*([A-Za-z0-9_.-]*[A-Za-z0-9_.])\s*(\+|-)?=(.*)", re.DOTALL)
_REFERENCE: Final = re.compile(r"\$\{[^}:]+:[^}]+\}")
_OPERATIONS: Final = {None: "SET", "+": "APPEND", "-": "SUBTRACT"}


def parse_change(text: str) -> tuple[str, str, str]:
    match = _ASSIGNMENT.fullmatch(text)
    if not match:
        # What stands behind the sign may be a secret.
        raise ArgumentTypeError(f"{text.partition('=')[0]!r} is not of the form NAME=VALUE")
    return match[1], _OPERATIONS[match[2]], match[3].strip()


def is_reference(value: str) -> bool:
    """Whether it only says where a secret is, which the broker finds out: ${file:PATH:NAME}."""
    return _REFERENCE.fullmatch(value) is not None


def changes_from_files(options: Namespace) -> list[tuple[str, str]]:
    from moldau.config.definition import ConfigError
    from moldau.config.properties import decode_properties

    if [options.file, *(path for _, path in options.value_file)].count("-") > 1:
        raise Failure("Standard input can be read only once.", USAGE)
    found: list[tuple[str, str]] = []
    if options.file is not None:
        try:
            found += decode_properties(_content(options.file)).items()
        except ConfigError:
            # Its words show what stands in the file.
            raise Failure(f"{options.file} is no file of properties.", USAGE) from None
    for name, path in options.value_file:
        try:
            text = _content(path).decode()
        except UnicodeDecodeError:
            raise Failure(f"{path} is not text in UTF-8.", USAGE) from None
        found.append((name, text.removesuffix("\n").removesuffix("\r")))
    return found


def _content(path: str) -> bytes:
    return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
