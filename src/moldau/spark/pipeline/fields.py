"""What a field of a pipeline's file may hold, and how a section is read against its table of fields.

A table names every field once, with its type and a line for people. Reading, the list of allowed names in an error
and the reference in the documentation all come from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from moldau.spark.pipeline.document import Node
from moldau.spark.pipeline.place import Problems, allowed

_UNITS: Final = {
    "ms": 1, "millisecond": 1, "milliseconds": 1,
    "s": 1000, "second": 1000, "seconds": 1000,
    "m": 60_000, "min": 60_000, "minute": 60_000, "minutes": 60_000,
    "h": 3_600_000, "hour": 3_600_000, "hours": 3_600_000,
    "d": 86_400_000, "day": 86_400_000, "days": 86_400_000,
}  # fmt: skip
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)\s*")
NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Misfit(Exception):
    """The value is not one the field takes; the text says what it takes, as the end of `... takes`."""


class Type(NamedTuple):
    """`takes` completes the sentence `the field takes ...`; `read` returns the value or raises Misfit."""

    takes: str
    read: Callable[[Node], Any]


class Field(NamedTuple):
    name: str
    type: Type
    meaning: str
    default: Any = None
    required: bool = False


Table = Mapping[str, Field]


def table(*fields: Field) -> Table:
    return {field.name: field for field in fields}


class Duration(int):
    """Milliseconds; its text is the interval that Spark reads."""

    @property
    def interval(self) -> str:
        return f"{int(self)} milliseconds"

    @property
    def seconds(self) -> float:
        return int(self) / 1000

    def __str__(self) -> str:
        for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000)):
            if self and int(self) % size == 0:
                return f"{int(self) // size} {unit}"
        return f"{int(self)} ms"


def parse_duration(text: str) -> Duration:
    """`500ms`, `30s`, `10 minutes`, `1h 30m`."""
    bare = text.strip().lower()
    parts = _DURATION.findall(bare)
    if not parts or _DURATION.sub("", bare) or any(unit not in _UNITS for _, unit in parts):
        raise ValueError(text)
    return Duration(round(sum(float(number) * _UNITS[unit] for number, unit in parts)))


# ------------------------------------------------------------------------------------------------------------- types


def _text(node: Node) -> str:
    match node.value:
        case str() if node.value.strip():
            return node.value
        case bool():
            raise Misfit
        case int() | float():
            return str(node.value)
    raise Misfit


def _flag(node: Node) -> bool:
    if isinstance(node.value, bool):
        return node.value
    raise Misfit


def _duration(node: Node) -> Duration:
    try:
        if isinstance(node.value, str):
            return parse_duration(node.value)
    except ValueError:
        pass
    raise Misfit


def _texts(node: Node) -> list[str]:
    if isinstance(node.value, list):
        if not node.value:
            raise Misfit
        return [_text(item) for item in node.value]
    return [_text(node)]


def _text_map(node: Node) -> dict[str, str]:
    if not isinstance(node.value, dict) or not node.value:
        raise Misfit
    return {name: _scalar(item) for name, item in node.value.items()}


def _scalar(node: Node) -> str:
    if isinstance(node.value, bool):
        return str(node.value).lower()
    return _text(node)


def _columns(node: Node) -> dict[str, str]:
    """`[a, b]` keeps columns, `{new: expression}` names expressions; `[a, {b: expression}]` mixes them."""
    if isinstance(node.value, dict):
        return _text_map(node)
    columns: dict[str, str] = {}
    for item in node.value if isinstance(node.value, list) else [node]:
        if isinstance(item.value, dict):
            columns |= _text_map(item)
        else:
            name = _text(item)
            columns[name] = name
    if not columns:
        raise Misfit
    return columns


def _function(node: Node) -> Any:
    if callable(node.value):
        return node.value
    if isinstance(node.value, str) and re.fullmatch(r"[^:]+:[A-Za-z_]\w*", node.value.strip()):
        return node.value.strip()
    raise Misfit


def _rows(node: Node) -> list[list[Any]]:
    if not isinstance(node.value, list) or not node.value:
        raise Misfit
    rows = []
    for item in node.value:
        if not isinstance(item.value, list):
            raise Misfit
        rows.append([cell.value for cell in item.value])
    return rows


TEXT: Final = Type("a text", _text)
EXPRESSION: Final = Type("an SQL expression", _text)
SQL: Final = Type("a query in SQL", _text)
SCHEMA: Final = Type("columns with their types, such as `id BIGINT, name STRING`", _text)
PATH: Final = Type("a path", _text)
FLAG: Final = Type("true or false", _flag)
DURATION: Final = Type("a duration, such as 500ms, 30s or 10 minutes", _duration)
TEXTS: Final = Type("a name or a list of names", _texts)
OPTIONS: Final = Type("a mapping of names to values", _text_map)
EXPRESSIONS: Final = Type("a mapping of new columns to SQL expressions, such as `total: sum(amount)`", _text_map)
CHECKS: Final = Type(
    "a mapping of sentences to SQL conditions, such as `the amount is positive: amount > 0`", _text_map
)
COLUMNS: Final = Type("a list of columns, or a mapping of new names to SQL expressions", _columns)
FUNCTION: Final = Type("a Python function, as in `functions.py:clean` or `package.module:clean`", _function)
ROWS: Final = Type("a list of rows, each a list of values", _rows)


def number(lowest: int) -> Type:
    def read(node: Node) -> int:
        if isinstance(node.value, bool) or not isinstance(node.value, int) or node.value < lowest:
            raise Misfit
        return node.value

    return Type(f"a whole number of at least {lowest}", read)


def choice(*words: str) -> Type:
    def read(node: Node) -> str:
        # `false`, `none` and the like are words here, whatever YAML takes them for.
        text = str(node.value).lower() if isinstance(node.value, bool) else node.value
        if text not in words:
            raise Misfit(allowed(str(text), words))
        return str(text)

    return Type("one of " + ", ".join(f"`{word}`" for word in words), read)


# ----------------------------------------------------------------------------------------------------------- reading


def read_fields(
    entries: Mapping[str, Node], known: Table, owner: str, problems: Problems, skip: Sequence[str] = ()
) -> dict[str, Any]:
    """The values of a section, defaults filled in; whatever is wrong is added to `problems`, none is fatal here."""
    values: dict[str, Any] = {name: field.default for name, field in known.items()}
    for name, node in entries.items():
        if name in skip:
            continue
        field = known.get(name)
        if field is None:
            problems.add(node.place, f"{owner} has no field `{name}`; {allowed(name, [*skip, *known])}")
            continue
        values[name] = read_field(node, field, owner, problems)
    for name, field in known.items():
        if field.required and name not in entries:
            place = min((node.place for node in entries.values()), default=None)
            if place is not None:
                problems.add(place, f"{owner} lacks `{name}`, which takes {field.type.takes}.")
    return values


def read_field(node: Node, field: Field, owner: str, problems: Problems) -> Any:
    try:
        return field.type.read(node)
    except Misfit as misfit:
        ending = f"; {misfit}" if misfit.args else f", but it takes {field.type.takes}."
        problems.add(node.place, f"`{field.name}` of {owner} is {node.what}{ending}")
        return field.default
