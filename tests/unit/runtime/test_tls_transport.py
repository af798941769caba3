"""Outgoing connections over TLS, against the ssl module's own blocking sockets."""

from __future__ import annotations

import os
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from network_harness import PATIENCE, Echo, Running

from certificates import Certificates
from moldau.runtime.buffers import LARGE_FRAME, SHARED_SIZE
from moldau.runtime.ports import Tls, Transport


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


class Server:
    """Accepts one connection after the other and lets `serve` have each of them."""

    def __init__(self, serve: Callable[[socket.socket], None]) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._listening.getsockname()
        self._serve = serve
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                connected, _ = self._listening.accept()
            except OSError:
                return
            connected.settimeout(PATIENCE)
            with connected:
                try:
                    self._serve(connected)
                except OSError:
                    pass  # what the client sees is what the test looks at

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(PATIENCE)


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[[socket.socket], None]], Server]]:
    servers: list[Server] = []

    def start(function: Callable[[socket.socket], None]) -> Server:
        servers.append(Server(function))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def server_context(certificates: Certificates) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.node, certificates.node_key)
    return context


def client_context(ca: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(ca)
    return context


class Listener(Echo):
    """Keeps the frames, and tells when there are enough."""

    enough = 1

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.there = threading.Event()

    def answer(self, body: bytes) -> None:
        if len(self.frames) >= self.enough:
            self.there.set()


def connect(running: Running, address: tuple[str, int], tls: Tls, kind: type[Listener] = Listener) -> Any:
    made: list[Listener] = []

    def receiver(transport: Transport) -> Listener:
        made.append(kind(transport))
        return made[0]

    running.call(lambda: running.runtime.network.connect(*address, receiver, max_frame=64 << 20, tls=tls))
    return made[0]


def send(running: Running, listener: Listener, bodies: list[bytes]) -> None:
    running.call(lambda: listener.transport.send([struct.pack(">i", len(body)) + body for body in bodies]))


SIZES = [0, 1, 5, 16_384, 16_385, LARGE_FRAME - 4, LARGE_FRAME, SHARED_SIZE + 1, 3 << 20, 7]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_frames_of_all_sizes_come_back_in_order(
    running: Running, serve: Any, certificates: Certificates, version: ssl.TLSVersion
) -> None:
    context = server_context(certificates)
    context.maximum_version = version

    def echo(connected: socket.socket) -> None:
        with context.wrap_socket(connected, server_side=True) as secured:
            while data := secured.recv(1 << 16):
                secured.sendall(data)

    class Everything(Listener):
        enough = len(SIZES)

    bodies = [os.urandom(size) for size in SIZES]
    listener = connect(running, serve(echo).address, Tls(client_context(certificates.ca), "localhost"), Everything)
    sender = threading.Thread(target=send, args=(running, listener, bodies))
    sender.start()
    assert listener.there.wait(PATIENCE)
    sender.join()
    assert listener.frames == bodies
    running.call(lambda: listener.transport.close())
    assert listener.closed_event.wait(PATIENCE)
    assert listener.reason is None


def test_many_small_frames_in_one_record_are_all_delivered(
    running: Running, serve: Any, certificates: Certificates
) -> None:
    """More than a turn's share, out of one write: the socket has long been empty when the last are handed up."""
    count = 1500

    def burst(connected: socket.socket) -> None:
        with server_context(certificates).wrap_socket(connected, server_side=True) as secured:
            secured.sendall(b"".join(struct.pack(">ii", 4, number) for number in range(count)))
            secured.recv(1)

    class Burst(Listener):
        enough = count

    listener = connect(running, serve(burst).address, Tls(client_context(certificates.ca), "localhost"), Burst)
    assert listener.there.wait(PATIENCE)
    assert listener.frames == [struct.pack(">i", number) for number in range(count)]
    running.call(lambda: listener.transport.close())


def test_what_arrived_before_a_pause_is_delivered_after_it(
    running: Running, serve: Any, certificates: Certificates
) -> None:
    """A large frame's end and the next one's begin share a TLS record; nothing more comes to wake anybody."""
    bodies = [bytes(LARGE_FRAME + 100), b"last"]
    said = threading.Event()

    def say(connected: socket.socket) -> None:
        with server_context(certificates).wrap_socket(connected, server_side=True) as secured:
            secured.sendall(b"".join(struct.pack(">i", len(body)) + body for body in bodies))
            said.set()
            secured.recv(1)

    class Pausing(Listener):
        enough = 2

        def answer(self, body: bytes) -> None:
            super().answer(body)
            self.transport.pause()

    listener = connect(running, serve(say).address, Tls(client_context(certificates.ca), "localhost"), Pausing)
    assert said.wait(PATIENCE)
    while not listener.there.wait(0.01):
        running.call(lambda: listener.transport.resume())
    assert listener.frames == bodies
    running.call(lambda: listener.transport.close())


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("goodbye", [False, True])
def test_the_end_of_the_stream_comes_after_the_last_frame(
    running: Running, serve: Any, certificates: Certificates, goodbye: bool, version: ssl.TLSVersion
) -> None:
    """Whether the peer hangs up without a word, or says goodbye and waits for ours with the connection still open."""
    context = server_context(certificates)
    context.maximum_version = version

    def farewell(connected: socket.socket) -> None:
        with context.wrap_socket(connected, server_side=True) as secured:
            secured.sendall(struct.pack(">i", 4) + b"last")
            if goodbye:
                secured.unwrap()

    listener = connect(running, serve(farewell).address, Tls(client_context(certificates.ca), "localhost"))
    assert listener.closed_event.wait(PATIENCE)
    assert listener.frames == [b"last"]
    assert listener.reason is None


@pytest.mark.parametrize("why", ["stranger", "name", "plaintext", "hangs up"])
def test_a_refused_handshake_says_why(running: Running, serve: Any, certificates: Certificates, why: str) -> None:
    def answer(connected: socket.socket) -> None:
        if why == "hangs up":
            return
        if why == "plaintext":
            connected.recv(1)
            connected.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            connected.recv(1 << 16)
            return
        server_context(certificates).wrap_socket(connected, server_side=True).close()

    name = "elsewhere.invalid" if why == "name" else "localhost"
    tls = Tls(client_context(certificates.stranger if why == "stranger" else certificates.ca), name)
    listener = connect(running, serve(answer).address, tls)
    assert listener.closed_event.wait(PATIENCE)
    assert listener.reason
    # That somebody hangs up may pass; the others will say the same the next time.
    assert (tls.failure is None) == (why == "hangs up")
    assert ("certificate" in listener.reason) == (why in ("stranger", "name"))


def test_a_handshake_that_never_ends_can_be_given_up(running: Running, serve: Any, certificates: Certificates) -> None:
    over = threading.Event()
    descriptors = len(os.listdir("/proc/self/fd"))
    server = serve(lambda _connected: over.wait(PATIENCE))
    listener = connect(running, server.address, Tls(client_context(certificates.ca), "localhost"))
    running.call(lambda: listener.transport.close("given up"))
    assert listener.closed_event.wait(PATIENCE)
    assert listener.reason == "given up"
    over.set()
    server.close = lambda: None  # the fixture need not do it again
    Server.close(server)
    assert len(os.listdir("/proc/self/fd")) == descriptors
