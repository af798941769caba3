"""Members of a quorum on real files, asked what nobody should ask, or in a machine that fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from raft_members import CLUSTER, Members

from moldau.deferred import Deferred
from moldau.errors import ErrorCode
from moldau.protocol.messages import fetch_snapshot
from moldau.protocol.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from moldau.raft.raft_quorum import RaftQuorum


@pytest.fixture
def members(tmp_path: Path) -> Iterator[Members]:
    members = Members(tmp_path)
    yield members
    members.close()


def _piece(leader: RaftQuorum, position: int, max_bytes: int) -> FetchSnapshotResponse:
    snapshot = leader._log.snapshot
    assert snapshot is not None
    partition = fetch_snapshot.RequestPartitionSnapshot(
        partition=0,
        current_leader_epoch=leader.epoch,
        snapshot_id=fetch_snapshot.RequestSnapshotId(end_offset=snapshot.offset, epoch=snapshot.epoch),
        position=position,
    )
    request = FetchSnapshotRequest(
        cluster_id=CLUSTER,
        replica_id=9,
        max_bytes=max_bytes,
        topics=[fetch_snapshot.RequestTopicSnapshot(name="__cluster_metadata", partitions=[partition])],
    )
    told: list[FetchSnapshotResponse] = []
    outcome = leader.handle(request, 1)
    assert isinstance(outcome, Deferred)
    outcome.then(lambda value, _: told.append(value))
    [answer] = told
    return answer


def test_a_piece_of_a_snapshot_without_a_size_ends_no_controller(members: Members) -> None:
    members.start_all()
    leader = members.write("a")
    members.all_have("a")
    members.snapshot(leader.node_id)
    for max_bytes in (-(1 << 31), -1, 0, 1):
        for position in (-(1 << 63), 0, (1 << 63) - 1):
            partition = _piece(leader, position, max_bytes).topics[0].partitions[0]
            expected = ErrorCode.NONE if position == 0 else ErrorCode.POSITION_OUT_OF_RANGE
            assert (partition.error_code, len(partition.unaligned_records or b"")) == (expected, int(position == 0))
    assert members.faults == []
    members.write("b")
    members.all_have("a", "b")
