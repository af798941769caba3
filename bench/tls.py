"""What TLS costs, apart from everything else: `python -m bench.tls`, three minutes. The numbers in docs/SECURITY.md.

ways        CPU of the node's end for a GiB each way and for a round trip: OpenSSL on memory, and on the socket
handshakes  CPU of one at the node's end, by the kind of key
storm       round trips of an established connection, alone and while three processes begin handshakes for ever
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import socket
import ssl
import struct
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from issued import Issuer
from moldau.dataclass import replace
from moldau.runtime.ports import TlsKey, TlsRules, Transport
from moldau.runtime.real import RealRuntime
from moldau.runtime.tls import TlsChannel
from moldau.runtime.tls_context import make_context

_TOTAL = 256 << 20
_ROUND_TRIPS = 20_000
_SECONDS = 4.0
_KEYS = (("P-256", None), ("RSA 2048", 2048), ("RSA 4096", 4096))
_ISSUER = Issuer()


def _rules(bits: int | None = None) -> TlsRules:
    node = _ISSUER.issue("node", bits=bits)
    return TlsRules(keys=(TlsKey(node.key_pem(), node.pem),), trusted=_ISSUER.pem)


def _connect(address: tuple[str, int]) -> ssl.SSLSocket:
    context = ssl.create_default_context(cadata=_ISSUER.pem)
    connected = socket.create_connection(address, timeout=60)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return context.wrap_socket(connected, server_hostname="localhost")


@contextlib.contextmanager
def _process(work: Callable[[], None]) -> Iterator[int]:
    child = os.fork()
    if not child:
        with contextlib.suppress(OSError):
            work()
        os._exit(0)
    try:
        yield child
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


# --------------------------------------------------------------------------------------------------------------- ways


class _SocketChannel:
    """OpenSSL on the socket, in the shape of a `TlsChannel`."""

    def __init__(self, connected: socket.socket, context: ssl.SSLContext) -> None:
        self._tls = context.wrap_socket(connected, server_side=True)
        self._tls.setblocking(False)
        self.fileno = self._tls.fileno

    @property
    def more(self) -> bool:
        return self._tls.pending() > 0

    def receive(self, view: memoryview) -> int:
        filled = 0
        with contextlib.suppress(ssl.SSLWantReadError):
            while filled < len(view) and (count := self._tls.recv_into(view[filled:], len(view) - filled)):
                filled += count
        if not filled:
            raise BlockingIOError
        return filled

    def send(self, data: memoryview, _flags: int) -> int:
        taken = 0
        with contextlib.suppress(ssl.SSLWantWriteError):
            while taken < len(data):
                taken += self._tls.send(data[taken:])
        if not taken:
            raise BlockingIOError
        return taken


def _other_end(address: tuple[str, int], mode: str) -> None:
    peer = _connect(address)
    data, left = bytearray(256 * 1024), _TOTAL
    if mode == "receive":
        while left > 0:
            peer.sendall(data)
            left -= len(data)
        peer.recv(1)
    elif mode == "send":
        while left > 0:
            left -= peer.recv_into(data)
    else:
        for _ in range(_ROUND_TRIPS):
            peer.sendall(bytes(100))
            peer.recv(200)


def _way(kind: str, mode: str) -> float:
    """Seconds of CPU."""
    listening = socket.create_server(("127.0.0.1", 0))
    with listening, _process(lambda: _other_end(listening.getsockname(), mode)):
        connected, _ = listening.accept()
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        context = make_context(_rules(), accepting=True)
        if kind == "socket":
            channel = _SocketChannel(connected, context)
            descriptor = channel.fileno()
        else:
            connected.settimeout(60)
            channel = TlsChannel(connected, context, memoryview(bytearray(64 * 1024)), server_side=True)
            while not channel.shake():
                pass
            connected.setblocking(False)
            descriptor = connected.fileno()
        ready = select.epoll()
        ready.register(descriptor, select.EPOLLOUT if mode == "send" else select.EPOLLIN)
        view = memoryview(bytearray(256 * 1024))
        before = time.process_time()
        left = _ROUND_TRIPS if mode == "round trip" else _TOTAL
        while left > 0:
            if not channel.more:  # the first bytes may have come with the end of the handshake
                ready.poll()
            with contextlib.suppress(BlockingIOError):
                if mode == "send":
                    left -= channel.send(view, 0)
                    continue
                count = channel.receive(view)
                left -= 1 if mode == "round trip" else count
                if mode == "round trip":
                    channel.send(view[:200], 0)
        return time.process_time() - before


def ways() -> None:
    for mode in ("receive", "send", "round trip"):
        for kind in ("memory", "socket"):
            seconds = min(_way(kind, mode) for _ in range(3))
            if mode == "round trip":
                print(f"{mode:10} {kind}: {seconds / _ROUND_TRIPS * 1e6:.1f} us of CPU")
            else:
                print(f"{mode:10} {kind}: {seconds * (1 << 30) / _TOTAL:.2f} s of CPU per GiB")


# --------------------------------------------------------------------------------------------------------- handshakes


def handshakes() -> None:
    for name, bits in _KEYS:
        for asked in ("none", "required"):
            rules = replace(_rules(bits), client_auth=asked)
            accepting = make_context(rules, accepting=True)
            calling = make_context(replace(rules, checks_name=False), accepting=False)
            spent = [_handshake(accepting, calling) for _ in range(100)]
            print(f"{name}, client certificate {asked}: {sum(spent) / len(spent) * 1000:.2f} ms of CPU")


def _handshake(accepting: ssl.SSLContext, calling: ssl.SSLContext) -> float:
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client, spent = calling.wrap_bio(to_client, to_server), 0.0
    before = time.thread_time()
    server = accepting.wrap_bio(to_server, to_client, server_side=True)
    spent += time.thread_time() - before
    for _ in range(2):
        with contextlib.suppress(ssl.SSLWantReadError):
            client.do_handshake()
        before = time.thread_time()
        with contextlib.suppress(ssl.SSLWantReadError):
            server.do_handshake()
        spent += time.thread_time() - before
    return spent


# -------------------------------------------------------------------------------------------------------------- storm


class _Echo:
    def __init__(self, transport: Transport) -> None:
        self._send = transport.send

    def secured(self, certificate: bytes | None) -> str | None: ...

    def frame(self, data: memoryview, start: int, end: int) -> None:
        self._send([struct.pack(">i", end - start), bytes(data[start:end])])

    def drained(self) -> None: ...

    def closed(self, reason: str | None) -> None: ...


def _serve(rules: TlsRules, told: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    runtime = RealRuntime()
    context = make_context(rules, accepting=True)
    listener = runtime.network.listen("127.0.0.1", 0, _Echo, max_frame=1 << 20, tls=lambda: context)
    os.write(told, struct.pack("i", listener.address[1]))
    runtime.loop.run()


def _annoy(address: tuple[str, int]) -> None:
    """As cheap as it gets for who does it: the same greeting every time, and away."""
    outgoing = ssl.MemoryBIO()
    end = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        end.do_handshake()
    greeting = outgoing.read()
    while True:
        peers = [socket.create_connection(address, timeout=60) for _ in range(50)]
        for peer in peers:
            peer.sendall(greeting)
        for peer in peers:
            peer.recv(1)
            peer.close()


def storm() -> None:
    for name, bits in _KEYS:
        told, tells = os.pipe()
        rules = _rules(bits)
        with _process(lambda rules=rules, tells=tells: _serve(rules, tells)):  # type: ignore[misc]
            address = ("127.0.0.1", struct.unpack("i", os.read(told, 4))[0])
            for others in (0, 3):
                with contextlib.ExitStack() as stack:
                    for _ in range(others):
                        stack.enter_context(_process(lambda address=address: _annoy(address)))  # type: ignore[misc]
                    took = sorted(_round_trips(address))
                median, late = took[len(took) // 2] * 1e3, took[len(took) * 99 // 100] * 1e3
                print(
                    f"{name}, {others} in a storm: {len(took) / _SECONDS:.0f} round trips/s, median {median:.2f} ms, "
                    f"99 % within {late:.1f} ms"
                )


def _round_trips(address: tuple[str, int]) -> Iterator[float]:
    peer = _connect(address)
    end = time.monotonic() + _SECONDS
    with peer:
        while (before := time.monotonic()) < end:
            peer.sendall(struct.pack(">i", 100) + bytes(100))
            left = 104
            while left:
                left -= len(peer.recv(left))
            yield time.monotonic() - before


if __name__ == "__main__":
    for part in (ways, handshakes, storm):
        if len(sys.argv) == 1 or part.__name__ in sys.argv[1:]:
            part()
