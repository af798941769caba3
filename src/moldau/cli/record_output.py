"""What `moldau consume` writes: records as bytes, by a named format or by a template with placeholders."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from moldau.errors import MoldauError
from moldau.quantities import format_time

if TYPE_CHECKING:
    from moldau.client.consumer.fetched import ConsumerRecord
    from moldau.client.share.acquired import ShareRecord
    from moldau.protocol.records import Record as PlainRecord

    Record: TypeAlias = PlainRecord | ConsumerRecord | ShareRecord

Formatter: TypeAlias = "Callable[[str, int, Record], bytes]"

PLACEHOLDERS: Final = (
    "{topic} {partition} {offset} {timestamp} {time} {key} {value} {headers} {header:NAME} {key_size} {value_size} "
    "{delivery_count}"
)

# Named formats that are only short for a template.
_NAMED: Final = {"value": "{value}", "key-value": "{key}\\t{value}", "hex": "{value:hex}", "base64": "{value:base64}"}
FORMATS: Final = (*_NAMED, "json", "raw")

_PIECE: Final = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_ESCAPE: Final = re.compile(r"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\"}


class FormatError(MoldauError):
    """A template that cannot be understood."""


def unescape(text: str) -> bytes:
    r"""Text from the command line with \n, \t, \r, \0, \\ and \xNN as the bytes they stand for."""
    parts: list[bytes] = []
    position = 0
    for match in _ESCAPE.finditer(text):
        parts.append(text[position : match.start()].encode("utf-8", "surrogateescape"))
        code = match[1]
        if code[0] == "x" and len(code) == 3:
            parts.append(bytes([int(code[1:], 16)]))
        else:
            parts.append(_ESCAPES.get(code, match[0]).encode("utf-8", "surrogateescape"))
        position = match.end()
    parts.append(text[position:].encode("utf-8", "surrogateescape"))
    return b"".join(parts)


def formatter(format: str, *, delimiter: bytes, null_marker: bytes = b"null") -> Formatter:
    """The function that turns a record into output. FormatError for a template that makes no sense."""
    if format == "json":
        return lambda topic, partition, record: _json(topic, partition, record) + delimiter
    if format == "raw":
        return lambda topic, partition, record: record.value or b""
    if format == "value":
        # By far the most frequent: not worth a detour through the template.
        return lambda topic, partition, record: (null_marker if record.value is None else record.value) + delimiter
    if "{" not in format and format not in _NAMED:
        raise FormatError(
            f"{format!r} is neither a format ({', '.join(FORMATS)}) nor a template; a template has {PLACEHOLDERS}."
        )
    pieces = [*_pieces(_NAMED.get(format, format), null_marker), _constant(delimiter)]

    def write(topic: str, partition: int, record: Record) -> bytes:
        return b"".join([piece(topic, partition, record) for piece in pieces])

    return write


def _pieces(template: str, null_marker: bytes) -> list[Formatter]:
    pieces: list[Formatter] = []
    position = 0
    for match in _PIECE.finditer(template):
        if match.start() > position:
            pieces.append(_constant(unescape(template[position : match.start()])))
        position = match.end()
        if match[0] in ("{{", "}}"):
            pieces.append(_constant(match[0][0].encode()))
        elif match[1] is None:
            raise FormatError(f"The format has a single {match[0]!r}; write it twice to print it.")
        else:
            pieces.append(_placeholder(match[1], null_marker))
    if position < len(template):
        pieces.append(_constant(unescape(template[position:])))
    return pieces


def _constant(data: bytes) -> Formatter:
    return lambda topic, partition, record: data


def _placeholder(text: str, null: bytes) -> Formatter:
    name, _, detail = text.partition(":")
    if name == "header" and detail:
        return lambda topic, partition, record: _header(record, detail, null)
    if name in ("key", "value") and detail in _ENCODINGS:
        encode = _ENCODINGS[detail]
        if name == "key":
            return lambda topic, partition, record: null if record.key is None else encode(record.key)
        return lambda topic, partition, record: null if record.value is None else encode(record.value)
    if name in _FIELDS and not detail:
        return _FIELDS[name]
    raise FormatError(f"The format has a placeholder {{{text}}} that is not known; there are {PLACEHOLDERS}.")


_ENCODINGS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "": bytes,
    "hex": lambda data: data.hex().encode(),
    "base64": b64encode,
}


def _size(content: bytes | None) -> bytes:
    return b"-1" if content is None else b"%d" % len(content)


_FIELDS: Final[dict[str, Formatter]] = {
    "topic": lambda topic, partition, record: topic.encode(),
    "partition": lambda topic, partition, record: b"%d" % partition,
    "offset": lambda topic, partition, record: b"%d" % record.offset,
    "timestamp": lambda topic, partition, record: b"%d" % record.timestamp,
    "time": lambda topic, partition, record: format_time(record.timestamp).encode(),
    "headers": lambda topic, partition, record: _all_headers(record),
    "key_size": lambda topic, partition, record: _size(record.key),
    "value_size": lambda topic, partition, record: _size(record.value),
    # Of a share group; elsewhere everything is delivered for the first time as far as anybody knows.
    "delivery_count": lambda topic, partition, record: b"%d" % getattr(record, "delivery_count", 1),
}


def _header(record: Record, name: str, null: bytes) -> bytes:
    """The last value under a name: producers replace a header by adding it again."""
    for key, value in reversed(record.headers):
        if key == name:
            return null if value is None else value
    return b""


def _all_headers(record: Record) -> bytes:
    return b",".join(
        name.encode("utf-8", "surrogateescape") + b"=" + (b"" if value is None else value)
        for name, value in record.headers
    )


def _json(topic: str, partition: int, record: Record) -> bytes:
    entry: dict[str, Any] = {
        "topic": topic,
        "partition": partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        **text_or_base64("key", record.key),
        **text_or_base64("value", record.value),
        "headers": [
            {
                "name": name.encode("utf-8", "surrogateescape").decode("utf-8", "replace"),
                **text_or_base64("value", value),
            }
            for name, value in record.headers
        ],
    }
    count = getattr(record, "delivery_count", None)
    if count is not None:
        entry["delivery_count"] = count
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()


def text_or_base64(name: str, content: bytes | None) -> dict[str, str | None]:
    """Bytes in JSON: as text if they are text, else under NAME_base64, so that nothing is lost either way."""
    if content is None:
        return {name: None}
    try:
        return {name: content.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": b64encode(content).decode("ascii")}
