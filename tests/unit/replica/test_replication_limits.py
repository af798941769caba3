"""In-sync sets, minimums, throttles and the nearest replica, between brokers that talk to each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from replication_kit import TOPIC, Cluster
from test_replication import follower_fetch, told

from moldau.errors import ErrorCode
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from moldau.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

RACKS = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}


@pytest.fixture
def make() -> Iterator[Any]:
    made: list[Cluster] = []

    def cluster(*args: Any, **settings: Any) -> Cluster:
        made.append(Cluster(*args, **settings))
        return made[-1]

    yield cluster
    for each in made:
        each.close()


# ------------------------------------------------------------------------------------------------------- in-sync sets


def test_a_follower_that_is_away_leaves_the_set_and_comes_back(make: Any) -> None:
    cluster = make()
    cluster.create((1, 2, 3))
    cluster.run(1)
    cluster.cut(3)
    waiting = cluster.brokers[1].produce(b"x", timeout_ms=60_000)
    cluster.run(1)
    assert waiting.error is None, "3 counts until the controller has said otherwise"
    cluster.run(4)
    assert waiting.acknowledged
    assert cluster.state.isr == (1, 2)
    assert cluster.brokers[1].partition.is_under_replicated
    assert cluster.brokers[1].partition.isr_margin >= 0
    cluster.heal()
    cluster.converge()
    cluster.run(0.1)
    assert not cluster.brokers[1].partition.is_under_replicated
    counted = cluster.brokers[1].replication.isr
    assert (counted.shrinks, counted.expansions) == (1, 1)


def test_a_look_for_followers_that_fails_is_not_the_last_one(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = make()
    cluster.create((1, 2, 3))
    cluster.run(1)

    def broken() -> None:
        raise ZeroDivisionError

    replication = cluster.brokers[1].replication
    replication._timer.cancel()  # as if it were due now
    with monkeypatch.context() as patch:
        patch.setattr(replication, "_shrink_all", broken)
        with pytest.raises(ZeroDivisionError):
            replication._look()
    cluster.cut(3)
    cluster.brokers[1].produce(b"x", timeout_ms=60_000)
    cluster.run(5)
    assert cluster.state.isr == (1, 2)


def test_a_leader_without_a_controller_commits_nothing_its_followers_lack(make: Any) -> None:
    """It may propose what it likes: until somebody agrees, the set is as it was."""
    cluster = make()
    cluster.create((1, 2, 3))
    cluster.run(1)
    cluster.cuts |= {(1, 0), (0, 1), (3, 1), (1, 3)}
    waiting = cluster.brokers[1].produce(b"x", timeout_ms=60_000)
    cluster.run(20)
    assert waiting.error is None
    assert cluster.brokers[1].log.high_watermark == 0
    cluster.heal()
    cluster.run(1)
    assert waiting.acknowledged
    cluster.converge()


def test_a_restarted_follower_is_not_counted_by_an_old_fetch(make: Any) -> None:
    """Its fetch was on its way when it died; its disk is gone, and nobody may believe that it has the records."""
    cluster = make(2, min_insync_replicas="1")
    cluster.create((1, 2), isr=(1,))
    cluster.cut(2)
    cluster.brokers[1].produce(b"a")
    cluster.brokers[1].produce(b"b")
    old = cluster.epoch(2)
    cluster.start(2, emptied=True)
    answer = told(cluster, follower_fetch(cluster, 2, 2, broker_epoch=old), 1)
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    cluster.run(1)
    assert cluster.alterations == []
    assert cluster.state.isr == (1,)
    cluster.heal()
    cluster.converge()


def test_the_controller_refuses_a_life_the_leader_did_not_know_to_be_over(make: Any) -> None:
    """The leader's metadata is behind: to it the old fetch looks good. The controller knows better."""
    cluster = make(2, min_insync_replicas="1")
    cluster.create((1, 2), isr=(1,))
    cluster.cut(2)
    cluster.hold(1)
    cluster.brokers[1].produce(b"a")
    old = cluster.epoch(2)
    cluster.start(2, emptied=True)
    answer = told(cluster, follower_fetch(cluster, 2, 1, broker_epoch=old), 1)
    assert answer.error_code == 0
    cluster.run(1)
    assert len(cluster.alterations) == 1
    assert cluster.state.isr == (1,)
    assert cluster.brokers[1].partition.proposal is None
    cluster.heal()
    cluster.release(1)
    cluster.converge()


