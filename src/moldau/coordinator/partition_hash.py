"""Which partition of an internal topic an id belongs to.

Every broker and every tool must agree on it, so the hash is the one of Java's strings, over UTF-16 code units.
"""

from __future__ import annotations

from typing import Final

from moldau import _speed

if _speed.COMPILED:
    from moldau._speed.commits import java_hash as ascii_hash

_MASK: Final = 0xFFFF_FFFF
_LARGEST: Final = 0x7FFF_FFFF


def java_hash(text: str) -> int:
    """`String.hashCode()`, as the signed 32-bit number Java has."""
    if text.isascii():
        units: memoryview | bytes = text.encode("ascii")
    else:
        units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    value = 0
    for unit in units:
        value = (31 * value + unit) & _MASK
    return value - (1 << 32) if value > _LARGEST else value


def partition_for(identifier: str, count: int) -> int:
    value = ascii_hash(identifier) if _speed.COMPILED else None
    if value is None:
        value = java_hash(identifier)
    # The most negative number has no absolute value in 32 bits; Kafka takes 0 for it.
    return (0 if value == -_LARGEST - 1 else abs(value)) % count
