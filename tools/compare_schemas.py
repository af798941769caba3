"""Compares our message definitions with Kafka's own, which are JSON files with comments.

    python tools/compare_schemas.py DIRECTORY

Every `*.json` under DIRECTORY is read into the same model as our definitions, and what is not the same is told in one
line each. Exit status 0 if nothing differs, 1 if something does, 2 if a file cannot be read. Left out on purpose: what
has no effect on the wire (texts, entity types, map keys), messages without valid versions, fields that exist at no
valid version, and `ignorable` on fields that exist at all versions of their struct.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from message_generator.language import load, snake_case
from message_generator.model import INTEGERS, Field, Message, Struct, Versions

SCHEMA = Path(__file__).resolve().parent.parent / "src" / "moldau" / "protocol" / "schema"

_KINDS = {"coordinator-key": "key", "coordinator-value": "value"}
_ANY = 32767  # the end of an open range before it is cut to the versions of the message
# Strings are matched first so that slashes inside them do not begin a comment.
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compare our message definitions with Kafka's JSON.")
    parser.add_argument("directory", type=Path, help="searched for *.json, with everything below it")
    parser.add_argument(
        "--schema", type=Path, default=SCHEMA, help="where our definitions are (default: the project's)"
    )
    options = parser.parse_args(arguments)
    try:
        theirs = read_directory(options.directory)
    except (OSError, ValueError, KeyError) as error:
        print(f"{options.directory} cannot be read: {error}", file=sys.stderr)
        return 2
    ours = {message.name: message for module in load(options.schema) for message in module.messages}
    found = list(differences(ours, theirs))
    for line in found:
        print(line)
    print(f"{len(theirs)} messages there, {len(ours)} here, {len(found)} differences")
    return 1 if found else 0


# ------------------------------------------------------------------------------------- Kafka's definitions


def read_directory(directory: Path) -> dict[str, Message]:
    paths = sorted(directory.rglob("*.json"))
    if not paths:
        raise ValueError("there are no definitions in it")
    messages = [message for path in paths if (message := read_message(path.read_text())) is not None]
    return {message.name: message for message in messages}


def read_message(text: str) -> Message | None:
    """One of Kafka's files; None for a message that has no version left."""
    source = json.loads(_COMMENT.sub(lambda match: match[1] or "", text))
    versions = _range(source["validVersions"])
    if versions is None:
        return None
    commons: dict[str, Any] = {struct["name"]: struct["fields"] for struct in source.get("commonStructs", ())}
    return Message(
        _KINDS.get(source["type"], source["type"]),
        source["name"],
        versions,
        _clipped(source.get("flexibleVersions"), versions),
        Struct(source["name"], list(_fields(source["fields"], versions, commons)), versions),
        source.get("apiKey"),
        tuple(source.get("listeners", ())),
        source.get("latestVersionUnstable", False),
        [Struct(name, list(_fields(fields, versions, commons)), versions) for name, fields in commons.items()],
    )


def _fields(sources: list[dict[str, Any]], outer: Versions, commons: dict[str, Any]) -> Iterator[Field]:
    for source in sources:
        # A field that is always tagged need not say its versions twice.
        versions = _clipped(source.get("versions", source.get("taggedVersions")), outer)
        if versions is None:
            continue
        base = source["type"].removeprefix("[]")
        field = Field(snake_case(source["name"]), base, source["type"].startswith("[]"), versions)
        field.nullable = _clipped(source.get("nullableVersions"), versions)
        field.default = _default(source.get("default"))
        field.tag = source.get("tag")
        field.ignorable = str(source.get("ignorable", False)).lower() == "true"
        field.legacy = source.get("flexibleVersions") == "none"
        if "fields" in source:
            field.struct = Struct(base, list(_fields(source["fields"], versions, commons)), versions)
        yield field


def _default(value: object) -> str | None:
    """JSON's null says the same as no default at all; the default null is written as a string."""
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def _range(text: str | None) -> Versions | None:
    if text is None or text == "none":
        return None
    low, _, high = text.removesuffix("+").partition("-")
    return Versions(int(low), _ANY if text.endswith("+") else int(high or low))


