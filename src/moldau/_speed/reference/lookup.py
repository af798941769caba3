"""The search in an offset index: entries of eight bytes, a relative offset and a position, both of which only grow."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from struct import Struct

from moldau.types import Buffer

_load = Struct(">i").unpack_from


def entries_up_to(view: Buffer, count: int, offset: int) -> int:
    """How many of the first `count` entries are for an offset up to this one."""
    _check(view, count)
    return bisect_right(range(count), offset, key=lambda slot: _load(view, slot * 8)[0])


def entries_before(view: Buffer, count: int, position: int) -> int:
    """How many of the first `count` entries are for a place before this one."""
    _check(view, count)
    return bisect_left(range(count), position, key=lambda slot: _load(view, slot * 8 + 4)[0])


def _check(view: Buffer, count: int) -> None:
    size = len(memoryview(view))
    if count < 0 or count * 8 > size:
        raise ValueError(f"there are no {count} entries in {size} bytes")
