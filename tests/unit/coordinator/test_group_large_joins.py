"""Groups over so many topics that what a join changes is more than one batch of the offsets topic may hold."""

from __future__ import annotations

from typing import Any

import pytest
from coordinator_world import NO_REPLICAS
from group_world import OFFSETS, GroupWorld

from moldau.coordinator.group.consumer_protocol import encode_assignment, encode_subscription
from moldau.errors import ErrorCode
from moldau.protocol.messages import consumer_protocol_assignment as assignments
from moldau.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from moldau.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from moldau.types import TopicPartition

# What `max.message.bytes` is unless somebody says otherwise.
LIMIT = 1_048_588
PARTITIONS = 6


def settled(world: GroupWorld, deferred: Any) -> Any:
    outcome: list[Any] = []
    deferred.then(lambda value, error: outcome.append(value if error is None else error))
    world.time.settle()
    return outcome[0]


def join(world: GroupWorld, names: list[str], member: str = "a", epoch: int = 0) -> Any:
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id=member,
        member_epoch=epoch,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=names,
        topic_partitions=[],
    )
    return settled(world, world.groups.consumer_group_heartbeat(world.info(1), request))


def assigned(answer: Any) -> int:
    return sum(len(row.partitions) for row in answer.assignment.topic_partitions)


class TornLog:
    """Lets so many batches through, and refuses what follows."""

    def __init__(self, world: GroupWorld, batches: int) -> None:
        self.left = batches
        self._world = world
        self._append = world.log.append
        world.log.append = self.append  # type: ignore[method-assign]

    def append(self, partition: TopicPartition, batch: bytearray, leader_epoch: int) -> int:
        if not self.left:
            raise NO_REPLICAS
        self.left -= 1
        return self._append(partition, batch, leader_epoch)


def test_a_consumer_joins_ten_thousand_topics_of_six_partitions() -> None:
    world = GroupWorld()
    world.log.limit = LIMIT
    names = world.create_topics(10_000, PARTITIONS)
    answer = join(world, names)
    assert (answer.error_code, answer.member_epoch) == (ErrorCode.NONE, 1)
    assert assigned(answer) == 60_000
    sizes = [len(batch) for batch in world.log.batches[OFFSETS]]
    assert len(sizes) > 1
    assert max(sizes) <= LIMIT < sum(sizes)
    world.reload()
    group = world.shard.groups.consumer("g")
    assert group is not None
    assert len(group.owners) == 60_000
    assert (group.epoch, group.assignment_epoch, group.members["a"].epoch) == (1, 1, 1)


def test_the_leader_of_a_classic_group_assigns_ten_thousand_topics_of_six_partitions() -> None:
    world = GroupWorld()
    world.log.limit = LIMIT
    names = world.create_topics(10_000, PARTITIONS)
    metadata = encode_subscription(ConsumerProtocolSubscription(topics=names), 1)
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
    )
    joined = settled(world, world.groups.join_group(world.info(3), request))
    assert joined.error_code == ErrorCode.NONE
    rows = [assignments.TopicPartition(topic=name, partitions=list(range(PARTITIONS))) for name in names]
    mine = encode_assignment(assignments.ConsumerProtocolAssignment(assigned_partitions=rows), 1)
    given = [SyncGroupRequestAssignment(member_id=joined.member_id, assignment=mine)]
    sync = SyncGroupRequest(
        group_id="g", generation_id=joined.generation_id, member_id=joined.member_id, assignments=given
    )
    answer = settled(world, world.groups.sync_group(world.info(5), sync))
    assert (answer.error_code, bytes(answer.assignment)) == (ErrorCode.NONE, mine)
    world.reload()
    group = world.shard.groups.classic("g")
    assert group is not None
    assert group.members[joined.member_id].assignment == mine


@pytest.mark.parametrize("through", [1, 2])
@pytest.mark.parametrize("restart", [False, True])
def test_a_join_that_was_torn_apart_is_completed_by_the_next_one(through: int, restart: bool) -> None:
    world = GroupWorld()
    names = [*world.create_topics(300, PARTITIONS), *(f"not-there-{number:04}" for number in range(800))]
    # Room for one of its three parts: the member, the target, what the member has.
    world.log.limit = 22_000
    torn = TornLog(world, through)
    answer = join(world, names)
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert torn.left == 0
    assert len(world.log.batches[OFFSETS]) == through
    torn.left = 100
    if restart:
        world.reload()
    group = world.shard.groups.consumer("g")
    assert group is not None
    assert set(group.members) == {"a"}
    assert len(group.owners) == 0
    again = join(world, names)
    assert again.error_code == ErrorCode.NONE
    assert assigned(again) == 300 * PARTITIONS
    world.reload()
    group = world.shard.groups.consumer("g")
    assert group is not None
    assert len(group.owners) == 300 * PARTITIONS


def test_a_member_is_never_written_without_the_epoch_of_its_group() -> None:
    """Without it nobody would look for what the member should have."""
    names = [f"not-there-{number}" for number in range(50)]
    world = GroupWorld()
    join(world, names)
    (whole,) = world.log.batches[OFFSETS]
    epochs = []
    for limit in range(len(whole) - 250, len(whole), 5):
        world = GroupWorld()
        world.log.limit = limit
        TornLog(world, 1)
        join(world, names)
        group = world.shard.groups.consumer("g")
        epochs.append(None if group is None else group.epoch)
    assert set(epochs) == {None, 1}


def test_nobody_is_left_in_a_group_that_cannot_be_written(caplog: pytest.LogCaptureFixture) -> None:
    world = GroupWorld()
    names = world.create_topics(300, PARTITIONS)
    # Room for the member, for its target, but not for what it has, which names the epoch of each partition.
    world.log.limit = 15_000
    answer = join(world, names)
    assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert world.shard.groups.consumer("g") is None
    assert not world.log.batches[OFFSETS]
    (said,) = caplog.messages
    assert "which allows 15000 (max.message.bytes)" in said
    assert "group_id='g'" in said
