"""The only voter of a quorum, on real files: epochs, commits, crashes and snapshots."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest
from controller_kit import ManualClock, ManualLoop, SeededRandom
from held_workers import HeldWorkers

from moldau.config.broker import BrokerConfig
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.committed import CommittedBatch, MetadataSnapshot
from moldau.metadata.loader import MetadataLoader
from moldau.metadata.records import FeatureLevelRecord, MetadataError, TopicRecord, VersionedRecord
from moldau.protocol.messages.leader_change_message import LeaderChangeMessage
from moldau.protocol.records import ControlType, control_type, decode_batch, read_header, scan_batches
from moldau.raft.effects import Election
from moldau.raft.membership import Membership
from moldau.raft.quorum_state import QuorumState, read_quorum_state, write_quorum_state
from moldau.raft.raft_quorum import RaftQuorum
from moldau.raft.snapshot_file import SnapshotId, find_snapshots
from moldau.raft.snapshot_generator import SnapshotGenerator
from moldau.raft.voters import VoterChange
from moldau.runtime.disk import RealDisk


class Story:
    """Writes down what a listener hears."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def on_snapshot(self, snapshot: MetadataSnapshot, *, more: bool) -> None:
        names = [record.name for records in snapshot for record in records if isinstance(record, TopicRecord)]
        self.lines.append(f"snapshot to {snapshot.last_offset}: {' '.join(names)}")

    def on_commit(self, batch: CommittedBatch, *, more: bool) -> None:
        names = " ".join(getattr(record, "name", "?") for record in batch.records) or "-"
        self.lines.append(
            f"{batch.base_offset}..{batch.last_offset} epoch {batch.epoch}: {names}{' +' if more else ''}"
        )

    def on_leader(self, leader_id: int, epoch: int) -> None:
        self.lines.append(f"leader {leader_id} epoch {epoch}")


class FailingDisk(RealDisk):
    """Files whose fsync fails when told so."""

    fail = False

    def open(self, path: str, *, create: bool = False):  # type: ignore[no-untyped-def]
        file = super().open(path, create=create)
        disk, sync = self, file.sync

        class Guarded:
            def __getattr__(self, name: str) -> object:
                return getattr(file, name)

            def sync(self) -> None:
                if disk.fail:
                    raise OSError(5, "Input/output error")
                sync()

        return Guarded()


