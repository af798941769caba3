"""One connection that carries frames: reading, framing, pausing, sending.

Reading. One bounded read per turn of the loop, into the buffer all connections share; whole frames are handed up where
they lie, the begun one at the end is stashed and put in front of the next read. A large frame moves into a pooled
buffer and is read there to its end; into one of its own for an `OwningReceiver`, which keeps it. Frames that may
not be delivered yet (the connection is paused, or has had its share of this turn) wait in a backlog, and as long as
there is one the socket is not read.

Sending. `send` queues; the queue leaves at the end of the turn, small chunks joined, file slices by sendfile. What the
peer does not take stays queued, and above `MAX_UNSENT` no further frame is delivered until all of it has left: a peer
that does not read its answers soon has nobody reading its requests.

Three things can hold back frames, and each is its own flag: `_paused` (the receiver asked), `_blocked` (too much is
unsent), `_starved` (no memory for a large frame). `_delivering` is true when none of them is and the connection is
open; it is all the hot path looks at. Interest in a socket that may not be read is dropped only when it has something
to read: most pauses (a parked fetch) end before the client sends again and so cost no system call.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable, Sequence
from enum import Enum, auto
from struct import Struct
from typing import Final

from moldau._speed import raw_memory
from moldau.errors import ProtocolError
from moldau.runtime.buffers import LARGE_FRAME, SHARED_SIZE, ReceiveBuffers
from moldau.runtime.channel import Channel, PlainChannel
from moldau.runtime.framing import deliver_frames
from moldau.runtime.outgoing import SendingSide
from moldau.runtime.ports import Chunk, Receiver, Runs
from moldau.runtime.reactor import Reactor, Timer
from moldau.runtime.readiness import FAILED, HUNG_UP, PEER_ENDED, READABLE, WRITABLE

logger = logging.getLogger("moldau.runtime")

MAX_UNSENT: Final = 1024 * 1024

# A read of 256 KiB may hold thousands of tiny requests; this many are served before the others have their turn.
FRAMES_PER_TURN: Final = 64
# And for no longer than this, but for the last of them.
SECONDS_PER_TURN: Final = 0.004

# How long a closed connection may take to accept what was queued before.
_LINGER_SECONDS: Final = 5.0

# How long a peer that still sends may take to notice that we do not listen any more.
_FAREWELL_SECONDS: Final = 1.0

# What one read may take of a frame that is kept: whoever keeps frames has few connections to be fair to.
_OWN_READ: Final = 1024 * 1024

# What is told of a frame that has to wait: its length and the two bytes behind that.
_ANNOUNCED: Final = 6

# Enough to see how long a frame is, and many a small one whole.
_PROBE: Final = 4096

# A client that wants TLS begins like this: read as the length of a frame that is far too much.
_TLS_HELLO: Final = b"\x16\x03"
_SPEAKS_TLS: Final = "it speaks TLS, which this listener does not"

_READ: Final = READABLE | PEER_ENDED

_length = Struct(">i").unpack_from


class State(Enum):
    CONNECTING = auto()
    OPEN = auto()
    CLOSING = auto()
    CLOSED = auto()


class FramedTransport(SendingSide):
    # fmt: off
    __slots__ = (
        "_abandon", "_announce", "_backlog", "_backlog_start", "_blocked", "_buffers", "_delivering", "_first_read",
        "_frame", "_kept", "_large", "_large_have", "_large_need", "_large_read", "_linger", "_max_frame",
        "_on_closed", "_own_frame", "_paused", "_reason", "_receive", "_receiver", "_scheduled", "_shared", "_starved",
        "_stash", "_state", "activity", "local", "peer",
    )
    # fmt: on

    def __init__(
        self,
        loop: Reactor,
        buffers: ReceiveBuffers,
        peer: tuple[str, int],
        max_frame: int,
        on_closed: Callable[[FramedTransport], None],
    ) -> None:
        super().__init__(loop)
        self.peer = peer
        self.local: tuple[str, int] = ("", 0)
        self.activity = 0
        self._buffers = buffers
        self._shared = buffers.shared
        self._max_frame = max_frame
        self._on_closed = on_closed
        self._receiver: Receiver
        self._frame: Callable[[memoryview, int, int], None]
        self._own_frame: Callable[[memoryview], None] | None = None
        self._receive: Callable[[memoryview], int]
        self._state = State.CONNECTING
        self._reason: str | None = None
        self._linger: Timer | None = None
        self._abandon: Callable[[], None] | None = None
        self._first_read = buffers.shared
        self._announce: Callable[[bytes], None] | None = None
        # Who wants to know how much is kept of frames that are not delivered yet.
        self._kept: Callable[[int], None] | None = None
        self._stash = b""
        self._backlog: memoryview | None = None
        self._backlog_start = 0
        self._large: memoryview | None = None
        self._large_have = 0
        self._large_need = 0
        self._large_read = SHARED_SIZE
        self._paused = False
        self._blocked = False
        self._starved = False
        self._delivering = False
        self._scheduled = False

    @property
    def secured_by(self) -> tuple[str, str] | None:
        return None

    def attach(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._frame = receiver.frame
        self._own_frame = getattr(receiver, "own_frame", None)
        if self._own_frame is not None:
            self._large_read = _OWN_READ

    @property
    def connecting(self) -> bool:
        return self._state is State.CONNECTING

    def on_abandon(self, abandon: Callable[[], None]) -> None:
        """What to call if this is closed before the connection stands."""
        self._abandon = abandon

    def established(self, fd: int, channel: Channel, local: tuple[str, int]) -> None:
        """The socket is connected: frames flow from here on, and what was queued before leaves."""
        self._abandon = None
        self._receive = channel.receive
        self.local = local
        self._state = State.OPEN
        self._loop.register(fd, self.on_event, _READ)
        self._connected(fd, channel, _READ)
        self._update_delivering()

    # ------------------------------------------------------------------------------------- the Transport port

    def send(self, chunks: Sequence[Chunk]) -> None:
        if self._state is not State.OPEN and self._state is not State.CONNECTING:
            return
        if self._add(chunks) > MAX_UNSENT:
            self._blocked = True
            self._delivering = False

    def pause(self) -> None:
        self._paused = True
        self._delivering = False

    def resume(self) -> None:
        if self._paused:
            self._paused = False
            self._announce = None
            self._update_delivering()

    def limit_frames(self, largest: int, kept: Callable[[int], None] | None = None) -> None:
        self._max_frame = largest
        self._kept = kept

    def serve_runs(self, runs: Runs | None, receiver: Receiver) -> None:
        express = self._loop.express
        if express is None or self._fd < 0:
            return
        if runs is None:
            express.remove(self._fd)
        else:
            wrapped = None if isinstance(self._channel, PlainChannel) else self._channel
            express.add(self._fd, self, receiver, runs, wrapped)

    def announce(self, told: Callable[[bytes], None]) -> None:
        self._announce = told
        if self._backlog is not None:
            self._tell_next()

    def close(self, reason: str | None = None) -> None:
        if self._state is State.CLOSING or self._state is State.CLOSED:
            return
        connecting = self._state is State.CONNECTING
        self._state = State.CLOSING
        self._delivering = False
        self._reason = reason
        if connecting:
            self._finish()
            return
        self.flush()
        if self._queue:
            self._want(WRITABLE)
            self._linger = self._loop.call_later(_LINGER_SECONDS, self._finish)
        elif self._fd >= 0 and self._linger is None:
            self._end()

    # ---------------------------------------------------------------------------------------------- receiving

    def on_event(self, events: int) -> None:
        """The socket is ready. Written flat: one small request passes through here, `_deliver` and `flush`."""
        self.activity += 1
        if events != READABLE and not self._unusual(events):
            return
        if not self._delivering or self._backlog is not None:
            self._stop_reading(events)
            return
        if self._large is not None:
            self._read_large(self._large)
            return
        shared = self._shared
        stash = self._stash
        have = len(stash)
        try:
            if have:
                shared[:have] = stash
                received = self._receive(shared[have:])
            else:
                received = self._receive(self._first_read)
        except BlockingIOError:
            return
        except OSError as error:
            self._broken(error)
            return
        if not received:
            self.close()
            return
        if have:
            self._stash = b""
        self._flush_queued = True  # answers given meanwhile need not ask for it
        self._deliver(shared, 0, have + received)
        self._flush_queued = False
        if self._queue:
            self.flush()

    def received(self, view: memoryview, position: int, end: int) -> None:
        """Goes on with what the express way has read, from the first frame that is not served there; without any
        bytes the socket is to be asked why.

        What is answered leaves at the end of the turn: a client with several connections that hears from one wakes up
        for it, which costs more than the sending, and with the next one it wakes again.
        """
        if position == end:
            self.on_event(READABLE)
            return
        self.activity += 1
        if not self._delivering:
            self._keep(view, position, end)
            return
        self._deliver(view, position, end)

    def _deliver(self, view: memoryview, position: int, end: int) -> None:
        """Hands up the whole frames in `view[position:end]` and keeps the rest."""
        try:
            position, left = deliver_frames(
                view, position, end, self._max_frame, self._frame, self, FRAMES_PER_TURN, SECONDS_PER_TURN
            )
        except ProtocolError as error:
            self.close(_SPEAKS_TLS if bytes(view[position : position + 2]) == _TLS_HELLO else str(error))
            return
        except Exception:
            self._receiver_failed()
            return
        if position < end:
            if not left or not self._delivering:
                self._keep(view, position, end)
                return
            # What has begun is counted as a whole; that it is not too long was seen above.
            size = 4 if end - position < 4 else 4 + _length(view, position)[0]
            if self._kept is not None and not self._may_keep(size):
                return
            if size > LARGE_FRAME:
                self._begin_large(view, position, end, size)
                return
            self._stash = bytes(view[position:end])
        elif self._kept is not None:
            self._kept(0)
        self._first_read = self._shared

    def _may_keep(self, size: int) -> bool:
        """Tells whoever counts it, who may close the connection for it."""
        if self._kept is not None:
            self._kept(size)
        return self._state is State.OPEN

    def _keep(self, view: memoryview, start: int, end: int) -> None:
        """The rest of a read becomes the backlog; it is copied out of the shared buffer once, then used in place."""
        if self._state is not State.OPEN or not self._may_keep(end - start):
            return
        if view is self._shared:
            self._backlog = memoryview(bytearray(view[start:end]))
            self._backlog_start = 0
        else:
            self._backlog = view
            self._backlog_start = start
        if self._delivering:
            self._schedule()
        elif self._announce is not None:
            self._tell_next()

    def _tell_next(self) -> None:
        """Says how the backlog begins, if there is enough of it."""
        assert self._backlog is not None
        head = bytes(self._backlog[self._backlog_start : self._backlog_start + _ANNOUNCED])
        if len(head) == _ANNOUNCED and self._announce is not None:
            told, self._announce = self._announce, None
            try:
                told(head)
            except Exception:
                self._receiver_failed()

    def _look_ahead(self) -> None:
        """Takes as little of the next frame as has to be told."""
        begun = b"" if self._backlog is None else bytes(self._backlog[self._backlog_start :])
        head = memoryview(bytearray(begun.ljust(_ANNOUNCED)))
        try:
            received = self._receive(head[len(begun) :])
        except BlockingIOError:
            return
        except OSError as error:
            self._broken(error)
            return
        if received:
            self._keep(head[: len(begun) + received], 0, len(begun) + received)
        else:
            self.close()

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._deliver_backlog)

    def _deliver_backlog(self) -> None:
        self._scheduled = False
        backlog = self._backlog
        if backlog is None or not self._delivering:
            return
        self._backlog = None
        self._deliver(backlog, self._backlog_start, len(backlog))
        if self._backlog is None and self._delivering:
            self._want(self._interest | _READ)

    def _begin_large(self, view: memoryview, start: int, end: int, size: int) -> None:
        large = memoryview(raw_memory(size)) if self._own_frame is not None else self._buffers.acquire(size)
        if large is None:
            self._starved = True
            self._delivering = False
            self._keep(view, start, end)
            self._buffers.wait(self._fed)
            return
        have = end - start
        large[:have] = view[start:end]
        self._large = large
        self._large_have = have
        self._large_need = size
        if have <= _PROBE:
            self._read_large(large)

    def _fed(self) -> None:
        self._starved = False
        self._update_delivering()

    def _read_large(self, large: memoryview) -> None:
        have = self._large_have
        need = self._large_need
        try:
            received = self._receive(large[have : min(need, have + self._large_read)])
        except BlockingIOError:
            return
        except OSError as error:
            self._broken(error)
            return
        if not received:
            self.close()
            return
        have += received
        self._large_have = have
        if have < need:
            return
        self._large = None
        # Large frames come in rows: the next one is begun with a short read, so that little of it has to be moved.
        self._first_read = self._shared[:_PROBE]
        try:
            if self._own_frame is not None:
                self._own_frame(large[4:])
            else:
                self._frame(large, 4, need)
        except Exception:
            self._receiver_failed()
        finally:
            self._forget_large(large)
        if self._kept is not None:
            self._kept(0)

    def _forget_large(self, large: memoryview) -> None:
        if self._own_frame is None:
            self._buffers.release(large)

    def _update_delivering(self) -> None:
        """One of the reasons to hold back frames is gone; if it was the last, what waits is delivered, but not here."""
        if self._paused or self._blocked or self._starved or self._state is not State.OPEN:
            return
        self._delivering = True
        if self._backlog is not None:
            self._schedule()
        elif not self._interest & READABLE:
            self._want(self._interest | _READ)

    def _unusual(self, events: int) -> bool:
        """Anything but plain readability; returns whether there may be something to read as well."""
        if events & WRITABLE:
            self.flush()
        return bool(events & ~WRITABLE) and self._fd >= 0

    def _stop_reading(self, events: int) -> None:
        """The socket has something, but it may not be read now: without interest it does not wake us every turn."""
        if events & (HUNG_UP | FAILED):
            self._broken(None)
        elif self._state is State.CLOSING:
            self._discard()
        elif events & PEER_ENDED and self._backlog is None and not self._queue and self._channel.peek() == b"":
            # Nobody waits for the answer that is being worked on: let the receiver give it up.
            self.close()
        elif self._announce is not None:
            self._look_ahead()
        elif not self._scheduled:
            self._want(self._interest & ~_READ)

    def _all_sent(self) -> None:
        if not (self._stalled or self._blocked):
            return
        stalled, self._stalled = self._stalled, False
        if self._state is State.CLOSING:
            self._end()
            return
        if self._blocked:
            self._blocked = False
            self._update_delivering()
        if stalled:
            self._want(self._interest & ~WRITABLE)
            try:
                self._receiver.drained()
            except Exception:
                self._receiver_failed()

    def doing(self) -> str:
        """What it may have been busy with just now, for whoever wonders why that took so long."""
        doing = getattr(getattr(self, "_receiver", None), "doing", None)
        return f"the connection from {self.peer[0]}:{self.peer[1]}" if doing is None else str(doing())

    # ------------------------------------------------------------------------------------------------ closing

    def _end(self) -> None:
        """All is sent. Closing a socket with unread bytes would reset it, and the peer might lose the last answers;
        so in an orderly end we say that nothing more comes, and read to nowhere until the peer has understood."""
        if self._reason is not None or not self._channel.peek():
            self._finish()
            return
        if self._linger is not None:
            self._linger.cancel()
        self._linger = self._loop.call_later(_FAREWELL_SECONDS, self._finish)
        self._stalled = False
        try:
            self._channel.end()
        except OSError:
            self._finish()
            return
        self._want(_READ)

    def _discard(self) -> None:
        if self._queue:
            self._want(WRITABLE)
            return
        try:
            if not self._receive(self._shared):
                self._finish()
        except BlockingIOError:
            pass
        except OSError:
            self._finish()

    def _receiver_failed(self) -> None:
        logger.exception("the receiver of the connection from %s:%d failed", *self.peer)
        self.close("its receiver failed")

    def _broken(self, error: OSError | None) -> None:
        """The socket is of no more use. A peer that resets an open connection is an ordinary end."""
        if self._state is not State.CLOSING:
            ordinary = error is None or error.errno in (errno.ECONNRESET, errno.EPIPE, errno.ETIMEDOUT)
            self._reason = None if ordinary else str(error)
        self._finish()

    def abort(self, reason: str | None) -> None:
        """Closes without waiting for the peer to take what is queued."""
        self._reason = reason
        self._finish()

    def _finish(self) -> None:
        if self._state is State.CLOSED:
            return
        self._state = State.CLOSED
        self._delivering = False
        if self._linger is not None:
            self._linger.cancel()
        if self._fd >= 0:
            self._loop.unregister(self._fd)
            self._channel.close()
            self._fd = -1
        elif self._abandon is not None:
            self._abandon()
        if self._large is not None:
            self._forget_large(self._large)
            self._large = None
        self._queue.clear()
        self._stash = b""
        self._backlog = None
        self._announce = None
        self.unsent = 0
        self._on_closed(self)
        # Not from within `close`: the receiver may be in the middle of something when it calls that.
        self._loop.call_soon(self._tell_closed)

    def _tell_closed(self) -> None:
        receiver = self._receiver
        # Each holds the other: whoever is left alone is freed at once, and not when the collector comes by.
        del self._receiver, self._frame
        receiver.closed(self._reason)