def test_too_few_in_sync_are_refused_before_and_after(make: Any) -> None:
    cluster = make()
    cluster.create((1, 2, 3), min_insync_replicas="3")
    cluster.run(1)
    cluster.cut(3)
    waiting = cluster.brokers[1].produce(b"x", timeout_ms=60_000)
    cluster.run(6)
    assert waiting.error == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert cluster.brokers[1].log.high_watermark == 0, "what is not committed is not shown either"
    end = cluster.brokers[1].log.log_end_offset
    late = cluster.brokers[1].produce(b"y")
    assert late.error == ErrorCode.NOT_ENOUGH_REPLICAS
    assert cluster.brokers[1].log.log_end_offset == end
    assert cluster.brokers[1].partition.isr_margin < 0
    cluster.heal()
    cluster.converge()
    assert cluster.brokers[1].log.high_watermark == end


def test_a_producer_waits_no_longer_than_it_wanted(make: Any) -> None:
    cluster = make(2)
    cluster.create((1, 2))
    cluster.cut(2)
    waiting = cluster.brokers[1].produce(b"x", timeout_ms=300)
    cluster.run(1)
    assert waiting.error == ErrorCode.REQUEST_TIMED_OUT


# ----------------------------------------------------------------------------------------------------------- throttles


def seconds_to_catch_up(cluster: Cluster, size: int) -> float:
    cluster.create((1, 2), isr=(1,), **cluster.throttled)  # type: ignore[attr-defined]
    cluster.cut(2)
    for _ in range(size // 10_000):
        cluster.brokers[1].produce(b"x" * 10_000, acks=1)
    cluster.heal()
    begin = cluster.schedule.clock.now_us
    cluster.converge()
    return (cluster.schedule.clock.now_us - begin) / 1_000_000


@pytest.mark.parametrize("side", ["leader", "follower"])
@pytest.mark.parametrize("named", ["*", "0:1,0:2"])
def test_who_catches_up_is_throttled_on_either_side(make: Any, side: str, named: str) -> None:
    slow = make(
        2,
        min_insync_replicas="1",
        **{f"{side}_replication_throttled_rate": "100000", "replica_fetch_max_bytes": "21000"},
    )
    slow.throttled = {f"{side}_replication_throttled_replicas": named}
    assert 3 < seconds_to_catch_up(slow, 500_000) < 8
    other = make(2, min_insync_replicas="1", **{f"{side}_replication_throttled_rate": "100000"})
    other.throttled = {f"{side}_replication_throttled_replicas": "1:1,0:9"}
    assert seconds_to_catch_up(other, 500_000) < 2


def test_who_catches_up_knows_how_far_it_is_behind(make: Any) -> None:
    rate = {"follower_replication_throttled_rate": "1000", "replica_fetch_max_bytes": "21000"}
    cluster = make(2, min_insync_replicas="1", **rate)
    cluster.create((1, 2), isr=(1,), follower_replication_throttled_replicas="*")
    cluster.cut(2)
    for _ in range(5):
        cluster.brokers[1].produce(b"x" * 10_000, acks=1)
    cluster.heal()
    local = cluster.brokers[2].partition.log.local
    cluster.run_until(lambda: local.leaders_high_watermark == 5)
    assert local.log_end_offset < 5
    assert local.high_watermark == local.log_end_offset


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_who_is_in_sync_is_not_throttled(make: Any, side: str) -> None:
    cluster = make(2, **{f"{side}_replication_throttled_rate": "1000"})
    cluster.create((1, 2), **{f"{side}_replication_throttled_replicas": "*"})
    cluster.run(1)
    begin = cluster.schedule.clock.now_us
    for _ in range(20):
        outcome = cluster.brokers[1].produce(b"x" * 1000)
        cluster.run_until(lambda outcome=outcome: outcome.acknowledged)
    assert cluster.schedule.clock.now_us - begin < 2_000_000


def test_what_others_have_used_up_does_not_hold_back_who_is_in_sync(make: Any) -> None:
    cluster = make(2, leader_replication_throttled_rate="1000")
    cluster.create((1, 2), isr=(1, 2), leader_replication_throttled_replicas="*")
    cluster.run(1)
    throttle, partition = cluster.brokers[1].replication.leader_throttle, cluster.brokers[1].partition
    assert not throttle.holds_back(partition, 3)
    throttle.sent(partition, 3, 100_000)
    assert throttle.holds_back(partition, 3)
    assert not throttle.holds_back(partition, 2)


# ---------------------------------------------------------------------------------------------------- nearest replica


def read(cluster: Cluster, offset: int, rack: str = "", leader_epoch: int = -1, wait: int = 0) -> FetchRequest:
    partition = FetchPartition(
        partition=0, fetch_offset=offset, current_leader_epoch=leader_epoch, partition_max_bytes=1 << 20
    )
    topic = FetchTopic(topic=TOPIC, topic_id=cluster.topic.id, partitions=[partition])
    return FetchRequest(max_wait_ms=wait, min_bytes=1, max_bytes=1 << 20, topics=[topic], rack_id=rack)


def test_a_reader_is_sent_to_the_replica_in_its_rack(make: Any) -> None:
    cluster = make(3, **RACKS)
    cluster.create((1, 2, 3))
    cluster.brokers[1].produce(b"x")
    cluster.converge()
    for rack, preferred, has_records in (("r2", 2, False), ("r1", -1, True), ("", -1, True), ("r9", -1, True)):
        answer = told(cluster, read(cluster, 0, rack, wait=10_000), 1)
        assert (answer.preferred_read_replica, bool(answer.records)) == (preferred, has_records), rack
        assert answer.high_watermark == 1
    # Not to one that is out of sync, or has not come so far.
    cluster.cut(2)
    cluster.brokers[1].produce(b"y")
    cluster.run(6)
    assert cluster.state.isr == (1, 3)
    assert told(cluster, read(cluster, 0, "r2"), 1).preferred_read_replica == -1
    assert told(cluster, read(cluster, 2, "r3"), 1).preferred_read_replica == 3
    assert told(cluster, read(cluster, 2, "r3", leader_epoch=7), 1).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_without_a_selector_readers_stay_with_the_leader(make: Any) -> None:
    cluster = make(2)
    cluster.create((1, 2))
    cluster.brokers[1].produce(b"x")
    cluster.converge()
    assert told(cluster, read(cluster, 0, "r2"), 1).preferred_read_replica == -1


def test_a_follower_serves_readers_up_to_its_high_watermark(make: Any) -> None:
    cluster = make(2)
    cluster.create((1, 2))
    cluster.brokers[1].produce(b"x")
    cluster.converge()
    answer = told(cluster, read(cluster, 0), 2)
    assert (answer.error_code, answer.high_watermark, bool(answer.records)) == (0, 1, True)
    # Readers that do not know of this are sent away.
    assert told(cluster, read(cluster, 0), 2, version=10).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    # So are those who believe in another epoch.
    assert told(cluster, read(cluster, 0, leader_epoch=3), 2).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    # What is not committed is not shown.
    cluster.cuts.add((2, 1))
    cluster.brokers[1].produce(b"y", acks=1)
    cluster.run(0.1)
    follower = cluster.brokers[2].log
    assert told(cluster, read(cluster, follower.high_watermark), 2).records in (b"", None)
    assert told(cluster, read(cluster, 9), 2).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_reader_that_waits_at_a_follower_is_woken(make: Any) -> None:
    cluster = make(2)
    cluster.create((1, 2))
    cluster.run(1)
    answers: list[Any] = []
    request = FetchRequest.decode(read(cluster, 0, wait=60_000).encode(17), 17)
    cluster.brokers[2].serve(request, 17).then(lambda answer, error: answers.append(answer))
    cluster.run(1)
    assert answers == []
    cluster.brokers[1].produce(b"x")
    cluster.run_until(lambda: bool(answers), 2)
    assert answers[0].responses[0].partitions[0].records


def test_a_follower_is_not_asked_for_offsets_but_by_who_looks_for_faults(make: Any) -> None:
    cluster = make(2)
    cluster.create((1, 2))
    cluster.brokers[1].produce(b"x")
    cluster.converge()
    assert listed(cluster, 2, -1).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (listed(cluster, 2, -1, replica_id=-2).error_code, listed(cluster, 2, -1, replica_id=-2).offset) == (0, 1)


def listed(cluster: Cluster, target: int, timestamp: int, replica_id: int = -1, version: int = 10) -> Any:
    partition = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    request = ListOffsetsRequest(replica_id=replica_id, topics=[ListOffsetsTopic(name=TOPIC, partitions=[partition])])
    answers: list[Any] = []
    decoded = ListOffsetsRequest.decode(request.encode(version), version)
    cluster.brokers[target].serve(decoded, version).then(lambda answer, error: answers.append(answer or error))
    cluster.run_until(lambda: bool(answers))
    return answers[0].topics[0].partitions[0]


def test_a_new_leader_names_no_end_before_it_knows_what_is_committed(make: Any) -> None:
    cluster = make(2)
    cluster.create((1, 2))
    cluster.run(1)
    outcome = cluster.brokers[1].produce(b"x")
    cluster.run_until(lambda: outcome.acknowledged)
    cluster.cut(1)
    cluster.hold(1)
    cluster.elect(2)
    assert cluster.brokers[2].log.high_watermark == 0
    for version, code in ((10, ErrorCode.OFFSET_NOT_AVAILABLE), (4, ErrorCode.LEADER_NOT_AVAILABLE)):
        assert listed(cluster, 2, -1, version=version).error_code == code
        assert listed(cluster, 2, 0, version=version).error_code == code, "a time that is not committed yet"
        assert listed(cluster, 2, -2, version=version).error_code == 0
    assert listed(cluster, 2, -1, replica_id=1).offset == 1, "followers are told the end of the log"
    cluster.heal()
    cluster.release(1)
    cluster.converge()
    assert listed(cluster, 2, -1).offset == 1
