"""Protobuf without its schema: fields by number, and what their bytes most likely are."""

from __future__ import annotations

from struct import Struct
from typing import Any, Final

from moldau.console.unreadable import Unreadable

_DEEPEST: Final = 32
_MOST_FIELDS: Final = 50_000
_FIXED32: Final = Struct("<I")
_FIXED64: Final = Struct("<Q")


def read_protobuf(data: bytes, *, framed: bool = False) -> dict[str, Any]:
    """By field number; a field that comes several times is a list. `framed`: behind a registry's number stands which
    of the schema's messages it is."""
    budget = [_MOST_FIELDS]
    if framed:
        count, at = _varint(data, 0)
        for _ in range(count >> 1):
            _, at = _varint(data, at)
        data = data[at:]
    return _message(data, 0, budget)


def _message(data: bytes, depth: int, budget: list[int]) -> dict[str, Any]:
    if depth > _DEEPEST:
        raise Unreadable("it is deeper than the console reads.")
    fields: dict[str, Any] = {}
    at = 0
    while at < len(data):
        budget[0] -= 1
        if budget[0] < 0:
            raise Unreadable("it has more fields than the console reads.")
        begin = at
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise Unreadable(f"at byte {begin} there is no field number {number}.")
        value: Any
        if wire == 0:
            value, at = _varint(data, at)
        elif wire == 1:
            (value,), at = _FIXED64.unpack(_taken(data, at, 8)), at + 8
        elif wire == 2:
            size, at = _varint(data, at)
            value, at = _guessed(_taken(data, at, size), depth, budget), at + size
        elif wire == 5:
            (value,), at = _FIXED32.unpack(_taken(data, at, 4)), at + 4
        else:
            raise Unreadable(f"at byte {begin} there is a field of kind {wire}.")
        name = str(number)
        known = fields.get(name)
        if name not in fields:
            fields[name] = value
        elif isinstance(known, list):
            known.append(value)
        else:
            fields[name] = [known, value]
    return fields


def _guessed(data: bytes, depth: int, budget: list[int]) -> Any:
    """Text, a message, or bytes: the wire does not say."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = None
    if text is not None and all(letter.isprintable() or letter in "\n\t\r" for letter in text):
        return text
    try:
        return _message(data, depth + 1, budget)
    except Unreadable:
        return f"0x{data.hex()}"


def _taken(data: bytes, at: int, size: int) -> bytes:
    if at + size > len(data):
        raise Unreadable(f"it ends within what begins at byte {at}.")
    return data[at : at + size]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise Unreadable("it ends within a number.")
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value & (1 << 64) - 1, at
    raise Unreadable(f"at byte {at} a number does not end.")
