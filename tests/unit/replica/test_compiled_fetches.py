"""Followers are answered the same by the compiled way and through the generated classes, byte for byte."""

from __future__ import annotations

import pytest
from replication_kit import Cluster

from moldau import _speed

pytestmark = pytest.mark.skipif(not _speed.COMPILED, reason="the kernels are not compiled: there is only one way")


def life(seed: int, compiled: bool) -> tuple[list[bytes], list[tuple[int, ...]]]:
    """A cluster that replicates, elects, loses who it may and cuts a log that had gone its own way: what followers were
    answered, and what the last leader knows of them."""
    cluster = Cluster(seed=seed, compiled=compiled)
    cluster.create((1, 2, 3), partitions=2)
    cluster.converge()
    for number in range(20):
        cluster.leader.produce(b"before-%d" % number, b"x" * (number * 1500))
        cluster.run(0.003)
    cluster.cut(1)
    # Nobody has it but the old leader.
    cluster.brokers[1].produce(b"lost", acks=1)
    cluster.elect(2, (2, 3))
    for number in range(20):
        cluster.leader.produce(b"after-%d" % number, acks=-1 if number % 2 else 1)
        cluster.run(0.002)
    cluster.heal()
    cluster.converge()
    cluster.crash(3)
    cluster.run(0.5)
    cluster.leader.produce(b"without the third")
    cluster.start(3)
    cluster.converge()
    leader = cluster.leader
    known = [
        (follower.broker_id, follower.broker_epoch, follower.end_offset, follower.log_start_offset)
        for follower in leader.partition.followers.values()
    ]
    known += [(session.id, session.privileged) for session in leader.services.fetch_sessions._sessions.values()]
    cluster.close()
    assert cluster.went_on > 50 if compiled else cluster.went_on == 0
    return cluster.answers, known


@pytest.mark.parametrize("seed", range(3))
def test_followers_are_answered_the_same_by_both_ways(seed: int) -> None:
    compiled, generated = life(seed, compiled=True), life(seed, compiled=False)
    assert len(generated[0]) > 50
    assert len(generated[1]) > 2
    assert compiled == generated
