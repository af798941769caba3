"""Who is ready: epoll, poll and kqueue give the same answers.

Epoll and poll are the system's own. There is no kqueue on Linux, so here it is one of this file's making, which keeps
filters the way the BSDs document them and finds out with poll what they would report.
"""

from __future__ import annotations

import os
import select
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from moldau.runtime.readiness import (
    FAILED,
    HUNG_UP,
    ONCE,
    PEER_ENDED,
    READABLE,
    WRITABLE,
    KqueueReadiness,
    PollReadiness,
    Readiness,
    available,
    readiness,
)

READ, WRITE = -1, -2
ADD, DELETE, EOF, ERROR = 1, 2, 0x8000, 0x4000


@dataclass
class Kevent:
    ident: int
    filter: int = READ
    flags: int = ADD
    fflags: int = 0


class Kqueue:
    """Filters come and go one by one; to delete one that is not there is an error, as is a closed descriptor."""

    def __init__(self) -> None:
        self.filters: dict[tuple[int, int], None] = {}
        self.closed = False

    def control(self, changes: list[Kevent], most: int, seconds: float | None = None) -> list[Kevent]:
        for change in changes:
            key = (change.ident, change.filter)
            if change.flags == ADD:
                os.fstat(change.ident)
                self.filters[key] = None
            elif key in self.filters:
                del self.filters[key]
            else:
                raise FileNotFoundError(*key)
        return self._ready(seconds)[:most] if most else []

    def _ready(self, seconds: float | None) -> list[Kevent]:
        polled = select.poll()
        asked: dict[int, int] = {}
        for fd, kind in self.filters:
            asked[fd] = asked.get(fd, 0) | (select.POLLIN | select.POLLRDHUP if kind == READ else select.POLLOUT)
        for fd, events in asked.items():
            polled.register(fd, events)
        found = dict(polled.poll(None if seconds is None else seconds * 1000))
        ready = []
        for fd, kind in self.filters:
            events = found.get(fd, 0)
            broken = events & (select.POLLHUP | select.POLLERR)
            ended = broken or (kind == READ and events & select.POLLRDHUP)
            if ended or events & (select.POLLIN if kind == READ else select.POLLOUT):
                failed = 104 if events & select.POLLERR else 0
                ready.append(Kevent(fd, kind, ADD | (EOF if ended else 0), failed))
        return ready

    def close(self) -> None:
        self.closed = True


BSD = SimpleNamespace(
    kqueue=Kqueue,
    kevent=Kevent,
    KQ_FILTER_READ=READ,
    KQ_FILTER_WRITE=WRITE,
    KQ_EV_ADD=ADD,
    KQ_EV_DELETE=DELETE,
    KQ_EV_EOF=EOF,
    KQ_EV_ERROR=ERROR,
)


@pytest.fixture(params=["epoll", "poll", "kqueue"])
def ready(request: pytest.FixtureRequest) -> Iterator[Readiness]:
    instance: Readiness
    if request.param == "kqueue":
        instance = KqueueReadiness(BSD)
    elif request.param in available():
        instance = readiness(request.param)
    else:
        pytest.skip(f"this system has no {request.param}")
    yield instance
    instance.close()
    assert instance.closed


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two ends of a TCP connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = socket.create_connection(server.getsockname())
        other, _ = server.accept()
    yield one, other
    one.close()
    other.close()


def asked(ready: Readiness, within: float = 10.0) -> dict[int, int]:
    return dict(ready.poll(within, 256))


def test_nobody_is_ready_before_something_happens(ready: Readiness, pair: tuple[socket.socket, socket.socket]) -> None:
    one, other = pair
    ready.register(one.fileno(), READABLE)
    assert ready.poll(0, 256) == []
    other.send(b"x")
    assert asked(ready) == {one.fileno(): READABLE}
    assert asked(ready) == {one.fileno(): READABLE}  # as long as it is not read
    one.recv(1)
    assert ready.poll(0.001, 256) == []


