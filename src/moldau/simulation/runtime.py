"""All ports in one hand: what a node is built on inside the simulator.

`SimulatedRuntime(seed)` is a world of its own with one process in it. Several processes share a world when they are
given the same one (see world).
"""

from __future__ import annotations

from moldau.runtime.ports import ProcessUsage
from moldau.simulation.chance import SeededRandom
from moldau.simulation.clock import HostClock, VirtualClock
from moldau.simulation.disk import SimulatedDisk
from moldau.simulation.loop import Schedule, SimulatedLoop
from moldau.simulation.network import Fabric, SimulatedNetwork
from moldau.simulation.workers import SimulatedWorkers


class SimulatedProcess:
    """It takes nothing of the machine."""

    def usage(self) -> ProcessUsage:
        return ProcessUsage(0.0, 0, 0.0, 1, 0, 0, 0, 0, (), 0.0)


class SimulatedRuntime:
    """One process. `die` is kill -9: everything but the disk is gone at once."""

    def __init__(
        self,
        seed: int | str,
        *,
        host: str = "localhost",
        schedule: Schedule | None = None,
        fabric: Fabric | None = None,
        disk: SimulatedDisk | None = None,
        ahead_ms: int = 0,
    ) -> None:
        chance = SeededRandom(seed)
        self.schedule = schedule or Schedule(VirtualClock())
        self.clock = HostClock(self.schedule.clock, ahead_ms)
        self.loop = SimulatedLoop(self.schedule)
        self.random = chance.fork("random")
        self.workers = SimulatedWorkers(self.loop, chance.fork("workers"))
        self.fabric = fabric or Fabric(chance.fork("network"))
        self.network = SimulatedNetwork(self.fabric, self.loop, host)
        self.process = SimulatedProcess()
        self.disk = disk or SimulatedDisk(self.schedule.clock, chance.fork("disk"))

    def die(self) -> None:
        self.loop.alive = False
        self.fabric.process_died(self.loop)
        self.disk.process_died()
