"""A broker's coming or going concerns all partitions at once: decided in slices, written and published in portions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from controller_kit import SlowWorld

from moldau.controller.decision import TURN_RECORDS
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.records import BrokerRegistrationChangeRecord, PartitionChangeRecord
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest
from moldau.protocol.messages.unregister_broker import UnregisterBrokerRequest
from moldau.raft.batches import decode_batches

PARTITIONS = 4 * TURN_RECORDS
OURS, THEIRS = 1, 2


def leaders(world: SlowWorld) -> set[int]:
    return {state.leader for state in world.image.topics.by_name["orders"].partitions.values()}


def large_world() -> SlowWorld:
    """Every partition is led by the second broker, and the first could."""
    world = SlowWorld(brokers=(OURS, THEIRS))
    world.create("orders", assignment={index: [THEIRS, OURS] for index in range(PARTITIONS)})
    assert leaders(world) == {THEIRS}
    return world


def turn(world: SlowWorld) -> bool:
    """One turn of the loop, and what was written in it is committed; whether there was anything to do."""
    more = world.loop.turn()
    if world.quorum.end_offset > world.quorum.high_watermark:
        world.quorum.commit()
    return more


def turn_to_the_end(world: SlowWorld) -> None:
    while turn(world):
        pass


def beat(world: SlowWorld, broker_id: int, **fields: bool) -> Deferred[object]:
    registered = world.controller.state.brokers.registrations[broker_id]
    request = BrokerHeartbeatRequest(
        broker_id=broker_id, broker_epoch=registered.epoch, current_metadata_offset=world.image.offset, **fields
    )
    return world.controller.broker_heartbeat(request)  # type: ignore[return-value]


def silent(world: SlowWorld) -> None:
    """The second broker says nothing for longer than its session."""
    for _ in range(4):
        world.loop.advance(3.0)
        beat(world, OURS)


def new_incarnation(world: SlowWorld) -> None:
    world.clock.now += 30.0
    world.controller.sessions.touch(OURS, fenced=False, metadata_offset=-1)
    world.controller.register_broker(world.registration(THEIRS, incarnation=2))


GOING: dict[str, Callable[[SlowWorld], object]] = {
    "silence": silent,
    "wanting to be fenced": lambda world: beat(world, THEIRS, want_fence=True),
    "a controlled shutdown": lambda world: beat(world, THEIRS, want_shut_down=True),
    "being unregistered": lambda world: world.controller.unregister_broker(UnregisterBrokerRequest(broker_id=THEIRS)),
    "a new incarnation": new_incarnation,
}


def portions(world: SlowWorld, since: int) -> list[int]:
    """How many records each batch of the log has."""
    return [len(batch.records) for batch in decode_batches(world.quorum.log) if batch.base_offset >= since]


@pytest.mark.parametrize("how", GOING)
def test_a_broker_of_very_many_partitions_goes_in_portions(how: str) -> None:
    world = large_world()
    begun, slices = world.quorum.end_offset, world.slicer.slices
    GOING[how](world)
    turn_to_the_end(world)
    assert world.slicer.slices - slices > PARTITIONS / 4
    assert leaders(world) == {OURS}
    written = portions(world, begun)
    assert max(written) <= TURN_RECORDS
    assert sum(written) >= PARTITIONS


def test_what_is_published_on_the_way_never_shows_a_fenced_leader() -> None:
    world = large_world()
    beat(world, THEIRS, want_fence=True)
    seen = set()
    while turn(world):
        led = leaders(world)
        seen.add(len(led))
        assert not (world.image.cluster.brokers[THEIRS].fenced and THEIRS in led)
    assert seen == {1, 2}, "in portions, each with an image of its own"
    assert world.image.cluster.brokers[THEIRS].fenced


def test_others_wait_until_the_broker_is_gone() -> None:
    world = large_world()
    beat(world, THEIRS, want_fence=True)
    world.turn_until_written(TURN_RECORDS)
    world.begin(1, "later")
    turn_to_the_end(world)
    kinds = [type(record).__name__ for batch in decode_batches(world.quorum.log) for record in batch.records]
    assert kinds.index("TopicRecord", kinds.index("PartitionChangeRecord")) > len(kinds) - 3


def test_very_many_leaders_are_elected_in_portions() -> None:
    world = large_world()
    beat(world, THEIRS, want_fence=True)
    turn_to_the_end(world)
    beat(world, THEIRS)
    turn_to_the_end(world)
    assert leaders(world) == {OURS}
    # Back in sync, as after its fetches.
    topic = world.controller.state.topics.get("orders")
    assert topic is not None
    world.controller.append(
        [
            PartitionChangeRecord(topic_id=topic.id, partition_id=index, isr=[THEIRS, OURS])
            for index in range(PARTITIONS)
        ]
    )
    world.quorum.commit()
    begun, slices = world.quorum.end_offset, world.slicer.slices
    world.controller.elect_leaders(ElectLeadersRequest(election_type=0, topic_partitions=None, timeout_ms=60_000))
    turn_to_the_end(world)
    assert leaders(world) == {THEIRS}
    assert world.slicer.slices - slices > PARTITIONS / 4
    assert max(portions(world, begun)) <= TURN_RECORDS


def test_a_broker_that_could_be_let_in_only_in_part_gets_the_rest_later() -> None:
    world = SlowWorld(brokers=(OURS,))
    world.create("orders", PARTITIONS, 1)
    beat(world, OURS, want_fence=True)
    turn_to_the_end(world)
    assert leaders(world) == {-1}
    refusals: list[BaseException | None] = []
    beat(world, OURS).then(lambda _value, error: refusals.append(error))
    world.turn_until_written(2 * TURN_RECORDS)
    world.quorum.failures.append(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "no room"))
    turn_to_the_end(world)
    assert [type(error) for error in refusals] == [KafkaError]
    assert leaders(world) == {-1, OURS}
    beat(world, OURS)
    turn_to_the_end(world)
    assert leaders(world) == {OURS}
    changes = [
        record
        for batch in decode_batches(world.quorum.log)
        for record in batch.records
        if isinstance(record, BrokerRegistrationChangeRecord) and record.fenced == -1
    ]
    assert len(changes) == 2, "it is unfenced once for each time it was fenced"


def test_a_broker_that_leaves_in_two_attempts_waits_until_the_others_know_of_both() -> None:
    world = large_world()

    def may_leave() -> bool:
        answers: list[BrokerHeartbeatResponse] = []
        beat(world, THEIRS, want_shut_down=True).then(lambda value, _error: answers.append(value))  # type: ignore[arg-type]
        turn_to_the_end(world)
        return answers[0].should_shut_down

    beat(world, THEIRS, want_shut_down=True)
    world.turn_until_written(2 * TURN_RECORDS)
    world.quorum.failures.append(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "no room"))
    turn_to_the_end(world)
    assert leaders(world) == {OURS, THEIRS}
    # What others write meanwhile: with it the log is longer than the first attempt would have made it.
    world.create("more", assignment={index: [OURS] for index in range(PARTITIONS)})
    beat(world, OURS)
    turn_to_the_end(world)
    assert not may_leave()
    assert leaders(world) == {OURS}
    assert not may_leave(), "the other has not followed the log so far"
    beat(world, OURS)
    turn_to_the_end(world)
    assert may_leave()


def test_a_silent_broker_that_could_not_be_fenced_is_tried_again() -> None:
    world = large_world()
    world.quorum.failures.append(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "no room"))
    silent(world)
    world.quorum.commit()
    assert leaders(world) == {THEIRS}
    silent(world)
    world.quorum.commit()
    turn_to_the_end(world)
    assert leaders(world) == {OURS}
    assert world.image.cluster.brokers[THEIRS].fenced
