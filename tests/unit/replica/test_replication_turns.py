"""When a follower asks on: producers wait to hear how far it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from replication_kit import Cluster

from moldau.deferred import Deferred
from moldau.protocol.messages.fetch import FetchRequest, FetchResponse


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Two brokers, of which the second follows."""
    cluster = Cluster(2)
    cluster.create((1, 2))
    yield cluster
    cluster.close()


def test_the_next_request_leaves_when_the_answer_to_the_last_is_taken(cluster: Cluster) -> None:
    asked: list[tuple[FetchRequest, Deferred[Any]]] = []

    def ask(address: int, request: Any, *, timeout: float | None = None, line: str = "") -> Deferred[Any]:
        asked.append((request.message(), Deferred()))
        return asked[-1][1]

    cluster.brokers[2].ask = ask  # type: ignore[method-assign]
    cluster.run_until(lambda: bool(asked))
    asked[0][1].resolve(FetchResponse(session_id=5))
    # Without a turn of the loop in between.
    assert [(request.session_id, request.session_epoch) for request, _ in asked] == [(0, 0), (5, 1)]


def test_answers_leave_before_the_follower_they_waited_for_is_dealt_with(cluster: Cluster) -> None:
    cluster.converge()
    leader = cluster.leader
    outcome = leader.produce(b"one")
    order: list[str] = []
    park = leader.replicas.fetches.wait

    def wait(*arguments: Any, **named: Any) -> None:
        order.append("parked")
        park(*arguments, **named)

    leader.replicas.fetches.wait = wait  # type: ignore[method-assign]
    leader.runtime.loop.flush = lambda: order.append("sent")  # type: ignore[method-assign]
    cluster.run_until(lambda: outcome.acknowledged)
    assert order[-2:] == ["sent", "parked"]