def _clipped(text: str | None, outer: Versions) -> Versions | None:
    found = _range(text)
    return found.intersect(outer) if found else None


# ---------------------------------------------------------------------------------------------- comparison


def differences(ours: dict[str, Message], theirs: dict[str, Message]) -> Iterator[str]:
    for name in sorted(ours.keys() - theirs.keys()):
        yield f"{name} is defined here and not there"
    for name in sorted(theirs.keys() - ours.keys()):
        yield f"{name} is defined there and not here"
    for name in sorted(ours.keys() & theirs.keys()):
        yield from _message_differences(ours[name], theirs[name])


def _message_differences(ours: Message, theirs: Message) -> Iterator[str]:
    yield from _compare(ours.name, "kind", ours.kind, theirs.kind)
    yield from _compare(ours.name, "key", ours.api_key, theirs.api_key)
    yield from _compare(ours.name, "versions", ours.versions, theirs.versions)
    yield from _compare(ours.name, "flexible versions", ours.flexible, theirs.flexible)
    if ours.kind == "request":
        yield from _compare(ours.name, "listeners", ours.listeners, theirs.listeners)
        yield from _compare(ours.name, "latest version unstable", ours.unstable, theirs.unstable)
    yield from _struct_differences(ours.name, ours.struct, theirs.struct)
    our_commons = {struct.name: struct for struct in ours.commons}
    their_commons = {struct.name: struct for struct in theirs.commons}
    yield from _compare(ours.name, "common structs", sorted(our_commons), sorted(their_commons))
    for name in sorted(our_commons.keys() & their_commons.keys()):
        yield from _struct_differences(f"{ours.name}.{name}", our_commons[name], their_commons[name])


def _struct_differences(where: str, ours: Struct, theirs: Struct) -> Iterator[str]:
    names, their_names = [field.name for field in ours.fields], [field.name for field in theirs.fields]
    if names != their_names:
        yield f"{where}: fields are {', '.join(names)} here and {', '.join(their_names)} there"
    other = {field.name: field for field in theirs.fields}
    for field in ours.fields:
        if field.name in other:
            yield from _field_differences(f"{where}.{field.name}", field, other[field.name], ours.versions)


def _field_differences(where: str, ours: Field, theirs: Field, outer: Versions) -> Iterator[str]:
    yield from _compare(where, "type", _type(ours), _type(theirs))
    yield from _compare(where, "versions", ours.versions, theirs.versions)
    yield from _compare(where, "nullable versions", ours.nullable, theirs.nullable)
    yield from _compare(where, "default", _meaning(ours), _meaning(theirs))
    yield from _compare(where, "tag", ours.tag, theirs.tag)
    yield from _compare(where, "old encoding", ours.legacy, theirs.legacy)
    if not theirs.versions.covers(outer):
        yield from _compare(where, "ignorable", ours.ignorable, theirs.ignorable)
    if theirs.struct is not None:
        if ours.struct is None:
            yield f"{where} holds no struct here"
        else:
            yield from _struct_differences(where, ours.struct, theirs.struct)


def _type(field: Field) -> str:
    return f"[{field.type}]" if field.is_array else field.type


def _meaning(field: Field) -> object:
    """The default as a value: 0x7fffffff and 2147483647 are one, and so are 0 and nothing."""
    if field.default == "null" or field.is_array or field.type[0].isupper():
        return field.default
    if field.type in INTEGERS or field.type in ("uint16", "uint32"):
        return int(field.default or "0", 0)
    if field.type == "bool":
        return field.default == "true"
    return field.default or ""


def _compare(where: str, what: str, ours: object, theirs: object) -> Iterator[str]:
    if ours != theirs:
        yield f"{where}: {what} is {_words(ours)} here and {_words(theirs)} there"


def _words(value: object) -> str:
    if isinstance(value, Versions):
        return str(value)
    if isinstance(value, list | tuple):
        return ", ".join(value) or "none"
    return "none" if value is None or value == "" else str(value)


if __name__ == "__main__":
    sys.exit(main())
