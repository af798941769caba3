"""TLS handshakes on a loop: the calling end's, and those of callers, which are bounded in every respect.

Who calls has not proved anything yet. So a handshake may take so long and so many bytes, and nothing is set up for it
before its first bytes have come and look like TLS. The public-key arithmetic of one takes as long as hundreds of
requests (0.2 to 5 ms, by the kind of key), so it is no work for the loop: one thread does it for all, and however many
are under way, whoever is served already shares no more than the machine with them.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

from moldau.runtime.ports import Tls
from moldau.runtime.reactor import Reactor, Timer
from moldau.runtime.readiness import ONCE, READABLE, WRITABLE
from moldau.runtime.tls import TlsChannel
from moldau.runtime.tls_context import tls_reason
from moldau.runtime.workers import ThreadWorkers

# How long a caller may take, from being accepted on. Clients give up a connection after ten seconds themselves.
HANDSHAKE_SECONDS: Final = 10.0
# What he may send until he is done. A chain of certificates has a few thousand bytes.
HANDSHAKE_BYTES: Final = 64 * 1024
# What is read at once of a peer that is not let in yet.
_READ_BYTES: Final = 16 * 1024
# Handshakes that go on in one job of the thread: a hand-over costs a tenth of one.
_AT_ONCE: Final = 4
# Callers that are read in one turn of the loop.
_READ_PER_TURN: Final = 32

# Handshakes that have begun and are not done. Each has some 45 KB of memory; one more, and the oldest has to go.
MOST_OPEN: Final = 500
# The head of the record and of the message in it, which ends with the message's length; and how long that may be.
_GREETING_HEAD: Final = 9
_GREETING_BYTES: Final = 16 * 1024

# As every TLS record begins that may come first.
_HANDSHAKE_RECORD: Final = 0x16
NO_TLS: Final = "it does not speak TLS, which this listener expects"

Done = Callable[[TlsChannel | None, str], None]
# Whether it is done, or why it cannot be.
_Outcome: TypeAlias = "bool | BaseException"


class Handshake:
    """The calling end, between a connected socket and an established transport. Unless it is abandoned it ends with one
    call of `done`: with the channel, or with None and the reason."""

    def __init__(self, loop: Reactor, connected: socket.socket, tls: Tls, scratch: memoryview, done: Done) -> None:
        self._loop = loop
        self._socket = connected
        self._tls = tls
        self._done = done
        self._channel = TlsChannel(connected, tls.context, scratch, server_name=tls.server_name)
        self._interest = READABLE
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
        interest = READABLE | (WRITABLE if self._channel.wants_to_send else 0)
        if interest != self._interest:
            self._interest = interest
            self._loop.modify(self._socket.fileno(), interest)

    def _failed(self, reason: str) -> None:
        self.abandon()
        self._done(None, reason)


class Admissions:
    """The handshakes of all callers of a network. What they compute is computed by a thread of their own, some at a
    time; OpenSSL lets go of the interpreter meanwhile. The loop reads and sends."""

    def __init__(self, loop: Reactor, scratch: memoryview) -> None:
        self.loop = loop
        self.scratch = scratch
        self._worker = ThreadWorkers(loop.call_from_thread, threads=1)
        # Those whose handshake has begun come first: what is left of it costs little.
        self._begun: deque[Admission] = deque()
        self._new: deque[Admission] = deque()
        self._busy = False
        # What OpenSSL holds memory for, the oldest first.
        self._open: dict[Admission, None] = {}

    def begin(self, connected: socket.socket, context: ssl.SSLContext, done: Done) -> Admission:
        return Admission(self, connected, context, done)

    def is_ready(self, admission: Admission) -> None:
        """It is readable; its turn comes."""
        (self._begun if admission.has_begun else self._new).append(admission)
        if not self._busy:
            self._busy = True
            self.loop.call_soon(self._go_on)

    def ended(self, admission: Admission) -> None:
        self._open.pop(admission, None)

    def close(self) -> None:
        self._worker.close()

    def _go_on(self) -> None:
        batch: list[Admission] = []
        for _ in range(_READ_PER_TURN):
            waiting = self._begun or self._new
            if not waiting or len(batch) == _AT_ONCE:
                break
            admission = waiting.popleft()
            if admission.receive():
                batch.append(admission)
                self._open[admission] = None
        while len(self._open) > MOST_OPEN:
            # Honest ones are done within a round trip or two.
            next(iter(self._open)).give_way()
        if batch:
            self._worker.submit(
                lambda: [each.advance() for each in batch],
                lambda outcomes, error: self._advanced(batch, outcomes, error),
            )
        elif self._begun or self._new:
            self.loop.call_soon(self._go_on)
        else:
            self._busy = False

    def _advanced(self, batch: list[Admission], outcomes: list[_Outcome] | None, error: BaseException | None) -> None:
        for admission, outcome in zip(batch, outcomes or [error or False] * len(batch), strict=True):
            admission.settle(outcome)
        self._go_on()


class Admission:
    """One caller's handshake. Unless it is abandoned it ends with one call of `done`, like a `Handshake`."""

    __slots__ = ("_admissions", "_channel", "_context", "_deadline", "_done", "_left", "_received", "_socket")

    def __init__(self, admissions: Admissions, connected: socket.socket, context: ssl.SSLContext, done: Done) -> None:
        self._admissions = admissions
        self._socket = connected
        self._context = context
        self._done = done
        self._channel: TlsChannel | None = None
        self._received = b""
        self._left = HANDSHAKE_BYTES
        self._deadline: Timer | None = admissions.loop.call_later(HANDSHAKE_SECONDS, self._expire)
        # Once, until it is asked for again: who has to wait for his turn does not wake the loop all the while.
        admissions.loop.register(connected.fileno(), self._on_event, READABLE | ONCE)

    @property
    def has_begun(self) -> bool:
        return self._channel is not None

    def abandon(self) -> None:
        """Closes the connection, unless it was given to somebody."""
        if self._deadline is not None:
            self._leave()
            self._socket.close()

    def receive(self) -> bool:
        """Takes some of what the peer has sent; whether there is something to go on with."""
        if self._deadline is None:
            return False
        scratch = self._admissions.scratch
        try:
            count = self._socket.recv_into(scratch[: min(_READ_BYTES, self._left)])
        except BlockingIOError:
            # What was to be sent may have found room meanwhile.
            self._push()
            return False
        except OSError as error:
            self._failed(error.strerror or str(error))
            return False
        self._left -= count
        if not count:
            self._failed("the connection was closed during the TLS handshake")
        elif self._channel is None and scratch[0] != _HANDSHAKE_RECORD and not self._received:
            self._failed(NO_TLS)
        elif not self._left:
            self._failed(f"its TLS handshake has more than {HANDSHAKE_BYTES} bytes")
        elif self._channel is not None:
            self._received = bytes(scratch[:count])
            return True
        else:
            return self._begins(bytes(scratch[:count]))
        return False

    def _begins(self, data: bytes) -> bool:
        """Whether there is enough to begin with. OpenSSL would make room for as much as a greeting says it has."""
        self._received += data
        if len(self._received) < _GREETING_HEAD:
            self._push()
            return False
        if int.from_bytes(self._received[_GREETING_HEAD - 3 : _GREETING_HEAD], "big") > _GREETING_BYTES:
            self._failed(f"its TLS handshake begins with more than {_GREETING_BYTES} bytes")
            return False
        return True

    def advance(self) -> _Outcome:
        """The arithmetic, on the worker's thread: whether the handshake is done, or why it never will be."""
        try:
            if self._channel is None:
                self._channel = TlsChannel(self._socket, self._context, self._admissions.scratch, server_side=True)
            self._channel.feed(self._received)
            return self._channel.advance()
        except Exception as error:
            return error

    def settle(self, outcome: _Outcome) -> None:
        """Goes on with what came of it, unless it was abandoned meanwhile."""
        if self._deadline is None:
            return
        if isinstance(outcome, BaseException):
            if self._channel is not None:
                with contextlib.suppress(OSError):
                    self._channel.push()  # the peer is told why
            self._failed(tls_reason(outcome) if isinstance(outcome, ssl.SSLError) else str(outcome))
            return
        assert self._channel is not None
        if not outcome or self._channel.wants_to_send:
            self._push()
        if outcome and self._deadline is not None:
            self._finish(self._channel)

    def _finish(self, channel: TlsChannel) -> None:
        refusal = channel.refusal()
        if refusal is not None:
            self._failed(refusal)
            return
        self._leave()
        self._done(channel, "")

    def _push(self) -> None:
        """Sends what is to be sent and waits for more; what the socket does not take goes before what comes later."""
        waits = READABLE | ONCE
        if self._channel is not None:
            try:
                self._channel.push()
            except BlockingIOError:
                waits |= WRITABLE
            except OSError as error:
                self._failed(error.strerror or str(error))
                return
        self._admissions.loop.modify(self._socket.fileno(), waits)

    def _leave(self) -> None:
        assert self._deadline is not None
        self._deadline.cancel()
        self._deadline = None
        self._admissions.loop.unregister(self._socket.fileno())
        self._admissions.ended(self)

    def give_way(self) -> None:
        self._failed("others wanted to shake hands, and it was the slowest of all")

    def _on_event(self, _events: int) -> None:
        self._admissions.is_ready(self)

    def _expire(self) -> None:
        self._failed(f"its TLS handshake was not done within {HANDSHAKE_SECONDS:.0f} s")

    def _failed(self, reason: str) -> None:
        self.abandon()
        self._done(None, reason)
