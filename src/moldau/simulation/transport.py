"""One end of a connection in memory. It carries bytes, cuts them into frames and has the manners of the real one:

what is sent during a step leaves after it; records in files are read when they leave, not when they are queued; nothing
is delivered to an end that is paused; and a received frame is overwritten as soon as the receiver returns, so that code
which keeps a view of it is found out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from typing import TYPE_CHECKING

from moldau.runtime.ports import Chunk, FileSlice, Receiver, Runs
from moldau.simulation.loop import SimulatedLoop

if TYPE_CHECKING:
    from moldau.simulation.network import Fabric

_length = Struct(">i").unpack_from

# The length of a frame and the two bytes behind it.
_ANNOUNCED = 6


class SimulatedTransport:
    def __init__(
        self, fabric: Fabric, loop: SimulatedLoop, local: tuple[str, int], peer: tuple[str, int], max_frame: int
    ) -> None:
        self._fabric = fabric
        self._max_frame = max_frame
        self._queue: list[Chunk] = []
        self._received = bytearray()
        self._leaving = False
        self._paused = False
        self._announce: Callable[[bytes], None] | None = None
        self._delivering = False
        self._receiver: Receiver | None = None
        self.loop = loop
        self.local = local
        self.peer = peer
        self.activity = 0
        self.other: SimulatedTransport | None = None
        self.is_open = True
        # When the last bytes sent to this end arrive: later ones do not overtake them.
        self.last_arrival_us = 0
        # What this end was told to do before the connection stood.
        self.on_closed: Callable[[], None] = lambda: None

    def attach(self, receiver: Receiver) -> None:
        self._receiver = receiver

    # ------------------------------------------------------------------------------------------ the Transport port

    @property
    def secured_by(self) -> tuple[str, str] | None:
        """Everything is sent in the open there."""
        return None

    @property
    def unsent(self) -> int:
        return sum(len(chunk) for chunk in self._queue)

    def send(self, chunks: Sequence[Chunk]) -> None:
        if self.is_open:
            self._queue.extend(chunks)
            self._leave_later()

    def flush(self) -> None:
        self._leave()

    def pause(self) -> None:
        self._paused = True

    def resume(self) -> None:
        if self._paused:
            self._paused = False
            self._announce = None
            # What arrives later is delivered when it does.
            if self._received:
                self.loop.call_soon(self._deliver)

    def limit_frames(self, largest: int, kept: Callable[[int], None] | None = None) -> None:
        """Nobody there takes memory on purpose: what is kept is not counted."""
        self._max_frame = largest

    def serve_runs(self, runs: Runs | None, receiver: Receiver) -> None:
        """There is no express way in a simulated network."""

    def announce(self, told: Callable[[bytes], None]) -> None:
        self._announce = told
        if self._received:
            self.loop.call_soon(self._tell_next)

    def close(self, reason: str | None = None) -> None:
        if not self.is_open:
            return
        self._leave()
        if self.is_open:
            self._end(reason)
            if self.other is not None:
                self._fabric.carry(self.other, None)

    # -------------------------------------------------------------------------------------------- for the network

    def connected(self, other: SimulatedTransport) -> None:
        self.other = other
        self._leave_later()

    def arrive(self, data: bytes | None) -> None:
        """Bytes from the other end, or None: it has closed."""
        if not self.is_open:
            return
        self.activity += 1
        if data is None:
            self._end(None)
        else:
            self._received += data
            self._deliver()
            self._tell_next()

    def broken(self, reason: str) -> None:
        """The connection ended without a farewell."""
        if self.is_open:
            self._end(reason)

    # ---------------------------------------------------------------------------------------------------- details

    def _leave_later(self) -> None:
        if self._queue and not self._leaving and self.other is not None:
            self._leaving = True
            self.loop.call_soon(self._leave)

    def _leave(self) -> None:
        self._leaving = False
        if not self._queue or self.other is None or not self.is_open:
            return
        queue, self._queue = self._queue, []
        try:
            data = b"".join(chunk.read() if isinstance(chunk, FileSlice) else bytes(chunk) for chunk in queue)
        except OSError as error:
            self._fabric.reset(self, f"what was to be sent cannot be read: {error}")
            return
        self.activity += 1
        self._fabric.carry(self.other, data)

    def _deliver(self) -> None:
        if self._delivering:
            return
        self._delivering = True
        try:
            while self.is_open and not self._paused and len(self._received) >= 4:
                (size,) = _length(self._received)
                if size < 0 or size > self._max_frame:
                    self.close(f"a frame of {size} bytes was announced")
                    return
                if len(self._received) < 4 + size:
                    return
                frame = self._received[4 : 4 + size]
                del self._received[: 4 + size]
                self._hand_over(frame)
        finally:
            self._delivering = False

    def _tell_next(self) -> None:
        """What has to wait is announced, to whoever asked for that."""
        if self._announce is not None and self._paused and len(self._received) >= _ANNOUNCED:
            told, self._announce = self._announce, None
            told(bytes(self._received[:_ANNOUNCED]))

    def _hand_over(self, frame: bytearray) -> None:
        assert self._receiver is not None
        size = len(frame)
        try:
            self._receiver.frame(memoryview(frame), 0, size)
        except Exception:
            self._fabric.reset(self, "the receiver failed")
            raise
        frame[:] = b"\xee" * size

    def _end(self, reason: str | None) -> None:
        self.is_open = False
        self._queue.clear()
        self._received.clear()
        self.on_closed()
        if self._receiver is not None:
            self._receiver.closed(reason)
