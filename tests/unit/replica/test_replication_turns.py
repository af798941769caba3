"""When a follower asks on: producers wait to hear how far it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from replication_kit import Cluster

from moldau import _speed, slicing
from moldau.deferred import Deferred
from moldau.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)


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


def test_nothing_is_asked_while_an_answer_is_still_being_taken(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.run_until(lambda: cluster.brokers[2].partition is not None)
    asked: list[Deferred[Any]] = []
    cluster.brokers[2].ask = lambda *_, **__: asked.append(Deferred()) or asked[-1]  # type: ignore[method-assign]
    cluster.run_until(lambda: bool(asked))
    monkeypatch.setattr(slicing, "SLICE_SECONDS", 0)
    monkeypatch.setattr(slicing, "FIRST_SLICE_SECONDS", 0)
    topic_id = cluster.brokers[2].partition.topic_id
    rows = [PartitionData(partition_index=0, high_watermark=0, log_start_offset=0, records=b"")] * 5
    answer = FetchResponse(session_id=5, responses=[FetchableTopicResponse(topic_id=topic_id, partitions=rows)])
    asked[0].resolve(answer)
    assert len(asked) == 1
    cluster.run_until(lambda: len(asked) == 2)


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


@pytest.mark.parametrize("ready", [1, 2])
def test_followers_hear_of_a_record_at_once_where_the_loop_serves_nobody_else(cluster: Cluster, ready: int) -> None:
    cluster.converge()
    leader = cluster.leader
    fetches, produces = leader.replicas.fetches, leader.replicas.produces
    cluster.run_until(lambda: any(not each.completed for each in fetches.watched.get(leader.partition, ())))
    order: list[str] = []
    check, park = fetches.check, produces.wait

    def told(*arguments: Any) -> int:
        finished = check(*arguments)
        order.extend(["told"] * finished)
        return finished

    def wait(*arguments: Any, **named: Any) -> None:
        order.append("waits")
        park(*arguments, **named)

    fetches.check, produces.wait = told, wait  # type: ignore[method-assign]
    leader.runtime.loop.load.ready = ready
    outcome = leader.produce(b"one")
    cluster.run_until(lambda: outcome.acknowledged)
    assert order == (["told", "waits"] if ready == 1 else ["waits", "told"])


@pytest.mark.skipif(not _speed.COMPILED, reason="the kernels are not compiled: producers come first there")
@pytest.mark.parametrize("readers", [1, 20])
def test_a_few_readers_are_not_kept_waiting_by_the_producer(readers: int) -> None:
    cluster = Cluster(2, compiled=True)
    topic_id = cluster.create((1, 2))
    cluster.converge()
    leader, order = cluster.leader, list[str]()
    for _ in range(readers):
        partition = FetchPartition(partition=0, fetch_offset=leader.log.log_end_offset, partition_max_bytes=1000)
        topics = [FetchTopic(topic_id=topic_id, partitions=[partition])]
        request = FetchRequest(max_wait_ms=20_000, min_bytes=1, max_bytes=1000, topics=topics)
        leader.serve(request, 18).then(lambda _answer, _error: order.append("reader"))
    check = leader.replicas.produces.check

    def answered(*arguments: Any) -> int:
        finished = check(*arguments)
        order.extend(["producer"] * finished)
        return finished

    leader.replicas.produces.check = answered  # type: ignore[method-assign]
    outcome = leader.produce(b"one")
    cluster.run_until(lambda: outcome.acknowledged and len(order) == 1 + readers)
    assert order.index("producer") == (1 if readers == 1 else 0)
    cluster.close()


@pytest.mark.skipif(not _speed.COMPILED, reason="the kernels are not compiled: the follower is dealt with first there")
def test_what_is_written_while_others_hear_of_a_follower_is_his_at_once() -> None:
    cluster = Cluster(2, compiled=True, replica_fetch_wait_max_ms="900")
    cluster.create((1, 2))
    cluster.converge()
    leader = cluster.leader
    following: list[Any] = []
    check = leader.replicas.produces.check

    def answered(*arguments: Any) -> int:
        finished = check(*arguments)
        if finished and not following:
            following.append(leader.produce(b"two"))
        return finished

    leader.replicas.produces.check = answered  # type: ignore[method-assign]
    leader.produce(b"one")
    cluster.run_until(lambda: bool(following))
    began = cluster.schedule.clock.monotonic()
    cluster.run_until(lambda: following[0].acknowledged)
    assert cluster.schedule.clock.monotonic() - began < 0.1, "without waiting for the end of his time"
    cluster.close()


@pytest.mark.skipif(not _speed.COMPILED, reason="the kernels are not compiled: every request is asked by itself there")
def test_a_leader_with_a_new_address_is_asked_there_after_an_answer_that_is_taken_once() -> None:
    cluster = Cluster(2, compiled=True)
    cluster.create((1, 2))
    cluster.converge()
    outcome = cluster.leader.produce(b"in a session from here on")
    cluster.run_until(lambda: outcome.acknowledged)
    follower = cluster.brokers[2]
    fetchers, real = follower.replication.fetchers, follower.ask
    (fetcher,) = fetchers._fetchers.values()
    asked: list[int] = []
    taken: list[int] = []
    take = fetcher._take_short

    def ask(address: int, request: Any, *, timeout: float | None = None, line: str = "") -> Deferred[Any]:
        asked.append(address)
        return real(1, request, timeout=timeout, line=line)

    def counted(answer: Any) -> None:
        taken.append(len(answer.data))
        take(answer)

    follower.ask = ask  # type: ignore[method-assign]
    fetcher._take_short = counted  # type: ignore[method-assign]
    for number in range(3):
        outcome = cluster.leader.produce(b"%d" % number)
        cluster.run_until(lambda outcome=outcome: outcome.acknowledged)  # type: ignore[misc]
    assert (asked, len(taken)) == ([], 3), "the request goes on"
    fetchers.address = lambda other: 7  # type: ignore[assignment,return-value]
    outcome = cluster.leader.produce(b"another")
    cluster.run_until(lambda: outcome.acknowledged)
    assert (asked, len(taken)) == ([7], 4)
    cluster.close()
