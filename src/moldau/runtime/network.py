"""Listeners and outgoing connections over TCP, IPv4 and IPv6."""

from __future__ import annotations

import errno
import logging
import socket
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from moldau import _speed
from moldau.runtime.buffers import ReceiveBuffers
from moldau.runtime.channel import PlainChannel
from moldau.runtime.connector import Connector
from moldau.runtime.heads import HeadTransport
from moldau.runtime.ports import (
    KerberosAcceptor,
    KerberosInitiator,
    Receiver,
    Runs,
    SocketOptions,
    Tls,
    TlsRules,
    Transport,
    Workers,
)
from moldau.runtime.reactor import Reactor, Timer
from moldau.runtime.readiness import READABLE
from moldau.runtime.sockets import listening_socket, plain_address
from moldau.runtime.transport import FramedTransport
from moldau.runtime.workers import ThreadWorkers

if TYPE_CHECKING:
    import ssl

    from moldau.runtime.tls_handshake import Admissions

if _speed.COMPILED:
    from moldau._speed.express import Express

T = TypeVar("T")

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

_DEFAULT_OPTIONS: Final = SocketOptions()


class TcpNetwork:
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
        self._admissions: Admissions | None = None
        self._patient: ThreadWorkers | None = None
        self._closed = False

    @property
    def buffers(self) -> ReceiveBuffers:
        return self._buffers

    def fetch(
        self,
        url: str,
        *,
        seconds: float,
        most_bytes: int,
        headers: Sequence[tuple[str, str]] = (),
        body: bytes | None = None,
    ) -> bytes:
        from moldau.runtime.web import fetch  # half a second of loading, for the few who use it

        return fetch(url, seconds, most_bytes, headers, body)

    def aside(self, job: Callable[[], T], done: Callable[[T | None, BaseException | None], None]) -> None:
        if self._closed:
            return
        if self._patient is None:
            self._patient = ThreadWorkers(self._loop.call_from_thread, threads=1)
        self._patient.submit(job, done)

    def kerberos(self, principal: str, key_table: str) -> KerberosAcceptor:
        from moldau.runtime.kerberos import GssapiAcceptor  # a package of its own, which few have

        return GssapiAcceptor(principal, key_table)

    def kerberos_login(self, service: str, principal: str, key_table: str) -> KerberosInitiator:
        from moldau.runtime.kerberos import GssapiInitiator

        return GssapiInitiator(service, principal, key_table)

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
        tls: Callable[[], ssl.SSLContext] | None = None,
        heads: bool = False,
    ) -> TcpListener:
        kind = HeadTransport if heads else FramedTransport
        listener = TcpListener(self, listening_socket(host, port, options), accept, max_frame, runs, tls, kind)
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
        kind = FramedTransport if tls is None else _tls().SecureTransport
        transport = kind(self._loop, self._buffers, (host, port), max_frame, self._transports.discard)
        transport.attach(receiver(transport))
        self._transports.add(transport)
        Connector(self._loop, transport, tls, self._buffers).resolve(host, port, self._workers)
        return transport

    def secure(self, rules: TlsRules, *, accepting: bool) -> ssl.SSLContext:
        context: ssl.SSLContext = _tls_context().make_context(rules, accepting=accepting)
        return context

    def shake_hands(self, accepting: TlsRules, calling: TlsRules) -> str | None:
        refusal: str | None = _tls_context().shake_hands(accepting, calling)
        return refusal

    def close(self) -> None:
        """Drops everything at once; a node that wants to finish its work has done so before."""
        self._closed = True
        if self._patient is not None:
            self._patient.close(0.0)
        for listener in tuple(self._listeners):
            listener.close()
        for transport in tuple(self._transports):
            transport.abort(None)
        if self._admissions is not None:
            self._admissions.close()

    # ----------------------------------------------------------------------------------- for the listeners

    def accepted(
        self,
        connected: socket.socket,
        peer: tuple[str, int],
        local: tuple[str, int],
        accept: Callable[[Transport], Receiver | None],
        max_frame: int,
        runs: Runs | None,
        tls: Callable[[], ssl.SSLContext] | None,
        kind: type[FramedTransport],
    ) -> None:
        if tls is not None:
            kind = _tls().SecureTransport
        transport = kind(self._loop, self._buffers, peer, max_frame, self._transports.discard)
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
        # Who is turned away by a receiver of another kind is not worth a handshake.
        if tls is not None and hasattr(receiver, "secured"):
            self._admit(connected, tls(), transport, receiver, runs)
            return
        transport.established(connected.fileno(), PlainChannel(connected), local)
        if runs is not None:
            transport.serve_runs(runs.of(receiver), receiver)

    def _admit(
        self,
        connected: socket.socket,
        context: ssl.SSLContext,
        transport: FramedTransport,
        receiver: Any,
        runs: Runs | None,
    ) -> None:
        """The handshake comes first."""
        if self._admissions is None:
            self._admissions = _tls_handshake().Admissions(self._loop, self._buffers.ciphertext)

        def done(channel: Any, reason: str) -> None:
            if channel is None:
                transport.abort(reason)
                return
            transport.on_abandon(channel.close)
            refusal = receiver.secured(channel.peer_certificate)
            if refusal is not None:
                transport.abort(refusal)
            elif transport.connecting:
                transport.established(connected.fileno(), channel, transport.local)
                if runs is not None:
                    transport.serve_runs(runs.of(receiver), receiver)

        transport.on_abandon(self._admissions.begin(connected, context, done).abandon)

    def listener_closed(self, listener: TcpListener) -> None:
        self._listeners.discard(listener)

    @property
    def loop(self) -> Reactor:
        return self._loop


class TcpListener:
    def __init__(
        self,
        network: TcpNetwork,
        listening: socket.socket,
        accept: Callable[[Transport], Receiver | None],
        max_frame: int,
        runs: Runs | None,
        tls: Callable[[], ssl.SSLContext] | None,
        kind: type[FramedTransport] = FramedTransport,
    ) -> None:
        self.address = plain_address(listening.getsockname())
        self._network = network
        self._socket = listening
        self._accept = accept
        self._max_frame = max_frame
        self._runs = runs
        self._tls = tls
        self._kind = kind
        self._retry: Timer | None = None
        self._exhausted = False
        self._paused = False
        self._closed = False
        network.loop.register(listening.fileno(), self._on_event, READABLE)

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
            self._network.loop.modify(self._socket.fileno(), READABLE if self._accepting else 0)

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
                connected,
                plain_address(address),
                self.address,
                self._accept,
                self._max_frame,
                self._runs,
                self._tls,
                self._kind,
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


def _kept(descriptors: int) -> int:
    return min(max(descriptors // _KEPT_SHARE, _KEPT_AT_LEAST), _KEPT_AT_MOST, descriptors // 2)


# Loaded by those who use them: for all others TLS is a few milliseconds of every start, for nothing.


def _tls() -> ModuleType:
    import moldau.runtime.tls as tls

    return tls


def _tls_context() -> ModuleType:
    import moldau.runtime.tls_context as tls_context

    return tls_context


def _tls_handshake() -> ModuleType:
    import moldau.runtime.tls_handshake as tls_handshake

    return tls_handshake
