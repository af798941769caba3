"""Messages with chosen values, made from the definitions: what the tests of the generated classes feed on.

Everything comes from a seeded generator, so a failure repeats itself. Values lean towards the edges: the smallest and
largest numbers, empty and long strings, lengths where a varint grows by a byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

from message_generator import language, model

SCHEMA = Path(__file__).resolve().parents[3] / "src" / "moldau" / "protocol" / "schema"

_BOUNDS = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
}
_TEXTS = ("", "a", "topic-1", "grüße", "Ωμέγα", "\x00", "😀" * 3, "x" * 126, "x" * 127, "x" * 128, "ü" * 200)
_SIZES = (0, 0, 1, 1, 2, 3)


@cache
def modules() -> list[model.Module]:
    return language.load(SCHEMA)


@cache
def messages() -> list[tuple[str, model.Message]]:
    """Every message, with the module it is in."""
    return [(module.name, message) for module in modules() for message in module.messages]


def class_of(module: str, struct: model.Struct) -> Any:
    return getattr(import_module(f"moldau.protocol.messages.{module}"), struct.class_name)


def scalar(random: Random, kind: str) -> Any:
    if kind in _BOUNDS:
        low, high = _BOUNDS[kind]
        return random.choice((low, high, -1 if low else 1, 0, 1, 127, random.randint(low, high)))
    if kind == "bool":
        return random.random() < 0.5
    if kind == "float64":
        return random.choice((0.0, -1.5, 1e300, random.random()))
    if kind == "uuid":
        return random.choice((bytes(16), random.randbytes(16)))
    if kind == "string":
        return random.choice(_TEXTS)
    return random.randbytes(random.choice((0, 1, 10, 127, 128, 5000 if kind == "records" else 300)))


def array_size(random: Random, field: model.Field) -> int:
    if field.struct is None and random.random() < 0.1:
        return random.choice((15, 16, 127, 128, 200))
    return random.choice(_SIZES)


def leave_default(random: Random, field: model.Field) -> bool:
    return field.tag is not None and random.random() < 0.4


def make(random: Random, module: str, struct: model.Struct, version: int, *, tags: bool = False) -> Any:
    """A struct with every field set that `version` has; with `tags`, also with tagged fields nobody knows."""
    values: dict[str, Any] = {}
    for field in struct.fields:
        if version not in field.versions or leave_default(random, field):
            continue
        if field.is_nullable(version) and random.random() < 0.25:
            values[field.name] = None
        elif field.is_array:
            size = array_size(random, field)
            values[field.name] = [_element(random, module, field, version, tags) for _ in range(size)]
        else:
            values[field.name] = _element(random, module, field, version, tags)
    made = class_of(module, struct)(**values)
    if tags and random.random() < 0.5:
        made.unknown_tags = {random.choice((50, 127, 128, 70000)): random.randbytes(random.choice((0, 1, 200)))}
    return made


def full(module: str, struct: model.Struct, version: int) -> Any:
    """A struct with one element in every array of structs, and nothing null that need not be."""
    values: dict[str, Any] = {}
    for field in struct.fields:
        if version in field.versions and field.struct is not None:
            inner = full(module, field.struct, version)
            values[field.name] = [inner] if field.is_array else inner
    return class_of(module, struct)(**values)


def parts(made: Any, struct: model.Struct, version: int) -> Iterator[tuple[Any, model.Struct]]:
    """A struct and all that is in it, each with its definition."""
    yield made, struct
    for field in struct.fields:
        if version in field.versions and field.struct is not None:
            value = getattr(made, field.name)
            for inner in value if field.is_array else [value]:
                yield from parts(inner, field.struct, version)


def _element(random: Random, module: str, field: model.Field, version: int, tags: bool) -> Any:
    if field.struct is not None:
        return make(random, module, field.struct, version, tags=tags)
    return scalar(random, field.type)


def versions(message: model.Message) -> range:
    return range(message.versions.low, message.versions.high + 1)
