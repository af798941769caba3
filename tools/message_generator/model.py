"""What a definition says, as plain values: messages, structs, fields and the versions they exist in.

All version ranges are resolved against the message they belong to: nothing is open-ended here, and a field's range
never reaches outside the range of the struct that holds it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

# Fields of these types have one size at all versions: name -> (struct code, bytes).
FIXED_SIZE = {
    "bool": ("?", 1),
    "int8": ("b", 1),
    "int16": ("h", 2),
    "int32": ("i", 4),
    "int64": ("q", 8),
    "uint16": ("H", 2),
    "uint32": ("I", 4),
    "float64": ("d", 8),
    "uuid": ("16s", 16),
}
INTEGERS = frozenset({"int8", "int16", "int32", "int64"})
VARIABLE_SIZE = frozenset({"string", "bytes", "records"})


class Versions(NamedTuple):
    """An inclusive range."""

    low: int
    high: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.low <= version <= self.high

    def covers(self, other: Versions) -> bool:
        return self.low <= other.low and self.high >= other.high

    def intersect(self, other: Versions) -> Versions | None:
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Versions(low, high) if low <= high else None

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"


@dataclass(slots=True)
class Field:
    name: str
    type: str  # a primitive of FIXED_SIZE or VARIABLE_SIZE, or the name of a struct
    is_array: bool
    versions: Versions
    nullable: Versions | None = None
    default: str | None = None  # as written in the definition; None stands for the type's zero value
    tag: int | None = None
    ignorable: bool = False
    legacy: bool = False  # keeps the old length prefix at flexible versions (the client id in request headers)
    struct: Struct | None = None  # what `type` names, if it is not a primitive

    @property
    def is_fixed(self) -> bool:
        return not self.is_array and self.type in FIXED_SIZE

    def is_nullable(self, version: int) -> bool:
        return self.nullable is not None and version in self.nullable


@dataclass(slots=True)
class Struct:
    name: str
    fields: list[Field]
    versions: Versions
    class_name: str = ""  # the Python class; differs from `name` where request and response use one name twice

    @property
    def holds_arrays(self) -> bool:
        """Then one of it may take any time, and it can be read in slices."""
        return any(field.is_array or (field.struct is not None and field.struct.holds_arrays) for field in self.fields)

    @property
    def holds_many(self) -> bool:
        """The same for writing: arrays of numbers are written in one go."""
        return any(
            (field.is_array and field.type not in INTEGERS) or (field.struct is not None and field.struct.holds_many)
            for field in self.fields
        )


@dataclass(slots=True)
class Message:
    kind: str  # request, response, header, data, metadata, key, value
    name: str
    versions: Versions
    flexible: Versions | None
    struct: Struct
    api_key: int | None = None
    listeners: tuple[str, ...] = ()
    unstable: bool = False
    commons: list[Struct] = field(default_factory=list)
    topic: str = ""  # where a record is written
    about: tuple[str, ...] = ()  # the comment above the definition, line by line

    def structs(self) -> Iterator[Struct]:
        """Every struct once, those inside before those that hold them."""
        seen: set[int] = set()
        yield from _inner_first(self.struct, seen)

    def is_flexible(self, version: int) -> bool:
        return self.flexible is not None and version in self.flexible

    @property
    def carries_records(self) -> bool:
        return any(field.type == "records" for struct in self.structs() for field in struct.fields)


@dataclass(slots=True)
class Module:
    """One generated file: a request and its response, or a single record."""

    name: str
    source: str
    messages: list[Message]


def _inner_first(struct: Struct, seen: set[int]) -> Iterator[Struct]:
    if id(struct) in seen:
        return
    seen.add(id(struct))
    for member in struct.fields:
        if member.struct is not None:
            yield from _inner_first(member.struct, seen)
    yield struct
