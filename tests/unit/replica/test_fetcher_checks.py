"""What a fetcher makes of answers it did not want, and of answers that come when it has moved on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from replication_kit import Broker, Cluster

from moldau.deferred import Deferred, failed, ready
from moldau.errors import ErrorCode, MoldauError
from moldau.protocol.messages.fetch import FetchResponse
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from moldau.replica.source_fetch import SourceFetch


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Broker 2 follows broker 1, and has the one record there is."""
    cluster = Cluster(2, min_insync_replicas="1")
    cluster.create((1, 2))
    cluster.brokers[1].produce(b"a")
    cluster.converge()
    yield cluster
    cluster.close()


@pytest.fixture
def follower(cluster: Cluster) -> Broker:
    return cluster.brokers[2]


def parts(follower: Broker) -> Any:
    """Its fetcher, and the one partition that it follows."""
    (fetcher,) = follower.replication.fetchers._fetchers.values()
    ((key, following),) = fetcher.partitions.items()
    return fetcher, key, following


def answering(follower: Broker, answer: Callable[[Any], Deferred[Any] | None]) -> list[Any]:
    """What it asks from now on, which `answer` answers, or the leader where that says nothing."""
    asked: list[Any] = []
    real = follower.ask

    def ask(address: int, request: Any, *, timeout: float | None = None, line: str = "") -> Deferred[Any]:
        asked.append(request)
        return answer(request) or real(address, request, timeout=timeout, line=line)

    follower.ask = ask  # type: ignore[method-assign]
    return asked


# ------------------------------------------------------------------------------------------------------- one request


def test_there_is_one_request_at_a_time_whoever_wakes_the_fetcher(cluster: Cluster, follower: Broker) -> None:
    fetcher, _, _ = parts(follower)
    never: Deferred[Any] = Deferred()
    asked = answering(follower, lambda request: never)
    cluster.run_until(lambda: bool(asked))
    for _ in range(5):
        fetcher.wake()
        cluster.run(0.1)
    assert len(asked) == 1


def test_nothing_is_asked_once_it_is_closed(cluster: Cluster, follower: Broker) -> None:
    fetcher, _, _ = parts(follower)
    fetcher.close()
    asked = answering(follower, lambda request: None)
    fetcher.wake()
    fetcher._go_on()
    cluster.run(1)
    assert asked == []
    # Nor does it go on looking whether it is registered by now.
    follower.epoch = -1
    fetcher.wake()
    cluster.run(1)
    assert fetcher._timer is None


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, False),
        (ErrorCode.INVALID_FETCH_SESSION_EPOCH, False),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, True),
    ],
)
def test_a_session_that_is_gone_is_begun_anew_at_once_and_a_refusal_waits(
    cluster: Cluster, follower: Broker, caplog: pytest.LogCaptureFixture, code: ErrorCode, said: bool
) -> None:
    refusals = iter([FetchResponse(error_code=code)])

    def refuse_once(request: Any) -> Deferred[Any] | None:
        refused = next(refusals, None)
        return None if refused is None else ready(refused)

    fetcher, _, _ = parts(follower)
    asked = answering(follower, refuse_once)
    cluster.run_until(lambda: bool(asked))
    assert (fetcher._resume_at > follower.runtime.clock.monotonic()) is said
    assert [record.levelname for record in caplog.records if "refused a fetch" in record.message] == ["WARNING"] * said
    cluster.run_until(lambda: len(asked) == 2)
    assert asked[1].message().session_epoch == 0, "all is named anew"


# ----------------------------------------------------------------------------------- where the leader's log lies


def offsets_of(*partitions: ListOffsetsPartitionResponse) -> ListOffsetsResponse:
    return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="orders", partitions=list(partitions))])


@pytest.mark.parametrize(
    "answer",
    [
        ListOffsetsResponse(),
        offsets_of(),
        offsets_of(ListOffsetsPartitionResponse(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)),
        None,
    ],
    ids=["no topic", "no partition", "refused", "no answer"],
)
def test_a_leader_that_does_not_say_where_its_log_lies_is_asked_again(
    cluster: Cluster, follower: Broker, answer: ListOffsetsResponse | None
) -> None:
    fetcher, key, following = parts(follower)
    broken = True

    def vaguely(request: Any) -> Deferred[Any] | None:
        if not broken or not isinstance(request, ListOffsetsRequest):
            return None
        return failed(MoldauError("nobody is there")) if answer is None else ready(answer)

    asked = answering(follower, vaguely)
    fetcher._seek(key, following)
    assert not following.sought
    assert following.resume_at > follower.runtime.clock.monotonic()
    before = len(asked)
    broken = False
    cluster.run_until(lambda: any(isinstance(each, SourceFetch) for each in asked[before:]))
    assert follower.log.log_end_offset == 1


@pytest.mark.parametrize("why", ["forgotten", "another epoch", "another following"])
@pytest.mark.parametrize(("leader_start", "leader_end"), [(0, 0), (7, 9)])
def test_an_answer_for_a_partition_that_is_held_no_more_changes_nothing(
    cluster: Cluster,
    follower: Broker,
    caplog: pytest.LogCaptureFixture,
    why: str,
    leader_start: int,
    leader_end: int,
) -> None:
    fetcher, key, following = parts(follower)
    following.sought = True
    if why == "forgotten":
        fetcher.forget(key)
    elif why == "another epoch":
        following.leader_epoch -= 1
    else:
        fetcher.partitions[key] = type(following)(following.partition, 1 << 20)
    fetcher._sought(key, following, None, leader_end, leader_start)
    assert (follower.log.log_start_offset, follower.log.log_end_offset) == (0, 1)
    fetcher._sought(key, following, MoldauError("the line is dead"))
    assert "the line is dead" not in caplog.text, "nobody wants to know"
    assert following.resume_at == 0


def test_why_it_is_not_known_where_the_leaders_log_lies_is_said(
    follower: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    fetcher, key, following = parts(follower)
    fetcher._sought(key, following, MoldauError("the line is dead"))
    assert "the line is dead" in caplog.text
