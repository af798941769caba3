"""Three nodes under load, broken in every way we know, again and again: nothing acknowledged is lost, doubled or out of
order, what is copied in transactions is copied once, and writing goes on.

`MOLDAU_SEED=n` repeats the choices of a run (not its timing). `MOLDAU_CHAOS_BROKER=kafka` breaks three nodes of Apache
Kafka instead: whatever is found there is wrong with the harness. `MOLDAU_CHAOS_SECONDS` says how long the long form is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import pytest
from apache_cluster import KafkaCluster
from cluster_faults import Disk, Faults
from cluster_load import COPY, SOURCE, ClusterLoad, Reader, check_copy, check_source

from moldau import KafkaProducer
from moldau.client.admin.topics import NewTopic, create_topics
from moldau.client.cluster import Cluster as Client
from moldau.simulation.ledger import Broken
from moldau.testing import Cluster

NODES, PARTITIONS = 3, 4
SHORT = ("leader killed", "leader cut off", "controller killed")
SECONDS = float(os.environ.get("MOLDAU_CHAOS_SECONDS", "600"))
# What a server has if nobody says otherwise; a cluster for tests sees sooner that a node is gone.
AS_SERVERS_DO = {"broker.session.timeout.ms": "9000", "broker.heartbeat.interval.ms": "2000"}
KIND: type[Cluster] = KafkaCluster if os.environ.get("MOLDAU_CHAOS_BROKER") == "kafka" else Cluster


class Chaos:
    def __init__(self, directory: Path, settings: dict[str, str], seed: int) -> None:
        self.seed = seed
        self._directory = directory
        self.disks = {id: Disk(directory / f"node-{id}" / "data") for id in range(1, NODES + 1)}
        self.gaps: dict[str, list[float]] = {}
        self.load: ClusterLoad | None = None
        try:
            self.cluster = KIND(NODES, settings=settings, proxied=True, directory=directory)
            self._create()
            self.load = ClusterLoad(self.cluster.bootstrap_servers, directory, PARTITIONS, seed)
            self.faults = Faults(self.cluster, self.load, self.disks, PARTITIONS, seed)
            self.load.watch()
            assert self.load.wait_resumed(), "nothing is acknowledged, and nothing was done to it"
            self.faults.wait_whole()
        except BaseException:
            self.close()
            raise

    def _create(self) -> None:
        with Client(self.cluster.bootstrap_servers, timeout=60.0) as client:
            settings = {"min.insync.replicas": "2"}
            wanted = [NewTopic(name, PARTITIONS, 3, settings) for name in (SOURCE, COPY)]
            for created in client.run(create_topics(wanted)):
                assert created.error is None, created

    def bring(self, kind: str) -> float:
        gap = self.faults.kinds[kind]()
        self.gaps.setdefault(kind, []).append(gap)
        return gap

    def verify(self) -> int:
        assert self.load is not None
        return self.load.verify()

    def table(self) -> str:
        """The gaps of each kind of fault, in seconds."""
        rows = [
            f"  {kind:<18} {len(gaps):>3} times   median {median(gaps):6.2f} s   worst {max(gaps):6.2f} s"
            for kind, gaps in self.gaps.items()
        ]
        return "\n".join(["Writing stood still:", *rows])

    def copier_log(self, lines: int) -> str:
        """What its lives ended with."""
        log = self._directory / "copier.log"
        return "\n".join(log.read_text().splitlines()[-lines:]) if log.exists() else ""

    def close(self) -> None:
        if self.load is not None:
            self.load.close()
        if hasattr(self, "cluster"):
            self.cluster.close()
        for disk in self.disks.values():
            disk.close()


@contextmanager
def chaos(directory: Path, settings: dict[str, str], tell: Callable[[str], None]) -> Iterator[Chaos]:
    seed = int(os.environ.get("MOLDAU_SEED", str(time.time_ns() % 1_000_000)))
    tell(f"MOLDAU_SEED={seed}")
    made = Chaos(directory, settings, seed)
    try:
        yield made
    except BaseException as error:
        error.add_note(f"MOLDAU_SEED={seed}")
        if made.load is not None:
            error.add_note(f"The copier had {made.load.copier}.")
        error.add_note(f"The copier's log ends with:\n{made.copier_log(25)}")
        for node in made.cluster.nodes:
            error.add_note(f"The log of node {node.id} ends with:\n{node.log_tail(25)}")
        raise
    finally:
        made.close()


def test_three_faults(tmp_path: Path) -> None:
    # A Java machine may need longer than a test's two seconds for its first heartbeat.
    settings = {} if KIND is Cluster else AS_SERVERS_DO
    with chaos(tmp_path, settings, lambda _: None) as made:
        for kind in SHORT:
            made.bring(kind)
        assert made.verify() > 0
        _plant(made)


def _plant(made: Chaos) -> None:
    """Would it have been seen? A record more in the copy; then acknowledged records cut off all replicas."""
    assert made.load is not None
    made.load.close()
    servers = made.cluster.bootstrap_servers
    with KafkaProducer(bootstrap_servers=servers) as producer:
        producer.send(COPY, b"one too many", partition=0).get(60)
    source, copy = (_read(servers, topic) for topic in (SOURCE, COPY))
    with pytest.raises(Broken, match="exactly once in copy-0"):
        check_copy(source, copy)
    check_source(made.load.ledger, source)
    made.cluster.kill()
    for disk in made.disks.values():
        (segment,) = sorted(disk.data.glob(f"{SOURCE}-0/*.log"))
        os.truncate(segment, segment.stat().st_size // 2)
    made.cluster.start()
    made.faults.wait_whole()
    with pytest.raises(Broken, match="loss in source-0"):
        check_source(made.load.ledger, _read(servers, SOURCE))


def _read(servers: str, topic: str) -> dict[int, list[object]]:
    reader = Reader(servers, topic, PARTITIONS)
    try:
        return reader.read()  # type: ignore[return-value]
    finally:
        reader.close()


@pytest.mark.long
def test_every_fault_for_ten_minutes(tmp_path: Path, tell: Callable[[str], None]) -> None:
    with chaos(tmp_path, AS_SERVERS_DO, tell) as made:
        began = time.monotonic()
        rounds = 0
        while time.monotonic() - began < SECONDS:
            for kind in made.faults.kinds:
                gap = made.bring(kind)
                tell(f"{time.monotonic() - began:5.0f} s: {kind}, writing stood still for {gap:.2f} s")
                if time.monotonic() - began > SECONDS:
                    break
            rounds += 1
            records = made.verify()
            assert made.load is not None
            tell(
                f"round {rounds}: {records} records, {made.load.ledger.acknowledged} acknowledged, none lost, doubled "
                f"or out of order; all copied exactly once by {made.load.copier.lives} lives of the copier"
            )
        tell(made.table())
