"""Members of a quorum on real files, talking in Kafka's messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from raft_members import CLUSTER, Members, topic

from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.records import MetadataError
from moldau.protocol.api import ApiKey
from moldau.protocol.message import Message
from moldau.protocol.messages import describe_quorum, vote
from moldau.raft.effects import Deliver
from moldau.raft.snapshot_file import SnapshotId, find_snapshots


@pytest.fixture
def members(tmp_path: Path) -> Iterator[Members]:
    members = Members(tmp_path)
    yield members
    members.close()
    assert members.faults == []


def _answer(outcome: Message | Deferred[Message]) -> Message:
    assert isinstance(outcome, Message)
    return outcome


def test_one_is_elected_and_all_hear_the_same(members: Members) -> None:
    members.start_all()
    leader = members.write("a", "b")
    members.all_have("a", "b")
    assert {quorum.leader_id for quorum in members.quorums.values()} == {leader.node_id}
    assert {quorum.high_watermark for quorum in members.quorums.values()} == {leader.end_offset}
    logs = {(members.path / str(id) / "__cluster_metadata-0" / f"{0:020}.log").read_bytes() for id in members.ids}
    assert len(logs) == 1, "followers write what the leader wrote, byte for byte"


def test_two_of_three_are_enough_and_one_is_not(members: Members) -> None:
    members.start(1)
    members.pass_time(5)
    assert members.quorums[1].leader_id == -1
    members.start(2)
    members.write("a")
    members.all_have("a")


def test_the_leader_is_killed_and_another_goes_on(members: Members) -> None:
    members.start_all()
    first = members.write("a")
    members.all_have("a")
    members.kill(first.node_id)
    second = members.write("b")
    assert second.epoch > first.epoch
    members.all_have("a", "b")
    members.start(first.node_id)
    members.all_have("a", "b")


def test_a_leader_that_died_is_missed_as_soon_as_its_connections_end(members: Members) -> None:
    """Not after the time without an answer, which is two seconds."""
    members.start_all()
    first = members.write("a")
    members.all_have("a")
    epoch = first.epoch
    members.kill(first.node_id)
    members.pass_time(1.0, lambda: any(q.epoch > epoch and q.leader_id >= 0 for q in members.quorums.values()))


def test_all_that_were_killed_do_not_wait_for_one_that_says_it_does_not_lead(members: Members) -> None:
    members.start_all()
    epoch = members.write("a").epoch
    members.all_have("a")
    for id in members.ids:
        members.kill(id)
    members.start_all()
    members.pass_time(1.0, lambda: any(quorum.epoch > epoch for quorum in members.quorums.values()))


def test_a_leader_that_lives_stays_when_connections_end(members: Members) -> None:
    members.start_all()
    leader = members.write("a")
    members.all_have("a")
    epoch = leader.epoch
    for _ in range(5):
        members.reset(leader.node_id)
        members.pass_time(0.7)
    # Nor when it takes longer than that until they can be made again: others hear it, and pre-votes are refused.
    other = next(id for id in members.ids if id != leader.node_id)
    members.cut |= {(other, leader.node_id), (leader.node_id, other)}
    members.reset(leader.node_id)
    members.pass_time(1.5)
    members.cut.clear()
    members.pass_time(3)
    assert (leader.leader_id, leader.epoch) == (leader.node_id, epoch)
    assert {quorum.epoch for quorum in members.quorums.values()} == {epoch}
    members.write("b")
    members.all_have("a", "b")


def test_a_leader_that_leaves_says_so_and_nobody_waits_for_a_timeout(members: Members) -> None:
    members.start_all()
    first = members.write("a")
    members.all_have("a")
    members.stop(first.node_id)
    began = members.clock.monotonic()
    members.leader()
    assert members.clock.monotonic() - began < 0.5


def test_what_an_old_leader_wrote_alone_is_cut_off(members: Members) -> None:
    members.start_all()
    old = members.write("a")
    members.all_have("a")
    others = [id for id in members.ids if id != old.node_id]
    members.cut = {(old.node_id, id) for id in others} | {(id, old.node_id) for id in others}
    old.append(old.epoch, [topic("lost")])
    members.pass_time(10, lambda: any(members.quorums[id].leader_id in others for id in others))
    members.pass_time(5)
    with pytest.raises(KafkaError) as caught:
        old.append(old.epoch, [topic("late")])
    assert caught.value.code is ErrorCode.NOT_CONTROLLER
    members.write("b")
    members.cut = set()
    members.all_have("a", "b")
    members.kill(old.node_id)
    members.start(old.node_id)
    members.all_have("a", "b")


def test_all_are_killed_at_once(members: Members) -> None:
    members.start_all()
    members.write("a", "b")
    members.all_have("a", "b")
    for id in members.ids:
        members.kill(id)
    members.start_all()
    members.write("c")
    members.all_have("a", "b", "c")


def test_a_follower_whose_log_ends_before_the_leaders_begins_takes_a_snapshot(members: Members) -> None:
    members.start_all()
    leader = members.write("a")
    members.all_have("a")
    behind = next(id for id in members.ids if id != leader.node_id)
    members.kill(behind)
    members.write("b", "c")
    members.all_have("a", "b", "c")
    members.snapshot(leader.node_id)
    members.write("d")
    members.start(behind)
    members.all_have("a", "b", "c", "d")
    directory = str(members.path / str(behind) / "__cluster_metadata-0")
    assert find_snapshots(members.disk, directory) == [SnapshotId(4, 1)]
    # And from that it starts again.
    members.kill(behind)
    members.start(behind)
    members.write("e")
    members.all_have("a", "b", "c", "d", "e")


def test_a_crash_between_the_names_of_snapshot_and_log(members: Members, tmp_path: Path) -> None:
    members.start_all()
    leader = members.write("a")
    members.all_have("a")
    behind = next(id for id in members.ids if id != leader.node_id)
    members.kill(behind)
    members.write("b", "c")
    members.all_have("a", "b", "c")
    members.snapshot(leader.node_id)
    name = SnapshotId(4, 1).file_name
    place = members.path / str(behind) / "__cluster_metadata-0"
    # Saved and named, and then the process died: the log before it is still there.
    (place / name).write_bytes((members.path / str(leader.node_id) / "__cluster_metadata-0" / name).read_bytes())
    quorum = members.start(behind)
    assert quorum.end_offset == 4
    assert members.stories[behind].topics == ["a", "b", "c"]
    members.write("d")
    members.all_have("a", "b", "c", "d")


def test_a_log_that_ends_with_its_snapshot_ends_in_its_epoch(members: Members) -> None:
    members.start_all()
    first = members.write("a")
    members.all_have("a")
    members.kill(first.node_id)
    second = members.write("b")
    members.all_have("a", "b")
    follower = next(id for id in members.quorums if id != second.node_id)
    end = members.quorums[follower]._log.end
    members.snapshot(follower)
    members.kill(follower)
    # The epochs were never forced to disk: only those of an earlier life are written down.
    checkpoint = members.path / str(follower) / "__cluster_metadata-0" / "leader-epoch-checkpoint"
    checkpoint.write_text(f"0\n1\n{first.epoch} 0\n")
    assert members.start(follower)._log.end == end
    members.write("c")
    members.all_have("a", "b", "c")


def test_what_there_is_to_learn_after_a_start_only_a_leader_can_tell(members: Members) -> None:
    members.start_all()
    leader = members.write("a")
    members.all_have("a")
    away = next(id for id in members.ids if id != leader.node_id)
    members.snapshot(away)
    members.kill(away)
    leader.append(leader.epoch, [topic("b")])
    members.all_have("a", "b")
    follower = members.start(away)
    assert follower.high_watermark > 0, "its snapshot is committed"
    assert follower.told_high_watermark == -1
    members.all_have("a", "b")
    assert follower.told_high_watermark == leader.high_watermark


def test_what_could_not_be_written_is_not_committed_here(members: Members, monkeypatch: pytest.MonkeyPatch) -> None:
    members.start_all()
    leader = members.write("a")
    members.all_have("a")
    follower = next(quorum for quorum in members.quorums.values() if quorum is not leader)
    members.cut.update({(leader.node_id, follower.node_id), (follower.node_id, leader.node_id)})
    leader.append(leader.epoch, [topic("b")])
    members.pass_time(1, lambda: leader.high_watermark == leader.end_offset)
    refused: list[bytes] = []

    def full(data: bytes) -> None:
        refused.append(data)
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)

    told: list[Deliver] = []
    with monkeypatch.context() as patch:
        patch.setattr(follower._log, "append_as_follower", full)
        patch.setattr(follower._delivery, "tell", told.append)
        members.cut.clear()
        members.pass_time(1, lambda: len(refused) > 1)
        assert all(news.end_offset <= follower.end_offset for news in told if isinstance(news, Deliver))
        members.loop.advance(0)
        assert follower.high_watermark <= follower.end_offset
    members.all_have("a", "b")


def test_an_observer_follows_and_finds_the_next_leader(members: Members) -> None:
    members.start_all()
    members.start(10)
    first = members.write("a")
    members.all_have("a")
    assert not members.quorums[10].is_voter
    members.kill(first.node_id)
    members.write("b")
    members.all_have("a", "b")


def test_the_file_says_what_kafka_would_write(members: Members) -> None:
    members.start_all()
    leader = members.write("a")
    members.all_have("a")
    states = {
        id: json.loads((members.path / str(id) / "__cluster_metadata-0" / "quorum-state").read_text())
        for id in members.ids
    }
    assert {state["leaderId"] for state in states.values()} == {leader.node_id}
    assert {state["leaderEpoch"] for state in states.values()} == {leader.epoch}
    assert states[1]["currentVoters"] == [{"voterId": id} for id in members.ids]
    assert states[1]["data_version"] == 0


def test_another_list_of_voters_is_refused(members: Members) -> None:
    members.start_all()
    members.leader()
    members.pass_time(1)
    members.stop(3)
    members.properties["controller.quorum.voters"] = "1@node:1,3@node:3"
    with pytest.raises(MetadataError, match=r"quorum of the nodes \[1, 2, 3\]"):
        members.start(3)


def test_members_that_do_not_know_pre_votes_elect_a_leader_too(members: Members) -> None:
    members.versions = {ApiKey.VOTE: 1, ApiKey.FETCH: 17, ApiKey.BEGIN_QUORUM_EPOCH: 0, ApiKey.END_QUORUM_EPOCH: 0}
    members.start_all()
    members.write("a")
    members.all_have("a")


def test_the_quorum_is_described_by_its_leader(members: Members) -> None:
    members.start_all()
    members.start(10)
    leader = members.write("a")
    members.all_have("a")
    members.pass_time(1)
    request = describe_quorum.DescribeQuorumRequest(
        topics=[
            describe_quorum.RequestTopicData(
                topic_name="__cluster_metadata",
                partitions=[describe_quorum.RequestPartitionData(partition_index=0)],
            )
        ]
    )
    for version in (0, 1, 2):
        answer = _answer(leader.handle(request, version))
        answer.encode(version)
        assert isinstance(answer, describe_quorum.DescribeQuorumResponse)
        partition = answer.topics[0].partitions[0]
        assert (partition.leader_id, partition.leader_epoch) == (leader.node_id, leader.epoch)
        assert partition.high_watermark == leader.end_offset
        assert [(one.replica_id, one.log_end_offset) for one in partition.current_voters] == [
            (id, leader.end_offset) for id in members.ids
        ]
        assert [one.replica_id for one in partition.observers] == [10]
    follower = next(quorum for id, quorum in members.quorums.items() if id != leader.node_id)
    refused = _answer(follower.handle(request, 2))
    assert isinstance(refused, describe_quorum.DescribeQuorumResponse)
    assert refused.topics[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(
    "asked",
    [
        [("__cluster_metadata", 0), ("__cluster_metadata", 0)],
        [("__cluster_metadata", 1)],
        [("other", 0)],
        [("other", 0), ("__cluster_metadata", 0)],
    ],
)
def test_the_quorum_is_described_to_who_asks_for_nothing_else(members: Members, asked: list[tuple[str, int]]) -> None:
    """As Apache Kafka has it; a description for every time that it is named would be long."""
    members.start_all()
    leader = members.write("a")
    rows = [
        describe_quorum.RequestTopicData(
            topic_name=topic, partitions=[describe_quorum.RequestPartitionData(partition_index=index)]
        )
        for topic, index in asked
    ]
    answer = _answer(leader.handle(describe_quorum.DescribeQuorumRequest(topics=rows), 2))
    assert isinstance(answer, describe_quorum.DescribeQuorumResponse)
    refusals = [
        (topic.topic_name, row.partition_index, row.error_code) for topic in answer.topics for row in topic.partitions
    ]
    assert refusals == [(topic, index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) for topic, index in asked]


def _vote(members: Members, **fields: object) -> vote.VoteRequest:
    partition = vote.RequestPartitionData(partition_index=0, replica_epoch=50, replica_id=2, last_offset_epoch=40)
    request = vote.VoteRequest(
        cluster_id=CLUSTER, topics=[vote.RequestTopicData(topic_name="__cluster_metadata", partitions=[partition])]
    )
    for name, value in fields.items():
        setattr(partition if hasattr(partition, name) else request, name, value)
    return request


def test_a_request_for_another_cluster_is_refused(members: Members) -> None:
    quorum = members.start(1)
    with pytest.raises(KafkaError) as caught:
        quorum.handle(_vote(members, cluster_id="another"), 2)
    assert caught.value.code is ErrorCode.INCONSISTENT_CLUSTER_ID


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"voter_id": 3}, ErrorCode.INVALID_VOTER_KEY),
        ({"voter_id": 1, "voter_directory_id": b"x" * 16}, ErrorCode.INVALID_VOTER_KEY),
        ({"last_offset_epoch": 50}, ErrorCode.INVALID_REQUEST),
        ({"replica_id": -1}, ErrorCode.INVALID_REQUEST),
        ({"replica_epoch": -1, "last_offset_epoch": -2}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_votes_are_refused_with_kafkas_codes(members: Members, fields: dict[str, object], error: ErrorCode) -> None:
    quorum = members.start(1)
    answers: list[vote.VoteResponse] = []
    outcome = quorum.handle(_vote(members, **fields), 2)
    assert isinstance(outcome, Deferred)
    outcome.then(lambda value, _: answers.append(value))
    [answer] = answers
    assert (answer.topics[0].partitions[0].error_code, answer.topics[0].partitions[0].vote_granted) == (error, False)


def test_a_vote_is_on_disk_before_it_is_told(members: Members) -> None:
    quorum = members.start(1)
    place = members.path / "1" / "__cluster_metadata-0" / "quorum-state"
    seen: list[tuple[bool, int]] = []
    outcome = quorum.handle(_vote(members, voter_id=1), 2)
    assert isinstance(outcome, Deferred)
    outcome.then(
        lambda value, _: seen.append(
            (value.topics[0].partitions[0].vote_granted, json.loads(place.read_text())["votedId"])
        )
    )
    assert seen == [(True, 2)]
