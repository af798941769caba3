"""The real runtime: all ports of this room in one hand."""

from __future__ import annotations

import resource
import sys
from typing import Final

from moldau.runtime.chance import SystemRandom
from moldau.runtime.clock import SystemClock
from moldau.runtime.disk import RealDisk
from moldau.runtime.network import TcpNetwork
from moldau.runtime.process import RealProcess
from moldau.runtime.reactor import Reactor
from moldau.runtime.workers import ThreadWorkers

_OPEN_MAX: Final = 10_240


class RealRuntime:
    """What a node runs on outside the simulator. `close` ends it: threads first, then sockets, then the loop."""

    def __init__(self) -> None:
        descriptors = _allow_many_descriptors()
        self.clock = SystemClock()
        self.random = SystemRandom()
        self.disk = RealDisk()
        self.process = RealProcess()
        self.loop = Reactor()
        self.workers = ThreadWorkers(self.loop.call_from_thread)
        self.network = TcpNetwork(self.loop, lambda: self.workers, descriptors)

    def close(self) -> None:
        self.workers.close()
        self.network.close()
        self.loop.close()
        self.process.close()


def _allow_many_descriptors() -> int:
    """Every connection and every segment holds one; the usual soft limit of 1024 is soon used up. Returns the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return hard if hard != resource.RLIM_INFINITY else sys.maxsize
    # The kernel of macOS takes no more than its own maximum, whatever the limit says; this much it takes.
    for wanted in (hard, _OPEN_MAX):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            continue
        return wanted if wanted != resource.RLIM_INFINITY else sys.maxsize
    return soft
