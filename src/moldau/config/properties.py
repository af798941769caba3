"""The format of `server.properties`: Java's, with its comments, continued lines and escapes.

Java reads such files as Latin-1. Here they are read as UTF-8 where they are UTF-8, because that is what editors write
today and a path with an accent should be the path that was typed; Latin-1 remains for older files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from moldau.config.definition import ConfigError

_BLANKS: Final = " \t\f"
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


def parse_properties(text: str) -> dict[str, str]:
    """Names and values in the order of the file; the last of two lines with one name counts, as in Java."""
    properties: dict[str, str] = {}
    for number, line in _logical_lines(text):
        name, value = _split(line)
        properties[_unescape(name, number)] = _unescape(value, number)
    return properties


def decode_properties(data: bytes) -> dict[str, str]:
    """The same from the bytes of a file."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return parse_properties(text)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that say something, with those continued by a backslash joined, and the number of their first line."""
    joined, first = "", 0
    for number, natural in enumerate(_LINE_END.split(text), 1):
        line = natural.lstrip(_BLANKS)
        if not first:
            if not line or line[0] in "#!":
                continue
            first = number
        if _is_continued(line):
            joined += line[:-1]
        else:
            yield first, joined + line
            joined, first = "", 0
    if joined:
        yield first, joined


def _is_continued(line: str) -> bool:
    """An even number of backslashes at the end are escaped ones; an odd number ends in one that continues."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _split(line: str) -> tuple[str, str]:
    """The name ends at the first `=`, `:` or blank that is not escaped; one separator and the blanks around it go."""
    position = 0
    while position < len(line) and line[position] not in "=:" + _BLANKS:
        position += 2 if line[position] == "\\" else 1
    name, rest = line[:position], line[position:].lstrip(_BLANKS)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANKS)
    return name, rest


def _unescape(text: str, line: int) -> str:
    if "\\" not in text:
        return text
    pieces: list[str] = []
    position = 0
    while (backslash := text.find("\\", position)) >= 0 and backslash + 1 < len(text):
        pieces.append(text[position:backslash])
        letter = text[backslash + 1]
        position = backslash + 2
        if letter == "u":
            pieces.append(_unicode(text[position : position + 4], line))
            position += 4
        else:
            pieces.append(_ESCAPES.get(letter, letter))
    pieces.append(text[position:])
    return _join_surrogates("".join(pieces), line)


def _unicode(digits: str, line: int) -> str:
    if not re.fullmatch("[0-9a-fA-F]{4}", digits):
        raise ConfigError(f"line {line} contains \\u{digits}, but \\u must be followed by four hexadecimal digits")
    return chr(int(digits, 16))


def _join_surrogates(text: str, line: int) -> str:
    """Java writes a character beyond U+FFFF as two escapes; only together are they a character."""
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise ConfigError(f"line {line} contains half of a surrogate pair, which is not a character") from None
