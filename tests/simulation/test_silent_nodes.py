"""A node that is halted or cut off says nothing and keeps its connections: how soon the others go on without it, and
that those are left alone that are only slow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest

from moldau.simulation.cluster_scenario import CLUSTER_ID, node_settings
from moldau.simulation.cluster_weather import USUAL, Weather
from moldau.simulation.world import Machine, World

NODES = 3
CALM = Weather(USUAL, ())
AS_SERVERS_DO = {"broker.session.timeout.ms": "9000", "broker.heartbeat.interval.ms": "2000"}


@contextmanager
def three_nodes(seed: int, settings: Mapping[str, str] = AS_SERVERS_DO) -> Iterator[tuple[World, list[Machine]]]:
    with World(seed) as world:
        machines = [
            world.machine(f"node-{number}", {**node_settings(number, CALM), **settings}, cluster_id=CLUSTER_ID)
            for number in range(1, NODES + 1)
        ]
        for machine in machines:
            machine.start()
        world.run_until(lambda: all(machine.is_serving for machine in machines))
        world.run_until(lambda: all(len(living(machine)) == NODES for machine in machines))
        world.run_for(5.0)
        yield world, machines


def living(machine: Machine) -> set[int]:
    """The brokers that are not fenced, as this one knows it."""
    assert machine.node is not None
    return {id for id, broker in machine.node.metadata.image.cluster.brokers.items() if not broker.fenced}


def leader(machines: list[Machine]) -> Machine:
    assert machines[0].node is not None
    return machines[machines[0].node.quorum.leader_id - 1]


def cut_off(world: World, machine: Machine, machines: list[Machine]) -> None:
    for other in machines:
        if other is not machine:
            world.fabric.cut(machine.host, other.host)


FAULTS: dict[str, Callable[[World, Machine, list[Machine]], None]] = {
    "paused": lambda world, machine, machines: machine.pause(),
    "cut off": cut_off,
}


@pytest.mark.parametrize("leads", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_silent_node_is_missed_before_its_session_is_over(fault: str, leads: bool) -> None:
    with three_nodes(1) as (world, machines):
        first = leader(machines)
        victim = first if leads else next(machine for machine in machines if machine is not first)
        others = [machine for machine in machines if machine is not victim]
        FAULTS[fault](world, victim, machines)
        began = world.clock.monotonic()
        world.run_until(lambda: all(len(living(machine)) == NODES - 1 for machine in others), 60.0)
        assert world.clock.monotonic() - began < 6.0


def test_a_node_that_stands_still_for_a_moment_is_left_alone() -> None:
    with three_nodes(2) as (world, machines):
        victim = next(machine for machine in machines if machine is not leader(machines))
        for _ in range(5):
            victim.pause()
            world.run_for(2.5)
            victim.go_on()
            world.run_for(1.0)
            assert all(len(living(machine)) == NODES for machine in machines)