class Room:
    """Quorums over one directory, one after the other."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = BrokerConfig.parse({"log.dirs": str(path)})
        self.clock = ManualClock()
        self.loop = ManualLoop(self.clock)
        self.disk = RealDisk()
        self.faults: list[BaseException] = []
        self._open: list[RaftQuorum] = []

    @property
    def directory(self) -> Path:
        return self.path / "__cluster_metadata-0"

    def start(self, workers: HeldWorkers | None = None, listener: object | None = None) -> tuple[RaftQuorum, Story]:
        story = Story()
        quorum = RaftQuorum(
            self.config, self.disk, self.clock, self.loop, SeededRandom(), workers, None, self.faults.append
        )
        self._open.append(quorum)
        if listener is not None:
            quorum.register(listener)  # type: ignore[arg-type]
        quorum.register(story)
        quorum.start()
        return quorum, story

    def kill(self, quorum: RaftQuorum) -> None:
        """As if the process had died: nothing is written any more."""
        quorum._machine = None
        quorum._log.log.segments.release()
        quorum._log._log = None
        quorum._log.unlock()

    def close(self) -> None:
        for quorum in self._open:
            quorum.close()


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    room = Room(tmp_path)
    yield room
    room.close()


def _topic(name: str) -> VersionedRecord:
    return VersionedRecord(TopicRecord(name=name, topic_id=name.encode().ljust(16)), 0)


def test_the_first_start_and_the_second(room: Room) -> None:
    quorum, story = room.start()
    assert story.lines == ["0..0 epoch 1: -", "leader 1 epoch 1"]
    quorum.append(1, [_topic("a"), _topic("b")])
    quorum.append(1, [_topic("c")])
    # Written, but nobody hears of it before it is on disk.
    assert len(story.lines) == 2
    room.loop.run()
    assert story.lines[2:] == ["1..2 epoch 1: a b +", "3..3 epoch 1: c"]
    assert quorum.high_watermark == quorum.end_offset == 4
    quorum.close()
    _, again = room.start()
    assert again.lines == [
        "0..0 epoch 1: - +",
        "1..2 epoch 1: a b +",
        "3..3 epoch 1: c +",
        "4..4 epoch 2: -",
        "leader 1 epoch 2",
    ]
    assert read_quorum_state(room.disk, str(room.directory)) == QuorumState(1, 2, voters=(1,))


def test_the_bytes_are_what_kafka_would_write(room: Room) -> None:
    quorum, _ = room.start()
    quorum.append(1, [VersionedRecord(FeatureLevelRecord(name="metadata.version", feature_level=30), 0)])
    room.loop.run()
    quorum.close()
    data = (room.directory / "00000000000000000000.log").read_bytes()
    control, batch = scan_batches(data, 0, len(data), check_crc=True)
    assert (control.is_control, control.partition_leader_epoch, control.base_offset) == (True, 1, 0)
    record = decode_batch(data, 0, control.size)[0]
    assert control_type(record) == ControlType.LEADER_CHANGE
    assert record.value is not None
    message = LeaderChangeMessage.decode(record.value, 0)
    assert (message.leader_id, [voter.voter_id for voter in message.voters]) == (1, [1])
    assert (batch.is_control, batch.partition_leader_epoch, batch.base_offset, batch.producer_id) == (False, 1, 1, -1)
    value = decode_batch(data, control.size, len(data))[0]
    assert (value.key, value.value) == (None, b"\x01\x0c\x00\x11metadata.version\x00\x1e\x00")


def test_several_appends_share_one_fsync(room: Room) -> None:
    workers = HeldWorkers()
    quorum, story = room.start(workers)
    story.lines.clear()
    quorum.append(1, [_topic("a")])
    quorum.append(1, [_topic("b")])
    room.loop.run()
    assert len(workers.jobs) == 1
    quorum.append(1, [_topic("c")])
    room.loop.run()
    # One at a time: what came while the first was running waits for the second.
    assert len(workers.jobs) == 1
    workers.run_one()
    assert story.lines == ["1..1 epoch 1: a +", "2..2 epoch 1: b"]
    room.loop.run()
    workers.run_one()
    assert story.lines[2:] == ["3..3 epoch 1: c"]
    assert workers.jobs == []


def test_a_failed_fsync_is_the_end(room: Room) -> None:
    disk = room.disk = FailingDisk()
    quorum, story = room.start()
    quorum.append(1, [_topic("a")])
    disk.fail = True
    room.loop.run()
    disk.fail = False
    assert story.lines[-1] == "leader -1 epoch 1"
    assert "could not be forced to disk" in str(room.faults[0])
    with pytest.raises(KafkaError) as caught:
        quorum.append(1, [_topic("b")])
    assert caught.value.code is ErrorCode.NOT_CONTROLLER
    assert quorum.high_watermark == 1


def test_very_many_batches_that_one_fsync_commits_are_told_over_several_turns(room: Room) -> None:
    workers = HeldWorkers()
    quorum, story = room.start(workers)
    before, names = len(story.lines), [f"t{number}" for number in range(1500)]
    for name in names:
        quorum.append(1, [_topic(name)])
    room.loop.turn()
    workers.run_one()
    assert quorum.high_watermark == quorum.end_offset
    assert 0 < len(story.lines) - before < len(names)
    room.loop.advance(1)
    assert [line.split(": ")[1].split()[0] for line in story.lines[before:]] == names


def test_an_election_waits_for_room_on_the_disk(room: Room) -> None:
    membership = Membership(room.config, room.disk, str(room.directory))
    room.directory.mkdir(exist_ok=True)
    workers, ended = HeldWorkers(), list[BaseException | None]()
    full = OSError(errno.ENOSPC, "No space left on device")
    membership.save(Election(7, 1, None), workers, room.loop, ended.append)
    workers.jobs.pop(0)[1](None, full)
    assert (ended, workers.jobs) == ([], [])
    room.loop.advance(1)
    workers.run_one()
    assert ended == [None]
    assert membership.load().epoch == 7
    membership.save(Election(8, 1, None), workers, room.loop, ended.append)
    broken = OSError(errno.EIO, "Input/output error")
    workers.jobs.pop(0)[1](None, broken)
    assert ended == [None, broken]


def test_an_election_is_not_written_into_a_directory_that_was_left(room: Room) -> None:
    quorum, _ = room.start()
    workers, ended = HeldWorkers(), list[BaseException | None]()
    quorum._membership.save(Election(7, 1, None), workers, room.loop, ended.append)
    quorum.close()
    workers.jobs.pop(0)[1](None, OSError(errno.ENOSPC, "No space left on device"))
    room.loop.advance(10)
    assert (ended, workers.jobs) == ([], [])


def test_an_append_of_an_earlier_epoch_is_refused(room: Room) -> None:
    quorum, _ = room.start()
    with pytest.raises(KafkaError) as caught:
        quorum.append(0, [_topic("a")])
    assert caught.value.code is ErrorCode.NOT_CONTROLLER


def test_a_change_that_is_too_large_is_refused_before_it_is_written(room: Room) -> None:
    quorum, _ = room.start()
    with pytest.raises(KafkaError) as caught:
        quorum.append(1, [_topic("x" * 30_000)] * 300)
    assert caught.value.code is ErrorCode.POLICY_VIOLATION
    assert quorum.end_offset == 1


def test_a_killed_process_loses_nothing_that_was_committed(room: Room) -> None:
    quorum, _ = room.start()
    quorum.append(1, [_topic("a")])
    room.loop.run()
    quorum.append(1, [_topic("b")])
    room.kill(quorum)
    _, story = room.start()
    assert "1..1 epoch 1: a +" in story.lines
    assert story.lines[-1] == "leader 1 epoch 2"


def test_every_way_a_log_can_be_cut_off_leaves_whole_batches(room: Room) -> None:
    quorum, _ = room.start()
    for name in ("a", "b"):
        quorum.append(1, [_topic(name), _topic(name + "2")])
    room.loop.run()
    quorum.close()
    log = room.directory / "00000000000000000000.log"
    whole = log.read_bytes()
    first = read_header(whole, 0).size
    second = first + read_header(whole, first).size
    for length in range(len(whole) + 1):
        log.write_bytes(whole[:length])
        write_quorum_state(room.disk, str(room.directory), QuorumState(1, 1, voters=(1,)))
        quorum, story = room.start()
        heard = [line for line in story.lines if " a a2" in line or " b b2" in line]
        assert len(heard) == (length >= second) + (length >= len(whole)), length
        assert story.lines[-1].startswith("leader 1 epoch")
        quorum.close()


def test_an_epoch_is_never_used_twice_even_if_the_log_is_lost(room: Room) -> None:
    quorum, _ = room.start()
    quorum.close()
    for file in room.directory.glob("0*"):
        file.unlink()
    _, story = room.start()
    assert story.lines[-1] == "leader 1 epoch 2"


def test_a_log_of_a_larger_quorum_is_not_taken_over(room: Room) -> None:
    room.directory.mkdir()
    write_quorum_state(room.disk, str(room.directory), QuorumState(1, 4, voters=(1, 2, 3)))
    with pytest.raises(MetadataError, match=r"quorum of the nodes \[1, 2, 3\]"):
        room.start()


def test_two_processes_cannot_write_the_log(room: Room) -> None:
    room.start()
    with pytest.raises(MetadataError, match="another process"):
        room.start()


# ----------------------------------------------------------------------------------------------------------- snapshots


def _with_snapshot(room: Room, *names: str) -> tuple[RaftQuorum, MetadataLoader, SnapshotGenerator]:
    loader = MetadataLoader()
    quorum, _ = room.start(listener=loader)
    for name in names:
        quorum.append(quorum.epoch, [_topic(name)])
    room.loop.run()
    return quorum, loader, SnapshotGenerator(quorum, room.config, room.loop)


def test_a_snapshot_replaces_the_log_before_it(room: Room) -> None:
    quorum, loader, generator = _with_snapshot(room, "a", "b")
    before = loader.image
    generator.generate(before)
    room.loop.run()
    assert find_snapshots(room.disk, str(room.directory)) == [SnapshotId(3, 1)]
    assert sorted(file.name for file in room.directory.glob("*.log")) == ["00000000000000000003.log"]
    quorum.append(1, [_topic("c")])
    room.loop.run()
    quorum.close()
    loader = MetadataLoader()
    _, story = room.start(listener=loader)
    assert story.lines == ["snapshot to 2: a b", "3..3 epoch 1: c +", "4..4 epoch 2: -", "leader 1 epoch 2"]
    assert set(loader.image.topics.by_name) == {"a", "b", "c"}


def test_a_snapshot_begins_without_waiting_for_the_disk(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the file the log goes on in is on disk before anything in it counts, and that is early enough."""
    quorum, loader, _ = _with_snapshot(room, "a")
    forced: list[str] = []
    monkeypatch.setattr(RealDisk, "sync_directory", lambda disk, path: forced.append(path))
    writer = quorum.begin_snapshot(loader.image.offset, loader.image.epoch, 0)
    assert writer is not None
    assert forced == []
    quorum.append(quorum.epoch, [_topic("b")])
    room.loop.run()
    assert forced == [str(room.directory)]
    assert "b" in loader.image.topics.by_name
    writer.finish()
    assert forced == [str(room.directory)] * 2, "before anything older is removed"


