"""Listeners and outgoing connections over TCP, IPv4 and IPv6."""

from __future__ import annotations

import errno
import logging
import os
import socket
from collections.abc import Callable
from select import EPOLLIN, EPOLLOUT
from types import ModuleType
from typing import Any, Final, TypeAlias

from moldau import _speed
from moldau.runtime.buffers import ReceiveBuffers
from moldau.runtime.channel import Channel, PlainChannel
from moldau.runtime.ports import Receiver, Runs, SocketOptions, Tls, Transport, Workers
from moldau.runtime.reactor import Reactor, Timer
from moldau.runtime.transport import FramedTransport

if _speed.COMPILED:
    from moldau._speed.express import Express

logger = logging.getLogger("moldau.runtime")

# A storm of new connections must not keep those that exist waiting.
ACCEPTS_PER_TURN: Final = 32

# Out of descriptors or memory: retrying at once would only burn the CPU that could free some.
_ACCEPT_RETRY_SECONDS: Final = 0.5
_EXHAUSTED: Final = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}

# Of the descriptors a process may have, so many are kept for files: whoever runs short turns away new connections
# before records can no longer be written.
_KEPT_SHARE: Final = 10
_KEPT_AT_LEAST: Final = 32
_KEPT_AT_MOST: Final = 1000
_HOW_TO_RAISE: Final = "raise the limit of open files (ulimit -n, or LimitNOFILE in a systemd unit)"

_Address: TypeAlias = tuple[Any, ...]
_Candidate: TypeAlias = tuple[int, _Address]

_DEFAULT_OPTIONS: Final = SocketOptions()


class EpollNetwork:
    def __init__(
        self, loop: Reactor, workers: Callable[[], Workers] | None = None, descriptors: int | None = None
    ) -> None:
        """`workers` look up host names, because that may take seconds; without them the lookup is done in place.

        `descriptors` is how many the process may have; some of them are kept from connections.
        """
        self._loop = loop
        # The operating system gives out the lowest that is free: the number of a new one tells how many are in use.
        self.highest_descriptor = None if descriptors is None else descriptors - _kept(descriptors)
        self._workers = workers
        self._buffers = ReceiveBuffers()
        self.express = loop.express = Express(self._buffers.shared, loop.hand_over) if _speed.COMPILED else None
        self._transports: set[FramedTransport] = set()
        self._listeners: set[TcpListener] = set()

    @property
    def buffers(self) -> ReceiveBuffers:
        return self._buffers

    def limit_receive_memory(self, limit: int | None) -> None:
        self._buffers.limit = limit

    def listen(
        self,
        host: str,
        port: int,
        accept: Callable[[Transport], Receiver | None],
        *,
        max_frame: int,
        options: SocketOptions = _DEFAULT_OPTIONS,
        runs: Runs | None = None,
    ) -> TcpListener:
        listener = TcpListener(self, _listening_socket(host, port, options), accept, max_frame, runs)
        self._listeners.add(listener)
        return listener

    def connect(
        self,
        host: str,
        port: int,
        receiver: Callable[[Transport], Receiver],
        *,
        max_frame: int,
        tls: Tls | None = None,
    ) -> FramedTransport:
        kind = FramedTransport if tls is None else _secure().SecureTransport
        transport = kind(self._loop, self._buffers, (host, port), max_frame, self._transports.discard)
        transport.attach(receiver(transport))
        self._transports.add(transport)
        _Connector(self._loop, transport, tls).resolve(host, port, self._workers)
        return transport

    def close(self) -> None:
        """Drops everything at once; a node that wants to finish its work has done so before."""
        for listener in tuple(self._listeners):
            listener.close()
        for transport in tuple(self._transports):
            transport.abort(None)

    # ----------------------------------------------------------------------------------- for the listeners

    def accepted(
        self,
        connected: socket.socket,
        peer: tuple[str, int],
        local: tuple[str, int],
        accept: Callable[[Transport], Receiver | None],
        max_frame: int,
        runs: Runs | None,
    ) -> None:
        transport = FramedTransport(self._loop, self._buffers, peer, max_frame, self._transports.discard)
        transport.local = local
        receiver: Receiver | None = None
        try:
            receiver = accept(transport)
        except Exception:
            logger.exception("the connection from %s:%d could not be taken up", *peer)
        if receiver is None:
            connected.close()
            return
        connected.setblocking(False)
        transport.attach(receiver)
        self._transports.add(transport)
        transport.established(connected.fileno(), PlainChannel(connected), local)
        if runs is not None and self.express is not None:
            self.express.add(connected.fileno(), transport, receiver, runs.of(receiver))

    def listener_closed(self, listener: TcpListener) -> None:
        self._listeners.discard(listener)

    @property
    def loop(self) -> Reactor:
        return self._loop


