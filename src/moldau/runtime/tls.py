"""TLS beneath the frames: a handshake before a connection counts as established, then a channel that en- and decrypts.

The `ssl` module works on memory here, never on the socket. So one read of the socket brings many TLS records, and what
the socket does not take stays with us. Two things follow from that, and each has its place below. Bytes that were
decrypted and did not fit into the caller's buffer wake nobody, because the socket has nothing more to say about them:
`SecureTransport` looks again by itself. And bytes count as sent only when all that they were encrypted to has left, so
the transport's own queue remains the only one.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Callable
from select import EPOLLIN, EPOLLOUT
from typing import Final

from moldau.runtime.ports import Tls
from moldau.runtime.reactor import Reactor
from moldau.runtime.transport import FramedTransport
from moldau.types import Buffer

_READ_BYTES: Final = 256 * 1024

# What is encrypted at once: large enough to be one system call, small enough that little waits if it is not taken.
_PIECE: Final = 64 * 1024


class TlsChannel:
    """The shape of `channel.Channel`. `more` says that the last `receive` may have left something, or the end,
    that the socket will not announce."""

    __slots__ = ("_ended", "_incoming", "_outgoing", "_owed", "_socket", "_tls", "_unsent", "more")

    send_file: None = None

    def __init__(self, connected: socket.socket, tls: Tls, *, server_side: bool = False) -> None:
        self._socket = connected
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = tls.context.wrap_bio(
            self._incoming, self._outgoing, server_side=server_side, server_hostname=tls.server_name
        )
        self._unsent = memoryview(b"")
        self._owed = 0
        self._ended = False
        self.more = False

    def shake(self) -> bool:
        """Goes on with the handshake as far as the peer has; True once it is done, ssl.SSLError if it is refused."""
        while True:
            try:
                self._tls.do_handshake()
                done = True
            except ssl.SSLWantReadError:
                done = False
            except ssl.SSLError:
                with contextlib.suppress(OSError):
                    self._push()  # the peer is told why
                raise
            try:
                self._push()
                if done:
                    return True
                self._pull()
            except BlockingIOError:
                return False

    @property
    def wants_to_send(self) -> bool:
        return bool(self._unsent) or self._outgoing.pending > 0

    def receive(self, view: memoryview) -> int:
        filled = 0
        pulled = False
        while filled < len(view):
            try:
                count = int(self._tls.read(len(view) - filled, view[filled:]))
            except ssl.SSLWantReadError:
                # Once per call, and not for more than is asked for: other connections have their turn too.
                if pulled or filled:
                    break
                pulled = True
                self._pull()
                continue
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                count = 0
            # Whoever asks for bytes and gets none has reached the end: the peer said goodbye, or hung up without a word
            # and this version of the ssl module makes no difference between the two.
            if not count:
                self._ended = True
                self.more = filled > 0
                return filled
            filled += count
        self.more = filled == len(view)
        if not filled:
            raise BlockingIOError
        return filled

    def send(self, data: Buffer, _flags: int) -> int:
        view = memoryview(data)
        taken = 0
        try:
            while taken < len(view):
                if not self._owed:
                    self._owed = self._tls.write(view[taken : taken + _PIECE])
                self._push()
                taken += self._owed
                self._owed = 0
        except BlockingIOError:
            if not taken:
                raise
        return taken

    def peek(self) -> bytes | None:
        if self.more:
            return b"" if self._ended else b"?"
        try:
            return self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def end(self) -> None:
        self._say_goodbye()
        self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._say_goodbye()
        self._socket.close()

    # ------------------------------------------------------------------------------------------------------ inside

    def _pull(self) -> None:
        """Takes what the socket has; BlockingIOError if that is nothing."""
        data = self._socket.recv(_READ_BYTES)
        if data:
            self._incoming.write(data)
        else:
            self._incoming.write_eof()

    def _push(self) -> None:
        """Sends all that is encrypted; BlockingIOError if the socket does not take it all."""
        while True:
            if not self._unsent:
                if not self._outgoing.pending:
                    return
                self._unsent = memoryview(self._outgoing.read())
            sent = self._socket.send(self._unsent)
            self._unsent = self._unsent[sent:]

    def _say_goodbye(self) -> None:
        """A peer that is not told takes the end for an attack. It need not answer."""
        with contextlib.suppress(OSError, ValueError):
            self._tls.unwrap()
        with contextlib.suppress(OSError):
            self._push()


class Handshake:
    """Between a connected socket and an established transport. Unless it is abandoned it ends with one call of `done`:
    with the channel, or with None and the reason."""

    def __init__(
        self, loop: Reactor, connected: socket.socket, tls: Tls, done: Callable[[TlsChannel | None, str], None]
    ) -> None:
        self._loop = loop
        self._socket = connected
        self._tls = tls
        self._done = done
        self._channel = TlsChannel(connected, tls)
        self._interest = EPOLLIN
        loop.register(connected.fileno(), self._on_event, self._interest)
        self._on_event(0)

    def abandon(self) -> None:
        if self._socket.fileno() >= 0:
            self._loop.unregister(self._socket.fileno())
            self._socket.close()

    def _on_event(self, _events: int) -> None:
        try:
            done = self._channel.shake()
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
            self._failed("the connection was closed during the TLS handshake")
        except ssl.SSLError as error:
            self._tls.failure = tls_reason(error)
            self._failed(self._tls.failure)
        except OSError as error:
            self._failed(error.strerror or str(error))
        else:
            if done:
                self._loop.unregister(self._socket.fileno())
                self._done(self._channel, "")
            else:
                self._update_interest()

    def _update_interest(self) -> None:
        interest = EPOLLIN | (EPOLLOUT if self._channel.wants_to_send else 0)
        if interest != self._interest:
            self._interest = interest
            self._loop.modify(self._socket.fileno(), interest)

    def _failed(self, reason: str) -> None:
        self.abandon()
        self._done(None, reason)


class SecureTransport(FramedTransport):
    """A transport over a `TlsChannel`: what was decrypted and not yet taken is seen to without the socket's help."""

    __slots__ = ("_looking",)

    _looking: bool

    def on_event(self, events: int) -> None:
        super().on_event(events)
        self._look_again()

    def _deliver_backlog(self) -> None:
        super()._deliver_backlog()
        self._look_again()

    def _update_delivering(self) -> None:
        super()._update_delivering()
        self._look_again()

    def _look_again(self) -> None:
        if not self._may_look() or getattr(self, "_looking", False):
            return
        self._looking = True
        self._loop.call_soon(self._look)

    def _look(self) -> None:
        self._looking = False
        if self._may_look():
            self.on_event(EPOLLIN)

    def _may_look(self) -> bool:
        if not self._delivering or self._fd < 0 or self._backlog is not None:
            return False
        channel = self._channel
        return isinstance(channel, TlsChannel) and channel.more


def tls_reason(error: ssl.SSLError) -> str:
    """In a few words, without the library's own source lines."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted ({error.verify_message})"
    words = (error.reason or str(error)).replace("_", " ").lower()
    return f"the TLS handshake failed ({words})"
