"""DER, the encoding certificates and keys are written in: tags, lengths, contents. Every length is checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

OCTET_STRING: Final = 0x04
OBJECT_ID: Final = 0x06
SEQUENCE: Final = 0x30
SET: Final = 0x31


class DerError(ValueError):
    """Not what it was taken for."""


class Element(NamedTuple):
    tag: int
    content: bytes
    encoded: bytes

    def inside(self) -> list[Element]:
        return list(elements(self.content))


def elements(data: bytes) -> Iterator[Element]:
    """All that stand in a row; DerError at the first that is not whole."""
    position = 0
    while position < len(data):
        begin = position
        tag, position = data[position], position + 1
        if tag & 0x1F == 0x1F:
            raise DerError("a tag of more than one byte")
        if position >= len(data):
            raise DerError("an element without a length")
        size, position = data[position], position + 1
        if size & 0x80:
            count = size & 0x7F
            if not 1 <= count <= 4 or position + count > len(data):
                raise DerError("a length that cannot be")
            size, position = int.from_bytes(data[position : position + count], "big"), position + count
        end = position + size
        if end > len(data):
            raise DerError("an element that runs past the end")
        yield Element(tag, data[position:end], data[begin:end])
        position = end


def only(data: bytes, tag: int = SEQUENCE) -> Element:
    """The one element there is, of this tag."""
    found = list(elements(data))
    if len(found) != 1 or found[0].tag != tag:
        raise DerError(f"something else than one element of tag {tag:#x}")
    return found[0]


def object_id(content: bytes) -> str:
    """In the usual form, 2.5.4.3."""
    if not content or content[-1] & 0x80:
        raise DerError("an object id that does not end")
    numbers: list[int] = []
    number = 0
    for byte in content:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            if not numbers:
                first = min(number // 40, 2)
                numbers += [first, number - 40 * first]
            else:
                numbers.append(number)
            number = 0
    return ".".join(map(str, numbers))
