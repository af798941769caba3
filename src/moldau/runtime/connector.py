"""Outgoing connections: from a host's name to a socket that is connected, and secured if it has to be."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable

from moldau.runtime.buffers import ReceiveBuffers
from moldau.runtime.channel import Channel, PlainChannel
from moldau.runtime.ports import Tls, Workers
from moldau.runtime.reactor import Reactor
from moldau.runtime.readiness import WRITABLE
from moldau.runtime.sockets import Candidate, addresses_of, plain_address
from moldau.runtime.transport import FramedTransport


class Connector:
    """Finds the addresses of a host and tries them in turn until one answers."""

    def __init__(self, loop: Reactor, transport: FramedTransport, tls: Tls | None, buffers: ReceiveBuffers) -> None:
        self._loop = loop
        self._buffers = buffers
        self._transport = transport
        self._tls = tls
        self._candidates: list[Candidate] = []
        self._socket: socket.socket | None = None
        self._failure = "the name has no address"

    def resolve(self, host: str, port: int, workers: Callable[[], Workers] | None) -> None:
        try:
            self._found(addresses_of(host, port, socket.AI_NUMERICHOST), None)
            return
        except OSError:
            pass  # a name, not an address
        if workers is not None:
            workers().submit(lambda: addresses_of(host, port), self._found)
            return
        try:
            self._found(addresses_of(host, port), None)
        except OSError as error:
            self._found(None, error)

    def _found(self, candidates: list[Candidate] | None, error: BaseException | None) -> None:
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
            connecting = socket.socket(family, socket.SOCK_STREAM)
            connecting.setblocking(False)
            connecting.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            code = connecting.connect_ex(address)
            if code in (0, errno.EINPROGRESS):
                self._socket = connecting
                self._loop.register(connecting.fileno(), self._on_event, WRITABLE)
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
        local = plain_address(connecting.getsockname())
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

        # Loaded by those who use it.
        from moldau.runtime.tls_handshake import Handshake

        handshake = Handshake(self._loop, connected, tls, self._buffers.ciphertext, done)
        if self._transport.connecting:
            self._transport.on_abandon(handshake.abandon)

    def _abandon(self) -> None:
        """The transport was closed before the connection stood."""
        if self._socket is not None:
            self._loop.unregister(self._socket.fileno())
            self._socket.close()
            self._socket = None
