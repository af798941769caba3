"""The acceptor of one listener: takes up connections as fast and as many as the quotas allow.

Who may not be accepted yet waits in the operating system's queue, where he costs us nothing; only a client that is over
the limit of its own address is turned away.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from moldau.runtime.ports import Clock, Loop, Network, Receiver, Runs, SocketOptions, TimerHandle, Transport
from moldau.server.connection import Connection
from moldau.server.connection_quotas import ConnectionQuotas
from moldau.server.listener_tls import ListenerTls
from moldau.server.request_channel import RequestChannel

if TYPE_CHECKING:
    from moldau.server.sasl_listener import SaslListener

logger = logging.getLogger("moldau.server")

# A refused address may try again many times a second; saying so once in a while is enough.
_REPEAT_SECONDS: Final = 10.0
# Connections of addresses above their quota that are kept waiting at a time.
_MOST_TURNED_AWAY: Final = 100


class _TurnedAway:
    """The upper end of a connection that nobody listens to."""

    def __init__(self, others: set[_TurnedAway]) -> None:
        self._others = others

    def frame(self, data: memoryview, start: int, end: int) -> None:
        """What was sent before it was paused is passed over."""

    def drained(self) -> None:
        pass

    def closed(self, reason: str | None) -> None:
        self._others.discard(self)


class Acceptor:
    def __init__(
        self,
        name: str,
        channel: RequestChannel,
        quotas: ConnectionQuotas,
        clock: Clock,
        loop: Loop,
        on_opened: Callable[[Connection], None],
        sasl: SaslListener | None = None,
    ) -> None:
        self.name = name
        self._channel = channel
        self._quotas = quotas
        self._clock = clock
        self._loop = loop
        self._on_opened = on_opened
        self._sasl = sasl
        self._throttle: TimerHandle | None = None
        self._paused = False
        self._serving = False
        self._told: dict[str, float] = {}
        self._turned_away: set[_TurnedAway] = set()
        self._tls: ListenerTls | None = None

    def listen(
        self,
        network: Network,
        host: str,
        port: int,
        max_frame: int,
        options: SocketOptions,
        runs: Runs | None,
        tls: ListenerTls | None,
    ) -> None:
        self._listener = network.listen(
            host,
            port,
            self._accept,
            max_frame=max_frame,
            options=options,
            runs=runs,
            tls=None if tls is None else tls.current,
        )
        self._tls = tls
        self.update()

    def serve(self) -> None:
        self._serving = True
        self.update()

    @property
    def address(self) -> tuple[str, int]:
        return self._listener.address

    def update(self) -> None:
        """Accepts or lets wait, according to the quotas as they are now."""
        pause = not self._serving or self._throttle is not None or not self._quotas.has_slot(self.name)
        if pause != self._paused:
            self._paused = pause
            if pause:
                self._listener.pause()
            else:
                self._listener.resume()

    def close(self) -> None:
        self._listener.close()
        if self._throttle is not None:
            self._throttle.cancel()

    def _accept(self, transport: Transport) -> Receiver | None:
        address = transport.peer[0]
        now = self._clock.monotonic()
        delay = self._quotas.delay(self.name, now)
        if delay > 0 and self._throttle is None:
            self._throttle = self._loop.call_later(delay, self._throttle_over)
        if not self._quotas.admits(address):
            self._tell_refused(address, now)
            self.update()
            return None
        wait = self._quotas.address_delay(address, now)
        if wait > 0:
            self._tell_refused(address, now)
            return self._turn_away(transport, wait)
        self._quotas.opened(self.name, address)
        self.update()
        # With SASL it is the login that counts, whatever certificate there is besides.
        identify = None if self._tls is None or self._sasl is not None else self._tls.principal
        connection = Connection(transport, self._channel, self.name, now, identify)
        if self._sasl is not None:
            connection.authentication = self._sasl.begin(connection)
        self._on_opened(connection)
        return connection

    def _turn_away(self, transport: Transport, wait: float) -> Receiver | None:
        """Kept waiting before it is closed: a client that were refused at once would be back at once. So many at most,
        because each costs a descriptor."""
        if len(self._turned_away) >= _MOST_TURNED_AWAY:
            return None
        waiting = _TurnedAway(self._turned_away)
        self._turned_away.add(waiting)
        transport.pause()
        self._loop.call_later(wait, transport.close)
        return waiting

    def _throttle_over(self) -> None:
        self._throttle = None
        self.update()

    def _tell_refused(self, address: str, now: float) -> None:
        if now - self._told.get(address, -_REPEAT_SECONDS) >= _REPEAT_SECONDS:
            self._told = {known: when for known, when in self._told.items() if now - when < _REPEAT_SECONDS}
            self._told[address] = now
            logger.warning("refused a connection from %s on %s: it holds as many as it may", address, self.name)
