"""One connection on a loop: an `Exchange` between a transport and those who ask.

Everything here runs on the loop's thread. A link is made once and dies once; whoever wants to talk to the node again
makes another one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import Final

from moldau.deferred import Deferred
from moldau.errors import MoldauError
from moldau.links.addresses import Address
from moldau.links.errors import ConnectionFailed, RequestTimedOut, TlsFailed
from moldau.links.exchange import Call, Exchange, Step
from moldau.links.security import OPEN, Security
from moldau.links.versions import NodeVersions, Request, api_name
from moldau.runtime.ports import Clock, Network, Transport

# Answers are bounded by what was asked for (a fetch by its max bytes). This limit is for peers that are no broker at
# all: the first four bytes of an HTTP answer read as a length are above it.
_MAX_FRAME: Final = 1 << 30

# The exchange's own limit: those who pipeline (the producer's sender) count for themselves and stay below.
_MAX_IN_FLIGHT: Final = 100

# Kafka takes a login that is renewed, but not sooner than a second after the last renewal.
_RENEWED_SECONDS: Final = 1.0


class Said:
    """How much was asked and answered."""

    __slots__ = ("answers", "bytes_in", "bytes_out", "requests")

    def __init__(self) -> None:
        self.requests = self.answers = self.bytes_out = self.bytes_in = 0


class Link:
    """`ready` settles when the node can be asked, or with the reason why that will not happen."""

    def __init__(
        self,
        address: Address,
        network: Network,
        clock: Clock,
        *,
        client_id: str,
        connect_timeout: float,
        lost: Callable[[Link, MoldauError], None],
        chance: Callable[[], float],
        security: Security = OPEN,
        said: Said | None = None,
    ) -> None:
        """What is said on it is counted in `said`."""
        self.address = address
        self.ready: Deferred[Link] = Deferred()
        self.failure: MoldauError | None = None
        self.produce_in_flight = 0
        self._said = Said() if said is None else said
        self._clock = clock
        self._lost = lost
        self._chance = chance
        self._deadlines: dict[Call, float] = {}
        self._connect_deadline = clock.monotonic() + connect_timeout
        self._used = clock.monotonic()
        self._waiting_since = self._used
        self.heard_at = 0.0
        self._renew_at = inf
        self._network = network
        mechanism = None if security.mechanism is None else partial(security.mechanism, address)
        self._exchange = Exchange(client_id, max_in_flight=_MAX_IN_FLIGHT, mechanism=mechanism, aside=self._aside)
        self._tls = security.tls(address)
        self._transport: Transport = network.connect(
            address.host, address.port, lambda _: self, max_frame=_MAX_FRAME, tls=self._tls
        )
        self._send()

    @property
    def usable(self) -> bool:
        return self.failure is None

    @property
    def versions(self) -> NodeVersions | None:
        """What the node speaks; None until it can be asked something."""
        return self._exchange.versions if self._exchange.ready else None

    @property
    def idle_since(self) -> float | None:
        """When it was last asked something; None while an answer is missing."""
        return None if self._deadlines else self._used

    def silent_for(self, now: float) -> float:
        """For how long an answer has been missing and nothing at all was heard: the node may be halted."""
        return now - max(self.heard_at, self._waiting_since) if self._deadlines else 0.0

    def ask(self, request: Request, timeout: float, *, at_most: int | None = None, answered: bool = True) -> Call:
        """Sends now, or as soon as versions are known. Without an answer in `timeout` seconds the link is given up:
        answers come in order, and nobody knows when the next one will."""
        self._used = self._clock.monotonic()
        if self._used >= self._renew_at:
            self._renew()
        call = self._exchange.call(request, at_most=at_most, answered=answered)
        if not call.settled:
            call.seconds = timeout
            if not self._deadlines:
                self._waiting_since = self._used
            self._deadlines[call] = self._used + timeout
            call.then(lambda _value, _error: self._settled(call))
        self._send()
        return call

    def _send(self) -> None:
        outgoing = self._exchange.take_outgoing()
        if outgoing:
            self._said.requests += len(outgoing)
            self._said.bytes_out += sum(map(len, outgoing))
            self._transport.send(outgoing)

    def _settled(self, call: Call) -> None:
        self._deadlines.pop(call, None)

    def overdue(self, now: float) -> Call | None:
        return next((call for call, deadline in self._deadlines.items() if deadline <= now), None)

    @property
    def next_deadline(self) -> float:
        """When the first of the answers that are missing is overdue."""
        return min(self._deadlines.values(), default=inf)

    def check_time(self, now: float) -> None:
        """Gives the link up if it took too long to stand or to answer."""
        if now >= self._renew_at:
            self._renew()
        if not self._exchange.ready:
            if now >= self._connect_deadline:
                self._unreachable("timed out")
            return
        overdue = self.overdue(now)
        if overdue is not None:
            name = api_name(overdue.request.API_KEY)
            self.give_up(RequestTimedOut(f"{self.address} did not answer {name} in time."))

    def _renew(self) -> None:
        """The node's trust in who we are is about to end: it is asked for again, ahead of further requests."""
        self._renew_at = inf
        self._exchange.authenticate()
        self._send()

    def give_up(self, error: MoldauError) -> None:
        if self.failure is not None:
            return
        self.failure = error
        self._transport.close("given up")
        self._lost(self, error)
        if not self.ready.settled:
            self.ready.fail(error)
        self._exchange.lost(error)

    def close(self) -> None:
        self.give_up(ConnectionFailed(f"The connection to {self.address} is closed."))

    def _unreachable(self, reason: str) -> None:
        self.give_up(ConnectionFailed(f"{self.address} does not answer: {reason}.", reason))

    # ----------------------------------------------------------------------------------- the Receiver of its transport

    def frame(self, data: memoryview, start: int, end: int) -> None:
        if not self._goes_on(data, start, end):
            # A copy, because answers are read after this call: fetched records stay until the application takes them.
            self.own_frame(memoryview(bytes(data[start:end])))

    def _goes_on(self, data: memoryview, start: int, end: int) -> bool:
        """Whether the frame has been taken, and the next request of its call is on its way."""
        call = self._exchange.alone(data, start, end)
        go_on = None if call is None else getattr(call.request, "go_on", None)
        if call is None or go_on is None:
            return False
        now = self._clock.monotonic()
        request = None if now >= self._renew_at else go_on(data[start:end], call.version)
        if request is None:
            return False
        self._said.answers += 1
        self._said.bytes_in += end - start
        self.heard_at = self._used = self._waiting_since = now
        self._deadlines[call] = now + call.seconds
        self._exchange.go_on(call, request)
        self._send()
        return True

    def own_frame(self, data: memoryview) -> None:
        self.heard_at = self._clock.monotonic()
        self._said.answers += 1
        self._said.bytes_in += len(data)
        try:
            self._exchange.frame(data)
        except MoldauError as error:
            self.give_up(error)
            return
        self._go_on()

    def _aside(self, step: Step, done: Callable[[bytes | None, BaseException | None], None]) -> None:
        def taken(token: bytes | None, error: BaseException | None) -> None:
            if self.failure is not None:
                return
            try:
                done(token, error)
            except MoldauError as failure:
                self.give_up(failure)
                return
            self._go_on()

        self._network.aside(step, taken)

    def _go_on(self) -> None:
        self._send()
        if self._exchange.session_lifetime and self._renew_at == inf:
            # Well before its end, and not all connections at once.
            wait = self._exchange.session_lifetime * (0.85 + 0.1 * self._chance())
            if self.ready.settled:
                wait = max(wait, _RENEWED_SECONDS)
            self._renew_at = self._clock.monotonic() + wait
        if self._exchange.ready and not self.ready.settled:
            self.ready.resolve(self)

    def drained(self) -> None:
        pass

    def closed(self, reason: str | None) -> None:
        if self._tls is not None and self._tls.failure is not None:
            self.give_up(TlsFailed(f"{self.address} cannot be used: {self._tls.failure}."))
        elif not self._exchange.ready:
            self._unreachable(reason or "the connection was closed before an answer came")
        else:
            self.give_up(
                ConnectionFailed(f"The connection to {self.address} was lost" + (f": {reason}." if reason else "."))
            )
