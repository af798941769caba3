"""What systemd is told, by a socket like its own."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from moldau.runtime.real import RealRuntime
from moldau.runtime.service_manager import READY, STOPPING, ServiceManager

PATIENCE = 30.0


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(PATIENCE)
        yield listening


def environment_of(systemd: socket.socket, **more: str) -> dict[str, str]:
    return {"NOTIFY_SOCKET": systemd.getsockname(), "PATH": "/bin", **more}


def test_it_is_told_and_the_variables_are_not_handed_on(systemd: socket.socket) -> None:
    environment = environment_of(systemd, WATCHDOG_USEC="1000", WATCHDOG_PID=str(os.getpid()))
    manager = ServiceManager(environment)
    assert environment == {"PATH": "/bin"}
    assert manager.tell(READY, "STATUS=here")
    assert systemd.recv(1000) == b"READY=1\nSTATUS=here"


def test_a_name_that_is_no_file() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind("")  # Linux chooses a name that begins with a zero byte
        listening.settimeout(PATIENCE)
        name = listening.getsockname().decode()
        ServiceManager({"NOTIFY_SOCKET": f"@{name[1:]}"}).tell(STOPPING)
        assert listening.recv(1000) == b"STOPPING=1"


def test_nobody_who_asks() -> None:
    manager = ServiceManager({"WATCHDOG_USEC": "1000"})
    assert manager.tell(READY)
    assert manager.interval is None


def test_somebody_who_is_gone(tmp_path: Path) -> None:
    assert ServiceManager({"NOTIFY_SOCKET": str(tmp_path / "gone")}).tell(READY)


@pytest.mark.parametrize(
    ("variables", "interval"),
    [
        ({"WATCHDOG_USEC": "60000000"}, 30.0),
        ({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": str(os.getpid())}, 30.0),
        ({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_how_often_it_wants_to_hear(systemd: socket.socket, variables: dict[str, str], interval: float | None) -> None:
    assert ServiceManager(environment_of(systemd, **variables)).interval == interval


def test_it_hears_again_and_again_that_the_loop_turns(systemd: socket.socket) -> None:
    runtime = RealRuntime()
    manager = ServiceManager(environment_of(systemd, WATCHDOG_USEC="2000"))
    try:
        runtime.loop.call_soon(lambda: manager.ready(runtime.loop))
        runtime.loop.call_later(0.05, runtime.loop.stop)
        runtime.loop.run()
        assert [systemd.recv(1000) for _ in range(3)] == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"]
    finally:
        runtime.close()


def test_one_that_is_too_busy_is_told_later(systemd: socket.socket) -> None:
    runtime = RealRuntime()
    manager = ServiceManager(environment_of(systemd))
    unheard = 0
    while manager.tell("STATUS=much"):
        unheard += 1
        assert unheard < 100_000
    heard: list[bytes] = []

    def listen() -> None:
        heard.extend(systemd.recv(1000) for _ in range(unheard))

    def is_there() -> None:
        heard.append(systemd.recv(1000))

    try:
        runtime.loop.call_soon(lambda: manager.ready(runtime.loop))
        runtime.loop.call_soon(listen)
        # The second time it got through: waits for it, on a thread, so that the loop can turn.
        runtime.loop.call_soon(lambda: runtime.workers.submit(is_there, lambda _result, _error: runtime.loop.stop()))
        runtime.loop.run()
        assert heard == [b"STATUS=much"] * unheard + [b"READY=1"]
    finally:
        runtime.close()
