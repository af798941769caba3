"""Listening, accepting, connecting: addresses, limits, failures."""

from __future__ import annotations

import contextlib
import errno
import logging
import resource
import socket
import struct
import threading
import time
from typing import Any

import pytest
from network_harness import PATIENCE, Echo, Running

from moldau.runtime.ports import Receiver, SocketOptions, Transport
from moldau.supervision.layout import hold_ports


def test_port_zero_takes_a_free_one_and_taken_ones_are_refused(running: Running) -> None:
    listener = running.listen()
    host, port = listener.address
    assert host == "127.0.0.1"
    assert port > 0
    with pytest.raises(OSError, match="in use") as refused:
        running.call(lambda: running.runtime.network.listen(host, port, Echo, max_frame=10))
    assert refused.value.errno == errno.EADDRINUSE


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", ""])
def test_listens_on_both_families(running: Running, host: str) -> None:
    peers: list[tuple[str, int]] = []

    def accept(transport: Transport) -> Receiver:
        peers.append(transport.peer)
        return Echo(transport)

    listener = running.listen(accept, host=host)
    targets = {"localhost": ["127.0.0.1"], "": ["127.0.0.1", "::1"]}.get(host, [host])
    for target in targets:
        peer = running.peer((target, listener.address[1]))
        peer.send(b"hello")
        assert peer.receive() == b"hello"
        assert peers[-1] == peer.socket.getsockname()[:2]


def test_the_machine_itself_needs_no_file_of_hosts(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    resolve = socket.getaddrinfo

    def bare(host: bytes, *args: Any, **options: Any) -> Any:
        if not host.replace(b".", b"").isdigit():
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return resolve(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", bare)
    listener = running.listen(Echo, host="localhost")
    peer = running.peer(("127.0.0.1", listener.address[1]))
    peer.send(b"hello")
    assert peer.receive() == b"hello"
    with pytest.raises(OSError, match="not known"):
        running.listen(Echo, host="elsewhere")


def test_refused_connections_are_closed_and_a_failing_accept_harms_nobody(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    verdicts: list[Any] = [None, RuntimeError("on purpose"), Echo]

    def accept(transport: Transport) -> Receiver | None:
        verdict = verdicts.pop(0)
        if isinstance(verdict, Exception):
            raise verdict
        return verdict and verdict(transport)

    listener = running.listen(accept)
    with caplog.at_level(logging.ERROR):
        assert running.peer(listener.address).ended()
        assert running.peer(listener.address).ended()
    assert "on purpose" in caplog.text
    peer = running.peer(listener.address)
    peer.send(b"hello")
    assert peer.receive() == b"hello"


def test_a_paused_listener_lets_peers_wait(running: Running) -> None:
    accepted = threading.Event()

    def accept(transport: Transport) -> Receiver:
        accepted.set()
        return Echo(transport)

    listener = running.listen(accept)
    running.call(listener.pause)
    peer = running.peer(listener.address)
    peer.send(b"hello")
    running.call(lambda: None)
    running.call(lambda: None)
    assert not accepted.is_set()
    running.call(listener.resume)
    assert peer.receive() == b"hello"


def test_a_closed_listener_keeps_its_connections(running: Running) -> None:
    listener = running.listen()
    peer = running.peer(listener.address)
    peer.send(b"before")
    assert peer.receive() == b"before"
    running.call(listener.close)
    running.call(listener.close)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(listener.address, timeout=20)
    peer.send(b"after")
    assert peer.receive() == b"after"


def test_out_of_descriptors_is_survived(running: Running, caplog: pytest.LogCaptureFixture) -> None:
    def refusals() -> list[logging.LogRecord]:
        return [record for record in caplog.records if "no new connections" in record.message]

    listener = running.listen(options=SocketOptions(backlog=64))
    existing = running.peer(listener.address)
    existing.send(b"one")
    assert existing.receive() == b"one"
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    waiting = running.peer  # resolved before the limit falls
    sockets = [socket.socket() for _ in range(3)]
    lowest_free = sockets[-1].fileno()
    for unused in sockets:
        unused.close()
    spare = [socket.socket() for _ in range(2)]
    holes: list[socket.socket] = []
    try:
        # The client's two descriptors exist already; the server's side has none left, below the limit neither.
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
        with contextlib.suppress(OSError):
            while True:
                holes.append(socket.socket())
        with caplog.at_level(logging.ERROR):
            for client in spare:
                client.settimeout(20)
                client.connect(listener.address)
                client.sendall(struct.pack(">i", 2) + b"hi")
            existing.send(b"two")
            assert existing.receive() == b"two"
            deadline = time.monotonic() + PATIENCE
            while not refusals():
                assert time.monotonic() < deadline
                time.sleep(0.01)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for each in holes:
            each.close()
    for client in spare:
        assert client.recv(6, socket.MSG_WAITALL) == struct.pack(">i", 2) + b"hi"
        client.close()
    assert len(refusals()) == 1, "said once, however long it lasts"
    assert waiting is not None


def test_two_thousand_idle_connections_beside_busy_ones(running: Running) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 8192), hard), hard))
    listener = running.listen(options=SocketOptions(backlog=512))
    idle = [running.peer(listener.address) for _ in range(2000)]
    busy = [running.peer(listener.address) for _ in range(50)]
    for round_number in range(20):
        for peer in busy:
            peer.send(b"%d" % round_number)
        for peer in busy:
            assert peer.receive() == b"%d" % round_number
    for peer in idle[::100]:
        peer.send(b"still there")
        assert peer.receive() == b"still there"


# ---------------------------------------------------------------------------------------------- connecting


def test_connects_out_and_what_was_sent_before_waits(running: Running) -> None:
    listener = running.listen()
    made: list[Echo] = []
    answered = threading.Event()

    class Client(Echo):
        def answer(self, body: bytes) -> None:
            answered.set()

    def start() -> None:
        def receiver(transport: Transport) -> Echo:
            made.append(Client(transport))
            return made[0]

        transport = running.runtime.network.connect(*listener.address, receiver, max_frame=100)
        transport.send([struct.pack(">i", 5) + b"early"])

    running.call(start)
    assert answered.wait(20)
    assert made[0].frames == [b"early"]
    assert running.call(lambda: made[0].transport.local[1]) > 0
    running.call(lambda: made[0].transport.close())
    assert made[0].closed_event.wait(20)
    assert made[0].reason is None


@pytest.mark.parametrize(("host", "words"), [("127.0.0.1", "refused"), ("does-not-exist.invalid", "")])
def test_a_failed_connect_arrives_as_closed_with_the_reason(running: Running, host: str, words: str) -> None:
    (port,) = hold_ports(1)
    made: list[Echo] = []

    def receiver(transport: Transport) -> Echo:
        made.append(Echo(transport))
        return made[0]

    running.call(lambda: running.runtime.network.connect(host, port, receiver, max_frame=100))
    assert made[0].closed_event.wait(20)
    assert made[0].reason
    assert words in made[0].reason.lower()


def test_a_connect_can_be_given_up(running: Running) -> None:
    """A listener whose queue is full leaves further connects hanging: close must not wait for them."""
    made: list[Echo] = []

    def receiver(transport: Transport) -> Echo:
        made.append(Echo(transport))
        return made[-1]

    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        for _ in range(4):
            running.call(lambda: running.runtime.network.connect(*address, receiver, max_frame=100))
        running.call(lambda: [echo.transport.close("given up") for echo in made])
        for echo in made:
            assert echo.closed_event.wait(20)
            assert echo.reason == "given up"
