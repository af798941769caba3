"""A snapshot of the leader is handed to the listeners in slices: nobody waits for the whole of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from controller_kit import ManualClock, ManualLoop
from raft_members import topic

from moldau.config.broker import BrokerConfig
from moldau.metadata.committed import CommittedBatch, MetadataSnapshot
from moldau.metadata.loader import MetadataLoader
from moldau.metadata.records import TopicRecord
from moldau.raft.batches import metadata_batch
from moldau.raft.delivery import Delivery
from moldau.raft.effects import Deliver, DeliverSnapshot, LeaderChanged
from moldau.raft.log_view import EpochOffset
from moldau.raft.metadata_log import MetadataLog
from moldau.raft.snapshot_file import SnapshotId, SnapshotWriter
from moldau.raft.voters import VoterHistory, VoterSet
from moldau.runtime.disk import RealDisk
from moldau.slicing import Work


class BusyClock(ManualClock):
    """Each look at it takes a tenth of a slice, as if the work between two looks did."""

    def monotonic(self) -> float:
        self.now += 0.0001
        return self.now


class Story:
    """Writes down what it hears, the records of a snapshot as they come."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def on_snapshot(self, snapshot: MetadataSnapshot, *, more: bool) -> Work[None]:
        self.heard.append("begin")
        for records in snapshot:
            assert len(records) <= 16
            yield
        self.heard.append(f"snapshot {snapshot.last_offset + 1}")

    def on_commit(self, batch: CommittedBatch, *, more: bool) -> None:
        self.heard += [record.name for record in batch.records if isinstance(record, TopicRecord)]

    def on_leader(self, leader_id: int, epoch: int) -> None:
        self.heard.append(f"leader {leader_id}")


class World:
    def __init__(self, path: Path) -> None:
        config = BrokerConfig.parse({"log.dirs": str(path)})
        self.clock = BusyClock()
        self.loop = ManualLoop(self.clock)
        self.disk = RealDisk()
        self.log = MetadataLog(config, self.disk, self.clock)
        self.log.lock()
        self.log.open(VoterHistory(VoterSet()))
        self.faults: list[BaseException] = []
        self.delivery = Delivery(self.log, self.loop, self.clock, self.faults.append)
        self.story, self.loader = Story(), MetadataLoader()
        self.delivery.listeners += [self.loader, self.story]

    def install(self, end_offset: int, topics: int) -> None:
        """What the leader sent takes the place of the log, and the listeners are to hear of it."""
        writer = SnapshotWriter(self.disk, self.log.directory + "-sent", SnapshotId(end_offset, 1), 0)
        for first in range(0, topics, 1000):
            writer.append([topic(f"{number:08d}") for number in range(first, min(topics, first + 1000))])
        writer.finish()
        data = (Path(self.log.directory + "-sent") / writer.id.file_name).read_bytes()
        download = self.log.save_piece(EpochOffset(1, end_offset), data, 0)
        assert self.log.install(download.finish())
        self.delivery.tell(DeliverSnapshot(EpochOffset(1, end_offset)))

    def append(self, name: str) -> int:
        """The end of the log."""
        base = self.log.end.offset
        return self.log.append_as_leader(metadata_batch([topic(name)], base, 1, 0), 1) + 1


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    (tmp_path / "__cluster_metadata-0-sent").mkdir()
    world = World(tmp_path)
    yield world
    world.log.close()
    assert world.faults == []


def test_others_have_their_turn_while_a_snapshot_is_handed_out(world: World) -> None:
    world.install(5000, topics=3000)
    end = world.append("later")
    world.delivery.tell(Deliver(end))
    world.delivery.tell(LeaderChanged(3, 1))
    turns = 0
    while not world.story.heard:
        assert world.loader.image.offset == -1
        turns += 1
        assert world.loop.turn()
    # Sixteen records in a piece, some ten pieces in a slice.
    assert turns > 3000 / 16 / 20
    # The first listener has all of it before the next one hears anything, and what came meanwhile waits for both.
    assert len(world.loader.image.topics.by_name) == 3000
    assert world.story.heard == ["begin"]
    world.loop.run()
    assert world.story.heard == ["begin", "snapshot 5000", "later", "leader 3"]
    assert world.loader.image.offset == 5000


def test_a_newer_snapshot_overtakes_what_was_to_be_told(world: World) -> None:
    world.install(5000, topics=3000)
    end = world.append("never told by itself")
    world.delivery.tell(Deliver(end))
    world.install(6000, topics=10)
    end = world.append("later")
    world.delivery.tell(Deliver(end))
    world.loop.run()
    assert world.story.heard == ["begin", "snapshot 5000", "begin", "snapshot 6000", "later"]
    assert len(world.loader.image.topics.by_name) == 11


def test_nobody_hears_of_it_after_the_quorum_was_closed(world: World) -> None:
    world.install(5000, topics=3000)
    world.loop.turn()
    world.delivery.close()
    world.loop.run()
    assert world.story.heard == []
    assert world.loader.image.offset == -1


def test_what_a_listener_cannot_take_is_a_fault(world: World) -> None:
    world.delivery.listeners.insert(1, Broken())
    world.install(5000, topics=3000)
    world.loop.run()
    assert [str(fault) for fault in world.faults] == ["no"]
    assert world.story.heard == []
    world.faults.clear()


class Broken(Story):
    def on_snapshot(self, snapshot: MetadataSnapshot, *, more: bool) -> Work[None]:
        yield
        raise ValueError("no")
