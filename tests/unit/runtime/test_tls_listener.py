"""Listeners with TLS: the handshake of callers, its limits, and what comes after it; against blocking sockets."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from typing import Any

import pytest
from network_harness import PATIENCE, Echo, Peer, Running

from issued import Issued, Issuer
from moldau.runtime import tls_handshake
from moldau.runtime.buffers import LARGE_FRAME, SHARED_SIZE
from moldau.runtime.ports import TlsKey, TlsRules, Transport
from moldau.runtime.tls_context import make_context

ISSUER, STRANGER = Issuer(), Issuer("stranger")
NODE, CLIENT = ISSUER.issue("node"), ISSUER.issue("client", ())
SIZES = [0, 1, 5, 16_384, 16_385, LARGE_FRAME - 4, LARGE_FRAME, SHARED_SIZE + 1, 3 << 20, 7]


def rules(**more: Any) -> TlsRules:
    key = TlsKey(NODE.key_pem(), NODE.pem)
    return TlsRules(**{"keys": (key,), "trusted": ISSUER.pem, **more})


def client_context(issued: Issued | None = None, trusted: Issuer = ISSUER, tmp: Any = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=trusted.pem)
    if issued is not None:
        context.load_cert_chain(issued.write(tmp / "client.pem"))
    return context


class Guarded(Echo):
    """Remembers who came; refuses those it is told to."""

    refusal: str | None = None

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.certificate: bytes | None = b"nobody asked"

    def secured(self, certificate: bytes | None) -> str | None:
        self.certificate = certificate
        return self.refusal


class Listening:
    def __init__(self, running: Running, wanted: TlsRules, kind: type[Guarded] = Guarded) -> None:
        self.running = running
        self.receivers: list[Guarded] = []
        self.arrived = threading.Semaphore(0)
        self.context = make_context(wanted, accepting=True)

        def accept(transport: Transport) -> Guarded:
            receiver = kind(transport)
            self.receivers.append(receiver)
            self.arrived.release()
            return receiver

        listener = running.listen(accept, tls=lambda: self.context)
        self.address: tuple[str, int] = listener.address

    def raw(self) -> Peer:
        return self.running.peer(self.address)

    def secured(self, context: ssl.SSLContext) -> Peer:
        peer = self.raw()
        peer.socket = context.wrap_socket(peer.socket, server_hostname="localhost")
        return peer

    def last(self) -> Guarded:
        assert self.arrived.acquire(timeout=PATIENCE)
        return self.receivers[-1]


@pytest.fixture
def listening(running: Running) -> Callable[..., Listening]:
    return lambda wanted=None, kind=Guarded: Listening(running, wanted or rules(), kind)


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_frames_of_all_sizes_come_back_in_order(listening: Callable[..., Listening], version: str) -> None:
    peer = listening(rules(versions=(version, version))).secured(client_context())
    frames = b"".join(struct.pack(">i", size) + os.urandom(size) for size in SIZES)
    assert echoed(peer, frames) == frames
    assert peer.socket.version() == version  # type: ignore[attr-defined]


def echoed(peer: Peer, data: bytes) -> bytes:
    """Sends and reads by turns: two threads may not use a connection of OpenSSL at once, and 3.11 does not keep them
    from it."""
    peer.socket.setblocking(False)
    left, found = memoryview(data), bytearray()
    while len(found) < len(data):
        ready = select.select([peer.socket], [peer.socket] if left else [], [], PATIENCE)
        assert any(ready), "nothing comes and nothing can be sent"
        with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
            if left:
                left = left[peer.socket.send(left[: 1 << 16]) :]
        with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
            while part := peer.socket.recv(1 << 20):
                found += part
            raise EOFError(f"the connection ended with {len(data) - len(found)} bytes missing")
    return bytes(found)


def test_a_request_that_comes_with_the_end_of_the_handshake_is_heard(listening: Callable[..., Listening]) -> None:
    """Nothing more comes to wake anybody."""
    there = listening()
    peer = there.raw()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    end = client_context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        end.do_handshake()
    peer.socket.sendall(outgoing.read())
    while True:
        incoming.write(peer.socket.recv(1 << 16))
        try:
            end.do_handshake()
            break
        except ssl.SSLWantReadError:
            continue
    end.write(struct.pack(">i", 5) + b"first")
    peer.socket.sendall(outgoing.read())
    while True:
        incoming.write(peer.socket.recv(1 << 16))
        try:
            assert end.read(100) == struct.pack(">i", 5) + b"first"
            break
        except ssl.SSLWantReadError:
            continue
    assert there.last().frames == [b"first"]


@pytest.mark.parametrize("asked", ["none", "requested", "required"])
@pytest.mark.parametrize("shown", [None, CLIENT])
def test_the_receiver_hears_who_it_is(
    listening: Callable[..., Listening], tmp_path: Any, asked: str, shown: Issued | None
) -> None:
    there = listening(rules(client_auth=asked))
    peer = there.secured(client_context(shown, tmp=tmp_path))
    if asked == "required" and shown is None:
        assert _refused(peer)
        assert "certificate" in str(_reason(there.last()))
        return
    peer.send(b"hello")
    assert peer.receive() == b"hello"
    assert there.last().certificate == (None if shown is None or asked == "none" else shown.der)


@pytest.mark.parametrize("days", [(-20, -10), (10, 20)])
def test_certificates_out_of_their_time_are_refused(
    listening: Callable[..., Listening], tmp_path: Any, days: tuple[int, int]
) -> None:
    there = listening(rules(client_auth="required"))
    assert _refused(there.secured(client_context(ISSUER.issue("late", (), days=days), tmp=tmp_path)))
    assert "certificate" in str(_reason(there.last()))


def test_strangers_are_refused(listening: Callable[..., Listening], tmp_path: Any) -> None:
    there = listening(rules(client_auth="requested"))
    assert _refused(there.secured(client_context(STRANGER.issue("client", ()), tmp=tmp_path)))
    assert "certificate" in str(_reason(there.last()))


def test_who_stands_in_the_trust_store_himself_is_believed(listening: Callable[..., Listening], tmp_path: Any) -> None:
    there = listening(rules(client_auth="required", trusted=CLIENT.pem))
    peer = there.secured(client_context(CLIENT, tmp=tmp_path))
    peer.send(b"hello")
    assert peer.receive() == b"hello"


def test_a_receiver_may_refuse_whoever_came(listening: Callable[..., Listening]) -> None:
    class Strict(Guarded):
        refusal = "nobody can be named by this certificate"

    there = listening(kind=Strict)
    assert _refused(there.secured(client_context()))
    assert _reason(there.last()) == "nobody can be named by this certificate"


def test_what_is_not_tls_is_told_apart_by_its_first_byte(listening: Callable[..., Listening]) -> None:
    there = listening()
    for first in (b"\0", b"GET / HTTP/1.1\r\n\r\n", os.urandom(64).replace(b"\x16", b"\x17")):
        peer = there.raw()
        peer.socket.sendall(first)
        assert peer.ended()
        assert _reason(there.last()) == tls_handshake.NO_TLS


def test_a_greeting_that_says_it_is_long_is_not_waited_for(listening: Callable[..., Listening]) -> None:
    there = listening()
    peer = there.raw()
    peer.socket.sendall(b"\x16\x03\x01" + (16_000).to_bytes(2, "big") + b"\x01" + (16_385).to_bytes(3, "big"))
    assert peer.ended()
    assert "begins with more than" in str(_reason(there.last()))


def test_a_handshake_that_never_ends_is_given_up_after_so_many_bytes(
    listening: Callable[..., Listening], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls_handshake, "HANDSHAKE_BYTES", 1000)
    there = listening()
    peer = there.raw()
    greeting = _client_hello()
    with contextlib.suppress(OSError):  # whichever end is faster
        peer.socket.sendall(greeting)
        for _ in range(1000):
            peer.socket.sendall(b"\x14\x03\x03\x00\x01\x01")
    assert peer.ended()
    assert _reason(there.last())


def test_a_greeting_may_come_byte_by_byte(listening: Callable[..., Listening]) -> None:
    there = listening()
    peer = there.raw()
    for byte in _client_hello():
        peer.socket.sendall(bytes([byte]))
    assert peer.socket.recv(3) == b"\x16\x03\x03"


def test_the_slowest_give_way_when_there_are_too_many(
    listening: Callable[..., Listening], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls_handshake, "MOST_OPEN", 3)
    there = listening()
    slow = []
    for _ in range(5):
        slow.append(there.raw())
        slow[-1].socket.sendall(_client_hello())
        assert slow[-1].socket.recv(3) == b"\x16\x03\x03"
    for peer in slow[:2]:
        assert peer.ended()
    served = there.secured(client_context())
    served.send(b"hello")
    assert served.receive() == b"hello"
    assert "slowest" in str(_reason(there.receivers[0]))


def test_a_silent_caller_is_given_up(listening: Callable[..., Listening], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls_handshake, "HANDSHAKE_SECONDS", 0.05)
    there = listening()
    peer = there.raw()
    assert peer.ended()
    assert "not done within" in str(_reason(there.last()))


def test_others_are_served_while_many_handshakes_wait(listening: Callable[..., Listening]) -> None:
    there = listening()
    served = there.secured(client_context())
    served.send(b"before")
    assert served.receive() == b"before"
    hello = _client_hello()
    silent = [there.raw() for _ in range(200)]
    for peer in silent:
        peer.socket.sendall(hello)
    for number in range(50):
        served.send(b"%d" % number)
        assert served.receive() == b"%d" % number
    for peer in silent:
        assert peer.socket.recv(3) == b"\x16\x03\x03"  # everybody's turn comes


def test_a_new_context_is_for_new_connections(listening: Callable[..., Listening]) -> None:
    there = listening()
    before = there.secured(client_context())
    other = STRANGER.issue("node")
    there.context = make_context(TlsRules(keys=(TlsKey(other.key_pem(), other.pem),)), accepting=True)
    with pytest.raises(ssl.SSLCertVerificationError):
        there.secured(client_context())
    after = there.secured(client_context(trusted=STRANGER))
    for peer in (before, after):
        peer.send(b"hello")
        assert peer.receive() == b"hello"


def test_a_caller_that_leaves_in_the_middle_leaves_nothing_behind(
    running: Running, listening: Callable[..., Listening]
) -> None:
    there = listening()
    descriptors = len(os.listdir("/proc/self/fd"))
    hello = _client_hello()
    for length in (0, 1, 5, len(hello) - 1, len(hello)):
        peer = there.raw()
        peer.socket.sendall(hello[:length])
        peer.socket.close()
        assert there.last().closed_event.wait(PATIENCE)
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_random_records_reach_no_receiver(listening: Callable[..., Listening]) -> None:
    there = listening()
    for number in range(60):
        peer = there.raw()
        body = os.urandom(1 + number * 20)
        peer.socket.sendall(b"\x16\x03" + bytes([number % 5]) + len(body).to_bytes(2, "big") + body)
        peer.socket.shutdown(socket.SHUT_WR)
        assert peer.ended()
        receiver = there.last()
        assert _reason(receiver)
        assert receiver.frames == []
    served = there.secured(client_context())
    served.send(b"still here")
    assert served.receive() == b"still here"


def _client_hello() -> bytes:
    outgoing = ssl.MemoryBIO()
    end = client_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        end.do_handshake()
    return outgoing.read()


def _refused(peer: Peer) -> bool:
    try:
        peer.send(b"hello")
        return peer.socket.recv(1) == b""
    except OSError:
        return True


def _reason(receiver: Guarded) -> str | None:
    assert receiver.closed_event.wait(PATIENCE)
    return receiver.reason


def test_a_listener_in_the_clear_says_that_somebody_wants_tls(running: Running) -> None:
    receivers: list[Echo] = []

    def accept(transport: Transport) -> Echo:
        receivers.append(Echo(transport))
        return receivers[-1]

    peer = running.peer(running.listen(accept).address)
    peer.socket.sendall(_client_hello())
    assert peer.ended()
    assert receivers[0].closed_event.wait(PATIENCE)
    assert receivers[0].reason == "it speaks TLS, which this listener does not"
