"""Whose connection it is that a proxy sees: by what Linux says of it or its tables, and by what lsof says elsewhere."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable

import pytest

from moldau.testing import owners
from moldau.testing.owners import SocketOwners

CALLS = """
import socket, sys
connected = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
connected.recv(1)
"""


def by_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by the table, which also has a line for whatever was closed in the last minute."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as calling,
    ):
        if (
            not hasattr(socket, "AF_NETLINK")
            or owners._asked(calling.getsockname()[1], server.getsockname()[1]) is None
        ):
            pytest.skip("this system does not tell of single sockets")
    monkeypatch.setattr(owners, "_inode", lambda port: pytest.fail("the table was read"))


def by_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    if not os.path.exists("/proc/net/tcp"):
        pytest.skip("this system has no /proc/net/tcp")
    monkeypatch.setattr(owners, "_SOCK_DIAG", 10_000)


def by_lsof(monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("lsof") is None:
        pytest.skip("lsof is not installed, which is needed on systems without /proc only")
    monkeypatch.setattr(owners, "_TABLES", ("/nowhere",))


@pytest.mark.parametrize("way", [by_asking, by_the_tables, by_lsof])
def test_the_process_at_the_other_end_is_found(
    way: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    way(monkeypatch)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        calling = subprocess.Popen([sys.executable, "-c", CALLS, str(port)])
        accepted, peer = server.accept()
        with accepted, socket.create_connection(("127.0.0.1", port)) as of_nobody:
            try:
                found = SocketOwners(lambda: {1: os.getpid(), 7: calling.pid})
                assert found.of(peer[1], port) == 7
                assert found.of(of_nobody.getsockname()[1], port) == 1
                assert SocketOwners(lambda: {1: os.getpid()}).of(peer[1], port) is None
                assert SocketOwners(dict).of(peer[1], port) is None
            finally:
                accepted.send(b"x")
                assert calling.wait(60) == 0
