"""Bytes as people read them: JSON, Avro, Protobuf, text, hexadecimal; a line of them, and all of them on many lines.

Anybody may have written these bytes, so whatever they say of themselves: what is made of them is bounded in size, depth
and time, and what cannot be read is shown as hexadecimal with the reason.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from typing import Any, Final

from moldau.console.avro import AvroSchema, read_avro
from moldau.console.browsing import Part
from moldau.console.protobuf import read_protobuf
from moldau.console.unreadable import Unreadable

KINDS: Final = ("auto", "json", "avro", "protobuf", "text", "hex")

_LINE: Final = 400
_WHOLE: Final = 256 * 1024
_HEX: Final = 8 * 1024
# What producers with a schema registry put before the bytes: a zero and the number of the schema.
_FRAME: Final = 5
_BLANKS: Final = re.compile(r"\s+")


@dataclass(slots=True, frozen=True)
class View:
    """`line` and `whole` are text to be shown; `kind` is what the bytes were read as."""

    kind: str
    line: str
    whole: str
    problem: str = ""
    # Of the bytes or of the text, something is missing at the end.
    cut: bool = False
    # The number of the schema in a registry, where the bytes begin with one.
    schema_id: int | None = None


def view_of(part: Part, kind: str, schema: AvroSchema | None = None, *, lines: bool = True) -> View:
    """`lines`: with the whole on many lines, not only the one line."""
    if part.data is None:
        return View("null", "null", "null")
    if not part.data:
        return View("empty", "", "")
    data = part.data
    most = _WHOLE if lines else _LINE * 4
    framed = int.from_bytes(data[1:_FRAME], "big") if data[0] == 0 and len(data) >= _FRAME else None
    problem = ""
    for each in _candidates(kind, data, schema):
        try:
            text, cut = _read(part, each, schema, framed is not None, most)
        except Unreadable as error:
            if kind != "auto":
                problem = f"Not {_NAMES[kind]}: {error}"
            if part.cut and kind != "auto":
                problem += " (only its beginning was looked at)"
            continue
        shown = each if kind == "auto" else kind
        return View(shown, _line(text), text, cut=cut or part.cut, schema_id=framed)
    text, cut = _hex(data, most) if lines else (_hex_line(data), len(data) > _LINE)
    return View("hex", _hex_line(data), text, problem, cut or part.cut, framed)


_NAMES: Final = {"json": "JSON", "avro": "Avro", "protobuf": "Protobuf", "text": "text", "hex": "hexadecimal"}


def _candidates(kind: str, data: bytes, schema: AvroSchema | None) -> tuple[str, ...]:
    if kind == "hex":
        return ()
    if kind != "auto":
        return (kind,)
    if schema is not None:
        return ("avro", "json", "text")
    return ("json", "text") if data.lstrip()[:1] in (b"{", b"[") else ("text",)


def _read(part: Part, kind: str, schema: AvroSchema | None, framed: bool, most: int) -> tuple[str, bool]:
    data = part.data or b""
    if kind == "json":
        return indented(_json_text(data), most)
    if kind == "avro":
        if schema is None:
            raise Unreadable("there is no schema for it yet; give one under Schemas.")
        return _dumped(read_avro(data[_FRAME:] if framed else data, schema), most)
    if kind == "protobuf":
        return _dumped(read_protobuf(data[_FRAME:] if framed else data, framed=framed), most)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        # Where the end was cut off, a character may have been cut in two.
        if not part.cut or error.start < len(data) - 3:
            raise Unreadable(f"byte {error.start} is no UTF-8.") from None
        text = data[: error.start].decode()
    if any(hidden(letter) for letter in text[:2000]):
        raise Unreadable("it holds control characters.")
    return visible(text[:most]), len(text) > most


def _json_text(data: bytes) -> str:
    try:
        text = data.decode()
        json.loads(text)
    except RecursionError:
        raise Unreadable("it is nested too deeply.") from None
    except ValueError as error:
        raise Unreadable(f"{str(error)[:200]}.") from None
    return text


def _dumped(value: Any, most: int) -> tuple[str, bool]:
    return indented(json.dumps(value, ensure_ascii=False), most)


def indented(text: str, most: int) -> tuple[str, bool]:
    """JSON text on lines, otherwise as it was written: numbers, doubled names and all."""
    pieces: list[str] = []
    size, depth, last = 0, 0, ""
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in _CLOSING:
            depth -= 1
            begins_line = last not in _OPENING
        else:
            begins_line = last in _OPENING or last == ","
        piece = (f"\n{'  ' * depth}" if begins_line else "") + (": " if token == ":" else visible(token))
        if token in _OPENING:
            depth += 1
        last = token
        pieces.append(piece)
        size += len(piece)
        if size > most:
            return "".join(pieces)[:most], True
    return "".join(pieces), False


_OPENING: Final = ("{", "[")
_CLOSING: Final = ("}", "]")
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


def visible(text: str) -> str:
    """The same with a picture for each character that would be invisible, or that turns the direction of the text."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_picture(letter) if hidden(letter) else letter for letter in text)


def hidden(letter: str) -> bool:
    return letter not in "\n\t\r" and unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Co")


def _picture(letter: str) -> str:
    return chr(0x2400 + ord(letter)) if ord(letter) < 32 else "\N{REPLACEMENT CHARACTER}"


def _line(text: str) -> str:
    return _BLANKS.sub(" ", text[: _LINE * 4])[:_LINE]


def _hex_line(data: bytes) -> str:
    return data[: _LINE // 8].hex(" ") + (" \N{HORIZONTAL ELLIPSIS}" if len(data) > _LINE // 8 else "")


def _hex(data: bytes, most: int) -> tuple[str, bool]:
    """As `hexdump -C` would show it."""
    shown = data[: min(_HEX, most)]
    rows = []
    for at in range(0, len(shown), 16):
        row = shown[at : at + 16]
        letters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        rows.append(f"{at:06x}  {row[:8].hex(' '):<23}  {row[8:].hex(' '):<23}  {letters}")
    return "\n".join(rows), len(shown) < len(data)
