"""MetricsData as clients write it: Protocol Buffers by hand."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

DELTA, CUMULATIVE = 1, 2


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def fixed(field: int, value: float) -> bytes:
    """A double, or a signed number of 64 bits."""
    return varint(field << 3 | 1) + (struct.pack("<d", value) if isinstance(value, float) else struct.pack("<q", value))


def message(field: int, *content: bytes) -> bytes:
    body = b"".join(content)
    return varint(field << 3 | 2) + varint(len(body)) + body


def attribute(field: int, key: str, value: str | bool | int | float) -> bytes:
    if isinstance(value, str):
        inner = message(1, value.encode())
    elif isinstance(value, bool):
        inner = number(2, value)
    elif isinstance(value, int):
        inner = number(3, value)
    else:
        inner = fixed(4, value)
    return message(field, message(1, key.encode()), message(2, inner))


def point(value: float, **attributes: str | bool | int | float) -> bytes:
    named = [attribute(7, key, each) for key, each in attributes.items()]
    return message(1, *named, fixed(2, 1), fixed(3, 2), fixed(4 if isinstance(value, float) else 6, value))


def gauge(name: str, *points: bytes) -> bytes:
    return message(2, message(1, name.encode()), message(2, b"what it is"), message(5, *points))


def counter(name: str, *points: bytes, temporality: int = CUMULATIVE) -> bytes:
    return message(2, message(1, name.encode()), message(7, *points, number(2, temporality), number(3, 1)))


def metrics_data(*metrics: bytes, resource: Mapping[str, str] | None = None) -> bytes:
    named: Iterable[bytes] = (attribute(1, key, value) for key, value in (resource or {}).items())
    return message(1, message(1, *named), message(2, message(1, message(1, b"scope")), *metrics))
