"""Which node a connection comes from: the kernel knows which process has the socket at its other end.

A proxy sees a connection from 127.0.0.1 and a port. On Linux `/proc/net/tcp` has the socket's number for that port, and
the descriptors of a process name the sockets it holds. Elsewhere `lsof` is asked, which macOS comes with.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path


class SocketOwners:
    """`processes` are the nodes that run now: process numbers by node id."""

    def __init__(self, processes: Callable[[], Mapping[int, int]]) -> None:
        self._processes = processes

    def of(self, port: int) -> int | None:
        """The node that has a socket at this local port; None if no node has."""
        processes = self._processes()
        if not os.path.exists(_TABLES[0]):
            return _listed(port, processes)
        inode = _inode(port)
        if inode is None:
            return None
        for node, process in processes.items():
            if _holds(process, f"socket:[{inode}]"):
                return node
        return None


_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LSOF_SECONDS = 10.0


def _listed(port: int, processes: Mapping[int, int]) -> int | None:
    """By `lsof`: the connections of these processes, a line `pPROCESS` before the lines `nLOCAL->REMOTE` of each."""
    if not processes:
        return None
    command = ["lsof", "-nP", "-a", "-p", ",".join(map(str, processes.values())), f"-iTCP:{port}", "-Fpn"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=_LSOF_SECONDS).stdout
    process = 0
    for line in found.splitlines():
        if line.startswith("p"):
            process = int(line[1:])
        elif line.startswith("n") and line.partition("->")[0].endswith(f":{port}"):
            return next((node for node, each in processes.items() if each == process), None)
    return None


def _inode(port: int) -> str | None:
    """Columns: a number, local address and port, the other side's, state, ..., inode as the tenth."""
    wanted = f":{port:04X}"
    for path in _TABLES:
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
