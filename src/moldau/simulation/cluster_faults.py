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
from moldau.simulation.changing_voters import FAULT as TAKE_VOTE
from moldau.simulation.changing_voters import VoterChanges
from moldau.simulation.cluster_aim import Aim
from moldau.simulation.cluster_weather import Seconds, Weather
from moldau.simulation.loop import SimulatedLoop
from moldau.simulation.network import Fabric
from moldau.simulation.world import Machine

_BROKER_PORT: Final = 9092
_CONTROLLER_PORT: Final = 9093
# How long a fault waits for the moment it is meant for.
_LONGEST_WAIT_US: Final = 5_000_000
# How long before and after the faults of a spell there is no calm: whoever writes is at work when they come.
_BEFORE_SPELL: Final = 2.0
_AFTER_SPELL: Final = 5.0
# What a controller cannot tell from a loss of records.
_UNCLEAN: Final = frozenset({"kill", "kill all", "wrong clock", "kill a leader alone", "kill a voter", "failing disk"})
# Of a disk that fails, which operations do.
_FAILING: Final = (("write",), ("sync",), ("write", "sync", "create", "rename", "truncate"), ("read",))
# The log directories of a node whose disks may fail. Without the first, which has the metadata, it ends.
FIRST_DISK: Final = "/data"
SECOND_DISK: Final = "/second"


