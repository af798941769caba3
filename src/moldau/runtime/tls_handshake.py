"""TLS handshakes on a loop: the calling end's, and those of callers, which are bounded in every respect.

Who calls has not proved anything yet. So a handshake may take so long and so many bytes, nothing is set up for it
before its first bytes have come and look like TLS, and of each turn of the loop handshakes have a small share,
however many are under way: the public-key arithmetic of one takes as long as hundreds of requests.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections import deque
from collections.abc import Callable
from select import EPOLLIN, EPOLLONESHOT, EPOLLOUT
from typing import Final

from moldau.runtime.ports import Tls
from moldau.runtime.reactor import Reactor, Timer
from moldau.runtime.tls import TlsChannel
from moldau.runtime.tls_context import tls_reason

# How long a caller may take, from being accepted on. Clients give up a connection after ten seconds themselves.
HANDSHAKE_SECONDS: Final = 10.0
# What he may send until he is done. A chain of certificates has a few thousand bytes.
HANDSHAKE_BYTES: Final = 64 * 1024
# What is read at once of a peer that is not let in yet.
_READ_BYTES: Final = 16 * 1024
# The share of a turn; one step is always made, and takes about a millisecond with a key of RSA.
_SECONDS_PER_TURN: Final = 0.0005

# As every TLS record begins that may come first.
_HANDSHAKE_RECORD: Final = 0x16
NO_TLS: Final = "it does not speak TLS, which this listener expects"

Done = Callable[[TlsChannel | None, str], None]


class Handshake:
    """The calling end, between a connected socket and an established transport. Unless it is abandoned it ends with one
    call of `done`: with the channel, or with None and the reason."""

    def __init__(self, loop: Reactor, connected: socket.socket, tls: Tls, scratch: memoryview, done: Done) -> None:
        self._loop = loop
        self._socket = connected
        self._tls = tls
        self._done = done
        self._channel = TlsChannel(connected, tls.context, scratch, server_name=tls.server_name)
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


class Admissions:
    """The handshakes of all callers of a network; those whose turn has come go on one after the other."""

    def __init__(self, loop: Reactor, scratch: memoryview) -> None:
        self.loop = loop
        self.scratch = scratch
        self._ready: deque[Admission] = deque()
        self._scheduled = False

    def begin(self, connected: socket.socket, context: ssl.SSLContext, done: Done) -> Admission:
        return Admission(self, connected, context, done)

    def is_ready(self, admission: Admission) -> None:
        self._ready.append(admission)
        self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self.loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        self._scheduled = False
        until = time.monotonic() + _SECONDS_PER_TURN
        while self._ready:
            self._ready.popleft().step()
            if time.monotonic() >= until:
                break
        if self._ready:
            self._schedule()


class Admission:
    """One caller's handshake. Unless it is abandoned it ends with one call of `done`, like a `Handshake`."""

    __slots__ = ("_admissions", "_channel", "_context", "_deadline", "_done", "_left", "_socket")

    def __init__(self, admissions: Admissions, connected: socket.socket, context: ssl.SSLContext, done: Done) -> None:
        self._admissions = admissions
        self._socket = connected
        self._context = context
        self._done = done
        self._channel: TlsChannel | None = None
        self._left = HANDSHAKE_BYTES
        self._deadline: Timer | None = admissions.loop.call_later(HANDSHAKE_SECONDS, self._expire)
        # Once, until it is asked for again: who has to wait for his turn does not wake the loop all the while.
        admissions.loop.register(connected.fileno(), self._on_event, EPOLLIN | EPOLLONESHOT)

    def abandon(self) -> None:
        """Closes the connection, unless it was given to somebody."""
        if self._deadline is not None:
            self._leave()
            self._socket.close()

    def _leave(self) -> None:
        assert self._deadline is not None
        self._deadline.cancel()
        self._deadline = None
        self._admissions.loop.unregister(self._socket.fileno())

    def _on_event(self, _events: int) -> None:
        self._admissions.is_ready(self)

    def _expire(self) -> None:
        self._failed(f"its TLS handshake was not done within {HANDSHAKE_SECONDS:.0f} s")

    def step(self) -> None:
        """Goes on with what has come."""
        if self._deadline is None:
            return
        try:
            reason = None if self._receive() else "the connection was closed during the TLS handshake"
            done = reason is None and self._channel is not None and self._channel.go_on()
        except BlockingIOError:
            done, reason = False, None
        except ssl.SSLError as error:
            done, reason = False, tls_reason(error)
        except OSError as error:
            done, reason = False, error.strerror or str(error)
        if reason is None and done:
            assert self._channel is not None
            reason = self._channel.refusal()
        if reason is not None:
            self._failed(reason)
        elif not done:
            waits = EPOLLOUT if self._channel is not None and self._channel.wants_to_send else 0
            self._admissions.loop.modify(self._socket.fileno(), EPOLLIN | EPOLLONESHOT | waits)
        else:
            self._leave()
            self._done(self._channel, "")

    def _receive(self) -> bool:
        """Takes some of what the peer has sent; False at its end."""
        scratch = self._admissions.scratch
        count = self._socket.recv_into(scratch[: min(_READ_BYTES, self._left)])
        if not count:
            return False
        if self._channel is None:
            if scratch[0] != _HANDSHAKE_RECORD:
                raise ConnectionAbortedError(0, NO_TLS)
            self._channel = TlsChannel(self._socket, self._context, scratch, server_side=True)
        self._left -= count
        if not self._left:
            raise ConnectionAbortedError(0, f"its TLS handshake has more than {HANDSHAKE_BYTES} bytes")
        self._channel.feed(scratch[:count])
        return True

    def _failed(self, reason: str) -> None:
        self.abandon()
        self._done(None, reason)
