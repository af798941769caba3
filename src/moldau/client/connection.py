"""A blocking connection to one node: a socket around an `Exchange`.

Several requests may be sent before the first answer is waited for; answers are read in order, whoever waits. One
thread at a time uses a connection.
"""

from __future__ import annotations

import select
import socket
from math import inf
from struct import Struct
from time import monotonic
from typing import TYPE_CHECKING, Any

from moldau.client.addresses import Address
from moldau.client.errors import ConnectionFailed, RequestTimedOut, TlsFailed
from moldau.client.exchange import Call, Exchange
from moldau.client.security import OPEN, Security
from moldau.client.versions import NodeVersions, Request, api_name
from moldau.errors import MoldauError, ProtocolError

if TYPE_CHECKING:
    import ssl

_LENGTH = Struct(">i")

# Answers are bounded by what was asked for (a fetch by its max bytes). This limit is for peers that are no broker at
# all: the first four bytes of an HTTP answer read as a length are above it.
MAX_FRAME = 1 << 30


class Connection:
    def __init__(
        self,
        address: Address,
        *,
        client_id: str,
        connect_timeout: float = 10.0,
        max_in_flight: int = 5,
        security: Security = OPEN,
    ) -> None:
        self.address = address
        self._exchange = Exchange(client_id, max_in_flight=max_in_flight, mechanism=security.mechanism)
        self._failure: MoldauError | None = None
        self._renew_at = inf
        try:
            self._socket = socket.create_connection(address, timeout=connect_timeout)
        except OSError as error:
            raise ConnectionFailed(f"{address} does not answer: {_reason(error)}.") from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if security.context is not None:
            self._socket = _secured(self._socket, address, security.context)
        self._flush()

    @property
    def usable(self) -> bool:
        """False once it failed or was closed, and when the broker has hung up while nothing was asked."""
        if self._failure is not None:
            return False
        if self._exchange.idle and self._readable():
            # Nothing was asked, so the only thing to read is the end (or nonsense, which is no better).
            self._fail(ConnectionFailed(f"{self.address} closed the connection."))
            return False
        return True

    def versions(self, timeout: float) -> NodeVersions:
        """What the node speaks; waits for its answer the first time."""
        deadline = monotonic() + timeout
        while not self._exchange.ready:
            self._turn(deadline, "ApiVersions" if self._exchange.versions is None else "SaslAuthenticate")
        assert self._exchange.versions is not None
        return self._exchange.versions

    def send(self, request: Request, *, at_most: int | None = None, answered: bool = True) -> Call:
        """Sends without waiting for the answer; `wait` brings it."""
        if monotonic() >= self._renew_at:
            # The node's trust in who we are is about to end: it is asked for again, ahead of this request.
            self._renew_at = inf
            self._exchange.authenticate()
        call = self._exchange.call(request, at_most=at_most, answered=answered)
        if self._failure is None:
            self._flush()
        if not answered and self._failure is not None:
            raise self._failure
        return call

    def wait(self, call: Call, timeout: float) -> Any:
        """The answer to a request sent here. After a time-out the connection is closed: answers come in order, and
        nobody knows when this one will."""
        deadline = monotonic() + timeout
        while not call.settled:
            self._turn(deadline, api_name(call.request.API_KEY))
        return call.result()

    def call(self, request: Request, timeout: float, *, at_most: int | None = None) -> Any:
        return self.wait(self.send(request, at_most=at_most), timeout)

    def close(self) -> None:
        self._fail(ConnectionFailed(f"The connection to {self.address} is closed."))

    def fileno(self) -> int:
        return self._socket.fileno()

    # ------------------------------------------------------------------------------------------------- inside

    def _readable(self) -> bool:
        if self._failure is not None:
            return False
        poller = select.poll()
        poller.register(self._socket, select.POLLIN)
        return bool(poller.poll(0)) and self._says_something()

    def _says_something(self) -> bool:
        """TLS has things to say of its own (tickets for later sessions): only what is left after those counts."""
        self._socket.settimeout(0.0)
        try:
            self._socket.recv(1)
        except BlockingIOError:
            return False
        except OSError as error:
            # What the ssl module raises where a plain socket would block.
            return type(error).__name__ not in ("SSLWantReadError", "SSLWantWriteError")
        return True

    def _turn(self, deadline: float, awaited: str) -> None:
        """Reads one frame and sends what it set free."""
        if self._failure is not None:
            raise self._failure
        try:
            length = self._read(_LENGTH.size, deadline)
            (size,) = _LENGTH.unpack(length)
            if not 0 <= size <= MAX_FRAME:
                raise ProtocolError(f"What listens at {self.address} does not speak Kafka's protocol.")
            self._exchange.frame(memoryview(self._read(size, deadline)))
            if self._exchange.session_lifetime and self._renew_at == inf:
                self._renew_at = monotonic() + 0.85 * self._exchange.session_lifetime
        except TimeoutError:
            self._give_up(RequestTimedOut(f"{self.address} did not answer {awaited} in time."))
        except OSError as error:
            self._give_up(ConnectionFailed(f"The connection to {self.address} was lost: {_reason(error)}."))
        except MoldauError as error:
            self._give_up(error)
        self._flush()

    def _read(self, size: int, deadline: float) -> bytearray:
        data = bytearray(size)
        view = memoryview(data)
        position = 0
        while position < size:
            remaining = deadline - monotonic()
            if remaining <= 0:
                raise TimeoutError
            self._socket.settimeout(remaining)
            received = self._socket.recv_into(view[position:])
            if received == 0:
                raise ConnectionFailed(f"{self.address} closed the connection.")
            position += received
        return data

    def _flush(self) -> None:
        outgoing = self._exchange.take_outgoing()
        if not outgoing:
            return
        try:
            self._socket.settimeout(30.0)
            self._socket.sendall(b"".join(outgoing))
        except OSError as error:
            self._fail(ConnectionFailed(f"The connection to {self.address} was lost: {_reason(error)}."))

    def _fail(self, error: MoldauError) -> None:
        if self._failure is None:
            self._failure = error
            self._socket.close()
            self._exchange.lost(error)

    def _give_up(self, error: MoldauError) -> None:
        self._fail(error)
        raise error


def _secured(plain: socket.socket, address: Address, context: ssl.SSLContext) -> socket.socket:
    import ssl

    from moldau.runtime.tls import tls_reason

    try:
        return context.wrap_socket(plain, server_hostname=address.host)
    except (ssl.SSLEOFError, ssl.SSLZeroReturnError) as error:
        plain.close()
        raise ConnectionFailed(f"{address} closed the connection during the TLS handshake.") from error
    except ssl.SSLError as error:
        plain.close()
        raise TlsFailed(f"{address} cannot be used: {tls_reason(error)}.") from error
    except OSError as error:
        plain.close()
        raise ConnectionFailed(f"{address} does not answer: {_reason(error)}.") from error


def _reason(error: OSError) -> str:
    """The operating system's few words, in the middle of a sentence."""
    if isinstance(error, TimeoutError):
        return "timed out"
    text = error.strerror or str(error) or type(error).__name__
    return text[:1].lower() + text[1:]