class TcpListener:
    def __init__(
        self,
        network: EpollNetwork,
        listening: socket.socket,
        accept: Callable[[Transport], Receiver | None],
        max_frame: int,
        runs: Runs | None,
    ) -> None:
        self.address = _plain_address(listening.getsockname())
        self._network = network
        self._socket = listening
        self._accept = accept
        self._max_frame = max_frame
        self._runs = runs
        self._retry: Timer | None = None
        self._exhausted = False
        self._paused = False
        self._closed = False
        network.loop.register(listening.fileno(), self._on_event, EPOLLIN)

    def pause(self) -> None:
        self._paused = True
        self._update_interest()

    def resume(self) -> None:
        self._paused = False
        self._update_interest()

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._retry is not None:
            self._retry.cancel()
        self._network.loop.unregister(self._socket.fileno())
        self._socket.close()
        self._network.listener_closed(self)

    def _update_interest(self) -> None:
        if not self._closed:
            self._network.loop.modify(self._socket.fileno(), EPOLLIN if self._accepting else 0)

    @property
    def _accepting(self) -> bool:
        return not (self._paused or self._retry or self._closed)

    def _on_event(self, _events: int) -> None:
        for _ in range(ACCEPTS_PER_TURN):
            if not self._accepting:
                return
            try:
                connected, address = self._socket.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in _EXHAUSTED:
                    self._wait_for_descriptors(error)
                    return
                continue  # the peer gave up before its turn came
            if self._network.highest_descriptor is not None and connected.fileno() > self._network.highest_descriptor:
                connected.close()
                self._tell_refused()
                continue
            self._exhausted = False
            self._network.accepted(
                connected, _plain_address(address), self.address, self._accept, self._max_frame, self._runs
            )

    def _wait_for_descriptors(self, error: OSError) -> None:
        if not self._exhausted:
            self._exhausted = True
            hint = f"; {_HOW_TO_RAISE}" if error.errno == errno.EMFILE else ""
            logger.error("no new connections can be accepted on %s:%d: %s%s", *self.address, error.strerror, hint)
        self._retry = self._network.loop.call_later(_ACCEPT_RETRY_SECONDS, self._try_again)
        self._update_interest()

    def _tell_refused(self) -> None:
        """Once, until somebody is let in again."""
        if not self._exhausted:
            self._exhausted = True
            logger.error(
                "connections on %s:%d are refused: the descriptors left are kept for files; %s",
                *self.address,
                _HOW_TO_RAISE,
            )

    def _try_again(self) -> None:
        self._retry = None
        self._update_interest()


