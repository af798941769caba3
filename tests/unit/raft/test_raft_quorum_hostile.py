"""Members of a quorum on real files: asked what nobody should ask, told the same twice, or in a machine that fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from held_workers import HeldWorkers
from raft_members import CLUSTER, Members, topic

from moldau.deferred import Deferred
from moldau.errors import ErrorCode
from moldau.protocol.message import Message
from moldau.protocol.messages import fetch_snapshot
from moldau.protocol.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from moldau.raft.effects import Effect, SaveSnapshot
from moldau.raft.log_view import EpochOffset
from moldau.raft.metadata_log import MetadataLog
from moldau.raft.progress import Progress
from moldau.raft.raft_quorum import RaftQuorum
from moldau.raft.snapshot_file import SnapshotId, SnapshotWriter
from moldau.raft.snapshot_transfer import SnapshotTransfer
from moldau.raft.voters import ReplicaKey, VoterChange, VoterHistory, VoterSet


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


def test_a_snapshot_that_is_being_made_to_count_is_not_written_over(members: Members, tmp_path: Path) -> None:
    """Another leader may send the same one while a worker still checks the first: half of it must not get its name."""
    disk, workers = members.disk, HeldWorkers()
    made = SnapshotWriter(disk, str(tmp_path), SnapshotId(40, 3), 0)
    made.append([topic("a")] * 100)
    made.finish()
    data = (tmp_path / made.id.file_name).read_bytes()
    log = MetadataLog(members.config(1), disk, members.clock)
    log.lock()
    log.open(VoterHistory(VoterSet()))
    settled: list[tuple[VoterChange, ...] | None] = []
    transfer = SnapshotTransfer(log, members.loop, workers, settled.append)
    snapshot = EpochOffset(3, 40)
    transfer.save(SaveSnapshot(snapshot, 0, data, is_last=True))
    transfer.save(SaveSnapshot(snapshot, 0, data[:50], is_last=False))
    members.loop.advance(0)
    assert settled == [None], "whoever sends it is asked again later"
    workers.run_one()
    assert settled == [None, ()]
    assert (Path(log.directory) / made.id.file_name).read_bytes() == data
    assert log.end == snapshot
    transfer.save(SaveSnapshot(EpochOffset(3, 50), 0, data, is_last=True))
    assert len(settled) == 2, "the next one is taken"
    log.close()


def test_a_machine_that_fails_ends_its_node_and_not_in_silence(
    members: Members, monkeypatch: pytest.MonkeyPatch
) -> None:
    members.start_all()
    first = members.write("a")
    members.all_have("a")

    def broken(now: float) -> list[Effect]:
        raise ZeroDivisionError

    assert first._machine is not None
    monkeypatch.setattr(first._machine, "tick", broken)
    members.pass_time(2, lambda: bool(members.faults))
    assert isinstance(members.faults[0], ZeroDivisionError)
    assert members.stories[first.node_id].leader[0] == -1


def test_whoever_asked_hears_of_an_answer_that_cannot_be_written(members: Members) -> None:
    asked: Deferred[Message] = Deferred()
    told: list[BaseException | None] = []
    asked.then(lambda _, error: told.append(error))
    members.start(1).correspondence.reply((asked, FetchSnapshotRequest(), 1), "no answer")
    assert isinstance(told[0], AttributeError)


def test_who_observed_under_another_name_each_time_is_not_remembered_for_ever() -> None:
    progress = Progress(ReplicaKey(1), 0, fetch_timeout=2.0)
    for second in range(2000):
        progress.fetched(ReplicaKey(50, second.to_bytes(16, "big")), 0, 0, float(second))
    assert len(progress.observers) <= 300