def test_what_a_snapshot_says_of_the_voters_is_not_remembered_twice(room: Room) -> None:
    quorum, loader, generator = _with_snapshot(room, "a", "b")
    last = quorum.voters.last
    # As if they had changed with every record.
    quorum.voters.add(VoterChange(offset, last, 0) for offset in range(loader.image.offset + 1))
    generator.generate(loader.image)
    room.loop.run()
    assert [len(entries) for entries in (quorum.voters._voters, quorum.voters._versions)] == [1, 1]
    assert (quorum.voters.last, quorum.voters.last_offset) == (last, loader.image.offset)


def test_a_snapshot_has_kafkas_form(room: Room) -> None:
    _, loader, generator = _with_snapshot(room, "a")
    generator.generate(loader.image)
    room.loop.run()
    data = (room.directory / "00000000000000000002-0000000001.checkpoint").read_bytes()
    headers = scan_batches(data, 0, len(data), check_crc=True)
    assert [(header.is_control, header.base_offset) for header in headers] == [(True, 0), (False, 1), (True, 2)]
    types = [control_type(record) for record in decode_batch(data) if record.key is not None]
    assert types == [ControlType.SNAPSHOT_HEADER, ControlType.SNAPSHOT_FOOTER]
    assert {header.partition_leader_epoch for header in headers} == {1}


