"""A node whose disk fails or fills up while clients write: who is refused, who goes on, and what is true afterwards."""

from __future__ import annotations

import errno

import pytest

from moldau.client.admin.topics import NewTopic, create_topics
from moldau.client.producing import deliver
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.records import BatchBuilder
from moldau.simulation.client import SimulatedClient
from moldau.simulation.ledger import Ledger
from moldau.simulation.scenario import SETTINGS
from moldau.simulation.workload import Producer, read_all
from moldau.simulation.world import Machine, World
from moldau.types import TopicPartition

NODE = ("node-1", 9092)
WHERE = TopicPartition("t", 0)


def serving(world: World, **settings: str) -> Machine:
    machine = world.machine(NODE[0], {**SETTINGS, **{key.replace("_", "."): value for key, value in settings.items()}})
    machine.start()
    world.run_until(lambda: machine.is_serving)
    return machine


def client(world: World, name: str) -> SimulatedClient:
    return SimulatedClient(world.process(name), [NODE], name)


def create(world: World, name: str, partitions: int = 1, **configs: str) -> None:
    settings = {key.replace("_", "."): value for key, value in configs.items()}
    (created,) = client(world, f"creator of {name}").run(create_topics([NewTopic(name, partitions, 1, settings)]))
    assert created.error is None, created


def outcome_of_write(world: World, where: TopicPartition = WHERE) -> int | KafkaError:
    """What one batch comes to when it may not be repeated for long."""
    builder = BatchBuilder(1 << 20)
    builder.append(1, None, b"v" * 6000, ())
    batch = builder.build()
    return client(world, "writer").run(deliver({where: batch}), seconds=2.0)[where]


def check(world: World, ledger: Ledger) -> None:
    world.run_for(1.0)  # what was recovered is forced to disk before readers see it
    for where, (_, found) in client(world, "reader").run(read_all(list(ledger.partitions))).items():
        ledger.partition(where).check(found)


@pytest.mark.parametrize("seed", range(6))
def test_a_full_disk_refuses_writes_serves_reads_and_recovers(seed: int):
    with World(seed) as world:
        machine = serving(world)
        create(world, "t", flush_messages="1", internal_segment_bytes="20000")
        ledger = Ledger()
        producer = Producer("p", [WHERE], ledger, world.chance.fork("p"), largest=3000)
        done = client(world, "p").start(producer.run(60), 3600.0)
        world.run_for(0.01)
        machine.disk.capacity = 1 << 30
        machine.disk.capacity = machine.disk.used + world.chance.between(0, 12) * 4096
        world.run_for(120.0)
        assert not done.settled
        refusal = outcome_of_write(world)
        assert isinstance(refusal, KafkaError)
        assert refusal.code is ErrorCode.KAFKA_STORAGE_ERROR
        check(world, ledger)
        machine.disk.capacity = 1 << 30
        world.run_until(lambda: done.settled)
        done.then(lambda _, error: pytest.fail(str(error)) if error else None)
        check(world, ledger)
        machine.lose_power()
        machine.start()
        world.run_until(lambda: machine.is_serving)
        check(world, ledger)


@pytest.mark.parametrize("seed", range(6))
def test_a_full_disk_refuses_topics_and_the_node_goes_on(seed: int):
    with World(seed) as world:
        machine = serving(world)
        create(world, "t")
        machine.disk.capacity = 1 << 30
        machine.disk.capacity = machine.disk.used + 4096 * world.chance.below(3)
        admin = client(world, "admin")
        created: list[str] = []
        for number in range(20):
            outcome = admin.start(create_topics([NewTopic(f"new-{number}", 3, 1)]), 2.0)
            world.run_until(lambda outcome=outcome: outcome.settled)
            outcome.then(lambda made, _: created.extend(one.name for one in made or () if one.error is None))
        machine.disk.capacity = 1 << 30
        world.run_for(10.0)
        assert created
        for name in created:
            assert isinstance(outcome_of_write(world, TopicPartition(name, 2)), int), name
        create(world, "after")
        assert isinstance(outcome_of_write(world, TopicPartition("after", 0)), int)
        assert isinstance(outcome_of_write(world), int)


@pytest.mark.parametrize("operation", ["write", "sync"])
def test_a_directory_that_fails_goes_offline_and_the_others_serve(operation: str):
    with World(operation) as world:
        machine = serving(world, log_dirs="/data,/more")
        for name in ("one", "two"):
            create(world, name, flush_messages="1")
        assert machine.node is not None
        homes = {where.topic: log.directory.parent for where, log in machine.node.logs.logs.items()}
        assert set(homes.values()) == {"/data", "/more"}
        broken, healthy = sorted(homes, key=lambda name: homes[name] == "/data")
        machine.disk.fail(errno.EIO, operation, path="/more")
        refusal = outcome_of_write(world, TopicPartition(broken, 0))
        assert isinstance(refusal, KafkaError)
        assert refusal.code is ErrorCode.KAFKA_STORAGE_ERROR
        assert isinstance(outcome_of_write(world, TopicPartition(healthy, 0)), int)
        assert machine.is_serving


def test_a_partition_of_a_failed_directory_is_not_begun_anew_elsewhere():
    """An empty log in the healthy directory would hide the records, and take their offsets."""
    with World(1) as world:
        machine = serving(world, log_dirs="/data,/more")
        for name in ("one", "two"):
            create(world, name, flush_messages="1")
        assert machine.node is not None
        away = next(where for where, log in machine.node.logs.logs.items() if log.directory.parent == "/more")
        assert outcome_of_write(world, away) == 0
        machine.kill()
        machine.disk.fail(errno.EIO, "open", "read", path="/more")
        machine.start()
        world.run_until(lambda: machine.is_serving)
        refusal = outcome_of_write(world, away)
        assert isinstance(refusal, KafkaError)
        assert refusal.code is ErrorCode.KAFKA_STORAGE_ERROR
        create(world, "three")
        assert outcome_of_write(world, TopicPartition("three", 0)) == 0
        machine.disk.heal()
        machine.kill()
        machine.start()
        world.run_until(lambda: machine.is_serving)
        assert outcome_of_write(world, away) == 1


def test_all_directories_gone_end_the_node_with_a_sentence():
    with World(1) as world:
        machine = serving(world)
        create(world, "t", flush_messages="1")
        node = machine.node
        assert node is not None
        machine.expects_failure = True
        machine.disk.fail(errno.EIO, "write", "sync", path="/data/t-0")
        outcome_of_write(world)
        world.run_until(lambda: not machine.is_running)
        assert node.failure is not None
        assert "/data" in str(node.failure)


@pytest.mark.parametrize("seed", range(12))
def test_errors_at_any_operation_lose_nothing_acknowledged(seed: int):
    """One operation on the partition fails, whichever it is; the node goes on or ends, and what counts is there."""
    with World(seed) as world:
        machine = serving(world)
        machine.expects_failure = True
        create(world, "t", flush_messages="1", internal_segment_bytes="2500")
        operations = ("write", "sync", "create", "truncate", "resize", "rename")
        machine.disk.fail(errno.EIO, *operations, path="/data/t-0", times=1, skip=world.chance.below(150))
        ledger = Ledger()
        producer = Producer("p", [WHERE], ledger, world.chance.fork("p"))
        done = client(world, "p").start(producer.run(60), 3600.0)
        world.run_until(lambda: done.settled or not machine.is_running)
        machine.disk.heal()
        machine.lose_power()
        machine.start()
        world.run_until(lambda: machine.is_serving and done.settled)
        done.then(lambda _, error: pytest.fail(str(error)) if error else None)
        check(world, ledger)
