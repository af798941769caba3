"""Avro's binary encoding, read by a schema that somebody gave.

The schema is checked by fastavro. The bytes are read here: a foreign record may claim a million million items of
nothing or a tree as deep as it is long, and fastavro would believe it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from struct import Struct
from typing import Any, Final

import fastavro
from fastavro.schema import SchemaParseException

from moldau.console.unreadable import Unreadable

_DEEPEST: Final = 64
_MOST_ITEMS: Final = 50_000
_LONGEST_SCHEMA: Final = 200_000
_FLOAT: Final = Struct("<f")
_DOUBLE: Final = Struct("<d")


@dataclass(slots=True, frozen=True)
class AvroSchema:
    """`names` are the named types in it, by their full names; `text` is as it was given."""

    text: str
    top: Any
    names: dict[str, Any]


def parse_avro_schema(text: str) -> AvroSchema:
    """ValueError with the reason if it is none."""
    if len(text) > _LONGEST_SCHEMA:
        raise ValueError("it is too long")
    names: dict[str, Any] = {}
    try:
        top = fastavro.parse_schema(json.loads(text), named_schemas=names)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except (SchemaParseException, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"it is no Avro schema: {str(error)[:200] or type(error).__name__}") from None
    return AvroSchema(text, top, names)


def read_avro(data: bytes, schema: AvroSchema) -> Any:
    """What the bytes say, as JSON has it; Unreadable if they do not fit the schema, or not to their end."""
    reader = _Reader(data, schema.names)
    value = reader.read(schema.top, 0)
    if reader.at != len(data):
        raise Unreadable(f"{len(data) - reader.at} bytes are left over after what the schema describes.")
    return value


class _Reader:
    def __init__(self, data: bytes, names: dict[str, Any]) -> None:
        self.at = 0
        self._data = data
        self._names = names
        self._items = 0

    def read(self, schema: Any, depth: int) -> Any:
        self._items += 1
        if depth > _DEEPEST or self._items > _MOST_ITEMS:
            raise Unreadable("it is larger or deeper than the console reads.")
        if isinstance(schema, list):
            return self.read(schema[self._index(len(schema), "a union")], depth + 1)
        if isinstance(schema, str):
            named = self._names.get(schema)
            return self._plain(schema) if named is None else self.read(named, depth + 1)
        kind = schema["type"]
        if kind in ("record", "error"):
            return {each["name"]: self.read(each["type"], depth + 1) for each in schema["fields"]}
        if kind == "enum":
            return schema["symbols"][self._index(len(schema["symbols"]), "an enum")]
        if kind == "array":
            return self._blocks(lambda: self.read(schema["items"], depth + 1))
        if kind == "map":
            return dict(self._blocks(lambda: (self._text(), self.read(schema["values"], depth + 1))))
        if kind == "fixed":
            return _logical(self._take(schema["size"]), schema)
        if isinstance(kind, (dict, list)):
            return self.read(kind, depth + 1)
        return _logical(self._plain(kind), schema)

    def _plain(self, kind: str) -> Any:
        match kind:
            case "null":
                return None
            case "boolean":
                return self._take(1) != b"\0"
            case "int" | "long":
                return self._long()
            case "float":
                return _finite(_FLOAT.unpack(self._take(4))[0])
            case "double":
                return _finite(_DOUBLE.unpack(self._take(8))[0])
            case "bytes":
                return self._take(self._size())
            case "string":
                return self._text()
        raise Unreadable(f"the schema has a type {kind!r}, which is not known.")

    def _blocks(self, item: Callable[[], Any]) -> list[Any]:
        items: list[Any] = []
        while count := self._long():
            if count < 0:
                self._long()  # how many bytes the block has, for those who skip it
                count = -count
            items.extend(item() for _ in range(count))
        return items

    def _index(self, count: int, what: str) -> int:
        index = self._long()
        if not 0 <= index < count:
            raise Unreadable(f"at byte {self.at} {what} has no member {index}.")
        return index

    def _text(self) -> str:
        return self._take(self._size()).decode("utf-8", "replace")

    def _size(self) -> int:
        size = self._long()
        if size < 0:
            raise Unreadable(f"at byte {self.at} something has a negative length.")
        return size

    def _take(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self._data):
            raise Unreadable(f"it ends within what begins at byte {self.at}.")
        taken = self._data[self.at : end]
        self.at = end
        return taken

    def _long(self) -> int:
        value = shift = 0
        while True:
            (byte,) = self._take(1)
            value |= (byte & 127) << shift
            if byte < 128:
                return (value >> 1) ^ -(value & 1)
            shift += 7
            if shift > 63:
                raise Unreadable(f"at byte {self.at} a number does not end.")


def _finite(value: float) -> float | str:
    """JSON has no word for what is no number."""
    return value if value - value == 0 else str(value)


def _logical(value: Any, schema: dict[str, Any]) -> Any:
    try:
        return _meant(value, schema)
    except (OverflowError, ValueError, ArithmeticError):
        return value  # no calendar has it


def _meant(value: Any, schema: dict[str, Any]) -> Any:
    kind = schema.get("logicalType", "")
    if isinstance(value, bytes):
        if kind == "decimal":
            number = Decimal(int.from_bytes(value, "big", signed=True))
            return str(number.scaleb(-int(schema.get("scale", 0)), Context(prec=len(str(number)) + 1)))
        return f"0x{value.hex()}"
    if kind == "date":
        return str(date(1970, 1, 1) + timedelta(days=value))
    unit = {"millis": 1000, "micros": 1_000_000}.get(kind.rpartition("-")[2])
    if unit is None:
        return value
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value * 1_000_000 // unit)
    if kind.startswith("time-"):
        return moment.time().isoformat()
    return moment.replace(tzinfo=None).isoformat() + ("Z" if kind.startswith("timestamp-") else "")
