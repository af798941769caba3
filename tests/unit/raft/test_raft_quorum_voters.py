"""A quorum whose voters stand in the log (kraft.version 1) and change."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from raft_members import CLUSTER, Members

from moldau.deferred import Deferred
from moldau.protocol.messages import add_raft_voter, remove_raft_voter
from moldau.protocol.messages.leader_change_message import LeaderChangeMessage
from moldau.protocol.records import ControlType, control_type, decode_batch, scan_batches
from moldau.raft.raft_quorum import RaftQuorum
from moldau.raft.snapshot_file import SnapshotId, SnapshotWriter
from moldau.raft.voters import Endpoint, ReplicaKey, Voter, VoterSet


@pytest.fixture
def members(tmp_path: Path) -> Iterator[Members]:
    members = Members(tmp_path, **{"controller.quorum.bootstrap.servers": "node:1,node:2"})
    voters = VoterSet(
        Voter(ReplicaKey(id, members.directory_id(id)), (Endpoint("CONTROLLER", "node", id),), 0, 1)
        for id in members.ids
    )
    for id in members.ids:
        # As `moldau storage format` leaves it.
        place = tmp_path / str(id) / "__cluster_metadata-0"
        place.mkdir(parents=True)
        SnapshotWriter(members.disk, str(place), SnapshotId(0, 0), 0, voters, 1).finish()
    yield members
    members.close()
    assert members.faults == []


def _voters(quorum: RaftQuorum) -> tuple[int, ...]:
    assert quorum.member is not None
    return quorum.member.voters.ids


def _outcome(members: Members, outcome: object) -> list[int]:
    codes: list[int] = []
    assert isinstance(outcome, Deferred)
    outcome.then(lambda value, error: codes.append(value.error_code))
    members.pass_time(5, lambda: bool(codes))
    return codes


def test_a_voter_is_added_and_another_removed(members: Members) -> None:
    members.start_all()
    members.start(4)
    leader = members.write("a")
    members.all_have("a")
    assert not members.quorums[4].is_voter
    add = add_raft_voter.AddRaftVoterRequest(
        cluster_id=CLUSTER,
        timeout_ms=1000,
        voter_id=4,
        voter_directory_id=members.directory_id(4),
        listeners=[add_raft_voter.Listener(name="CONTROLLER", host="node", port=4)],
    )
    assert _outcome(members, leader.handle(add, 1)) == [0]
    members.pass_time(5, lambda: all(_voters(quorum) == (1, 2, 3, 4) for quorum in members.quorums.values()))
    gone = next(id for id in (1, 2, 3) if id != leader.node_id)
    remove = remove_raft_voter.RemoveRaftVoterRequest(
        cluster_id=CLUSTER, voter_id=gone, voter_directory_id=members.directory_id(gone)
    )
    assert _outcome(members, leader.handle(remove, 0)) == [0]
    left = tuple(id for id in (1, 2, 3, 4) if id != gone)
    members.pass_time(5, lambda: all(_voters(quorum) == left for quorum in members.quorums.values()))
    members.kill(leader.node_id)
    members.write("b")
    members.all_have("a", "b")
    state = json.loads((members.path / "4" / "__cluster_metadata-0" / "quorum-state").read_text())
    assert state["data_version"] == 1
    # What a member knows after a restart stands in its log.
    members.kill(4)
    assert _voters(members.start(4)) == left


def test_a_leader_whose_vote_is_taken_away_follows_the_next_one_at_once(members: Members) -> None:
    """Its broker goes on, and would be taken for dead if it did not ask for the log soon."""
    members.start_all()
    leader = members.write("a")
    remove = remove_raft_voter.RemoveRaftVoterRequest(
        cluster_id=CLUSTER, voter_id=leader.node_id, voter_directory_id=members.directory_id(leader.node_id)
    )
    assert _outcome(members, leader.handle(remove, 0)) == [0]
    others = [quorum for id, quorum in members.quorums.items() if id != leader.node_id]
    members.pass_time(5, lambda: any(quorum.leader_id == quorum.node_id for quorum in others))
    # Nothing like the second or two for which a leader that resigned keeps out of elections.
    members.pass_time(0.5, lambda: leader.leader_id in [quorum.node_id for quorum in others])


def test_epochs_begin_as_kafka_reads_it(members: Members) -> None:
    """Its nodes decode the first record of an epoch as version 0, whatever the record says of itself."""
    members.start_all()
    members.write("a")
    members.all_have("a")
    for id in members.ids:
        data = (members.path / str(id) / "__cluster_metadata-0" / f"{0:020d}.log").read_bytes()
        first = next(iter(scan_batches(data, 0, len(data), check_crc=True)))
        record = decode_batch(data, 0, first.size)[0]
        assert control_type(record) == ControlType.LEADER_CHANGE
        assert record.value is not None
        message = LeaderChangeMessage.decode(record.value, 0)
        assert (message.version, message.encode(0)) == (0, record.value)
        assert [voter.voter_id for voter in message.voters] == list(members.ids)


def test_a_controller_joins_by_itself(members: Members) -> None:
    members.start_all()
    members.write("a")
    members.start(4)
    members.pass_time(10)
    assert _voters(members.quorums[4]) == (1, 2, 3)
    members.stop(4)
    members.properties["controller.quorum.auto.join.enable"] = "true"
    members.start(4)
    # A broker is no controller, whatever its settings say.
    members.start(11)
    members.pass_time(10, lambda: all(_voters(quorum) == (1, 2, 3, 4) for quorum in members.quorums.values()))
    assert members.quorums[4].is_voter
    members.pass_time(10)
    assert not [line for line in members.sent if line.startswith("11 ->") and line.endswith("ADD_RAFT_VOTER")]


def test_a_voter_with_another_disk_joins_as_another(members: Members) -> None:
    members.properties["controller.quorum.auto.join.enable"] = "true"
    members.start_all()
    leader = members.write("a")
    lost = next(id for id in members.ids if id != leader.node_id)
    members.kill(lost)
    shutil.rmtree(members.path / str(lost))
    anew = members.start(lost, disk=1)
    key = ReplicaKey(lost, members.directory_id(lost, disk=1))
    members.pass_time(15, lambda: anew.is_voter and key in [voter.key for voter in leader.voters.last])
    members.pass_time(5, lambda: all(_voters(quorum) == (1, 2, 3) for quorum in members.quorums.values()))
    members.all_have("a")


def test_a_voter_tells_where_it_is_reached_now(members: Members) -> None:
    members.start_all()
    leader = members.write("a")
    moved = next(id for id in members.ids if id != leader.node_id)
    members.stop(moved)
    members.properties["advertised.listeners"] = f"CONTROLLER://elsewhere:{moved}"
    members.start(moved)
    del members.properties["advertised.listeners"]

    def known(quorum: RaftQuorum, id: int) -> str:
        voter = quorum.voters.last.get(id)
        assert voter is not None
        return voter.endpoints[0].host

    members.pass_time(10, lambda: all(known(quorum, moved) == "elsewhere" for quorum in members.quorums.values()))
    # It is told once, and the leader writes it once.
    end = leader.end_offset
    members.pass_time(10)
    assert leader.end_offset == end
    # Who led before it moved tells the next one.
    members.stop(leader.node_id)
    members.properties["advertised.listeners"] = f"CONTROLLER://third:{leader.node_id}"
    members.start(leader.node_id)
    members.pass_time(10, lambda: all(known(q, leader.node_id) == "third" for q in members.quorums.values()))
