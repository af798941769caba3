"""Leadership that is confirmed, renewed, lost and ended: what the controller's state and those who wait make of it."""

from __future__ import annotations

from typing import Any

from controller_kit import World
from test_controller_write_path import LARGE, SlowWorld

from moldau.controller.decision import TURN_RECORDS
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.records import EndTransactionRecord, versioned
from moldau.protocol.messages.create_topics import CreateTopicsRequest
from moldau.raft.batches import leader_change_batch, metadata_batch


def waiting(world: World, name: str) -> list[Any]:
    """A creation that is appended and not committed; the list fills when it is answered."""
    seen: list[Any] = []
    request = CreateTopicsRequest(topics=[world.creation(name, 1, 1)], timeout_ms=60_000)
    world.controller.create_topics(request).then(lambda value, error: seen.append(value if error is None else error))
    world.loop.run()
    assert seen == []
    return seen


def names(world: World) -> set[str]:
    return {topic.name for topic in world.controller.state.topics}


def test_news_that_is_known_changes_nothing() -> None:
    world = World()
    seen = waiting(world, "orders")
    end = world.quorum.end_offset
    world.controller.on_leader(world.quorum.node_id, world.quorum.epoch)
    assert (seen, world.quorum.end_offset, names(world)) == ([], end, {"orders"})
    world.quorum.commit()
    assert seen[0].topics[0].error_code == 0


def test_a_leadership_that_is_won_again_begins_with_what_is_committed() -> None:
    """In between somebody else may have led, and what was not committed is gone."""
    world = World()
    world.create("kept", 1, 1)
    seen = waiting(world, "lost")
    world.quorum.epoch += 1
    world.controller.on_leader(world.quorum.node_id, world.quorum.epoch)
    assert isinstance(seen[0], KafkaError)
    assert seen[0].code is ErrorCode.NOT_CONTROLLER
    assert names(world) == {"kept"}
    assert world.controller.is_active


def test_whoever_waits_is_told_when_the_controller_is_closed() -> None:
    world = World()
    seen = waiting(world, "orders")
    world.controller.close()
    assert isinstance(seen[0], KafkaError)
    assert seen[0].code is ErrorCode.NOT_CONTROLLER
    assert not world.controller.is_active
    world.controller.close()


def test_batches_of_the_quorum_itself_are_part_of_the_log() -> None:
    """One of this leader's own epoch that the controller has not written."""
    world = World()
    quorum = world.quorum
    world.create("kept", 1, 1)
    quorum._add(leader_change_batch(1, (1, 2, 3), (1, 2), quorum.end_offset, quorum.epoch, 0))
    quorum.commit()
    assert world.controller.committed_offset == quorum.end_offset - 1
    waiting(world, "lost")
    quorum.lose_leadership()
    assert names(world) == {"kept"}


def test_committed_changes_are_not_kept_for_being_taken_back() -> None:
    world = World()
    registry = world.controller.state.registry
    world.create("first", 1, 1)
    before = len(registry.offsets)
    for number in range(20):
        world.create(f"topic-{number}", 1, 1)
    assert len(registry.offsets) == before


def test_the_next_leader_may_end_what_this_one_began() -> None:
    """All of it that is committed counts then, the last record too."""
    world = SlowWorld()
    world.begin(LARGE)
    world.turn_until_written(TURN_RECORDS)
    world.quorum.commit()
    written = world.quorum.end_offset
    world.quorum.lose_leadership()
    assert (world.quorum.end_offset, names(world)) == (written, set())
    version = world.controller.state.features.metadata_version
    end = [versioned(EndTransactionRecord(), version)]
    world.quorum._add(metadata_batch(end, world.quorum.end_offset, world.quorum.epoch, 0))
    world.quorum.commit()
    topic = world.controller.state.topics.get("large")
    assert topic is not None
    assert sorted(topic.partitions) == sorted(world.image.topics.by_name["large"].partitions)