def test_interest_is_changed_and_given_up(ready: Readiness, pair: tuple[socket.socket, socket.socket]) -> None:
    one, other = pair
    other.send(b"x")
    ready.register(one.fileno(), 0)
    assert ready.poll(0, 256) == []
    ready.modify(one.fileno(), WRITABLE)
    assert asked(ready) == {one.fileno(): WRITABLE}
    ready.modify(one.fileno(), READABLE | WRITABLE)
    assert asked(ready) == {one.fileno(): READABLE | WRITABLE}
    ready.modify(one.fileno(), READABLE)
    assert asked(ready) == {one.fileno(): READABLE}
    ready.unregister(one.fileno())
    assert ready.poll(0, 256) == []
    ready.register(one.fileno(), READABLE)
    assert asked(ready) == {one.fileno(): READABLE}


def test_a_descriptor_is_registered_once(ready: Readiness, pair: tuple[socket.socket, socket.socket]) -> None:
    ready.register(pair[0].fileno(), READABLE)
    with pytest.raises(FileExistsError):
        ready.register(pair[0].fileno(), READABLE)


def test_that_the_peer_sends_nothing_more_is_told(ready: Readiness, pair: tuple[socket.socket, socket.socket]) -> None:
    one, other = pair
    ready.register(one.fileno(), READABLE | PEER_ENDED)
    other.shutdown(socket.SHUT_WR)
    assert asked(ready)[one.fileno()] & (READABLE | PEER_ENDED) == READABLE | PEER_ENDED
    assert one.recv(1) == b""


def test_a_connection_that_was_reset_is_told(ready: Readiness, pair: tuple[socket.socket, socket.socket]) -> None:
    one, other = pair
    ready.register(one.fileno(), READABLE | PEER_ENDED)
    other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    other.close()
    events = asked(ready)[one.fileno()]
    assert events & (FAILED | HUNG_UP)
    assert events & READABLE


def test_who_asked_to_be_told_once_is_told_once(ready: Readiness, pair: tuple[socket.socket, socket.socket]) -> None:
    one, other = pair
    ready.register(one.fileno(), READABLE | ONCE)
    other.send(b"x")
    assert asked(ready) == {one.fileno(): READABLE}
    assert ready.poll(0.001, 256) == []
    other.send(b"y")
    assert ready.poll(0.001, 256) == []
    ready.modify(one.fileno(), READABLE | WRITABLE | ONCE)
    assert asked(ready) == {one.fileno(): READABLE | WRITABLE}
    assert ready.poll(0.001, 256) == []
    ready.modify(one.fileno(), READABLE)
    assert asked(ready) == {one.fileno(): READABLE}
    assert asked(ready) == {one.fileno(): READABLE}


def test_a_descriptor_that_was_closed_and_is_given_out_again_is_a_new_one(ready: Readiness) -> None:
    one, other = os.pipe()
    ready.register(one, READABLE)
    os.write(other, b"x")
    assert asked(ready) == {one: READABLE}
    ready.unregister(one)
    os.close(one)
    os.close(other)
    again, other = os.pipe()
    try:
        assert ready.poll(0, 256) == []
        ready.register(again, READABLE)
        assert ready.poll(0, 256) == []
        os.write(other, b"x")
        assert asked(ready) == {again: READABLE}
        ready.unregister(again)
    finally:
        os.close(again)
        os.close(other)


def test_one_that_was_closed_without_a_word_makes_nobody_spin() -> None:
    ready = PollReadiness()
    one, other = os.pipe()
    ready.register(one, READABLE)
    os.close(one)
    os.close(other)
    assert ready.poll(0.001, 256) == []
    assert ready.poll(0.001, 256) == []
    ready.close()


@pytest.mark.parametrize("kind", available())
def test_with_more_than_are_asked_for_everybody_has_a_turn(kind: str) -> None:
    ready = readiness(kind)
    pipes = [os.pipe() for _ in range(10)]
    try:
        for reading, writing in pipes:
            os.write(writing, b"x")
            ready.register(reading, READABLE)
        told = [fd for _ in range(4) for fd, _events in ready.poll(0, 3)]
        assert len(told) == 12
        assert {reading for reading, _ in pipes} == set(told)
    finally:
        for reading, writing in pipes:
            ready.unregister(reading)
            os.close(reading)
            os.close(writing)
        ready.close()


def test_one_that_the_system_does_not_have_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOLDAU_READINESS", "iocp")
    with pytest.raises(ValueError, match="MOLDAU_READINESS is 'iocp'; this system has "):
        readiness()
