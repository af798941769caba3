"""What clients push: MetricsData of OpenTelemetry, version 1, in the encoding of Protocol Buffers.

Of all that this format can say, clients of Kafka use two kinds of metrics, gauges and sums, with numbers as points.
Others are passed over. The bytes are a stranger's: a push may have so many fields and no more, so may a point, and
whoever reads can be left for a while at every None.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from moldau.errors import ProtocolError
from moldau.types import Buffer

# Fields of all messages together: a point has a dozen with its attributes.
MOST_FIELDS: Final = 500_000
# Of a point, or of what its attributes are.
MOST_FIELDS_OF_A_POINT: Final = 1000
_FIELDS_AT_ONCE: Final = 200
_LONGEST_TEXT: Final = 256

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DOUBLE, _SIGNED = Struct("<d"), Struct("<q")
_DELTA: Final = 1
_NO_VALUE: Final = 1

# Numbers of fields, by their messages.
_RESOURCE_METRICS: Final = 1
_RESOURCE, _SCOPE_METRICS = 1, 2
_RESOURCE_ATTRIBUTES: Final = 1
_METRIC: Final = 2
_NAME, _GAUGE, _SUM = 1, 5, 7
_POINT, _TEMPORALITY, _IS_MONOTONIC = 1, 2, 3
_AS_DOUBLE, _AS_INT, _POINT_ATTRIBUTES, _FLAGS = 4, 6, 7, 8
_KEY, _VALUE = 1, 2
_TEXT, _BOOLEAN, _WHOLE, _REAL = 1, 2, 3, 4

Span = tuple[int, int]
Attributes = list[tuple[str, str]]


class Point(NamedTuple):
    """One number of one metric. A counter's is a sum that only grows, of all the time or since the last push."""

    name: str
    resource: Attributes
    attributes: Attributes
    value: float
    is_counter: bool
    is_delta: bool


