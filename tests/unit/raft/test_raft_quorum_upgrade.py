"""Fixed voters (kraft.version 0) come to stand in the log (kraft.version 1), and may change there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from raft_members import CLUSTER, Members

from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.messages import add_raft_voter, describe_quorum
from moldau.raft.raft_quorum import RaftQuorum
from moldau.raft.voters import ReplicaKey


@pytest.fixture
def members(tmp_path: Path) -> Iterator[Members]:
    members = Members(tmp_path)
    yield members
    members.close()
    assert members.faults == []


def upgraded(members: Members) -> RaftQuorum:
    """The leader, once every voter has told it about itself and it has written that down."""
    leader = members.leader()

    def is_allowed() -> bool:
        try:
            leader.upgrade_kraft_version(1, validate_only=True)
        except KafkaError:
            return False
        return True

    members.pass_time(10, is_allowed)
    assert leader.voters.kraft_version == 0
    leader.upgrade_kraft_version(1, validate_only=False)
    return leader


def keys(quorum: RaftQuorum) -> list[ReplicaKey]:
    return [voter.key for voter in quorum.voters.last]


def test_voters_of_the_settings_come_to_stand_in_the_log(members: Members) -> None:
    members.start_all()
    members.write("a")
    leader = upgraded(members)
    expected = [ReplicaKey(id, members.directory_id(id)) for id in (1, 2, 3)]
    members.pass_time(5, lambda: all(keys(quorum) == expected for quorum in members.quorums.values()))
    members.write("b")
    members.all_have("a", "b")
    # Nobody is listed a second time, as one whose directory is not known.
    asked = describe_quorum.DescribeQuorumRequest(
        topics=[
            describe_quorum.RequestTopicData(
                topic_name="__cluster_metadata",
                partitions=[describe_quorum.RequestPartitionData(partition_index=0)],
            )
        ]
    )
    described = leader.handle(asked, 2)
    assert isinstance(described, describe_quorum.DescribeQuorumResponse)
    [partition] = described.topics[0].partitions
    assert [ReplicaKey(row.replica_id, row.replica_directory_id) for row in partition.current_voters] == expected
    assert partition.observers == []
    # Others can lead it, and what a member knows after a restart stands in its log and its snapshots.
    members.snapshot(leader.node_id)
    members.kill(leader.node_id)
    members.write("c")
    again = members.start(leader.node_id)
    assert keys(again) == expected
    assert again.voters.kraft_version == 1
    members.all_have("a", "b", "c")
    state = json.loads((members.path / str(members.leader().node_id) / "__cluster_metadata-0/quorum-state").read_text())
    assert state["data_version"] == 1


def test_voters_change_after_the_upgrade(members: Members) -> None:
    members.start_all()
    members.write("a")
    leader = upgraded(members)
    # From now on the settings only say where to ask; who restarts may leave the voters out of them.
    members.properties["controller.quorum.bootstrap.servers"] = "node:1,node:2,node:3"
    follower = next(id for id in members.ids if id != leader.node_id)
    members.pass_time(5, lambda: members.quorums[follower].voters.kraft_version == 1)
    members.stop(follower)
    members.start(follower)
    members.start(4)
    members.all_have("a")
    add = add_raft_voter.AddRaftVoterRequest(
        cluster_id=CLUSTER,
        timeout_ms=1000,
        voter_id=4,
        voter_directory_id=members.directory_id(4),
        listeners=[add_raft_voter.Listener(name="CONTROLLER", host="node", port=4)],
    )
    outcome = leader.handle(add, 1)
    codes: list[int] = []
    assert isinstance(outcome, Deferred)
    outcome.then(lambda value, _: codes.append(value.error_code))  # type: ignore[union-attr]
    members.pass_time(5, lambda: codes == [0])
    members.pass_time(5, lambda: all(quorum.voters.last.ids == (1, 2, 3, 4) for quorum in members.quorums.values()))


def test_a_change_of_voters_does_not_wait_for_fetches_to_end(members: Members) -> None:
    members.start_all()
    members.write("a")
    members.all_have("a")
    upgraded(members)
    # A fetch that finds nothing waits for half a second.
    members.pass_time(0.2, lambda: all(quorum.voters.kraft_version == 1 for quorum in members.quorums.values()))


def test_an_upgrade_waits_for_every_voter(members: Members) -> None:
    members.start_all()
    leader = members.leader()
    absent = next(id for id in members.ids if id != leader.node_id)
    members.stop(absent)
    members.pass_time(10)
    assert members.leader() is leader
    with pytest.raises(KafkaError, match=f"voter {absent} has not told this leader") as refused:
        leader.upgrade_kraft_version(1, validate_only=False)
    assert refused.value.code is ErrorCode.INVALID_UPDATE_VERSION
    assert leader.voters.kraft_version == 0
    members.start(absent)
    upgraded(members)


def test_who_does_not_lead_upgrades_nothing(members: Members) -> None:
    members.start_all()
    leader = members.leader()
    follower = next(quorum for quorum in members.quorums.values() if quorum is not leader)
    with pytest.raises(KafkaError) as refused:
        follower.upgrade_kraft_version(1, validate_only=False)
    assert refused.value.code is ErrorCode.NOT_CONTROLLER


def test_what_a_voter_cannot_go_along_with(members: Members) -> None:
    members.start_all()
    leader = upgraded(members)
    with pytest.raises(KafkaError, match="it is 1 and cannot go down"):
        leader.upgrade_kraft_version(0, validate_only=False)
    with pytest.raises(KafkaError, match="understands 0 to 1"):
        leader.upgrade_kraft_version(2, validate_only=False)
    leader.upgrade_kraft_version(1, validate_only=False)
