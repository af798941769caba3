"""The tagged part at the end of every struct at flexible versions: a count, then number, size and value of each field.

Fields that a definition knows are read by the generated code; all others are kept as bytes and written back.
"""

from __future__ import annotations

from typing import Final

from moldau.errors import ProtocolError
from moldau.protocol.primitives import read_uvarint, truncated, uvarint
from moldau.types import Buffer

# Far above what any struct will ever have. They are read in one go, so this bounds how long that takes.
MOST_TAGS: Final = 256


def read_tag_count(data: Buffer, pos: int) -> tuple[int, int]:
    tags, pos = read_uvarint(data, pos)
    if tags * 2 > len(data) - pos:
        raise ProtocolError(f"{tags} tagged fields are announced where {len(data) - pos} bytes are left")
    if tags > MOST_TAGS:
        raise ProtocolError(f"{tags} tagged fields are announced; at most {MOST_TAGS} are taken")
    return tags, pos


def read_tag(data: Buffer, pos: int) -> tuple[int, int, int]:
    """The number of a tagged field, where its value begins, and where it ends."""
    tag, pos = read_uvarint(data, pos)
    size, pos = read_uvarint(data, pos)
    if pos + size > len(data):
        raise truncated(size, len(data) - pos)
    return tag, pos, pos + size


def check_tag_end(tag: int, pos: int, stop: int) -> None:
    if pos != stop:
        raise ProtocolError(f"tagged field {tag} does not fill the size it was sent with")


def misplaced_tag(tag: int, version: int) -> ProtocolError:
    return ProtocolError(f"tagged field {tag} does not exist at version {version}")


def keep_tag(known: dict[int, bytes] | None, tag: int, value: Buffer) -> dict[int, bytes]:
    if known is None:
        known = {}
    if tag in known:
        raise ProtocolError(f"tagged field {tag} was sent twice")
    known[tag] = bytes(value)
    return known


def read_unknown_tags(data: Buffer, pos: int) -> tuple[dict[int, bytes] | None, int]:
    """The tagged fields of a struct that defines none: kept as they are."""
    tags, pos = read_tag_count(data, pos)
    kept: dict[int, bytes] | None = None
    for _ in range(tags):
        tag, start, pos = read_tag(data, pos)
        kept = keep_tag(kept, tag, data[start:pos])
    return kept, pos


def tagged(fields: dict[int, bytes], unknown: dict[int, bytes] | None = None) -> bytes:
    """The tagged part of a struct, in order of tags as the protocol demands."""
    if unknown:
        for tag in unknown:
            if tag in fields:
                raise ProtocolError(f"tagged field {tag} is set both by name and among the unknown ones")
        fields = fields | unknown
    parts = [uvarint(len(fields))]
    for tag in sorted(fields):
        value = fields[tag]
        parts += (uvarint(tag), uvarint(len(value)), value)
    return b"".join(parts)
