"""What happens to the machines of a cluster, one thing after the other, as the seed has it.

Each fault is named, begins, and is over after a while. How much may be lost is what the cluster promises to survive:
records are acknowledged by a majority of the replicas and not forced to disk, so a loss of power, which takes what was
not forced, comes to one machine at a time and not before the one before it has caught up; a killed process takes
nothing with it, and may be all of them at once. Only not while a machine still misses what it lost: a broker that comes
back without having been closed in order may have lost records, for all its controllers know, and leaves the in-sync
sets. Were it to happen to all others then, the one that did lose them would be the last in sync.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from moldau.simulation.chance import SeededRandom
from moldau.simulation.loop import SimulatedLoop
from moldau.simulation.network import Fabric
from moldau.simulation.world import Machine

_REST_SECONDS: Final = (0.5, 8.0)
_FAULT_SECONDS: Final = (0.2, 15.0)
# How long it takes until a machine is switched on again.
_DOWN_SECONDS: Final = (0.1, 12.0)
# What a controller cannot tell from a loss of records.
_UNCLEAN: Final = frozenset({"kill", "kill all", "wrong clock"})


class Faults:
    """`healthy` says whether every replica is in sync, as far as the cluster itself knows."""

    def __init__(
        self,
        machines: Sequence[Machine],
        fabric: Fabric,
        loop: SimulatedLoop,
        chance: SeededRandom,
        healthy: Callable[[], bool],
        count: int,
    ) -> None:
        self._machines = machines
        self._fabric = fabric
        self._loop = loop
        self._chance = chance
        self._healthy = healthy
        self._left = count
        self._busy = 0
        # A machine has lost what it held, and not all of it has been replaced yet, as far as is known.
        self._wounded = False
        # What was done, in order, for whoever looks at a run.
        self.done: list[str] = []
        self._kinds: list[tuple[str, Callable[[], None]]] = [
            ("kill", self._kill),
            ("kill", self._kill),
            ("stop", self._stop),
            ("pause", self._pause),
            ("cut off", self._cut_off),
            ("cut one way", self._cut_one_way),
            ("kill all", self._kill_all),
            ("lose power", self._lose_power),
            ("lose disk", self._lose_disk),
            ("slow network", self._slow_network),
            ("dropped connections", self._drop_connections),
            ("full disk", self._full_disk),
            ("wrong clock", self._wrong_clock),
        ]

    @property
    def over(self) -> bool:
        return self._left == 0 and self._busy == 0

    def begin(self) -> None:
        self._loop.call_later(self._between(*_REST_SECONDS), self._next)

    def stop(self) -> None:
        """No further ones; what is under way ends by itself."""
        self._left = 0

    def _next(self) -> None:
        if self._left == 0:
            return
        if self._wounded and self._busy == 0 and self._healthy():
            self._wounded = False
        if self._busy < 2:
            name, fault = self._chance.choice(self._kinds)
            if not (self._wounded and name in _UNCLEAN):
                self._left -= 1
                self.done.append(name)
                fault()
        self.begin()

    # --------------------------------------------------------------------------------------------------- processes

    def _kill(self) -> None:
        machine = self._some()
        machine.kill()
        self._later(_DOWN_SECONDS, lambda: _switch_on(machine))

    def _kill_all(self) -> None:
        for machine in self._machines:
            machine.kill()
            self._later(_DOWN_SECONDS, partial(_switch_on, machine))

    def _stop(self) -> None:
        machine = self._some()
        machine.stop()
        self._later((8.0, 20.0), lambda: self._restart(machine))

    def _restart(self, machine: Machine) -> None:
        if machine.is_stopping and self._wounded:
            self._later((1.0, 2.0), lambda: self._restart(machine))
            return
        if machine.is_stopping:
            # Whoever has not stopped by then is not waited for.
            machine.kill()
        _switch_on(machine)

    def _pause(self) -> None:
        machine = self._some()
        machine.pause()
        self._later(_FAULT_SECONDS, machine.go_on)

    # ----------------------------------------------------------------------------------------------------- machines

    def _lose_power(self) -> None:
        if not self._alone():
            return
        machine = self._some()
        self._wounded = True
        machine.lose_power()
        self._later(_DOWN_SECONDS, lambda: _switch_on(machine))

    def _lose_disk(self) -> None:
        if not self._alone():
            return
        machine = self._some()
        self._wounded = True
        machine.lose_disk()
        self._later(_DOWN_SECONDS, lambda: _switch_on(machine))

    def _alone(self) -> bool:
        """Nothing else is wrong: this machine's records are on the others, too."""
        return self._busy == 0 and all(machine.is_serving for machine in self._machines) and self._healthy()

    def _full_disk(self) -> None:
        machine = self._some()
        disk = machine.disk
        disk.fail(errno.ENOSPC, "write")
        # It may end for it, because its only directory is gone.
        machine.expects_failure = True

        def room_again() -> None:
            disk.heal()
            # One that was to start meanwhile could not.
            if machine.has_ended or (not machine.is_running and machine.failed_to_start):
                machine.kill()
                machine.start()
            machine.expects_failure = False

        self._later((0.2, 4.0), room_again)

    def _wrong_clock(self) -> None:
        machine = self._some()
        machine.ahead_ms = self._chance.between(-3_600_000, 3_600_000)
        machine.kill()
        self._later(_DOWN_SECONDS, lambda: _switch_on(machine))

    # ------------------------------------------------------------------------------------------------------ network

    def _cut_off(self) -> None:
        machine = self._some()
        others = [other.host for other in self._machines if other is not machine]
        if self._chance.happens(0.3):
            others.append("client")
        elif self._chance.happens(0.3):
            others = others[:1]
        for other in others:
            self._fabric.cut(machine.host, other)
        self._later(_FAULT_SECONDS, self._fabric.mend)

    def _cut_one_way(self) -> None:
        machine = self._some()
        for other in self._machines:
            if other is not machine:
                inward = self._chance.happens(0.5)
                ends = (other.host, machine.host) if inward else (machine.host, other.host)
                self._fabric.cut(*ends, one_way=True)
        self._later(_FAULT_SECONDS, self._fabric.mend)

    def _slow_network(self) -> None:
        self._fabric.slow_chance = 0.5

        def usual() -> None:
            self._fabric.slow_chance = 0.02

        self._later(_FAULT_SECONDS, usual)

    def _drop_connections(self) -> None:
        self._fabric.drop_chance = 0.02

        def usual() -> None:
            self._fabric.drop_chance = 0.0

        self._later(_FAULT_SECONDS, usual)

    # ------------------------------------------------------------------------------------------------------ details

    def _some(self) -> Machine:
        return self._chance.choice(self._machines)

    def _later(self, seconds: tuple[float, float], end: Callable[[], None]) -> None:
        self._busy += 1

        def over() -> None:
            self._busy -= 1
            end()

        self._loop.call_later(self._between(*seconds), over)

    def _between(self, low: float, high: float) -> float:
        return low + (high - low) * self._chance.fraction()


def _switch_on(machine: Machine) -> None:
    # Another fault may have come first.
    if not machine.is_running:
        machine.start()