def test_older_snapshots_are_removed_and_unfinished_ones_ignored(room: Room) -> None:
    quorum, loader, generator = _with_snapshot(room, "a")
    generator.generate(loader.image)
    room.loop.run()
    quorum.append(1, [_topic("b")])
    room.loop.run()
    generator.generate(loader.image)
    room.loop.run()
    assert find_snapshots(room.disk, str(room.directory)) == [SnapshotId(3, 1)]
    (room.directory / "00000000000000000009-0000000001.checkpoint.part").write_bytes(b"half")
    quorum.close()
    loader = MetadataLoader()
    room.start(listener=loader)
    assert set(loader.image.topics.by_name) == {"a", "b"}
    assert not list(room.directory.glob("*.part"))


def test_a_first_start_forces_each_directory_to_disk_when_all_is_in_it(room: Room) -> None:
    synced: list[tuple[str, list[str]]] = []

    class Watched(RealDisk):
        def sync_directory(self, path: str) -> None:
            synced.append((path, [name for name in self.list(path) if not name.startswith(".")]))
            super().sync_directory(path)

    room.disk = Watched()
    room.start()
    log, state, epochs = f"{0:020}.log", "quorum-state", "leader-epoch-checkpoint"
    assert synced == [
        (str(room.directory), [log, state]),
        (str(room.directory), [log, epochs, state]),
        (str(room.path), ["__cluster_metadata-0"]),
    ], "an epoch is written down before it is used; the rest is worth something once the last of these is done"


