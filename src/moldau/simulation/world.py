"""Machines that start, die and start again, and whoever talks to them, all in one virtual time.

    with World(seed) as world:
        machine = world.machine("node-1", {"log.dirs": "/data", "listeners": "PLAINTEXT://node-1:9092"})
        machine.start()
        world.run_until(lambda: machine.is_serving)
        machine.lose_power()

A world is also the place where nothing goes unnoticed: an exception that no code handled, a traceback in the log, a
node that does not start, each ends the run with a sentence and the seed.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable, Mapping
from types import TracebackType

from moldau.config.broker import BrokerConfig
from moldau.node import Node
from moldau.simulation.chance import SeededRandom
from moldau.simulation.clock import VirtualClock
from moldau.simulation.disk import SimulatedDisk
from moldau.simulation.loop import Schedule
from moldau.simulation.network import Fabric
from moldau.simulation.runtime import SimulatedRuntime
from moldau.storage.log_dirs import MetaProperties, write_meta_properties

# Makes a disk ready for its node; whether it is the first one of its machine.
Format = Callable[[SimulatedDisk, SeededRandom, bool], None]


class Violation(AssertionError):
    """Something happened that must never happen."""


class World:
    def __init__(self, seed: int | str) -> None:
        self.seed = seed
        self.chance = SeededRandom(seed)
        self.schedule = Schedule(VirtualClock())
        self.clock = self.schedule.clock
        self.fabric = Fabric(self.chance.fork("network"))
        self.machines: list[Machine] = []
        self._processes = 0
        self._tracebacks = _Tracebacks()

    def __enter__(self) -> World:
        logging.getLogger("moldau").addHandler(self._tracebacks)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        logging.getLogger("moldau").removeHandler(self._tracebacks)
        for machine in self.machines:
            machine.disk.cut_power()
        if error is not None:
            error.add_note(f"seed {self.seed}, {self.clock.monotonic():.6f} s after the beginning")

    def machine(
        self,
        host: str,
        settings: Mapping[str, str],
        *,
        cluster_id: str | None = None,
        format: Format | None = None,
    ) -> Machine:
        """`cluster_id` formats its disks for a cluster of several, `format` does it otherwise; a machine alone does
        that by itself."""
        machine = Machine(self, host, settings, cluster_id, format)
        self.machines.append(machine)
        return machine

    def process(self, host: str, disk: SimulatedDisk | None = None, ahead_ms: int = 0) -> SimulatedRuntime:
        """A new process on a host. Each has its own chance: ids do not repeat after a restart."""
        self._processes += 1
        return SimulatedRuntime(
            f"{self.seed}/{host}/{self._processes}",
            host=host,
            schedule=self.schedule,
            fabric=self.fabric,
            disk=disk,
            ahead_ms=ahead_ms,
        )

    def run_until(self, done: Callable[[], bool], seconds: float = 600.0) -> None:
        check = self.check

        def finished() -> bool:
            check()
            return done()

        self.schedule.run_until(finished, seconds)

    def run_for(self, seconds: float) -> None:
        self.schedule.run_for(seconds)
        self.check()

    def check(self) -> None:
        if self.schedule.failures:
            raise Violation("a callback failed") from self.schedule.failures[0]
        if self._tracebacks.records:
            record = self._tracebacks.records[0]
            raise Violation(f"a traceback was logged: {record.getMessage()}") from (record.exc_info or (0, None))[1]
        for machine in self.machines:
            if machine.has_ended and machine.failure is not None:
                raise Violation(f"{machine.host} ended by itself: {machine.failure}") from machine.failure


class _Tracebacks(logging.Handler):
    """Whatever was logged with a traceback: code that was surprised."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None and record.name != "moldau.simulation":
            self.records.append(record)


