"""The real runtime: all ports of this room in one hand."""

from __future__ import annotations

import resource
import sys

from moldau.runtime.chance import SystemRandom
from moldau.runtime.clock import SystemClock
from moldau.runtime.disk import RealDisk
from moldau.runtime.network import EpollNetwork
from moldau.runtime.reactor import Reactor
from moldau.runtime.workers import ThreadWorkers


class RealRuntime:
    """What a node runs on outside the simulator. `close` ends it: threads first, then sockets, then the loop."""

    def __init__(self) -> None:
        descriptors = _allow_many_descriptors()
        self.clock = SystemClock()
        self.random = SystemRandom()
        self.disk = RealDisk()
        self.loop = Reactor()
        self.workers = ThreadWorkers(self.loop.call_from_thread)
        self.network = EpollNetwork(self.loop, lambda: self.workers, descriptors)

    def close(self) -> None:
        self.workers.close()
        self.network.close()
        self.loop.close()


def _allow_many_descriptors() -> int:
    """Every connection and every segment holds one; the usual soft limit of 1024 is soon used up. Returns the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard if hard != resource.RLIM_INFINITY else sys.maxsize
