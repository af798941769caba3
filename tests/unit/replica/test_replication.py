"""Replicas that follow their leader: what is acknowledged, what is cut off, and what comes back after a loss."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from replication_kit import PLACE, TOPIC, Cluster

from moldau.deferred import Deferred, failed
from moldau.errors import ErrorCode, MoldauError
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData, ReplicaState
from moldau.protocol.records import Record, encode_batch
from moldau.replica.following import Following
from moldau.slicing import Work, run_whole
from moldau.storage.storage_error import StorageError


@pytest.fixture
def make() -> Iterator[Any]:
    made: list[Cluster] = []

    def cluster(*args: Any, **settings: Any) -> Cluster:
        made.append(Cluster(*args, **settings))
        return made[-1]

    yield cluster
    for each in made:
        each.close()


def told(cluster: Cluster, request: FetchRequest, target: int, version: int = 17) -> Any:
    """What a broker answers to a fetch, at once."""
    answers: list[Any] = []
    request = FetchRequest.decode(request.encode(version), version)
    cluster.brokers[target].serve(request, version).then(lambda answer, error: answers.append(answer or error))
    cluster.run_until(lambda: bool(answers))
    return answers[0].responses[0].partitions[0]


def follower_fetch(cluster: Cluster, follower: int, offset: int, **fields: int) -> FetchRequest:
    epoch = fields.pop("broker_epoch", cluster.epoch(follower))
    partition = FetchPartition(
        partition=0,
        fetch_offset=offset,
        current_leader_epoch=fields.pop("leader_epoch", cluster.state.leader_epoch),
        log_start_offset=0,
        partition_max_bytes=1 << 20,
        **fields,
    )
    return FetchRequest(
        replica_state=ReplicaState(replica_id=follower, replica_epoch=epoch),
        topics=[FetchTopic(topic_id=cluster.topic.id, partitions=[partition])],
    )


# ------------------------------------------------------------------------------------------------------- in one line


def test_a_record_is_acknowledged_when_all_in_sync_have_it(make: Any) -> None:
    cluster = make()
    cluster.create((1, 2, 3))
    outcome = cluster.brokers[1].produce(b"one")
    assert outcome.error is None
    cluster.run_until(lambda: outcome.error is not None)
    assert (outcome.acknowledged, outcome.offset) == (True, 0)
    assert all(broker.log.log_end_offset == 1 for broker in cluster.brokers.values())
    cluster.converge()


def test_a_waiting_follower_is_woken_by_the_append(make: Any) -> None:
    """The whole way takes three short trips, and not the time a fetch may wait."""
    cluster = make(2)
    cluster.create((1, 2))
    cluster.run(1.05)
    begin = cluster.schedule.clock.now_us
    outcome = cluster.brokers[1].produce(b"one")
    cluster.run_until(lambda: outcome.acknowledged)
    assert cluster.schedule.clock.now_us - begin < 20_000


def test_acks_of_the_leader_alone_do_not_wait(make: Any) -> None:
    cluster = make(2)
    cluster.create((1, 2))
    cluster.cut(2)
    assert cluster.brokers[1].produce(b"one", acks=1).acknowledged
    assert cluster.brokers[1].log.high_watermark == 0


def test_much_is_taken_over_in_portions_and_byte_for_byte(make: Any) -> None:
    cluster = make(2)
    cluster.create((1, 2), internal_segment_bytes="60000")
    for number in range(120):
        cluster.brokers[1].produce(*(b"%d" % number * 300 for _ in range(3)), acks=1)
    cluster.converge()
    assert len(list(cluster.brokers[2].log.segments)) > 1


def test_producers_are_known_on_every_replica(make: Any) -> None:
    cluster = make(2)
    cluster.create((1, 2))
    for sequence in range(3):
        cluster.brokers[1].produce(b"x", producer_id=7, producer_epoch=0, base_sequence=sequence)
    cluster.converge()
    assert cluster.brokers[2].log.producers.entries[7].last_sequence == 2
    cluster.elect(2)
    cluster.run(0.5)
    again = cluster.brokers[2].produce(b"x", producer_id=7, producer_epoch=0, base_sequence=2)
    cluster.run(1)
    assert (again.acknowledged, again.offset) == (True, 2), "a repeated batch is known by the new leader"
    cluster.converge()


def test_a_session_names_partitions_once(make: Any) -> None:
    cluster = make(2)
    cluster.create((1, 2))
    cluster.run(2)
    sessions = cluster.brokers[1].services.fetch_sessions
    assert (len(sessions), sessions.partition_count) == (1, 1)
    cluster.delete()
    cluster.run(1)
    cluster.create((1, 2))
    cluster.brokers[1].produce(b"x")
    cluster.converge()


def test_a_lost_session_is_begun_anew(make: Any) -> None:
    cluster = make(2)
    cluster.create((1, 2))
    cluster.run(1)
    sessions = cluster.brokers[1].services.fetch_sessions
    for session in list(sessions._sessions.values()):
        sessions._remove(session)
    outcome = cluster.brokers[1].produce(b"x")
    cluster.run(1)
    assert outcome.acknowledged
    assert len(sessions) == 1


# -------------------------------------------------------------------------------------------------------- truncation


def test_what_only_the_old_leader_had_is_cut_off(make: Any) -> None:
    cluster = make()
    cluster.create((1, 2, 3))
    cluster.brokers[1].produce(b"kept")
    cluster.run(1)
    cluster.cut(1)
    lost = cluster.brokers[1].produce(b"never", b"acknowledged", timeout_ms=60_000)
    cluster.hold(1)
    cluster.fence(1)
    new = cluster.brokers[2].produce(b"instead")
    cluster.run(3)
    assert new.acknowledged
    cluster.heal()
    cluster.release(1)
    cluster.unfence(1)
    cluster.converge()
    assert lost.error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert cluster.brokers[1].log.log_end_offset == 2


def test_a_log_is_not_cut_to_its_high_watermark(make: Any) -> None:
    """The high watermark of a follower is behind what was acknowledged: the leader may die before it is told."""
    cluster = make(2)
    cluster.create((1, 2))
    cluster.run(1)
    outcome = cluster.brokers[1].produce(b"precious")
    cluster.run_until(lambda: outcome.acknowledged)
    assert cluster.brokers[2].log.high_watermark == 0, "it was not told yet"
    # The follower restarts at this very moment, and follows again; then the leader is lost for good.
    cluster.cuts |= {(1, 2), (2, 1)}
    cluster.start(2)
    cluster.run_until(lambda: cluster.brokers[2].partition is not None and len(cluster.brokers[2].replication.fetchers))
    cluster.run(0.5)
    assert cluster.brokers[2].log.log_end_offset == 1
    cluster.crash(1)
    cluster.elect(2, (2,))
    cluster.run(1)
    assert cluster.brokers[2].log.log_end_offset == 1
    assert b"precious" in cluster.brokers[2].contents()


def test_logs_that_parted_twice_meet_again(make: Any) -> None:
    """The follower knows epochs the leader has never heard of: it takes more than one question."""
    cluster = make(3, min_insync_replicas="1")
    cluster.create((1, 2, 3))
    cluster.brokers[1].produce(b"common")
    cluster.run(1)
    # 3 leads alone, twice, and what it writes is known to nobody.
    for _ in range(2):
        cluster.cut(1, 2)
        cluster.elect(3, (3,))
        cluster.brokers[3].produce(b"lonely", acks=1)
        cluster.run(0.3)
    cluster.brokers[3].die()
    cluster.heal()
    for leader in (1, 2, 1):
        cluster.elect(leader, (1, 2))
        cluster.run(1)
        cluster.brokers[leader].produce(b"together")
        cluster.run(1)
    cluster.start(3)
    cluster.converge()
    assert b"lonely" not in cluster.brokers[3].contents()


def test_an_epoch_that_began_without_records_is_forgotten(make: Any) -> None:
    cluster = make(2)
    cluster.create((1, 2))
    cluster.brokers[1].produce(b"x")
    cluster.run(1)
    cluster.cut(1, 2)
    cluster.elect(2, (1, 2))
    cluster.run(0.1)
    cluster.elect(1)
    cluster.heal()
    cluster.brokers[1].produce(b"y")
    cluster.converge()


def test_producers_and_the_end_agree_after_a_cut(make: Any) -> None:
    """What a producer wrote to the old leader alone is forgotten with it: it may send the same again."""
    cluster = make(2, min_insync_replicas="1")
    cluster.create((1, 2))
    cluster.brokers[1].produce(b"a", producer_id=7, producer_epoch=0, base_sequence=0)
    cluster.run(1)
    cluster.cut(1)
    cluster.hold(1)
    for sequence in (1, 2):
        cluster.brokers[1].produce(b"b", producer_id=7, producer_epoch=0, base_sequence=sequence, acks=1)
    cluster.elect(2, (2,))
    retried = cluster.brokers[2].produce(b"b", producer_id=7, producer_epoch=0, base_sequence=1)
    cluster.run(1)
    assert retried.acknowledged
    cluster.heal()
    cluster.release(1)
    cluster.converge()
    assert cluster.brokers[1].log.producers.entries[7].last_sequence == 1
    cluster.elect(1)
    third = cluster.brokers[1].produce(b"c", producer_id=7, producer_epoch=0, base_sequence=2)
    cluster.run(1)
    assert (third.acknowledged, third.offset) == (True, 2)


def test_a_leader_that_lost_records_takes_its_followers_with_it(make: Any) -> None:
    """An unclean election: the follower is ahead, and goes back to where the leader is."""
    cluster = make(2, min_insync_replicas="1")
    cluster.create((1, 2))
    cluster.brokers[1].produce(b"a")
    cluster.run(1)
    cluster.cut(2)
    for _ in range(3):
        cluster.brokers[1].produce(b"b", acks=1)
    cluster.hold(1)
    cluster.elect(2, (2,))
    cluster.heal()
    cluster.release(1)
    cluster.converge()
    assert cluster.brokers[1].log.log_end_offset == 1


# ------------------------------------------------------------------------------------------------------ lost and found


def test_a_lost_disk_is_filled_again(make: Any) -> None:
    cluster = make(2, min_insync_replicas="1")
    cluster.create((1, 2))
    for number in range(5):
        cluster.brokers[1].produce(b"%d" % number, producer_id=9, producer_epoch=0, base_sequence=number)
    cluster.converge()
    cluster.crash(2)
    cluster.start(2, emptied=True)
    cluster.converge()
    assert cluster.brokers[2].log.log_end_offset == 5


@pytest.mark.parametrize("promise", [{}, {"flush_messages": "1"}], ids=["loose", "durable"])
def test_a_follower_behind_the_leaders_start_begins_there(make: Any, promise: dict[str, str]) -> None:
    """Where nothing is fetched that is not on disk, an empty log that begins later is forced like any other."""
    cluster = make(2, min_insync_replicas="1", log_retention_ms="-1")
    cluster.create((1, 2), internal_segment_bytes="200", **promise)
    cluster.brokers[1].produce(b"0" * 100)
    cluster.converge()
    cluster.crash(2)
    for number in range(1, 8):
        cluster.brokers[1].produce(b"%d" % number * 100)
    cluster.run(1)
    local = cluster.brokers[1].log.local
    local.delete_segments(list(local.segments)[:4])
    assert local.log_start_offset == 4
    cluster.start(2)
    cluster.run_until(lambda: cluster.is_level)
    follower = cluster.brokers[2].log
    assert (follower.log_start_offset, follower.log_end_offset) == (4, 8)
    assert cluster.brokers[2].contents() == cluster.brokers[1].contents()


def test_a_leader_that_refuses_an_offset_it_has_is_not_asked_all_the_time(make: Any) -> None:
    cluster = make(2)
    cluster.create((1, 2))
    cluster.brokers[1].produce(b"x")
    cluster.converge()
    # An epoch of which the leader knows nothing: it cannot say where the logs part.
    cluster.brokers[1].log.epochs.clear()
    cluster.elect(1)
    cluster.brokers[1].log.epochs.clear()
    before = cluster.fetches
    cluster.run(2)
    assert 0 < cluster.fetches - before < 40


def test_the_leaders_start_is_taken_over(make: Any) -> None:
    cluster = make(2)
    cluster.create((1, 2))
    for _ in range(4):
        cluster.brokers[1].produce(b"x")
    cluster.converge()
    cluster.brokers[1].log.local.advance_log_start(3)
    cluster.run(1)
    assert cluster.brokers[2].log.log_start_offset == 3
    assert cluster.brokers[1].partition.low_watermark() == 3


def test_a_batch_across_the_leaders_start_comes_whole(make: Any) -> None:
    cluster = make(2, min_insync_replicas="1")
    cluster.create((1, 2), isr=(1,))
    cluster.crash(2)
    cluster.brokers[1].produce(b"a", b"b", b"c")
    cluster.brokers[1].produce(b"d")
    cluster.brokers[1].log.local.advance_log_start(2)
    cluster.start(2, emptied=True)
    cluster.run_until(lambda: cluster.is_level)
    assert cluster.brokers[2].log.log_start_offset == 2
    assert cluster.brokers[2].contents() == cluster.brokers[1].contents()


def test_a_topic_created_again_under_its_name_is_another(make: Any) -> None:
    """The follower that was away has records of the first; none of them may come back."""
    cluster = make(2, min_insync_replicas="1")
    cluster.create((1, 2))
    for _ in range(4):
        cluster.brokers[1].produce(b"first")
    cluster.converge()
    cluster.hold(2)
    cluster.cut(2)
    cluster.delete()
    cluster.run(1)
    cluster.create((1, 2), isr=(1,))
    cluster.brokers[1].produce(b"second")
    cluster.heal()
    cluster.run(1)
    assert cluster.brokers[2].log.log_end_offset == 4, "fetches of the old topic find nothing"
    cluster.release(2)
    cluster.converge()
    assert b"first" not in cluster.brokers[2].contents()
    cluster.crash(2)
    cluster.delete()
    cluster.run(1)
    cluster.create((1, 2), isr=(1,))
    cluster.brokers[1].produce(b"third")
    cluster.start(2)
    cluster.converge()
    assert b"second" not in cluster.brokers[2].contents()


def test_a_follower_moves_to_another_directory_while_it_follows(make: Any) -> None:
    from moldau.replica.log_moves import LogMoves

    cluster = make(2)
    cluster.create((1, 2))
    for _ in range(20):
        cluster.brokers[1].produce(b"x" * 1000)
    cluster.converge()
    follower = cluster.brokers[2]
    moves = LogMoves(lambda: follower.config, follower.replicas, follower.logs, (), follower.runtime)
    here = follower.log.directory.parent
    there = "/b" if here == "/a" else "/a"
    moves.alter(TOPIC, 0, there)
    for _ in range(20):
        cluster.brokers[1].produce(b"y" * 1000)
        cluster.run(0.002)
    cluster.run_until(lambda: follower.log.directory.parent == there)
    cluster.brokers[1].produce(b"z")
    cluster.converge()


@pytest.mark.parametrize("full", [1, 2])
def test_a_full_disk_is_given_up_where_others_can_go_on(make: Any, full: int) -> None:
    """As in Kafka: whoever leads refuses the write, whoever follows is missed; both say so and go offline."""
    import errno

    cluster = make(2, min_insync_replicas="1")
    cluster.create((1, 2))
    cluster.run(1)
    broker = cluster.brokers[full]
    told: list[int] = []
    broker.replicas.directory_lost = lambda: told.append(full)
    broker.disk.fail(errno.ENOSPC, "write", path="orders-0")
    outcome = cluster.brokers[1].produce(b"x", timeout_ms=60_000)
    cluster.run(1)
    assert not outcome.acknowledged
    assert outcome.error is (ErrorCode.KAFKA_STORAGE_ERROR if full == 1 else None)
    assert told == [full]
    # The other directory is none the worse for it, so the node goes on.
    assert [directory.is_online for directory in broker.logs.directories].count(False) == 1
    assert broker.failures == []


def test_a_node_whose_only_disk_is_full_stops_and_says_why(make: Any) -> None:
    import errno

    cluster = make(2, min_insync_replicas="1")
    cluster.create((1, 2))
    cluster.run(1)
    broker = cluster.brokers[1]
    for directory in broker.logs.directories:
        broker.replicas.storage_failed(StorageError(directory.path, "Writing", OSError(errno.ENOSPC, "No room")))
    (failure,) = broker.failures
    assert "No room. No log directory is left, so the node stops." in str(failure)


def test_a_durable_topic_is_acknowledged_when_it_is_on_every_disk(make: Any) -> None:
    cluster = make(2)
    cluster.create((1, 2), flush_messages="1")
    cluster.run(1)
    outcome = cluster.brokers[1].produce(b"x")
    cluster.run_until(lambda: outcome.error is not None)
    assert outcome.acknowledged
    assert [broker.log.durability.durable_offset for broker in cluster.brokers.values()] == [1, 1]
    cluster.elect(2)
    second = cluster.brokers[2].produce(b"y")
    cluster.run(1)
    assert second.acknowledged
    cluster.converge()


def test_what_is_on_its_way_to_the_disk_is_not_left_out_of_the_next_fetch(make: Any) -> None:
    """Else it would have to wait until that is answered, however little the disk takes."""
    cluster = make(2)
    cluster.create((1, 2), partitions=2, flush_messages="1")
    cluster.run(1)
    for _ in range(5):
        begin = cluster.schedule.clock.now_us
        outcome = cluster.brokers[1].produce(b"x")
        cluster.run_until(lambda outcome=outcome: outcome.acknowledged)
        assert cluster.schedule.clock.now_us - begin < 150_000
    cluster.converge()


def test_fetchers_share_the_partitions_of_a_source(make: Any) -> None:
    cluster = make(2, num_replica_fetchers="2")
    cluster.create((1, 2), partitions=4)
    outcome = cluster.brokers[1].produce(b"x")
    cluster.run(1)
    assert outcome.acknowledged
    assert len(cluster.brokers[1].services.fetch_sessions) == 2
    assert len(cluster.brokers[2].replication.fetchers) == 4
    cluster.converge()


# ------------------------------------------------------------------------------------------------- leaders and epochs


def test_of_two_leaders_the_old_one_acknowledges_nothing(make: Any) -> None:
    """It was cut off and does not know. Its followers have left, so it cannot move its high watermark."""
    cluster = make()
    cluster.create((1, 2, 3), min_insync_replicas="2")
    cluster.run(1)
    cluster.cut(1)
    cluster.hold(1)
    cluster.fence(1)
    old = cluster.brokers[1].produce(b"old", timeout_ms=60_000)
    new = cluster.brokers[2].produce(b"new")
    cluster.run(10)
    assert new.acknowledged
    assert not old.acknowledged
    assert cluster.brokers[1].log.high_watermark == 0
    cluster.heal()
    cluster.release(1)
    cluster.unfence(1)
    cluster.converge()
    assert old.error == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_the_old_leader_cannot_count_followers_of_the_new(make: Any) -> None:
    """Also while it still hears them: who follows the new leader fetches with another epoch, and from elsewhere."""
    cluster = make()
    cluster.create((1, 2, 3))
    cluster.run(1)
    cluster.hold(1)
    cluster.elect(2, (2, 3))
    cluster.run(1)
    old = cluster.brokers[1].produce(b"old", timeout_ms=3000)
    cluster.run(5)
    assert not old.acknowledged
    answer = told(cluster, follower_fetch(cluster, 3, 0), 1)
    assert answer.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    cluster.release(1)
    cluster.converge()


@pytest.mark.parametrize(
    ("leader_epoch", "code"), [(0, ErrorCode.FENCED_LEADER_EPOCH), (9, ErrorCode.UNKNOWN_LEADER_EPOCH)]
)
def test_a_fetch_of_another_epoch_counts_for_nothing(make: Any, leader_epoch: int, code: ErrorCode) -> None:
    cluster = make(2)
    cluster.create((1, 2))
    cluster.elect(1)
    cluster.cut(2)
    cluster.brokers[1].produce(b"x")
    answer = told(cluster, follower_fetch(cluster, 2, 1, leader_epoch=leader_epoch), 1)
    assert answer.error_code == code
    assert cluster.brokers[1].log.high_watermark == 0


def test_a_replica_that_is_given_up_is_fetched_no_more(make: Any) -> None:
    cluster = make()
    cluster.create((1, 2, 3))
    cluster.brokers[1].produce(b"x")
    cluster.converge()
    cluster.change(cluster.topic.id, 0, replicas=(1, 2), isr=(1, 2))
    cluster.run(1)
    assert cluster.brokers[3].partition is None
    assert len(cluster.brokers[3].replication.fetchers) == 0
    outcome = cluster.brokers[1].produce(b"y")
    cluster.run(1)
    assert outcome.acknowledged


def test_a_new_replica_is_filled_and_joins(make: Any) -> None:
    cluster = make()
    cluster.create((1, 2))
    for _ in range(5):
        cluster.brokers[1].produce(b"x" * 100)
    cluster.converge()
    cluster.change(cluster.topic.id, 0, replicas=(1, 2, 3))
    cluster.converge()
    assert set(cluster.state.isr) == {1, 2, 3}


def test_a_follower_heard_of_before_the_leader_knows_it_is_to_ask_again(make: Any) -> None:
    cluster = make(2)
    cluster.create((1,))
    answer = told(cluster, follower_fetch(cluster, 2, 0), 1)
    assert answer.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_a_leader_that_hears_of_it_a_moment_later_keeps_no_producer_waiting(make: Any) -> None:
    cluster = make(2, replica_fetch_backoff_ms="60000")
    cluster.create((1, 2))
    cluster.run(0.5)
    cluster.hold(1)
    cluster.elect(1)
    cluster.run(0.3)
    cluster.release(1)
    outcome = cluster.brokers[1].produce(b"one")
    began = cluster.schedule.clock.now_us
    cluster.run_until(lambda: outcome.acknowledged)
    assert cluster.schedule.clock.now_us - began < 1_000_000


def test_a_leader_that_does_not_hear_of_it_is_asked_less_and_less_often(make: Any) -> None:
    cluster = make(2, replica_fetch_backoff_ms="5000")
    cluster.create((1, 2))
    cluster.run(0.5)
    cluster.hold(1)
    cluster.elect(1)
    before = cluster.fetches
    cluster.run(60.0)
    assert cluster.fetches - before < 30


# ------------------------------------------------------------------------------------------------------- fetchers alone


def test_nobody_follows_himself_or_nobody(make: Any) -> None:
    cluster = make(2)
    cluster.create((1, 2))
    cluster.run(1)
    broker = cluster.brokers[1]
    broker.replication.fetchers.follow(broker.partition)
    assert len(broker.replication.fetchers) == 0
    assert len(cluster.brokers[2].replication.fetchers) == 1


def test_a_disk_that_does_not_come_back_is_not_waited_for_all_the_time(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = make(2)
    cluster.create((1, 2), partitions=2)
    cluster.run(1)
    monkeypatch.setattr(Following, "is_forced", property(lambda self: self.partition.topic_partition.partition == 0))
    before = cluster.fetches
    cluster.run(5)
    assert cluster.fetches > before


def test_a_source_that_failed_is_left_alone_for_a_while_whoever_wakes_its_fetcher(make: Any) -> None:
    cluster = make(2)
    cluster.create((1, 2))
    cluster.run(1)
    follower = cluster.brokers[2]
    (fetcher,) = follower.replication.fetchers._fetchers.values()
    asked = []

    def refuse(address: int, request: Any, *, timeout: float | None = None, line: str = "") -> Deferred[Any]:
        asked.append(request)
        return failed(MoldauError("nobody is there"))

    follower.ask = refuse
    cluster.run_until(lambda: asked)
    count = len(asked)
    for _ in range(20):
        fetcher.wake()
    assert len(asked) == count
    cluster.run(5)
    assert len(asked) > count


def test_who_is_not_registered_in_this_life_fetches_nothing(make: Any) -> None:
    """A leader would take it for the follower it was before: what that had, this one may have lost."""
    cluster = make(2)
    cluster.create((1, 2))
    cluster.run(1)
    follower = cluster.brokers[2]
    registered, follower.epoch = follower.epoch, -1
    cluster.run(1)
    before, outcome = cluster.fetches, cluster.brokers[1].produce(b"one")
    cluster.run(1)
    assert (cluster.fetches, outcome.acknowledged) == (before, False)
    follower.epoch = registered
    cluster.run_until(lambda: outcome.acknowledged)


def test_who_is_no_replica_holds_nothing(make: Any) -> None:
    cluster = make(3)
    cluster.create((1, 2))
    cluster.run(1)
    places = [cluster.brokers[number].logs.get(PLACE) is not None for number in (1, 2, 3)]
    assert places == [True, True, False]
    assert cluster.brokers[3].replicas.find(TOPIC, 0) is None


def test_where_the_old_leaders_log_lies_cuts_nothing_once_it_is_another(make: Any) -> None:
    """The answer to a question of the past: the log it would be cut by is nobody's any more."""
    cluster = make(2, min_insync_replicas="1")
    cluster.create((1, 2))
    cluster.brokers[1].produce(b"a")
    cluster.converge()
    follower = cluster.brokers[2]
    (fetcher,) = follower.replication.fetchers._fetchers.values()
    ((key, following),) = fetcher.partitions.items()
    cluster.elect(2, (2,))
    cluster.run(1)
    assert follower.partition.is_leader
    for leader_start, leader_end in ((0, 0), (7, 9)):
        fetcher._sought(key, following, None, leader_end, leader_start)
        assert (follower.log.log_start_offset, follower.log.log_end_offset) == (0, 1)