class Machine:
    """A host with a disk, on which a node runs or not. `lives` counts the starts, `cuts` the losses of power."""

    def __init__(
        self, world: World, host: str, settings: Mapping[str, str], cluster_id: str | None, format: Format | None
    ) -> None:
        self._world = world
        self._cluster_id = cluster_id
        self._format = format
        self.host = host
        self.settings = dict(settings)
        # Of its wall clock before the world's.
        self.ahead_ms = 0
        self.disks = 0
        # What is done to a node before it starts, such as to watch it.
        self.prepare: Callable[[Node], None] = lambda node: None
        self.disk = self._new_disk()
        self._has_slow_disk = False
        self.runtime: SimulatedRuntime | None = None
        self.node: Node | None = None
        self.is_serving = False
        self.is_stopping = False
        self.expects_failure = False
        self.lives = 0
        self.cuts = 0
        self._failure: BaseException | None = None

    def _new_disk(self) -> SimulatedDisk:
        self.disks += 1
        name = f"{self.host}/disk" + (f"/{self.disks}" if self.disks > 1 else "")
        disk = SimulatedDisk(self._world.clock, self._world.chance.fork(name))
        if self._format is not None:
            self._format(disk, self._world.chance.fork(f"{name}/id"), self.disks == 1)
            return disk
        for directory in self.settings["log.dirs"].split(","):
            if self._cluster_id is not None:
                # Made by whoever set the machine up, long ago.
                disk.make_directories(directory)
                disk.sync_directory("/")
                first = directory == self.settings["log.dirs"].split(",")[0]
                directory_id = self._world.chance.fork(f"{name}/id" if first else f"{name}/id{directory}").bytes(16)
                meta = MetaProperties(self._cluster_id, int(self.settings["node.id"]), directory_id)
                write_meta_properties(disk, directory, meta)
        return disk

    def lose_disk(self) -> None:
        """With the process that used it. The next start finds an empty one."""
        self._died()
        self.disk = self._new_disk()

    @property
    def is_running(self) -> bool:
        return self.runtime is not None and self.runtime.loop.alive

    @property
    def failed_to_start(self) -> bool:
        return self._failure is not None

    @property
    def failure(self) -> BaseException | None:
        """Why the node ended or did not start, unless a test has provoked it. None can start on a full disk."""
        failure = self._failure or (self.node.failure if self.node is not None else None)
        if self.expects_failure or (not self.is_serving and getattr(failure, "errno", None) == errno.ENOSPC):
            return None
        return failure

    @property
    def has_ended(self) -> bool:
        """Whether its last node ended by itself, or did not start."""
        return self._failure is not None or (self.node is not None and self.node.failure is not None)

    def start(self) -> None:
        # One that ended by itself leaves no listener behind either.
        self._died()
        runtime = self.runtime = self._world.process(self.host, self.disk, self.ahead_ms)
        runtime.loop.on_power_cut = self._power_is_gone
        runtime.workers.is_slow = self._has_slow_disk
        self.lives += 1
        self._failure = None
        # As a step of the world, because the power may go at any point of it.
        runtime.loop.call_soon(lambda: self._start(runtime))

    def _start(self, runtime: SimulatedRuntime) -> None:
        try:
            self.node = Node(BrokerConfig.parse(self.settings), runtime)
            self.prepare(self.node)
            self.node.start(self._serving)
        except Exception as error:
            self._failure = error
            runtime.die()

    def _serving(self, _addresses: object) -> None:
        self.is_serving = True

    def lose_power(self) -> None:
        """Now, between two steps. For a cut inside of one: `disk.cut_power_after`."""
        self.disk.cut_power()
        self._power_is_gone()

    def _power_is_gone(self) -> None:
        self.cuts += 1
        self._died()
        self.disk.recover()

    def kill(self) -> None:
        """kill -9: the process is gone, what it wrote is with the operating system."""
        self._died()

    def _died(self) -> None:
        if self.runtime is not None:
            self.runtime.die()
        self.node = self.runtime = None
        self.is_serving = self.is_stopping = False

    def pause(self) -> None:
        """As SIGSTOP does: time goes on without it."""
        if self.runtime is not None:
            self.runtime.loop.paused = True

    def go_on(self) -> None:
        if self.runtime is not None and self.runtime.loop.paused:
            self.runtime.loop.go_on()

    def slow_disk(self, slow: bool) -> None:
        """Whether whatever waits for the disk takes very long."""
        self._has_slow_disk = slow
        if self.runtime is not None:
            self.runtime.workers.is_slow = slow

    def stop(self) -> None:
        """A clean stop; `is_running` tells when it is over."""
        node, runtime = self.node, self.runtime
        if node is None or runtime is None:
            return

        def stopped() -> None:
            if self.runtime is runtime:
                self._died()

        self.is_stopping = True
        runtime.loop.call_soon(lambda: node.shutdown(stopped))