class Faults:
    """`healthy` says whether every replica is in sync, as far as the cluster itself knows."""

    def __init__(
        self,
        machines: Sequence[Machine],
        fabric: Fabric,
        loop: SimulatedLoop,
        chance: SeededRandom,
        healthy: Callable[[], bool],
        aim: Aim,
        weather: Weather,
        count: int,
        voters: VoterChanges | None = None,
    ) -> None:
        """`count` is how many there are, unless the weather says how long they go on; `voters` if they change."""
        self._machines = machines
        self._fabric = fabric
        self._loop = loop
        self._chance = chance
        self._healthy = healthy
        self._aim = aim
        self._weather = weather
        self._voters = voters
        self._left = count
        self._last_us: int | None = None
        self._is_calm = False
        self._busy = 0
        # A machine has lost what it held, and not all of it has been replaced yet, as far as is known.
        self._wounded = False
        # What was done, in order, for whoever looks at a run.
        self.done: list[str] = []
        # What waits for its moment: whether that is now, what to do then, and the last moment to wait for.
        self._awaited: list[tuple[Callable[[], Machine | None], Callable[[Machine], None], float]] = []
        self._kinds: dict[str, Callable[[], None]] = {
            "kill": self._kill,
            "stop": self._stop,
            "pause": self._pause,
            "cut off": self._cut_off,
            "cut one way": self._cut_one_way,
            "kill all": self._kill_all,
            "lose power": self._lose_power,
            "lose disk": self._lose_disk,
            "slow network": self._slow_network,
            "dropped connections": self._drop_connections,
            "full disk": self._full_disk,
            "failing disk": self._failing_disk,
            "slow disk": self._slow_disk,
            "wrong clock": self._wrong_clock,
            "cut replication": self._cut_replication,
            "cut from controllers": self._cut_from_controllers,
            "kill a leader alone": self._kill_a_leader_alone,
            "pause a coordinator": self._pause_a_coordinator,
            "kill a voter": self._kill_a_voter,
            "elect preferred": aim.elect_preferred,
            "reassign": aim.reassign,
        }
        if voters is not None:
            self._kinds[TAKE_VOTE] = voters.take_one_away

    @property
    def over(self) -> bool:
        return self._left == 0 and self._busy == 0

    @property
    def calm(self) -> bool:
        """Nothing is wrong, nor will be for a while."""
        return self._is_calm and self._busy == 0

    def begin(self) -> None:
        if self._weather.lasts:
            self._last_us = self._loop.now_us + round(self._weather.lasts * 1_000_000)
        self._loop.call_later(self._between(*self._weather.rest), self._next)

    def _rest(self) -> None:
        weather = self._weather
        if self._last_us is None or not self._chance.happens(weather.ends_spell):
            self._loop.call_later(self._between(*weather.rest), self._next)
            return
        left = (self._last_us - self._loop.now_us) / 1_000_000
        seconds = min(self._between(*weather.calm), max(left, _AFTER_SPELL + _BEFORE_SPELL))
        self._loop.call_later(_AFTER_SPELL, lambda: self._become_calm(True))
        self._loop.call_later(seconds - _BEFORE_SPELL, lambda: self._become_calm(False))
        self._loop.call_later(seconds, self._next)

    def _become_calm(self, calm: bool) -> None:
        self._is_calm = calm

    def stop(self) -> None:
        """No further ones; what is under way ends by itself."""
        self._left = 0

    def _next(self) -> None:
        if self._last_us is not None and self._loop.now_us >= self._last_us:
            self._left = 0
        if self._left == 0:
            return
        if self._wounded and self._busy == 0 and self._healthy():
            self._wounded = False
        if self._busy < 2:
            name = self._chance.choice(self._weather.kinds)
            if not (self._wounded and name in _UNCLEAN):
                if self._last_us is None:
                    self._left -= 1
                self.done.append(name)
                self._kinds[name]()
        self._rest()

    def look(self) -> None:
        """After every event: whether the moment has come that somebody waits for."""
        if not self._awaited:
            return
        for each in list(self._awaited):
            moment, act, last = each
            machine = moment()
            if machine is not None:
                self._awaited.remove(each)
                self._busy -= 1
                act(machine)
            elif self._loop.now_us > last:
                self._awaited.remove(each)
                self._busy -= 1

    # --------------------------------------------------------------------------------------------------- processes

    def _kill(self) -> None:
        machine = self._some()
        machine.kill()
        self._later(self._weather.down, lambda: _switch_on(machine))

    def _kill_all(self) -> None:
        for machine in self._machines:
            machine.kill()
            self._later(self._weather.down, partial(_switch_on, machine))

    def _stop(self) -> None:
        machine = self._some()
        machine.stop()
        self._later(self._weather.stop, lambda: self._restart(machine))

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
        self._later(self._weather.fault, machine.go_on)

    def _kill_a_leader_alone(self) -> None:
        """Of which all followers fell out of sync, because the network between them was cut."""
        leader = self._aim.leader()
        if leader is None:
            return
        self._cut_between(leader, _BROKER_PORT)
        self._later((self._weather.lag + 0.5, self._weather.lag + 2.0), lambda: self._kill_cut_off(leader))

    def _kill_cut_off(self, machine: Machine) -> None:
        self._fabric.mend()
        if self._wounded:
            return
        machine.kill()
        self._later(self._weather.down, lambda: _switch_on(machine))

    def _pause_a_coordinator(self) -> None:
        """That has decided a transaction; until another carries it out in its place."""

        def act(machine: Machine) -> None:
            machine.pause()
            self._await(lambda: self._aim.completing(machine), lambda _: self._later((0.001, 0.03), machine.go_on))
            self._later((2 * self._weather.session, 3 * self._weather.session), machine.go_on)

        self._await(self._aim.deciding, act)

    def _kill_a_voter(self) -> None:
        """That has just voted, because the leader was stopped; it is back at once."""
        leader = self._aim.controller()
        if leader is None:
            return

        def act(machine: Machine) -> None:
            if not self._wounded:
                machine.kill()
                self._later((0.0, 0.1), lambda: _switch_on(machine))

        leader.pause()
        self._later((1.0, 3.0), leader.go_on)
        self._await(self._aim.voted, act)

    def _await(self, moment: Callable[[], Machine | None], act: Callable[[Machine], None]) -> None:
        self._busy += 1
        self._awaited.append((moment, act, self._loop.now_us + _LONGEST_WAIT_US))

    # ----------------------------------------------------------------------------------------------------- machines

    def _lose_power(self) -> None:
        if not self._alone():
            return
        machine = self._some()
        self._wounded = True
        machine.lose_power()
        self._later(self._weather.down, lambda: _switch_on(machine))

    def _lose_disk(self) -> None:
        if not self._alone() or (self._voters is not None and not self._voters.bear_a_loss):
            return
        machine = self._some()
        self._wounded = True
        machine.lose_disk()
        self._later(self._weather.down, lambda: _switch_on(machine))

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

    def _failing_disk(self) -> None:
        """One of two: what lies there is led by others, until the disk is well and the node has been restarted."""
        machine = self._some()
        disk = machine.disk
        place = SECOND_DISK if self._chance.happens(0.75) else FIRST_DISK
        disk.fail(errno.EIO, *self._chance.choice(_FAILING), path=place)
        machine.expects_failure = True

        def mended() -> None:
            disk.heal()
            if machine.has_ended or not machine.is_serving:
                machine.kill()
                machine.start()
            else:
                machine.stop()
                self._later(self._weather.stop, lambda: self._restart(machine))
            machine.expects_failure = False

        self._later((0.2, 6.0), mended)

    def _slow_disk(self) -> None:
        machine = self._some()
        machine.slow_disk(True)
        self._later(self._weather.fault, lambda: machine.slow_disk(False))

    def _wrong_clock(self) -> None:
        machine = self._some()
        machine.ahead_ms = self._chance.between(-3_600_000, 3_600_000)
        machine.kill()
        self._later(self._weather.down, lambda: _switch_on(machine))

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
        self._later(self._weather.fault, self._fabric.mend)

    def _cut_one_way(self) -> None:
        machine = self._some()
        for other in self._machines:
            if other is not machine:
                inward = self._chance.happens(0.5)
                ends = (other.host, machine.host) if inward else (machine.host, other.host)
                self._fabric.cut(*ends, one_way=True)
        self._later(self._weather.fault, self._fabric.mend)

    def _cut_replication(self) -> None:
        """A leader and its followers; clients and controllers reach them all."""
        leader = self._aim.leader()
        if leader is not None:
            self._cut_between(leader, _BROKER_PORT)
            self._later((self._weather.lag, 3 * self._weather.lag), self._fabric.mend)

    def _cut_from_controllers(self) -> None:
        """Longer than it takes to be fenced; clients and followers still reach it."""
        machine = self._aim.leader() or self._some()
        self._cut_between(machine, _CONTROLLER_PORT)
        self._later((self._weather.session, 2.5 * self._weather.session), self._fabric.mend)

    def _cut_between(self, machine: Machine, port: int) -> None:
        for other in self._machines:
            if other is not machine:
                self._fabric.cut(machine.host, other.host, port=port)

    def _slow_network(self) -> None:
        self._fabric.slow_chance = 0.5

        def usual() -> None:
            self._fabric.slow_chance = 0.02

        self._later(self._weather.fault, usual)

    def _drop_connections(self) -> None:
        self._fabric.drop_chance = 0.02

        def usual() -> None:
            self._fabric.drop_chance = 0.0

        self._later(self._weather.fault, usual)

    # ------------------------------------------------------------------------------------------------------ details

    def _some(self) -> Machine:
        return self._chance.choice(self._machines)

    def _later(self, seconds: Seconds, end: Callable[[], None]) -> None:
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
