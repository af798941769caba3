"""A line on the terminal that says how far it has come, for as long as somebody is there to read it."""

from __future__ import annotations

import sys
from time import monotonic

from moldau.quantities import counted, format_size

_INTERVAL = 0.2


class Progress:
    """Counts records and bytes; shows them on standard error if that is a terminal and `shown`."""

    def __init__(self, *, shown: bool) -> None:
        self.records = 0
        self.bytes = 0
        self._shown = shown and sys.stderr.isatty()
        self._began = monotonic()
        self._next = self._began + _INTERVAL
        self._width = 0

    @property
    def seconds(self) -> float:
        return monotonic() - self._began

    def update(self, records: int, size: int) -> None:
        """Tells the totals so far."""
        self.records, self.bytes = records, size
        if self._shown and monotonic() >= self._next:
            self._next = monotonic() + _INTERVAL
            self._show(self.summary())

    def tell(self, text: str) -> None:
        """Shows words instead, where there is nothing to count yet."""
        if self._shown and monotonic() >= self._next:
            self._next = monotonic() + _INTERVAL
            self._show(text)

    def clear(self) -> None:
        """Takes the line away again, so that the next words start at the margin."""
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()
            self._width = 0

    def summary(self) -> str:
        seconds = max(self.seconds, 1e-6)
        return (
            f"{counted(self.records, 'record')}, {format_size(self.bytes)} in {seconds:.2f} s "
            f"({self.records / seconds:,.0f} records/s, {format_size(int(self.bytes / seconds))}/s)"
        )

    def _show(self, text: str) -> None:
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)
