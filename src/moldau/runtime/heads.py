"""Connections that carry heads of HTTP requests in place of frames: lines of text up to an empty one, and no body."""

from __future__ import annotations

from typing import Final

from moldau.runtime.transport import FramedTransport

_END: Final = b"\r\n\r\n"


class HeadTransport(FramedTransport):
    __slots__ = ()

    def _deliver(self, view: memoryview, position: int, end: int) -> None:
        """Hands up the whole heads in `view[position:end]`, with the empty line, and keeps the rest."""
        data = bytes(view[position:end])
        at = 0
        while self._delivering and (found := data.find(_END, at)) >= 0:
            stop = found + len(_END)
            if stop - at > self._max_frame:
                break
            try:
                self._frame(view, position + at, position + stop)
            except Exception:
                self._receiver_failed()
                return
            at = stop
        self._first_read = self._shared
        if not self._delivering:
            if at < len(data):
                self._keep(view, position + at, end)
        elif len(data) - at > self._max_frame:
            self.close(f"a request of more than {self._max_frame} bytes")
        else:
            self._stash = data[at:]