class MetricsReader:
    def __init__(self, data: Buffer) -> None:
        self._data = data
        self._fields = 0

    def points(self) -> Iterator[Point | None]:
        """ProtocolError where it is no MetricsData."""
        for number, found in self._messages(0, len(self._data)):
            if number == _RESOURCE_METRICS:
                yield from self._of_resource(found)
            yield None

    # ------------------------------------------------------------------------------------------------ messages

    def _of_resource(self, span: Span) -> Iterator[Point | None]:
        attributes: Attributes = []
        for number, found in self._messages(*span):
            if number == _RESOURCE:
                attributes = self._attributes(found)
            elif number == _SCOPE_METRICS:
                for inner, metric in self._messages(*found):
                    if inner == _METRIC:
                        yield from self._of_metric(metric, attributes)
                    yield None
            yield None

    def _of_metric(self, span: Span, resource: Attributes) -> Iterator[Point | None]:
        name = ""
        for number, found in self._messages(*span):
            if number == _NAME:
                name = self._text(found)
            elif number == _GAUGE:
                yield from self._points(found, name, resource, is_counter=False, is_delta=False)
            elif number == _SUM:
                yield from self._of_sum(found, name, resource)
            yield None

    def _of_sum(self, span: Span, name: str, resource: Attributes) -> Iterator[Point | None]:
        """What kind of sum it is stands behind its points."""
        is_delta = is_monotonic = False
        for seen, (number, kind, value, _) in enumerate(self._walk(*span)):
            if kind == _VARINT and number == _TEMPORALITY:
                is_delta = value == _DELTA
            elif kind == _VARINT and number == _IS_MONOTONIC:
                is_monotonic = value != 0
            if seen % _FIELDS_AT_ONCE == 0:
                yield None
        yield from self._points(span, name, resource, is_counter=is_monotonic, is_delta=is_delta)

    def _points(
        self, span: Span, name: str, resource: Attributes, *, is_counter: bool, is_delta: bool
    ) -> Iterator[Point | None]:
        for number, found in self._messages(*span):
            if number == _POINT:
                value, attributes = self._point(found)
                if value is not None:
                    yield Point(name, resource, attributes, value, is_counter, is_delta)
            yield None

    def _point(self, span: Span) -> tuple[float | None, Attributes]:
        value: float | None = None
        attributes: Attributes = []
        for number, kind, first, end in self._few(span):
            if kind == _FIXED64 and number == _AS_DOUBLE:
                (value,) = _DOUBLE.unpack_from(self._data, first)
            elif kind == _FIXED64 and number == _AS_INT:
                (value,) = _SIGNED.unpack_from(self._data, first)
            elif kind == _BYTES and number == _POINT_ATTRIBUTES:
                attributes += self._attribute((first, end))
            elif kind == _VARINT and number == _FLAGS and first & _NO_VALUE:
                return None, []
        return value, attributes

    def _attributes(self, span: Span) -> Attributes:
        attributes: Attributes = []
        for number, kind, first, end in self._few(span):
            if kind == _BYTES and number == _RESOURCE_ATTRIBUTES:
                attributes += self._attribute((first, end))
        return attributes

    def _attribute(self, span: Span) -> Attributes:
        """None where the value is not a text, a number or a truth."""
        key, value = "", None
        for number, kind, first, end in self._few(span):
            if kind == _BYTES and number == _KEY:
                key = self._text((first, end))
            elif kind == _BYTES and number == _VALUE:
                value = self._any((first, end))
        return [] if value is None else [(key, value)]

    def _any(self, span: Span) -> str | None:
        for number, kind, first, end in self._few(span):
            if kind == _BYTES and number == _TEXT:
                return self._text((first, end))
            if kind == _VARINT and number == _BOOLEAN:
                return "true" if first else "false"
            if kind == _VARINT and number == _WHOLE:
                return str(first - (1 << 64) if first >> 63 else first)
            if kind == _FIXED64 and number == _REAL:
                return repr(_DOUBLE.unpack_from(self._data, first)[0])
        return None

    def _text(self, span: Span) -> str:
        start, end = span
        return bytes(self._data[start : min(end, start + _LONGEST_TEXT)]).decode(errors="replace")

    # ---------------------------------------------------------------------------------------------- the encoding

    def _messages(self, start: int, end: int) -> Iterator[tuple[int, Span]]:
        """The fields that are messages, texts or bytes, with where they lie; others with the number 0."""
        for number, kind, first, last in self._walk(start, end):
            yield (number, (first, last)) if kind == _BYTES else (0, (0, 0))

    def _few(self, span: Span) -> Iterator[tuple[int, int, int, int]]:
        """Where nobody pauses."""
        before = self._fields
        for field in self._walk(*span):
            if self._fields - before > MOST_FIELDS_OF_A_POINT:
                raise ProtocolError(f"metrics with a point of more than {MOST_FIELDS_OF_A_POINT} fields")
            yield field

    def _walk(self, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
        """Number and kind of each field, then for a varint its value and for others where they lie."""
        position = start
        while position < end:
            self._fields += 1
            if self._fields > MOST_FIELDS:
                raise ProtocolError(f"metrics of more than {MOST_FIELDS} fields")
            tag, position = self._varint(position, end)
            number, kind = tag >> 3, tag & 7
            if kind == _VARINT:
                value, position = self._varint(position, end)
                yield number, kind, value, position
                continue
            if kind == _BYTES:
                length, position = self._varint(position, end)
            elif kind == _FIXED64:
                length = 8
            elif kind == _FIXED32:
                length = 4
            else:
                raise ProtocolError(f"metrics with a field of the unknown kind {kind}")
            if number == 0 or length > end - position:
                raise ProtocolError("metrics that end in the middle of a field")
            yield number, kind, position, position + length
            position += length

    def _varint(self, position: int, end: int) -> tuple[int, int]:
        data = self._data
        value = shift = 0
        while position < end and shift < 70:
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & 0xFFFFFFFFFFFFFFFF, position
            shift += 7
        raise ProtocolError("metrics that end in the middle of a number")
