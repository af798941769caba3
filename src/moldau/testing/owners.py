"""Which node a connection comes from: the kernel knows which process has the socket at its other end.

A proxy sees a connection from 127.0.0.1 and a port. `/proc/net/tcp` has the socket's number for that port, and the
descriptors of a process name the sockets it holds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path


class SocketOwners:
    """`processes` are the nodes that run now: process numbers by node id."""

    def __init__(self, processes: Callable[[], Mapping[int, int]]) -> None:
        self._processes = processes

    def of(self, port: int) -> int | None:
        """The node that has a socket at this local port; None if no node has."""
        inode = _inode(port)
        if inode is None:
            return None
        for node, process in self._processes().items():
            if _holds(process, f"socket:[{inode}]"):
                return node
        return None


def _inode(port: int) -> str | None:
    """Columns: a number, local address and port, the other side's, state, ..., inode as the tenth."""
    wanted = f":{port:04X}"
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        with suppress(OSError):
            for line in Path(path).read_text().splitlines()[1:]:
                columns = line.split()
                if columns[1].endswith(wanted) and columns[9] != "0":  # nobody has one that only waits for its end
                    return columns[9]
    return None


def _holds(process: int, target: str) -> bool:
    directory = f"/proc/{process}/fd"
    with suppress(OSError):
        for name in os.listdir(directory):
            with suppress(OSError):  # closed since the listing
                if os.readlink(f"{directory}/{name}") == target:
                    return True
    return False