@pytest.mark.parametrize("another_leads", [False, True])
def test_nothing_is_fetched_while_a_log_is_cut_where_its_leader_ends(
    make: Any, monkeypatch: pytest.MonkeyPatch, another_leads: bool
) -> None:
    cluster = make(2, min_insync_replicas="1")
    cluster.create((1, 2))
    cluster.brokers[1].produce(b"a")
    cluster.converge()
    follower = cluster.brokers[2]
    (fetcher,) = follower.replication.fetchers._fetchers.values()
    ((key, following),) = fetcher.partitions.items()
    wanted, done = [], []

    def slowly(self: Following, leader_start: int, leader_end: int) -> Work[bool]:
        for _ in range(3):
            yield
            wanted.append(fetcher._wanted(follower.runtime.clock.monotonic())[0])
        done.append((leader_start, leader_end))
        return True

    monkeypatch.setattr(Following, "out_of_range", slowly)
    # A slice is over after one step.
    follower.slicer._now = count(0.0).__next__
    following.sought = True
    fetcher._sought(key, following, None, 9, 7)
    assert following.sought
    if another_leads:
        cluster.elect(2, (2,))
    cluster.run(1)
    assert (done, following.sought) == ([] if another_leads else [(7, 9)], False)
    assert not any(wanted)
    if not another_leads:
        assert fetcher._wanted(follower.runtime.clock.monotonic())[0]


