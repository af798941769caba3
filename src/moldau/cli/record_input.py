"""What `moldau produce` reads: bytes from a file or a pipe, cut into records, each taken apart by its format."""

from __future__ import annotations

import json
import os
import select
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from moldau.errors import MoldauError
from moldau.quantities import parse_time

_CHUNK: Final = 256 * 1024

FORMATS: Final = ("line", "json", "hex", "base64", "raw")

Headers = list[tuple[str, bytes | None]]


class InputRecord(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: Headers
    partition: int | None = None
    timestamp: int | None = None


class InputError(MoldauError):
    """Input that is not of the format it should have."""


def read_pieces(descriptor: int, delimiter: bytes | None, idle: float) -> Iterator[list[bytes]]:
    """The input cut at the delimiter (None: one single piece), as many pieces at a time as have arrived.

    An empty list says that nothing came for `idle` seconds: the moment to send what is waiting, because somebody may
    be typing.
    """
    tail = bytearray()
    while True:
        if not select.select([descriptor], [], [], idle)[0]:
            yield []
            select.select([descriptor], [], [])
        chunk = os.read(descriptor, _CHUNK)
        if not chunk:
            break
        if delimiter is None or (len(delimiter) == 1 and delimiter not in chunk):
            # Not searched again from the start with every chunk: one piece may be very large.
            tail += chunk
            continue
        pieces = (bytes(tail) + chunk).split(delimiter)
        tail = bytearray(pieces.pop())
        if pieces:
            yield pieces
    if tail:
        yield [bytes(tail)]


class Parser:
    """Takes pieces apart. Errors name the piece by its number, counted from 1."""

    def __init__(
        self,
        format: str,
        *,
        key_separator: bytes | None = None,
        key: bytes | None = None,
        headers: Headers | None = None,
        null_marker: bytes | None = None,
    ) -> None:
        self.count = 0
        self._separator = key_separator
        self._key = key
        self._headers = headers or []
        self._null = null_marker
        self._decode = _DECODERS.get(format, bytes)
        self._take = self._json if format == "json" else self._plain

    def parse(self, piece: bytes) -> InputRecord:
        self.count += 1
        try:
            return self._take(piece)
        except (ValueError, TypeError) as error:
            raise InputError(f"Record {self.count} of the input cannot be read: {error}.") from error

    def _plain(self, piece: bytes) -> InputRecord:
        if self._separator is None:
            return InputRecord(self._key, self._field(piece), self._headers)
        key, separator, value = piece.partition(self._separator)
        if not separator:
            raise ValueError(f"it has no {self._separator.decode(errors='replace')!r} between key and value")
        return InputRecord(self._field(key), self._field(value), self._headers)

    def _field(self, text: bytes) -> bytes | None:
        return None if self._null is not None and text == self._null else self._decode(text)

    def _json(self, piece: bytes) -> InputRecord:
        entry = json.loads(piece)
        if not isinstance(entry, dict):
            raise ValueError("it is not a JSON object")
        unknown = sorted(set(entry) - _JSON_FIELDS)
        if unknown:
            raise ValueError(f"it has a field {unknown[0]!r}, which means nothing here")
        key = json_bytes(entry, "key")
        return InputRecord(
            self._key if key is None else key,
            json_bytes(entry, "value"),
            self._headers + _json_headers(entry.get("headers")),
            _json_number(entry, "partition"),
            _json_timestamp(entry.get("timestamp")),
        )


# A record printed by `moldau consume --json` can be fed in again, so the fields it has beyond ours are known.
_JSON_FIELDS: Final = frozenset(
    {"key", "key_base64", "value", "value_base64", "headers", "partition", "timestamp", "topic", "offset", "time"}
)


def json_bytes(entry: Mapping[str, Any], name: str) -> bytes | None:
    """A field as bytes: text as UTF-8, NAME_base64 for bytes that are no text, anything else as its JSON."""
    encoded = entry.get(f"{name}_base64")
    if encoded is not None:
        if not isinstance(encoded, str):
            raise ValueError(f"{name}_base64 is not a string")
        return b64decode(encoded, validate=True)
    content = entry.get(name)
    if content is None:
        return None
    if isinstance(content, str):
        return content.encode()
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()


def _json_headers(headers: Any) -> Headers:
    """Either an object, or a list of objects with name and value where a name may come twice."""
    if headers is None:
        return []
    if isinstance(headers, dict):
        return [(name, json_bytes({"value": value}, "value")) for name, value in headers.items()]
    if not isinstance(headers, list) or not all(isinstance(header, dict) for header in headers):
        raise ValueError("headers is neither an object nor a list of objects")
    named: Headers = []
    for header in headers:
        if not isinstance(header.get("name"), str):
            raise ValueError("a header has no name")
        named.append((header["name"], json_bytes(header, "value")))
    return named


def _json_number(entry: Mapping[str, Any], name: str) -> int | None:
    number = entry.get(name)
    if number is None:
        return None
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise ValueError(f"{name} is not a number from 0 on")
    return number


def _json_timestamp(timestamp: Any) -> int | None:
    if isinstance(timestamp, str):
        return parse_time(timestamp)
    number = _json_number({"timestamp": None if timestamp == -1 else timestamp}, "timestamp")
    if number is not None and number >= 1 << 63:
        raise ValueError("timestamp does not fit 64 bits")
    return number


def _hex(text: bytes) -> bytes:
    return bytes.fromhex(text.decode("ascii"))


def _base64(text: bytes) -> bytes:
    return b64decode(text.strip(), validate=True)


_DECODERS: Final[Mapping[str, Callable[[bytes], bytes]]] = {"hex": _hex, "base64": _base64}
