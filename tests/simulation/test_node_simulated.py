"""A node on the simulated runtime: the same code starts, serves, stops; and one seed is one story."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from moldau.client.admin.topics import NewTopic, create_topics
from moldau.simulation.client import SimulatedClient
from moldau.simulation.ledger import Broken, Found, Ledger, PartitionLedger
from moldau.simulation.loop import Stuck
from moldau.simulation.scenario import SETTINGS, run_durable
from moldau.simulation.workload import Producer, read_all
from moldau.simulation.world import Machine, Violation, World
from moldau.types import TopicPartition

NODE = ("node-1", 9092)


def serving(world: World, **settings: str) -> Machine:
    machine = world.machine(NODE[0], {**SETTINGS, **{key.replace("_", "."): value for key, value in settings.items()}})
    machine.start()
    world.run_until(lambda: machine.is_serving)
    return machine


def client(world: World, name: str = "client") -> SimulatedClient:
    return SimulatedClient(world.process(name), [NODE], name)


def test_a_node_starts_serves_and_stops():
    with World(1) as world:
        machine = serving(world)
        ledger = Ledger()
        reader = client(world)
        (created,) = reader.run(create_topics([NewTopic("t", 2, 1)]))
        assert created.error is None
        partitions = [TopicPartition("t", 0), TopicPartition("t", 1)]
        reader.run(Producer("p", partitions, ledger, world.chance.fork("p")).run(20))
        assert ledger.acknowledged > 20
        machine.stop()
        world.run_until(lambda: not machine.is_running)
        assert machine.disk.exists("/data/.kafka_cleanshutdown")
        machine.start()
        world.run_until(lambda: machine.is_serving)
        for where, (_, found) in client(world, "again").run(read_all(partitions)).items():
            ledger.partition(where).check(found)
            assert len(found) == len(ledger.partition(where).sent)


def test_time_passes_only_when_nobody_has_anything_to_do():
    with World(2) as world:
        machine = serving(world)
        before = world.clock.monotonic()
        world.run_for(600.0)
        assert world.clock.monotonic() == before + 600.0
        assert machine.is_serving


def test_clients_outlive_a_cut_of_the_network():
    with World(3) as world:
        serving(world)
        ledger = Ledger()
        writer = client(world)
        writer.run(create_topics([NewTopic("t", 1, 1)]))
        where = TopicPartition("t", 0)
        done = writer.start(Producer("p", [where], ledger, world.chance.fork("p")).run(50))
        world.run_for(0.002)
        assert not done.settled
        world.fabric.cut("client", NODE[0])
        world.run_for(60.0)
        assert not done.settled
        world.fabric.mend()
        world.run_until(lambda: done.settled)
        ((_, found),) = client(world, "reader").run(read_all([where])).values()
        ledger.partition(where).check(found)
        assert len(found) == len(ledger.partition(where).sent)


def test_the_metadata_directory_is_durable_before_it_is_used():
    """Its entry in the log directory must be forced to disk too, or everything in it is lost with it."""
    for seed in range(30):
        with World(seed) as world:
            machine = serving(world)
            machine.lose_power()
            assert machine.disk.exists("/data/__cluster_metadata-0/quorum-state")


def test_a_compacted_log_is_recovered_as_one():
    """Its segments do not continue each other once compaction has emptied some. In another log that would be damage,
    and all behind it dropped: so the node must know what a topic is set to before it opens its logs."""
    with World(1) as world:
        machine = serving(world, log_flush_offset_checkpoint_interval_ms="100000000")
        ledger = Ledger()
        where = TopicPartition("t", 0)
        configs = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "internal.segment.bytes": "2000"}
        writer = client(world)
        writer.run(create_topics([NewTopic("t", 1, 1, configs)]))
        writer.run(Producer("p", [where], ledger, world.chance.fork("p"), keys=2).run(30))
        world.run_for(60.0)
        assert machine.node is not None
        log = machine.node.logs.logs[where]
        assert log.segments.first.size == 0, "compaction has emptied the first segment"
        end = log.log_end_offset
        machine.kill()
        machine.start()
        world.run_until(lambda: machine.is_serving)
        assert machine.node.logs.logs[where].log_end_offset == end
        ((_, found),) = client(world, "reader").run(read_all([where])).values()
        ledger.partition(where).check_compacted(found)


def test_one_seed_is_one_story():
    """Also in another process, with other hashes and other addresses."""
    here = [str(run_durable(seed)) for seed in (11, 12)]
    assert here == [str(run_durable(seed)) for seed in (11, 12)]
    assert here[0] != here[1]
    code = "from moldau.simulation.scenario import run_durable\nfor seed in (11, 12): print(run_durable(seed))"
    elsewhere = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "4711"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert elsewhere.stdout.splitlines() == here


def test_a_world_notices_what_nobody_handles():
    with World(4) as world:
        machine = serving(world)
        assert machine.runtime is not None
        machine.runtime.loop.call_soon(lambda: 1 // 0)
        with pytest.raises(Violation, match="a callback failed"):
            world.run_for(1.0)


def test_waiting_for_what_cannot_happen_ends():
    with World(5) as world:
        serving(world)
        with pytest.raises(Stuck, match="virtual time"):
            world.run_until(lambda: False, seconds=10.0)


@pytest.mark.parametrize(
    ("found", "invariant"),
    [
        ([Found(0, b"p:0:"), Found(1, b"p:1:"), Found(2, b"nobody")], "invention"),
        ([Found(0, b"p:0:"), Found(1, b"p:1:"), Found(2, b"p:0:")], "repetition"),
        ([Found(0, b"p:1:"), Found(1, b"p:0:")], "order"),
        ([Found(0, b"p:0:")], "loss"),
        ([Found(0, b"p:0:"), Found(2, b"p:1:")], "loss"),
    ],
)
def test_the_ledger_finds(found: list[Found], invariant: str):
    account = PartitionLedger(TopicPartition("t", 0))
    account.send("p", 0, b"p:0:")
    account.send("p", 1, b"p:1:")
    account.acknowledge([b"p:0:", b"p:1:"], 0)
    account.check([Found(0, b"p:0:"), Found(1, b"p:1:")])
    with pytest.raises(Broken, match=invariant):
        account.check(found)
