"""FetchState from a replica that is nearer than the leader (KIP-392)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from scripted_partition import WHERE, ScriptedPartition, scripted_partition

from moldau import KafkaConsumer
from moldau.errors import ErrorCode

PATIENCE = 60.0


@pytest.fixture
def partition() -> Iterator[ScriptedPartition]:
    with scripted_partition(nodes=3) as partition:
        partition.append(5)
        partition.preferred = 2
        yield partition


def consumer_of(partition: ScriptedPartition, **settings: Any) -> KafkaConsumer:
    fast = {"fetch_max_wait_ms": 20, "retry_backoff_ms": 10, "reconnect_backoff_ms": 10}
    settings = {"auto_offset_reset": "earliest", "client_rack": "prague", **fast, **settings}
    consumer = KafkaConsumer(bootstrap_servers=partition.bootstrap, **settings)
    consumer.assign([WHERE])
    return consumer


def take(consumer: KafkaConsumer, count: int) -> int:
    taken = 0
    deadline = time.monotonic() + PATIENCE
    while taken < count and time.monotonic() < deadline:
        taken += sum(map(len, consumer.poll(200).values()))
    return taken


def nodes(partition: ScriptedPartition) -> list[int]:
    """Who was asked, in order, without repetitions."""
    asked = [fetch.node for fetch in partition.fetches]
    return [node for at, node in enumerate(asked) if at == 0 or asked[at - 1] != node]


def test_goes_where_the_leader_sends_it(partition: ScriptedPartition) -> None:
    with consumer_of(partition) as consumer:
        assert take(consumer, 5) == 5
        partition.append(1)
        assert take(consumer, 1) == 1
    assert nodes(partition) == [1, 2]
    assert {fetch.rack for fetch in partition.fetches} == {"prague"}


def test_without_a_rack_it_stays_with_the_leader(partition: ScriptedPartition) -> None:
    with consumer_of(partition, client_rack="") as consumer:
        assert take(consumer, 5) == 5
    assert nodes(partition) == [1]


def test_asks_the_leader_again_when_the_recommendation_is_old(partition: ScriptedPartition) -> None:
    with consumer_of(partition, metadata_max_age_ms=100) as consumer:
        assert take(consumer, 5) == 5
        partition.preferred = 3
        deadline = time.monotonic() + PATIENCE
        while 3 not in nodes(partition) and time.monotonic() < deadline:
            consumer.poll(20)
    assert nodes(partition)[:2] == [1, 2]
    assert nodes(partition)[-2:] == [1, 3]


@pytest.mark.parametrize("code", [ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.NOT_LEADER_OR_FOLLOWER])
def test_a_replica_that_refuses_is_left_for_the_leader(partition: ScriptedPartition, code: ErrorCode) -> None:
    partition.refuse_with[2] = code
    with consumer_of(partition) as consumer:
        consumer.seek(WHERE, 2)
        assert take(consumer, 3) == 3, "the refusal of a follower is no reason to begin anew"
    assert nodes(partition) == [1, 2, 1]


def test_a_replica_that_is_gone_is_left_for_the_leader(partition: ScriptedPartition) -> None:
    with consumer_of(partition) as consumer:
        assert take(consumer, 5) == 5
        partition.preferred = -1
        partition.peers[2].close()
        partition.append(3)
        assert take(consumer, 3) == 3
    assert nodes(partition) == [1, 2, 1]