def stale_batch() -> bytes:
    return encode_batch([Record(0, 1_700_000_000_000, None, b"value", [])], base_offset=0, partition_leader_epoch=0)


@pytest.mark.parametrize(
    ("data", "level"),
    [
        (PartitionData(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER), "DEBUG"),
        (PartitionData(error_code=ErrorCode.KAFKA_STORAGE_ERROR), "WARNING"),
        (PartitionData(records=stale_batch()), "WARNING"),
    ],
)
def test_a_partition_that_fails_is_asked_for_anew_and_throttled_again(
    make: Any, caplog: pytest.LogCaptureFixture, data: PartitionData, level: str
) -> None:
    caplog.set_level("DEBUG", "moldau.replica")
    cluster = make(2, min_insync_replicas="1")
    cluster.create((1, 2))
    cluster.brokers[1].produce(b"a")
    cluster.converge()
    follower = cluster.brokers[2]
    (fetcher,) = follower.replication.fetchers._fetchers.values()
    ((key, following),) = fetcher.partitions.items()
    before = following.ask()
    assert following.in_sync
    assert not following.changed
    caplog.clear()
    run_whole(fetcher._take_partition(key, following, data))
    (said,) = (record for record in caplog.records if "cannot be fetched now" in record.message)
    assert said.levelname == level
    assert following.resume_at > follower.runtime.clock.monotonic()
    assert not following.in_sync, "it may lack what is committed: a throttle holds it back"
    follower.log.local.advance_log_start(1)
    assert following.ask() == before._replace(log_start_offset=1), "and the leader is told what has changed"


def test_a_leader_that_answers_is_asked_again_soon_the_next_time_it_is_behind(make: Any) -> None:
    cluster = make(2)
    cluster.create((1, 2))
    cluster.run(1)
    (fetcher,) = cluster.brokers[2].replication.fetchers._fetchers.values()
    ((key, following),) = fetcher.partitions.items()
    following.behind_metadata = 9
    following.ask()
    run_whole(fetcher._take_partition(key, following, PartitionData()))
    assert following.behind_metadata == 0


def test_nobody_is_woken_by_an_answer_without_news(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = make(2)
    cluster.create((1, 2))
    cluster.run(1)
    (fetcher,) = cluster.brokers[2].replication.fetchers._fetchers.values()
    ((key, following),) = fetcher.partitions.items()
    woken: list[Any] = []
    monkeypatch.setattr(fetcher._fetchers, "took", woken.append)
    following.ask()
    run_whole(fetcher._take_partition(key, following, PartitionData()))
    assert woken == []