class _Connector:
    """Finds the addresses of a host and tries them in turn until one answers."""

    def __init__(self, loop: Reactor, transport: FramedTransport, tls: Tls | None) -> None:
        self._loop = loop
        self._transport = transport
        self._tls = tls
        self._candidates: list[_Candidate] = []
        self._socket: socket.socket | None = None
        self._failure = "the name has no address"

    def resolve(self, host: str, port: int, workers: Callable[[], Workers] | None) -> None:
        try:
            self._found(_addresses(host, port, socket.AI_NUMERICHOST), None)
            return
        except OSError:
            pass  # a name, not an address
        if workers is not None:
            workers().submit(lambda: _addresses(host, port), self._found)
            return
        try:
            self._found(_addresses(host, port), None)
        except OSError as error:
            self._found(None, error)

    def _found(self, candidates: list[_Candidate] | None, error: BaseException | None) -> None:
        if error is not None:
            self._failure = getattr(error, "strerror", None) or str(error)
        self._candidates = candidates or []
        # Later, so that the caller of `connect` has its transport in hand before anything is reported.
        self._loop.call_soon(self._try_next)

    def _try_next(self) -> None:
        while self._transport.connecting:
            if not self._candidates:
                self._transport.abort(self._failure)
                return
            family, address = self._candidates.pop(0)
            connecting = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            connecting.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            code = connecting.connect_ex(address)
            if code in (0, errno.EINPROGRESS):
                self._socket = connecting
                self._loop.register(connecting.fileno(), self._on_event, EPOLLOUT)
                self._transport.on_abandon(self._abandon)
                return
            self._failure = os.strerror(code)
            connecting.close()

    def _on_event(self, _events: int) -> None:
        connecting = self._socket
        assert connecting is not None
        code = connecting.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        self._loop.unregister(connecting.fileno())
        self._socket = None
        if code:
            self._failure = os.strerror(code)
            connecting.close()
            self._try_next()
            return
        local = _plain_address(connecting.getsockname())
        if self._tls is None:
            self._transport.established(connecting.fileno(), PlainChannel(connecting), local)
        else:
            self._secure(connecting, local, self._tls)

    def _secure(self, connected: socket.socket, local: tuple[str, int], tls: Tls) -> None:
        def done(channel: Channel | None, reason: str) -> None:
            if channel is None:
                self._transport.abort(reason)
            else:
                self._transport.established(connected.fileno(), channel, local)

        handshake = _secure().Handshake(self._loop, connected, tls, done)
        if self._transport.connecting:
            self._transport.on_abandon(handshake.abandon)

    def _abandon(self) -> None:
        """The transport was closed before the connection stood."""
        if self._socket is not None:
            self._loop.unregister(self._socket.fileno())
            self._socket.close()
            self._socket = None


def _kept(descriptors: int) -> int:
    return min(max(descriptors // _KEPT_SHARE, _KEPT_AT_LEAST), _KEPT_AT_MOST, descriptors // 2)


def _secure() -> ModuleType:
    """Loaded by those who use it: for all others TLS is a few milliseconds of every start, for nothing."""
    import moldau.runtime.tls as tls

    return tls


def _addresses(host: str, port: int, flags: int = 0) -> list[_Candidate]:
    """IPv4 first, as Kafka's own clients and brokers prefer it where a name has both."""
    try:
        # As bytes, where they are plain: of text Python makes an international name, whose tables it would load for it.
        name = host.encode() if host.isascii() else host
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=flags)
    except socket.gaierror:
        if host != "localhost":
            raise
        # A bare container may have no file of hosts; this name means the machine itself everywhere (RFC 6761).
        return [(socket.AF_INET, ("127.0.0.1", port))]
    return sorted(((family, address) for family, _, _, _, address in found), key=lambda entry: entry[0])


def _listening_socket(host: str, port: int, options: SocketOptions) -> socket.socket:
    if host:
        family, address = _addresses(host, port)[0]
    elif socket.has_dualstack_ipv6():
        family, address = socket.AF_INET6, ("::", port)
    else:
        family, address = socket.AF_INET, ("0.0.0.0", port)
    listening = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1 if host else 0)
        # Accepted sockets inherit all of these from the listening one, so they cost nothing per connection.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if options.send_buffer is not None:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, options.send_buffer)
        if options.receive_buffer is not None:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options.receive_buffer)
        listening.bind(address)
        listening.listen(options.backlog)
    except BaseException:
        listening.close()
        raise
    return listening


def _plain_address(address: _Address) -> tuple[str, int]:
    """Host and port; an IPv4 peer on a socket for both families looks as it does on one for IPv4."""
    host: str = address[0]
    return (host.removeprefix("::ffff:") if "." in host else host), address[1]
