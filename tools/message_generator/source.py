"""Lines of Python on their way into a generated file, laid out as the formatter would."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from message_generator.model import FIXED_SIZE, Field

WIDTH = 120


class Source:
    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0
        # Names from `primitives` and `message` that the text uses, and the formats of its runs.
        self.primitives: set[str] = set()
        self.helpers: set[str] = set()
        self.formats: set[str] = set()

    def line(self, text: str = "") -> None:
        self._lines.append("    " * self._depth + text if text else "")

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def primitive(self, name: str) -> str:
        self.primitives.add(name)
        return name

    def helper(self, name: str) -> str:
        self.helpers.add(name)
        return name

    def fits(self, text: str) -> bool:
        return 4 * self._depth + len(text) <= WIDTH

    def call(self, head: str, arguments: Sequence[str], tail: str = ")") -> None:
        """`head` ends with an opening parenthesis."""
        text = f"{head}{', '.join(arguments)}{tail}"
        if self.fits(text):
            self.line(text)
            return
        with self.block(head):
            for argument in arguments:
                self.line(argument + ",")
        self.line(tail)

    def assign(self, target: str, value: str) -> None:
        if self.fits(f"{target} = {value}"):
            self.line(f"{target} = {value}")
            return
        with self.block(f"{target} = ("):
            self.line(value)
        self.line(")")

    @contextmanager
    def when_any(self, tests: Sequence[str]) -> Iterator[None]:
        text = f"if {' or '.join(tests)}:"
        if self.fits(text):
            with self.block(text):
                yield
            return
        with self.block("if ("):
            for index, test in enumerate(tests):
                self.line(f"or {test}" if index else test)
        with self.block("):"):
            yield

    @contextmanager
    def opened(self, head: str, arguments: Sequence[str], tail: str) -> Iterator[None]:
        """A call whose last line opens a block."""
        self.call(head, arguments, tail)
        self._depth += 1
        yield
        self._depth -= 1

    def unpack(self, fields: Sequence[Field]) -> None:
        """Reads a run of fixed fields straight into the attributes."""
        targets = [f"item.{field.name}" for field in fields]
        source = f"_unpack_{self.format(fields)}(data, pos)"
        text = f"{', '.join(targets)} = {source}" if len(targets) > 1 else f"({targets[0]},) = {source}"
        if self.fits(text):
            self.line(text)
        else:
            with self.block("("):
                for target in targets:
                    self.line(target + ",")
            self.line(f") = {source}")
        self.line(f"pos += {sum(FIXED_SIZE[field.type][1] for field in fields)}")

    def pack(self, fields: Sequence[Field]) -> None:
        self.call(f"buf += _pack_{self.format(fields)}(", [f"item.{field.name}" for field in fields])

    def format(self, fields: Sequence[Field]) -> str:
        """The struct format of a run in a form that can be part of a name."""
        name = format_name("".join(FIXED_SIZE[field.type][0] for field in fields))
        self.formats.add(name)
        return name


def format_name(format: str) -> str:
    return format.replace("16s", "u").replace("?", "o")


def format_code(name: str) -> str:
    return name.replace("u", "16s").replace("o", "?")


def imports(module: str, names: Iterable[str]) -> list[str]:
    """One import statement, sorted as the linter does: constants, classes, functions, and int8 before int16."""

    def key(name: str) -> tuple[int, list[str | int]]:
        parts = [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]
        return (0 if name.isupper() else 1 if name[0].isupper() else 2), parts

    ordered = sorted(names, key=key)
    if not ordered:
        return []
    text = f"from {module} import {', '.join(ordered)}"
    if len(text) <= WIDTH:
        return [text]
    return [f"from {module} import (", *(f"    {name}," for name in ordered), ")"]
