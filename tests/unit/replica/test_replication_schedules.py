"""Replication under whatever comes: crashes, cuts, elections, lost disks and late metadata, in an order only the seed
knows, while producers write. `MOLDAU_SEED=n` repeats one.

What must hold: no acknowledged record is lost or written twice by a producer that repeats; no high watermark goes back
for a reader of one replica; what two logs have below both their high watermarks is the same; each epoch has one leader
that acknowledges; and when the faults are over, all replicas have the same bytes.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from replication_kit import Cluster, Outcome

from moldau.errors import ErrorCode
from moldau.protocol.records import decode_batch
from moldau.simulation.chance import SeededRandom

SEEDS = [int(os.environ["MOLDAU_SEED"])] if "MOLDAU_SEED" in os.environ else range(12)
STEPS = 60


class Producer:
    """Idempotent: sends one batch at a time, and the same again until it is told that it counts."""

    def __init__(self, cluster: Cluster, producer_id: int) -> None:
        self.cluster = cluster
        self.id = producer_id
        self.sequence = 0
        self.waiting: Outcome | None = None
        self.acknowledged: list[bytes] = []

    @property
    def value(self) -> bytes:
        return b"%d:%d" % (self.id, self.sequence)

    def step(self, broker_id: int) -> None:
        if self.waiting is not None:
            if self.waiting.error is None and self.broker.alive:
                return
            if self.waiting.acknowledged:
                self.acknowledged.append(self.value)
                self.sequence += 1
        self.broker = self.cluster.brokers[broker_id]
        self.waiting = None
        if self.broker.alive:
            self.waiting = self.broker.produce(
                self.value, producer_id=self.id, producer_epoch=0, base_sequence=self.sequence, timeout_ms=1500
            )


class Watch:
    """Looks at every replica after each step."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.seen: dict[tuple[int, int], int] = {}
        self.committed: dict[int, bytes] = {}

    def look(self) -> None:
        for broker in self.cluster.brokers.values():
            if not broker.alive or broker.partition is None:
                continue
            log = broker.log
            key = broker.id, broker.life
            assert log.high_watermark >= self.seen.get(key, 0), "the high watermark went back"
            self.seen[key] = log.high_watermark
            assert log.producers.end_offset == log.log_end_offset
            for offset, value in values(broker.contents()):
                if offset < log.high_watermark:
                    assert self.committed.setdefault(offset, value) == value, f"offset {offset} has two records"


def values(data: bytes) -> list[tuple[int, bytes]]:
    return [(record.offset, bytes(record.value or b"")) for record in decode_batch(data)]


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_acknowledged_is_lost_whatever_happens(seed: int) -> None:
    cluster = Cluster(3, seed)
    cluster.create((1, 2, 3), min_insync_replicas="2", internal_segment_bytes="700")
    chance = SeededRandom(f"{seed}/story")
    producers = [Producer(cluster, 100 + number) for number in range(2)]
    watch = Watch(cluster)
    for _ in range(STEPS):
        fault(cluster, chance)
        for _ in range(6):
            for producer in producers:
                producer.step(chance.choice((cluster.state.leader if cluster.state.leader > 0 else 1, 1, 2, 3)))
            cluster.run(chance.between(1, 120) / 1000)
            watch.look()
    mend(cluster)
    for producer in producers:
        for _ in range(3):
            cluster.run(2)
            producer.step(cluster.state.leader)
    cluster.converge()
    watch.look()
    check_records(cluster, producers)
    cluster.close()


def fault(cluster: Cluster, chance: SeededRandom) -> None:
    """At most one broker is down or cut off at a time, so that two are left."""
    alive = [broker.id for broker in cluster.brokers.values() if broker.alive]
    fenced = {broker.id for broker in cluster.image.cluster.brokers.values() if broker.fenced}
    what = chance.below(10)
    victim = chance.choice((1, 2, 3))
    if fenced or len(alive) < 3 or cluster.cuts:
        if chance.happens(0.4):
            mend(cluster)
        elif what < 3:
            elect(cluster, chance)
    elif what == 0:
        cluster.crash(victim)
    elif what == 1:
        cluster.brokers[victim].die()  # and nobody notices yet
        cluster.start(victim)
    elif what == 2:
        cluster.cut(victim)
        cluster.hold(victim)
        if chance.happens(0.7):
            cluster.fence(victim)
    elif what == 3:
        other = chance.choice([one for one in (0, 1, 2, 3) if one != victim])
        cluster.cuts.add((victim, other))
    elif what == 4 and victim not in cluster.state.isr:
        cluster.start(victim, emptied=True)
    elif what == 5:
        cluster.hold(victim)
    elif what < 9:
        elect(cluster, chance)


def elect(cluster: Cluster, chance: SeededRandom) -> None:
    brokers = cluster.image.cluster.brokers
    able = [one for one in cluster.state.isr if not brokers[one].fenced and cluster.brokers[one].alive]
    if able:
        cluster.elect(chance.choice(able))


def mend(cluster: Cluster) -> None:
    cluster.heal()
    for broker_id in (1, 2, 3):
        if not cluster.brokers[broker_id].alive:
            cluster.start(broker_id)
        cluster.release(broker_id)
        if cluster.image.cluster.brokers[broker_id].fenced:
            cluster.unfence(broker_id)


def check_records(cluster: Cluster, producers: list[Producer]) -> None:
    stored = [value for _, value in values(cluster.leader.contents())]
    assert len(stored) == len(set(stored)), "a record was written twice"
    progress = 0
    for producer in producers:
        mine = [value for value in stored if value.startswith(b"%d:" % producer.id)]
        assert [value for value in mine if value in producer.acknowledged] == producer.acknowledged
        progress += len(producer.acknowledged)
        if producer.waiting is not None and not producer.waiting.acknowledged:
            assert producer.waiting.error in (None, *RETRIABLE), ErrorCode(producer.waiting.error)  # type: ignore[call-arg]
    assert progress > 10, "hardly anything was written"


RETRIABLE: tuple[Any, ...] = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
)
