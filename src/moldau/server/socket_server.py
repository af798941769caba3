"""All listeners and connections of a node: opening, limits, idle connections, shutdown."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from moldau.config.listeners import SecurityProtocol
from moldau.deferred import Deferred
from moldau.runtime.ports import Runtime, SocketOptions, TimerHandle
from moldau.server.acceptor import Acceptor
from moldau.server.connection import Connection
from moldau.server.connection_quotas import INT_MAX, ConnectionLimits, ConnectionQuotas
from moldau.server.context import Services
from moldau.server.dispatch import DispatchTable
from moldau.server.listener_tls import ListenerTls
from moldau.server.request_channel import RequestChannel
from moldau.server.strangers import Strangers

if TYPE_CHECKING:
    from moldau.config.broker import BrokerConfig
    from moldau.config.listeners import Endpoint
    from moldau.security.quota import Limits
    from moldau.server.sasl_listener import Logins, SaslListener

logger = logging.getLogger("moldau.server")

# Idle connections are looked for this many times within the time they are allowed: they live at most a tenth longer.
_LOOKS: Final = 10
_LONGEST_WAIT: Final = 10.0


class SocketServer:
    def __init__(self, config: BrokerConfig, runtime: Runtime, services: Services) -> None:
        self._config = config
        self._runtime = runtime
        self._services = services
        self._channels: dict[int, RequestChannel] = {}
        self._acceptors: dict[str, Acceptor] = {}
        self._sasl: dict[str, SaslListener] = {}
        self.strangers = Strangers()
        self._quotas = ConnectionQuotas(limits_of(config), runtime.clock.monotonic())
        self._idle_seconds = config.connections_max_idle_ms / 1000
        self._sweep_timer: TimerHandle | None = None
        self._stopping: Deferred[None] | None = None
        # In the order they were opened, so that a run on the simulator repeats exactly.
        self.connections: dict[Connection, None] = {}
        limit = config.queued_max_request_bytes
        runtime.network.limit_receive_memory(limit if limit > 0 else None)

    # ---------------------------------------------------------------------------------------------- listeners

    def bind(self, endpoint: Endpoint, table: DispatchTable, tls: ListenerTls | None = None) -> tuple[str, int]:
        """Takes the address and returns the real one; OSError if it cannot be had. Who connects waits until `serve`."""
        channel = self._channels.get(id(table))
        if channel is None:
            channel = RequestChannel(table, self._services, self._runtime.loop, self._closed)
            self._channels[id(table)] = channel
        runs, sasl = channel.runs, None
        if endpoint.security_protocol in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL):
            from moldau.server.sasl_listener import SaslListener  # what it needs is slow to load

            # The express way would serve somebody before he has logged in: so it is opened by the login.
            secure = endpoint.security_protocol is SecurityProtocol.SASL_SSL
            sasl = SaslListener(endpoint.name, table, self._services, runs, self.strangers, secure=secure)
            runs = None
            self._sasl[endpoint.name] = sasl
        acceptor = Acceptor(
            endpoint.name, channel, self._quotas, self._runtime.clock, self._runtime.loop, self._opened, sasl
        )
        acceptor.listen(
            self._runtime.network,
            endpoint.host,
            endpoint.port,
            self._config.socket_request_max_bytes,
            SocketOptions(
                backlog=self._config.socket_listen_backlog_size,
                send_buffer=_buffer_size(self._config.socket_send_buffer_bytes),
                receive_buffer=receive_buffer_of(self._config),
            ),
            runs,
            tls,
        )
        self._acceptors[endpoint.name] = acceptor
        return acceptor.address

    def serve(self, endpoints: Iterable[Endpoint] | None = None) -> None:
        """Accepts who comes to these listeners; without any named, on every listener bound so far."""
        names = self._acceptors.keys() if endpoints is None else [endpoint.name for endpoint in endpoints]
        for name in names:
            self._acceptors[name].serve()
        if self._sweep_timer is None and self._idle_seconds > 0:
            self._sweep_later()

    def open(self, endpoint: Endpoint, table: DispatchTable, tls: ListenerTls | None = None) -> tuple[str, int]:
        address = self.bind(endpoint, table, tls)
        self.serve()
        return address

    def limit_addresses(self, limits: Limits | None) -> None:
        """How fast new connections may come from each address, from now on; None for any rate."""
        self._quotas.address_limits = limits

    def address(self, listener_name: str) -> tuple[str, int]:
        return self._acceptors[listener_name].address

    @property
    def listener_names(self) -> tuple[str, ...]:
        return tuple(self._acceptors)

    def come_and_gone(self, listener_name: str) -> tuple[int, int]:
        """Connections that were accepted since the start, and those of them that have ended."""
        created = self._quotas.created.get(listener_name, 0)
        return created, created - self._quotas.held(listener_name)

    @property
    def logins(self) -> dict[str, Logins]:
        """What came of them, on the listeners where there are any."""
        return {name: sasl.logins for name, sasl in self._sasl.items()}

    @property
    def channels(self) -> tuple[RequestChannel, ...]:
        return tuple(self._channels.values())

    @property
    def in_flight(self) -> int:
        """Requests whose answer is still awaited."""
        return sum(channel.in_flight for channel in self._channels.values())

    def shutdown(self, deadline_seconds: float) -> Deferred[None]:
        """Accepts nobody and takes no further request; settles when all answers have left, or at the deadline.

        A connection closes as soon as its last answer is with the operating system. Those that have not by the
        deadline are left to the runtime, which drops them when it closes.
        """
        if self._stopping is not None:
            return self._stopping
        self._stopping = Deferred()
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
        for acceptor in self._acceptors.values():
            acceptor.close()
        for connection in tuple(self.connections):
            connection.finish()
        self._runtime.loop.call_later(deadline_seconds, self._deadline)
        self._settle_if_done()
        return self._stopping

    # -------------------------------------------------------------------------------------------- connections

    def _opened(self, connection: Connection) -> None:
        self.connections[connection] = None
        if self._quotas.exceeded:
            self._close_longest_idle()

    def _closed(self, connection: Connection) -> None:
        self.connections.pop(connection, None)
        self._quotas.closed(connection.listener_name, connection.peer[0])
        if self._stopping is not None:
            self._settle_if_done()
            return
        for acceptor in self._acceptors.values():
            acceptor.update()

    def _close_longest_idle(self) -> None:
        now = self._runtime.clock.monotonic()
        candidates = [c for c in self.connections if c.listener_name != self._quotas.limits.protected_listener]
        for connection in candidates:
            _look(connection, now)
        if candidates:
            longest = min(candidates, key=lambda connection: connection.idle_since)
            longest.close("the inter-broker listener needs its place (max.connections)")

    def _sweep_later(self) -> None:
        wait = min(self._idle_seconds / _LOOKS, _LONGEST_WAIT)
        self._sweep_timer = self._runtime.loop.call_later(wait, self._sweep)

    def _sweep(self) -> None:
        """Closes who has been idle for too long. Connections note no times; that they moved shows when looking."""
        now = self._runtime.clock.monotonic()
        for connection in tuple(self.connections):
            _look(connection, now)
            if now - connection.idle_since >= self._idle_seconds:
                logger.debug("closing the connection from %s: idle for too long", connection.name)
                connection.close()
        self._sweep_later()

    def _settle_if_done(self) -> None:
        if not self.connections and self._stopping is not None and not self._stopping.settled:
            self._stopping.resolve(None)

    def _deadline(self) -> None:
        if self._stopping is not None and not self._stopping.settled:
            logger.warning("%d connections were not finished before the deadline", len(self.connections))
            self._stopping.resolve(None)


def _look(connection: Connection, now: float) -> None:
    activity = connection.transport.activity
    if connection.busy or activity != connection.seen_activity:
        connection.seen_activity = activity
        connection.idle_since = now


def _buffer_size(setting: int) -> int | None:
    return setting if setting > 0 else None


def receive_buffer_of(config: BrokerConfig) -> int | None:
    """The size that was asked for. Kafka's default of 100 KiB is less than the operating system begins with, and a
    fixed size keeps it from growing: large batches then arrive in more and smaller reads, which costs throughput and
    CPU. So a size that nobody asked for is not forced on a connection.
    """
    if "socket.receive.buffer.bytes" not in config.originals:
        return None
    return _buffer_size(config.socket_receive_buffer_bytes)


def limits_of(config: BrokerConfig) -> ConnectionLimits:
    names = [endpoint.name for endpoint in (*config.broker_endpoints, *config.controller_endpoints)]
    kind = type(config)
    per_listener = {name: config.for_listener(kind.max_connections, name) for name in names}
    rates = {name: config.for_listener(kind.max_connection_creation_rate, name) for name in names}
    return ConnectionLimits(
        max_connections=config.max_connections,
        max_per_listener={name: limit for name, limit in per_listener.items() if limit < INT_MAX},
        max_per_ip=config.max_connections_per_ip,
        max_per_ip_overrides=_overrides(config.max_connections_per_ip_overrides),
        max_rate=config.max_connection_creation_rate,
        max_rate_per_listener={name: limit for name, limit in rates.items() if limit < INT_MAX},
        protected_listener=config.inter_broker_listener if len(names) > 1 else None,
    )


def _overrides(text: str) -> dict[str, int]:
    """`host:number` separated by commas; the host may itself contain colons (IPv6)."""
    overrides: dict[str, int] = {}
    for item in filter(None, (item.strip() for item in text.split(","))):
        host, _, number = item.rpartition(":")
        overrides[host.strip().strip("[]")] = int(number)
    return overrides
