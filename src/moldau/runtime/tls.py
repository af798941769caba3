"""TLS beneath the frames: a channel that en- and decrypts, once the handshake (`tls_handshake`) is done.

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
from typing import Final

from moldau.runtime.readiness import READABLE
from moldau.runtime.tls_context import Context, standard_name
from moldau.runtime.transport import FramedTransport
from moldau.types import Buffer

# How often one call asks the socket for as much as is taken at once.
_PULLS: Final = 4

# What is encrypted at once: large enough to be one system call, small enough that little waits if it is not taken.
_PIECE: Final = 64 * 1024


class TlsChannel:
    """The shape of `channel.Channel`. `more` says that the last `receive` may have left something, or the end,
    that the socket will not announce."""

    # fmt: off
    __slots__ = (
        "_ended", "_fault", "_incoming", "_outgoing", "_owed", "_scratch", "_socket", "_tls", "_unsent", "more",
    )
    # fmt: on

    send_file: None = None

    def __init__(
        self,
        connected: socket.socket,
        context: ssl.SSLContext,
        scratch: memoryview,
        *,
        server_side: bool = False,
        server_name: str | None = None,
    ) -> None:
        """`scratch` is shared: it holds something for no longer than a call takes."""
        self._socket = connected
        self._scratch = scratch
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._incoming, self._outgoing, server_side=server_side, server_hostname=server_name
        )
        self._unsent: bytes | memoryview = b""
        self._owed = 0
        # What the peer said last: that it is the end, or nothing that can be understood.
        self._ended = False
        self._fault: ssl.SSLError | None = None
        self.more = False

    def shake(self) -> bool:
        """Goes on with the handshake as far as the peer has; True once it is done, ssl.SSLError if it is refused."""
        while True:
            try:
                if self.go_on():
                    return True
                self._pull()
            except BlockingIOError:
                return False

    def go_on(self) -> bool:
        """The same without asking the socket for more; BlockingIOError if it does not take what is to be sent."""
        try:
            done = self.advance()
        except ssl.SSLError:
            with contextlib.suppress(OSError):
                self.push()  # the peer is told why
            raise
        self.push()
        return done

    def advance(self) -> bool:
        """The same without the socket: what has to be computed."""
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        # The first request may have come with the end of the handshake.
        self.more = self._incoming.pending > 0
        return True

    def feed(self, data: bytes) -> None:
        """What was received already, and is not decrypted."""
        self._incoming.write(data)

    def refusal(self) -> str | None:
        """Why a handshake that succeeded is not accepted all the same."""
        context, cipher = self._tls.context, self._tls.cipher()
        if isinstance(context, Context) and cipher is not None and context.refuses(cipher[0]):
            return f"the TLS handshake came to the cipher suite {cipher[0]}, which is not among those allowed"
        return None

    @property
    def peer_certificate(self) -> bytes | None:
        """In DER, and believed."""
        return self._tls.getpeercert(binary_form=True) if self._tls.context.verify_mode else None

    @property
    def secured_by(self) -> tuple[str, str] | None:
        cipher, version = self._tls.cipher(), self._tls.version()
        return None if cipher is None or version is None else (standard_name(cipher[0]), version)

    @property
    def wants_to_send(self) -> bool:
        return bool(self._unsent) or self._outgoing.pending > 0

    def receive(self, view: memoryview) -> int:
        if self._fault is not None:
            raise self._fault
        if self._ended:
            return 0
        # Asking OpenSSL in vain costs as much as a small record: it is asked only if it may have something.
        asks = self.more or self._incoming.pending > 0
        size = len(view)
        filled = 0
        pulls = _PULLS
        while True:
            if not asks:
                # So often in a call, and not for more than is asked for: other connections have their turn too.
                if not pulls:
                    break
                try:
                    pulls = pulls - 1 if self._pull() else 0
                except BlockingIOError:
                    break
            try:
                count = int(self._tls.read(size - filled, view[filled:] if filled else view))
            except ssl.SSLWantReadError:
                asks = False
                continue
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                count = 0
            except ssl.SSLError as error:
                self._fault = error
                raise
            # Whoever asks for bytes and gets none has reached the end: the peer said goodbye, or hung up without a word
            # and this version of the ssl module makes no difference between the two.
            if not count:
                self._ended = True
                self.more = filled > 0
                return filled
            filled += count
            # What is given is as much of a record as there is room for: only with the last room may some be left of it.
            asks = self._incoming.pending > 0
            if filled == size:
                self.more = asks or self._tls.pending() > 0
                return filled
        self.more = False
        if not filled:
            raise BlockingIOError
        return filled

    def send(self, data: Buffer, _flags: int) -> int:
        size = len(data)
        taken = 0
        try:
            while taken < size:
                if not self._owed:
                    whole = not taken and size <= _PIECE
                    self._owed = self._tls.write(data if whole else memoryview(data)[taken : taken + _PIECE])
                self.push()
                taken += self._owed
                self._owed = 0
        except BlockingIOError:
            if not taken:
                raise
        return taken

    def push(self) -> None:
        """Sends all that is encrypted; BlockingIOError if the socket does not take it all."""
        while True:
            data = self._unsent or self._outgoing.read()
            if not data:
                return
            self._unsent = data
            sent = self._socket.send(data)
            self._unsent = b"" if sent == len(data) else memoryview(data)[sent:]

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

    def _pull(self) -> bool:
        """Takes what the socket has; BlockingIOError if that is nothing. Whether there may be more."""
        count = self._socket.recv_into(self._scratch)
        if count:
            self._incoming.write(self._scratch[:count])
        else:
            self._incoming.write_eof()
        return count == len(self._scratch)

    def _say_goodbye(self) -> None:
        """A peer that is not told takes the end for an attack. It need not answer."""
        with contextlib.suppress(OSError, ValueError):
            self._tls.unwrap()
        with contextlib.suppress(OSError):
            self.push()


class SecureTransport(FramedTransport):
    """A transport over a `TlsChannel`: what was decrypted and not yet taken is seen to without the socket's help."""

    __slots__ = ("_looking",)

    _looking: bool

    @property
    def secured_by(self) -> tuple[str, str] | None:
        channel = self._channel
        return channel.secured_by if isinstance(channel, TlsChannel) else None

    def on_event(self, events: int) -> None:
        super().on_event(events)
        self.look_again()

    def received(self, view: memoryview, position: int, end: int) -> None:
        super().received(view, position, end)
        self.look_again()

    def look_again(self) -> None:
        """Sees to what is left, soon."""
        if not self._may_look() or getattr(self, "_looking", False):
            return
        self._looking = True
        self._loop.call_soon(self._look)

    def _deliver_backlog(self) -> None:
        super()._deliver_backlog()
        self.look_again()

    def _update_delivering(self) -> None:
        super()._update_delivering()
        self.look_again()

    def _look(self) -> None:
        self._looking = False
        if self._may_look():
            self.on_event(READABLE)

    def _may_look(self) -> bool:
        if not self._delivering or self._fd < 0 or self._backlog is not None:
            return False
        channel = self._channel
        return isinstance(channel, TlsChannel) and channel.more
