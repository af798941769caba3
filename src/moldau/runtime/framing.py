"""Where one frame ends and the next begins: four bytes of length, then that many bytes.

A read may hold hundreds of small frames, so the walk over them is compiled where there is a compiler. The function
here is the specification; one property test holds both equal.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from struct import Struct
from typing import Protocol

from moldau import _speed
from moldau.errors import ProtocolError

_length = Struct(">i").unpack_from


class Gate(Protocol):
    """Whoever the frames are delivered for; a frame may close it for those behind it."""

    _delivering: bool


def walk_frames(
    view: memoryview,
    position: int,
    end: int,
    largest: int,
    frame: Callable[[memoryview, int, int], None],
    gate: Gate,
    most: int,
    seconds: float,
) -> tuple[int, int]:
    """Calls `frame(view, start, stop)` for each whole frame in `view[position:end]`, up to `most`, not for much longer
    than `seconds`, and while the gate is open; where it stopped, and how many more it would have delivered.
    ProtocolError for a length that is not allowed.
    """
    deadline = time.monotonic() + seconds
    while end - position >= 4 and most:
        size = _length(view, position)[0]
        if not 0 <= size <= largest:
            raise ProtocolError(f"a frame of {size} bytes was announced; at most {largest} are allowed")
        stop = position + 4 + size
        if stop > end:
            break
        frame(view, position + 4, stop)
        position = stop
        most -= 1
        if not gate._delivering:
            break
        if position < end and time.monotonic() >= deadline:
            most = 0
    return position, most


deliver_frames = walk_frames
if _speed.COMPILED:
    from moldau._speed import frames

    deliver_frames = frames.deliver_frames
