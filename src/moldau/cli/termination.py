"""What a command does with SIGTERM, where Python would end it on the spot: the same as with Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def ends_in_order() -> Iterator[None]:
    """SIGTERM and SIGHUP leave what stands in `with` by its own way out, with 128 and the number of the signal as exit
    status; a second one ends the process at once. Who is told to pass SIGHUP over (nohup) passes it over."""

    def told(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        raise SystemExit(128 + number)

    numbers = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, told) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
