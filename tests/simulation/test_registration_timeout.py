"""How long a starting broker looks for controllers before it gives up (`initial.broker.registration.timeout.ms`)."""

from __future__ import annotations

import pytest

from moldau.config.settings.security import STANDARD_AUTHORIZER
from moldau.raft.raft_quorum import RaftQuorum
from moldau.simulation.cluster_scenario import CLUSTER_ID, node_settings
from moldau.simulation.cluster_weather import USUAL, Weather
from moldau.simulation.world import Machine, World

LIMIT = {"initial.broker.registration.timeout.ms": "60000"}
CONTROLLER = {"process.roles": "controller", "listeners": "CONTROLLER://node-1:9093"}


def machine(world: World, number: int, **settings: str) -> Machine:
    given = {**node_settings(number, Weather(USUAL, ())), **LIMIT, **settings}
    made = world.machine(f"node-{number}", given, cluster_id=CLUSTER_ID)
    made.start()
    return made


def test_a_broker_that_finds_no_leader_gives_up_and_says_why() -> None:
    with World(1) as world:
        alone = machine(world, 1)
        world.run_for(59.0)
        assert not alone.has_ended
        alone.expects_failure = True
        world.run_for(2.0)
        assert alone.has_ended
        assert alone.node is not None
        assert str(alone.node.failure) == (
            "The broker could not register within 60000 ms (initial.broker.registration.timeout.ms): "
            "no leader of the controllers is known."
        )


def test_a_broker_of_another_cluster_hears_that_it_is_one() -> None:
    with World(5) as world:
        others = [machine(world, number) for number in (1, 2)]
        world.run_until(lambda: all(other.is_serving for other in others), 60.0)
        settings = {**node_settings(9, Weather(USUAL, ())), **LIMIT, "process.roles": "broker"}
        settings["listeners"] = "PLAINTEXT://node-9:9092"
        stranger = world.machine("node-9", settings, cluster_id="AAAAAAAAAAAAAAAAAAAAAQ")
        stranger.expects_failure = True
        stranger.start()
        world.run_until(lambda: stranger.has_ended, 70.0)
        assert stranger.node is not None
        assert "is not of cluster AAAAAAAAAAAAAAAAAAAAAQ, for which this node is formatted." in str(
            stranger.node.failure
        )
        assert all(other.is_serving for other in others)


def test_a_broker_that_is_not_let_in_hears_it() -> None:
    with World(6) as world:
        guarded = {
            "authorizer.class.name": STANDARD_AUTHORIZER,
            "super.users": "User:ANONYMOUS",
        }
        others = [machine(world, number, **guarded) for number in (1, 2)]
        world.run_until(lambda: all(other.is_serving for other in others), 60.0)
        for other in others:
            assert other.node is not None
            authorization = other.node.services.authorization
            assert authorization is not None
            authorization.authorizer.super_users = frozenset()
        stranger = machine(world, 9, **{"process.roles": "broker", "listeners": "PLAINTEXT://node-9:9092"})
        stranger.expects_failure = True
        world.run_until(lambda: stranger.has_ended, 70.0)
        assert stranger.node is not None
        assert "does not let this node in (CLUSTER_AUTHORIZATION_FAILED)" in str(stranger.node.failure)


def test_one_that_finds_a_leader_in_time_stays() -> None:
    with World(2) as world:
        first = machine(world, 1)
        world.run_for(55.0)
        second = machine(world, 2)
        world.run_until(lambda: first.is_serving and second.is_serving, 60.0)
        world.run_for(60.0)
        assert first.is_serving


def test_a_controller_waits_for_the_others_however_long_it_takes() -> None:
    with World(3) as world:
        alone = machine(world, 1, **CONTROLLER)
        world.run_for(300.0)
        assert not alone.has_ended


def test_one_that_is_told_the_metadata_is_only_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RaftQuorum, "told_high_watermark", property(lambda self: 1 << 40))
    with World(4) as world:
        late = machine(world, 1)
        world.run_for(300.0)
        assert not late.has_ended
