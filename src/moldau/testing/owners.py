"""Which node a connection comes from: the kernel knows which process has the socket at its other end.

A proxy sees a connection from 127.0.0.1 and a port. Linux tells the number of the socket there, and the descriptors of
a process name the sockets it holds. Elsewhere `lsof` is asked, which macOS comes with.
"""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from struct import Struct
from typing import Final


class SocketOwners:
    """`processes` are the nodes that run now: process numbers by node id."""

    def __init__(self, processes: Callable[[], Mapping[int, int]]) -> None:
        self._processes = processes

    def of(self, port: int, to: int) -> int | None:
        """The node whose socket at this local port is connected to the port `to`; None if no node has one."""
        processes = self._processes()
        if not os.path.exists(_TABLES[0]):
            return _listed(port, processes)
        inode = _asked(port, to)
        if inode is None:
            inode = _inode(port)
        if inode is None:
            return None
        for node, process in processes.items():
            if _holds(process, f"socket:[{inode}]"):
                return node
        return None


# Of linux/netlink.h, linux/sock_diag.h and linux/inet_diag.h.
_SOCK_DIAG: Final = 4
_BY_FAMILY: Final = 20
_REQUEST: Final = 1
_ANY_STATE: Final = 0xFFFFFFFF
_NO_COOKIE: Final = 0xFFFFFFFF
# Length, kind, flags, number, process.
_HEADER: Final = Struct("=IHHII")
# Family, protocol, extensions, states.
_QUESTION: Final = Struct("=BBBxI")
# Ports and addresses of both ends as they are on the wire, interface, cookie.
_CONNECTION: Final = Struct("!HH16s16sIII")
_LOOPBACK: Final = socket.inet_aton("127.0.0.1")
_INODE: Final = Struct("=I")
# Behind four bytes of state, the connection, and the lengths of queues.
_INODE_AT: Final = 4 + _CONNECTION.size + 16
_ANSWER_SECONDS: Final = 1.0

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_READ_AGAIN = 3
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


def _asked(port: int, to: int) -> str | None:
    """Asks the kernel for this one connection. Its table lists every socket of the machine, and where tens of thousands
    have just been closed it takes half a second to read: nodes would give up before they are let through.

    None where it is not answered: the table is there as well.
    """
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _SOCK_DIAG) as kernel:
            kernel.settimeout(_ANSWER_SECONDS)
            asked = _QUESTION.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, _ANY_STATE)
            asked += _CONNECTION.pack(port, to, _LOOPBACK, _LOOPBACK, 0, _NO_COOKIE, _NO_COOKIE)
            kernel.sendto(_HEADER.pack(_HEADER.size + len(asked), _BY_FAMILY, _REQUEST, 0, 0) + asked, (0, 0))
            answer = kernel.recv(4096)
    except OSError:
        return None
    _, kind, _, _, _ = _HEADER.unpack_from(answer)
    if kind != _BY_FAMILY:
        return None
    (inode,) = _INODE.unpack_from(answer, _HEADER.size + _INODE_AT)
    return str(inode) if inode else None


def _inode(port: int) -> str | None:
    """Columns: a number, local address and port, the other side's, state, ..., inode as the tenth. A table that changes
    while it is read may leave out what was there all the time: so who is not found is looked for again."""
    wanted = f":{port:04X}"
    for path in _TABLES * _READ_AGAIN:
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