def test_a_snapshot_is_due_when_the_log_outgrows_the_state(room: Room) -> None:
    loader = MetadataLoader()
    quorum, _ = room.start(listener=loader)
    loader.add_publisher(SnapshotGenerator(quorum, room.config, room.loop))
    wide = VersionedRecord(FeatureLevelRecord(name="x" * 30_000, feature_level=1), 0)
    for _ in range(9):
        quorum.append(1, [wide])
        room.loop.run()
        room.loop.advance(0.1)
    assert len(find_snapshots(room.disk, str(room.directory))) == 1
    assert quorum.bytes_since_snapshot < 100_000


def test_a_snapshot_is_forced_to_disk_beside_the_loop(room: Room) -> None:
    quorum, loader, _ = _with_snapshot(room, "a")
    workers = HeldWorkers()
    generator = SnapshotGenerator(quorum, room.config, room.loop, workers)
    generator.generate(loader.image)
    room.loop.run()
    assert (find_snapshots(room.disk, str(room.directory)), quorum.snapshot_bytes) == ([], 0)
    workers.run_one()
    assert find_snapshots(room.disk, str(room.directory)) == [SnapshotId(2, 1)]
    assert quorum.snapshot_bytes > 0
    assert sorted(file.name for file in room.directory.glob("*.log")) == ["00000000000000000002.log"]


def test_a_snapshot_that_the_disk_refuses_is_written_again(room: Room) -> None:
    quorum, loader, _ = _with_snapshot(room, "a")
    workers = HeldWorkers()
    generator = SnapshotGenerator(quorum, room.config, room.loop, workers)
    generator.generate(loader.image)
    room.loop.run()
    _job, done = workers.jobs.pop()
    done(None, OSError(28, "No space left on device"))
    assert not list(room.directory.glob("*.checkpoint*"))
    generator.generate(loader.image)
    room.loop.run()
    workers.run_one()
    assert find_snapshots(room.disk, str(room.directory)) == [SnapshotId(2, 1)]


def test_a_node_that_stops_leaves_a_worker_its_snapshot(room: Room) -> None:
    quorum, loader, _ = _with_snapshot(room, "a")
    workers = HeldWorkers()
    generator = SnapshotGenerator(quorum, room.config, room.loop, workers)
    generator.generate(loader.image)
    room.loop.run()
    generator.close()
    quorum.close()
    workers.run_one()
    assert find_snapshots(room.disk, str(room.directory)) == [SnapshotId(2, 1)]
    loader = MetadataLoader()
    room.start(listener=loader)
    assert set(loader.image.topics.by_name) == {"a"}


@pytest.mark.parametrize("damage", ["truncated", "flipped", "without end"])
def test_a_damaged_snapshot_is_named(room: Room, damage: str) -> None:
    quorum, loader, generator = _with_snapshot(room, "a")
    generator.generate(loader.image)
    room.loop.run()
    quorum.close()
    path = room.directory / "00000000000000000002-0000000001.checkpoint"
    data = bytearray(path.read_bytes())
    headers = scan_batches(bytes(data), 0, len(data))
    if damage == "truncated":
        del data[-5:]
    elif damage == "without end":
        del data[-headers[-1].size :]
    else:
        data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(MetadataError, match=r"the snapshot .*\.checkpoint is"):
        room.start()


def test_a_snapshot_that_outlived_its_log_is_enough(room: Room) -> None:
    quorum, loader, generator = _with_snapshot(room, "a", "b")
    generator.generate(loader.image)
    room.loop.run()
    quorum.close()
    for file in room.directory.glob("0*"):
        if file.suffix != ".checkpoint":
            file.unlink()
    loader = MetadataLoader()
    quorum, story = room.start(listener=loader)
    assert story.lines == ["snapshot to 2: a b", "3..3 epoch 2: -", "leader 1 epoch 2"]
    assert set(loader.image.topics.by_name) == {"a", "b"}
    assert quorum.end_offset == 4
