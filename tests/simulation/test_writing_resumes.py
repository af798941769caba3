"""How long nobody can write when something breaks, by the simulated clock: with a server's default settings less than
ten seconds, whatever it is."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping

import pytest
from test_silent_nodes import AS_SERVERS_DO, cut_off, leader, three_nodes

from moldau.simulation.client import SimulatedClient
from moldau.simulation.cluster_topics import creating
from moldau.simulation.ledger import Ledger
from moldau.simulation.workload import Producer, Rhythm
from moldau.simulation.world import Machine, World
from moldau.types import TopicPartition

TOPIC = "source"
PARTITIONS = [TopicPartition(TOPIC, index) for index in range(3)]
LONGEST = 10.0
# A node that is halted says nothing, and a client would wait half a minute for its answer.
REQUEST_SECONDS = 4.0
# How long a program rests between two requests, as a client does after so many failures.
PACE = 2
# Until a node that ended is started again, and for how long everybody is watched.
DOWN, WATCHED = 12.0, 15.0


class Load:
    """A program for each partition that writes all the time."""

    def __init__(self, world: World, machines: list[Machine]) -> None:
        self._clock = world.clock
        self._lasts = True
        self.machines = machines
        process = world.process("client")
        bootstrap = [(machine.host, 9092) for machine in machines]
        SimulatedClient(process, bootstrap, "admin").run(creating(TOPIC, len(PARTITIONS), {}))
        self._acknowledged = dict.fromkeys(PARTITIONS, world.clock.monotonic())
        self.longest = 0.0
        self._writing = []
        for where in PARTITIONS:
            chance = world.chance.fork(str(where))
            producer = Producer(str(where), [where], Ledger(), chance, rest=PACE, acknowledged=self._took)
            writing = producer.run_while(lambda: self._lasts, Rhythm(chance, lambda: False))
            client = SimulatedClient(process, bootstrap, str(where), REQUEST_SECONDS)
            self._writing.append(client.start(writing, 600.0))

    def _took(self, where: TopicPartition, _: int) -> None:
        now = self._clock.monotonic()
        self.longest = max(self.longest, now - self._acknowledged[where])
        self._acknowledged[where] = now

    def leader(self) -> Machine:
        """Of a partition, and not of the quorum: that one is missed sooner."""
        assert self.machines[0].node is not None
        topic = self.machines[0].node.metadata.image.topics.get(TOPIC)
        assert topic is not None
        leaders = [self.machines[partition.leader - 1] for partition in topic.partitions.values()]
        return next(machine for machine in leaders if machine is not leader(self.machines))

    def end(self, world: World) -> None:
        self._lasts = False
        world.run_until(lambda: all(writing.settled for writing in self._writing), 60.0)


def kill(world: World, machine: Machine) -> None:
    machine.kill()
    world.run_for(DOWN)
    machine.start()


def pause(world: World, machine: Machine) -> None:
    machine.pause()
    world.run_for(DOWN)
    machine.go_on()


def separate(world: World, machine: Machine, machines: list[Machine]) -> None:
    cut_off(world, machine, machines)
    world.fabric.cut(machine.host, "client")
    world.run_for(DOWN)
    world.fabric.mend()


def stop(world: World, machine: Machine) -> None:
    machine.stop()
    world.run_until(lambda: not machine.is_running, 60.0)
    machine.start()


def fill(world: World, machine: Machine) -> None:
    machine.expects_failure = True
    machine.disk.fail(errno.ENOSPC, "write")
    world.run_for(DOWN)
    machine.disk.heal()
    if machine.has_ended:
        machine.kill()
        machine.start()


def kill_all(machines: list[Machine]) -> None:
    for machine in machines:
        machine.kill()
    for machine in machines:
        machine.start()


FAULTS: Mapping[str, Callable[[World, Load], None]] = {
    "leader killed": lambda world, load: kill(world, load.leader()),
    "leader paused": lambda world, load: pause(world, load.leader()),
    "leader cut off": lambda world, load: separate(world, load.leader(), load.machines),
    "leader stopped": lambda world, load: stop(world, load.leader()),
    "disk full": lambda world, load: fill(world, load.leader()),
    "controller killed": lambda world, load: kill(world, leader(load.machines)),
    "controller paused": lambda world, load: pause(world, leader(load.machines)),
    "controller cut off": lambda world, load: separate(world, leader(load.machines), load.machines),
    "all killed": lambda world, load: kill_all(load.machines),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_writing_resumes(fault: str) -> None:
    with three_nodes(1) as (world, machines):
        load = Load(world, machines)
        world.run_for(3.0)
        FAULTS[fault](world, load)
        world.run_for(WATCHED)
        load.end(world)
        assert 0 < load.longest < LONGEST, f"nothing was written for {load.longest:.2f} s"


def test_a_controller_whose_disk_is_full_lets_another_lead() -> None:
    """Only that of its metadata, where nothing else is written that would end it."""
    with three_nodes(1) as (world, machines):
        controller = leader(machines)
        controller.expects_failure = True
        controller.disk.fail(errno.ENOSPC, "write", path="/data/__cluster_metadata-0")
        client = SimulatedClient(world.process("client"), [(machine.host, 9092) for machine in machines], "admin")
        began = world.clock.monotonic()
        client.run(creating(TOPIC, 2, {}))
        assert world.clock.monotonic() - began < LONGEST
        assert leader(machines) is not controller


def _leads_on(machine: Machine, disk: str) -> bool:
    assert machine.node is not None
    led = [partition for partition in machine.node.replicas.partitions() if partition.is_leader]
    return any(partition.log.directory.parent == disk and partition.topic_partition.topic == TOPIC for partition in led)


def test_what_lies_on_a_failed_disk_is_led_by_others() -> None:
    """The node goes on with its other disk."""
    with three_nodes(1, {**AS_SERVERS_DO, "log.dirs": "/data,/second"}) as (world, machines):
        load = Load(world, machines)
        world.run_for(3.0)
        machine = next(each for each in machines if _leads_on(each, "/second"))
        machine.disk.fail(errno.EIO, "write", path="/second")
        world.run_for(WATCHED)
        load.end(world)
        assert machine.is_serving
        assert not _leads_on(machine, "/second")
        assert 0 < load.longest < LONGEST, f"nothing was written for {load.longest:.2f} s"
